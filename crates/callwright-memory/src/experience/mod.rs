//! Experience notes (ExpNote): creates, stores and recalls lessons.
//!
//! Owns the texts of lessons and the lookup of lessons. Must not depend on turns, stores or callers. Everything in this
//! module is a value or a pure function.
//!
//! [`compose`](compose()) drafts a lesson from a repaired mistake or a success. Once the draft is verified, [`learn`]
//! creates a lesson or confirms an existing one. [`LessonStore`] indexes the lessons of all scopes and finds those for a
//! request. [`draw`] decides whether a found lesson is shown, [`observe`] counts the outcome of the turn, and
//! [`retirement`](retirement()) reports when the lesson does harm. If a model writes the lessons, [`prompts`] builds
//! its prompts and parses its output, and [`redacted`] removes personal data from them.

mod compose;
mod lesson_store;
mod merge;
mod note_taker;
pub mod prompts;
mod redaction;
mod reflection;
mod retirement;
mod settings;
mod text;
mod wording;

pub use compose::{Event, Experience, compose, wording};
pub use lesson_store::{AvailableTool, LessonStore, RecallQuery, StoredLesson, embedded_text};
pub use merge::{learn, surplus};
pub use note_taker::{NoteTaker, TrainingResult, is_right};
pub use redaction::redacted;
pub use reflection::{LessonCase, PrivateTexts};
pub use retirement::{ObservedTurn, draw, observe, retirement};
pub use settings::Settings;
pub use wording::render_lessons;

/// Text for a model when no lesson was found (paper, appendix B).
pub const NO_EXPERIENCE: &str = "No relevant experience";
