//! Tests of calls without markers, and property tests for any text.

mod decisions;
mod drift;
mod exact;
mod many;
mod properties;
mod rendered;
mod repetition;
mod unescaped;
mod unmarked;
mod variations;
