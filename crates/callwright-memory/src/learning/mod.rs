//! Background jobs that turn verified outcomes into lessons and procedures.
//!
//! Owns verification, and the times of learning and retirement. Must not access running turns: it reads their traces.
//!
//! [`CachedMemory`] caches the memory in the store. A [`Worker`] runs a [`Job`], which one replica at a time holds. The
//! [`Learner`] learns from traces and feedback; `batch` decides without I/O, and `workflows` does so for procedures.
//! The [`LessonRewriter`] has a model rewrite lessons, or abstract them from cases (`case`).
//! [`Gathering`] learns procedures from records as the learner does, all at once.

mod batch;
mod case;
mod gathering;
mod job;
mod learner;
mod lesson_rewriter;
mod memory_cache;
mod progress;
mod sampling;
mod settings;
mod verdicts;
mod workflows;

pub use gathering::{Gathering, GatheringCounts, TurnJudgement};
pub use job::{Job, JobError, JobOutcome, PAUSE, Worker};
pub use learner::Learner;
pub use lesson_rewriter::LessonRewriter;
pub use memory_cache::{CachedMemory, MemoryCache};
pub use sampling::MAX_QUERY_CHARS;
pub use settings::Settings;
