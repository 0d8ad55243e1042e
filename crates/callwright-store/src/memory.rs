//! Memory: lessons, procedures, representations and their samples. All are documents with a revision, so that processes load only what changed.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::LazyLock;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Revision, StoreError};
use callwright_types::memory::ToolSample;
use callwright_types::representation::SharedRepresentation;
use callwright_types::{Evidence, Lesson, Procedure, Scope};

/// The stored lessons.
pub type Lessons = dyn Memory<Lesson>;

/// The stored procedures.
pub type Procedures = dyn Memory<Procedure>;

/// The stored representations.
pub type Representations = dyn Memory<SharedRepresentation>;

/// The stored samples of what tools are wanted for.
pub type ToolSamples = dyn Memory<ToolSample>;

/// What is stored of one of these kinds.
pub trait Memory<M>: Send + Sync + fmt::Debug {
    /// Writes a batch in one transaction, new ones and changes; of several with one id the last. What has changed since the revision
    /// `seen`, or was removed, stays as it is: whoever changes something must have seen how it stands.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is written then.
    fn put<'a>(&'a self, batch: &'a [M], seen: Revision) -> BoxFuture<'a, Result<Put, StoreError>>;

    /// Writes a batch in one transaction, whatever stands there, also what was removed.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is written then.
    fn restore<'a>(&'a self, batch: &'a [M]) -> BoxFuture<'a, Result<(), StoreError>>;

    /// What changed after this revision, the oldest change first: at most `limit` of them.
    ///
    /// # Errors
    /// [`StoreError`].
    fn changed(&self, after: Revision, limit: u32) -> BoxFuture<'_, Result<Changes<M>, StoreError>>;

    /// One of them; `None` where there is none of that id.
    ///
    /// # Errors
    /// [`StoreError`].
    fn find<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<M>, StoreError>>;

    /// A page of them, in the order of their ids, which is that in which they were learned.
    ///
    /// # Errors
    /// [`StoreError`].
    fn page<'a>(&'a self, filter: &'a MemoryFilter) -> BoxFuture<'a, Result<MemoryPage<M>, StoreError>>;

    /// Removes those of these ids; says how many there were.
    ///
    /// # Errors
    /// [`StoreError`].
    fn remove<'a>(&'a self, ids: &'a [String]) -> BoxFuture<'a, Result<u64, StoreError>>;

    /// Removes what rests on it: all of a scope, or evidence, and with its last evidence what rested on that.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is forgotten then.
    fn forget<'a>(&'a self, what: &'a Forgotten) -> BoxFuture<'a, Result<Forgot, StoreError>>;
}

/// What putting gave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Put {
    /// The revision of the last one that was written.
    pub revision: Revision,
    /// Ids of those that others changed or removed in between.
    pub outdated: Vec<String>,
}

/// What changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Changes<M> {
    /// New, or other than before.
    pub changed: Vec<M>,
    /// Ids of those that were removed.
    pub removed: Vec<String>,
    /// The revision of the last change; that of the question where nothing changed.
    pub upto: Revision,
    /// Are there more?
    pub more: bool,
}

/// Which are listed: those for which everything that is given holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryFilter {
    /// This scope.
    pub scope: Option<Scope>,
    /// It is about this toolset.
    pub toolset: Option<String>,
    /// It is about a tool of this name.
    pub tool: Option<String>,
    /// This status.
    pub status: Option<MemoryStatus>,
    /// How many per page; none means [`DEFAULT_PAGE`](super::DEFAULT_PAGE), more than [`MAX_PAGE`](super::MAX_PAGE) means that.
    pub limit: Option<u32>,
    /// `next` of the page before.
    pub after: Option<String>,
}

/// Is it in use?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryStatus {
    /// It is.
    Active,
    /// It was retired.
    Retired,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryPage<M> {
    /// In the order of their ids.
    pub items: Vec<M>,
    /// `after` of the next page, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// What is forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forgotten {
    /// All that belongs to a scope.
    Scope(Scope),
    /// What rests on turns of a session.
    Session(String),
    /// What rests on these turns.
    Traces(BTreeSet<String>),
    /// What rests on outcomes from before this time.
    Before(Timestamp),
}

