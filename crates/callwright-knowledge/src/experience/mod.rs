//! The experience notebook (ExpNote): lessons, how they are noted and recalled.
//!
//! Owns what a lesson says and how one is found. Must not know turns, stores or who asks. Everything here is a value or a pure function.
//!
//! The way: [`compose`](compose()) makes a draft of what went wrong and was mended, or of what went well; once it is verified, [`learn`] makes a lesson
//! of it, or confirms one that says the same; [`Notebook`] holds the lessons of all scopes and finds those for a request; [`draw`] decides
//! whether a lesson that was found is shown, [`observe`] counts what became of the turn, and [`retirement`](retirement()) tells when it does harm.
//! Where a model takes the notes, [`prompts`] ask it and read what it answers, and [`redacted`] takes out of them what has the form of one person's.

mod compose;
mod merge;
mod notebook;
pub mod prompts;
mod redaction;
mod retirement;
mod settings;
mod shown;
mod student;
mod text;
mod wording;

pub use compose::{Event, Lived, compose, wording};
pub use merge::{Learned, is_conflict, is_near_duplicate, latest, learn, merged, surplus};
pub use notebook::{Change, Notebook, Noted, RecallQuery, Recollection, Subject, ToolInPlay, embedded_text};
pub use redaction::redacted;
pub use retirement::{Watched, draw, observe, retirement};
pub use settings::Settings;
pub use shown::shown;
pub use student::{Student, Trained, is_right};

/// What a model is told where nothing was found (paper, appendix B).
pub const NO_EXPERIENCE: &str = "No relevant experience";
