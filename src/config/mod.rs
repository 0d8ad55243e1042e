//! The configuration file: nests every room's `Settings`.
//!
//! Owns finding, reading, interpolating and validating the file; the only room that reads the environment. Must not know what
//! the settings do.
