//! Tools that are indexed together: a toolset's, or those of one request.

use super::fusion::soft_sum;
use super::mention::Mentions;
use super::postings::{Posting, Postings};
use super::rows::Rows;
use super::term::Term;
use super::tool_text::{FieldWeights, ToolDocument, ToolText};
use super::tool_vectors::ToolVectors;

/// The index of some tools, without what depends on others: an index of many toolsets is put together from such parts, and only that of a
/// toolset that changed is made anew.
#[derive(Debug, Clone, Default)]
pub struct ToolSegment {
    lengths: Vec<f32>,
    postings: Postings,
    /// The tools' names, in order, and whose they are.
    names: Vec<(Term, u32)>,
    rows: Option<Rows>,
    /// What each tool's patterns say before anything is asked: [`prior`].
    priors: Vec<f32>,
}

impl ToolSegment {
    /// Indexes tools; with `vectors`, one for each of them, by meaning too.
    pub fn build(tools: &[ToolText], vectors: Option<&[ToolVectors]>, weights: &FieldWeights) -> Self {
        let mut segment = Self::default();
        let mut found = Vec::new();
        for (position, tool) in (0_u32..).zip(tools) {
            let document = ToolDocument::of(tool, weights);
            segment.lengths.push(document.length());
            segment.priors.push(prior(tool));
            let postings = document.terms().iter().map(|(term, count)| (*term, Posting { position, count: *count }));
            found.extend(postings);
            if !tool.name.is_empty() {
                segment.names.push((Term::of(&tool.name), position));
            }
        }
        segment.names.sort_unstable();
        segment.postings = Postings::of(found);
        segment.rows = vectors.map(|vectors| Rows::of(tools, vectors));
        segment
    }

    /// How many tools it has.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Has it none?
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Words of each tool, each with its weight.
    pub(super) fn lengths(&self) -> &[f32] {
        &self.lengths
    }

    /// Which tools have which terms.
    pub(super) fn postings(&self) -> &Postings {
        &self.postings
    }

    /// Tools whose names a query mentions.
    pub(super) fn mentioned(&self, mentions: &Mentions) -> impl Iterator<Item = usize> {
        mentions.iter().flat_map(|name| {
            let begin = self.names.partition_point(|(term, _)| *term < name);
            let rest = self.names.get(begin..).unwrap_or_default();
            rest.iter().take_while(move |(term, _)| *term == name).map(|(_, position)| *position as usize)
        })
    }

    /// What is known of a tool without vectors, by its patterns' weights alone.
    pub(super) fn prior(&self, position: usize) -> f32 {
        self.priors.get(position).copied().unwrap_or_default()
    }

    /// The tools' vectors, where they have any.
    pub(super) fn rows(&self) -> Option<&Rows> {
        self.rows.as_ref()
    }
}

/// [`soft_sum`] at a sharpness of 0, at which all texts are as close as any: what a ranking that was learned for words alone
/// says of a tool before it looks at the words.
fn prior(tool: &ToolText) -> f32 {
    let weights = std::iter::once(1.0).chain(tool.patterns.iter().map(|pattern| pattern.weight));
    soft_sum(0.0, weights.map(|weight| (0.0, weight)))
}
