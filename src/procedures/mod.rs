//! Procedural memory (AAG): past solutions, how they are abstracted and found, and the workflow that makes new ones of them.
//!
//! Owns what a procedure says. Must not know turns, stores or who asks.
