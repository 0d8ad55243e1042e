//! Selects the tools to which a request clearly refers.

use super::index::Producers;
use super::request_scores::RequestScores;

/// Tolerance of score comparisons: sums of equal tools may differ by the order of addition.
const ROUNDING: f32 = 1e-4;

/// Tool to which a clause of the request clearly refers, with the number of values in the clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::planner) struct ClauseLeader {
    pub(in crate::planner) tool: usize,
    /// Numbers in the clause.
    pub(in crate::planner) numbers: usize,
    /// Other values in the clause.
    pub(in crate::planner) texts: usize,
}

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

    /// Returns the clauses that refer clearly to one tool, with the tool, in order; each tool once.
    pub(in crate::planner) fn clause_leaders(&self, scores: &RequestScores) -> Vec<ClauseLeader> {
        let mut leaders: Vec<ClauseLeader> = Vec::new();
        for (clause, values) in scores.values.iter().enumerate() {
            let Some(tool) = self.leader(scores, clause) else { continue };
            if leaders.iter().all(|leader| leader.tool != tool) {
                leaders.push(ClauseLeader { tool, numbers: values.numbers, texts: values.texts });
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
