//! Translates a schema to its strict form, keyword by keyword.

use callwright_common::limits::VISITED_SCHEMAS;
use std::collections::HashSet;
use std::slice;

use serde_json::{Map, Value, json};

use super::super::pattern;
use super::super::translated::{DialectTrail, Loss, Losses};
use super::super::words::{append_sentence, definitions, name_of, reference, sentence};
use super::intersection::intersection;
use super::nullable::{or_null, part, takes_null, types};
use crate::schema::is_annotation;
use crate::tool::text::{is_among, strings};

/// Values of `format` in the subset.
const FORMATS: &str = "date-time time date duration email hostname ipv4 ipv6 uuid";

/// Keywords that neither the subset nor a sentence can express.
const INEXPRESSIBLE: &str = "not if then else dependentRequired dependentSchemas patternProperties propertyNames \
    contains prefixItems minContains maxContains";

/// Maximum nesting of schemas; the limits of the subset are far below.
const MAX_LEVELS: usize = 64;

/// Returns the strict form of `schema` and the losses that its descriptions cannot compensate.
pub(super) fn translate(schema: &Value) -> Result<(Value, Vec<Loss>), Loss> {
    let nothing = Map::new();
    let trail = DialectTrail::Root;
    let mut translator = StrictTranslator {
        definitions: definitions(schema).unwrap_or(&nothing),
        pending: Vec::new(),
        referenced: HashSet::new(),
        losses: Losses::default(),
        steps_left: VISITED_SCHEMAS,
    };
    let mut written = translator.any(schema, &trail, 0)?;
    if written.get("type").is_none_or(|name| name != "object") {
        return Err(Loss::new(&trail, "is not an object at the top level"));
    }
    let definitions = translator.definitions(&trail)?;
    if !definitions.is_empty() {
        written.insert("$defs".to_owned(), Value::Object(definitions));
    }
    Ok((Value::Object(written), translator.losses.finish()))
}

/// The strict form of a schema, or the obstacle.
type StrictSchema = Result<Map<String, Value>, Loss>;

/// Whether `key` is a constraint beside `keyword`.
fn is_beside(key: &str, keyword: &str) -> bool {
    key != keyword && key != "$defs" && !is_annotation(key)
}

struct StrictTranslator<'a> {
    definitions: &'a Map<String, Value>,
    /// Referenced definitions that are still to be translated.
    pending: Vec<&'a str>,
    referenced: HashSet<&'a str>,
    losses: Losses,
    steps_left: usize,
}

impl<'a> StrictTranslator<'a> {
    fn definitions(&mut self, trail: &DialectTrail<'_>) -> StrictSchema {
        let all = trail.member("$defs");
        let mut written = Map::new();
        while let Some(name) = self.pending.pop() {
            let Some(schema) = self.definitions.get(name) else { continue };
            let strict = self.any(schema, &all.member(name), 0)?;
            written.insert(name.to_owned(), Value::Object(strict));
        }
        Ok(written)
    }

    fn any(&mut self, schema: &Value, trail: &DialectTrail<'_>, level: usize) -> StrictSchema {
        match schema {
            Value::Object(members) => self.schema(members, trail, level),
            _ => Err(Loss::new(trail, "accepts any value")),
        }
    }

    fn schema(&mut self, members: &Map<String, Value>, trail: &DialectTrail<'_>, level: usize) -> StrictSchema {
        if level > MAX_LEVELS {
            return Err(Loss::new(trail, "is nested too deeply"));
        }
        self.step(trail)?;
        let constrains_beside = members.keys().any(|key| is_beside(key, "$ref"));
        if members.contains_key("allOf") || (members.contains_key("$ref") && constrains_beside) {
            let whole = self.flat(members, trail, level)?;
            return self.schema(&whole, trail, level + 1);
        }
        if let Some(written) = reference(members) {
            return self.reference(written, members, trail);
        }
        match (members.get("anyOf"), members.get("oneOf")) {
            (Some(Value::Array(branches)), None) => self.alternatives(members, "anyOf", branches, trail, level),
            (None, Some(Value::Array(branches))) => self.alternatives(members, "oneOf", branches, trail, level),
            (Some(_), Some(_)) => Err(Loss::new(trail, "has both `anyOf` and `oneOf`")),
            _ => self.typed(members, trail, level),
        }
    }

    /// Writes a `$ref` without siblings; its annotations move to an enclosing schema.
    fn reference(&mut self, written: &str, members: &Map<String, Value>, trail: &DialectTrail<'_>) -> StrictSchema {
        let target = name_of(written).and_then(|name| self.definitions.get_key_value(name));
        let Some((name, _)) = target else { return Err(Loss::new(trail, "refers to no definition")) };
        if self.referenced.insert(name) {
            self.pending.push(name);
        }
        let mut around = annotations(members);
        let alone = Map::from_iter([("$ref".to_owned(), written.into())]);
        if around.is_empty() {
            return Ok(alone);
        }
        around.insert("anyOf".to_owned(), json!([alone]));
        Ok(around)
    }