/// What forgetting did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Forgot {
    /// Lost some of their evidence.
    pub changed: u64,
    /// Lost all of it, and are gone.
    pub removed: u64,
}

/// What is stored as a document of this kind: the part of it that stands in columns.
pub trait Memorable: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Its id.
    fn id(&self) -> &str;
    /// Whose it is.
    fn scope(&self) -> &Scope;
    /// The verified outcomes that it rests on.
    fn evidence(&self) -> &[Evidence];
    /// The same, to be changed.
    fn evidence_mut(&mut self) -> &mut Vec<Evidence>;
    /// Is it retired?
    fn is_retired(&self) -> bool;
    /// The toolsets that it is about.
    fn toolsets(&self) -> BTreeSet<&str>;
    /// The tools that it is about.
    fn tools(&self) -> BTreeSet<&str>;
    /// When it changed last.
    fn updated_at(&self) -> Timestamp;
    /// What stays of it when all that it rests on is forgotten; `None`: nothing.
    fn without_evidence(self) -> Option<Self> {
        None
    }
}

impl Memorable for Lesson {
    fn id(&self) -> &str {
        &self.id
    }

    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn evidence(&self) -> &[Evidence] {
        &self.evidence
    }

    fn evidence_mut(&mut self) -> &mut Vec<Evidence> {
        &mut self.evidence
    }

    fn is_retired(&self) -> bool {
        self.retired.is_some()
    }

    fn toolsets(&self) -> BTreeSet<&str> {
        self.toolset.iter().map(String::as_str).collect()
    }

    fn tools(&self) -> BTreeSet<&str> {
        self.tools.iter().map(String::as_str).collect()
    }

    fn updated_at(&self) -> Timestamp {
        self.updated_at
    }
}

impl Memorable for Procedure {
    fn id(&self) -> &str {
        &self.id
    }

    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn evidence(&self) -> &[Evidence] {
        &self.evidence
    }

    fn evidence_mut(&mut self) -> &mut Vec<Evidence> {
        &mut self.evidence
    }

    fn is_retired(&self) -> bool {
        self.retired.is_some()
    }

    fn toolsets(&self) -> BTreeSet<&str> {
        self.toolsets.iter().map(String::as_str).collect()
    }

    fn tools(&self) -> BTreeSet<&str> {
        self.plan.nodes().iter().map(|node| node.tool.as_str()).collect()
    }

    fn updated_at(&self) -> Timestamp {
        self.updated_at
    }
}

impl Memorable for ToolSample {
    fn id(&self) -> &str {
        &self.id
    }

    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn evidence(&self) -> &[Evidence] {
        &self.evidence
    }

    fn evidence_mut(&mut self) -> &mut Vec<Evidence> {
        &mut self.evidence
    }

    fn is_retired(&self) -> bool {
        false
    }

    fn toolsets(&self) -> BTreeSet<&str> {
        BTreeSet::new()
    }

    fn tools(&self) -> BTreeSet<&str> {
        self.tools.iter().map(String::as_str).collect()
    }

    fn updated_at(&self) -> Timestamp {
        self.at
    }
}

/// Whose representations are: no client's, and so no scope of one.
static OPERATOR: LazyLock<Scope> = LazyLock::new(|| Scope::from("operator".to_owned()));

impl Memorable for SharedRepresentation {
    fn id(&self) -> &str {
        &self.id
    }

    fn scope(&self) -> &Scope {
        &OPERATOR
    }

    fn evidence(&self) -> &[Evidence] {
        &self.evidence
    }

    fn evidence_mut(&mut self) -> &mut Vec<Evidence> {
        &mut self.evidence
    }

    fn is_retired(&self) -> bool {
        false
    }

    fn toolsets(&self) -> BTreeSet<&str> {
        self.toolset.iter().map(String::as_str).collect()
    }

    fn tools(&self) -> BTreeSet<&str> {
        BTreeSet::from([self.tool.as_str()])
    }

    fn updated_at(&self) -> Timestamp {
        self.updated_at
    }

    /// What people wrote themselves.
    fn without_evidence(mut self) -> Option<Self> {
        let patterns = self.patterns.as_array_mut()?;
        patterns.retain(|pattern| pattern.get("source").is_none_or(|source| source == "written"));
        (!patterns.is_empty()).then_some(self)
    }
}
