//! Finds the sentences of an API's documentation that explain a failed outcome.
//!
//! Owns parsing and indexing of documentation, and the rules that classify an outcome as failed. Must not depend on how
//! OpenAPI documents are loaded or how explanations are used.
//!
//! `documents` parses documentation of all formats into blocks. `passages` extracts the entries of catalogues and joins
//! the sentences of prose. `index` stores them, and `ranking` orders them for the `query` that a failed outcome yields
//! (AutoFeedback section 3.3.1). Start with `explanation`.

pub mod answer_check;
mod documents;
mod explanation;
mod failures;
mod index;
#[cfg(test)]
mod layout_tests;
mod passages;
mod query;
mod ranking;
#[cfg(test)]
mod sample_documents_tests;
mod settings;
#[cfg(test)]
mod shared_data_tests;
mod word_list;

pub use documents::operation_globs::{OperationGlobs, OperationNames};
pub use documents::{
    ContentError, DocumentError, DocumentFiles, Documents, Section, document_files, documentation_endings, documents,
};
pub use explanation::{ClientTool, DeferredDocs, Explainer, OperationDocs, ToolExplanation};
pub use failures::{FailureKind, FailureVerdict, recognise};
pub use settings::Settings;
