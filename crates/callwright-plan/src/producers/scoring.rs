//! Scores the tools of all toolsets against a request.

use std::sync::Arc;

use super::clause::ClauseLimits;
use super::index::{Producers, SegmentPart};
use super::request::{Request, RequestScores, sorted};
use super::segment_scores::SegmentScores;
use callwright_search::embedding::Vector;

/// Maximum number of tools of all toolsets that are considered because of their score for the request.
const MAX_REQUEST_TOOLS_OVERALL: usize = 12;

/// Number of tools up to which all are scored. Of more, those are scored that share rare words with the request or are
/// offered, which limits the time to a fraction of a millisecond.
const MAX_SCORED_TOOLS: usize = 2_048;

/// Maximum number of entries that are read from the lists of tools per word, in all clauses and toolsets of a request
/// together.
const MAX_POSTINGS: usize = 4_096;

/// Maximum number of tools that are selected by words, in all clauses and toolsets together.
const MAX_TOOLS_BY_WORDS: usize = 256;

/// Minimum number of tools that are selected by words per clause and toolset.
const MIN_TOOLS_BY_WORDS: usize = 8;

/// Maximum number of offered tools, the best ones, that are scored in any case.
const MAX_OFFERED_TOOLS: usize = 64;

impl Producers {
    /// Scores the tools and their order in a request. `vectors` are the embeddings of [`Request::texts`] by the
    /// embedder of the tools' vectors. Without any, only words are compared.
    pub fn score(&self, request: &Request, vectors: &[Vector]) -> RequestScores {
        self.score_with_offered(request, vectors, &[])
    }

    /// Scores like [`Producers::score`], for a turn that offers the tools at these positions, best first. If there are
    /// thousands of tools, only toolsets with an offered tool are scored, and of their tools only the likely ones.
    pub fn score_with_offered(&self, request: &Request, vectors: &[Vector], offered: &[usize]) -> RequestScores {
        let scope = ScoreScope::new(self, request, offered);
        let vectors: Arc<[Vector]> = vectors.into();
        let segments: Vec<SegmentScores> =
            self.parts.iter().map(|part| scope.scores(part, request, &vectors)).collect();
        let mut best: Vec<(f32, usize)> = Vec::new();
        for (part, scores) in self.parts.iter().zip(&segments) {
            best.extend(scores.best.iter().map(|(score, tool)| (*score, part.first + *tool as usize)));
        }
        best.sort_unstable_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        best.truncate(MAX_REQUEST_TOOLS_OVERALL);
        let best = best.into_iter().map(|(_, tool)| tool).collect();
        RequestScores { segments, best, used: Vec::new(), requested: Vec::new() }
    }
}

/// The tools that are scored for a request.
struct ScoreScope {
    /// Whether all tools are scored.
    is_complete: bool,
    /// Positions of the best offered tools, in ascending order; empty if all toolsets are scored.
    offered: Vec<usize>,
    /// Number of tools up to which all tools of a toolset are scored.
    tools_of_part: usize,
    /// Limits per clause and toolset.
    postings: usize,
    tools_by_words: usize,
}

impl ScoreScope {
    fn new(producers: &Producers, request: &Request, offered: &[usize]) -> Self {
        let known = offered.iter().copied().filter(|position| *position < producers.len());
        let offered = sorted(known.take(MAX_OFFERED_TOOLS));
        let mut parts: Vec<usize> =
            offered.iter().filter_map(|position| Some(producers.part_of(*position)?.0)).collect();
        parts.dedup();
        let part_count = if parts.is_empty() { producers.parts.len() } else { parts.len() }.max(1);
        let clause_count = request.clauses().len().max(1);
        Self {
            is_complete: producers.len() <= MAX_SCORED_TOOLS,
            offered,
            tools_of_part: MAX_SCORED_TOOLS / part_count,
            postings: MAX_POSTINGS / part_count / clause_count,
            tools_by_words: (MAX_TOOLS_BY_WORDS / part_count / clause_count).max(MIN_TOOLS_BY_WORDS),
        }
    }

