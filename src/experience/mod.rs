//! The experience notebook (ExpNote): lessons, how they are noted and recalled.
//!
//! Owns what a lesson says and how one is found. Must not know turns, stores or who asks.
