//! Work on files instead of requests: recorded answers are judged, recorded traces are judged again, recorded failures are explained, tools are ranked for
//! recorded requests.
//!
//! Owns JSON Lines (reading, writing, compression, order, bounds) and what the offline verbs compute from them. Must not print or
//! know arguments: that is the command line's. Must not judge: `repair` and `scanner` do, `explain` explains and `retrieval` ranks, as they do for a server.
//!
//! Files may be of any size: lines are read in batches, judged side by side and written in the order in which they came, with a
//! bounded number of batches under way (`parallel`).

mod answers;
mod error;
mod explain;
mod input;
mod judge;
mod learn;
pub mod learning;
mod lines;
mod moving;
mod output;
mod parallel;
mod plan;
mod questions;
mod replay;
mod retrieve;
mod scan;
mod toolbooks;
mod tools;
mod watcher;

pub use error::{OfflineError, Problem};
pub use explain::{ExplainJob, ExplainSummary, explain};
pub use learn::{
    LearnFiles, LearnRun, NotesFiles, NotesReport, NotesRun, NotesWatcher, Prepared, Report, Samples, Stored,
    TraceLines, Variant, VariantReport, each_trace, learn, learn_notes, page,
};
pub use lines::MAX_LINE_BYTES;
pub use moving::{ExportSummary, ImportSummary, export, import};
pub use plan::{CandidatesJob, CandidatesSummary, DrawJob, DrawSummary, candidates, plans};
pub use replay::{Fates, Judgements, Replay, ReplayJob, ReplayReport, Row, Rows, TurnFates, grouped, replay};
pub use retrieve::{RetrieveJob, RetrieveSummary, retrieve};
pub use scan::{ScanJob, ScanSummary, scan};
pub use tools::{ListedTool, ListedTools};
pub use watcher::Watcher;
