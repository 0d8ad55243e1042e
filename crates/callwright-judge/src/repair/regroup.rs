//! E3: moves arguments that are one level off, where exactly one regrouping fits the whole schema.
//!
//! Models write the members of an object parameter beside the others, or put the arguments into an object that the tool
//! does not have. The schema is the evidence: every moved member has its name there, and the result is valid.

use std::collections::HashSet;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::proposal::{RepairJob, RepairedCall, parse};
use super::{passes, wrapper};
use callwright_common::json::{Pointer, RawObject, raw};
use callwright_scanner::schema::{Openness, ShapeNode};
use callwright_types::{FaultCode, Repair, RepairKind};

/// Maximum number of regroupings to try.
const MAX_TRIALS: usize = 16;

/// Maximum number of bytes of arguments to regroup, because each trial reads all of them.
const MAX_BYTES: usize = 512 * 1024;

type Fields = Vec<(String, Box<RawValue>)>;

/// Moves members one level up or down if exactly one such change makes the call valid.
pub(super) fn repair(repaired: &mut RepairedCall, job: &RepairJob<'_>) {
    if !job.rules.values || !job.repairs(FaultCode::ParameterUnknown) || repaired.call.arguments.len() > MAX_BYTES {
        return;
    }
    let Some(from) = parse(&repaired.call.arguments) else { return };
    let Some(regrouping) = Regrouping::new(&repaired.call.arguments, &from, job) else { return };
    if job.fits(&from) {
        return;
    }
    // Repairs in place come first.
    let in_place = parse(&mended(&repaired.call.arguments, repaired, job));
    if in_place.is_some_and(|arguments| job.fits(&arguments)) {
        return;
    }
    let candidates = regrouping.candidates();
    let direct = valid(&candidates, str::to_owned, job);
    // Values and names inside the moved members may need repairs of their own.
    let found = if direct.is_empty() { valid(&candidates, |text| mended(text, repaired, job), job) } else { direct };
    let [(text, to)] = found.as_slice() else { return };
    repaired.call.arguments.clone_from(text);
    repaired.repairs.push(Repair::of_call(RepairKind::ArgumentsRegrouped, 0, from, to.clone()));
}

/// Returns the candidates that fit the schema after `prepare`, each different value once.
fn valid(candidates: &[String], prepare: impl Fn(&str) -> String, job: &RepairJob<'_>) -> Vec<(String, Value)> {
    let mut found: Vec<(String, Value)> = Vec::new();
    let mut results: Vec<Value> = Vec::new();
    for text in candidates.iter().take_while(|_| job.context.step()) {
        let Some(result) = parse(&prepare(text)) else { continue };
        if job.fits(&result)
            && !results.contains(&result)
            && let Some(value) = parse(text)
        {
            results.push(result);
            found.push((text.clone(), value));
        }
    }
    found
}

fn mended(text: &str, repaired: &RepairedCall, job: &RepairJob<'_>) -> String {
    let mut trial = RepairedCall { call: repaired.call.clone(), repairs: Vec::new() };
    text.clone_into(&mut trial.call.arguments);
    passes::repair(&mut trial, job);
    trial.call.arguments
}

/// The arguments with the members that may be at another level.
struct Regrouping<'a> {
    fields: Fields,
    given: &'a Map<String, Value>,
    node: &'a ShapeNode,
    /// Names of the members that the tool does not have, in any writing.
    unknown: Vec<String>,
    job: &'a RepairJob<'a>,
}

impl<'a> Regrouping<'a> {
    fn new(text: &str, arguments: &'a Value, job: &'a RepairJob<'a>) -> Option<Self> {
        let given = arguments.as_object()?;
        let node = job.tool.compiled().shape.root()?;
        let object = RawObject::parse(text).ok()?;
        let fields: Fields = object.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        // A repeated member has no certain level.
        (fields.len() == given.len()).then_some(())?;
        let unknown = given.keys().filter(|name| !has(node, name)).cloned().collect();
        Some(Self { fields, given, node, unknown, job })
    }

