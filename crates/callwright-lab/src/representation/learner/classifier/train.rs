//! Trains the classes of a classifier.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

use super::solver::{FeatureRows, Separator, separate};
use callwright_common::parallel::{WorkLimits, in_order};
use callwright_search::embedding::Vector;
use callwright_search::retrieval::{ClassifierModel, TermWeights, ToolClass, classifier_terms};

/// Minimum number of requests without a tool from which their class is trained.
const LEAST_WITHOUT_TOOL: usize = 10;

/// Maximum number of terms: the most frequent ones.
const MAX_TERMS: usize = 60_000;

/// Maximum number of terms stored per class: those with the largest weights. With 300 instead, accuracy falls by half a
/// point.
const MAX_TERMS_OF_CLASS: usize = 1_000;

/// Smallest weight that is stored.
const LEAST_WEIGHT: f32 = 0.005;

/// Requests with their right tools, to train on.
#[derive(Debug, Default)]
pub(in crate::representation::learner) struct TrainingSet<'a> {
    /// Requests with at least one right tool, and the positions of these tools.
    pub(in crate::representation::learner) samples: Vec<(&'a str, &'a [usize])>,
    /// Vectors of the requests; empty without an embedder.
    pub(in crate::representation::learner) vectors: Vec<&'a Vector>,
    /// Requests that no tool serves.
    pub(in crate::representation::learner) without_tool: Vec<&'a str>,
    /// Vectors of these requests.
    pub(in crate::representation::learner) vectors_without_tool: Vec<&'a Vector>,
    /// Names and texts of the tools.
    pub(in crate::representation::learner) tools: Vec<(&'a str, String)>,
    pub(in crate::representation::learner) vectors_of_tools: Vec<&'a Vector>,
    /// Embedder of the vectors.
    pub(in crate::representation::learner) embedder: Option<&'a str>,
}

/// A row of the training set: its text, its vector, and the classes to which it belongs.
struct TrainingRow<'a> {
    text: &'a str,
    vector: Option<&'a Vector>,
    tools: &'a [usize],
    is_without_tool: bool,
}

impl TrainingSet<'_> {
    /// Returns the tools with enough samples, sorted.
    fn classes(&self) -> Vec<usize> {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for tool in self.samples.iter().flat_map(|(_, tools)| *tools) {
            *counts.entry(*tool).or_default() += 1;
        }
        counts.into_iter().filter(|(_, count)| *count > 1).map(|(tool, _)| tool).collect()
    }

    /// Returns all rows: the samples, and the tools themselves as one sample each. `own` has the position of each tool.
    fn rows<'s>(&'s self, classes: &[usize], own: &'s [usize]) -> Vec<TrainingRow<'s>> {
        let mut rows = Vec::new();
        for (at, (text, tools)) in self.samples.iter().enumerate() {
            let vector = self.vectors.get(at).copied();
            rows.push(TrainingRow { text, vector, tools, is_without_tool: false });
        }
        for (at, text) in self.without_tool.iter().enumerate() {
            let vector = self.vectors_without_tool.get(at).copied();
            rows.push(TrainingRow { text, vector, tools: &[], is_without_tool: true });
        }
        for tool in classes {
            if let (Some((_, text)), Some(tools)) = (self.tools.get(*tool), own.get(*tool..=*tool)) {
                let vector = self.vectors_of_tools.get(*tool).copied();
                rows.push(TrainingRow { text, vector, tools, is_without_tool: false });
            }
        }
        rows
    }

    fn dimensions(&self) -> usize {
        self.vectors.first().map_or(0, |vector| vector.components().len())
    }
}

