//! What outlives the process: one trait per topic, and SQLite behind them.
//!
//! The only room that knows SQL. Owns migrations, the bounded queue of traces, and what happens when the store is down. Must not
//! know who asks.