    /// Returns the texts of the possible regroupings.
    fn candidates(&self) -> Vec<String> {
        let mut found = Vec::new();
        if !self.unknown.is_empty() {
            self.move_into_objects(&mut found);
            found.extend(self.by_path());
        }
        if let Some((name, inner)) = self.wrapping() {
            found.extend(self.unwrapped(&name, &inner));
            self.renamed(&name, &inner, &mut found);
        }
        self.out_of_objects(&mut found);
        found.truncate(MAX_TRIALS);
        found.iter().map(write).collect()
    }

    /// Returns the object parameters with the shape of their members, if the schema has one.
    fn objects(&self) -> impl Iterator<Item = (&'a str, Option<&'a ShapeNode>)> {
        let shape = &self.job.tool.compiled().shape;
        self.node.members.iter().filter_map(move |(name, member)| {
            let node = member.node.and_then(|id| shape.node(id)).filter(|node| !node.members.is_empty());
            (node.is_some() || self.is_free_object(name)).then_some((name.as_str(), node))
        })
    }

    /// Whether the parameter is an object whose members the schema does not name.
    fn is_free_object(&self, name: &str) -> bool {
        let path = Pointer::root().child(name);
        let types = self.job.tool.keyword_at(&path, "type");
        types.is_some_and(|types| types == "object") && self.job.tool.keyword_at(&path, "properties").is_none()
    }

    fn is_required(&self, name: &str) -> bool {
        self.node.required.iter().any(|required| required == name)
    }

    /// Moves all unknown members into one object parameter, given or not.
    fn move_into_objects(&self, found: &mut Vec<Fields>) {
        for (name, node) in self.objects() {
            let object = match self.given.get(name) {
                None => Vec::new(),
                Some(Value::Object(_)) => self.members_of(name).unwrap_or_default(),
                Some(_) => continue,
            };
            let fits = match node {
                Some(node) => {
                    self.unknown.iter().all(|member| has(node, member)) || self.completes_open_object(name, node)
                }
                // Any member fits an object that names none: only a missing one can be meant. One unknown object may
                // also be that object itself, under another name.
                None => self.is_required(name) && !self.given.contains_key(name) && self.wrapping().is_none(),
            };
            if !fits || object.iter().any(|(member, _)| self.unknown.contains(member)) {
                continue;
            }
            let moved = self.fields.iter().filter(|(member, _)| self.unknown.contains(member)).cloned();
            let object: Fields = object.into_iter().chain(moved).collect();
            let rest = self.fields.iter().filter(|(member, _)| !self.unknown.contains(member)).cloned();
            found.push(with(rest.collect(), name, &object));
        }
    }

    /// Whether the unknown members have everything that a missing object requires, and it allows further ones.
    fn completes_open_object(&self, name: &str, node: &ShapeNode) -> bool {
        let is_missing = self.is_required(name) && !self.given.contains_key(name);
        let is_complete = !node.required.is_empty() && node.required.iter().all(|member| self.unknown.contains(member));
        is_missing && is_complete && node.openness == Openness::Open
    }

    /// Moves members whose names are paths, `body[subject]` or `body.subject`, to these paths.
    fn by_path(&self) -> Option<Fields> {
        let mut fields: Fields = self.fields.iter().filter(|(name, _)| !self.unknown.contains(name)).cloned().collect();
        for (name, value) in self.fields.iter().filter(|(name, _)| self.unknown.contains(name)) {
            let (outer, inner) = match name.strip_suffix(']') {
                Some(name) => name.split_once('[')?,
                None => name.split_once(['.', '/'])?,
            };
            let (outer, node) = self.objects().find(|(object, _)| *object == outer)?;
            node.filter(|node| has(node, inner))?;
            let mut object = match fields.iter().find(|(name, _)| name == outer) {
                Some((_, object)) => members(object.get())?,
                None => Vec::new(),
            };
            object.iter().all(|(name, _)| name != inner).then_some(())?;
            object.push((inner.to_owned(), value.clone()));
            fields = with(fields, outer, &object);
        }
        Some(fields)
    }