/// Returns a classifier of the requests; `None` if fewer than two classes have enough samples.
///
/// # Errors
/// [`io::Error`]: a thread cannot be started.
pub(in crate::representation::learner) fn train(
    set: &TrainingSet<'_>,
    seed: u64,
    jobs: usize,
) -> io::Result<Option<ClassifierModel>> {
    let classes = set.classes();
    let has_none = set.without_tool.len() >= LEAST_WITHOUT_TOOL;
    if classes.len() + usize::from(has_none) < 2 {
        return Ok(None);
    }
    let own: Vec<usize> = (0..set.tools.len()).collect();
    let rows = set.rows(&classes, &own);
    let terms = vocabulary(&rows);
    let features = features(&rows, &terms, set.dimensions());
    let mut model = ClassifierModel {
        embedder: set.embedder.map(str::to_owned),
        dimensions: features.dimensions,
        terms,
        classes: Vec::with_capacity(classes.len() + 1),
    };
    let labels = classes.iter().map(|tool| Some(*tool)).chain(has_none.then_some(None));
    let limits = WorkLimits { workers: jobs, weight: u64::MAX, ahead: 4 * jobs.max(1) };
    in_order(
        limits,
        labels,
        |_| 1,
        |label| {
            let is_positive = |row: usize| rows.get(row).is_some_and(|row| is_of_class(row, label));
            // Each class has its own sequence, so that the number of threads does not matter.
            let seed = seed.wrapping_add(label.map_or(0, |tool| tool as u64 + 1));
            let tool = label.and_then(|tool| set.tools.get(tool)).map(|(name, _)| (*name).to_owned());
            class(tool, &separate(&features, is_positive, seed))
        },
        |class| {
            model.classes.push(class);
            io::Result::Ok(())
        },
    )?;
    Ok(Some(without_unused_terms(model)))
}

fn is_of_class(row: &TrainingRow<'_>, label: Option<usize>) -> bool {
    label.map_or(row.is_without_tool, |tool| row.tools.contains(&tool))
}

