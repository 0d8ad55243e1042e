//! Upper bounds for the work that a schema causes for one value.
//!
//! With references, a short schema can expand to an enormous one. Thirty definitions that each refer twice to the next
//! yield a billion branches for a single string. A validator that must explain *why* a value matches none of them
//! visits all. Without references the same happens to a long list and a schema of many branches: every branch has an error
//! of its own for every item. These bounds are computed from the schema before its first use.

use std::collections::HashMap;

use serde_json::Value;

use super::normalise::MAX_DEPTH;
use callwright_common::schema::{Applies, resolve, subschemas};

/// Maximum number of subschemas to visit at one location. A schema that needs more for a value without parts is not used;
/// a violation that needs more for its explanation is reported without a reason.
pub(super) const MAX_VISITS: u64 = 20_000;

/// Keywords whose error has those of several subschemas.
const ALTERNATIVES: [&str; 2] = ["anyOf", "oneOf"];

/// Reason why a schema cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unusable {
    /// Its references form a cycle that does not descend into the value (JSON Schema 2020-12 core, section 9.4.1).
    #[error("its references form a cycle")]
    Cycle,
    /// One value would need too long a chain of subschemas.
    #[error("its references are nested too deeply")]
    TooDeep,
    /// One value would need too many visits.
    #[error("its references expand to too many subschemas")]
    TooMuch,
}

/// Size of a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Extent {
    /// Nesting depth.
    pub(super) depth: usize,
    /// Number of the value's parts, with itself.
    pub(super) locations: u64,
}

impl Extent {
    /// Measures a value with these parts. The JSON parser limits the depth to 128, so recursion is safe.
    pub(super) fn of_parts<'a>(parts: impl Iterator<Item = &'a Value>) -> Self {
        let mut extent = Self { depth: 0, locations: 1 };
        for part in parts {
            let part = Self::of(part);
            extent.depth = extent.depth.max(part.depth + 1);
            extent.locations += part.locations;
        }
        extent
    }

    /// Measures a value.
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Array(items) => Self::of_parts(items.iter()),
            Value::Object(members) => Self::of_parts(members.values()),
            _ => Self { depth: 0, locations: 1 },
        }
    }
}

/// Graph of a schema's subschemas.
#[derive(Debug)]
pub(super) struct SchemaWork {
    /// For each subschema, the subschemas that apply to the same value, and those that apply to a part of it. In
    /// topological order: the former come first.
    nodes: Vec<(Vec<usize>, Vec<usize>)>,
    /// Length of the longest chain of subschemas for one value.
    steps: usize,
    has_references: bool,
    has_alternatives: bool,
}

impl SchemaWork {
    /// Builds the graph; `None` for a schema without references that is nested too deeply for it.
    pub(super) fn read(schema: &Value) -> Result<Option<Self>, Unusable> {
        let graph = Graph::read(schema);
        let (order, steps) = match graph.order() {
            Ok(order) => order,
            Err(_) if !graph.has_references => return Ok(None),
            Err(unusable) => return Err(unusable),
        };
        let mut place = vec![0; order.len()];
        for (index, node) in order.iter().enumerate() {
            if let Some(place) = place.get_mut(*node) {
                *place = index;
            }
        }
        let nodes = order
            .iter()
            .filter_map(|node| graph.edges.get(*node))
            .map(|edges| (renumbered(&edges.same, &place), renumbered(&edges.part, &place)))
            .collect();
        let work =
            Self { nodes, steps, has_references: graph.has_references, has_alternatives: graph.has_alternatives };
        if work.has_references && work.bound(0) > MAX_VISITS { Err(Unusable::TooMuch) } else { Ok(Some(work)) }
    }

    /// Whether the schema has references. Without them, the work for one location is bounded by the size of the schema.
    pub(super) fn has_references(&self) -> bool {
        self.has_references
    }

    /// Whether a value may fit one of several subschemas, so that a single error has those of all of them.
    pub(super) fn has_alternatives(&self) -> bool {
        self.has_alternatives
    }

