//! A tool as it is compared with others: read once, when tools are loaded.

use std::collections::HashMap;

use serde_json::Value;

use super::profile::{Described, Profile, things};
use super::shape::ToolShape;
use super::vocabulary::{Vocabulary, Weighted, sum};
use super::words::{name_words, said_words, terms, writes};
use callwright_search::retrieval::Term;
use callwright_types::OutputField;
use callwright_types::output::{SchemaNode, SchemaValue, fields_of};

/// How much a word of a tool's name says of it, against 1 for one of its description.
const NAME_WEIGHT: f32 = 2.0;

/// Characters of a description that are read: behind them it hardly says what the tool is for.
const MAX_DESCRIPTION_CHARS: usize = 2000;

/// Methods that only tell something (RFC 9110, section 9.2.1, and `QUERY`).
const SAFE_METHODS: [&str; 5] = ["GET", "HEAD", "OPTIONS", "TRACE", "QUERY"];

/// What is known of a tool.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) name: Box<str>,
    /// The words of its name.
    pub(super) subject: Weighted,
    /// The words of its name and description, with what they say of it.
    pub(super) text: Weighted,
    /// What all of them say.
    pub(super) text_sum: f32,
    /// What it is about: the words of its name that are no verbs.
    pub(super) things: Box<[Term]>,
    pub(super) inputs: Vec<Input>,
    pub(super) outputs: Vec<Output>,
    /// The names of arguments that it cannot do without.
    pub(super) needed: Box<[Term]>,
    /// Does it change something?
    pub(super) writes: bool,
    /// Does it need nothing that stands for a thing, and so nothing to be looked up before?
    pub(super) ready: bool,
    /// The path that it reads, without a `/` at its end.
    pub(super) path: Option<Box<str>>,
}

/// An argument of a tool.
#[derive(Debug, Clone)]
pub(super) struct Input {
    pub(super) name: Box<str>,
    /// Its position among the segment's profiles.
    pub(super) profile: u32,
    /// What it is the key of, where it is one.
    pub(super) things: Box<[Term]>,
    /// The path that answers what this argument picks one of.
    pub(super) collection: Option<Box<str>>,
    /// Which of the segment's lists of likely tools is its own.
    pub(super) likely: u32,
}

/// A value of a tool's answer.
#[derive(Debug, Clone)]
pub(super) struct Output {
    pub(super) pointer: Box<str>,
    pub(super) profile: u32,
    pub(super) depth: u8,
    pub(super) in_list: bool,
}

/// The profiles of a segment, each once.
#[derive(Debug, Default)]
pub(super) struct Profiles {
    known: HashMap<Described, u32>,
    all: Vec<Profile>,
}

impl Profiles {
    fn of(&mut self, field: &OutputField, vocabulary: &Vocabulary) -> u32 {
        let described = Described::of(field);
        if let Some(at) = self.known.get(&described) {
            return *at;
        }
        let at = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.all.push(Profile::of(&described, vocabulary));
        self.known.insert(described, at);
        at
    }

    pub(super) fn get(&self, at: u32) -> Option<&Profile> {
        self.all.get(at as usize)
    }

    pub(super) fn into_all(self) -> Vec<Profile> {
        self.all
    }
}

/// The distinct words of a tool's name and description.
pub(super) fn text_terms(tool: &ToolShape<'_>) -> Vec<Term> {
    let mut words = said_words(tool.name);
    let end = tool.description.char_indices().nth(MAX_DESCRIPTION_CHARS).map_or(tool.description.len(), |(end, _)| end);
    words.extend(said_words(tool.description.get(..end).unwrap_or_default()));
    terms(&words)
}

