//! Requests proposals and embeds them.

use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::StreamExt;
use futures_util::stream;

use super::Learner;
use crate::representation::learner::similarities::EmbeddedPattern;
use crate::representation::learner::{Addition, Edition, LearnError};
use callwright_common::progress::StepLength;
use callwright_search::retrieval::{pattern_texts, pattern_vector};
use callwright_types::representation::Pattern;

impl Learner<'_> {
    /// Returns the proposals for all tools with missed samples.
    pub(super) async fn additions(
        &mut self,
        iteration: usize,
    ) -> Result<Vec<(usize, Vec<EmbeddedPattern>)>, LearnError> {
        let training = self.training().await;
        let mut requests = Vec::new();
        for tool in 0..self.similarities.tools() {
            let count = self.similarities.patterns(tool).len();
            // A tool without patterns counts all of its samples as missed, to obtain initial patterns.
            let missed: Vec<&str> = training
                .rows_with(tool)
                .filter(|row| count == 0 || !training.chosen(*row).contains(&tool))
                .filter_map(|row| training.samples.get(row))
                .filter_map(|at| self.samples.queries.get(*at))
                .map(String::as_str)
                .collect();
            let room = self.settings.max_patterns.saturating_sub(count);
            if room > 0 && !missed.is_empty() {
                requests.push((tool, missed, room));
            }
        }
        if let Some(observer) = self.observer {
            observer.begins(&format!("iteration {iteration}, tools"), StepLength::Items(requests.len()));
        }
        let (learner, done) = (&*self, AtomicU64::new(0));
        let proposals = stream::iter(&requests).map(async |(tool, missed, room)| {
            let text = learner.similarities.text(*tool).cloned().unwrap_or_default();
            let addition = Addition {
                tool: &text.name,
                description: &text.description,
                patterns: &text.patterns,
                missed,
                room: *room,
            };
            let result = learner.components.proposer.add(addition).await;
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if let Some(observer) = learner.observer {
                observer.advances(done, done);
            }
            match result {
                Ok(mut patterns) => {
                    patterns.truncate(*room);
                    Some((*tool, patterns))
                }
                Err(error) => {
                    learner.fail(error);
                    None
                }
            }
        });
        let proposals: Vec<Option<(usize, Vec<Pattern>)>> =
            proposals.buffered(self.settings.parallel.max(1)).collect().await;
        let mut all = Vec::new();
        for (tool, patterns) in proposals.into_iter().flatten().filter(|(_, patterns)| !patterns.is_empty()) {
            all.push((tool, self.embedded(&patterns).await?));
        }
        Ok(all)
    }

    /// Returns the edited learned patterns of a tool; `None` if there is nothing to edit or nothing changes.
    pub(super) async fn edition(
        &self,
        tool: usize,
        wrong: &[&str],
    ) -> Result<Option<Vec<EmbeddedPattern>>, LearnError> {
        let kept = self.kept(tool);
        let (Some(text), Some(patterns)) = (self.similarities.text(tool), self.similarities.patterns(tool).get(kept..))
        else {
            return Ok(None);
        };
        if wrong.is_empty() || patterns.is_empty() {
            return Ok(None);
        }
        let edition = Edition { tool: &text.name, description: &text.description, patterns, wrong };
        match self.components.proposer.edit(edition).await {
            Ok(edited) if edited.len() == patterns.len() && edited != patterns => {
                Ok(Some(self.embedded(&edited).await?))
            }
            Ok(_) => Ok(None),
            Err(error) => {
                self.fail(error);
                Ok(None)
            }
        }
    }

    pub(super) async fn embedded(&self, patterns: &[Pattern]) -> Result<Vec<EmbeddedPattern>, LearnError> {
        let Some(embedder) = &self.components.embedder else {
            return Ok(patterns
                .iter()
                .map(|pattern| EmbeddedPattern { pattern: pattern.clone(), vector: None })
                .collect());
        };
        let texts = patterns.iter().flat_map(pattern_texts).map(str::to_owned).collect();
        let vectors = embedder.embed(texts).await?;
        let mut rest = vectors.iter();
        let embedded = patterns.iter().map(|pattern| {
            let vector = pattern_vector(rest.by_ref().take(pattern_texts(pattern).count()), embedder.dimensions());
            EmbeddedPattern { pattern: pattern.clone(), vector: Some(vector) }
        });
        Ok(embedded.collect())
    }
}