    fn alternatives(
        &mut self,
        members: &Map<String, Value>,
        keyword: &str,
        branches: &[Value],
        trail: &DialectTrail<'_>,
        level: usize,
    ) -> StrictSchema {
        let beside = members.iter().filter(|(key, _)| is_beside(key, keyword));
        let beside: Map<String, Value> = beside.map(|(key, value)| (key.clone(), value.clone())).collect();
        let child = trail.member(keyword);
        let mut written: Vec<Value> = Vec::new();
        for (index, branch) in branches.iter().enumerate() {
            let child = child.item(index);
            let strict = if self.contains_all(branch, &beside) {
                self.any(branch, &child, level + 1)?
            } else {
                let Value::Object(branch) = branch else { return Err(Loss::new(&child, "accepts any value")) };
                let branch = self.flat(branch, &child, level)?;
                let whole = intersection(&branch, &beside).ok_or_else(|| {
                    Loss::new(&child, format!("cannot be merged with the keywords beside `{keyword}`"))
                })?;
                self.schema(&whole, &child, level + 1)?
            };
            if !written.iter().any(|branch| branch == &Value::Object(strict.clone())) {
                written.push(Value::Object(strict));
            }
        }
        if keyword == "oneOf" && written.len() > 1 {
            self.losses.add(trail, "`oneOf` is offered as `anyOf`");
        }
        let mut whole = annotations(members);
        if let ([only], true) = (written.as_slice(), whole.is_empty()) {
            return Ok(only.as_object().cloned().unwrap_or_default());
        }
        whole.insert("anyOf".to_owned(), Value::Array(written));
        Ok(whole)
    }

    /// Whether `branch` already contains all keywords beside the alternatives. Typically a repeated `type`.
    fn contains_all(&self, branch: &Value, beside: &Map<String, Value>) -> bool {
        let target =
            branch.as_object().and_then(reference).and_then(name_of).and_then(|name| self.definitions.get(name));
        let branch = target.unwrap_or(branch);
        beside.iter().all(|(key, value)| branch.get(key) == Some(value))
    }

    /// Merges the targets of `$ref`s and the branches of `allOf`s into `members`.
    fn flat(&mut self, members: &Map<String, Value>, trail: &DialectTrail<'_>, level: usize) -> StrictSchema {
        if level > MAX_LEVELS {
            return Err(Loss::new(trail, "is nested too deeply"));
        }
        let own = members.iter().filter(|(key, _)| !["allOf", "$ref", "$defs"].contains(&key.as_str()));
        let mut whole: Map<String, Value> = own.map(|(key, value)| (key.clone(), value.clone())).collect();
        let target = reference(members).map(|written| name_of(written).and_then(|name| self.definitions.get(name)));
        let branches = members.get("allOf").and_then(Value::as_array).into_iter().flatten();
        for branch in target.iter().map(|target| target.unwrap_or(&Value::Null)).chain(branches) {
            self.step(trail)?;
            let Value::Object(branch) = branch else { return Err(Loss::new(trail, "refers to no definition")) };
            let branch = self.flat(branch, trail, level + 1)?;
            for _ in branch.get("properties").and_then(Value::as_object).into_iter().flatten() {
                self.step(trail)?;
            }
            whole = intersection(&whole, &branch)
                .ok_or_else(|| Loss::new(trail, "combines schemas that cannot be merged into one"))?;
        }
        Ok(whole)
    }

    fn typed(&mut self, members: &Map<String, Value>, trail: &DialectTrail<'_>, level: usize) -> StrictSchema {
        let types = types(members);
        match types.as_slice() {
            [] => Err(Loss::new(trail, "accepts any value")),
            [only] => self.of_type(members, only, trail, level),
            several if several.iter().any(|name| name == "object" || name == "array") => {
                let mut branches = Vec::new();
                for name in several {
                    let strict = self.of_type(&part(members, name), name, trail, level)?;
                    branches.push(Value::Object(strict));
                }
                let mut whole = annotations(members);
                whole.insert("anyOf".to_owned(), Value::Array(branches));
                Ok(whole)
            }
            several => self.keywords(members, json!(several), trail),
        }
    }

    fn of_type(
        &mut self,
        members: &Map<String, Value>,
        name: &str,
        trail: &DialectTrail<'_>,
        level: usize,
    ) -> StrictSchema {
        match name {
            "object" => self.object(members, trail, level),
            "array" => self.array(members, trail, level),
            scalar => self.keywords(members, scalar.into(), trail),
        }
    }