impl Known {
    pub(super) fn read(tool: &ToolShape<'_>, vocabulary: &Vocabulary, profiles: &mut Profiles) -> Self {
        let named = said_words(tool.name);
        let subject = vocabulary.weigh(&terms(&named));
        let text: Weighted = text_terms(tool)
            .into_iter()
            .map(|term| {
                let is_named = subject.binary_search_by_key(&term, |(term, _)| *term).is_ok();
                (term, vocabulary.rarity(term) * if is_named { NAME_WEIGHT } else { 1.0 })
            })
            .collect();
        let things = things(&named);
        let required = required(tool.parameters);
        let (mut inputs, mut needed, mut ready) = (Vec::new(), Vec::new(), true);
        for argument in arguments(tool.parameters) {
            let at = profiles.of(&argument, vocabulary);
            let Some(profile) = profiles.get(at) else { continue };
            let name = argument.name().into_owned();
            if required.contains(&name.as_str()) {
                needed.push(profile.whole);
                ready &= !profile.identifies;
            }
            let segment = tool.http.and_then(|http| before_parameter(http.path, &name));
            inputs.push(Input {
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
            outputs: tool.outputs.iter().map(|field| Output::of(field, vocabulary, profiles)).collect(),
            writes: tool.http.map_or_else(|| writes(&named), |http| !SAFE_METHODS.contains(&http.method)),
            path: tool.http.map(|http| skeleton(http.path).into()),
            needed: needed.into(),
            subject,
            things,
            inputs,
            ready,
        }
    }

    pub(super) fn input(&self, name: &str) -> Option<&Input> {
        self.inputs.iter().find(|input| *input.name == *name)
    }
}

impl Output {
    fn of(field: &OutputField, vocabulary: &Vocabulary, profiles: &mut Profiles) -> Self {
        Self {
            pointer: field.pointer.as_str().into(),
            profile: profiles.of(field, vocabulary),
            depth: depth(&field.pointer),
            in_list: field.is_in_list(),
        }
    }
}

/// Levels of members above a value; items are no level of their own.
fn depth(pointer: &str) -> u8 {
    let members = pointer.split('/').skip(1).filter(|token| *token != "0");
    u8::try_from(members.count().saturating_sub(1)).unwrap_or(u8::MAX)
}

/// What an argument is the key of: what its name says, else the path before it, else what its tool is about. Nothing for what is no key.
fn key_of(profile: &Profile, segment: Option<(&str, &str)>, of_tool: &[Term]) -> Box<[Term]> {
    match (profile.identifies, profile.things.is_empty(), segment) {
        (false, _, None) => Box::default(),
        (true, false, _) => profile.things.clone(),
        (_, _, Some((_, last))) => things(&name_words(last)),
        (true, true, None) => of_tool.into(),
    }
}

/// The path before the place of a parameter, and the last segment of that: `/users` and `users` for `id` of `/users/{id}/friends`.
fn before_parameter<'a>(path: &'a str, parameter: &str) -> Option<(&'a str, &'a str)> {
    let (before, _) = path.split_once(&format!("/{{{parameter}}}"))?;
    let before = trimmed(before);
    let last = before.rsplit('/').find(|segment| !segment.is_empty() && !segment.contains('{'))?;
    Some((before, last))
}

/// A path without the names of its parameters, which differ between the operations below it.
fn skeleton(path: &str) -> String {
    let named =
        |segment: &str| if segment.starts_with('{') && segment.ends_with('}') { "{}" } else { segment }.to_owned();
    trimmed(path).split('/').map(named).collect::<Vec<_>>().join("/")
}

fn trimmed(path: &str) -> &str {
    path.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/')
}

/// The arguments of a tool, each told as what it takes.
fn arguments(parameters: &Value) -> Vec<OutputField> {
    let root = SchemaValue::root(parameters);
    let properties = parameters.get("properties").and_then(Value::as_object);
    let argument = |(name, schema): (&String, &Value)| {
        // The schema of one argument is walked like an answer of which nothing but the top is wanted.
        let name = name.replace('~', "~0").replace('/', "~1");
        let mut field = OutputField::of_schema(root.inside(schema));
        field.pointer = format!("/{name}");
        field
    };
    properties.into_iter().flatten().map(argument).collect()
}

fn required(parameters: &Value) -> Vec<&str> {
    let required = parameters.get("required").and_then(Value::as_array);
    required.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The values of answers that a schema promises, where that is bundled in one text.
pub fn output_fields(schema: &Value) -> Vec<OutputField> {
    fields_of(SchemaValue::root(schema))
}

/// What a file says of a tool's answer: a JSON Schema, or members with a schema each.
pub fn told_fields(output: &Value) -> Vec<OutputField> {
    if is_schema(output) {
        return output_fields(output);
    }
    let root = serde_json::json!({ "type": "object", "properties": output });
    if output.is_object() { output_fields(&root) } else { Vec::new() }
}

/// Members of an answer have schemas, which are objects; `type` and `$ref` of a schema are texts.
fn is_schema(output: &Value) -> bool {
    let is_text = |keyword: &str| output.get(keyword).is_some_and(|value| value.is_string() || value.is_array());
    let properties = output.get("properties").and_then(Value::as_object);
    let holds_schemas =
        properties.is_some_and(|members| members.values().all(|member| member.is_object() || member.is_boolean()));
    is_text("type")
        || is_text("$ref")
        || ["allOf", "anyOf", "oneOf"].iter().any(|keyword| is_text(keyword))
        || holds_schemas
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_path_before_a_parameter_is_what_lists_it() {
        assert_eq!(before_parameter("/users/{id}/friends", "id"), Some(("/users", "users")));
        assert_eq!(before_parameter("/a/{b}/c/{d}", "d"), Some(("/a/{b}/c", "c")));
        assert_eq!(before_parameter("/a/{b}/{d}", "d"), Some(("/a/{b}", "a")));
        assert_eq!(before_parameter("/{id}", "id"), None);
        assert_eq!(before_parameter("/users", "id"), None);
    }

    #[test]
    fn what_a_file_says_of_an_answer_is_a_schema_or_its_members() {
        let pointers = |output: Value| told_fields(&output).into_iter().map(|field| field.pointer).collect::<Vec<_>>();
        assert_eq!(pointers(json!({"type": "object", "properties": {"id": {}}})), ["/id"]);
        assert_eq!(pointers(json!({"id": {"type": "string"}, "type": {"type": "string"}})), ["/id", "/type"]);
        assert_eq!(pointers(json!({"type": "string"})), [""]);
        for nothing in [json!(null), json!([]), json!("text"), json!(7)] {
            assert!(pointers(nothing).is_empty());
        }
    }
}
