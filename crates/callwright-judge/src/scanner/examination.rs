//! What is found in a call's arguments before it is put into faults: by the scan to judge, by repair to mend.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use serde_json::{Map, Number, Value};

use super::place::Place;
use super::schema::{CompiledSchema, Node, NodeId, Openness, Rule, Violation};
use callwright_common::json::Pointer;
use callwright_types::rules::UnknownParameters;

/// Findings of one kind that are looked at in one call; more do not help anybody to mend it.
const MAX_FINDINGS: usize = 512;

/// Whole numbers up to here are exact in the floating-point numbers of every JSON reader (RFC 8259, section 6).
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// Everything that is wrong with the arguments.
#[derive(Debug, Default)]
pub(crate) struct Examination<'a> {
    /// Members with names that their object's schema does not have.
    pub(crate) unknown: Vec<UnknownMember<'a>>,
    /// Broken rules of the schema.
    pub(crate) violations: Vec<Violation>,
}

impl<'a> Examination<'a> {
    /// Is nothing wrong?
    pub(crate) fn is_clean(&self) -> bool {
        self.unknown.is_empty() && self.violations.is_empty()
    }

    /// The same with every choice of branches settled: the violations are those of the branches that are closest.
    pub(crate) fn explain(self, schema: &'a CompiledSchema, arguments: &Value) -> Self {
        let mut explained = Self { unknown: self.unknown, violations: Vec::new() };
        let mut objects = None;
        for violation in self.violations.into_iter().flat_map(Violation::explain) {
            match &violation.rule {
                Rule::Unknown(name) => explained.add_unknown(&mut objects, schema, arguments, &violation.path, name),
                _ if explained.violations.len() < MAX_FINDINGS => explained.violations.push(violation),
                _ => {}
            }
        }
        explained
    }

    /// Adds a member, once. `objects` are those of the members that are known so far; they are looked up once there is one to add.
    fn add_unknown(
        &mut self,
        objects: &mut Option<HashMap<Pointer, SeenObject>>,
        schema: &'a CompiledSchema,
        arguments: &Value,
        object: &Pointer,
        name: &str,
    ) {
        if self.unknown.len() >= MAX_FINDINGS {
            return;
        }
        let Some(members) = arguments.pointer(object.as_str()).and_then(Value::as_object) else { return };
        let objects = objects.get_or_insert_with(|| seen_objects(&self.unknown));
        let node = schema.shape().at(object);
        let seen = objects
            .entry(object.clone())
            .or_insert_with(|| SeenObject { given: given(node, members), names: HashSet::new() });
        if seen.names.insert(name.to_owned()) {
            self.unknown.push(UnknownMember::new(object.clone(), name, node, Rc::clone(&seen.given)));
        }
    }
}

/// An object with unknown members.
struct SeenObject {
    /// The known names that it has.
    given: Rc<HashSet<String>>,
    /// Its unknown members that were found.
    names: HashSet<String>,
}

fn seen_objects(unknown: &[UnknownMember<'_>]) -> HashMap<Pointer, SeenObject> {
    let mut objects: HashMap<Pointer, SeenObject> = HashMap::new();
    for member in unknown {
        let seen = objects
            .entry(member.object.clone())
            .or_insert_with(|| SeenObject { given: Rc::clone(&member.given), names: HashSet::new() });
        seen.names.insert(member.name.clone());
    }
    objects
}

/// A member that its object's schema does not have.
#[derive(Debug)]
pub(crate) struct UnknownMember<'a> {
    /// The object.
    pub(crate) object: Pointer,
    /// The member's name.
    pub(crate) name: String,
    /// Known names that the object has; shared by its members. There are never more of them than the arguments have members, however
    /// many names the schema has.
    given: Rc<HashSet<String>>,
    /// What is known about the object.
    node: Option<&'a Node>,
    /// Known names that are the same but for case and separators, set or not.
    pub(crate) literal: Vec<&'a str>,
}

/// The names known to the schema that an object has.
fn given(node: Option<&Node>, members: &Map<String, Value>) -> Rc<HashSet<String>> {
    let is_known = |name: &&String| node.is_some_and(|node| node.members.contains_key(*name));
    Rc::new(members.keys().filter(is_known).cloned().collect())
}

impl<'a> UnknownMember<'a> {
    fn new(object: Pointer, name: &str, node: Option<&'a Node>, given: Rc<HashSet<String>>) -> Self {
        let literal = node.map_or_else(Vec::new, |node| node.literal(name).collect());
        Self { object, name: name.to_owned(), given, node, literal }
    }

