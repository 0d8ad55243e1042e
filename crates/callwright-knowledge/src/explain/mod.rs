//! Finds the sentences of an API's documentation that explain a failed outcome.
//!
//! Owns parsing and indexing of documentation, and the rules that classify an outcome as failed. Must not depend on how
//! OpenAPI documents are loaded or how explanations are used.
//!
//! `documents` parses documentation of all formats into `blocks`. `outline` extracts the entries of catalogues (by the
//! `heads` and `records` that define codes) and the `passages` of prose. `index` stores them, and `ranking` orders them
//! for the `query` that a failed outcome yields (AutoFeedback section 3.3.1). Start with `explainer`.

mod blocks;
mod body_words;
mod client_tool;
mod codes;
mod documents;
mod entry;
mod envelope;
mod explainer;
mod failures;
mod heads;
mod index;
mod labels;
#[cfg(test)]
mod layout_tests;
mod member_names;
mod operation_globs;
mod outline;
mod passage_vectors;
mod passages;
mod pieces;
mod query;
mod ranking;
mod records;
mod runs;
#[cfg(test)]
mod sample_documents_tests;
mod sentence_vectors;
mod sentences;
mod settings;
mod shape;
#[cfg(test)]
mod shared_data_tests;
mod siblings;
mod spellings;
mod units;
mod verbatim;
mod verdict_words;
mod word_matches;

pub use client_tool::{ClientTool, ToolExplanation};
pub use documents::{
    DOCUMENTATION_ENDINGS, DocumentError, DocumentFiles, Documents, Section, document_files, documents,
};
pub use explainer::{DeferredDocs, Explainer, OperationDocs};
pub use failures::{
    FailureEvidence, FailureKind, FailureVerdict, PROMISE_RULES, RULES, ReportedFailure, Rule, TEXT_RULES, TextRule,
    ToolMessage, recognise,
};
pub use operation_globs::{OperationGlobs, OperationNames};
pub use pieces::Piece;
pub use settings::Settings;
