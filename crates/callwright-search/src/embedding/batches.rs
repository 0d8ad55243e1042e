//! Batching of texts for a model, and reassembly of its results in order.

use super::{Settings, Vector};
use callwright_common::text::beginning;

/// Texts for one run of a model, and the positions of their vectors.
#[derive(Debug)]
pub(super) struct TextBatch {
    pub(super) texts: Vec<String>,
    pub(super) positions: Vec<usize>,
}

/// Limits of a batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Portion {
    pub(super) texts: usize,
    pub(super) chars: usize,
}

impl Portion {
    pub(super) fn new(settings: &Settings) -> Self {
        Self { texts: settings.batch_texts.max(1), chars: settings.max_text_chars }
    }

    /// Splits texts into batches of similar length, because a batch is padded to its longest text. Blank texts are in
    /// none.
    pub(super) fn batches(self, texts: Vec<String>) -> Vec<TextBatch> {
        let mut spoken: Vec<(usize, String)> = texts
            .into_iter()
            .enumerate()
            .filter(|(_, text)| !text.trim().is_empty())
            .map(|(position, text)| (position, beginning(&text, self.chars).to_owned()))
            .collect();
        spoken.sort_by_key(|(_, text)| text.len());
        let mut batches = Vec::new();
        let mut rest = spoken.into_iter().peekable();
        while rest.peek().is_some() {
            let (positions, texts) = rest.by_ref().take(self.texts).unzip();
            batches.push(TextBatch { texts, positions });
        }
        batches
    }
}

/// Collects the vectors of all texts.
#[derive(Debug)]
pub(super) struct EmbeddedTexts {
    vectors: Vec<Option<Vector>>,
    dimensions: usize,
}

impl EmbeddedTexts {
    /// Creates a collector for `texts` texts; every vector must have `dimensions` components.
    pub(super) fn new(texts: usize, dimensions: usize) -> Self {
        Self { vectors: vec![None; texts], dimensions }
    }

    /// Stores the vectors of a batch at their positions.
    ///
    /// # Errors
    /// The reason why the rows are not valid vectors.
    pub(super) fn put(&mut self, positions: &[usize], rows: Vec<Vec<f32>>) -> Result<(), String> {
        if rows.len() != positions.len() {
            return Err(format!("{} texts were answered with {} vectors", positions.len(), rows.len()));
        }
        for (position, row) in positions.iter().zip(rows) {
            if row.len() != self.dimensions {
                return Err(format!("a vector has {} components instead of {}", row.len(), self.dimensions));
            }
            let vector = Vector::new(row).ok_or_else(|| NOT_FINITE.to_owned())?;
            if let Some(slot) = self.vectors.get_mut(*position) {
                *slot = Some(vector);
            }
        }
        Ok(())
    }

    /// Returns all vectors in the order of the texts; that of a blank text is zero.
    pub(super) fn finish(self) -> Vec<Vector> {
        let dimensions = self.dimensions;
        self.vectors.into_iter().map(|vector| vector.unwrap_or_else(|| Vector::zero(dimensions))).collect()
    }
}

/// Message for invalid vectors.
pub(super) const NOT_FINITE: &str = "a vector has non-finite components; the model or its file is damaged";

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    /// Returns two components per text: 1 and the text's length.
    fn lengths(texts: &[String]) -> Vec<Vec<f32>> {
        texts.iter().map(|text| vec![1.0, text.len() as f32]).collect()
    }

    #[test]
    fn vectors_come_back_in_the_order_of_the_texts() {
        let given = texts(&["ccc", "", "a", "  ", "bb", "dddd"]);
        let mut answers = EmbeddedTexts::new(given.len(), 2);
        let batches = Portion { texts: 2, chars: 10 }.batches(given);
        assert_eq!(batches.iter().map(|batch| batch.texts.clone()).collect::<Vec<_>>(), [["a", "bb"], ["ccc", "dddd"]]);
        for batch in batches {
            answers.put(&batch.positions, lengths(&batch.texts)).unwrap();
        }
        let ratio = |vector: &Vector| (vector.components()[1] / vector.components()[0]).round();
        let vectors = answers.finish();
        assert_eq!([0, 2, 4, 5].map(|at: usize| ratio(&vectors[at])), [3.0, 1.0, 2.0, 4.0]);
        assert_eq!([1, 3].map(|at: usize| vectors[at].components()), [[0.0, 0.0], [0.0, 0.0]]);
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let batches = Portion { texts: 1, chars: 2 }.batches(texts(&["äöü"]));
        assert_eq!(batches[0].texts, ["äö"]);
    }

    #[test]
    fn invalid_responses_are_distinguished() {
        let reason = |rows: Vec<Vec<f32>>| {
            let batch = Portion { texts: 2, chars: 9 }.batches(texts(&["a", "b"])).remove(0);
            EmbeddedTexts::new(2, 2).put(&batch.positions, rows).unwrap_err()
        };
        assert_eq!(reason(vec![vec![1.0, 1.0]]), "2 texts were answered with 1 vectors");
        assert_eq!(reason(vec![vec![1.0], vec![1.0]]), "a vector has 1 components instead of 2");
        assert_eq!(reason(vec![vec![1.0, f32::NAN], vec![1.0, 1.0]]), NOT_FINITE);
    }
}
