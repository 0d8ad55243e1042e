//! Comparable features of a tool's answers.

use std::collections::HashSet;

use super::profile::Profile;
use callwright_search::retrieval::Term;

/// Features of the documented answer of a tool. Tools with the same output fields share them: in large documents,
/// thousands of operations answer with the same schema.
#[derive(Debug, Default)]
pub(super) struct AnswerFeatures {
    /// Values of the answer; empty if it is not documented.
    pub(super) outputs: Box<[OutputFeatures]>,
    /// Distinct names of the values.
    pub(super) names: Box<[Term]>,
    /// Distinct words of these names.
    pub(super) words: Box<[Term]>,
    /// Distinct keys.
    pub(super) keys: Box<[Term]>,
    /// Things that identifying values denote.
    pub(super) things: Box<[Term]>,
    /// Whether any value is an identifier.
    pub(super) identifies: bool,
}

/// Value of a tool's answer.
#[derive(Debug, Clone)]
pub(super) struct OutputFeatures {
    pub(super) pointer: Box<str>,
    /// Position among the segment's profiles.
    pub(super) profile: u32,
    pub(super) depth: u8,
    pub(super) in_list: bool,
}

impl AnswerFeatures {
    /// Collects the features of an answer with these values.
    pub(super) fn new(outputs: Box<[OutputFeatures]>, profiles: &[Profile]) -> Self {
        let of_outputs: Vec<&Profile> =
            outputs.iter().filter_map(|output| profiles.get(output.profile as usize)).collect();
        let identifying = || of_outputs.iter().filter(|profile| profile.identifies);
        Self {
            names: distinct(of_outputs.iter().map(|profile| profile.whole)),
            words: distinct(of_outputs.iter().flat_map(|profile| profile.words.iter().map(|(term, _)| *term))),
            keys: distinct(of_outputs.iter().filter_map(|profile| profile.key)),
            things: distinct(identifying().flat_map(|profile| profile.things.iter().chain(&profile.holders).copied())),
            identifies: identifying().next().is_some(),
            outputs,
        }
    }
}

fn distinct(terms: impl Iterator<Item = Term>) -> Box<[Term]> {
    let mut terms: Vec<Term> = terms.collect::<HashSet<Term>>().into_iter().collect();
    terms.sort_unstable();
    terms.into()
}
