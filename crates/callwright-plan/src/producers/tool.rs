//! Comparable features of a tool, computed when tools are loaded.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ahash::RandomState;
use serde_json::Value;

use super::profile::{Profile, ProfileSource, subjects, things};
use super::vocabulary::{ToolTermCounts, WeightedTerms, sum};
use super::words::{content_words, name_words, terms, writes};
use callwright_common::json::Pointer;
use callwright_common::schema::{LocalSchema, Views};
use callwright_common::text::beginning;
use callwright_search::retrieval::{Term, ToolText};
use callwright_types::output::fields_of;
use callwright_types::{OutputField, OutputLink};

/// Weight of a word in a tool's name, relative to 1 for a word in its description.
const NAME_WEIGHT: f32 = 2.0;

/// Maximum number of characters of a description that are indexed; later text rarely describes the purpose.
const MAX_DESCRIPTION_CHARS: usize = 2000;

/// Safe methods (RFC 9110, section 9.2.1, and `QUERY`).
const SAFE_METHODS: [&str; 5] = ["GET", "HEAD", "OPTIONS", "TRACE", "QUERY"];

#[derive(Debug, Clone)]
pub(super) struct ToolFeatures {
    pub(super) name: Box<str>,
    /// Weighted words of its name.
    pub(super) subject: WeightedTerms,
    /// Weighted words of its name and description.
    pub(super) text: WeightedTerms,
    /// Sum of the weights of `text`.
    pub(super) text_sum: f32,
    /// Things that it is about: the words of its name without verbs.
    pub(super) things: Box<[Term]>,
    pub(super) inputs: Vec<InputFeatures>,
    pub(super) answer: Arc<AnswerFeatures>,
    /// Names of its required arguments.
    pub(super) needed: Box<[Term]>,
    /// Whether the tool changes state.
    pub(super) writes: bool,
    /// Whether no required argument is an identifier, so that nothing has to be looked up first.
    pub(super) ready: bool,
    /// Path template without parameter names and trailing `/`.
    pub(super) path: Option<Box<str>>,
}

#[derive(Debug, Clone)]
pub(super) struct InputFeatures {
    pub(super) name: Box<str>,
    /// Position among the segment's profiles.
    pub(super) profile: u32,
    /// Things that it is the key of; empty if it is no key.
    pub(super) things: Box<[Term]>,
    /// Path of the collection that contains the argument's resource.
    pub(super) collection: Option<Box<str>>,
    /// Position among the segment's lists of likely producers.
    pub(super) likely: u32,
}

/// Map by position, with a fast hasher: no client chooses the positions.
pub(super) type PositionMap<V> = HashMap<u32, V, RandomState>;

/// Returns an empty map.
pub(super) fn position_map<V>() -> PositionMap<V> {
    HashMap::with_hasher(RandomState::with_seeds(1, 2, 3, 4))
}

/// Distinct profiles of a segment.
#[derive(Debug, Default)]
pub(super) struct Profiles {
    positions: HashMap<ProfileSource, u32>,
    all: Vec<Profile>,
    /// Answers by address and number of their output fields. Tools with equal fields refer to one allocation, which
    /// outlives the building of the segment.
    answers: HashMap<(usize, usize), Arc<AnswerFeatures>>,
}

impl Profiles {
    fn position(&mut self, field: &OutputField, vocabulary: &ToolTermCounts) -> u32 {
        let source = ProfileSource::new(field);
        if let Some(at) = self.positions.get(&source) {
            return *at;
        }
        let at = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.all.push(Profile::new(&source, vocabulary));
        self.positions.insert(source, at);
        at
    }

    pub(super) fn get(&self, at: u32) -> Option<&Profile> {
        self.all.get(at as usize)
    }

    fn answer(&mut self, fields: &[OutputField], vocabulary: &ToolTermCounts) -> Arc<AnswerFeatures> {
        let key = (fields.as_ptr().addr(), fields.len());
        if let Some(answer) = self.answers.get(&key) {
            return Arc::clone(answer);
        }
        let outputs = fields.iter().map(|field| output_features(field, self.position(field, vocabulary))).collect();
        let answer = Arc::new(AnswerFeatures::new(outputs, &self.all));
        self.answers.insert(key, Arc::clone(&answer));
        answer
    }

    pub(super) fn into_all(self) -> Vec<Profile> {
        self.all
    }
}

/// Returns the distinct terms of a tool's name and description.
pub(super) fn text_terms(tool: &ToolShape<'_>) -> Vec<Term> {
    let mut words = content_words(tool.name);
    words.extend(content_words(beginning(tool.description, MAX_DESCRIPTION_CHARS)));
    terms(&words)
}

