//! Explains failed outcomes from the indexed documentation of all operations.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::sync::OnceCell;

use crate::Settings;
use crate::documents::Section;
use crate::failures::{FailureKind, FailureVerdict, is_failure, shortfall, suspected_code};
use crate::index::codes::normal_form;
use crate::index::passage_vectors::MessageSimilarity;
use crate::index::{Index, IndexedPassage};
use crate::query::envelope::Envelope;
use crate::query::{FailureQuery, query};
use crate::ranking::verdict_words::describes_error;
use crate::ranking::{Claim, PassageRanking};
use callwright_common::parallel::map_all;
use callwright_search::embedding::{EmbedError, Embedder};
use callwright_types::promise::Promise;
use callwright_types::rules::FailureRule;
use callwright_types::{DocText, Explanation, OperationRef, Outcome, Passage};

/// Documentation of one operation, before it is split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationDocs {
    /// Name of the toolset.
    pub toolset: String,
    /// Name of the tool within the toolset.
    pub tool: String,
    /// Texts about the operation in the OpenAPI document.
    pub texts: Vec<DocText>,
}

/// Documentation of one toolset that is read and indexed when its API fails first, because most APIs of a large
/// catalog never do.
pub struct DeferredDocs {
    /// Names of the tools.
    pub tools: HashSet<String>,
    /// Returns the texts of the operations and the additional sections.
    pub read: Box<dyn Fn() -> (Vec<OperationDocs>, Vec<Section>) + Send + Sync>,
}

/// Finds documentation passages that explain failed outcomes.
#[derive(Debug)]
pub struct Explainer {
    toolsets: BTreeMap<String, ToolsetPassages>,
    pub(crate) settings: Settings,
    /// Embedder of deferred documentation.
    embedder: Option<Arc<dyn Embedder>>,
}

/// Documentation of one toolset. It has an index of its own, because word frequencies are specific to an API.
#[derive(Default)]
struct ToolsetPassages {
    index: OnceCell<Index>,
    /// Source of an index that is built when it is needed first.
    deferred: Option<Arc<DeferredDocs>>,
    /// Constant members of the API's failures.
    envelope: RwLock<Envelope>,
}

impl fmt::Debug for ToolsetPassages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolsetPassages").field("is_built", &self.index.initialized()).finish_non_exhaustive()
    }
}

impl Explainer {
    /// Indexes the documentation of operations and further sections, each with its toolset's name, by words.
    pub fn build(docs: Vec<OperationDocs>, sections: Vec<(String, Section)>, settings: &Settings) -> Self {
        let mut by_toolset: BTreeMap<String, (Vec<OperationDocs>, Vec<Section>)> = BTreeMap::new();
        for docs in docs {
            by_toolset.entry(docs.toolset.clone()).or_default().0.push(docs);
        }
        for (toolset, section) in sections {
            by_toolset.entry(toolset).or_default().1.push(section);
        }
        let toolsets: Vec<_> = by_toolset.into_iter().collect();
        let indexes = map_all(&toolsets, |(_, (docs, sections))| index(docs, sections, settings));
        let toolsets = toolsets.into_iter().zip(indexes).map(|((name, _), index)| {
            (name, ToolsetPassages { index: OnceCell::new_with(Some(index)), ..ToolsetPassages::default() })
        });
        Self { toolsets: toolsets.collect(), settings: settings.clone(), embedder: None }
    }

    /// Embeds the indexed passages, so that they are also found by meaning. Each failure that no code explains costs one
    /// more embedding.
    ///
    /// # Errors
    /// [`EmbedError`]: the affected toolset, and all that would have been embedded after it, use words only. A failed
    /// embedder is not queried again, because a timeout may be slow.
    pub async fn embed_passages(&mut self, embedder: &Arc<dyn Embedder>) -> Result<(), EmbedError> {
        for index in self.toolsets.values_mut().filter_map(|passages| passages.index.get_mut()) {
            index.embed_passages(embedder, self.settings.max_embedded_texts).await?;
        }
        Ok(())
    }

