//! What is asked of a notebook, and what it answers.

use std::sync::Arc;

use crate::domain::{Lesson, OperationRef, Owner, Scope, Tool};
use crate::embedding::Vector;

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
}

impl<'a> ToolInPlay<'a> {
    /// Which tool lessons mean by this one; `None` for the proxy's own search, which nothing is learned about.
    pub fn of(tool: &'a Tool) -> Option<Self> {
        match &tool.owner {
            Owner::Client => Some(Self { toolset: None, name: &tool.name }),
            Owner::Proxy(OperationRef { toolset, tool }) => Some(Self { toolset: Some(toolset), name: tool }),
            Owner::Search => None,
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
