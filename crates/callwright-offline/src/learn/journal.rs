//! Journal of the answers of proposer and selector: an interrupted run resumes with the same result, without repeated
//! requests.
//!
//! The learner is deterministic: equal answers lead to an equal run. The state of a run therefore consists of the
//! answers, which are its cost.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use callwright_common::digest::{add_part, hex};
use callwright_knowledge::representation::{Addition, Candidate, Edition, ProposeError, Proposer, Selector};
use callwright_types::Cost;
use callwright_types::representation::Pattern;

/// Answers by the digest of the request. Failed requests are not kept and are repeated.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Journal {
    proposals: BTreeMap<String, Vec<JournalPattern>>,
    choices: BTreeMap<String, usize>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct JournalPattern {
    description: String,
    cases: Vec<String>,
    weight: f32,
}

/// Journal shared by proposer and selector.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedJournal(Arc<Mutex<Journal>>);

impl SharedJournal {
    /// Continues a stored journal.
    pub(super) fn new(journal: Journal) -> Self {
        Self(Arc::new(Mutex::new(journal)))
    }

    /// Runs `work` on the journal.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Journal) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Proposer whose answers are kept.
#[derive(Debug)]
pub(super) struct CachingProposer {
    pub(super) inner: Arc<dyn Proposer>,
    pub(super) journal: SharedJournal,
}

impl CachingProposer {
    fn kept(&self, question: &str) -> Option<Vec<Pattern>> {
        let kept = self.journal.with(|journal| journal.proposals.get(question).cloned())?;
        Some(kept.into_iter().map(Pattern::from).collect())
    }

    fn keep(&self, question: String, patterns: &[Pattern]) {
        let kept = patterns.iter().map(JournalPattern::from).collect();
        self.journal.with(|journal| journal.proposals.insert(question, kept));
    }
}

impl Proposer for CachingProposer {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn uses_model(&self) -> bool {
        self.inner.uses_model()
    }

    fn settings(&self) -> String {
        self.inner.settings()
    }

    fn add<'a>(&'a self, addition: Addition<'a>) -> BoxFuture<'a, Result<Vec<Pattern>, ProposeError>> {
        let Addition { tool, description, patterns, missed, room } = addition;
        let question = digest("add", &[tool, description, &room.to_string()], patterns, missed);
        Box::pin(async move {
            if let Some(kept) = self.kept(&question) {
                return Ok(kept);
            }
            let patterns = self.inner.add(addition).await?;
            self.keep(question, &patterns);
            Ok(patterns)
        })
    }

    fn edit<'a>(&'a self, edition: Edition<'a>) -> BoxFuture<'a, Result<Vec<Pattern>, ProposeError>> {
        let Edition { tool, description, patterns, wrong } = edition;
        let question = digest("edit", &[tool, description], patterns, wrong);
        Box::pin(async move {
            if let Some(kept) = self.kept(&question) {
                return Ok(kept);
            }
            let patterns = self.inner.edit(edition).await?;
            self.keep(question, &patterns);
            Ok(patterns)
        })
    }

    fn cost(&self) -> Cost {
        self.inner.cost()
    }
}

/// Selector whose choices are kept.
#[derive(Debug)]
pub(super) struct CachingSelector {
    pub(super) inner: Arc<dyn Selector>,
    pub(super) journal: SharedJournal,
}

impl Selector for CachingSelector {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn candidates(&self) -> usize {
        self.inner.candidates()
    }

    fn select<'a>(
        &'a self,
        query: &'a str,
        candidates: &'a [Candidate<'a>],
    ) -> BoxFuture<'a, Result<usize, ProposeError>> {
        let texts = candidates.iter().flat_map(|candidate| [candidate.name, candidate.description]);
        let question = digest("select", &[query], &[], &texts.collect::<Vec<_>>());
        Box::pin(async move {
            if let Some(kept) = self.journal.with(|journal| journal.choices.get(&question).copied()) {
                return Ok(kept);
            }
            let choice = self.inner.select(query, candidates).await?;
            self.journal.with(|journal| journal.choices.insert(question, choice));
            Ok(choice)
        })
    }

    fn cost(&self) -> Cost {
        self.inner.cost()
    }
}

impl From<&Pattern> for JournalPattern {
    fn from(pattern: &Pattern) -> Self {
        let Pattern { description, cases, weight } = pattern.clone();
        Self { description, cases, weight }
    }
}

