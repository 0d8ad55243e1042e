//! Normalisation of provider-specific schemas into schemas that a strict validator accepts.
//!
//! Clients send tool schemas that a strict validator rejects: `"type": "dict"`, `"nullable": true`, a tuple of item
//! schemas, draft-4 bounds. Providers accept them, so the proxy interprets them as intended. Invalid parts (a bound
//! that is not a number, an invalid pattern, a dangling reference) are removed and noted; the rest still applies.

use std::collections::HashSet;

use jsonschema::{Draft, PatternOptions, ValidationOptions};
use percent_encoding::utf8_percent_encode;
use serde_json::{Map, Number, Value};

use super::anchors::{Anchors, FRAGMENT};
use super::value_type;
use callwright_common::json::Pointer;
use callwright_common::limits::COMPILED_PATTERN_BYTES;
use callwright_common::schema;

/// Maximum nesting depth of schemas; deeper schemas accept any value. Also the maximum length of a chain of subschemas for
/// one value; a schema with a longer one is not used. Real schemas stay below 20. The limit prevents a stack overflow.
pub(super) const MAX_DEPTH: usize = 64;

/// Maximum number of compiled regular expressions per schema. Each takes up to [`COMPILED_PATTERN_BYTES`] of memory.
const MAX_PATTERNS: usize = 128;

/// Maximum number of notes, and of locations that are not validated; with more, the whole schema counts as one of them.
const MAX_NOTES: usize = 64;

/// Maximum number of regular expressions per schema that need the backtracking engine.
const MAX_BACKTRACKING_PATTERNS: usize = 16;

/// Maximum number of steps back in one search. A search that needs more judges nothing.
const MAX_BACKTRACKS: usize = 5_000;

/// Engine for regular expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum PatternEngine {
    /// Takes linear time. It has no look-around and no back-references.
    #[default]
    Linear,
    /// Supports both, and takes [`MAX_BACKTRACKS`] times the length of the text at most. Expressions without them take linear
    /// time here too.
    Backtracking,
}

/// Returns the options for compiling schemas: no network access, format checks, bounded regular expressions.
pub(super) fn build_options(draft: Draft, engine: PatternEngine) -> ValidationOptions<'static> {
    let options = jsonschema::options().with_draft(draft).offline().should_validate_formats(true);
    match engine {
        PatternEngine::Linear => options.with_pattern_options(
            PatternOptions::regex().size_limit(COMPILED_PATTERN_BYTES).dfa_size_limit(COMPILED_PATTERN_BYTES),
        ),
        PatternEngine::Backtracking => options.with_pattern_options(
            PatternOptions::fancy_regex()
                .size_limit(COMPILED_PATTERN_BYTES)
                .dfa_size_limit(COMPILED_PATTERN_BYTES)
                .backtrack_limit(MAX_BACKTRACKS),
        ),
    }
}

/// A schema that is valid for its draft.
#[derive(Debug)]
pub(super) struct NormalisedSchema {
    pub(super) schema: Value,
    /// Draft that `$schema` names, else 2020-12.
    pub(super) draft: Draft,
    /// Engine that its regular expressions need.
    pub(super) engine: PatternEngine,
    /// Removed parts with reasons, one line each.
    pub(super) notes: Vec<String>,
    /// Locations whose values are not validated, because a reference leads to no schema or the nesting is too deep.
    pub(super) gaps: Vec<Pointer>,
}

/// Normalises the schema of a tool's argument object. Omits regular expressions that `most` cannot run.
pub(super) fn normalise(parameters: &Value, most: PatternEngine) -> NormalisedSchema {
    let mut reader = SchemaReader {
        draft: draft_of(parameters),
        most,
        anchors: Anchors::new(parameters),
        ..SchemaReader::default()
    };
    let mut schema = match parameters {
        Value::Object(_) | Value::Bool(_) => reader.schema(parameters, &Pointer::root(), 0),
        Value::Null => Value::Bool(true),
        _ => {
            reader.note(&Pointer::root(), "not a schema object; accepts anything");
            Value::Bool(true)
        }
    };
    reader.follow_references(&mut schema);
    value_type::admit_object(&mut schema);
    NormalisedSchema { schema, draft: reader.draft, engine: reader.engine, notes: reader.notes, gaps: reader.gaps }
}

