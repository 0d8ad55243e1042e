//! Calls without marks, and what holds for any text.

mod properties;
mod rendered;
mod unmarked;
mod variations;
