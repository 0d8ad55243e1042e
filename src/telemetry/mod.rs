//! Every metric, and the set-up of logs.
//!
//! The only room that names metrics. Must not know any room that counts.
