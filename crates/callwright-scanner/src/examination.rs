//! Findings in a call's arguments before they become diagnoses. The scan and the repair share them.

use std::collections::HashSet;
use std::rc::Rc;

use serde_json::{Map, Number, Value};

use super::schema::{MAX_FINDINGS, NodeId};
use super::{ArgumentPath, CompiledSchema, Openness, SchemaRule, ShapeNode, Violation, swallowed};
use callwright_common::json::Pointer;
use callwright_types::rules::UnknownParameters;

/// Maximum number of other places of one member to report.
const MAX_LEVELS: usize = 8;

/// Largest integer that every JSON implementation represents exactly as a double (RFC 8259, section 6).
pub const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// All findings in the arguments of a call.
#[derive(Debug, Default)]
pub struct Examination<'a> {
    /// Members that the schema of their object does not define.
    pub unknown: Vec<UnknownMember<'a>>,
    /// Schema violations.
    pub violations: Vec<Violation>,
}

impl<'a> Examination<'a> {
    /// Whether there are no findings.
    pub fn is_clean(&self) -> bool {
        self.unknown.is_empty() && self.violations.is_empty()
    }

    /// Resolves violations of `anyOf` and `oneOf` into the violations of the closest branches.
    pub fn explain(self, schema: &'a CompiledSchema, arguments: &Value) -> Self {
        let mut explained = Self { unknown: self.unknown, violations: Vec::new() };
        for violation in self.violations.into_iter().flat_map(Violation::explain) {
            match &violation.rule {
                SchemaRule::Unknown(name) => explained.add_unknown(schema, arguments, &violation.path, name),
                _ if explained.violations.len() < MAX_FINDINGS => explained.violations.push(violation),
                _ => {}
            }
        }
        explained
    }

    /// Adds an unknown member once.
    fn add_unknown(&mut self, schema: &'a CompiledSchema, arguments: &Value, object: &Pointer, name: &str) {
        if let Some(known) = self.unknown.iter_mut().find(|known| known.name == name && known.object == *object) {
            known.violates = true;
            return;
        }
        let Some(members) = arguments.pointer(object.as_str()).and_then(Value::as_object) else { return };
        if self.unknown.len() < MAX_FINDINGS {
            let node = schema.shape.at(object);
            let same = self.unknown.iter().find(|known| known.object == *object);
            let given = same.map_or_else(|| given(node, members), |known| Rc::clone(&known.given));
            let member = UnknownMember::new(object.clone(), name, node, given);
            self.unknown.push(UnknownMember { violates: true, ..member });
        }
    }
}

/// A member that the schema of its object does not define.
#[derive(Debug)]
pub struct UnknownMember<'a> {
    /// Path of the object.
    pub object: Pointer,
    pub name: String,
    /// Known names that the object has, shared by all its unknown members. The number of entries is bounded by the
    /// number of members in the arguments, not by the size of the schema.
    given: Rc<HashSet<String>>,
    /// Shape of the object, if the schema describes it.
    node: Option<&'a ShapeNode>,
    /// Whether the validator rejects the member.
    violates: bool,
    /// Known names that differ only in case and separators, whether set or not.
    pub literal: Vec<&'a str>,
}

/// Returns the names that the schema defines and the object has.
fn given(node: Option<&ShapeNode>, members: &Map<String, Value>) -> Rc<HashSet<String>> {
    let Some(node) = node else { return Rc::default() };
    Rc::new(members.keys().filter(|name| node.members.contains_key(*name)).cloned().collect())
}

impl<'a> UnknownMember<'a> {
    fn new(object: Pointer, name: &str, node: Option<&'a ShapeNode>, given: Rc<HashSet<String>>) -> Self {
        let literal = node.map_or_else(Vec::new, |node| node.literal(name).collect());
        Self { object, name: name.to_owned(), given, node, violates: false, literal }
    }

    /// Returns the known names that the object does not have yet, in schema order.
    pub fn unset(&self) -> impl Iterator<Item = &'a str> {
        let known = self.node.into_iter().flat_map(|node| node.members.keys());
        known.map(String::as_str).filter(|name| !self.given.contains(*name))
    }

    /// Returns the required names that the object does not have, in schema order.
    pub fn missing(&self) -> impl Iterator<Item = &'a str> {
        let required = self.node.into_iter().flat_map(|node| &node.required);
        required.map(String::as_str).filter(|name| !self.given.contains(*name))
    }

    /// Returns up to `limit` unset names with a similarity of at least `floor`, best first.
    pub fn nearest(&self, limit: usize, floor: f64) -> Vec<(&'a str, f64)> {
        let Some(node) = self.node else { return Vec::new() };
        node.nearest(&self.name, limit, floor, |name| !self.given.contains(name))
    }

    /// Returns the paths one level below or above that the schema has for a member of this name.
    pub fn other_levels(&self, schema: &CompiledSchema) -> Vec<Pointer> {
        let shape = &schema.shape;
        let has = |id: NodeId| shape.node(id).is_some_and(|node| node.members.contains_key(&self.name));
        let inside = self.node.into_iter().flat_map(|node| &node.members);
        let below = inside.filter(|(_, member)| member.node.is_some_and(has));
        let mut paths: Vec<Pointer> =
            below.take(MAX_LEVELS).map(|(object, _)| self.object.child(object).child(&self.name)).collect();
        let parent = self.object.as_str().rsplit_once('/').map(|(parent, _)| Pointer::from(parent));
        let above = parent.filter(|parent| shape.at(parent).is_some_and(|node| node.members.contains_key(&self.name)));
        paths.extend(above.map(|parent| parent.child(&self.name)));
        paths
    }

    /// Returns the names among `names` that the object of this member has as its own members.
    pub fn own<'n>(&self, names: impl Iterator<Item = &'n String>) -> Vec<String> {
        let node = self.node;
        names
            .filter(|name| node.is_some_and(|node| node.members.contains_key(*name)))
            .take(MAX_LEVELS)
            .cloned()
            .collect()
    }

    /// Whether the schema states that the object has no further members.
    pub fn is_excluded(&self) -> bool {
        self.violates || self.node.is_some_and(|node| node.openness == Openness::Closed)
    }

    /// Returns the path of the member.
    pub fn path(&self) -> Pointer {
        self.object.child(&self.name)
    }

    /// Returns the unset known name that differs only in case and separators, if exactly one known name matches.
    pub fn meant(&self) -> Option<&'a str> {
        match self.literal.as_slice() {
            [only] if !self.given.contains(*only) => Some(only),
            _ => None,
        }
    }
}

