//! Extractive proposer, without a model: phrases copied from samples, and sentences of discriminative words.

mod kmeans;
mod phrases;
mod sentence;
mod terms;

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::{Addition, Edition, ProposeError, Proposer};
use callwright_search::embedding::{EmbedError, Embedder, Vector};
use callwright_types::representation::Pattern;

use kmeans::{clusters, mean};
use phrases::{CasePhrase, choose_phrases};
use terms::Background;

#[derive(Debug, Clone, PartialEq)]
pub struct ExtractiveSettings {
    /// Maximum share of its sample's words in a case. 1: cases are whole samples.
    pub case_share: f32,
    /// Maximum number of cases per pattern.
    pub cases: usize,
    /// Maximum number of words in a pattern's general sentence.
    pub terms: usize,
    /// Minimum average number of samples per pattern; fewer samples produce fewer patterns.
    pub samples_per_pattern: usize,
    /// Maximum number of phrases per cluster that a slow embedder compares; the built-in embedder preselects them.
    pub candidates: usize,
    /// Seed of the clustering.
    pub seed: u64,
}

impl Default for ExtractiveSettings {
    fn default() -> Self {
        Self { case_share: 0.6, cases: 3, terms: 12, samples_per_pattern: 2, candidates: 24, seed: 1 }
    }
}

/// Proposer that needs no model.
#[derive(Debug)]
pub struct ExtractiveProposer {
    /// Embedder of the tool search, or the built-in one.
    embedder: Arc<dyn Embedder>,
    /// Fast embedder that preselects phrases; `None` if `embedder` is fast itself.
    preselector: Option<Arc<dyn Embedder>>,
    background: Background,
    settings: ExtractiveSettings,
}

