//! Linear classifier of requests: one class per tool, over the words and the vector of a request.
//!
//! It complements the patterns of tools. Patterns are a few texts that people can read and edit; a classifier weighs
//! all words of all samples, which decides between similar tools.

use std::collections::HashMap;
use std::sync::Arc;

use crate::embedding::{Vector, dot};
use crate::retrieval::tokens::{Term, tokens};

/// Margin of a tool without a class: that of a wrong one.
pub const UNKNOWN_MARGIN: f32 = -1.0;

/// A classifier in the form in which requests are evaluated.
#[derive(Debug, PartialEq)]
pub struct ToolClassifier {
    embedder: Option<String>,
    dimensions: usize,
    weights: ClassifierWeights,
    terms: TermWeights,
    /// Class and weight, by term.
    by_term: Vec<Vec<(u32, f32)>>,
    biases: Vec<f32>,
    /// Weights of the components, one class after the other.
    meanings: Vec<f32>,
    tools: HashMap<String, u32>,
    /// Class of the requests that no tool serves.
    none: Option<usize>,
}

impl ToolClassifier {
    /// Creates a classifier. Weights of unknown terms are ignored, and missing components are zero.
    pub fn new(model: &ClassifierModel, weights: ClassifierWeights) -> Self {
        let mut classifier = Self {
            embedder: model.embedder.clone(),
            dimensions: model.dimensions,
            weights,
            terms: TermWeights::new(model.terms.iter().map(|(term, rarity)| (term.as_str(), *rarity))),
            by_term: vec![Vec::new(); model.terms.len()],
            biases: Vec::with_capacity(model.classes.len()),
            meanings: Vec::with_capacity(model.classes.len() * model.dimensions),
            tools: HashMap::new(),
            none: None,
        };
        for (number, class) in (0_u32..).zip(&model.classes) {
            match &class.tool {
                Some(tool) => drop(classifier.tools.insert(tool.clone(), number)),
                None => classifier.none = Some(number as usize),
            }
            classifier.biases.push(class.bias);
            for (term, weight) in &class.terms {
                if let Some(classes) = classifier.by_term.get_mut(*term) {
                    classes.push((number, *weight));
                }
            }
            let components = class.meaning.iter().map(|number| f32::from(*number) * class.unit);
            let components = components.chain(std::iter::repeat(0.0)).take(model.dimensions);
            classifier.meanings.extend(components);
        }
        classifier
    }

    /// Whether the classifier may be used with the vectors of this embedder: it was learned with them, or without any.
    pub fn fits(&self, embedder: Option<&str>) -> bool {
        self.embedder.is_none() || self.embedder.as_deref() == embedder
    }

    /// Returns the weights of its contribution.
    pub fn weights(&self) -> ClassifierWeights {
        self.weights
    }

    /// Returns the margin of each class; `None` if the classifier needs a vector and the request has none of the right
    /// length.
    pub fn margins(&self, text: &str, vector: Option<&Vector>) -> Option<Vec<f32>> {
        let mut margins = self.biases.clone();
        if self.dimensions > 0 {
            let vector = vector.filter(|vector| has_meaning(vector, self.dimensions))?;
            for (margin, row) in margins.iter_mut().zip(self.meanings.chunks_exact(self.dimensions)) {
                *margin += dot(row, vector.components());
            }
        }
        for (term, feature) in self.terms.features(text) {
            for (class, weight) in self.by_term.get(term as usize).into_iter().flatten() {
                if let Some(margin) = margins.get_mut(*class as usize) {
                    *margin += weight * feature;
                }
            }
        }
        Some(margins)
    }
}

/// A classifier with the positions of its tools in a segment.
#[derive(Debug, Clone, PartialEq)]
pub struct SegmentClassifier {
    classifier: Arc<ToolClassifier>,
    /// Class of each tool of the segment.
    classes: Vec<Option<u32>>,
}

/// Result of a classifier for a request.
#[derive(Debug)]
pub(super) struct ClassifiedRequest<'a> {
    segment: &'a SegmentClassifier,
    margins: Vec<f32>,
}

impl SegmentClassifier {
    /// Finds the classes of the tools of a segment by their names, in order. It is used where the segment is the only
    /// one of an index, because margins are comparable only with each other.
    pub fn new<'a>(classifier: &Arc<ToolClassifier>, names: impl IntoIterator<Item = &'a str>) -> Self {
        let classes = names.into_iter().map(|name| classifier.tools.get(name).copied()).collect();
        Self { classifier: Arc::clone(classifier), classes }
    }

    /// Evaluates a request; `None` if the request has no vector and the classifier needs one.
    pub(super) fn classify(&self, text: &str, vector: Option<&Vector>) -> Option<ClassifiedRequest<'_>> {
        Some(ClassifiedRequest { segment: self, margins: self.classifier.margins(text, vector)? })
    }
}