    /// Creates an explainer that indexes the documentation of a toolset when it is needed first, on a blocking thread
    /// of the current Tokio runtime, by words and by the meanings of an embedder. The embedder should be an immediate
    /// one ([`Embedder::is_immediate`]), because a turn waits for it.
    pub fn deferred(
        toolsets: BTreeMap<String, DeferredDocs>,
        settings: &Settings,
        embedder: Option<&Arc<dyn Embedder>>,
    ) -> Self {
        let toolsets = toolsets.into_iter().map(|(name, docs)| {
            (name, ToolsetPassages { deferred: Some(Arc::new(docs)), ..ToolsetPassages::default() })
        });
        Self { toolsets: toolsets.collect(), settings: settings.clone(), embedder: embedder.cloned() }
    }

    /// Returns the index of a toolset. Builds it if it is needed first.
    async fn index(&self, toolset: &str) -> Option<&Index> {
        let passages = self.toolsets.get(toolset)?;
        Some(passages.index.get_or_init(|| self.build_deferred(toolset, passages)).await)
    }

    async fn build_deferred(&self, toolset: &str, passages: &ToolsetPassages) -> Index {
        let Some(docs) = passages.deferred.clone() else {
            return Index::builder(&self.settings).build();
        };
        let (settings, embedder, runtime) = (self.settings.clone(), self.embedder.clone(), Handle::current());
        let built = tokio::task::spawn_blocking(move || {
            let (operations, sections) = (docs.read)();
            let mut index = index(&operations, &sections, &settings);
            let failed = embedder.and_then(|embedder| {
                runtime.block_on(index.embed_passages(&embedder, settings.max_embedded_texts)).err()
            });
            (index, failed)
        });
        match built.await {
            Ok((index, failed)) => {
                if let Some(error) = failed {
                    tracing::warn!(%error, toolset, "documentation is searched by keywords only");
                }
                index
            }
            Err(error) => {
                tracing::error!(%error, toolset, "indexing the documentation failed; failures are not explained");
                Index::builder(&self.settings).build()
            }
        }
    }

    /// Learns which members of an API's error bodies are constant, so that they do not count in later explanations.
    pub fn learn(&self, toolset: &str, outcome: &Outcome) {
        let (Some(passages), Outcome::Answered(answer)) = (self.toolsets.get(toolset), outcome) else { return };
        passages.envelope.write().unwrap_or_else(PoisonError::into_inner).learn(&answer.body);
    }

    /// Returns the number of indexed passages.
    pub fn passages(&self) -> usize {
        self.toolsets.values().filter_map(|passages| passages.index.get()).map(Index::len).sum()
    }

    /// Explains a failed outcome. Matches passages that define or name a code or parameter of the body, describe the
    /// status, or share enough words with the message. Passages of the operation rank before those of the toolset.
    /// Passages of other operations count only if they define the body's code. The result is empty if nothing reaches
    /// the minimum confidence, the toolset is unknown, or no API answered.
    pub async fn explain(
        &self,
        operation: &OperationRef,
        outcome: &Outcome,
        arguments: &Map<String, Value>,
    ) -> Explanation {
        let Some(passages) = self.toolsets.get(&operation.toolset) else { return Explanation::default() };
        let Some(index) = self.index(&operation.toolset).await else { return Explanation::default() };
        let query = query(outcome, arguments, &passages.envelope.read().unwrap_or_else(PoisonError::into_inner));
        self.best_passages(self.matching_passages(index, &operation.tool, &query).await.0)
    }

