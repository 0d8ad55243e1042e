//! Jobs beside the turns that make lessons and procedures of what was verified.
//!
//! Owns what verifies, when something is learned, and when it is retired. Must not know turns: it reads their traces.
