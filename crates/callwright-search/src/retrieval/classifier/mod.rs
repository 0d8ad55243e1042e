//! Linear classifier of requests: one class per tool, over the words and the vector of a request.
//!
//! It complements the patterns of tools. Patterns are a few texts that people can read and edit; a classifier weighs
//! all words of all samples, which decides between similar tools.

mod model;
mod terms;
mod tool_classifier;

pub use model::{ClassifierModel, ClassifierWeights, ToolClass};
pub use terms::{TermWeights, classifier_terms};
pub use tool_classifier::{SegmentClassifier, ToolClassifier};

pub(super) use tool_classifier::ClassifiedRequest;