    /// Classifies an outcome as failed. `is_failure` decides without documentation. A body that is a bare code fails if
    /// the documentation of the operation, or else of the toolset, describes the code as an error. A response also
    /// fails if it lacks everything that the operation's `promises` declare.
    pub async fn failure(
        &self,
        operation: &OperationRef,
        outcome: &Outcome,
        promises: &[Promise],
        rules: &[FailureRule],
    ) -> Option<FailureKind> {
        let tool = format!("{}/{}", operation.toolset, operation.tool);
        let json = match outcome {
            Outcome::Answered(answer) => serde_json::from_slice(&answer.body).ok(),
            _ => None,
        };
        match is_failure(outcome, json.as_ref(), &tool, rules) {
            FailureVerdict::Failed(kind) => return Some(kind),
            FailureVerdict::Fine => return None,
            FailureVerdict::Undecided => {}
        }
        if let Some(code) = suspected_code(json.as_ref())
            && let Some(normal) = normal_form(&code)
            && self.is_documented_error(operation, &normal).await
        {
            return Some(FailureKind::NamedCode(code));
        }
        let Outcome::Answered(answer) = outcome else { return None };
        shortfall(answer, promises).map(FailureKind::NotAsPromised)
    }

    async fn is_documented_error(&self, operation: &OperationRef, code: &str) -> bool {
        let Some(index) = self.index(&operation.toolset).await else { return false };
        let Some(own) = index.units.operation(&operation.tool) else { return false };
        // Definitions of the operation take precedence over those of the toolset.
        let (mut own_errors, mut other_errors) = (None, None);
        for named in index.named(code).filter(|named| named.defines) {
            let Some(entry) = index.passage(named.passage) else { continue };
            let are_errors = if own.contains(&named.passage) { &mut own_errors } else { &mut other_errors };
            *are_errors = Some(are_errors.unwrap_or(true) && describes_error(entry, code));
        }
        own_errors.or(other_errors).unwrap_or(false)
    }

    /// Returns the indexes of permitted toolsets that have this name or contain an operation of this name.
    pub(crate) async fn indexes_of_tool(&self, tool: &str, toolsets: Option<&[String]>) -> Vec<&Index> {
        let mut indexes = Vec::new();
        for (name, passages) in &self.toolsets {
            let is_permitted = toolsets.is_none_or(|toolsets| toolsets.contains(name));
            if is_permitted && (name == tool || passages.has_tool(tool)) {
                indexes.extend(self.index(name).await);
            }
        }
        indexes
    }

    /// Returns the matching passages, and whether embedding the query failed. The query is embedded only if no passage
    /// defines a code of the failure, because meaning adds nothing in that case.
    pub(crate) async fn matching_passages<'a>(
        &self,
        index: &'a Index,
        tool: &str,
        query: &FailureQuery,
    ) -> (Vec<Claim<'a>>, bool) {
        let ranking = PassageRanking::new(index, tool, query);
        let (similarity, failed) = match index.vectors.as_ref().filter(|_| !ranking.is_code_defined()) {
            None => (MessageSimilarity::default(), false),
            Some(vectors) => match vectors.similarity(&query.message_text()).await {
                Ok(similarity) => (similarity, false),
                Err(error) => {
                    tracing::warn!(%error, "embedding failed; explaining the failure by words only");
                    (MessageSimilarity::default(), true)
                }
            },
        };
        (ranking.rank(&similarity, &self.settings), failed)
    }

    /// Selects the best passages without repetition.
    pub(crate) fn best_passages(&self, mut claims: Vec<Claim<'_>>) -> Explanation {
        claims.sort_by(|left, right| right.weight.total_cmp(&left.weight));
        let best = claims.first().copied();
        let mut passages: Vec<Passage> = Vec::new();
        for claim in claims {
            if passages.len() == self.settings.passages {
                break;
            }
            let IndexedPassage { text, source, .. } = claim.entry;
            if best.is_some_and(|best| adds(&claim, &best))
                && !passages.iter().any(|better| better.text.contains(text) || text.contains(&better.text))
            {
                passages.push(Passage { text: text.clone(), source: source.clone(), score: claim.confidence });
            }
        }
        Explanation { passages }
    }
}

impl ToolsetPassages {
    fn has_tool(&self, tool: &str) -> bool {
        match &self.deferred {
            Some(docs) => docs.tools.contains(tool),
            None => self.index.get().is_some_and(|index| index.units.operation(tool).is_some()),
        }
    }
}