impl ClassifiedRequest<'_> {
    /// Returns the margin of a tool above that of a wrong tool; 0 for a tool without a class.
    pub(super) fn margin(&self, position: usize) -> f32 {
        let class = self.segment.classes.get(position).copied().flatten();
        let margin = class.and_then(|class| self.margins.get(class as usize)).copied();
        margin.unwrap_or(UNKNOWN_MARGIN) - UNKNOWN_MARGIN
    }

    /// Returns the score of a tool with the classifier's contribution.
    pub(super) fn score(&self, position: usize, score: f32) -> f32 {
        let ClassifierWeights { weight, scale, .. } = self.segment.classifier.weights;
        scale * (score + weight * self.margin(position))
    }

    /// Whether the request is served by no tool.
    pub(super) fn is_of_no_tool(&self) -> bool {
        let (Some(threshold), Some(none)) = (self.segment.classifier.weights.no_tool, self.segment.classifier.none)
        else {
            return false;
        };
        let others = self.margins.iter().enumerate().filter(|(class, _)| *class != none).map(|(_, margin)| *margin);
        let best = others.fold(UNKNOWN_MARGIN, f32::max);
        self.margins.get(none).is_some_and(|margin| margin - best >= threshold)
    }
}

fn has_meaning(vector: &Vector, dimensions: usize) -> bool {
    vector.components().len() == dimensions && vector.components().iter().any(|component| *component != 0.0)
}

/// Parameters of a linear classifier of requests. The margin of a class is the dot product of its weights with the
/// features of the request plus its bias; in training, it is 1 for requests of the class and -1 for all others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClassifierModel {
    /// Embedder of the vectors among the features; `None`: words only.
    pub embedder: Option<String>,
    /// Number of components of these vectors; 0 without vectors.
    pub dimensions: usize,
    /// Terms with their inverse document frequencies among the samples.
    pub terms: Vec<(String, f32)>,
    pub classes: Vec<ToolClass>,
}

/// Parameters of one class.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolClass {
    /// Name of the tool; `None`: requests that no tool serves.
    pub tool: Option<String>,
    pub bias: f32,
    /// Weights of terms, by their position in [`ClassifierModel::terms`], in descending order of their magnitude.
    pub terms: Vec<(usize, f32)>,
    /// Weights of the components of the vector, rounded to eight bits.
    pub meaning: Vec<i8>,
    /// Unit of [`ToolClass::meaning`].
    pub unit: f32,
}

/// Contribution of a classifier to the score of a tool: `scale * (score + weight * (margin + 1))`. A tool without a
/// class has the margin of a wrong one, -1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassifierWeights {
    /// Weight of the margin relative to the score by patterns and words.
    pub weight: f32,
    /// Factor of the sum, which keeps differences of scores interpretable as ratios of likelihoods.
    pub scale: f32,
    /// Least amount by which the margin of "no tool" must exceed that of every tool, so that no tool is found; `None`:
    /// tools are always found.
    pub no_tool: Option<f32>,
}

/// Returns the terms of a text for a classifier: its words, and its pairs of adjacent words.
pub fn classifier_terms(text: &str) -> Vec<String> {
    let words = tokens(text);
    let mut terms = Vec::with_capacity(2 * words.len());
    for pair in words.windows(2) {
        if let [first, second] = pair {
            terms.push(format!("{first} {second}"));
        }
    }
    terms.extend(words);
    terms
}

/// Positions and inverse document frequencies of terms.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TermWeights(HashMap<Term, (u32, f32)>);

