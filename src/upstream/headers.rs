//! Which headers go to the upstream, and which come back.