impl ExtractiveProposer {
    /// Creates a proposer. `queries` are all samples, `embedder` is the one of the tool search, and `built_in` is fast.
    pub fn new<'a>(
        embedder: Option<Arc<dyn Embedder>>,
        built_in: Arc<dyn Embedder>,
        queries: impl IntoIterator<Item = &'a str>,
        settings: ExtractiveSettings,
    ) -> Self {
        let background = Background::new(queries);
        let (embedder, preselector) = match embedder {
            Some(embedder) if embedder.id() != built_in.id() => (embedder, Some(built_in)),
            _ => (built_in, None),
        };
        Self { embedder, preselector, background, settings }
    }

    async fn patterns(&self, missed: &[&str], room: usize) -> Result<Vec<Pattern>, EmbedError> {
        let vectors = self.embedder.embed(owned(missed)).await?;
        let count = (missed.len() / self.settings.samples_per_pattern.max(1)).clamp(1, room.max(1));
        let mut sketches = Vec::new();
        for members in clusters(&vectors, count, self.settings.seed) {
            let samples: Vec<&str> = members.iter().filter_map(|at| missed.get(*at).copied()).collect();
            let Some(target) = mean(members.iter().filter_map(|at| vectors.get(*at))) else { continue };
            let phrases = self.phrases(&samples).await?;
            let description = sentence::build(&self.background.discriminative(&samples, self.settings.terms));
            sketches.push(PatternSketch { target, phrases, description });
        }
        self.finish(sketches).await
    }

    /// Returns the phrases of samples that may become cases. If the embedder is slow, the built-in one preselects those
    /// most similar to the samples.
    async fn phrases(&self, samples: &[&str]) -> Result<Vec<CasePhrase<String>>, EmbedError> {
        let mut phrases: Vec<CasePhrase<String>> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for (sample, text) in samples.iter().enumerate() {
            for phrase in phrases::phrases(text, self.settings.case_share) {
                if seen.insert(phrase.to_lowercase()) {
                    phrases.push(CasePhrase { text: phrase.to_owned(), sample });
                }
            }
        }
        let Some(preselector) = self.preselector.as_ref().filter(|_| phrases.len() > self.settings.candidates) else {
            return Ok(phrases);
        };
        let of_samples = preselector.embed(owned(samples)).await?;
        let of_phrases = preselector.embed(phrases.iter().map(|phrase| phrase.text.clone()).collect()).await?;
        let Some(target) = mean(of_samples.iter()) else { return Ok(Vec::new()) };
        let mut order: Vec<(f32, usize)> = of_phrases
            .iter()
            .map(|vector| target.cosine(vector))
            .enumerate()
            .map(|(at, cosine)| (cosine, at))
            .collect();
        order.sort_unstable_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        order.truncate(self.settings.candidates);
        let kept = order.into_iter().filter_map(|(_, at)| phrases.get(at));
        Ok(kept.map(|phrase| CasePhrase { text: phrase.text.clone(), sample: phrase.sample }).collect())
    }

    /// Chooses the cases of all sketches with one request to the embedder.
    async fn finish(&self, sketches: Vec<PatternSketch>) -> Result<Vec<Pattern>, EmbedError> {
        let mut texts = Vec::new();
        for sketch in &sketches {
            texts.push(sketch.description.clone());
            texts.extend(sketch.phrases.iter().map(|phrase| phrase.text.clone()));
        }
        let vectors = self.embedder.embed(texts).await?;
        let mut rest = vectors.iter();
        let mut patterns = Vec::new();
        for PatternSketch { target, phrases, description } in sketches {
            let Some(general) = rest.next() else { break };
            let vectors: Vec<&Vector> = rest.by_ref().take(phrases.len()).collect();
            let chosen = choose_phrases(&target, general, &phrases, &vectors, self.settings.cases);
            let cases: Vec<String> = chosen.into_iter().map(|phrase| phrase.text.clone()).collect();
            if !(cases.is_empty() && description.is_empty()) {
                patterns.push(Pattern { description, cases, weight: 1.0 });
            }
        }
        Ok(patterns)
    }

    /// Weakens patterns that attract wrong samples: halves their weight and removes the words that occur in most of
    /// these samples.
    async fn edited(&self, patterns: &[Pattern], wrong: &[&str]) -> Result<Vec<Pattern>, EmbedError> {
        let of_wrong = self.embedder.embed(owned(wrong)).await?;
        let of_patterns = self.embedder.embed(patterns.iter().map(Pattern::text).collect()).await?;
        let mut attracted: Vec<Vec<&str>> = vec![Vec::new(); patterns.len()];
        for (vector, text) in of_wrong.iter().zip(wrong) {
            let close = of_patterns.iter().map(|pattern| pattern.cosine(vector)).enumerate();
            let nearest = close.max_by(|left, right| left.1.total_cmp(&right.1));
            if let Some(samples) = nearest.and_then(|(at, _)| attracted.get_mut(at)) {
                samples.push(text);
            }
        }
        Ok(patterns.iter().zip(attracted).map(|(pattern, attracted)| weakened(pattern, &attracted)).collect())
    }
}

/// Pattern before its cases are chosen.
struct PatternSketch {
    target: Vector,
    phrases: Vec<CasePhrase<String>>,
    description: String,
}

fn weakened(pattern: &Pattern, attracted: &[&str]) -> Pattern {
    let mut pattern = pattern.clone();
    if attracted.is_empty() {
        return pattern;
    }
    pattern.weight /= 2.0;
    let tokens: Vec<Vec<String>> = attracted.iter().map(|text| callwright_search::retrieval::tokens(text)).collect();
    if let Some(words) = sentence::parse(&pattern.description) {
        // Removes the words that most of these texts contain.
        let mut kept: Vec<&str> = words.into_iter().collect();
        kept.retain(|word| {
            let of_word = callwright_search::retrieval::tokens(word);
            let with = tokens.iter().filter(|tokens| of_word.iter().all(|token| tokens.contains(token))).count();
            2 * with <= tokens.len()
        });
        // An empty sentence would be worse.
        if !kept.is_empty() {
            pattern.description = sentence::build(&kept);
        }
    }
    pattern
}

impl Proposer for ExtractiveProposer {
    fn name(&self) -> &str {
        "extractive"
    }