/// Whether a keyword identifies a schema or switches its dialect. Removed, because tool schemas are self-contained: nothing
/// is fetched, and client input must not redirect a reference.
fn identifies(keyword: &str) -> bool {
    matches!(keyword, "$schema" | "$id" | "id" | "$vocabulary" | "$anchor")
        || ["$dynamic", "$recursive"].iter().any(|dynamic| keyword.starts_with(dynamic))
}

fn draft_of(schema: &Value) -> Draft {
    let uri = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let name = uri.trim_end_matches('#').trim_end_matches("/schema");
    [
        ("draft-04", Draft::Draft4),
        ("draft-06", Draft::Draft6),
        ("draft-07", Draft::Draft7),
        ("2019-09", Draft::Draft201909),
    ]
    .into_iter()
    .find_map(|(suffix, draft)| name.ends_with(suffix).then_some(draft))
    .unwrap_or(Draft::Draft202012)
}

#[derive(Default)]
struct SchemaReader<'a> {
    draft: Draft,
    /// The most powerful engine that may be used, and the one that is needed.
    most: PatternEngine,
    engine: PatternEngine,
    anchors: Anchors<'a>,
    notes: Vec<String>,
    gaps: Vec<Pointer>,
    patterns: usize,
    backtracking_patterns: usize,
    /// Targets of references, with the location of each.
    references: Vec<(String, Pointer)>,
    /// JSON Pointers of all locations that were read as schemas.
    read: HashSet<String>,
}

