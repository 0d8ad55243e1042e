//! The composition root: builds every room from the settings, reloads policies, shuts down in order.
//!
//! Owns the order of construction and of shutdown. The only place that knows everything, so it must not be known by
//! any room but `cli`.
