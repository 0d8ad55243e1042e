//! The index of all tools: which of them does a request want?

use std::cmp::Ordering;
use std::sync::Arc;

use super::found::{Closest, Found, Why};
use super::fusion::Fusion;
use super::mention::Mentions;
use super::segment::ToolSegment;
use super::statistics::CollectionStatistics;
use crate::embedding::{QuantisedQuery, Vector};

/// Tools, ready to be searched by words, by meaning and by name. It never changes; a new one shares the segments that did not change, and
/// takes milliseconds.
#[derive(Debug, Clone, Default)]
pub struct ToolIndex {
    segments: Vec<Part>,
    statistics: CollectionStatistics,
    fusion: Fusion,
    tools: usize,
}

/// A segment, and the position of its first tool.
#[derive(Debug, Clone)]
struct Part {
    first: usize,
    segment: Arc<ToolSegment>,
}

/// What is searched for.
#[derive(Debug, Clone, Copy)]
pub struct ToolQuery<'a> {
    /// The request.
    pub text: &'a str,
    /// Its vector, of the embedder that made those of the tools; without it, words alone are searched.
    pub vector: Option<&'a Vector>,
}

impl ToolIndex {
    /// An index of the tools of all segments, in their order.
    pub fn new(segments: impl IntoIterator<Item = Arc<ToolSegment>>, fusion: Fusion) -> Self {
        let mut index = Self { fusion, ..Self::default() };
        for segment in segments {
            index.statistics.merge(segment.statistics());
            let first = index.tools;
            index.tools += segment.len();
            index.segments.push(Part { first, segment });
        }
        index
    }

    /// How many tools it has.
    pub fn len(&self) -> usize {
        self.tools
    }

    /// Has it none?
    pub fn is_empty(&self) -> bool {
        self.tools == 0
    }

    /// The `k` best tools for a request, best first; of equally good ones the earlier. Tools that have nothing in common with it are left out.
    pub fn search(&self, query: &ToolQuery<'_>, k: usize) -> Vec<Found> {
        let mut found = self.scored(query);
        if k < found.len() {
            // Only the best are put in order.
            found.select_nth_unstable_by(k, order);
            found.truncate(k);
        }
        found.sort_unstable_by(order);
        found
    }

    fn scored(&self, query: &ToolQuery<'_>) -> Vec<Found> {
        let terms = self.statistics.query(query.text);
        let mentions = Mentions::of(query.text);
        let mut found = Vec::new();
        for Part { first, segment } in &self.segments {
            let mut whys = vec![Why::default(); segment.len()];
            let mut words = vec![0.0; segment.len()];
            segment.add_words(&terms, &self.statistics, &mut words);
            for named in segment.mentioned(&mentions) {
                whys.get_mut(named).into_iter().for_each(|why| why.named = true);
            }
            let rows = segment.rows().zip(query.vector);
            let rows = rows.map(|(rows, vector)| (rows, QuantisedQuery::of(vector)));
            for (at, (mut why, words)) in whys.into_iter().zip(words).enumerate() {
                why.words = words;
                if let Some((rows, vector)) = &rows {
                    why.meaning = Some(self.fusion.meaning(rows.closeness(vector, at)));
                    why.closest = closest(rows.closeness(vector, at));
                }
                if why.says_anything() {
                    found.push(Found { position: first + at, score: self.score(&why), why });
                }
            }
        }
        found
    }

    /// Where nothing is compared by meaning, words need no unit.
    fn score(&self, why: &Why) -> f32 {
        why.meaning.map_or(why.words, |meaning| self.fusion.score(meaning, why.words))
    }
}

impl Why {
    /// Is there anything that speaks for the tool?
    fn says_anything(&self) -> bool {
        self.named || self.words > 0.0 || self.closest.is_some_and(|closest| closest.cosine > 0.0)
    }
}

fn closest(texts: impl Iterator<Item = (f32, f32)>) -> Option<Closest> {
    let (at, (cosine, _)) = texts.enumerate().max_by(|(_, (left, _)), (_, (right, _))| left.total_cmp(right))?;
    Some(Closest { pattern: at.checked_sub(1), cosine })
}

/// Better first.
fn order(left: &Found, right: &Found) -> Ordering {
    let better = right.why.named.cmp(&left.why.named).then(right.score.total_cmp(&left.score));
    better.then(left.position.cmp(&right.position))
}
