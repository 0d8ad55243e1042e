//! Memory: lessons, procedures, representations and tool samples. All are documents with a revision, so that processes
//! load only changes.

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

pub type Lessons = dyn Memory<Lesson>;

pub type Procedures = dyn Memory<Procedure>;

pub type Representations = dyn Memory<SharedRepresentation>;

pub type ToolSamples = dyn Memory<ToolSample>;

/// Store of the documents of one kind.
pub trait Memory<M>: Send + Sync + fmt::Debug {
    /// Writes new and changed documents in one transaction; of several with one id, the last is written. A document
    /// that changed or was removed after the revision `seen` is not overwritten (optimistic locking).
    ///
    /// # Errors
    /// [`StoreError`]; nothing is written then.
    fn put<'a>(&'a self, batch: &'a [M], seen: Revision) -> BoxFuture<'a, Result<PutResult, StoreError>>;

    /// Writes documents in one transaction and overwrites existing ones; restores removed ones.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is written then.
    fn restore<'a>(&'a self, batch: &'a [M]) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns at most `limit` changes after this revision, oldest change first.
    fn changed(&self, after: Revision, limit: u32) -> BoxFuture<'_, Result<Changes<M>, StoreError>>;

    /// Returns the document with this id; `None` if there is none.
    fn find<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<M>, StoreError>>;

    /// Returns a page of documents in the order of their ids, which is the order of learning.
    fn page<'a>(&'a self, filter: &'a MemoryFilter) -> BoxFuture<'a, Result<MemoryPage<M>, StoreError>>;

    /// Removes the documents with these ids and returns how many existed.
    fn remove<'a>(&'a self, ids: &'a [String]) -> BoxFuture<'a, Result<u64, StoreError>>;

    /// Removes all documents of a scope, or evidence together with documents that lose their last evidence.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is forgotten then.
    fn forget<'a>(&'a self, what: &'a ForgetSelection) -> BoxFuture<'a, Result<ForgetCounts, StoreError>>;
}

/// Result of [`Memory::put`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PutResult {
    /// Revision of the last written document.
    pub revision: Revision,
    /// Ids of documents that were changed or removed meanwhile and not written.
    pub outdated: Vec<String>,
}

/// Changes after a revision.
#[derive(Debug, Clone, PartialEq)]
pub struct Changes<M> {
    /// New and changed documents.
    pub changed: Vec<M>,
    /// Ids of removed documents.
    pub removed: Vec<String>,
    /// Revision of the last change; the requested revision if there is none.
    pub upto: Revision,
    /// Whether more changes follow.
    pub more: bool,
}

/// Filter and page of a list. A document must match all given members.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryFilter {
    /// Only documents of this scope.
    pub scope: Option<Scope>,
    /// Only documents about this toolset.
    pub toolset: Option<String>,
    /// Only documents about a tool of this name.
    pub tool: Option<String>,
    /// Only documents with this status.
    pub status: Option<MemoryStatus>,
    /// Documents per page; default [`DEFAULT_PAGE`](super::DEFAULT_PAGE), at most [`MAX_PAGE`](super::MAX_PAGE).
    pub limit: Option<u32>,
    /// Value of `next` of the previous page.
    pub after: Option<String>,
}

/// Status of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryStatus {
    /// The document is in use.
    Active,
    /// The document is retired.
    Retired,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryPage<M> {
    /// Documents in the order of their ids.
    pub items: Vec<M>,
    /// Value of `after` for the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Selection of data to forget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForgetSelection {
    /// All documents of a scope.
    Scope(Scope),
    /// Evidence from turns of a session.
    Session(String),
    /// Evidence from these turns.
    Traces(BTreeSet<String>),
    /// Evidence from outcomes before this time.
    Before(Timestamp),
}

/// Counts of documents that forgetting affected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ForgetCounts {
    /// Documents that lost part of their evidence.
    pub changed: u64,
    /// Documents that lost all evidence and were removed.
    pub removed: u64,
}

/// Document of learned memory: the members that are stored in columns.
pub trait Memorable: Serialize + DeserializeOwned + Send + Sync + 'static {
    fn id(&self) -> &str;
    /// Returns the scope that the document belongs to.
    fn scope(&self) -> &Scope;
    /// Returns the verified outcomes that support the document.
    fn evidence(&self) -> &[Evidence];
    /// Returns the evidence for modification.
    fn evidence_mut(&mut self) -> &mut Vec<Evidence>;
    /// Whether the document is retired.
    fn is_retired(&self) -> bool {
        false
    }
    /// Returns the toolsets that the document is about.
    fn toolsets(&self) -> BTreeSet<&str> {
        BTreeSet::new()
    }
    /// Returns the tools that the document is about.
    fn tools(&self) -> BTreeSet<&str>;
    /// Returns the time of the last change.
    fn updated_at(&self) -> Timestamp;
    /// Returns the rest of the document when all evidence is forgotten; `None` if nothing remains.
    fn without_evidence(self) -> Option<Self> {
        None
    }
}

/// Implements the members that documents of clients have as fields.
macro_rules! members_of_documents {
    () => {
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
    };
}

impl Memorable for Lesson {
    members_of_documents!();

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
    members_of_documents!();

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
    members_of_documents!();

    fn tools(&self) -> BTreeSet<&str> {
        self.tools.iter().map(String::as_str).collect()
    }

    fn updated_at(&self) -> Timestamp {
        self.at
    }
}

/// Scope of representations: they belong to no client.
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

    fn toolsets(&self) -> BTreeSet<&str> {
        self.toolset.iter().map(String::as_str).collect()
    }

    fn tools(&self) -> BTreeSet<&str> {
        // A classifier is about no tool.
        Some(self.tool.as_str()).filter(|tool| !tool.is_empty()).into_iter().collect()
    }

    fn updated_at(&self) -> Timestamp {
        self.updated_at
    }

    /// Keeps the patterns that people wrote.
    fn without_evidence(mut self) -> Option<Self> {
        let patterns = self.patterns.as_array_mut()?;
        patterns.retain(|pattern| pattern.get("source").is_none_or(|source| source == "written"));
        (!patterns.is_empty()).then_some(self)
    }
}
