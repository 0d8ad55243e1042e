//! A checked call → an HTTP request to the tool's API → an outcome.
//!
//! Owns addresses, credentials, encoding and what may be sent. The only room that calls tool APIs. Must not know models, turns or
//! feedback.