impl ToolFeatures {
    /// Computes the features of a tool with these terms in its name and description.
    pub(super) fn new(
        tool: &ToolShape<'_>,
        terms_of_text: &[Term],
        vocabulary: &ToolTermCounts,
        profiles: &mut Profiles,
    ) -> Self {
        let named = content_words(tool.name);
        let subject = vocabulary.weigh(&terms(&named));
        let text: WeightedTerms = terms_of_text
            .iter()
            .map(|term| {
                let is_named = subject.binary_search_by_key(term, |(term, _)| *term).is_ok();
                (*term, vocabulary.rarity(*term) * if is_named { NAME_WEIGHT } else { 1.0 })
            })
            .collect();
        let things = subjects(&named);
        let parameters = Views::new(LocalSchema::root(tool.parameters));
        let required: Vec<&str> = parameters.required().collect();
        let (mut inputs, mut needed, mut ready) = (Vec::new(), Vec::new(), true);
        for argument in arguments(&parameters) {
            let at = profiles.position(&argument, vocabulary);
            let Some(profile) = profiles.get(at) else { continue };
            let name = argument.name().into_owned();
            if required.contains(&name.as_str()) {
                needed.push(profile.whole);
                ready &= !profile.identifies;
            }
            let segment = tool.http.and_then(|http| before_parameter(http.path, &name));
            inputs.push(InputFeatures {
                things: key_of(profile, segment, &things),
                collection: segment.map(|(path, _)| skeleton(path).into()),
                name: name.into(),
                profile: at,
                likely: 0,
            });
        }
        needed.sort_unstable();
        Self {
            name: tool.name.into(),
            text_sum: sum(&text),
            text,
            answer: profiles.answer(tool.outputs, vocabulary),
            writes: tool.http.map_or_else(|| writes(&named), |http| !SAFE_METHODS.contains(&http.method)),
            path: tool.http.map(|http| skeleton(http.path).into()),
            needed: needed.into(),
            subject,
            things,
            inputs,
            ready,
        }
    }

    /// Returns the values of its answers; empty if they are not documented.
    pub(super) fn outputs(&self) -> &[OutputFeatures] {
        &self.answer.outputs
    }

    pub(super) fn input(&self, name: &str) -> Option<&InputFeatures> {
        self.inputs.iter().find(|input| *input.name == *name)
    }
}

fn output_features(field: &OutputField, profile: u32) -> OutputFeatures {
    OutputFeatures {
        pointer: field.pointer.as_str().into(),
        profile,
        depth: depth(&field.pointer),
        in_list: field.is_in_list(),
    }
}

/// Returns the number of members above a value; list items do not count.
fn depth(pointer: &str) -> u8 {
    let members = pointer.split('/').skip(1).filter(|token| *token != "0");
    u8::try_from(members.count().saturating_sub(1)).unwrap_or(u8::MAX)
}

/// Returns the things that an argument is the key of: from its name, else from the path before it, else from its tool's
/// name. Empty if it is no key.
fn key_of(profile: &Profile, segment: Option<(&str, &str)>, of_tool: &[Term]) -> Box<[Term]> {
    match (profile.identifies, profile.things.is_empty(), segment) {
        (false, _, None) => Box::default(),
        (true, false, _) => profile.things.clone(),
        (_, _, Some((_, last))) => things(&name_words(last)),
        (true, true, None) => of_tool.into(),
    }
}

/// Returns the path before a parameter and its last segment: `/users` and `users` for `id` of `/users/{id}/friends`.
fn before_parameter<'a>(path: &'a str, parameter: &str) -> Option<(&'a str, &'a str)> {
    let (before, _) = path.split_once(&format!("/{{{parameter}}}"))?;
    let before = trimmed(before);
    let last = before.rsplit('/').find(|segment| !segment.is_empty() && !segment.contains('{'))?;
    Some((before, last))
}

/// Returns a path without parameter names, which differ between operations on the same resource.
fn skeleton(path: &str) -> String {
    let segments = trimmed(path).split('/');
    let segments =
        segments.map(|segment| if segment.starts_with('{') && segment.ends_with('}') { "{}" } else { segment });
    segments.collect::<Vec<_>>().join("/")
}

fn trimmed(path: &str) -> &str {
    path.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/')
}

/// Returns the arguments of a tool in the form of output fields.
fn arguments(parameters: &Views<'_, LocalSchema<'_>>) -> Vec<OutputField> {
    let mut seen = HashSet::new();
    let properties = parameters.properties().filter(|(name, _)| seen.insert(*name));
    let arguments = properties.map(|(name, node)| {
        // Converts the top level of the argument's schema.
        let pointer = Pointer::root().child(name).into();
        OutputField { pointer, ..OutputField::of_schema(node) }
    });
    arguments.collect()
}

/// Returns the output fields of a bundled JSON Schema.
pub fn output_fields(schema: &Value) -> Vec<OutputField> {
    fields_of(LocalSchema::root(schema))
}

/// Returns the output fields of a tool's answer in a file: a JSON Schema, or a map from members to schemas.
pub fn documented_fields(output: &Value) -> Vec<OutputField> {
    if is_schema(output) {
        return output_fields(output);
    }
    let root = serde_json::json!({ "type": "object", "properties": output });
    if output.is_object() { output_fields(&root) } else { Vec::new() }
}

