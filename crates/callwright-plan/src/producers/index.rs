//! Index of the producers of all arguments of all tools.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::edges::Edges;
use super::segment::Segment;
use super::tool::ToolShape;
use callwright_search::retrieval::Term;

/// Maximum number of tools per key. Keys of more tools do not discriminate.
const MAX_TOOLS_PER_KEY: usize = 16;

/// Immutable index of the producers of each argument over all toolsets; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Producers {
    pub(super) parts: Arc<[SegmentPart]>,
    pub(super) operator_edges: Arc<OperatorEdges>,
    /// Tools whose answers contain the key of a thing, for lookups across toolsets. Unlike other names, names of keys
    /// have the same meaning in all toolsets.
    pub(super) keys: Arc<Keys>,
    /// Positions of tools that may not be called.
    barred: Vec<Arc<HashSet<usize>>>,
}

pub(super) type Keys = HashMap<Term, Vec<usize>>;

/// Tool and, if specified, the location of the value in its answer.
pub(super) type Source = (usize, Option<Box<str>>);

/// Edges of the operator's file, with resolved tool positions.
#[derive(Debug, Default)]
pub(super) struct OperatorEdges {
    /// Confirmed sources by consuming tool and argument.
    pub(super) confirmed: HashMap<(usize, Box<str>), Vec<Source>>,
    /// Forbidden pairs of producer and consumer, for one argument or for all.
    pub(super) forbidden: HashSet<(usize, usize, Option<Box<str>>)>,
}

#[derive(Debug, Clone)]
pub(super) struct SegmentPart {
    /// Position of its first tool.
    pub(super) first: usize,
    pub(super) segment: Arc<Segment>,
}

impl Producers {
    /// Builds the producers of one toolset.
    pub fn from_tools(tools: &[ToolShape<'_>]) -> Self {
        Self::new([Arc::new(Segment::build(tools))])
    }

    /// Combines several segments. Positions are counted across all segments in order.
    pub fn new(segments: impl IntoIterator<Item = Arc<Segment>>) -> Self {
        let mut first = 0;
        let (mut parts, mut keys) = (Vec::new(), Keys::new());
        for segment in segments {
            let part = SegmentPart { first, segment };
            first += part.segment.len();
            part.add_keys(&mut keys);
            parts.push(part);
        }
        Self { parts: parts.into(), operator_edges: Arc::default(), keys: Arc::new(keys), barred: Vec::new() }
    }

    /// Appends a toolset; this is cheap if its tools have no documented outputs. The operator's edges have to be
    /// applied again.
    #[must_use]
    pub fn with_segment(&self, segment: Arc<Segment>) -> Self {
        let part = SegmentPart { first: self.len(), segment };
        let mut keys = Arc::clone(&self.keys);
        if part.segment.keys().next().is_some() {
            part.add_keys(Arc::make_mut(&mut keys));
        }
        let parts = self.parts.iter().cloned().chain([part]).collect();
        Self { parts, operator_edges: Arc::default(), keys, barred: self.barred.clone() }
    }

    /// Excludes tools that may not be called. They supply no values and their names do not resolve.
    #[must_use]
    pub fn without(mut self, positions: HashSet<usize>) -> Self {
        if !positions.is_empty() {
            self.barred.push(Arc::new(positions));
        }
        self
    }

    /// Whether any segment has embeddings, so that the request's vectors are useful.
    pub fn has_vectors(&self) -> bool {
        self.parts.iter().any(|part| part.segment.has_vectors())
    }

    /// Whether the tool at a position may not be called.
    pub fn is_barred(&self, position: usize) -> bool {
        self.barred.iter().any(|barred| barred.contains(&position))
    }

    /// Applies the operator's edges. Edges that name unknown tools are ignored.
    #[must_use]
    pub fn with_edges(mut self, edges: &Edges) -> Self {
        let mut resolved = OperatorEdges::default();
        for edge in &edges.confirmed {
            let (Some(argument), Some(from), Some(to)) =
                (edge.argument.as_deref(), self.position(&edge.from), self.position(&edge.to))
            else {
                continue;
            };
            let output = edge.output.as_deref().map(Box::from);
            resolved.confirmed.entry((to, argument.into())).or_default().push((from, output));
        }
        for edge in &edges.forbidden {
            if let (Some(from), Some(to)) = (self.position(&edge.from), self.position(&edge.to)) {
                resolved.forbidden.insert((from, to, edge.argument.as_deref().map(Box::from)));
            }
        }
        self.operator_edges = Arc::new(resolved);
        self
    }

    /// Returns the position of the first tool with this name.
    pub fn position(&self, name: &str) -> Option<usize> {
        let mut positions = self.parts.iter().filter_map(|part| Some(part.first + part.segment.position(name)?));
        positions.find(|position| !self.is_barred(*position))
    }

    /// Returns the distinct names in an operator's file that match no tool.
    pub fn unknown<'a>(&self, edges: &'a Edges) -> BTreeSet<&'a str> {
        let names = edges.confirmed.iter().chain(&edges.forbidden).flat_map(|edge| [&edge.from, &edge.to]);
        names.map(String::as_str).filter(|name| self.position(name).is_none()).collect()
    }

    /// Returns the number of tools.
    pub fn len(&self) -> usize {
        self.parts.last().map_or(0, |part| part.first + part.segment.len())
    }

    /// Whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the arguments of a tool in the order of its schema.
    pub fn arguments(&self, tool: usize) -> impl Iterator<Item = &str> {
        let features = self.part_of(tool).and_then(|(_, part)| part.segment.tool(tool - part.first));
        features.into_iter().flat_map(|features| &features.inputs).map(|input| &*input.name)
    }

    pub(super) fn part_of(&self, tool: usize) -> Option<(usize, &SegmentPart)> {
        let at = self.parts.partition_point(|part| part.first <= tool).checked_sub(1)?;
        let part = self.parts.get(at)?;
        (tool < part.first + part.segment.len()).then_some((at, part))
    }
}

impl SegmentPart {
    fn add_keys(&self, keys: &mut Keys) {
        for (key, tool) in self.segment.keys() {
            let tools = keys.entry(key).or_default();
            if tools.len() < MAX_TOOLS_PER_KEY {
                tools.push(self.first + tool as usize);
            }
        }
    }
}
