//! Ranked search: of texts by BM25, of tools by words, meaning and name.
//!
//! Owns tokenisation and ranking. Must not depend on the meaning of the texts or the origin of the tools.

mod bm25;
mod classifier;
mod formula;
mod function_words;
mod fusion;
mod mention;
mod parameters;
mod postings;
mod rows;
mod segment;
mod statistics;
mod text_vectors;
mod tokens;
mod tool_index;
#[cfg(test)]
mod tool_index_tests;
mod tool_text;
mod tool_vectors;

pub use bm25::{Bm25, Hit, Score, Scores};
pub use classifier::{
    ClassifierModel, ClassifierWeights, SegmentClassifier, TermWeights, ToolClass, ToolClassifier, UNKNOWN_MARGIN,
    classifier_terms,
};
pub use formula::{Weights, rarity};
pub use function_words::content_terms;
pub use fusion::{Fusion, soft_sum};
pub use parameters::parameters_text;
pub use segment::ToolSegment;
pub use statistics::{CollectionStatistics, QueryTerms};
pub use text_vectors::TextVectors;
pub use tokens::{Term, is_stop_word, is_unspaced, stem, tokens};
pub use tool_index::{ClosestText, RankedTool, ScoreParts, ToolIndex, ToolQuery};
pub use tool_text::{FieldWeights, ToolDocument, ToolText};
pub use tool_vectors::{ToolVectors, embed_tools, pattern_texts, pattern_vector};