impl TermWeights {
    /// Creates the weights of terms in the order of their positions.
    pub fn new<'a>(terms: impl IntoIterator<Item = (&'a str, f32)>) -> Self {
        let mut weights = HashMap::new();
        for (position, (term, rarity)) in (0_u32..).zip(terms) {
            weights.insert(Term::of(term), (position, rarity));
        }
        Self(weights)
    }

    /// Returns the known terms of a text by position, with their weights `(1 + ln frequency) * rarity` as a vector of
    /// length one.
    pub fn features(&self, text: &str) -> Vec<(u32, f32)> {
        let mut counts: HashMap<u32, (f32, f32)> = HashMap::new();
        for term in classifier_terms(text) {
            if let Some((position, rarity)) = self.0.get(&Term::of(&term)) {
                counts.entry(*position).or_insert((0.0, *rarity)).0 += 1.0;
            }
        }
        let mut features = Vec::with_capacity(counts.len());
        for (position, (count, rarity)) in counts {
            features.push((position, (1.0 + count.ln()) * rarity));
        }
        // Sums of floating-point numbers depend on the order.
        features.sort_unstable_by_key(|(position, _)| *position);
        let norm = features.iter().map(|(_, weight)| weight * weight).sum::<f32>().sqrt();
        if norm > 0.0 {
            features.iter_mut().for_each(|(_, weight)| *weight /= norm);
        }
        features
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(dimensions: usize) -> ClassifierModel {
        let class = |tool: Option<&str>, term: usize, sign: i8| ToolClass {
            tool: tool.map(str::to_owned),
            bias: -1.0,
            terms: vec![(term, 2.0)],
            meaning: if dimensions > 0 { vec![sign, 0] } else { Vec::new() },
            unit: 0.5,
        };
        ClassifierModel {
            embedder: (dimensions > 0).then(|| "table".to_owned()),
            dimensions,
            terms: ["card", "weather", "hello"].map(|term| (term.to_owned(), 1.0)).to_vec(),
            classes: vec![class(Some("block"), 0, 2), class(Some("forecast"), 1, -2), class(None, 2, 0)],
        }
    }

    fn segment(dimensions: usize, no_tool: Option<f32>) -> SegmentClassifier {
        let weights = ClassifierWeights { weight: 2.0, scale: 0.5, no_tool };
        let classifier = Arc::new(ToolClassifier::new(&model(dimensions), weights));
        SegmentClassifier::new(&classifier, ["forecast", "unknown", "block"])
    }

    #[test]
    fn words_and_meaning_add_up_and_unknown_tools_count_as_wrong() {
        let vector = Vector::new(vec![1.0, 0.0]).unwrap();
        let segment = segment(2, None);
        let classified = segment.classify("card", Some(&vector)).unwrap();
        let margins = [0, 1, 2].map(|position| classified.margin(position));
        assert_eq!(margins, [-1.0, 0.0, 3.0]);
        assert!((classified.score(2, 4.0) - 5.0).abs() < 1e-6);
    }

    #[test]
    fn without_its_vector_a_request_is_not_classified() {
        let segment = segment(2, None);
        let (zero, long) = (Vector::zero(2), Vector::new(vec![1.0; 3]).unwrap());
        for vector in [None, Some(&zero), Some(&long)] {
            assert!(segment.classify("card", vector).is_none());
        }
    }

    #[test]
    fn no_tool_must_exceed_every_tool_by_the_threshold() {
        let no_tool = |threshold: Option<f32>, text: &str| {
            let segment = segment(0, threshold);
            let classified = segment.classify(text, None).unwrap();
            classified.is_of_no_tool()
        };
        assert!(no_tool(Some(0.5), "hello"));
        assert!(!no_tool(Some(0.5), "card"));
        assert!(!no_tool(Some(3.0), "hello"));
        assert!(!no_tool(None, "hello"));
    }

    #[test]
    fn it_fits_the_vectors_it_was_learned_with() {
        let weights = ClassifierWeights { weight: 1.0, scale: 1.0, no_tool: None };
        let by_meaning = ToolClassifier::new(&model(2), weights);
        assert!(by_meaning.fits(Some("table")) && !by_meaning.fits(Some("other")) && !by_meaning.fits(None));
        assert!(ToolClassifier::new(&model(0), weights).fits(Some("other")));
    }

    #[test]
    fn terms_are_words_and_adjacent_pairs() {
        assert_eq!(classifier_terms("Lost cards!"), ["lost card", "lost", "card"]);
        assert!(classifier_terms(" ?").is_empty());
    }

    #[test]
    fn features_have_length_one_and_prefer_rare_terms() {
        let weights = TermWeights::new([("card", 1.0), ("lost", 3.0), ("lost card", 3.0)]);
        let features = weights.features("lost card, unheard card");
        let norm: f32 = features.iter().map(|(_, weight)| weight * weight).sum();
        assert!((norm - 1.0).abs() < 1e-6);
        assert_eq!(features.iter().map(|(position, _)| *position).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(features[1].1 > features[0].1);
        assert!(weights.features("nothing known").is_empty());
    }
}