    fn uses_model(&self) -> bool {
        false
    }

    fn add<'a>(&'a self, addition: Addition<'a>) -> BoxFuture<'a, Result<Vec<Pattern>, ProposeError>> {
        Box::pin(async move {
            if addition.missed.is_empty() || addition.room == 0 {
                return Ok(Vec::new());
            }
            let patterns = self.patterns(addition.missed, addition.room).await;
            patterns.map_err(|error| ProposeError { tool: addition.tool.to_owned(), reason: error.to_string() })
        })
    }

    fn edit<'a>(&'a self, edition: Edition<'a>) -> BoxFuture<'a, Result<Vec<Pattern>, ProposeError>> {
        Box::pin(async move {
            let patterns = self.edited(edition.patterns, edition.wrong).await;
            patterns.map_err(|error| ProposeError { tool: edition.tool.to_owned(), reason: error.to_string() })
        })
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use callwright_search::embedding::{Settings, built_in};

    const MISSED: [&str; 6] = [
        "I lost my bank card yesterday, what now?",
        "my card is lost, please block the card",
        "somebody has stolen my card from my bag",
        "which currencies can I exchange in the app",
        "I want to exchange euros for dollars today",
        "can I exchange another currency at the weekend",
    ];

    fn proposer(case_share: f32) -> ExtractiveProposer {
        let settings = ExtractiveSettings { case_share, samples_per_pattern: 3, ..ExtractiveSettings::default() };
        let queries = MISSED.into_iter().chain(["where is the nearest machine", "change my address please"]);
        ExtractiveProposer::new(None, built_in(&Settings::default()).unwrap(), queries, settings)
    }

    fn addition(missed: &'static [&'static str]) -> Addition<'static> {
        Addition { tool: "t", description: "", patterns: &[], missed, room: 2 }
    }

    #[tokio::test]
    async fn each_cluster_of_requests_gets_a_pattern() {
        let patterns = proposer(0.6).add(addition(&MISSED)).await.unwrap();
        assert_eq!(patterns.len(), 2);
        let about = |word: &str| patterns.iter().filter(|pattern| pattern.description.contains(word)).count();
        assert_eq!((about("card"), about("exchange")), (1, 1), "{patterns:?}");
        for pattern in &patterns {
            assert_eq!(pattern.cases.len(), 3, "{pattern:?}");
            assert!(
                pattern
                    .cases
                    .iter()
                    .all(|case| MISSED.iter().any(|sample| sample.contains(case.as_str()) && sample != case))
            );
        }
        assert_eq!(patterns, proposer(0.6).add(addition(&MISSED)).await.unwrap(), "runs are reproducible");
    }

    #[tokio::test]
    async fn cases_are_whole_samples_with_a_share_of_one() {
        let patterns = proposer(1.0).add(addition(&MISSED)).await.unwrap();
        assert!(patterns.iter().flat_map(|pattern| &pattern.cases).all(|case| MISSED.contains(&case.as_str())));
    }

    #[tokio::test]
    async fn short_samples_give_at_most_one_pattern() {
        for missed in [&["?!"][..], &["card"], &["", " "], &["北京天气怎么样"]] {
            let patterns = proposer(0.6).add(Addition { missed, ..addition(&MISSED) }).await.unwrap();
            assert!(patterns.len() <= 1, "{patterns:?}");
        }
        assert!(proposer(0.6).add(addition(&[])).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn patterns_that_attract_wrong_samples_are_weakened() {
        let patterns = proposer(0.6).add(addition(&MISSED)).await.unwrap();
        let edition =
            Edition { tool: "t", description: "", patterns: &patterns, wrong: &["exchange my card for a new card"] };
        let edited = proposer(0.6).edit(edition).await.unwrap();
        assert_eq!(edited.len(), patterns.len());
        let weakened: Vec<f32> = edited.iter().map(|pattern| pattern.weight).filter(|weight| *weight < 1.0).collect();
        assert_eq!(weakened, [0.5]);
    }
}