    fn scores(&self, part: &SegmentPart, request: &Request, vectors: &Arc<[Vector]>) -> SegmentScores {
        let segment = &part.segment;
        if self.is_complete {
            return SegmentScores::new(segment, request, vectors, None);
        }
        let offered: Vec<u32> = self.offered_of(part).collect();
        if offered.is_empty() && !self.offered.is_empty() {
            return SegmentScores::default();
        }
        let limits = ClauseLimits { postings: self.postings, tools: self.tools_by_words, offered: &offered };
        let limits = (segment.len() > self.tools_of_part).then_some(limits);
        SegmentScores::new(segment, request, vectors, limits)
    }

    /// Returns the offered tools of a toolset by their positions in it.
    fn offered_of(&self, part: &SegmentPart) -> impl Iterator<Item = u32> {
        let end = part.first + part.segment.len();
        let from = self.offered.partition_point(|position| *position < part.first);
        let offered = self.offered.get(from..).unwrap_or_default().iter();
        offered.take_while(move |position| **position < end).filter_map(|at| u32::try_from(at - part.first).ok())
    }
}

/// Tolerance of score comparisons: sums of equal tools may differ by the order of addition.
const ROUNDING: f32 = 1e-4;

impl Producers {
    /// Returns the tools that some clause of the request ranks first without a tie, in the order of the clauses. Tools
    /// that may not be called are ignored. Unclear clauses yield no tool.
    pub fn leaders(&self, scores: &RequestScores) -> Vec<usize> {
        let clauses = scores.segments.iter().map(|segment| segment.clause_count()).max().unwrap_or_default();
        let mut leaders = Vec::new();
        for clause in 0..clauses {
            if let Some(leader) = self.leader(scores, clause).filter(|leader| !leaders.contains(leader)) {
                leaders.push(leader);
            }
        }
        leaders
    }

    fn leader(&self, scores: &RequestScores, clause: usize) -> Option<usize> {
        let of_clause = self.parts.iter().zip(&scores.segments).flat_map(|(part, segment)| {
            segment.clause_tools(clause).iter().map(|(fit, tool)| (*fit, part.first + *tool as usize))
        });
        let (mut best, mut second): (Option<(f32, usize)>, f32) = (None, 0.0);
        for (fit, tool) in of_clause.filter(|(_, tool)| !self.is_barred(*tool)) {
            match best {
                Some((most, _)) if fit <= most => second = second.max(fit),
                _ => {
                    second = best.map_or(second, |(most, _)| most.max(second));
                    best = Some((fit, tool));
                }
            }
        }
        best.filter(|(most, _)| *most > second + ROUNDING).map(|(_, tool)| tool)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::segment::Segment;
    use super::super::tool::ToolShape;
    use super::*;

    fn segment(names: &[String]) -> Arc<Segment> {
        let shape =
            |name| ToolShape { name, description: "", parameters: &Value::Null, outputs: &[], http: None, links: &[] };
        Arc::new(Segment::build(&names.iter().map(|name| shape(name)).collect::<Vec<_>>()))
    }

    #[test]
    fn only_toolsets_with_an_offered_tool_are_scored() {
        let many: Vec<String> = (0..MAX_SCORED_TOOLS).map(|at| format!("find_item_{at}")).collect();
        let few = ["find_room", "book_room"].map(str::to_owned);
        let producers = Producers::new([segment(&many), segment(&few)]);
        let request = Request::parse("find room");
        let scored = |offered: &[usize]| {
            let scores = producers.score_with_offered(&request, &[], offered);
            let clauses: Vec<usize> = scores.segments.iter().map(SegmentScores::clause_count).collect();
            (clauses, scores.best.first().copied())
        };
        assert_eq!(scored(&[MAX_SCORED_TOOLS + 1]), (vec![0, 1], Some(MAX_SCORED_TOOLS)));
        assert_eq!(scored(&[7]).0, [1, 0]);
        assert_eq!(scored(&[]).0, [1, 1], "without offered tools, any toolset may be meant");
        assert_eq!(scored(&[usize::MAX]).0, [1, 1], "an unknown position is no tool");
        let few = Producers::new([segment(&many[..10]), segment(&few)]);
        let scores = few.score_with_offered(&request, &[], &[3]);
        assert!(scores.segments.iter().all(|scores| scores.clause_count() == 1), "all of few tools are scored");
    }
}