/// Creates an index from the documentation of one toolset.
fn index(docs: &[OperationDocs], sections: &[Section], settings: &Settings) -> Index {
    let mut builder = Index::builder(settings);
    docs.iter().for_each(|docs| builder.add_operation(&docs.tool, &docs.texts));
    sections.iter().for_each(|section| builder.add_section(section));
    builder.build()
}

/// Maximum difference in weight to the best passage for other definitions of the same code.
const MAX_WEIGHT_DIFFERENCE: f32 = 2.5;

/// Whether a passage adds information to the best one. If the best passage defines the code, only these add
/// information: other definitions of similar weight, further parts of the same entry, and passages about a parameter
/// that the failure names.
fn adds(claim: &Claim<'_>, best: &Claim<'_>) -> bool {
    if !best.defines_code {
        return true;
    }
    claim.names_parameter || claim.defines_code && claim.weight > best.weight - MAX_WEIGHT_DIFFERENCE
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::FutureExt;
    use serde_json::json;

    use super::*;
    use callwright_types::outcome::ApiAnswer;

    /// Resolves the future immediately, because nothing is awaited without an embedder.
    fn now(explanation: impl Future<Output = Explanation>) -> Explanation {
        explanation.now_or_never().unwrap()
    }

    #[tokio::test]
    async fn deferred_documentation_is_read_once_for_the_failed_toolset() {
        let read = Arc::new(AtomicUsize::new(0));
        let deferred = |toolset: &'static str| {
            let read = Arc::clone(&read);
            let docs = DeferredDocs {
                tools: HashSet::from(["route".to_owned()]),
                read: Box::new(move || {
                    read.fetch_add(1, Ordering::Relaxed);
                    let docs = docs("route", &[("/paths/~1route", CODES)]);
                    (vec![OperationDocs { toolset: toolset.into(), ..docs }], Vec::new())
                }),
            };
            (toolset.to_owned(), docs)
        };
        let toolsets = BTreeMap::from([deferred("maps"), deferred("other")]);
        let explainer = Explainer::deferred(toolsets, &Settings::default(), None);
        let failed = answered(200, r#"{"info_code":"20000"}"#);
        assert_eq!((explainer.passages(), read.load(Ordering::Relaxed)), (0, 0));
        let kind = explainer.failure(&operation("route"), &failed, &[], &[]).await;
        assert_eq!(kind, Some(FailureKind::NamedCode("20000".into())));
        let explanation = explainer.explain(&operation("route"), &failed, &Map::new()).await;
        assert!(explanation.passages[0].text.contains("precedes the latitude"), "{explanation:?}");
        assert_eq!(read.load(Ordering::Relaxed), 1);
        let same = explainer.indexes_of_tool("route", Some(&["other".to_owned()])).await;
        assert_eq!((same.len(), read.load(Ordering::Relaxed)), (1, 2));
    }

    const CODES: &str = "Answers hold only the code.\n\n| info_code | Meaning |\n|---|---|\n\
        | 20000 | Illegal parameters: the longitude precedes the latitude. |\n\
        | 20001 | A required parameter is missing. |\n| 10000 | Success. |\n";

    fn docs(tool: &str, texts: &[(&str, &str)]) -> OperationDocs {
        let texts =
            texts.iter().map(|(source, text)| DocText { text: (*text).into(), source: (*source).into() }).collect();
        OperationDocs { toolset: "maps".into(), tool: tool.into(), texts }
    }

    fn explainer() -> Explainer {
        let route = docs(
            "route",
            &[
                (
                    "d#/description",
                    "Returns routes, the quickest first. Such as `{\"info_code\": \"20000\"}` are errors.",
                ),
                ("d#/parameters/0", "origin (query, required): Point at which the route starts."),
                ("d#/parameters/1", "mode (query): Means of travel."),
                ("d#/responses/400/description", CODES),
                ("d#/responses/404/description", "No street is near the point."),
                ("d#/responses/500/description", "Internal Server Error"),
                ("d#/responses/200/description", "The routes that start at the origin."),
            ],
        );
        let geocode = docs(
            "geocode",
            &[("d#/x", "Finds places by name."), ("d#/y", "`E_QUOTA`: the quota of the day is used up.")],
        );
        Explainer::build(vec![route, geocode], Vec::new(), &Settings::default())
    }

    fn operation(tool: &str) -> OperationRef {
        OperationRef { toolset: "maps".into(), tool: tool.into() }
    }

    fn answered(status: u16, body: &str) -> Outcome {
        Outcome::Answered(ApiAnswer::new(status, body.to_owned()))
    }

    fn explained(tool: &str, status: u16, body: &str) -> Vec<String> {
        let arguments = json!({"origin": "34.6,135.5", "mode": "driving"});
        let explanation =
            now(explainer().explain(&operation(tool), &answered(status, body), arguments.as_object().unwrap()));
        explanation.passages.into_iter().map(|passage| passage.text).collect()
    }

    #[test]
    fn a_bare_code_is_explained_by_the_row_that_defines_it() {
        for status in [200, 400] {
            let passages = explained("route", status, r#"{"info_code":"20000"}"#);
            assert!(passages[0].contains("the longitude precedes the latitude"), "{status}: {passages:?}");
            assert!(passages[0].starts_with("info_code 20000: "), "the header is shown: {passages:?}");
        }
    }

    #[test]
    fn a_parameter_that_the_body_names_is_described() {
        let passages = explained("route", 422, r#"{"errors":[{"field":"mode","message":"is unknown"}]}"#);
        assert_eq!(passages, ["mode (query): Means of travel."]);
    }

    #[test]
    fn the_response_of_the_status_is_described() {
        assert_eq!(explained("route", 404, ""), ["No street is near the point."]);
    }

    #[test]
    fn nothing_is_explained_below_the_minimum_confidence() {
        assert!(explained("route", 500, "").is_empty(), "the description only repeats the status");
        assert!(explained("route", 418, r#"{"message":"I am a teapot of the day"}"#).is_empty());
        let elsewhere = OperationRef { toolset: "flights".into(), tool: "route".into() };
        let outcome = answered(400, r#"{"info_code":"20000"}"#);
        assert!(!now(explainer().explain(&elsewhere, &outcome, &Map::new())).is_hit());
    }

    #[test]
    fn a_code_of_the_toolset_explains_where_the_operation_is_silent() {
        assert_eq!(explained("route", 403, r#"{"error":"E_QUOTA"}"#), ["`E_QUOTA`: the quota of the day is used up."]);
    }

    #[test]
    fn passages_are_few_short_and_not_repeated() {
        let texts: Vec<_> = (0..9)
            .map(|_| ("d", "The widget frobnicates badly."))
            .chain([("d", "The widget is frobnicates.")])
            .collect();
        let settings = Settings { passages: 2, passage_chars: 20, ..Settings::default() };
        let explainer = Explainer::build(vec![docs("w", &texts)], Vec::new(), &settings);
        let found = now(explainer.explain(&operation("w"), &answered(400, "E_X widget frobnicates"), &Map::new()));
        assert!(found.passages.len() <= 2 && found.passages.iter().all(|passage| passage.text.chars().count() <= 20));
        assert!(found.passages.windows(2).all(|pair| pair[0].text != pair[1].text && pair[0].score >= pair[1].score));
    }

    #[test]
    fn a_bare_code_fails_only_if_documentation_describes_an_error() {
        let explainer = explainer();
        let failure =
            |body: &str| explainer.failure(&operation("route"), &answered(200, body), &[], &[]).now_or_never().unwrap();
        assert_eq!(failure(r#"{"info_code":"20000"}"#), Some(FailureKind::NamedCode("20000".into())));
        assert_eq!(failure(r#"{"info_code":"10000"}"#), None, "documented as success");
        assert_eq!(failure(r#"{"info_code":"77777"}"#), None, "not documented");
        assert_eq!(failure(r#"{"info_code":"20000","routes":[]}"#), None, "beside a result");
    }

    #[test]
    fn outcomes_without_an_answer_are_not_explained() {
        let outcome = Outcome::Unknown { reason: "20000".into() };
        assert!(!now(explainer().explain(&operation("route"), &outcome, &Map::new())).is_hit());
    }
}
