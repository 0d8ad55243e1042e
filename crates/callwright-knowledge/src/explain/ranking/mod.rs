//! Ranks the passages that may explain an outcome.

mod siblings;
mod verbatim;
pub(crate) mod verdict_words;
mod word_matches;

use std::collections::BTreeMap;

use crate::explain::Settings;
use crate::explain::index::passage_vectors::MessageSimilarity;
use crate::explain::index::shape::{CodeShape, shape_of};
use crate::explain::index::units::UnitRelevance;
use crate::explain::index::{DocumentedResponse, Index, IndexedPassage};
use crate::explain::query::{CandidateCode, CodeEvidence, FailureQuery};
use siblings::is_sibling_of;
use verbatim::MessageWords;
use verdict_words::adds_to_status;
use word_matches::{PassageWordScores, WordMatch};

/// Passage that explains an outcome.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Claim {
    /// Index of the passage.
    pub(crate) passage: usize,
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
/// Weight of a passage that defines a part of a code.
const DEFINES_DERIVED: f32 = 6.0;
/// Factor for a code that is documented in a different spelling.
const OTHER_SPELLING: f32 = 0.8;
/// Weight of a passage that describes a parameter in the body.
const DEFINES_NAME: f32 = 1.2;
/// Weight of a passage that mentions a parameter in the body.
const MENTIONS_NAME: f32 = 0.8;
/// Weight of a passage of the response with exactly this status, or of the status in a list of codes.
const SAME_STATUS: f32 = 1.2;
/// Additional weight of a list of HTTP statuses if the body contains no more than the status.
const STATUS_LISTED: f32 = 1.3;
/// Weight of a passage of the response for this class of statuses, or of the default response.
const SAME_CLASS: f32 = 0.7;
/// Weight of a passage of the operation. It affects only the order, not the confidence.
const SAME_UNIT: f32 = 3.0;
/// Weight of a definition in an error catalogue. It affects only the order, like `SAME_UNIT`.
const IN_CATALOGUE: f32 = 1.5;

/// Weight of a passage that repeats the message, as a share of its likeness above [`LEAST_LIKENESS`].
const SAME_MESSAGE: f32 = 6.0;
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
/// Weight of a definition of a code that many entries share.
const GENERIC_CODE: f32 = 2.5;
/// Weight of a passage that mentions a code that none defines.
const MENTIONED_ALONE: f32 = 2.2;
/// Maximum number of passages that mention such a code.
const FEW_MENTIONS: usize = 3;
/// Number of definitions from which a code is generic.
const MANY_DEFINITIONS: usize = 6;
/// Minimum number of entries whose codes have the same shape in a catalogue.
const LEAST_CATALOGUE: usize = 5;

/// Weights of one passage, by kind of match.
#[derive(Debug, Default)]
struct PassageMatch {
    code: f32,
    name: f32,
    status: f32,
    likeness: f32,
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
pub(crate) struct PassageRanking<'a> {
    index: &'a Index,
    operation: &'a str,
    query: &'a FailureQuery,
    relevance: UnitRelevance,
}

impl<'a> PassageRanking<'a> {
    pub(crate) fn new(index: &'a Index, operation: &'a str, query: &'a FailureQuery) -> Self {
        Self { index, operation, query, relevance: index.units().relevance(operation) }
    }

    /// Whether a passage defines a code of the failure. Such a definition outweighs any similarity in meaning.
    pub(crate) fn is_code_defined(&self) -> bool {
        let mut matches = BTreeMap::new();
        add_codes(self.index, self.query, &mut matches);
        let facts = code_facts(self.index, self.query, &matches);
        let mut claims = matches.into_iter().filter_map(|(passage, weights)| {
            claim(self.index, &self.relevance, passage, weights, WordMatch::default(), self.query, &facts)
        });
        claims.any(|claim| claim.defines_code)
    }

    /// Returns the passages that reach the minimum confidence, best first; ties are in documentation order.
    pub(crate) fn rank(&self, similarity: &MessageSimilarity, settings: &Settings) -> Vec<Claim> {
        let Self { index, operation, query, relevance } = self;
        let words = PassageWordScores::new(index, &query.words, similarity);
        let mut matches: BTreeMap<usize, PassageMatch> =
            words.best().into_iter().map(|passage| (passage, PassageMatch::default())).collect();
        add_codes(index, query, &mut matches);
        add_names(index, relevance, query, &mut matches);
        add_status(index, operation, query, &mut matches);
        add_likeness(index, query, &words, &mut matches);
        let mut facts = code_facts(index, query, &matches);
        facts.is_sibling = !facts.is_documented && is_sibling(index, query, &words, &matches);
        let candidate = |(passage, weights)| {
            let words = if query.is_vague { WordMatch::default() } else { words.word_match(passage) };
            claim(index, relevance, passage, weights, words, query, &facts)
        };
        let mut claims: Vec<Claim> = matches.into_iter().filter_map(candidate).collect();
        // Beside a passage that is certain enough, others may be the right one.
        let is_certain = claims.iter().any(|claim| claim.confidence >= settings.min_confidence);
        let least = if is_certain { settings.min_confidence * FURTHER_PASSAGES } else { settings.min_confidence };
        claims.retain(|claim| claim.confidence >= least);
        claims.sort_by(|left, right| right.weight.total_cmp(&left.weight).then(left.passage.cmp(&right.passage)));
        claims
    }
}

