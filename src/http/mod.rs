//! Both listeners: the only room that knows axum.
//!
//! Owns routes, layers, the map from errors to statuses. Must not hold logic of a turn.

mod settings;

pub use settings::Settings;