/// Returns the terms that several rows contain, with their inverse document frequencies, in alphabetical order.
fn vocabulary(rows: &[TrainingRow<'_>]) -> Vec<(String, f32)> {
    let mut counts: HashMap<String, u32> = HashMap::new();
    for row in rows {
        let distinct: HashSet<String> = classifier_terms(row.text).into_iter().collect();
        for term in distinct {
            *counts.entry(term).or_default() += 1;
        }
    }
    // A word of one sample may be of a single user, and is not stored.
    let mut frequent: Vec<(String, u32)> = counts.into_iter().filter(|(_, count)| *count > 1).collect();
    frequent.sort_unstable_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    frequent.truncate(MAX_TERMS);
    frequent.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    frequent.into_iter().map(|(term, count)| (term, rounded(rarity(count, rows.len())))).collect()
}

/// Returns the inverse document frequency, smoothed as if one more row contained every term.
fn rarity(count: u32, rows: usize) -> f32 {
    1.0 + ((1.0 + rows as f32) / (1.0 + count as f32)).ln()
}

fn features(rows: &[TrainingRow<'_>], terms: &[(String, f32)], dimensions: usize) -> FeatureRows {
    let weights = TermWeights::new(terms.iter().map(|(term, rarity)| (term.as_str(), *rarity)));
    let mut features = FeatureRows { width: terms.len(), dimensions, ..FeatureRows::default() };
    for row in rows {
        features.terms.push(weights.features(row.text));
        let components = row.vector.map_or(&[][..], Vector::components).iter().copied();
        features.meanings.extend(components.chain(std::iter::repeat(0.0)).take(dimensions));
    }
    features
}

/// Rounds a separator to what is stored.
fn class(tool: Option<String>, separator: &Separator) -> ToolClass {
    let weights = separator.terms.iter().copied().enumerate();
    let mut terms: Vec<(usize, f32)> = weights.filter(|(_, weight)| weight.abs() >= LEAST_WEIGHT).collect();
    terms.sort_unstable_by(|one, other| other.1.abs().total_cmp(&one.1.abs()).then(one.0.cmp(&other.0)));
    terms.truncate(MAX_TERMS_OF_CLASS);
    for (_, weight) in &mut terms {
        *weight = rounded(*weight);
    }
    let largest = separator.meaning.iter().fold(0.0_f32, |largest, weight| largest.max(weight.abs()));
    let unit = largest / f32::from(i8::MAX);
    let meaning = separator.meaning.iter().map(|weight| if unit > 0.0 { (weight / unit).round() as i8 } else { 0 });
    ToolClass { tool, bias: rounded(separator.bias), terms, meaning: meaning.collect(), unit }
}

/// Rounds to the decimals that are stored.
fn rounded(weight: f32) -> f32 {
    (weight * 10_000.0).round() / 10_000.0
}

/// Removes the terms that no class uses.
fn without_unused_terms(mut model: ClassifierModel) -> ClassifierModel {
    let used: HashSet<usize> =
        model.classes.iter().flat_map(|class| class.terms.iter().map(|(term, _)| *term)).collect();
    let mut positions = vec![0; model.terms.len()];
    let mut kept = Vec::with_capacity(used.len());
    for (at, term) in model.terms.into_iter().enumerate() {
        if used.contains(&at) {
            if let Some(position) = positions.get_mut(at) {
                *position = kept.len();
            }
            kept.push(term);
        }
    }
    model.terms = kept;
    for (term, _) in model.classes.iter_mut().flat_map(|class| &mut class.terms) {
        *term = positions.get(*term).copied().unwrap_or_default();
    }
    model
}

#[cfg(test)]
mod tests {
    use super::*;
    use callwright_search::retrieval::{ClassifierWeights, ToolClassifier};

    const WEIGHTS: ClassifierWeights = ClassifierWeights { weight: 1.0, scale: 1.0, no_tool: None };

    fn set<'a>(samples: &[(&'a str, &'a [usize])], without_tool: &[&'a str]) -> TrainingSet<'a> {
        let tools = ["block", "order"].map(|name| (name, name.to_owned())).to_vec();
        TrainingSet { samples: samples.to_vec(), without_tool: without_tool.to_vec(), tools, ..TrainingSet::default() }
    }

    fn margins(model: &ClassifierModel, text: &str) -> Vec<f32> {
        ToolClassifier::new(model, WEIGHTS).margins(text, None).unwrap()
    }

    #[test]
    fn requests_with_several_tools_belong_to_each_class() {
        let samples: [(&str, &[usize]); 6] = [
            ("my card is lost", &[0]),
            ("lost the card", &[0]),
            ("send a new card", &[1]),
            ("a new one please", &[1]),
            ("lost it, send a new one", &[0, 1]),
            ("lost, new one", &[0, 1]),
        ];
        let model = train(&set(&samples, &[]), 1, 2).unwrap().unwrap();
        assert_eq!(
            model.classes.iter().map(|class| class.tool.as_deref()).collect::<Vec<_>>(),
            [Some("block"), Some("order")]
        );
        let both = margins(&model, "lost, send a new one");
        assert!(both[0] > 0.0 && both[1] > 0.0, "{both:?}");
        let first = margins(&model, "lost");
        assert!(first[0] > 0.0 && first[1] < 0.0, "{first:?}");
        assert!(model.terms.iter().all(|(term, _)| term != "please"), "a word of one user is not stored");
    }

    #[test]
    fn result_is_independent_of_the_number_of_threads() {
        let samples: [(&str, &[usize]); 4] =
            [("my card is lost", &[0]), ("lost card", &[0]), ("send a card", &[1]), ("send one", &[1])];
        let set = set(&samples, &[]);
        assert_eq!(train(&set, 1, 1).unwrap(), train(&set, 1, 3).unwrap());
    }

    #[test]
    fn enough_requests_without_a_tool_form_a_class() {
        let samples: [(&str, &[usize]); 2] = [("lost card", &[0]), ("lost the card", &[0])];
        let texts: Vec<String> = (0..LEAST_WITHOUT_TOOL).map(|number| format!("hello there {number}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let model = train(&set(&samples, &texts), 1, 1).unwrap().unwrap();
        assert_eq!(model.classes.last().unwrap().tool, None);
        let hello = margins(&model, "hello there");
        assert!(hello[1] > hello[0], "{hello:?}");
        assert_eq!(train(&set(&samples, &texts[1..]), 1, 1).unwrap(), None, "one class alone separates nothing");
    }
}
