//! Embeds sentences to split runs by meaning.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::pieces::Piece;
use super::runs::{PassagePart, SentenceRun};
use callwright_search::embedding::{EmbedError, Embedder, Vector};
use callwright_search::retrieval::{is_stop_word, tokens};

/// Vectors of the sentences of runs, as far as available.
#[derive(Debug, Default)]
pub(crate) struct SentenceVectors(HashMap<String, Vector>);

impl SentenceVectors {
    /// Embeds sentences in one request.
    ///
    /// # Errors
    /// Returns [`EmbedError`] if the embedder fails.
    pub(crate) async fn embed(texts: Vec<String>, embedder: &Arc<dyn Embedder>) -> Result<Self, EmbedError> {
        if texts.is_empty() {
            return Ok(Self::default());
        }
        let vectors = embedder.embed(texts.clone()).await?;
        Ok(Self(texts.into_iter().zip(vectors).collect()))
    }

    /// Returns the passages of a part. A run is split by the meanings of its sentences if all of them have vectors,
    /// otherwise by their words, because the two measures are not comparable.
    pub(crate) fn passages(&self, part: PassagePart) -> Vec<Piece> {
        let run = match part {
            PassagePart::Passage(piece) => return vec![piece],
            PassagePart::Run(run) => run,
        };
        match run.texts().map(|text| self.0.get(text)).collect::<Option<Vec<_>>>() {
            Some(vectors) => run.passages(|gap| closeness(&vectors, gap)),
            None => {
                let cohesion = Cohesion::new(run.texts());
                run.passages(|gap| cohesion.at(gap))
            }
        }
    }
}

/// Returns the distinct sentences to embed, at most `limit`. Includes only whole runs, in order.
pub(crate) fn distinct_sentences<'a>(runs: impl Iterator<Item = &'a SentenceRun>, limit: usize) -> Vec<String> {
    let mut sentences = BTreeSet::new();
    for run in runs {
        let new: BTreeSet<&str> = run.texts().filter(|text| !sentences.contains(text)).collect();
        if sentences.len() + new.len() <= limit {
            sentences.extend(new);
        }
    }
    sentences.into_iter().map(str::to_owned).collect()
}

/// Returns the cosine of the vector sums before and after a gap, analogous to the word counts of TextTiling.
fn closeness(vectors: &[&Vector], gap: usize) -> f32 {
    let (before, behind) = vectors.split_at(gap.min(vectors.len()));
    let before = sum(before.iter().rev().take(WINDOW));
    let behind = sum(behind.iter().take(WINDOW));
    before.zip(behind).map_or(0.0, |(before, behind)| before.cosine(&behind))
}

fn sum<'a>(vectors: impl Iterator<Item = &'a &'a Vector>) -> Option<Vector> {
    let mut sum: Vec<f32> = Vec::new();
    for vector in vectors {
        sum.resize(sum.len().max(vector.components().len()), 0.0);
        sum.iter_mut().zip(vector.components()).for_each(|(sum, component)| *sum += component);
    }
    Vector::new(sum)
}

/// Number of sentences on each side of a gap whose words are compared; a single sentence has too few words.
const WINDOW: usize = 3;

/// Cohesion at the gaps between sentences: the cosine of the word counts before and after the gap, like the block
/// comparison of TextTiling (Hearst 1997, section 4.2).
#[derive(Debug)]
struct Cohesion {
    words: Vec<Vec<String>>,
}

impl Cohesion {
    fn new<'a>(sentences: impl Iterator<Item = &'a str>) -> Self {
        let words = sentences.map(|text| tokens(text).into_iter().filter(|word| !is_stop_word(word)).collect());
        Self { words: words.collect() }
    }

    /// Returns the cohesion between the sentences before number `at` and those from it on: 0 (nothing in common) to 1.
    fn at(&self, at: usize) -> f32 {
        let (before, behind) = self.words.split_at(at.min(self.words.len()));
        let before = counts(before.iter().rev().take(WINDOW));
        let behind = counts(behind.iter().take(WINDOW));
        let product: f32 = before.iter().filter_map(|(word, count)| Some(count * behind.get(word)?)).sum();
        let length = |counts: &HashMap<&str, f32>| counts.values().map(|count| count * count).sum::<f32>().sqrt();
        let lengths = length(&before) * length(&behind);
        if lengths > 0.0 { product / lengths } else { 0.0 }
    }
}

