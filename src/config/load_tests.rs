//! Files as people write them.