    /// Returns an upper bound of the number of subschemas that are visited for a value of this extent.
    pub(super) fn total(&self, extent: Extent) -> u64 {
        self.bound(extent.depth).saturating_mul(extent.locations)
    }

    /// Returns an upper bound of the number of schemas on the stack while a value of the given nesting depth is
    /// validated.
    pub(super) fn stack(&self, depth: usize) -> usize {
        (self.steps + 1) * (depth + 1)
    }

    /// Returns an upper bound of the number of subschemas that are visited at any one location of a value of the given
    /// nesting depth, if every branch is followed to its end.
    pub(super) fn bound(&self, depth: usize) -> u64 {
        self.visits(depth).into_iter().max().unwrap_or(0)
    }

    fn visits(&self, depth: usize) -> Vec<u64> {
        let mut above = vec![0; self.nodes.len()];
        for _ in 0..=depth {
            let mut level: Vec<u64> = Vec::with_capacity(self.nodes.len());
            for (same, part) in &self.nodes {
                let here: u64 =
                    same.iter().filter_map(|node| level.get(*node)).fold(1, |sum, add| sum.saturating_add(*add));
                let below = part.iter().filter_map(|node| above.get(*node)).max().copied().unwrap_or(0);
                level.push(here.saturating_add(below));
            }
            above = level;
        }
        above
    }
}

fn renumbered(nodes: &[usize], numbers: &[usize]) -> Vec<usize> {
    nodes.iter().filter_map(|node| numbers.get(*node).copied()).collect()
}

#[derive(Default)]
struct SchemaEdges {
    same: Vec<usize>,
    part: Vec<usize>,
}

struct Graph {
    edges: Vec<SchemaEdges>,
    has_references: bool,
    has_alternatives: bool,
}

impl Graph {
    fn read(root: &Value) -> Self {
        let mut known: HashMap<*const Value, usize> = HashMap::from([(std::ptr::from_ref(root), 0)]);
        let mut queue = vec![root];
        let mut graph = Self { edges: Vec::new(), has_references: false, has_alternatives: false };
        let mut next = 0;
        while let Some(schema) = queue.get(next).copied() {
            next += 1;
            graph.has_alternatives |= ALTERNATIVES.iter().any(|keyword| schema.get(keyword).is_some());
            let mut edges = SchemaEdges::default();
            each_subschema(root, schema, &mut |relation, subschema| {
                graph.has_references |= relation == Relation::Reference;
                let id = *known.entry(std::ptr::from_ref(subschema)).or_insert_with(|| {
                    queue.push(subschema);
                    queue.len() - 1
                });
                match relation {
                    Relation::Part => edges.part.push(id),
                    Relation::Same | Relation::Reference => edges.same.push(id),
                }
            });
            graph.edges.push(edges);
        }
        graph
    }

    /// Returns the subschemas in topological order (each one after all that apply to the same value), and the length of
    /// the longest chain.
    fn order(&self) -> Result<(Vec<usize>, usize), Unusable> {
        let mut order = Vec::with_capacity(self.edges.len());
        let mut states = vec![VisitState::New; self.edges.len()];
        let mut longest = 0;
        for node in 0..self.edges.len() {
            longest = longest.max(self.visit(node, 0, &mut states, &mut order)?);
        }
        Ok((order, longest))
    }

    fn visit(
        &self,
        node: usize,
        steps: usize,
        states: &mut [VisitState],
        order: &mut Vec<usize>,
    ) -> Result<usize, Unusable> {
        let (Some(edges), Some(state)) = (self.edges.get(node), states.get_mut(node)) else { return Ok(0) };
        match *state {
            VisitState::Done(length) if steps + length > MAX_DEPTH => return Err(Unusable::TooDeep),
            VisitState::Done(length) => return Ok(length),
            VisitState::Open => return Err(Unusable::Cycle),
            VisitState::New if steps > MAX_DEPTH => return Err(Unusable::TooDeep),
            VisitState::New => *state = VisitState::Open,
        }
        let mut longest = 0;
        for next in &edges.same {
            longest = longest.max(self.visit(*next, steps + 1, states, order)? + 1);
        }
        if let Some(state) = states.get_mut(node) {
            *state = VisitState::Done(longest);
        }
        order.push(node);
        Ok(longest)
    }
}