/// Examines an argument object. Does not allocate if there are no findings.
pub fn examine<'a>(schema: &'a CompiledSchema, arguments: &Value, rule: UnknownParameters) -> Examination<'a> {
    let allow = rule == UnknownParameters::Allow;
    let mut survey = Survey { schema, allow, found: Examination::default() };
    if let Some(root) = schema.shape.root() {
        survey.visit(root, arguments, &ArgumentPath::Root);
    }
    let mut found = survey.found;
    for violation in schema.violations(arguments) {
        match &violation.rule {
            SchemaRule::Unknown(_) if allow => {}
            SchemaRule::Unknown(name) => found.add_unknown(schema, arguments, &violation.path, name),
            _ => found.violations.push(violation),
        }
    }
    let swallowed = arguments.as_object().and_then(|members| swallowed::find(schema, members));
    found.violations.extend(swallowed.map(|found| found.violation()));
    found
}

/// Visitor that traverses the arguments along the shape of their schema and finds faults that JSON Schema accepts.
struct Survey<'a> {
    schema: &'a CompiledSchema,
    allow: bool,
    found: Examination<'a>,
}

impl<'a> Survey<'a> {
    fn visit(&mut self, node: &'a ShapeNode, value: &Value, place: &ArgumentPath<'_>) {
        match value {
            Value::Object(members) => self.members(node, members, place),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.descend(node.items, item, &ArgumentPath::Item(place, index));
                }
            }
            Value::Number(number) if node.whole && is_whole_with_fraction(number) => {
                self.violation(place, SchemaRule::Type(vec!["integer"]));
            }
            _ => {}
        }
    }

    fn descend(&mut self, node: Option<NodeId>, value: &Value, place: &ArgumentPath<'_>) {
        if let Some(node) = node.and_then(|id| self.schema.shape.node(id)) {
            self.visit(node, value, place);
        }
    }

    fn members(&mut self, node: &'a ShapeNode, members: &Map<String, Value>, place: &ArgumentPath<'_>) {
        let mut shared = None;
        for (name, value) in members {
            match node.members.get(name) {
                Some(member) => self.descend(member.node, value, &ArgumentPath::Member(place, name)),
                None if self.is_fault(node, name, members, place) => {
                    if self.found.unknown.len() < MAX_FINDINGS {
                        let given = Rc::clone(shared.get_or_insert_with(|| given(Some(node), members)));
                        self.found.unknown.push(UnknownMember::new(place.pointer(), name, Some(node), given));
                    }
                }
                None => self.descend(node.others, value, &ArgumentPath::Member(place, name)),
            }
        }
        // A compiled validator reports missing members itself.
        if !self.schema.judges() {
            for name in node.required.iter().filter(|name| !members.contains_key(*name)) {
                self.violation(place, SchemaRule::Missing(name.clone()));
            }
        }
    }

    /// Whether a member that its schema does not name is a fault. If additional members are accepted, it is a fault
    /// only if it differs from exactly one unset known name in nothing but case and separators. If the schema allows
    /// additional members explicitly, that known name must also be required.
    fn is_fault(&self, node: &ShapeNode, name: &str, members: &Map<String, Value>, place: &ArgumentPath<'_>) -> bool {
        let stated = match (node.openness, place) {
            (Openness::Closed, _) | (Openness::Unstated, ArgumentPath::Root) if !self.allow => return true,
            (openness, _) => openness == Openness::Open,
        };
        let mut same = node.literal(name);
        let (Some(only), None) = (same.next(), same.next()) else { return false };
        !members.contains_key(only) && (!stated || node.required.iter().any(|required| required == only))
    }

    fn violation(&mut self, place: &ArgumentPath<'_>, rule: SchemaRule) {
        if self.found.violations.len() < MAX_FINDINGS {
            self.found.violations.push(Violation { path: place.pointer(), schema: None, rule });
        }
    }
}

/// Whether the number is written with a fraction but is whole, such as `5.0`. JSON Schema accepts it as an integer;
/// many servers that deserialize it into an integer type do not.
fn is_whole_with_fraction(number: &Number) -> bool {
    number.is_f64() && number.as_f64().is_some_and(|float| float.fract() == 0.0 && float.abs() <= MAX_EXACT)
}