    /// Returns the one member that may contain arguments, with its members: the unknown one, or the only one.
    fn wrapping(&self) -> Option<(String, Fields)> {
        let is_incomplete = self.node.required.iter().any(|name| !self.given.contains_key(name));
        match (self.unknown.as_slice(), self.fields.as_slice()) {
            ([only], _) => Some((only.clone(), self.members_of(only)?)),
            // A parameter that the tool has contains the arguments only if they have that parameter as well.
            ([], [(only, _)]) if is_incomplete => {
                let inner = self.members_of(only)?;
                inner.iter().any(|(member, _)| member == only).then(|| (only.clone(), inner))
            }
            _ => None,
        }
    }

    /// Moves the members of `name` to the tool's own level.
    fn unwrapped(&self, name: &str, inner: &Fields) -> Option<Fields> {
        let rest: Fields = self.fields.iter().filter(|(member, _)| member != name).cloned().collect();
        let fits =
            inner.iter().all(|(member, _)| has(self.node, member) && rest.iter().all(|(other, _)| other != member));
        // Without members, only a usual name distinguishes the object from a value that is lost.
        let is_evident = !inner.is_empty() || wrapper::is_usual(name);
        (fits && is_evident).then(|| rest.into_iter().chain(inner.iter().cloned()).collect())
    }

    /// Gives the object of `name` the name of an object parameter that is missing.
    fn renamed(&self, name: &str, inner: &Fields, found: &mut Vec<Fields>) {
        if has(self.node, name) {
            return;
        }
        for (object, node) in self.objects().filter(|(object, _)| !self.given.contains_key(*object)) {
            let is_evident = self.is_required(object) || wrapper::is_usual(name);
            let fits = match node {
                Some(node) => !inner.is_empty() && inner.iter().all(|(member, _)| has(node, member)),
                None => self.is_required(object) && wrapper::is_usual(name),
            };
            if is_evident && fits {
                let rest = self.fields.iter().filter(|(member, _)| member != name).cloned().collect();
                found.push(with(rest, object, inner));
            }
        }
    }

    /// Moves members that an object parameter does not have, but the tool itself does, out of the object.
    fn out_of_objects(&self, found: &mut Vec<Fields>) {
        for (name, node) in self.objects() {
            let Some(node) = node.filter(|node| node.openness != Openness::Open) else { continue };
            let Some(object) = self.members_of(name) else { continue };
            let (kept, moved): (Fields, Fields) = object.into_iter().partition(|(member, _)| has(node, member));
            let fits =
                moved.iter().all(|(member, _)| has(self.node, member) && !self.given.contains_key(member.as_str()));
            if fits && !moved.is_empty() {
                let fields = with(self.fields.clone(), name, &kept);
                found.push(fields.into_iter().chain(moved).collect());
            }
        }
    }

    /// Returns the members of an argument that is an object, or the text of one.
    fn members_of(&self, name: &str) -> Option<Fields> {
        let value = self.fields.iter().find(|(member, _)| member == name).map(|(_, value)| value)?;
        members(self.given.get(name)?.as_str().unwrap_or(value.get()))
    }
}

/// Whether the schema names the member, in any writing.
fn has(node: &ShapeNode, name: &str) -> bool {
    node.members.contains_key(name) || node.literal(name).next().is_some()
}

/// Returns the members of the JSON text of an object, if none is repeated.
fn members(text: &str) -> Option<Fields> {
    let object = RawObject::parse(text).ok()?;
    let mut seen = HashSet::new();
    object
        .iter()
        .map(|(name, value)| seen.insert(name.to_owned()).then(|| (name.to_owned(), value.to_owned())))
        .collect()
}

