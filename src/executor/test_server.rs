//! A server.