#[derive(Clone, Copy)]
enum VisitState {
    New,
    Open,
    /// Visited, with the length of the longest chain from this node.
    Done(usize),
}

/// Relation of a schema to one that it contains or refers to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    Same,
    Part,
    Reference,
}

/// Visits the direct subschemas of a schema and the target of its reference.
pub(super) fn each_subschema<'a>(root: &'a Value, schema: &'a Value, visit: &mut impl FnMut(Relation, &'a Value)) {
    let Some(keywords) = schema.as_object() else { return };
    for inside in subschemas(keywords) {
        match inside.applies {
            // Content that a string encodes is not validated.
            Applies::Content => {}
            applies if applies.is_same_value() => visit(Relation::Same, inside.schema),
            _ => visit(Relation::Part, inside.schema),
        }
    }
    if let Some((_, target)) = keywords.get("$ref").and_then(Value::as_str).and_then(|text| resolve(root, text)) {
        visit(Relation::Reference, target);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn doubling(levels: usize, wrap: impl Fn(Value) -> Value) -> Value {
        let next = |level: usize| wrap(json!({ "$ref": format!("#/$defs/{level}") }));
        let definitions: serde_json::Map<_, _> = (0..levels)
            .map(|level| (level.to_string(), json!({ "anyOf": [next(level + 1), next(level + 1)] })))
            .chain([(levels.to_string(), json!({ "type": "string" }))])
            .collect();
        json!({ "properties": { "a": { "$ref": "#/$defs/0" } }, "$defs": definitions })
    }

    #[test]
    fn the_work_of_branches_grows_with_the_items() {
        let branches: Vec<Value> = (0..100).map(|length| json!({ "items": { "maxLength": length } })).collect();
        let work = SchemaWork::read(&json!({ "properties": { "a": { "anyOf": branches } } })).unwrap().unwrap();
        let total = |items: usize| work.total(Extent::of(&json!({ "a": vec!["x"; items] })));
        assert!(!work.has_references() && total(10) < 10_000 && total(10_000) > 1_000_000);
        assert_eq!(Extent::of(&json!({ "a": [1, {}] })), Extent { depth: 2, locations: 4 });
    }

    #[test]
    fn a_recursive_schema_is_usable_and_its_work_grows_by_depth() {
        let tree = json!({ "properties": { "left": { "anyOf": [{ "$ref": "#" }, { "$ref": "#" }] } } });
        let work = SchemaWork::read(&tree).unwrap().unwrap();
        assert!(work.bound(2) < 50);
        assert!(work.bound(40) > 1_000_000_000);
        assert_eq!(work.bound(200), u64::MAX);
    }

    #[test]
    fn references_that_go_nowhere_make_a_schema_unusable() {
        let cycle = json!({ "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "allOf": [{ "$ref": "#/$defs/a" }] } },
                            "properties": { "x": { "$ref": "#/$defs/a" } } });
        assert_eq!(SchemaWork::read(&cycle).unwrap_err(), Unusable::Cycle);
        assert_eq!(SchemaWork::read(&json!({ "$ref": "#" })).unwrap_err(), Unusable::Cycle);
    }

    #[test]
    fn multiplying_or_deep_references_make_a_schema_unusable() {
        assert!(SchemaWork::read(&doubling(5, |schema| schema)).is_ok());
        assert_eq!(SchemaWork::read(&doubling(20, |schema| schema)).unwrap_err(), Unusable::TooMuch);
        let long = doubling(80, |schema| json!({ "properties": { "x": schema } }));
        assert!(SchemaWork::read(&long).is_ok(), "going into the value is no step");
        let chain: serde_json::Map<_, _> =
            (0..200).map(|level| (level.to_string(), json!({ "$ref": format!("#/d/{}", level + 1) }))).collect();
        let chain = json!({ "$ref": "#/d/0", "d": chain });
        assert_eq!(SchemaWork::read(&chain).unwrap_err(), Unusable::TooDeep);
    }
}