fn add_codes(index: &Index, query: &FailureQuery, matches: &mut BTreeMap<usize, PassageMatch>) {
    for CandidateCode { name, evidence, .. } in &query.codes {
        let definitions = index.named(name).filter(|named| named.defines).count();
        let defined = definitions > 0;
        let mentions = index.named(name).count();
        for named in index.named(name) {
            let passage_match = matches.entry(named.passage).or_default();
            let only_mentioned = mentions <= FEW_MENTIONS && !defined && identifies_error(name, *evidence);
            let weight = if only_mentioned { MENTIONED_ALONE } else { code_weight(*evidence, named.defines) };
            passage_match.code =
                passage_match.code.max(if definitions >= MANY_DEFINITIONS { weight.min(GENERIC_CODE) } else { weight });
        }
        for passage in index.defined_in_other_spelling(name).filter(|_| !defined) {
            let passage_match = matches.entry(passage).or_default();
            passage_match.code = passage_match.code.max(OTHER_SPELLING * code_weight(*evidence, true));
        }
    }
}

fn add_names(
    index: &Index,
    relevance: &UnitRelevance,
    query: &FailureQuery,
    matches: &mut BTreeMap<usize, PassageMatch>,
) {
    for name in &query.names {
        for named in index.named(name) {
            let Some(entry) = index.passage(named.passage) else { continue };
            // Many operations have a parameter of this name.
            let share = relevance.share(entry.unit);
            if share > 0.0 {
                let passage_match = matches.entry(named.passage).or_default();
                passage_match.name =
                    passage_match.name.max(share * if named.defines { DEFINES_NAME } else { MENTIONS_NAME });
            }
        }
    }
}

fn add_status(index: &Index, operation: &str, query: &FailureQuery, matches: &mut BTreeMap<usize, PassageMatch>) {
    let Some(status) = query.status else { return };
    for named in index.named(&status.to_string()).filter(|named| named.defines) {
        // If the body contains a code, a number in the catalogue is also a code and not an HTTP status.
        let is_status =
            |entry: &IndexedPassage| index.units().defines_statuses(entry.unit) && !is_of_another_code(entry, query);
        if index.passage(named.passage).is_some_and(is_status) {
            matches.entry(named.passage).or_default().status =
                SAME_STATUS + if query.repeats_status { STATUS_LISTED } else { 0.0 };
        }
    }
    for passage in index.units().operation(operation).into_iter().flatten() {
        let Some(entry) = index.passage(passage) else { return };
        let weight = match entry.response {
            Some(DocumentedResponse::Status(documented)) if documented == status => SAME_STATUS,
            Some(DocumentedResponse::Class(class)) if class == status / 100 => SAME_CLASS,
            Some(DocumentedResponse::Default) => SAME_CLASS,
            _ => continue,
        };
        let entry = matches.entry(passage).or_default();
        entry.status = entry.status.max(weight);
    }
}

/// Whether a mention of a code identifies the error; a number may also be a quantity or the cause of another entry.
fn identifies_error(name: &str, evidence: CodeEvidence) -> bool {
    evidence == CodeEvidence::Member && shape_of(name).is_some_and(|shape| shape != CodeShape::Number)
}

/// Minimum share of the message's words that a passage has before the texts are compared word by word.
const COMPARED_SHARE: f32 = 0.3;

/// Maximum number of passages that are compared with the messages.
const MAX_COMPARED: usize = 256;

/// Compares the messages with the candidates.
fn add_likeness(
    index: &Index,
    query: &FailureQuery,
    words: &PassageWordScores<'_>,
    matches: &mut BTreeMap<usize, PassageMatch>,
) {
    let messages: Vec<MessageWords> = query.messages.iter().filter_map(|text| MessageWords::new(text)).collect();
    let alike = matches.iter_mut().filter(|(passage, _)| words.coverage(**passage) >= COMPARED_SHARE);
    for (passage, passage_match) in alike.take(MAX_COMPARED) {
        let Some(entry) = index.passage(*passage) else { continue };
        for message in &messages {
            passage_match.likeness = passage_match.likeness.max(message.likeness(&entry.text));
        }
    }
}

