//! Labelled samples and their split into training and validation sets.

use std::collections::HashMap;

use super::LearnError;
use callwright_search::retrieval::ToolText;

/// Request with its right tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// Text of the request.
    pub query: String,
    /// Names of the right tools; empty if no tool serves the request.
    pub tools: Vec<String>,
}

/// Samples with resolved tools, split into training and validation sets.
#[derive(Debug, Clone)]
pub(super) struct SampleSplit {
    /// Texts of the requests.
    pub(super) queries: Vec<String>,
    /// Positions of the right tools, per request.
    pub(super) right: Vec<Vec<usize>>,
    /// Positions of the training samples.
    pub(super) training: Vec<usize>,
    /// Positions of the validation samples.
    pub(super) validation: Vec<usize>,
    /// Texts of the requests that no tool serves. Only the classifier learns from them.
    pub(super) without_tool: Vec<String>,
}

impl SampleSplit {
    /// Resolves the tools of the samples and splits them by `seed`. Unknown tool names, and samples whose tools are
    /// all unknown, are ignored.
    pub(super) fn new(samples: &[Sample], tools: &[ToolText], share: f64, seed: u64) -> Result<Self, LearnError> {
        let mut positions = HashMap::new();
        for (position, tool) in tools.iter().enumerate() {
            positions.entry(tool.name.as_str()).or_insert(position);
        }
        let (mut queries, mut right, mut without_tool) = (Vec::new(), Vec::new(), Vec::new());
        for sample in samples.iter().filter(|sample| !sample.query.trim().is_empty()) {
            if sample.tools.is_empty() {
                without_tool.push(sample.query.clone());
            }
            let mut indices: Vec<usize> =
                sample.tools.iter().filter_map(|name| positions.get(name.as_str()).copied()).collect();
            indices.sort_unstable();
            indices.dedup();
            if !indices.is_empty() {
                queries.push(sample.query.clone());
                right.push(indices);
            }
        }
        if queries.len() < 2 {
            return Err(LearnError::TooFew { usable: queries.len(), given: samples.len() });
        }
        let mut order: Vec<usize> = (0..queries.len()).collect();
        fastrand::Rng::with_seed(seed).shuffle(&mut order);
        // Both sets have at least one sample, because without validation no change could be kept.
        let confirming = ((queries.len() as f64 * share).round() as usize).clamp(1, queries.len() - 1);
        let mut training = order.split_off(confirming);
        order.sort_unstable();
        training.sort_unstable();
        Ok(Self { queries, right, training, validation: order, without_tool })
    }

    /// Returns splits of the same samples for cross-validation. Each sample is in one validation set; the number of
    /// splits follows from the validation share.
    pub(super) fn rotations(&self, seed: u64) -> Vec<Self> {
        let mut training = self.training.clone();
        fastrand::Rng::with_seed(seed).shuffle(&mut training);
        let order: Vec<usize> = self.validation.iter().copied().chain(training).collect();
        let parts = (order.len() as f64 / self.validation.len().max(1) as f64).round().max(1.0) as usize;
        let rotations = (0..parts).map(|part| {
            let (mut training, mut validation) = (Vec::new(), Vec::new());
            for (at, sample) in order.iter().enumerate() {
                let part_of_sample = at * parts / order.len().max(1);
                if part_of_sample == part { validation.push(*sample) } else { training.push(*sample) }
            }
            training.sort_unstable();
            validation.sort_unstable();
            Self { training, validation, ..self.clone() }
        });
        rotations.collect()
    }

    /// Whether a tool is right for a sample.
    pub(super) fn is_right(&self, sample: usize, tool: usize) -> bool {
        self.right.get(sample).is_some_and(|right| right.binary_search(&tool).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(query: &str, tools: &[&str]) -> Sample {
        Sample { query: query.to_owned(), tools: tools.iter().map(|tool| (*tool).to_owned()).collect() }
    }

    fn tools(names: &[&str]) -> Vec<ToolText> {
        names.iter().map(|name| ToolText { name: (*name).to_owned(), ..ToolText::default() }).collect()
    }

    #[test]
    fn samples_are_split_reproducibly_four_to_one() {
        let samples: Vec<Sample> = (0..50).map(|number| sample(&number.to_string(), &["a"])).collect();
        let split = |seed| SampleSplit::new(&samples, &tools(&["a"]), 0.2, seed).unwrap();
        let first = split(1);
        assert_eq!((first.training.len(), first.validation.len()), (40, 10));
        assert_eq!(first.validation, split(1).validation);
        assert_ne!(first.validation, split(2).validation);
    }

    #[test]
    fn each_sample_is_validated_in_one_rotation() {
        let samples: Vec<Sample> = (0..23).map(|number| sample(&number.to_string(), &["a"])).collect();
        let rotations = SampleSplit::new(&samples, &tools(&["a"]), 0.2, 1).unwrap().rotations(1);
        let mut confirming: Vec<usize> = rotations.iter().flat_map(|rotation| rotation.validation.clone()).collect();
        confirming.sort_unstable();
        assert_eq!(confirming, (0..23).collect::<Vec<_>>());
        assert!(rotations.iter().all(|rotation| rotation.training.len() + rotation.validation.len() == 23));
        assert!(rotations.iter().all(|rotation| !rotation.training.is_empty() && !rotation.validation.is_empty()));
    }

    #[test]
    fn samples_without_a_known_tool_are_ignored() {
        let samples = [
            sample("x", &["b", "a", "b", "unheard"]),
            sample("y", &["unheard"]),
            sample(" ", &["a"]),
            sample("z", &["a"]),
            sample("thanks", &[]),
        ];
        let samples = SampleSplit::new(&samples, &tools(&["a", "b", "a"]), 0.2, 1).unwrap();
        assert_eq!(samples.right, [vec![0, 1], vec![0]]);
        assert_eq!(samples.without_tool, ["thanks"]);
        assert!(samples.is_right(0, 1) && !samples.is_right(1, 1) && !samples.is_right(9, 0));
        assert!(matches!(
            SampleSplit::new(&[sample("x", &["a"])], &tools(&["a"]), 0.2, 1),
            Err(LearnError::TooFew { usable: 1, given: 1 })
        ));
    }
}
