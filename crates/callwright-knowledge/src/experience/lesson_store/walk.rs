//! Scoring of the lessons of one segment for a request.

use super::query::ToolInPlay;
use super::segment::{LessonSegment, ShardPostings};
use callwright_search::retrieval::Term;

/// Score accumulator over the lessons of one segment that are about tools in play.
pub(super) struct LessonScorer<'a> {
    segment: &'a LessonSegment,
    /// Whether each lesson was deleted.
    gone: &'a [bool],
    /// Shards about tools in play, sorted.
    shards: Vec<u32>,
    /// Current score of each lesson.
    pub(super) scores: Vec<f32>,
    /// Lessons that have a score, in the order in which they were found.
    pub(super) touched: Vec<u32>,
}

/// Returns the BM25 weight of a single occurrence in a key with this number of terms.
pub(super) fn said(saturation: &[f32], terms: usize) -> f32 {
    saturation.get(terms).or(saturation.last()).copied().unwrap_or_default()
}

impl<'a> LessonScorer<'a> {
    pub(super) fn new(segment: &'a LessonSegment, gone: &'a [bool], tools: &[ToolInPlay<'_>]) -> Self {
        let (shards, scores) = (segment.shards_for(tools), vec![0.0; segment.entries().len()]);
        Self { segment, gone, shards, scores, touched: Vec::new() }
    }

    /// Adds a term's weight to the scores of the lessons that contain it, until the steps are used up.
    pub(super) fn add(&mut self, term: Term, rarity: f32, saturation: &[f32], steps: &mut usize) {
        let groups = self.segment.groups(term);
        // Both lists are sorted by shard; look up the entries of the shorter list in the longer one.
        let looks_up_shards = self.shards.len() < groups.len();
        for at in 0..self.shards.len().min(groups.len()) {
            if *steps == 0 {
                return;
            }
            *steps -= 1;
            let group = if looks_up_shards { self.group_of_shard(at, groups) } else { self.active(groups.get(at)) };
            if let Some(group) = group {
                self.add_group(group, rarity, saturation, steps);
            }
        }
    }

    fn group_of_shard(&self, at: usize, groups: &[ShardPostings]) -> Option<ShardPostings> {
        let shard = self.shards.get(at)?;
        let at = groups.binary_search_by_key(shard, |group| group.shard).ok()?;
        groups.get(at).copied()
    }

    fn active(&self, group: Option<&ShardPostings>) -> Option<ShardPostings> {
        group.filter(|group| self.shards.binary_search(&group.shard).is_ok()).copied()
    }

    fn add_group(&mut self, group: ShardPostings, rarity: f32, saturation: &[f32], steps: &mut usize) {
        for position in self.segment.positions(group) {
            if *steps == 0 {
                return;
            }
            *steps -= 1;
            let at = *position as usize;
            if self.gone.get(at).copied().unwrap_or_default() {
                continue;
            }
            let (Some(score), Some(terms)) = (self.scores.get_mut(at), self.segment.terms_of(at)) else { continue };
            if *score == 0.0 {
                self.touched.push(*position);
            }
            *score += rarity * said(saturation, terms);
        }
    }
}