    /// Returns a closed object in which every property is required and null represents absence.
    fn object(&mut self, members: &Map<String, Value>, trail: &DialectTrail<'_>, level: usize) -> StrictSchema {
        let mut written = self.keywords(members, "object".into(), trail)?;
        let nothing = Map::new();
        let properties = members.get("properties").and_then(Value::as_object).unwrap_or(&nothing);
        let is_closed = members.get("additionalProperties") == Some(&Value::Bool(false));
        if members.contains_key("additionalProperties") && !is_closed {
            return Err(Loss::new(trail, "accepts additional members"));
        }
        if properties.is_empty() && !is_closed {
            return Err(Loss::new(trail, "accepts any members"));
        }
        let required: Vec<&str> = strings(members.get("required")).collect();
        if let Some(undescribed) = required.iter().find(|name| !properties.contains_key(**name)) {
            return Err(Loss::new(trail, format!("requires `{undescribed}` without describing it")));
        }
        let child = trail.member("properties");
        let mut strict = Map::new();
        for (name, schema) in properties {
            let child = child.member(name);
            let mut property = self.any(schema, &child, level + 1)?;
            if !required.contains(&name.as_str()) {
                if takes_null(schema, self.definitions) {
                    return Err(Loss::new(&child, "may be absent or null, which `strict` cannot distinguish"));
                }
                property = or_null(property);
            }
            strict.insert(name.clone(), Value::Object(property));
        }
        let names: Vec<&String> = strict.keys().collect();
        written.insert("required".to_owned(), json!(names));
        written.insert("properties".to_owned(), Value::Object(strict));
        written.insert("additionalProperties".to_owned(), false.into());
        Ok(written)
    }

    fn array(&mut self, members: &Map<String, Value>, trail: &DialectTrail<'_>, level: usize) -> StrictSchema {
        let mut written = self.keywords(members, "array".into(), trail)?;
        let items = members.get("items").unwrap_or(&Value::Null);
        let items = self.any(items, &trail.member("items"), level + 1)?;
        written.insert("items".to_owned(), Value::Object(items));
        Ok(written)
    }

    /// Returns all keywords of `members` except its subschemas, with the given `types`.
    fn keywords(&mut self, members: &Map<String, Value>, types: Value, trail: &DialectTrail<'_>) -> StrictSchema {
        let mut written = annotations(members);
        written.insert("type".to_owned(), types);
        for (key, value) in members {
            match key.as_str() {
                key if is_among(INEXPRESSIBLE, key) => {
                    return Err(Loss::new(trail, format!("has `{key}`, which `strict` does not support")));
                }
                "unevaluatedProperties" | "unevaluatedItems" if value != &Value::Bool(false) => {
                    return Err(Loss::new(trail, format!("has `{key}`, which `strict` does not support")));
                }
                "enum" | "const" => {
                    let values =
                        if key == "const" { Some(slice::from_ref(value)) } else { value.as_array().map(Vec::as_slice) };
                    let values = values.unwrap_or_default();
                    if values.iter().any(|value| value.is_object() || value.is_array()) || values.is_empty() {
                        return Err(Loss::new(trail, "enumerates objects or arrays"));
                    }
                    written.insert(key.clone(), value.clone());
                }
                "format" if !value.as_str().is_some_and(|format| is_among(FORMATS, format)) => {
                    append_sentence(&mut written, &sentence(key, value));
                }
                "pattern" if !value.as_str().is_some_and(pattern::is_regular) => {
                    append_sentence(&mut written, &sentence(key, value));
                    self.losses
                        .add(trail, "`pattern` is not a plain regular expression; it is moved to the description");
                }
                "uniqueItems" | "minProperties" | "maxProperties" if value != &Value::Bool(false) => {
                    append_sentence(&mut written, &sentence(key, value));
                    self.losses.add(trail, format!("`{key}` is moved to the description"));
                }
                "contentEncoding" | "contentMediaType" => append_sentence(&mut written, &sentence(key, value)),
                "format" | "pattern" | "minLength" | "maxLength" | "minimum" | "maximum" | "exclusiveMinimum"
                | "exclusiveMaximum" | "multipleOf" | "minItems" | "maxItems" => {
                    written.insert(key.clone(), value.clone());
                }
                _ => {}
            }
        }
        Ok(written)
    }

    fn step(&mut self, trail: &DialectTrail<'_>) -> Result<(), Loss> {
        let left = self.steps_left.checked_sub(1);
        self.steps_left = left.ok_or_else(|| Loss::new(trail, "has too many combinations"))?;
        Ok(())
    }
}

/// Returns the annotations of `members`. The subset has titles and descriptions; other annotations become sentences.
fn annotations(members: &Map<String, Value>) -> Map<String, Value> {
    let mut kept: Map<String, Value> = ["title", "description"]
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), members.get(key)?.clone())))
        .collect();
    for (key, value) in members.iter().filter(|(key, _)| ["default", "examples", "deprecated"].contains(&key.as_str()))
    {
        if value != &Value::Bool(false) || key == "default" {
            append_sentence(&mut kept, &sentence(key, value));
        }
    }
    kept
}
