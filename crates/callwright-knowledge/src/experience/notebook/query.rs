//! What is asked of a notebook, and what it answers.

use std::sync::Arc;

use callwright_search::embedding::Vector;
use callwright_types::memory::{ClientFacts, ClientTool, Fingerprint};
use callwright_types::{Lesson, LessonDraft, OperationRef, Owner, Scope, Tool};

/// A request that lessons are looked up for.
#[derive(Debug, Clone, Copy)]
pub struct RecallQuery<'a> {
    /// Whose lessons.
    pub scope: &'a Scope,
    /// What is asked for, in the user's words.
    pub text: &'a str,
    /// The tools that the turn may use.
    pub tools: &'a [ToolInPlay<'a>],
    /// Lessons that are told at most (paper, appendix B: 3).
    pub most: usize,
    /// The vector of the text, of the embedder that made those of the lessons.
    pub vector: Option<&'a Vector>,
}

/// A tool that a turn may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolInPlay<'a> {
    /// Its toolset; none where it is the client's own.
    pub toolset: Option<&'a str>,
    /// Its name within that toolset.
    pub name: &'a str,
    /// What its parameters are, where it is the client's own: lessons about another tool of the same name are not about this one.
    pub fingerprint: Option<&'a Fingerprint>,
    /// What this request says that it is for, where it is the client's own: lessons hold no such text, so a request that shares a word with this
    /// asks for the tool as one does that has its name.
    pub purpose: &'a str,
}

impl<'a> ToolInPlay<'a> {
    /// Which tool lessons mean by this one; `None` for the proxy's own search, which nothing is learned about, and for a client's own
    /// tool: see [`Self::of_client`].
    pub fn of(tool: &'a Tool) -> Option<Self> {
        match &tool.owner {
            Owner::Proxy(OperationRef { toolset, tool }) => {
                Some(Self { toolset: Some(toolset), name: tool, fingerprint: None, purpose: "" })
            }
            Owner::Client | Owner::Search => None,
        }
    }

    /// A client's own tool, which this request says is for this purpose.
    pub fn of_client(tool: &'a ClientTool, purpose: &'a str) -> Self {
        Self { toolset: None, name: tool.name.as_str(), fingerprint: Some(&tool.fingerprint), purpose }
    }

    /// Whether it is this tool of a client's.
    pub(super) fn is_client(&self, tool: &ClientTool) -> bool {
        self.toolset.is_none() && self.fingerprint == Some(&tool.fingerprint) && self.name == tool.name.as_str()
    }
}

/// The tools that a lesson, or a draft of one, is about.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    toolset: Option<&'a str>,
    tools: &'a [String],
    client: Option<&'a ClientFacts>,
}

impl<'a> From<&'a Lesson> for Subject<'a> {
    fn from(lesson: &'a Lesson) -> Self {
        Self { toolset: lesson.toolset.as_deref(), tools: &lesson.tools, client: lesson.client.as_ref() }
    }
}

impl<'a> From<&'a LessonDraft> for Subject<'a> {
    fn from(draft: &'a LessonDraft) -> Self {
        Self { toolset: draft.toolset.as_deref(), tools: &draft.tools, client: draft.client.as_ref() }
    }
}

/// What tells whether two lessons are about the same tools.
pub(super) type SubjectKey<'a> = (Option<&'a str>, &'a [String], Vec<&'a ClientTool>);

impl<'a> Subject<'a> {
    pub(super) fn key(&self) -> SubjectKey<'a> {
        (self.toolset, self.tools, self.client.into_iter().flat_map(ClientFacts::tools).collect())
    }

    /// Whether both are about the same tools.
    pub(super) fn is_same(&self, other: &Subject<'_>) -> bool {
        let (own, others) = (self.key(), other.key());
        own.0 == others.0 && own.1 == others.1 && own.2 == others.2
    }

    /// The tools one of which must be in play for the lesson to be found.
    pub(super) fn tools(&self) -> Vec<ToolInPlay<'a>> {
        match self.client {
            Some(facts) => vec![ToolInPlay::of_client(&facts.tool, "")],
            None => {
                let tool = |name| ToolInPlay { toolset: self.toolset, name, fingerprint: None, purpose: "" };
                self.tools.iter().map(|name| tool(name.as_str())).collect()
            }
        }
    }

    /// All of them, as if a turn might use them.
    pub(super) fn all_in_play(&self) -> Vec<ToolInPlay<'a>> {
        match self.client {
            Some(facts) => facts.tools().map(|tool| ToolInPlay::of_client(tool, "")).collect(),
            None => self.tools(),
        }
    }
}

/// A lesson that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Recollection {
    /// The lesson.
    pub lesson: Arc<Lesson>,
    /// How well it fits; comparable only within one recall.
    pub score: f32,
    /// Share of its key's words that the request has.
    pub matched: f32,
}
