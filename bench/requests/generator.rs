//! Generates random values from a JSON Schema. The scan decides whether they are valid.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::arguments::Kind;
use super::effective::effective;
use super::{numbers, texts};

/// Number of values of one argument object after which only required values are generated.
const ENOUGH: usize = 120;

/// Maximum number of values of one argument object.
const MAX_VALUES: usize = 3000;

/// Number of levels with optional properties and items, which bounds recursive schemas.
const MAX_LEVELS: usize = 4;

/// Maximum nesting depth.
const MAX_DEPTH: usize = 24;

/// Number of items of an array unless its schema requires more.
const USUAL_ITEMS: u64 = 3;

/// Maximum number of items of an array.
const MAX_ITEMS: u64 = 64;

/// Probability that one of the schema's examples is used, as models do.
const EXAMPLES: f64 = 0.3;

/// Generator of one argument object.
pub(crate) struct Generator<'a> {
    root: &'a Value,
    kind: Kind,
    random: &'a mut fastrand::Rng,
    made: usize,
}

impl<'a> Generator<'a> {
    pub(crate) fn new(root: &'a Value, kind: Kind, random: &'a mut fastrand::Rng) -> Self {
        Self { root, kind, random, made: 0 }
    }

    /// Returns arguments for the tool of this schema, or `None` if a required value cannot be generated.
    pub(crate) fn arguments(&mut self) -> Option<Value> {
        self.value(self.root, 0)
    }

    fn value(&mut self, schema: &Value, depth: usize) -> Option<Value> {
        self.made += 1;
        if depth > MAX_DEPTH || self.made > MAX_VALUES {
            return None;
        }
        let keywords = effective(self.root, schema, self.random)?;
        if let Some(only) = keywords.get("const") {
            return Some(only.clone());
        }
        if let Some(options) = keywords.get("enum").and_then(Value::as_array) {
            return self.random.choice(options).cloned();
        }
        let examples = keywords.get("examples").and_then(Value::as_array);
        if let Some(example) = examples.filter(|_| self.random.f64() < EXAMPLES).and_then(|all| self.random.choice(all))
        {
            return Some(example.clone());
        }
        let at_edge = self.random.f64() < self.kind.edge();
        match self.type_name(&keywords).as_str() {
            "object" => self.object(&keywords, depth),
            "array" => self.array(&keywords, at_edge, depth),
            "integer" => numbers::whole(&keywords, at_edge, self.random),
            "number" => numbers::any(&keywords, at_edge, self.random),
            "boolean" => Some(Value::Bool(self.random.bool())),
            "null" => Some(Value::Null),
            _ => texts::text(&keywords, at_edge, self.random).map(Value::String),
        }
    }

    /// Returns one of the schema's types. Without `type`, returns the type that its keywords imply, or string.
    fn type_name(&mut self, keywords: &Map<String, Value>) -> String {
        let has = |names: &[&str]| names.iter().any(|name| keywords.contains_key(*name));
        match keywords.get("type") {
            Some(Value::String(name)) => name.clone(),
            Some(Value::Array(names)) => {
                self.random.choice(names).and_then(Value::as_str).unwrap_or("string").to_owned()
            }
            _ if has(&["properties", "required", "minProperties", "additionalProperties"]) => "object".to_owned(),
            _ if has(&["items", "prefixItems", "minItems"]) => "array".to_owned(),
            _ if has(&["minimum", "maximum", "multipleOf"]) => "number".to_owned(),
            _ => "string".to_owned(),
        }
    }

    fn object(&mut self, keywords: &Map<String, Value>, depth: usize) -> Option<Value> {
        let anything = Value::Bool(true);
        let names = |keyword: &str| keywords.get(keyword).and_then(Value::as_array).into_iter().flatten();
        let required: HashSet<&str> = names("required").filter_map(Value::as_str).collect();
        let properties = keywords.get("properties").and_then(Value::as_object);
        let mut made = Map::new();
        for (name, schema) in properties.into_iter().flatten() {
            if required.contains(name.as_str()) {
                made.insert(name.clone(), self.value(schema, depth + 1)?);
            } else if self.has_room(depth)
                && self.random.f64() < self.kind.optional()
                && let Some(value) = self.value(schema, depth + 1)
            {
                made.insert(name.clone(), value);
            }
        }
        for name in required {
            if !made.contains_key(name) {
                made.insert(name.to_owned(), self.value(&anything, depth + 1)?);
            }
        }
        self.more_members(keywords, &mut made, depth)?;
        Some(Value::Object(made))
    }

    /// Adds members that the schema does not name: some of a map, and as many as `minProperties` requires.
    fn more_members(
        &mut self,
        keywords: &Map<String, Value>,
        made: &mut Map<String, Value>,
        depth: usize,
    ) -> Option<()> {
        let least = keywords.get("minProperties").and_then(Value::as_u64).unwrap_or(0);
        let schema = keywords.get("additionalProperties");
        let is_map = schema.is_some_and(Value::is_object) && self.has_room(depth);
        let wanted = if is_map && self.random.f64() < self.kind.optional() { 2 } else { 0 };
        let anything = Value::Bool(true);
        let schema = schema.unwrap_or(&anything);
        if schema == &Value::Bool(false) {
            return Some(());
        }
        for number in 0..least.saturating_sub(made.len() as u64).max(wanted) {
            made.insert(format!("key{number}"), self.value(schema, depth + 1)?);
        }
        Some(())
    }

    fn array(&mut self, keywords: &Map<String, Value>, at_edge: bool, depth: usize) -> Option<Value> {
        let length = |keyword: &str| keywords.get(keyword).and_then(Value::as_u64);
        let least = length("minItems").unwrap_or(0);
        let usual = if at_edge || !self.has_room(depth) { least } else { self.random.u64(1..=USUAL_ITEMS) };
        let count = usual.max(least).min(length("maxItems").unwrap_or(u64::MAX));
        if count > MAX_ITEMS {
            return None;
        }
        let anything = json!({"type": "string"});
        let first = keywords.get("prefixItems").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let rest = keywords.get("items").unwrap_or(&anything);
        let mut items: Vec<Value> = Vec::new();
        for index in 0..count as usize {
            let item = self.value(first.get(index).unwrap_or(rest), depth + 1)?;
            if keywords.get("uniqueItems") != Some(&Value::Bool(true)) || !items.contains(&item) {
                items.push(item);
            }
        }
        Some(Value::Array(items))
    }

    /// Whether optional values may still be generated here.
    fn has_room(&self, depth: usize) -> bool {
        depth < MAX_LEVELS && self.made < ENOUGH
    }
}
