//! The command line: one file per verb.
//!
//! Owns arguments and exit statuses. Must not hold logic that a server needs too.