/// Whether candidates have the message but for one word.
fn is_sibling(
    index: &Index,
    query: &FailureQuery,
    words: &PassageWordScores<'_>,
    matches: &BTreeMap<usize, PassageMatch>,
) -> bool {
    let alike = matches.keys().filter(|passage| words.coverage(**passage) >= COMPARED_SHARE).take(MAX_COMPARED);
    is_sibling_of(&query.messages, alike.filter_map(|passage| Some(&*index.passage(*passage)?.text)))
}

fn code_facts(index: &Index, query: &FailureQuery, matches: &BTreeMap<usize, PassageMatch>) -> CodeFacts {
    let mut facts = CodeFacts::default();
    for passage_match in matches.values().filter(|passage_match| passage_match.code >= OTHER_SPELLING * DEFINES_DERIVED)
    {
        facts.is_documented = true;
        facts.likeness = facts.likeness.max(passage_match.likeness);
    }
    let named = query.codes.iter().filter(|code| code.is_named);
    let shapes = named.filter_map(|code| shape_of(&code.name));
    let catalogued = shapes.filter(|shape| index.entries_of_shape(*shape) >= LEAST_CATALOGUE);
    facts.is_unknown = !facts.is_documented && catalogued.count() > 0;
    facts
}

fn claim(
    index: &Index,
    relevance: &UnitRelevance,
    passage: usize,
    mut weights: PassageMatch,
    mut words: WordMatch,
    query: &FailureQuery,
    facts: &CodeFacts,
) -> Option<Claim> {
    let entry = index.passage(passage)?;
    let defines = weights.code >= OTHER_SPELLING * DEFINES_WORD;
    // A code counts regardless of the response, because some APIs return a different status than documented.
    let fits = fits_status(entry, query);
    // A passage of another operation explains this one only if it defines the code.
    let foreign = index.units().is_operation(entry.unit) && !relevance.is_own(entry.unit);
    if weights.code <= 0.0 && !fits || foreign && !defines {
        return None;
    }
    let is_identical = weights.likeness >= IDENTICAL;
    let of_another = !defines && is_of_another_code(entry, query);
    // The entry of another code, or a code that the catalogue does not contain, needs the same message.
    if of_another || facts.is_unknown {
        weights.code = if defines { weights.code } else { 0.0 };
        words.evidence = 0.0;
        if facts.is_documented || !is_identical {
            weights.likeness = 0.0;
        }
    }
    if facts.is_sibling {
        words.evidence = 0.0;
    }
    let mut same = SAME_MESSAGE * ((weights.likeness - LEAST_LIKENESS) / (1.0 - LEAST_LIKENESS)).max(0.0);
    if (query.is_vague || facts.is_sibling) && weights.likeness < SAME_VAGUE_MESSAGE {
        same = 0.0;
    }
    let explains_generic = facts.is_documented && is_identical && facts.likeness < LEAST_LIKENESS;
    if explains_generic && !defines && !of_another {
        same += MESSAGE_OF_GENERIC_CODE;
    }
    let evidence = weights.code + weights.name + weights.status + words.evidence.max(same);
    let catalogue = if defines { IN_CATALOGUE * index.units().catalogue_likelihood(entry.unit) } else { 0.0 };
    let order = words.order + same + catalogue + SAME_UNIT * relevance.share(entry.unit);
    Some(Claim {
        passage,
        weight: weights.code + weights.name + weights.status + order,
        confidence: 1.0 - (-evidence).exp(),
        defines_code: weights.code >= OTHER_SPELLING * DEFINES_DERIVED,
        names_parameter: weights.name > 0.0,
    })
}

/// Whether the passage is the entry of a different code of the same shape.
fn is_of_another_code(entry: &IndexedPassage, query: &FailureQuery) -> bool {
    let Some(shape) = entry.shape.filter(|shape| *shape != CodeShape::Words) else { return false };
    query.codes.iter().any(|code| code.evidence >= CodeEvidence::Derived && shape_of(&code.name) == Some(shape))
}

/// Whether the passage may explain an outcome of this status. Passages about another response are excluded, and so are
/// those about this response that only repeat the status. If the status does not indicate a failure, all passages are
/// allowed.
fn fits_status(entry: &IndexedPassage, query: &FailureQuery) -> bool {
    let (Some(response), Some(status)) = (entry.response, query.status) else { return true };
    let same = match response {
        DocumentedResponse::Status(documented) => documented == status,
        DocumentedResponse::Class(class) => class == status / 100,
        DocumentedResponse::Default => true,
    };
    same && adds_to_status(&entry.text, status)
}