impl From<JournalPattern> for Pattern {
    fn from(kept: JournalPattern) -> Self {
        let JournalPattern { description, cases, weight } = kept;
        Self { description, cases, weight }
    }
}

/// Returns the digest of a request.
fn digest(kind: &str, about: &[&str], patterns: &[Pattern], samples: &[&str]) -> String {
    let mut hash = Sha256::new();
    add_list(&mut hash, &[kind]);
    add_list(&mut hash, about);
    for pattern in patterns {
        add_list(&mut hash, &[&pattern.description, &pattern.weight.to_bits().to_string()]);
        add_list(&mut hash, &pattern.cases.iter().map(String::as_str).collect::<Vec<_>>());
    }
    add_list(&mut hash, samples);
    hex(&hash.finalize())
}

fn add_list(hash: &mut Sha256, parts: &[&str]) {
    // The length prefix separates a list from the next.
    add_part(hash, &parts.len().to_be_bytes());
    parts.iter().for_each(|part| add_part(hash, part.as_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use callwright_knowledge::representation::NoSelection;

    /// Proposes a pattern with a new number each time, and fails if there is no room.
    #[derive(Debug, Default)]
    struct CountingProposer(Mutex<u64>);

    impl Proposer for CountingProposer {
        fn name(&self) -> &str {
            "counting"
        }

        fn add<'a>(&'a self, addition: Addition<'a>) -> BoxFuture<'a, Result<Vec<Pattern>, ProposeError>> {
            let mut requests = self.0.lock().unwrap();
            *requests += 1;
            let pattern = Pattern { description: requests.to_string(), cases: vec!["\u{0}".to_owned()], weight: 0.1 };
            let error = ProposeError { tool: addition.tool.to_owned(), reason: "busy".to_owned() };
            Box::pin(std::future::ready(if addition.room == 0 { Err(error) } else { Ok(vec![pattern]) }))
        }

        fn edit<'a>(&'a self, edition: Edition<'a>) -> BoxFuture<'a, Result<Vec<Pattern>, ProposeError>> {
            Box::pin(std::future::ready(Ok(edition.patterns.to_vec())))
        }

        fn cost(&self) -> Cost {
            Cost { requests: *self.0.lock().unwrap(), ..Cost::default() }
        }
    }

    fn keeping(journal: &SharedJournal) -> CachingProposer {
        CachingProposer { inner: Arc::new(CountingProposer::default()), journal: journal.clone() }
    }

    const ADDITION: Addition<'static> =
        Addition { tool: "t", description: "d", patterns: &[], missed: &["a", "b"], room: 1 };

    #[tokio::test]
    async fn answered_questions_are_not_repeated_by_another_run() {
        let journal = SharedJournal::default();
        let proposer = keeping(&journal);
        let first = proposer.add(ADDITION).await.unwrap();
        assert_eq!(proposer.add(ADDITION).await.unwrap(), first);
        assert_eq!(proposer.cost().requests, 1);
        let text = serde_json::to_string(&journal.with(|journal| journal.clone())).unwrap();
        let resumed = keeping(&SharedJournal::new(serde_json::from_str(&text).unwrap()));
        assert_eq!(resumed.add(ADDITION).await.unwrap(), first);
        assert_eq!(resumed.cost().requests, 0);
    }

    #[tokio::test]
    async fn new_and_failed_questions_are_sent() {
        let proposer = keeping(&SharedJournal::default());
        let first = proposer.add(ADDITION).await.unwrap();
        for other in [
            Addition { tool: "u", ..ADDITION },
            Addition { missed: &["a"], ..ADDITION },
            Addition { patterns: &first, ..ADDITION },
            Addition { room: 2, ..ADDITION },
        ] {
            assert_ne!(proposer.add(other).await.unwrap(), first);
        }
        let failing = Addition { room: 0, ..ADDITION };
        assert!(proposer.add(failing).await.is_err() && proposer.add(failing).await.is_err());
        assert_eq!(proposer.cost().requests, 7);
    }

    #[tokio::test]
    async fn choices_are_cached() {
        let journal = SharedJournal::default();
        let selector = CachingSelector { inner: Arc::new(NoSelection), journal: journal.clone() };
        let candidates = [Candidate { name: "a", description: "" }, Candidate { name: "b", description: "" }];
        journal.with(|journal| {
            let question = digest("select", &["q"], &[], &["a", "", "b", ""]);
            journal.choices.insert(question, 1);
        });
        assert_eq!(selector.select("q", &candidates).await, Ok(1));
        assert_eq!(selector.select("other", &candidates).await, Ok(0));
    }
}
