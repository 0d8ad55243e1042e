//! Ranks the passages that may explain an outcome.

mod siblings;
mod verbatim;
pub(crate) mod verdict_words;
mod word_matches;

use std::collections::BTreeMap;

use crate::Settings;
use crate::index::codes::{CodeShape, shape_of};
use crate::index::passage_vectors::MessageSimilarity;
use crate::index::units::UnitRelevance;
use crate::index::{DocumentedResponse, Index, IndexedPassage};
use crate::query::{CandidateCode, CodeEvidence, FailureQuery};
use siblings::is_sibling_of;
use verbatim::MessageWords;
use verdict_words::adds_to_status;
use word_matches::{PassageWordScores, WordMatch};

/// Passage that explains an outcome.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim<'a> {
    pub(crate) entry: &'a IndexedPassage,
    /// Sort key: the sum of the weights of all matches.
    pub(crate) weight: f32,
    /// Probability that the passage concerns this failure, 0 to 1.
    pub(crate) confidence: f32,
    /// Whether it defines a code of the outcome.
    pub(crate) defines_code: bool,
    /// Whether it concerns a parameter that the outcome names.
    pub(crate) names_parameter: bool,
}

// Weight of a match between passage and outcome: the negative logarithm of the share of such matches that are
// accidental. Weights of independent matches add up, and 1 - exp(-sum) is their joint confidence.

/// Returns the weight of a passage that defines or mentions a code, by the evidence for the code.
fn code_weight(evidence: CodeEvidence, defines: bool) -> f32 {
    match (evidence, defines) {
        (CodeEvidence::Member, true) => 8.0,
        (CodeEvidence::Member, false) => 1.6,
        (CodeEvidence::Derived, true) => DEFINES_DERIVED,
        (CodeEvidence::Derived, false) => 0.8,
        (CodeEvidence::Word, true) => DEFINES_WORD,
        (CodeEvidence::Number, true) => 0.35,
        (CodeEvidence::Word | CodeEvidence::Number, false) => 0.0,
    }
}
/// Weight of a passage that defines a word that resembles a code.
const DEFINES_WORD: f32 = 3.0;
/// Weight of a passage that defines a part of a code, and of one that repeats the message, as a share of its likeness
/// above [`LEAST_LIKENESS`].
const DEFINES_DERIVED: f32 = 6.0;
/// Weight of a passage that mentions a parameter in the body, or of the response for the class of the status, or of the
/// default response.
const MENTIONS_NAME: f32 = 0.8;
/// Weight of a passage of the response with exactly this status, of the status in a list of codes, or of a description of
/// a parameter in the body.
const SAME_STATUS: f32 = 1.2;
/// Weight of a passage of the operation. It affects only the order, not the confidence.
const SAME_UNIT: f32 = 3.0;
/// Weight of a definition in an error catalogue. It affects only the order, like `SAME_UNIT`.
const IN_CATALOGUE: f32 = 1.5;

/// Additional weight of such a passage that no code is assigned to, if the body's code is documented without the
/// message: the code is generic, and the message explains the failure.
const MESSAGE_OF_GENERIC_CODE: f32 = 4.0;
/// Minimum likeness of a repeated message.
const LEAST_LIKENESS: f32 = 0.7;
/// Minimum likeness at which a message is identical.
const IDENTICAL: f32 = 0.9;
/// Share of the minimum confidence that further passages of an explanation need.
const FURTHER_PASSAGES: f32 = 0.3;
/// Minimum likeness of a message of words that occur in any failure.
const SAME_VAGUE_MESSAGE: f32 = 0.99;
/// Weight of a definition of a code that many entries share, or of a mention of a code that none defines.
const GENERIC_CODE: f32 = 2.5;
/// Maximum number of passages that mention such a code.
const FEW_MENTIONS: usize = 3;
/// Minimum number of entries whose codes have the same shape in a catalogue, and of definitions of a generic code.
const LEAST_CATALOGUE: usize = 5;

/// Minimum share of the message's words that a passage has before the texts are compared word by word.
const COMPARED_SHARE: f32 = 0.3;
/// Maximum number of passages that are compared with the messages.
const MAX_COMPARED: usize = 256;

/// Weights of one passage, by kind of match.
#[derive(Debug, Default)]
struct PassageMatch {
    code: f32,
    name: f32,
    status: f32,
    likeness: f32,
}

impl PassageMatch {
    /// Whether the passage defines a code in the place of codes, or a part of one.
    fn defines_code(&self) -> bool {
        self.code >= DEFINES_DERIVED
    }
}

/// Relation of a failure's codes and message to the documentation.
#[derive(Debug, Default)]
struct CodeFacts {
    /// Whether a code in the place of codes, or a part of one, is documented.
    is_documented: bool,
    /// Whether the body has a code that the catalogue of codes of its shape does not contain.
    is_unknown: bool,
    /// Highest likeness of the message to an entry of the documented code.
    likeness: f32,
    /// Whether the message is not documented, although its words are: those of it that others share are no evidence.
    is_sibling: bool,
}

