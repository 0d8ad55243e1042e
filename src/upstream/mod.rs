//! The clients for models' providers.
//!
//! Owns connections, credentials towards providers, timeouts and retries. Must not judge or change answers.