fn counts<'a>(sentences: impl Iterator<Item = &'a Vec<String>>) -> HashMap<&'a str, f32> {
    let mut counts = HashMap::new();
    for word in sentences.flatten() {
        *counts.entry(word.as_str()).or_default() += 1.0;
    }
    counts
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;
    use serde_json::Map;

    use super::*;
    use crate::explain::{Explainer, OperationDocs, Settings};
    use callwright_types::outcome::ApiAnswer;
    use callwright_types::{DocText, OperationRef, Outcome};

    /// Embeds two subjects by one keyword each.
    #[derive(Debug, Default)]
    struct Subjects {
        requests: AtomicUsize,
        fails: bool,
    }

    impl Embedder for Subjects {
        fn id(&self) -> &'static str {
            "subjects"
        }

        fn dimensions(&self) -> usize {
            2
        }

        fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EmbedError>> {
            self.requests.fetch_add(1, Ordering::Relaxed);
            let vector = |text: String| {
                let is = |subject: bool| if subject { 1.0 } else { 0.1 };
                Vector::new(vec![is(text.contains("badge")), is(text.contains("parcel"))]).unwrap()
            };
            let vectors = texts.into_iter().map(vector).collect();
            let error = EmbedError { model: "subjects".into(), reason: "it is away".into() };
            Box::pin(std::future::ready(if self.fails { Err(error) } else { Ok(vectors) }))
        }
    }

    const BADGES: &str =
        "Every badge opens doors. A badge is lent. A lost badge costs ten. The costs of stolen ones are shared.";
    const PARCELS: &str = "The costs of every parcel are shared. The parcel is ten kilograms. Each parcel has a label.";

    fn docs(toolset: &str) -> OperationDocs {
        let text = format!("{BADGES} {PARCELS}").replace("stolen ones", "a stolen badge");
        OperationDocs {
            toolset: toolset.into(),
            tool: "tool".into(),
            texts: vec![DocText { text, source: "source".into() }],
        }
    }

    fn settings() -> Settings {
        Settings { passage_chars: 150, min_confidence: 0.0, ..Settings::default() }
    }

    fn built(toolsets: &[&str], settings: &Settings, fails: bool) -> (Explainer, Option<EmbedError>, usize) {
        let subjects = Arc::new(Subjects { fails, ..Subjects::default() });
        let embedder: Arc<dyn Embedder> = subjects.clone();
        let docs = toolsets.iter().map(|toolset| docs(toolset)).collect();
        let (explainer, error) =
            Explainer::with_embedder(docs, Vec::new(), settings, &embedder).now_or_never().unwrap();
        (explainer, error, subjects.requests.load(Ordering::Relaxed))
    }

    /// Returns the passage about badges.
    fn badge_passage(explainer: &Explainer) -> String {
        let operation = OperationRef { toolset: "a".into(), tool: "tool".into() };
        let outcome = Outcome::Answered(ApiAnswer::new(400, "badge lent doors".to_owned()));
        let explanation = explainer.explain(&operation, &outcome, &Map::new()).now_or_never().unwrap();
        explanation.passages.first().map(|passage| passage.text.clone()).unwrap_or_default()
    }

    #[test]
    fn a_passage_ends_where_the_meaning_changes_although_words_go_on() {
        let badges = BADGES.replace("stolen ones", "a stolen badge");
        let (by_meaning, error, _) = built(&["a"], &settings(), false);
        assert_eq!((badge_passage(&by_meaning), error), (badges.clone(), None));
        let by_words = Explainer::build(vec![docs("a")], &settings());
        assert_ne!(badge_passage(&by_words), badges, "words alone split elsewhere");
    }

    #[test]
    fn a_failed_embedder_is_queried_once_and_words_decide() {
        let by_words = badge_passage(&Explainer::build(vec![docs("a")], &settings()));
        let (explainer, error, requests) = built(&["a", "b"], &settings(), true);
        assert_eq!((badge_passage(&explainer), requests), (by_words, 1));
        assert!(error.is_some_and(|error| error.to_string() == "subjects: it is away"));
    }

    #[test]
    fn no_more_texts_are_embedded_than_the_settings_allow() {
        let by_words = badge_passage(&Explainer::build(vec![docs("a")], &settings()));
        let (explainer, error, _) = built(&["a"], &Settings { max_embedded_texts: 3, ..settings() }, false);
        assert_eq!((badge_passage(&explainer), error), (by_words, None));
    }

    #[test]
    fn text_that_fits_into_one_passage_needs_no_vectors() {
        let wide = Settings { passage_chars: 1_000, ..settings() };
        let (_, _, requests) = built(&["a"], &wide, false);
        assert_eq!(requests, 1, "for the passages");
    }

    #[test]
    fn closeness_of_nothing_is_none() {
        let (zero, one) = (Vector::zero(2), Vector::new(vec![1.0, 0.0]).unwrap());
        assert!(closeness(&[], 0).abs() < f32::EPSILON);
        assert!(closeness(&[&zero, &one], 1).abs() < f32::EPSILON && closeness(&[&one], 9).abs() < f32::EPSILON);
        assert!((closeness(&[&one, &one], 1) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn cohesion_is_least_where_the_subject_changes() {
        let sentences =
            ["The door opens.", "The door closes the locker.", "A van leaves the depot.", "The van has parcels."];
        let cohesion = Cohesion::new(sentences.into_iter());
        assert!(cohesion.at(2) < cohesion.at(1) && cohesion.at(2) < cohesion.at(3));
        assert!(cohesion.at(0) < f32::EPSILON && cohesion.at(9) < f32::EPSILON);
    }
}