impl SchemaReader<'_> {
    fn note(&mut self, at: &Pointer, why: &str) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(format!("`{at}`: {why}"));
        }
    }

    fn gap(&mut self, at: &Pointer) {
        if self.gaps.len() < MAX_NOTES {
            self.gaps.push(at.clone());
        } else {
            self.gaps = vec![Pointer::root()];
        }
    }

    fn schema(&mut self, value: &Value, at: &Pointer, depth: usize) -> Value {
        if depth >= MAX_DEPTH {
            self.note(at, "nested too deeply; accepts anything");
            self.gap(at);
            return Value::Bool(true);
        }
        self.read.insert(at.as_str().to_owned());
        let keywords = match value {
            Value::Object(keywords) => keywords,
            Value::Bool(_) => return value.clone(),
            _ => {
                self.note(at, "not a schema; accepts anything");
                return Value::Bool(true);
            }
        };
        let mut kept = Map::with_capacity(keywords.len());
        for (keyword, value) in keywords {
            match self.keyword(keyword, value, &at.child(keyword), depth) {
                Some(value) => drop(kept.insert(keyword.clone(), value)),
                None if !identifies(keyword) => {
                    self.note(&at.child(keyword), "invalid value for this keyword; ignored");
                }
                None => {}
            }
        }
        self.modernise(&mut kept);
        value_type::settle(&mut kept);
        drop_impossible_names(&mut kept);
        Value::Object(kept)
    }

    /// Returns the value of a keyword in the form that it has across JSON Schema drafts 4 to 2020-12; `None` if it has a
    /// different form. An unknown keyword validates nothing.
    fn keyword(&mut self, keyword: &str, value: &Value, at: &Pointer, depth: usize) -> Option<Value> {
        match keyword {
            // Before 2020-12, a list of schemas by position.
            "items" if value.is_array() => self.list(value, at, depth),
            "items" | "additionalItems" | "unevaluatedItems" | "contains" | "if" | "then" | "else" | "not" => {
                Some(self.schema(value, at, depth + 1))
            }
            "additionalProperties" | "unevaluatedProperties" | "propertyNames" | "contentSchema" => {
                Some(self.schema(value, at, depth + 1))
            }
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => self.list(value, at, depth),
            "properties" | "$defs" | "definitions" | "dependentSchemas" => {
                self.map(value, at, |reader, value, at| Some(reader.schema(value, at, depth + 1)))
            }
            "patternProperties" => self.map(value, at, |reader, value, at| {
                let usable = reader.is_pattern(&at.last()?);
                usable.then(|| reader.schema(value, at, depth + 1))
            }),
            "dependencies" => self
                .map(value, at, |reader, value, at| names(value).or_else(|| Some(reader.schema(value, at, depth + 1)))),
            "dependentRequired" => self.map(value, at, |_, value, _| names(value)),
            "required" => names(value),
            "enum" => value.as_array().filter(|values| !values.is_empty()).map(|_| value.clone()),
            "minimum" | "maximum" => number(value).map(Value::Number),
            "multipleOf" => {
                number(value).filter(|number| number.as_f64().is_some_and(|number| number > 0.0)).map(Value::Number)
            }
            // In draft 4, a boolean.
            "exclusiveMinimum" | "exclusiveMaximum" => {
                value.as_bool().map(Value::Bool).or_else(|| number(value).map(Value::Number))
            }
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" | "minContains"
            | "maxContains" => count(value).map(Value::from),
            "pattern" => {
                value.as_str().map(literal_pattern).filter(|pattern| self.is_pattern(pattern)).map(Value::from)
            }
            "$ref" => self.reference(value.as_str()?, at),
            "title" | "description" | "format" | "contentEncoding" | "contentMediaType" | "$comment" => {
                value.as_str().map(Value::from)
            }
            "uniqueItems" | "readOnly" | "writeOnly" | "deprecated" => value.as_bool().map(Value::from),
            "examples" => value.is_array().then(|| value.clone()),
            _ => (!identifies(keyword)).then(|| value.clone()),
        }
    }

    fn list(&mut self, value: &Value, at: &Pointer, depth: usize) -> Option<Value> {
        let items = value.as_array().filter(|items| !items.is_empty())?;
        let read = items.iter().enumerate().map(|(index, item)| self.schema(item, &at.item(index), depth + 1));
        Some(Value::Array(read.collect()))
    }

    fn map(
        &mut self,
        value: &Value,
        at: &Pointer,
        mut read: impl FnMut(&mut Self, &Value, &Pointer) -> Option<Value>,
    ) -> Option<Value> {
        let mut kept = Map::new();
        for (name, value) in value.as_object()? {
            let at = at.child(name);
            match read(self, value, &at) {
                Some(value) => drop(kept.insert(name.clone(), value)),
                None => self.note(&at, "invalid; ignored"),
            }
        }
        Some(Value::Object(kept))
    }

    /// Whether an engine accepts the pattern. The linear-time engine is preferred.
    fn is_pattern(&mut self, pattern: &str) -> bool {
        self.patterns += 1;
        if self.patterns > MAX_PATTERNS {
            return false;
        }
        if self.compiles(pattern, PatternEngine::Linear) {
            return true;
        }
        let is_accepted = self.most == PatternEngine::Backtracking
            && self.backtracking_patterns < MAX_BACKTRACKING_PATTERNS
            && self.compiles(pattern, PatternEngine::Backtracking);
        if is_accepted {
            self.backtracking_patterns += 1;
            self.engine = PatternEngine::Backtracking;
        }
        is_accepted
    }

    fn compiles(&self, pattern: &str, engine: PatternEngine) -> bool {
        build_options(self.draft, engine).build(&serde_json::json!({ "pattern": pattern })).is_ok()
    }

    /// Returns the reference, with the location of an anchor instead of its name, which other modules do not resolve.
    fn reference(&mut self, text: &str, at: &Pointer) -> Option<Value> {
        if let Some(target) = schema::pointer(text) {
            self.references.push((target, at.clone()));
            return Some(Value::from(text));
        }
        let Some(target) = text.strip_prefix('#').and_then(|name| self.anchors.target(name)) else {
            self.gap(at);
            return None;
        };
        let reference = format!("#{}", utf8_percent_encode(&target, FRAGMENT));
        self.references.push((target, at.clone()));
        Some(Value::from(reference))
    }

    /// Normalises targets of references outside all schemas read so far (`#/components/...`), and removes dangling
    /// references.
    fn follow_references(&mut self, schema: &mut Value) {
        let mut dangling = HashSet::new();
        while let Some((target, at)) = self.references.pop() {
            if dangling.contains(&target) {
                self.gap(&at);
            }
            if self.read.contains(&target) {
                continue;
            }
            match schema.pointer(&target).cloned() {
                Some(found) => {
                    let read = self.schema(&found, &Pointer::from(target.as_str()), 0);
                    if let Some(place) = schema.pointer_mut(&target) {
                        *place = read;
                    }
                }
                None => {
                    self.note(
                        &Pointer::from(target.as_str()),
                        "target of a reference does not exist; accepts anything",
                    );
                    self.gap(&at);
                    self.read.insert(target.clone());
                    dangling.insert(target);
                }
            }
        }
        if !dangling.is_empty() {
            remove_references(schema, &dangling);
        }
    }

    /// Converts draft-4 bounds and positional items to the form of a later draft, unless `$schema` names a draft that
    /// has them.
    fn modernise(&self, keywords: &mut Map<String, Value>) {
        let is_draft4 = self.draft == Draft::Draft4;
        for (exclusive, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
            match keywords.get(exclusive) {
                Some(Value::Bool(true)) if !is_draft4 => match keywords.shift_remove(bound) {
                    Some(limit) => drop(keywords.insert(exclusive.to_owned(), limit)),
                    None => drop(keywords.shift_remove(exclusive)),
                },
                Some(Value::Bool(false)) if !is_draft4 => drop(keywords.shift_remove(exclusive)),
                Some(Value::Number(_)) if is_draft4 => drop(keywords.shift_remove(exclusive)),
                _ => {}
            }
        }
        if self.draft == Draft::Draft202012 && keywords.get("items").is_some_and(Value::is_array) {
            if let Some(items) = keywords.shift_remove("items") {
                keywords.entry("prefixItems").or_insert(items);
            }
            if let Some(rest) = keywords.shift_remove("additionalItems") {
                keywords.insert("items".to_owned(), rest);
            }
        }
    }
}

