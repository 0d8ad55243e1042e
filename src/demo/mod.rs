//! A scripted model and sample APIs, for `callwright demo` and for tests.
//!
//! Owns its servers (hyper), the script and the transcript. Must not reach into the proxy: it talks HTTP like everyone else.
