//! Ranks the passages that may explain an outcome.

use std::collections::BTreeMap;

use super::Settings;
use super::index::{DocumentedResponse, Index, IndexedPassage};
use super::meanings::MessageSimilarity;
use super::places::Aboutness;
use super::query::{CandidateCode, CodeEvidence, FailureQuery};
use super::shape::{CodeShape, shape_of};
use super::verdict_words::says_more_than_the_status;
use super::word_ties::{PassageWordScores, WordTie};

/// Passage that explains an outcome.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Claim {
    /// Index of the passage.
    pub(super) passage: usize,
    /// Sort key: the sum of the weights of all ties.
    pub(super) weight: f32,
    /// Probability that the passage concerns this failure, 0 to 1.
    pub(super) confidence: f32,
    /// Whether it defines a code of the outcome.
    pub(super) defines_code: bool,
    /// Whether it concerns a parameter that the outcome names.
    pub(super) names_parameter: bool,
}

// Weight of a tie between passage and outcome: the negative logarithm of the share of such ties that are accidental.
// Weights of independent ties add up, and 1 - exp(-sum) is their joint confidence.

/// Returns the weight of a passage that defines or mentions a code, by the evidence for the code.
fn code_tie(standing: CodeEvidence, defines: bool) -> f32 {
    match (standing, defines) {
        (CodeEvidence::Member, true) => 8.0,
        (CodeEvidence::Member, false) => 1.6,
        (CodeEvidence::Derived, true) => DEFINES_DERIVED,
        (CodeEvidence::Derived, false) => 0.8,
        (CodeEvidence::Word, true) => DEFINES_WORD,
        (CodeEvidence::Number, true) => 0.35,
        (CodeEvidence::Word | CodeEvidence::Number, false) => 0.0,
    }
}
/// Weight of a passage that defines a word that looks like a code.
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
const SAME_PLACE: f32 = 3.0;
/// Weight of a definition in an error catalogue. It affects only the order, like `SAME_PLACE`.
const IN_CATALOGUE: f32 = 1.5;

#[derive(Debug, Default)]
struct TieWeights {
    code: f32,
    name: f32,
    status: f32,
}

/// Query for a failure of one operation against its toolset's index.
pub(super) struct PassageRanking<'a> {
    index: &'a Index,
    operation: &'a str,
    query: &'a FailureQuery,
    about: Aboutness,
}

impl<'a> PassageRanking<'a> {
    pub(super) fn of(index: &'a Index, operation: &'a str, query: &'a FailureQuery) -> Self {
        Self { index, operation, query, about: index.places().about(operation) }
    }

    /// Whether a passage defines a code of the failure. Such a definition outweighs any similarity in meaning.
    pub(super) fn is_code_defined(&self) -> bool {
        let mut ties = BTreeMap::new();
        add_codes(self.index, self.query, &mut ties);
        let claim = |(passage, ties)| claim(self.index, &self.about, passage, ties, WordTie::default(), self.query);
        ties.into_iter().filter_map(claim).any(|claim| claim.defines_code)
    }

    /// Returns the passages that reach the minimum confidence, best first; ties are in documentation order.
    pub(super) fn rank(&self, closeness: &MessageSimilarity, settings: &Settings) -> Vec<Claim> {
        let Self { index, operation, query, about } = self;
        let words = PassageWordScores::of(index, &query.words, closeness);
        let mut ties: BTreeMap<usize, TieWeights> =
            words.best().into_iter().map(|passage| (passage, TieWeights::default())).collect();
        add_codes(index, query, &mut ties);
        add_names(index, about, query, &mut ties);
        add_status(index, operation, query, &mut ties);
        let claim = |(passage, ties)| claim(index, about, passage, ties, words.tie(index, passage), query);
        let mut claims: Vec<Claim> = ties.into_iter().filter_map(claim).collect();
        claims.retain(|claim| claim.confidence >= settings.min_confidence);
        claims.sort_by(|left, right| right.weight.total_cmp(&left.weight).then(left.passage.cmp(&right.passage)));
        claims
    }
}