/// Removes every `$ref` to one of `targets`.
fn remove_references(value: &mut Value, targets: &HashSet<String>) {
    match value {
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str);
            if reference.and_then(schema::pointer).is_some_and(|target| targets.contains(&target)) {
                members.shift_remove("$ref");
            }
            members.values_mut().for_each(|member| remove_references(member, targets));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| remove_references(item, targets)),
        _ => {}
    }
}

/// Drops required names that `additionalProperties: false` forbids. Otherwise no call could satisfy the schema.
fn drop_impossible_names(keywords: &mut Map<String, Value>) {
    let closed = keywords.get("additionalProperties") == Some(&Value::Bool(false))
        && !keywords.contains_key("patternProperties");
    let properties = keywords.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    if let Some(Value::Array(names)) = keywords.get_mut("required").filter(|_| closed) {
        names.retain(|name| name.as_str().is_some_and(|name| properties.contains_key(name)));
    }
}

fn names(value: &Value) -> Option<Value> {
    let mut seen = HashSet::new();
    let names: Vec<Value> = match value {
        Value::Array(names) => names.iter().filter(|name| name.is_string()).cloned().collect(),
        Value::String(_) => vec![value.clone()],
        _ => return None,
    };
    Some(names.into_iter().filter(|name| seen.insert(name.to_string())).collect())
}

/// Returns the number, or the number that a string spells.
fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => Some(number.clone()),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

fn count(value: &Value) -> Option<u64> {
    let number = number(value)?;
    number.as_u64().or_else(|| {
        let float = number.as_f64().filter(|float| float.fract() == 0.0 && (0.0..1e15).contains(float))?;
        format!("{float}").parse().ok()
    })
}

