//! Which values of a call's arguments a schema marks as secret.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use super::SecretValues;
use callwright_common::schema::{Applies, SchemaDocument, subschemas};

/// Pairs of a schema and a value that are looked at in the arguments of one call. Beyond them, every value left is taken for a secret.
const MAX_STEPS: usize = 50_000;

/// Bytes of memory that one compiled pattern may take, and patterns of one schema that are compiled. Any other may match every name.
const PATTERN_BYTES: usize = 64 * 1024;
const MAX_PATTERNS: usize = 64;

/// Texts inside of arguments that are read as JSON, one within the other.
const MAX_TEXTS: usize = 3;

/// A schema that marks secrets.
pub(super) struct Marks<'s> {
    root: &'s Value,
    document: SchemaDocument<'s>,
    /// The patterns that were compiled; `None` for one that cannot be.
    patterns: RefCell<HashMap<&'s str, Option<Regex>>>,
}

impl<'s> Marks<'s> {
    /// `None` where nothing in the schema is marked, as in most.
    pub(super) fn of(root: &'s Value) -> Option<Self> {
        let mut has_marks = false;
        let document = SchemaDocument::new(root, |members| has_marks |= is_marked(members));
        has_marks.then(|| Self { root, document, patterns: RefCell::default() })
    }

    /// Whether a pattern matches a name; `None` where it cannot be compiled.
    fn matches(&self, pattern: &'s str, name: &str) -> Option<bool> {
        let mut patterns = self.patterns.borrow_mut();
        if !patterns.contains_key(pattern) {
            let is_room = patterns.len() < MAX_PATTERNS;
            let compiled = is_room.then(|| RegexBuilder::new(pattern).size_limit(PATTERN_BYTES).build().ok()).flatten();
            patterns.insert(pattern, compiled);
        }
        patterns.get(pattern)?.as_ref().map(|pattern| pattern.is_match(name))
    }

    /// The members of `value` that a pattern, or the schema of all other members, may judge.
    fn judged<'v>(&self, applies: Applies<'s>, named: &Named<'s>, value: &'v Value) -> Vec<&'v Value> {
        let members = value.as_object().into_iter().flatten();
        let may_judge = |name: &str| match applies {
            Applies::Pattern(pattern) => self.matches(pattern, name).unwrap_or(true),
            _ => {
                let is_named = named.properties.is_some_and(|properties| properties.contains_key(name));
                let mut patterns = named.patterns.into_iter().flat_map(Map::keys);
                !is_named && !patterns.any(|pattern| self.matches(pattern, name).unwrap_or(false))
            }
        };
        members.filter(|(name, _)| may_judge(name)).map(|(_, member)| member).collect()
    }

    /// Takes the secrets in `arguments` in.
    pub(super) fn find(&self, arguments: &Value, found: &mut SecretValues) {
        let mut steps = MAX_STEPS;
        self.walk(self.root, arguments, found, &mut steps, 0);
    }

    /// Goes through the schemas that may apply to `value` and to everything in it.
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
                // In doubt, it is a secret.
                found.take(value);
                continue;
            }
            *steps -= 1;
            if is_marked(keywords) {
                found.take(value);
                continue;
            }
            waiting.extend(self.document.referred(keywords).into_iter().map(|target| (target, value)));
            let named = Named::of(keywords);
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
            // Models write an object as a text that holds it; repair reads it, and what is stored has both.
            if let Some(text) = value.as_str().filter(|text| text.trim_start().starts_with(['{', '[']))
                && let Ok(content @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text)
            {
                encoded.push((schema, content));
            }
        }
        for (schema, content) in encoded {
            if level < MAX_TEXTS {
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

/// The items of a list. A single value may be a list of one that was written without brackets.
fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        Value::String(_) | Value::Number(_) => std::slice::from_ref(value),
        _ => &[],
    }
}

/// The members and items that a schema describes one by one.
struct Named<'s> {
    properties: Option<&'s Map<String, Value>>,
    patterns: Option<&'s Map<String, Value>>,
    items: usize,
}

impl<'s> Named<'s> {
    fn of(keywords: &'s Map<String, Value>) -> Self {
        let members = |keyword: &str| keywords.get(keyword).and_then(Value::as_object);
        let list = keywords.get("prefixItems").or_else(|| keywords.get("items")).and_then(Value::as_array);
        Self {
            properties: members("properties"),
            patterns: members("patternProperties"),
            items: list.map_or(0, Vec::len),
        }
    }
}