    /// Known names that the object does not have yet, in the order of the schema.
    pub(crate) fn unset(&self) -> impl Iterator<Item = &'a str> {
        let known = self.node.into_iter().flat_map(|node| node.members.keys());
        known.map(String::as_str).filter(|name| !self.given.contains(*name))
    }

    /// The `limit` names most similar to it among those that are not set yet and at least `floor` similar, best first.
    pub(crate) fn nearest(&self, limit: usize, floor: f64) -> Vec<(&'a str, f64)> {
        let Some(node) = self.node else { return Vec::new() };
        node.nearest(&self.name, limit, floor, |name| !self.given.contains(name))
    }

    /// Where it stands.
    pub(crate) fn path(&self) -> Pointer {
        self.object.child(&self.name)
    }

    /// The one known name that it can only mean: the same but for case and separators, and unset.
    pub(crate) fn meant(&self) -> Option<&'a str> {
        match self.literal.as_slice() {
            [only] if !self.given.contains(*only) => Some(only),
            _ => None,
        }
    }
}

/// Examines an argument object. Allocates nothing where nothing is wrong.
pub(crate) fn examine<'a>(schema: &'a CompiledSchema, arguments: &Value, rule: UnknownParameters) -> Examination<'a> {
    let allow = rule == UnknownParameters::Allow;
    let mut survey = Survey { schema, allow, found: Examination::default() };
    if let Some(root) = schema.shape().root() {
        survey.visit(root, arguments, &Place::Root);
    }
    let mut found = survey.found;
    let mut objects = None;
    for violation in schema.violations(arguments) {
        match &violation.rule {
            Rule::Unknown(_) if allow => {}
            Rule::Unknown(name) => found.add_unknown(&mut objects, schema, arguments, &violation.path, name),
            _ => found.violations.push(violation),
        }
    }
    found
}

/// A walk over the arguments along the shape of their schema: finds what JSON Schema lets pass.
struct Survey<'a> {
    schema: &'a CompiledSchema,
    allow: bool,
    found: Examination<'a>,
}

impl<'a> Survey<'a> {
    fn visit(&mut self, node: &'a Node, value: &Value, place: &Place<'_>) {
        match value {
            Value::Object(members) => self.members(node, members, place),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.descend(node.items, item, &Place::Item(place, index));
                }
            }
            Value::Number(number) if node.whole && is_whole_with_fraction(number) => {
                self.violation(place, Rule::Type(vec!["integer"]));
            }
            _ => {}
        }
    }

    fn descend(&mut self, node: Option<NodeId>, value: &Value, place: &Place<'_>) {
        if let Some(node) = node.and_then(|id| self.schema.shape().node(id)) {
            self.visit(node, value, place);
        }
    }

    fn members(&mut self, node: &'a Node, members: &Map<String, Value>, place: &Place<'_>) {
        let mut shared = None;
        for (name, value) in members {
            match node.members.get(name) {
                Some(member) => self.descend(member.node, value, &Place::Member(place, name)),
                None if self.is_fault(node, name, members, place) => {
                    if self.found.unknown.len() < MAX_FINDINGS {
                        let given = Rc::clone(shared.get_or_insert_with(|| given(Some(node), members)));
                        self.found.unknown.push(UnknownMember::new(place.pointer(), name, Some(node), given));
                    }
                }
                None => self.descend(node.others, value, &Place::Member(place, name)),
            }
        }
        // Where a validator judges, it reports what is missing itself.
        if !self.schema.judges() {
            for name in node.required.iter().filter(|name| !members.contains_key(*name)) {
                self.violation(place, Rule::Missing(name.clone()));
            }
        }
    }

    /// Is it wrong that the object has this member, which its schema does not name? Where further members are allowed,
    /// only if it can but mean a known one: one that is required where the schema itself allows others, and any one that
    /// is unset where it does not say.
    fn is_fault(&self, node: &Node, name: &str, members: &Map<String, Value>, place: &Place<'_>) -> bool {
        let stated = match (node.openness, place) {
            (Openness::Closed, _) | (Openness::Unstated, Place::Root) if !self.allow => return true,
            (openness, _) => openness == Openness::Open,
        };
        let mut same = node.literal(name);
        let (Some(only), None) = (same.next(), same.next()) else { return false };
        !members.contains_key(only) && (!stated || node.required.iter().any(|required| required == only))
    }

    fn violation(&mut self, place: &Place<'_>, rule: Rule) {
        if self.found.violations.len() < MAX_FINDINGS {
            self.found.violations.push(Violation { path: place.pointer(), schema: None, rule });
        }
    }
}

/// `5.0`: a whole number by JSON Schema, and yet refused by many a receiver that reads it into an integer.
fn is_whole_with_fraction(number: &Number) -> bool {
    number.is_f64() && number.as_f64().is_some_and(|float| float.fract() == 0.0 && float.abs() <= MAX_EXACT)
}