/// Whether the value is a JSON Schema. Members of an answer map to objects; `type` and `$ref` of a schema are strings.
fn is_schema(output: &Value) -> bool {
    let properties = output.get("properties").and_then(Value::as_object);
    properties.is_some_and(|members| members.values().all(|member| member.is_object() || member.is_boolean()))
        || ["type", "$ref", "allOf", "anyOf", "oneOf"]
            .iter()
            .any(|keyword| output.get(*keyword).is_some_and(|value| value.is_string() || value.is_array()))
}

/// Tool as input of the producer index: a catalog operation, a client's tool or a line of a file.
#[derive(Debug, Clone)]
pub struct ToolShape<'a> {
    /// Name, unique within its segment.
    pub name: &'a str,
    /// Description; may be empty.
    pub description: &'a str,
    /// JSON Schema of its arguments; `null` if unknown.
    pub parameters: &'a Value,
    /// Output fields of its answers; empty if unknown.
    pub outputs: &'a [OutputField],
    /// HTTP request of a catalog operation.
    pub http: Option<Http<'a>>,
    /// OpenAPI links from its answers to arguments.
    pub links: &'a [OutputLink],
}

impl ToolShape<'_> {
    /// Returns the text to embed for [`Segment::with_vectors`](super::Segment::with_vectors): name and description.
    pub fn embedded(&self) -> String {
        let (name, description) = (self.name.to_owned(), self.description.to_owned());
        ToolText { name, description, ..ToolText::default() }.embedded()
    }
}

/// Method and path template of an operation.
#[derive(Debug, Clone, Copy)]
pub struct Http<'a> {
    /// Method, in upper case.
    pub method: &'a str,
    /// Path template: `/users/{id}`.
    pub path: &'a str,
}

/// Features of the documented answer of a tool. Tools with the same output fields share them: in large documents,
/// thousands of operations answer with the same schema.
#[derive(Debug, Default)]
pub(super) struct AnswerFeatures {
    /// Values of the answer; empty if it is not documented.
    pub(super) outputs: Box<[OutputFeatures]>,
    /// Distinct names of the values.
    pub(super) names: Box<[Term]>,
    /// Distinct words of these names.
    pub(super) words: Box<[Term]>,
    /// Distinct keys.
    pub(super) keys: Box<[Term]>,
    /// Things that identifying values denote.
    pub(super) things: Box<[Term]>,
    /// Whether any value is an identifier.
    pub(super) identifies: bool,
}

/// Value of a tool's answer.
#[derive(Debug, Clone)]
pub(super) struct OutputFeatures {
    pub(super) pointer: Box<str>,
    /// Position among the segment's profiles.
    pub(super) profile: u32,
    pub(super) depth: u8,
    pub(super) in_list: bool,
}

impl AnswerFeatures {
    /// Collects the features of an answer with these values.
    pub(super) fn new(outputs: Box<[OutputFeatures]>, profiles: &[Profile]) -> Self {
        let of_outputs: Vec<&Profile> =
            outputs.iter().filter_map(|output| profiles.get(output.profile as usize)).collect();
        let identifying = || of_outputs.iter().filter(|profile| profile.identifies);
        Self {
            names: distinct(of_outputs.iter().map(|profile| profile.whole)),
            words: distinct(of_outputs.iter().flat_map(|profile| profile.words.iter().map(|(term, _)| *term))),
            keys: distinct(of_outputs.iter().filter_map(|profile| profile.key)),
            things: distinct(identifying().flat_map(|profile| profile.things.iter().chain(&profile.holders).copied())),
            identifies: identifying().next().is_some(),
            outputs,
        }
    }
}

fn distinct(terms: impl Iterator<Item = Term>) -> Box<[Term]> {
    let mut terms: Vec<Term> = terms.collect::<HashSet<Term>>().into_iter().collect();
    terms.sort_unstable();
    terms.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_path_before_a_parameter_is_its_collection() {
        assert_eq!(before_parameter("/users/{id}/friends", "id"), Some(("/users", "users")));
        assert_eq!(before_parameter("/a/{b}/c/{d}", "d"), Some(("/a/{b}/c", "c")));
        assert_eq!(before_parameter("/a/{b}/{d}", "d"), Some(("/a/{b}", "a")));
        assert_eq!(before_parameter("/{id}", "id"), None);
        assert_eq!(before_parameter("/users", "id"), None);
    }

    #[test]
    fn documented_outputs_are_a_schema_or_a_map_of_members() {
        let pointers =
            |output: Value| documented_fields(&output).into_iter().map(|field| field.pointer).collect::<Vec<_>>();
        assert_eq!(pointers(json!({"type": "object", "properties": {"id": {}}})), ["/id"]);
        assert_eq!(pointers(json!({"id": {"type": "string"}, "type": {"type": "string"}})), ["/id", "/type"]);
        assert_eq!(pointers(json!({"type": "string"})), [""]);
        for nothing in [json!(null), json!([]), json!("text"), json!(7)] {
            assert!(pointers(nothing).is_empty());
        }
    }
}
