//! Offline processing of files: judges recorded answers, replays recorded traces, explains recorded failures, ranks
//! tools for recorded requests; learns representations.
//!
//! Owns JSON Lines (reading, writing, compression, order, bounds) and the computations of the offline commands. Must
//! not print or parse arguments, which the command line does. Must not judge by itself: it uses `repair`, `scanner`,
//! `explain` and `retrieval` as a server does.
//!
//! Files may have any size: lines are read in batches, processed in parallel and written in input order, with a bounded
//! number of batches in memory ([`callwright_common::parallel`]).

mod error;
mod explain;
mod input;
mod journal;
mod judge;
mod learn;
mod lines;
mod moving;
mod output;
mod plan;
mod processing;
mod questions;
mod replay;
pub mod representation;
mod retrieve;
mod scan;
mod tool_sets;
mod tools;

pub use error::OfflineError;
pub use explain::{ExplainJob, ExplainSummary, explain};
pub use journal::JournaledModel;
pub use learn::{
    LearnFiles, LearnInputs, LearnRun, NotesFiles, NotesReport, NotesRun, Report, Samples, StoredInputs, TestReport,
    TestScores, ToolScores, Variant, VariantReport, learn, learn_notes,
};
pub use lines::{LinesRead, MAX_LINE_BYTES};
pub use moving::{ExportSummary, ImportSummary, export, import};
pub use plan::{CandidatesJob, CandidatesSummary, DrawJob, DrawSummary, candidates, plans};
pub use replay::{
    Fates, Judgements, Replay, ReplayJob, ReplayReport, Row, Rows, TurnFates, each_trace, grouped, replay,
};
pub use retrieve::{RetrieveJob, RetrieveSummary, retrieve};
pub use scan::{ScanJob, ScanSummary, scan};
pub use tools::{ListedTool, ListedTools};
