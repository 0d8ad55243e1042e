//! The experience notebook (ExpNote): lessons, how they are noted and recalled.
//!
//! Owns what a lesson says and how one is found. Must not know turns, stores or who asks. Everything here is a value or a pure function.
//!
//! The way: [`compose`] makes a draft of what went wrong and was mended, or of what went well; [`Notebook`] holds the lessons of all
//! scopes and finds those for a request.

pub mod compose;
mod notebook;
mod settings;
mod shown;
mod text;

pub use notebook::{Change, Notebook, Noted, RecallQuery, Recollection, ToolInPlay, embedded_text};
pub use settings::Settings;
pub use shown::shown;

/// What a model is told where nothing was found (paper, appendix B).
pub const NO_EXPERIENCE: &str = "No relevant experience";