/// Returns the fields with the object `name`, which takes the place of a field of this name.
fn with(fields: Fields, name: &str, object: &Fields) -> Fields {
    let mut root: RawObject = fields.into_iter().collect();
    root.set(name, raw(&object.iter().cloned().collect::<RawObject>()));
    root.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn write(fields: &Fields) -> String {
    fields.iter().cloned().collect::<RawObject>().to_raw().get().to_owned()
}

#[cfg(test)]
mod tests {
    use crate::repair::testing::{repaired, unchanged};
    use callwright_types::RepairKind;

    const NESTED: &str = r#"[{"name":"file_ticket","parameters":{"type":"object","additionalProperties":false,
        "properties":{"project":{"type":"string"},"fields":{"type":"object","additionalProperties":false,
            "properties":{"summary":{"type":"string"},"labels":{"type":"array","items":{"type":"string"}},
                "points":{"type":"integer"}},"required":["summary"]}},
        "required":["project","fields"]}}]"#;
    const FLAT: &str = r#"[{"name":"file_ticket","parameters":{"type":"object",
        "properties":{"project":{"type":"string"},"summary":{"type":"string"},"points":{"type":"integer"}},
        "required":["project","summary"]}}]"#;

    fn regrouped(tools: &str, text: &str) -> String {
        let (text, kinds) = repaired(tools, "file_ticket", text);
        assert_eq!(kinds.first(), Some(&RepairKind::ArgumentsRegrouped), "{text}");
        text
    }

    #[test]
    fn members_beside_their_missing_object_go_into_it() {
        for text in [
            r#"{"project":"P","summary":"s","points":1.0e0}"#,
            r#"{"summary":"s","project":"P","points":1.0e0}"#,
            r#"{"project":"P","fields.summary":"s","fields.points":1.0e0}"#,
            r#"{"project":"P","fields[summary]":"s","fields[points]":1.0e0}"#,
            r#"{"project":"P","requestBody":{"summary":"s","points":1.0e0}}"#,
            r#"{"project":"P","kwargs":"{\"summary\":\"s\",\"points\":1.0e0}"}"#,
            r#"{"project":"P","ticket":{"summary":"s","points":1.0e0}}"#,
            r#"{"fields":{"project":"P","summary":"s","points":1.0e0}}"#,
        ] {
            let read: serde_json::Value = serde_json::from_str(&regrouped(NESTED, text)).unwrap();
            let expected = serde_json::json!({"project": "P", "fields": {"summary": "s", "points": 1}});
            assert_eq!(read, expected, "{text}");
        }
        assert_eq!(
            regrouped(NESTED, r#"{"project":"P","fields":{"summary":"s"},"labels":["a"]}"#),
            r#"{"project":"P","fields":{"summary":"s","labels":["a"]}}"#
        );
    }

    #[test]
    fn an_open_object_gets_named_and_unnamed_members() {
        let tools = r#"[{"name":"file_ticket","parameters":{"type":"object","properties":{"project":{"type":"string"},
            "fields":{"type":"object","properties":{"summary":{"type":"string"},"owner":{"type":"string"}},
                "required":["summary"],"additionalProperties":true}},"required":["fields"]}}]"#;
        let text = regrouped(tools, r#"{"project":"P","summary":"s","severity":2}"#);
        assert_eq!(text, r#"{"project":"P","fields":{"summary":"s","severity":2}}"#);
        let optional = tools.replace(r#""required":["fields"]"#, r#""required":[]"#);
        let closed = tools.replace(r#""additionalProperties":true"#, r#""additionalProperties":false"#);
        assert!(unchanged(tools, "file_ticket", r#"{"project":"P","owner":"o","severity":2}"#));
        assert!(unchanged(&optional, "file_ticket", r#"{"project":"P","summary":"s","severity":2}"#));
        assert!(unchanged(&closed, "file_ticket", r#"{"project":"P","summary":"s","severity":2}"#));
    }

    #[test]
    fn names_and_values_of_moved_members_are_repaired_as_well() {
        let text = regrouped(NESTED, r#"{"Project":"P","Summary":"s","points":"3","labels":"a"}"#);
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        let fields = serde_json::json!({"summary": "s", "points": 3, "labels": ["a"]});
        assert_eq!(read, serde_json::json!({"project": "P", "fields": fields}));
    }

    #[test]
    fn an_object_that_the_tool_does_not_have_is_taken_off() {
        for text in [
            r#"{"project":"P","body":{"summary":"s"}}"#,
            r#"{"project":"P","request_body":{"summary":"s"}}"#,
            r#"{"ticket":{"project":"P","summary":"s"}}"#,
            r#"{"project":"P","ticket":"{\"summary\":\"s\"}"}"#,
        ] {
            assert_eq!(regrouped(FLAT, text), r#"{"project":"P","summary":"s"}"#, "{text}");
        }
        let same = r#"[{"name":"file_ticket","parameters":{"type":"object","properties":{"tool":{"type":"string"},
            "arguments":{"type":"object"}},"required":["tool"]}}]"#;
        let recursive = r##"[{"name":"file_ticket","parameters":{"type":"object","properties":{
            "child":{"$ref":"#"},"points":{"type":"integer"}}}}]"##;
        let (text, _) = repaired(recursive, "file_ticket", r#"{"child":{"points":"1"}}"#);
        assert_eq!(text, r#"{"child":{"points":1}}"#, "repaired in place");
        assert_eq!(
            regrouped(same, r#"{"arguments":{"tool":"t","arguments":{"x":1}}}"#),
            r#"{"tool":"t","arguments":{"x":1}}"#
        );
    }

    #[test]
    fn members_of_a_missing_object_that_names_none_go_into_it() {
        let tools = r#"[{"name":"file_ticket","parameters":{"type":"object","additionalProperties":false,
            "properties":{"project":{"type":"string"},"body":{"type":"object"}},"required":["project","body"]}}]"#;
        assert_eq!(
            regrouped(tools, r#"{"project":"P","a":1.10,"b":null}"#),
            r#"{"project":"P","body":{"a":1.10,"b":null}}"#
        );
    }

    #[test]
    fn what_fits_in_two_ways_or_in_none_stays() {
        let free = r#"[{"name":"file_ticket","parameters":{"type":"object","properties":{
            "gradeDict":{"type":"object"}},"required":["gradeDict"]}}]"#;
        assert!(unchanged(free, "file_ticket", r#"{"grades":{"math":1}}"#));
        let two = r#"[{"name":"file_ticket","parameters":{"type":"object","additionalProperties":false,"properties":{
            "from":{"type":"object","properties":{"street":{"type":"string"}}},
            "to":{"type":"object","properties":{"street":{"type":"string"}}}}}}]"#;
        for text in [r#"{"street":"s"}"#, r#"{"data":{"street":"s"}}"#] {
            assert!(unchanged(two, "file_ticket", text), "{text}");
        }
        for text in [
            r#"{"project":"P","summary":"s","other":1}"#,
            r#"{"project":"P","summary":7,"points":"many"}"#,
            r#"{"project":"P","points":1}"#,
            r#"{"project":"P","fields":{"summary":"s"},"summary":"t"}"#,
        ] {
            assert!(unchanged(NESTED, "file_ticket", text), "{text}");
        }
        for text in [
            r#"{"project":"P","body":{"summary":"s","project":"Q"}}"#,
            r#"{"project":"P","summary":"s","extra":{}}"#,
            r#"{"project":"P","body":{"summary":"s"},"more":{"points":1}}"#,
        ] {
            assert!(unchanged(FLAT, "file_ticket", text), "{text}");
        }
    }
}
