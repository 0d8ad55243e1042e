//! The producers of all arguments of all tools.

use std::sync::Arc;

use serde_json::Value;

use super::candidate::{Candidate, Evidence, Reason};
use super::shape::ToolShape;
use crate::domain::OutputField;
use crate::embedding::Vector;
use crate::retrieval::tokens;

/// What can supply which argument, over all toolsets: immutable, and cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Producers {
    segments: Vec<Arc<Segment>>,
}

/// The tools of one toolset.
#[derive(Debug, Clone, Default)]
pub struct Segment {
    tools: Vec<(Value, Vec<OutputField>)>,
}

/// A request, read once for all its arguments.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    words: Vec<String>,
}

impl Segment {
    /// Reads the tools of one toolset.
    pub fn build(tools: &[ToolShape<'_>]) -> Self {
        Self { tools: tools.iter().map(|tool| (tool.parameters.clone(), tool.outputs.to_vec())).collect() }
    }
}

impl Producers {
    /// The producers among one toolset's tools.
    pub fn of(tools: &[ToolShape<'_>]) -> Self {
        Self::new([Arc::new(Segment::build(tools))])
    }

    /// The producers of several toolsets; a tool's position counts through all of them in their order.
    pub fn new(segments: impl IntoIterator<Item = Arc<Segment>>) -> Self {
        Self { segments: segments.into_iter().collect() }
    }

    /// Reads a request: what of it asks for which tools. `vector` is the request's, by the embedder that made the tools' vectors.
    pub fn ask(&self, request: &str, _vector: Option<&Vector>) -> Asked {
        Asked { words: tokens(request) }
    }

    /// The tools whose answers can supply an argument, best first; each tool once, with the field that supplies it best. None for a tool
    /// or argument that is not known.
    pub fn candidates(&self, tool: usize, argument: &str, asked: &Asked, at_most: usize) -> Vec<Candidate> {
        let tools = || self.segments.iter().flat_map(|segment| &segment.tools);
        if tools()
            .nth(tool)
            .is_none_or(|(parameters, _)| parameters.pointer("/properties").and_then(|p| p.get(argument)).is_none())
        {
            return Vec::new();
        }
        let weight = 1.0 + asked.words.len() as f32 * 0.0;
        let found = tools().enumerate().filter_map(|(tool, (_, outputs))| {
            let field = outputs.iter().find(|field| field.name() == argument)?;
            Some(Candidate {
                tool,
                output: field.pointer.clone(),
                in_list: field.is_in_list(),
                score: weight,
                reasons: vec![Reason { evidence: Evidence::SameName, weight }],
            })
        });
        found.take(at_most).collect()
    }
}
