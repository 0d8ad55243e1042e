//! Queries of the lesson store.

use callwright_search::embedding::Vector;
use callwright_types::memory::{ClientFacts, ClientTool, Fingerprint};
use callwright_types::{Lesson, LessonDraft, OperationRef, Owner, Scope, Tool};

/// Request that lessons are looked up for.
#[derive(Debug, Clone, Copy)]
pub struct RecallQuery<'a> {
    /// Scope of the lessons.
    pub scope: &'a Scope,
    /// The user's request text.
    pub text: &'a str,
    /// Tools that the turn may use.
    pub tools: &'a [AvailableTool<'a>],
    /// Maximum number of lessons in the result (paper, appendix B: 3).
    pub limit: usize,
    /// Vector of the text, from the same embedder as the vectors of the lessons.
    pub vector: Option<&'a Vector>,
}

/// Tool that is available to a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AvailableTool<'a> {
    /// Toolset of the tool; `None` for a client's own tool.
    pub toolset: Option<&'a str>,
    /// Name within the toolset.
    pub name: &'a str,
    /// Fingerprint of the parameters of a client's own tool. Lessons about another tool of the same name do not apply
    /// to it.
    pub fingerprint: Option<&'a Fingerprint>,
    /// Purpose of a client's own tool in this request. Lessons contain no such text, so a request that shares a word
    /// with the purpose matches lessons about the tool.
    pub purpose: &'a str,
}

impl<'a> AvailableTool<'a> {
    /// Converts an operator's tool. Returns `None` for the proxy's own search, which has no lessons, and for a client's
    /// own tool: see [`Self::from_client`].
    pub fn from_toolset(tool: &'a Tool) -> Option<Self> {
        match &tool.owner {
            Owner::Proxy(OperationRef { toolset, tool }) => {
                Some(Self { toolset: Some(toolset), name: tool, fingerprint: None, purpose: "" })
            }
            Owner::Client | Owner::Search => None,
        }
    }

    /// Converts a client's own tool with its purpose in this request.
    pub fn from_client(tool: &'a ClientTool, purpose: &'a str) -> Self {
        Self { toolset: None, name: tool.name.as_str(), fingerprint: Some(&tool.fingerprint), purpose }
    }

    /// Whether it is the given tool of a client.
    pub(super) fn is_client(&self, tool: &ClientTool) -> bool {
        self.toolset.is_none() && self.fingerprint == Some(&tool.fingerprint) && self.name == tool.name.as_str()
    }
}

/// Tools that a lesson or a draft is about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
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

impl<'a> Subject<'a> {
    /// Whether both are about the same tools.
    pub(super) fn is_same(&self, other: &Subject<'_>) -> bool {
        let clients = self.client.into_iter().flat_map(ClientFacts::tools);
        (self.toolset, self.tools) == (other.toolset, other.tools)
            && clients.eq(other.client.into_iter().flat_map(ClientFacts::tools))
    }

    /// Whether the lesson can be found where this tool is available.
    pub(super) fn concerns(&self, tool: &AvailableTool<'_>) -> bool {
        match self.client {
            Some(facts) => tool.is_client(&facts.tool),
            None => {
                (self.toolset, None) == (tool.toolset, tool.fingerprint)
                    && self.tools.iter().any(|name| name == tool.name)
            }
        }
    }

    /// Returns the names of the tools of which at least one must be available for the lesson to be found, or `""` if
    /// the lesson is about no tool.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        let client = self.client.map(|facts| facts.tool.name.as_str());
        let named = if client.is_some() { &[] } else { self.tools };
        let none = (client.is_none() && named.is_empty()).then_some("");
        client.into_iter().chain(none).chain(named.iter().map(String::as_str))
    }

    /// Returns all tools of the subject.
    pub(super) fn all_tools(&self) -> Vec<AvailableTool<'a>> {
        let toolset = self.toolset;
        match self.client {
            Some(facts) => facts.tools().map(|tool| AvailableTool::from_client(tool, "")).collect(),
            None => {
                let tools = self.tools.iter();
                tools.map(|name| AvailableTool { toolset, name, fingerprint: None, purpose: "" }).collect()
            }
        }
    }
}