/// Query for a failure of one operation against its toolset's index.
pub(crate) struct PassageRanking<'a, 'q> {
    index: &'a Index,
    operation: &'q str,
    query: &'q FailureQuery,
    relevance: UnitRelevance,
    matches: BTreeMap<usize, PassageMatch>,
}

impl<'a, 'q> PassageRanking<'a, 'q> {
    /// Finds the passages that define or mention a code of the failure.
    pub(crate) fn new(index: &'a Index, operation: &'q str, query: &'q FailureQuery) -> Self {
        let relevance = index.units.relevance(operation);
        let mut ranking = Self { index, operation, query, relevance, matches: BTreeMap::new() };
        ranking.add_codes();
        ranking
    }

    /// Whether a passage defines a code of the failure. Such a definition outweighs any similarity in meaning.
    pub(crate) fn is_code_defined(&self) -> bool {
        self.matches.values().any(PassageMatch::defines_code)
    }

    /// Returns the passages that reach the minimum confidence, best first; ties are in documentation order.
    pub(crate) fn rank(mut self, similarity: &MessageSimilarity, settings: &Settings) -> Vec<Claim<'a>> {
        let words = PassageWordScores::new(self.index, &self.query.words, similarity);
        for passage in words.best() {
            self.matches.entry(passage).or_default();
        }
        self.add_names();
        self.add_status();
        let compared = self.compare_messages(&words);
        let facts = self.code_facts(&compared);
        let matches = self.matches.iter();
        let mut claims: Vec<Claim<'a>> =
            matches.filter_map(|(passage, weights)| self.claim(*passage, weights, &words, &facts)).collect();
        // Beside a passage that is certain enough, others may be the right one.
        let is_certain = claims.iter().any(|claim| claim.confidence >= settings.min_confidence);
        let least = if is_certain { settings.min_confidence * FURTHER_PASSAGES } else { settings.min_confidence };
        claims.retain(|claim| claim.confidence >= least);
        // A stable sort of passages in order.
        claims.sort_by(|left, right| right.weight.total_cmp(&left.weight));
        claims
    }

    fn add_codes(&mut self) {
        for CandidateCode { name, evidence, .. } in &self.query.codes {
            let mentions: Vec<_> = self.index.named(name).collect();
            let definitions = mentions.iter().filter(|named| named.defines).count();
            // A number may also be a quantity or the cause of another entry.
            let only_mentioned = definitions == 0
                && mentions.len() <= FEW_MENTIONS
                && *evidence == CodeEvidence::Member
                && shape_of(name).is_some_and(|shape| shape != CodeShape::Number);
            for named in mentions {
                let weight = if only_mentioned { GENERIC_CODE } else { code_weight(*evidence, named.defines) };
                let weight = if definitions >= LEAST_CATALOGUE { weight.min(GENERIC_CODE) } else { weight };
                let code = &mut self.matches.entry(named.passage).or_default().code;
                *code = code.max(weight);
            }
            for passage in self.index.defined_in_other_spelling(name).filter(|_| definitions == 0) {
                let code = &mut self.matches.entry(passage).or_default().code;
                *code = code.max(code_weight(*evidence, true));
            }
        }
    }

    fn add_names(&mut self) {
        for named in self.query.names.iter().flat_map(|name| self.index.named(name)) {
            let Some(entry) = self.index.passage(named.passage) else { continue };
            // Many operations have a parameter of this name.
            let share = self.relevance.share(entry.unit);
            if share > 0.0 {
                let name = &mut self.matches.entry(named.passage).or_default().name;
                *name = name.max(share * if named.defines { SAME_STATUS } else { MENTIONS_NAME });
            }
        }
    }

    fn add_status(&mut self) {
        let Some(status) = self.query.status else { return };
        for named in self.index.named(&status.to_string()).filter(|named| named.defines) {
            let Some(entry) = self.index.passage(named.passage) else { continue };
            // If the body contains a code, a number in the catalogue is also a code and not an HTTP status.
            if self.index.units.defines_statuses(entry.unit) && !self.is_of_another_code(entry) {
                self.matches.entry(named.passage).or_default().status =
                    if self.query.repeats_status { 2.0 * SAME_STATUS } else { SAME_STATUS };
            }
        }
        for passage in self.index.units.operation(self.operation).into_iter().flatten() {
            let Some(response) = self.index.passage(passage).and_then(|entry| entry.response) else { continue };
            if response.includes(status) {
                let exact = matches!(response, DocumentedResponse::Status(_));
                let entry = &mut self.matches.entry(passage).or_default().status;
                *entry = entry.max(if exact { SAME_STATUS } else { MENTIONS_NAME });
            }
        }
    }

    /// Compares the messages with the candidates. Returns the texts of those that are similar enough.
    fn compare_messages(&mut self, words: &PassageWordScores<'_>) -> Vec<&'a str> {
        let messages: Vec<MessageWords> =
            self.query.messages.iter().filter_map(|text| MessageWords::new(text)).collect();
        let alike = self.matches.iter_mut().filter(|(passage, _)| words.coverage(**passage) >= COMPARED_SHARE);
        let mut texts = Vec::new();
        for (passage, passage_match) in alike.take(MAX_COMPARED) {
            let Some(entry) = self.index.passage(*passage) else { continue };
            texts.push(entry.text.as_str());
            let likeness = messages.iter().map(|message| message.likeness(&entry.text));
            passage_match.likeness = likeness.fold(0.0, f32::max);
        }
        texts
    }

    fn code_facts(&self, compared: &[&str]) -> CodeFacts {
        let defining = || self.matches.values().filter(|weights| weights.defines_code());
        let is_documented = defining().next().is_some();
        let likeness = defining().map(|weights| weights.likeness).fold(0.0, f32::max);
        let named = self.query.codes.iter().filter(|code| code.is_named);
        let mut shapes = named.filter_map(|code| shape_of(&code.name));
        let is_catalogued =
            shapes.any(|shape| self.index.shapes.get(&shape).is_some_and(|entries| *entries >= LEAST_CATALOGUE));
        let is_sibling = !is_documented && is_sibling_of(&self.query.messages, compared);
        CodeFacts { is_documented, is_unknown: !is_documented && is_catalogued, likeness, is_sibling }
    }

    fn claim(
        &self,
        passage: usize,
        weights: &PassageMatch,
        words: &PassageWordScores<'_>,
        facts: &CodeFacts,
    ) -> Option<Claim<'a>> {
        let (entry, query, units) = (self.index.passage(passage)?, self.query, &self.index.units);
        let PassageMatch { mut code, name, status, mut likeness } = *weights;
        let mut words = if query.is_vague { WordMatch::default() } else { words.word_match(passage) };
        let defines = code >= DEFINES_WORD;
        // A passage of another operation explains this one only if it defines the code. A code counts regardless of the
        // response, because some APIs return a different status than documented.
        let foreign = units.is_operation(entry.unit) && !self.relevance.is_own(entry.unit);
        if code <= 0.0 && !fits_status(entry, query) || foreign && !defines {
            return None;
        }
        let is_identical = likeness >= IDENTICAL;
        let of_another = !defines && self.is_of_another_code(entry);
        // The entry of another code, or a code that the catalogue does not contain, needs the same message.
        if of_another || facts.is_unknown {
            code = if defines { code } else { 0.0 };
            words.evidence = 0.0;
            if facts.is_documented || !is_identical {
                likeness = 0.0;
            }
        }
        if facts.is_sibling {
            words.evidence = 0.0;
        }
        let mut same = DEFINES_DERIVED * ((likeness - LEAST_LIKENESS) / (1.0 - LEAST_LIKENESS)).max(0.0);
        if (query.is_vague || facts.is_sibling) && likeness < SAME_VAGUE_MESSAGE {
            same = 0.0;
        }
        let explains_generic = facts.is_documented && is_identical && facts.likeness < LEAST_LIKENESS;
        if explains_generic && !defines && !of_another {
            same += MESSAGE_OF_GENERIC_CODE;
        }
        let evidence = code + name + status + words.evidence.max(same);
        let catalogue = if defines { IN_CATALOGUE * units.catalogue_likelihood(entry.unit) } else { 0.0 };
        let order = words.order + same + catalogue + SAME_UNIT * self.relevance.share(entry.unit);
        Some(Claim {
            entry,
            weight: code + name + status + order,
            confidence: 1.0 - (-evidence).exp(),
            defines_code: code >= DEFINES_DERIVED,
            names_parameter: name > 0.0,
        })
    }

    /// Whether the passage is the entry of a different code of the same shape.
    fn is_of_another_code(&self, entry: &IndexedPassage) -> bool {
        let Some(shape) = entry.shape.filter(|shape| *shape != CodeShape::Words) else { return false };
        let mut codes = self.query.codes.iter().filter(|code| code.evidence >= CodeEvidence::Derived);
        codes.any(|code| shape_of(&code.name) == Some(shape))
    }
}

/// Whether the passage may explain an outcome of this status. Passages about another response are excluded, and so are
/// those about this response that only repeat the status. If the status does not indicate a failure, all passages are
/// allowed.
fn fits_status(entry: &IndexedPassage, query: &FailureQuery) -> bool {
    let (Some(response), Some(status)) = (entry.response, query.status) else { return true };
    response.includes(status) && adds_to_status(&entry.text, status)
}
