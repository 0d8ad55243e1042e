//! Which passages may be claimed to explain an outcome, and in which order.

use std::collections::BTreeMap;
use std::ops::Range;

use super::Settings;
use super::index::{Entry, Index, Response};
use super::query::Query;
use super::verdict_words::says_more_than_the_status;

/// A passage that explains.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Claim {
    /// The passage's number in the index.
    pub(super) passage: usize,
    /// Larger is better.
    pub(super) score: f32,
    /// Does it define a code of the outcome?
    pub(super) defines_code: bool,
}

// What a tie between passage and outcome weighs. A defined code outweighs all other ties together, a mentioned one all but that; words
// only order what is otherwise equal, because a shared word is the weakest of the ties.

/// The passage defines a code of the body.
const DEFINES_CODE: f32 = 20.0;
/// The passage mentions a code of the body.
const MENTIONS_CODE: f32 = 10.0;
/// The passage describes a parameter that the body names.
const DEFINES_NAME: f32 = 3.0;
/// The passage mentions a parameter that the body names.
const MENTIONS_NAME: f32 = 2.0;
/// The passage belongs to the response of exactly this status, or defines the status in a list of codes.
const SAME_STATUS: f32 = 3.0;
/// The passage belongs to the response of this class of statuses, or to the default one.
const SAME_CLASS: f32 = 1.5;
/// The passage is the best by words; others get their share of it.
const BEST_WORDS: f32 = 2.0;

#[derive(Debug, Default)]
struct Ties {
    code: f32,
    name: f32,
    status: f32,
    words: f32,
    evidence: f32,
    coverage: f32,
}

/// The passages in `range` that are tied to the query well enough, best first; equal ones in the order of the documentation.
pub(super) fn rank(index: &Index, range: Range<usize>, query: &Query, settings: &Settings) -> Vec<Claim> {
    let mut ties: BTreeMap<usize, Ties> = BTreeMap::new();
    let from_members = query.codes.iter().map(|code| (code, MENTIONS_CODE));
    let from_text = query.identifiers.iter().map(|code| (code, 0.0));
    for (code, mention) in from_members.chain(from_text) {
        for named in index.named(code).filter(|named| range.contains(&named.passage)) {
            let tie = ties.entry(named.passage).or_default();
            tie.code = tie.code.max(if named.defines { DEFINES_CODE } else { mention });
        }
    }
    for name in &query.names {
        for named in index.named(name).filter(|named| range.contains(&named.passage)) {
            let tie = ties.entry(named.passage).or_default();
            tie.name = tie.name.max(if named.defines { DEFINES_NAME } else { MENTIONS_NAME });
        }
    }
    add_status(index, range.clone(), query, &mut ties);
    add_words(index, range, query, &mut ties);
    let mut claims: Vec<Claim> =
        ties.into_iter().filter_map(|(passage, ties)| claim(index, passage, &ties, query, settings)).collect();
    claims.sort_by(|left, right| right.score.total_cmp(&left.score).then(left.passage.cmp(&right.passage)));
    claims
}

fn add_status(index: &Index, range: Range<usize>, query: &Query, ties: &mut BTreeMap<usize, Ties>) {
    let Some(status) = query.status else { return };
    for named in index.named(&status.to_string()).filter(|named| named.defines && range.contains(&named.passage)) {
        ties.entry(named.passage).or_default().status = SAME_STATUS;
    }
    for passage in range {
        let Some(entry) = index.passage(passage) else { return };
        let tie = match entry.response {
            Some(Response::Status(documented)) if documented == status => SAME_STATUS,
            Some(Response::Class(class)) if class == status / 100 => SAME_CLASS,
            Some(Response::Default) => SAME_CLASS,
            _ => continue,
        };
        ties.entry(passage).or_default().status = tie;
    }
}

fn add_words(index: &Index, range: Range<usize>, query: &Query, ties: &mut BTreeMap<usize, Ties>) {
    let hits = index.words().search_within(&query.words, range.clone(), range.len());
    let best = hits.first().map_or(1.0, |hit| hit.score);
    for hit in hits {
        let tie = ties.entry(hit.position).or_default();
        tie.words = BEST_WORDS * hit.score / best;
        tie.evidence = hit.evidence;
        tie.coverage = hit.coverage;
    }
}

fn claim(index: &Index, passage: usize, ties: &Ties, query: &Query, settings: &Settings) -> Option<Claim> {
    // A code ties whatever the response is: some APIs answer with another status than they document.
    let fits = index.passage(passage).is_some_and(|entry| fits_status(entry, query));
    let exact = ties.code > 0.0 || fits && (ties.name > 0.0 || ties.status > 0.0);
    let by_words = fits && ties.evidence >= settings.min_evidence && ties.coverage >= settings.min_coverage;
    let score = ties.code + ties.name + ties.status + ties.words;
    (exact || by_words).then_some(Claim { passage, score, defines_code: ties.code >= DEFINES_CODE })
}

/// May the passage explain an outcome of this status? Not where it describes another response, nor where it describes this one with no
/// more than the status' name. Where the status does not tell of the failure, all may.
fn fits_status(entry: &Entry, query: &Query) -> bool {
    let (Some(response), Some(status)) = (entry.response, query.status) else { return true };
    let same = match response {
        Response::Status(documented) => documented == status,
        Response::Class(class) => class == status / 100,
        Response::Default => true,
    };
    same && says_more_than_the_status(&entry.text, status)
}