fn add_codes(index: &Index, query: &FailureQuery, ties: &mut BTreeMap<usize, TieWeights>) {
    for CandidateCode { name, standing } in &query.codes {
        let mut defined = false;
        for named in index.named(name) {
            defined |= named.defines;
            let tie = ties.entry(named.passage).or_default();
            tie.code = tie.code.max(code_tie(*standing, named.defines));
        }
        for passage in index.spelt_otherwise(name).filter(|_| !defined) {
            let tie = ties.entry(passage).or_default();
            tie.code = tie.code.max(OTHER_SPELLING * code_tie(*standing, true));
        }
    }
}

fn add_names(index: &Index, about: &Aboutness, query: &FailureQuery, ties: &mut BTreeMap<usize, TieWeights>) {
    for name in &query.names {
        for named in index.named(name) {
            let Some(entry) = index.passage(named.passage) else { continue };
            // Many operations have a parameter of this name.
            let share = about.of(entry.place);
            if share > 0.0 {
                let tie = ties.entry(named.passage).or_default();
                tie.name = tie.name.max(share * if named.defines { DEFINES_NAME } else { MENTIONS_NAME });
            }
        }
    }
}

fn add_status(index: &Index, operation: &str, query: &FailureQuery, ties: &mut BTreeMap<usize, TieWeights>) {
    let Some(status) = query.status else { return };
    for named in index.named(&status.to_string()).filter(|named| named.defines) {
        // If the body contains a code, a number in the catalogue is also a code and not an HTTP status.
        let is_status =
            |entry: &IndexedPassage| index.places().defines_statuses(entry.place) && !is_of_another_code(entry, query);
        if index.passage(named.passage).is_some_and(is_status) {
            ties.entry(named.passage).or_default().status =
                SAME_STATUS + if query.repeats_status { STATUS_LISTED } else { 0.0 };
        }
    }
    for passage in index.places().operation(operation).into_iter().flatten() {
        let Some(entry) = index.passage(passage) else { return };
        let tie = match entry.response {
            Some(DocumentedResponse::Status(documented)) if documented == status => SAME_STATUS,
            Some(DocumentedResponse::Class(class)) if class == status / 100 => SAME_CLASS,
            Some(DocumentedResponse::Default) => SAME_CLASS,
            _ => continue,
        };
        let entry = ties.entry(passage).or_default();
        entry.status = entry.status.max(tie);
    }
}

fn claim(
    index: &Index,
    about: &Aboutness,
    passage: usize,
    mut ties: TieWeights,
    mut words: WordTie,
    query: &FailureQuery,
) -> Option<Claim> {
    let entry = index.passage(passage)?;
    let defines = ties.code >= OTHER_SPELLING * DEFINES_WORD;
    // A code counts regardless of the response, because some APIs return a different status than documented.
    let fits = fits_status(entry, query);
    // A passage of another operation explains this one only if it defines the code.
    let foreign = index.places().is_operation(entry.place) && !about.is_own(entry.place);
    if ties.code <= 0.0 && !fits || foreign && !defines {
        return None;
    }
    if !defines && is_of_another_code(entry, query) {
        ties.code = 0.0;
        words.evidence = 0.0;
    }
    let evidence = ties.code + ties.name + ties.status + words.evidence;
    let catalogue = if defines { IN_CATALOGUE * index.places().catalogues(entry.place) } else { 0.0 };
    let order = words.order + catalogue + SAME_PLACE * about.of(entry.place);
    Some(Claim {
        passage,
        weight: ties.code + ties.name + ties.status + order,
        confidence: 1.0 - (-evidence).exp(),
        defines_code: ties.code >= OTHER_SPELLING * DEFINES_DERIVED,
        names_parameter: ties.name > 0.0,
    })
}

/// Whether the passage is the entry of a different code of the same shape.
fn is_of_another_code(entry: &IndexedPassage, query: &FailureQuery) -> bool {
    let Some(shape) = entry.shape.filter(|shape| *shape != CodeShape::Words) else { return false };
    query.codes.iter().any(|code| code.standing >= CodeEvidence::Derived && shape_of(&code.name) == Some(shape))
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
    same && says_more_than_the_status(&entry.text, status)
}
