//! Detection of secret values in a call's arguments by its schema.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use super::{MAX_NESTED_TEXTS, SecretValues};
use callwright_common::schema::{Applies, SchemaDocument, subschemas};

/// Maximum number of schema-value pairs examined per call. Beyond it, all remaining values are treated as secret.
const MAX_STEPS: usize = 50_000;

/// Size limit in bytes of one compiled pattern, and maximum number of compiled patterns per schema. All other patterns
/// are assumed to match every name.
const PATTERN_BYTES: usize = 64 * 1024;
const MAX_PATTERNS: usize = 64;

/// A schema that marks secrets.
pub(super) struct SecretMarks<'s> {
    root: &'s Value,
    document: SchemaDocument<'s>,
    /// Compiled patterns; `None` for one that cannot be compiled.
    patterns: RefCell<HashMap<&'s str, Option<Regex>>>,
}

impl<'s> SecretMarks<'s> {
    /// Analyses a schema; `None` if it marks nothing, which is the common case.
    pub(super) fn of(root: &'s Value) -> Option<Self> {
        let mut has_marks = false;
        let document = SchemaDocument::new(root, |members| has_marks |= is_marked(members));
        has_marks.then(|| Self { root, document, patterns: RefCell::default() })
    }

    /// Whether a pattern matches a name; `None` if it cannot be compiled.
    fn matches(&self, pattern: &'s str, name: &str) -> Option<bool> {
        let mut patterns = self.patterns.borrow_mut();
        if !patterns.contains_key(pattern) {
            let is_room = patterns.len() < MAX_PATTERNS;
            let compiled = is_room.then(|| RegexBuilder::new(pattern).size_limit(PATTERN_BYTES).build().ok()).flatten();
            patterns.insert(pattern, compiled);
        }
        patterns.get(pattern)?.as_ref().map(|pattern| pattern.is_match(name))
    }

    /// Returns the members of `value` to which a pattern or `additionalProperties` may apply.
    fn judged<'v>(&self, applies: Applies<'s>, named: &DefinedMembers<'s>, value: &'v Value) -> Vec<&'v Value> {
        let mut judged = Vec::new();
        for (name, member) in value.as_object().into_iter().flatten() {
            let may_judge = match applies {
                Applies::Pattern(pattern) => self.matches(pattern, name).unwrap_or(true),
                _ => {
                    let is_named = named.properties.is_some_and(|properties| properties.contains_key(name));
                    let mut patterns = named.patterns.into_iter().flat_map(Map::keys);
                    !is_named && !patterns.any(|pattern| self.matches(pattern, name).unwrap_or(false))
                }
            };
            if may_judge {
                judged.push(member);
            }
        }
        judged
    }

    /// Adds the secrets in `arguments` to `found`.
    pub(super) fn find(&self, arguments: &Value, found: &mut SecretValues) {
        let mut steps = MAX_STEPS;
        self.walk(self.root, arguments, found, &mut steps, 0);
    }

    /// Traverses the schemas that may apply to `value` and to everything in it.
    fn walk(&self, schema: &'s Value, value: &Value, found: &mut SecretValues, steps: &mut usize, level: usize) {
        let mut waiting = vec![(schema, value)];
        let mut seen = HashSet::new();
        let mut encoded: Vec<(&'s Value, Value)> = Vec::new();
        while let Some((schema, value)) = waiting.pop() {
            let Some(keywords) = schema.as_object().filter(|_| !value.is_null()) else { continue };
            if !seen.insert((std::ptr::from_ref(schema), std::ptr::from_ref(value))) {
                continue;
            }
            if *steps == 0 {
                // Treats the value as secret in case of doubt.
                found.take(value);
                continue;
            }
            *steps -= 1;
            if is_marked(keywords) {
                found.take(value);
                continue;
            }
            waiting.extend(self.document.referred(keywords).into_iter().map(|target| (target, value)));
            let named = DefinedMembers::of(keywords);
            for inside in subschemas(keywords) {
                match inside.applies {
                    Applies::Always | Applies::Sometimes => waiting.push((inside.schema, value)),
                    Applies::Member(name) => waiting.extend(value.get(name).map(|member| (inside.schema, member))),
                    Applies::Pattern(_) | Applies::OtherMembers => {
                        *steps = steps.saturating_sub(value.as_object().map_or(0, Map::len));
                        let judged = self.judged(inside.applies, &named, value);
                        waiting.extend(judged.into_iter().map(|member| (inside.schema, member)));
                    }
                    Applies::Names => {
                        let names = value.as_object().into_iter().flat_map(Map::keys);
                        encoded.extend(names.map(|name| (inside.schema, Value::from(name.as_str()))));
                    }
                    Applies::Item(index) => {
                        waiting.extend(items(value).get(index).map(|item| (inside.schema, item)));
                    }
                    Applies::OtherItems => {
                        waiting.extend(items(value).iter().skip(named.items).map(|item| (inside.schema, item)));
                    }
                    Applies::AnyItem => waiting.extend(items(value).iter().map(|item| (inside.schema, item))),
                    Applies::Content => {
                        let text = value.as_str().unwrap_or_default();
                        match serde_json::from_str::<Value>(text) {
                            Ok(content) => encoded.push((inside.schema, content)),
                            Err(_) if Self::of(inside.schema).is_some() => found.take(value),
                            Err(_) => {}
                        }
                    }
                }
            }
            // Models write an object as a text that contains it. Repair parses it, and both forms are stored.
            if let Some(text) = value.as_str().filter(|text| text.trim_start().starts_with(['{', '[']))
                && let Ok(content @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text)
            {
                encoded.push((schema, content));
            }
        }
        for (schema, content) in encoded {
            if level < MAX_NESTED_TEXTS {
                self.walk(schema, &content, found, steps, level + 1);
            } else {
                found.take(&content);
            }
        }
    }
}

/// Whether a schema marks its value as secret.
fn is_marked(keywords: &Map<String, Value>) -> bool {
    keywords.get("format").is_some_and(|format| format == "password")
        || keywords.get("writeOnly").is_some_and(|flag| flag == true)
}

/// Returns the items of an array. A scalar may be an array of one item that was written without brackets.
fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        Value::String(_) | Value::Number(_) => std::slice::from_ref(value),
        _ => &[],
    }
}

/// Properties, patterns and items that a schema defines individually.
struct DefinedMembers<'s> {
    properties: Option<&'s Map<String, Value>>,
    patterns: Option<&'s Map<String, Value>>,
    items: usize,
}

impl<'s> DefinedMembers<'s> {
    fn of(keywords: &'s Map<String, Value>) -> Self {
        let list = keywords.get("prefixItems").or_else(|| keywords.get("items")).and_then(Value::as_array);
        Self {
            properties: keywords.get("properties").and_then(Value::as_object),
            patterns: keywords.get("patternProperties").and_then(Value::as_object),
            items: list.map_or(0, Vec::len),
        }
    }
}