/// Flags of a regular expression literal that do not change whether a text matches.
const NEUTRAL_FLAGS: &[u8] = b"dguy";

/// Returns the pattern within a regular expression literal of JavaScript, such as `/^[a-z]+$/`. Taken as it is, a pattern
/// of this form matches no text: a character precedes `^` or follows `$`.
fn literal_pattern(pattern: &str) -> &str {
    let parts = pattern.strip_prefix('/').and_then(|rest| rest.rsplit_once('/'));
    match parts {
        Some((inner, flags))
            if flags.bytes().all(|flag| NEUTRAL_FLAGS.contains(&flag))
                && !inner.contains('|')
                && (inner.starts_with('^') || inner.ends_with('$') && !inner.ends_with("\\$")) =>
        {
            inner
        }
        _ => pattern,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn normal_linear(schema: Value) -> NormalisedSchema {
        normalise(&schema, PatternEngine::Linear)
    }

    fn normal(schema: Value) -> Value {
        normalise(&schema, PatternEngine::Backtracking).schema
    }

    #[test]
    fn foreign_and_implied_types_become_json_schemas() {
        let schema = normal(json!({ "type": "dict", "properties": {
            "a": { "type": "float" }, "b": { "type": "tuple", "items": { "type": "str" } }, "c": { "type": "any" },
            "d": { "properties": {} }, "e": { "type": ["INT", "null"] }, "f": { "items": { "type": "bool" } } } }));
        assert_eq!(
            schema,
            json!({ "properties": {
                "a": { "type": "number" }, "b": { "items": { "type": "string" }, "type": "array" }, "c": {},
                "d": { "properties": {}, "type": "object" }, "e": { "type": ["integer", "null"] },
                "f": { "items": { "type": "boolean" }, "type": "array" } }, "type": "object" })
        );
    }

    #[test]
    fn nullable_admits_null_however_the_type_is_said() {
        let schema = normal(json!({ "properties": {
            "a": { "type": "string", "nullable": true, "enum": ["x"] },
            "b": { "anyOf": [{ "type": "string" }], "nullable": true },
            "c": { "$ref": "#/$defs/c", "nullable": true },
            "d": { "type": "string", "nullable": false } }, "$defs": { "c": { "type": "string" } } }));
        let no_value = json!({ "type": "null" });
        assert_eq!(schema["properties"]["a"], json!({ "enum": ["x", null], "type": ["string", "null"] }));
        assert_eq!(schema["properties"]["b"]["anyOf"][1], no_value);
        assert_eq!(schema["properties"]["c"], json!({ "anyOf": [{ "$ref": "#/$defs/c" }, no_value] }));
        assert_eq!(schema["properties"]["d"], json!({ "type": "string" }));
    }

    #[test]
    fn bounds_of_draft_4_are_converted_unless_the_schema_is_draft_4() {
        let old = json!({ "properties": { "a": { "minimum": 0, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false } } });
        assert_eq!(normal(old.clone())["properties"]["a"], json!({ "exclusiveMinimum": 0, "maximum": 9 }));
        let mut declared = old;
        declared["$schema"] = json!("http://json-schema.org/draft-04/schema#");
        let normalised = normalise(&declared, PatternEngine::Linear);
        assert_eq!(normalised.draft, Draft::Draft4);
        assert_eq!(normalised.schema["properties"]["a"]["exclusiveMinimum"], true);
    }

    #[test]
    fn what_contradicts_itself_is_read_leniently() {
        let schema = normal(json!({ "properties": {
            "a": { "type": "integer", "enum": ["1", "2"] },
            "b": { "type": "array", "items": { "type": "string" }, "enum": ["x", "y"] } },
            "required": ["a", "gone"], "additionalProperties": false }));
        assert_eq!(schema["properties"]["a"], json!({ "enum": ["1", "2"] }));
        assert_eq!(schema["properties"]["b"], json!({ "items": { "type": "string" }, "type": "array" }));
        assert_eq!(schema["required"], json!(["a"]));
    }

    #[test]
    fn keywords_out_of_form_are_left_out_and_noted() {
        let normalised = normal_linear(json!({ "$id": "::", "$schema": "nonsense", "properties": {
            "a": { "type": 5, "minimum": "3", "minLength": -1, "pattern": "(", "description": ["x"], "required": true },
            "b": "string", "c": { "anyOf": [] }, "d": { "enum": [], "multipleOf": 0, "uniqueItems": "yes" } } }));
        let properties = &normalised.schema["properties"];
        assert_eq!(properties["a"], json!({ "minimum": 3 }));
        assert_eq!((&properties["b"], &properties["c"], &properties["d"]), (&json!(true), &json!({}), &json!({})));
        assert!(
            normalised.notes.iter().any(|note| note.starts_with("`/properties/a/pattern`")),
            "{:?}",
            normalised.notes
        );
    }

    #[test]
    fn all_reference_targets_are_normalised_and_dead_ones_omitted() {
        let schema = normal(json!({ "properties": {
            "a": { "$ref": "#/components/A%20b" }, "b": { "$ref": "#/gone" }, "c": { "$ref": "https://example.org/x" } },
            "components": { "A b": { "type": "dict", "properties": { "x": { "$ref": "#/components/C" } } }, "C": { "type": "int" } } }));
        assert_eq!(schema["components"]["A b"]["type"], "object");
        assert_eq!(schema["components"]["C"], json!({ "type": "integer" }));
        assert_eq!((&schema["properties"]["b"], &schema["properties"]["c"]), (&json!({}), &json!({})));
    }

    #[test]
    fn look_around_is_kept_where_an_engine_for_it_is_allowed() {
        let schema = json!({ "properties": { "a": { "pattern": "^(?!x)" }, "b": { "pattern": "^x" } } });
        let kept = normalise(&schema, PatternEngine::Backtracking);
        assert_eq!(
            (kept.engine, kept.schema["properties"]["a"]["pattern"].as_str()),
            (PatternEngine::Backtracking, Some("^(?!x)"))
        );
        let linear = normal_linear(schema);
        assert_eq!((linear.engine, linear.notes.len()), (PatternEngine::Linear, 1));
        assert_eq!(linear.schema["properties"]["b"]["pattern"], "^x");
        let plain = json!({ "properties": { "b": { "pattern": "^x" } } });
        assert_eq!(normalise(&plain, PatternEngine::Backtracking).engine, PatternEngine::Linear);
    }

    #[test]
    fn anchors_become_pointers_and_ambiguous_ones_nothing() {
        let schema = normal(json!({
            "properties": { "a": { "$ref": "#aa" }, "b": { "$ref": "#old" }, "c": { "$ref": "#twice" }, "d": { "$ref": "#none" } },
            "$defs": { "A b": { "$anchor": "aa", "type": "int" }, "B": { "$id": "#old", "type": "str" },
                "C": { "$anchor": "twice" }, "D": { "$anchor": "twice" }, "E": { "enum": [{ "$anchor": "none" }] } } }));
        assert_eq!(schema["properties"]["a"], json!({ "$ref": "#/$defs/A%20b" }));
        assert_eq!(schema["properties"]["b"], json!({ "$ref": "#/$defs/B" }));
        assert_eq!((&schema["properties"]["c"], &schema["properties"]["d"]), (&json!({}), &json!({})));
        assert_eq!(schema["$defs"]["A b"], json!({ "type": "integer" }));
    }

    #[test]
    fn depth_is_bounded_and_arguments_are_always_an_object() {
        let deep = (0..500).fold(json!({ "type": "string" }), |inner, _| json!({ "items": inner }));
        let normalised = normal_linear(json!({ "properties": { "a": deep } }));
        assert!(normalised.notes[0].contains("nested too deeply"));
        assert_eq!(normal(json!({ "type": "string" })), json!({}));
        assert_eq!((normal(json!(null)), normal(json!([1]))), (json!(true), json!(true)));
    }
}
