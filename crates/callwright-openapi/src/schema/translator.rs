//! Translates one schema of a document to JSON Schema 2020-12 without malformed keywords. Patterns are not checked:
//! the validator decides which of them it can run.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::definitions::{Definitions, PendingDefinition, RequestPart, is_copied};
use super::discriminator;
use super::keyword::{KeywordForm, append_description, form, is_annotation};
use super::leaf::leaf;
use super::literal::{MANY_VALUES, type_value, types, types_of};
use super::loops::DEFINITIONS;
use super::nullable::{
    give_values_to_items, has_malformed_properties, is_list_of_one, is_nullable, make_nullable, unwrap_single,
};
use super::read_only::{read_only_names, visible_by_reference};
use super::trail::SchemaTrail;
use super::variant_rule::{self, VariantRule, owners_note};
use crate::document::ReferenceError;
use crate::schema::subtypes::{Variants, address};
use crate::tool::markup::plain_text;
use crate::tool::text::{shorten, strings};
use crate::{ApiDocument, LoadNotes, LocatedValue, SourceFile, Subtypes, ValuePositionId, Version};

/// Bytes that a keyword's quotes, colon and comma take in JSON.
const KEYWORD_BYTES: usize = 4;

/// Minimum length of a description that lists variants: without it, no model knows which properties belong together.
const MIN_VARIANT_CHARS: usize = 600;

/// Limits on the detail of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SchemaDetail {
    /// Maximum nesting of schemas.
    pub(super) levels: usize,
    /// Maximum length of a description, in characters.
    pub(super) description_chars: usize,
    /// Maximum size in bytes of JSON.
    pub(super) bytes: usize,
    /// Whether to describe the variants of schemas with a discriminator.
    pub(super) has_variants: bool,
    /// Whether to keep only the types of values, without texts, examples and long enumerations.
    pub(super) is_bare: bool,
}

/// The schema exceeds the bytes allowed by [`SchemaDetail`].
#[derive(Debug)]
pub(super) struct TooLarge;

/// Translates the schemas of one argument object.
pub(super) struct SchemaTranslator<'a, 'd> {
    document: &'d ApiDocument,
    subtypes: &'d Subtypes<'d>,
    copied: &'a mut HashMap<ValuePositionId, bool>,
    notes: &'a mut LoadNotes,
    detail: SchemaDetail,
    bytes_left: usize,
    definitions: Definitions<'d>,
    part: RequestPart,
    /// Whether the next `$ref` is the parent in a schema that extends it, which is described without its variants.
    is_parent: bool,
    /// Memory address of the schema that is being translated without its variants.
    without_variants: Option<usize>,
    /// Whether something was dropped because it was nested too deeply.
    pub(super) is_cut: bool,
    /// Whether variants were dropped.
    pub(super) lacks_variants: bool,
    /// Whether something was dropped, so that the schema accepts more values than the document.
    is_loose: bool,
    /// The definitions from which something was dropped.
    pub(super) loose: HashSet<String>,
}

impl<'a, 'd> SchemaTranslator<'a, 'd> {
    pub(super) fn new(
        document: &'d ApiDocument,
        subtypes: &'d Subtypes<'d>,
        copied: &'a mut HashMap<ValuePositionId, bool>,
        notes: &'a mut LoadNotes,
        detail: SchemaDetail,
    ) -> Self {
        let definitions = Definitions::default();
        Self {
            document,
            subtypes,
            copied,
            notes,
            detail,
            bytes_left: detail.bytes,
            definitions,
            part: RequestPart::Body,
            is_parent: false,
            without_variants: None,
            is_cut: false,
            lacks_variants: false,
            is_loose: false,
            loose: HashSet::new(),
        }
    }

    /// Whether something was dropped since the last call.
    pub(super) fn take_loose(&mut self) -> bool {
        std::mem::take(&mut self.is_loose)
    }

    /// Translates `schema`, which describes a `part` on nesting level `level` of the argument object.
    pub(super) fn schema(
        &mut self,
        schema: &LocatedValue<'d>,
        part: RequestPart,
        level: usize,
    ) -> Result<Value, TooLarge> {
        self.part = part;
        self.any(schema.value, &SchemaTrail::start(&schema.at, level))
    }

    /// Translates the definitions that the schemas translated so far refer to.
    pub(super) fn definitions(&mut self) -> Result<Map<String, Value>, TooLarge> {
        let mut written = Map::new();
        while let Some(PendingDefinition { name, schema, part, is_parent, level }) = self.definitions.next() {
            self.spend(name.len() + KEYWORD_BYTES)?;
            self.without_variants = schema.value.as_object().filter(|_| is_parent).map(address);
            let translated = self.schema(&schema, part, level)?;
            self.without_variants = None;
            if self.take_loose() {
                self.loose.insert(name.clone());
            }
            written.insert(name, translated);
        }
        Ok(written)
    }

    pub(super) fn any(&mut self, schema: &'d Value, trail: &SchemaTrail<'_, 'd>) -> Result<Value, TooLarge> {
        self.spend(2)?;
        match schema {
            Value::Bool(_) => Ok(schema.clone()),
            Value::Object(members) => match members.get("$ref").and_then(Value::as_str) {
                Some(reference) => self.reference(reference, members, trail),
                None if trail.level > self.detail.levels => Ok(self.cut(members)),
                None => self.object(schema, members, trail),
            },
            // Boolean schemas in quotation marks by mistake.
            Value::String(text) if text == "true" => Ok(Value::Bool(true)),
            Value::String(text) if text == "false" => Ok(Value::Bool(false)),
            Value::String(_) if !types(schema).0.is_empty() => {
                self.notes.remark_at(&trail.position(), format_args!("is not a schema; {schema} is read as its type"));
                Ok(json!({"type": type_value(&types(schema).0)}))
            }
            _ => {
                self.is_loose = true;
                self.notes.remark_at(&trail.position(), "is not a schema; any value is accepted");
                Ok(json!({}))
            }
        }
    }

    fn object(
        &mut self,
        schema: &'d Value,
        members: &'d Map<String, Value>,
        trail: &SchemaTrail<'_, 'd>,
    ) -> Result<Value, TooLarge> {
        let variants = self.variants(schema, members, trail);
        let listed = variants.as_ref().map(|variants| variants.alternatives.clone()).unwrap_or_default();
        let mut translated = Map::new();
        self.keywords(members, |keyword| !listed.contains(&keyword), trail, &mut translated)?;
        if members.get("type").is_some_and(|name| name == "file") {
            translated.entry("format").or_insert_with(|| "binary".into());
        }
        if has_malformed_properties(members) {
            // If it stayed closed, the schema would reject every property.
            translated.shift_remove("additionalProperties");
        }
        give_values_to_items(members, &mut translated);
        self.take_over_required(members, trail, &mut translated);
        match &variants {
            Some(variants) => self.add_variants(variants, trail, &mut translated)?,
            None => discriminator::apply(self.document, members, trail.file(), &mut translated),
        }
        self.hide_read_only(schema, trail.file(), &mut translated);
        Ok(self.finish(members, unwrap_single(translated)))
    }

    /// Returns the variants of a schema, unless they are not to be described.
    fn variants(
        &self,
        schema: &'d Value,
        members: &'d Map<String, Value>,
        trail: &SchemaTrail<'_, 'd>,
    ) -> Option<Variants<'d>> {
        if !members.contains_key("discriminator") || self.without_variants == Some(address(members)) {
            return None;
        }
        self.subtypes.variants(&LocatedValue { value: schema, at: trail.position(), document: self.document })
    }

    /// Adds the properties of the variants and the conditions on them.
    fn add_variants(
        &mut self,
        variants: &Variants<'d>,
        trail: &SchemaTrail<'_, 'd>,
        translated: &mut Map<String, Value>,
    ) -> Result<(), TooLarge> {
        if !variants.are_plain() || !self.detail.has_variants {
            translated.shift_remove("additionalProperties");
        }
        if !self.detail.has_variants {
            self.lacks_variants = true;
            self.is_loose = true;
            return Ok(());
        }
        variant_rule::report(self.notes, &trail.position(), variants);
        let mut added = Map::new();
        for (name, schemas) in variants.added() {
            self.spend(name.len() + KEYWORD_BYTES)?;
            let schema = self.alternatives(schemas, trail.level + 1)?;
            added.insert((*name).to_owned(), self.with_note(schema, owners_note(variants, name)));
        }
        let properties = translated.entry("properties").or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            for (name, schema) in added {
                properties.entry(name).or_insert(schema);
            }
        }
        let required: Vec<String> = strings(translated.get("required")).map(str::to_owned).collect();
        if let Some(rule) = VariantRule::new(self, variants, &|name| Some(name.to_owned()), &required, trail.level)? {
            rule.apply(translated, self.description_chars());
        }
        Ok(())
    }

    /// Translates the schemas of which one applies, for a `part` on nesting level `level`.
    pub(super) fn alternatives_of(
        &mut self,
        schemas: &[LocatedValue<'d>],
        part: RequestPart,
        level: usize,
    ) -> Result<Value, TooLarge> {
        self.part = part;
        self.alternatives(schemas, level)
    }

    fn alternatives(&mut self, schemas: &[LocatedValue<'d>], level: usize) -> Result<Value, TooLarge> {
        let mut translated = Vec::with_capacity(schemas.len());
        for schema in schemas {
            let schema = self.any(schema.value, &SchemaTrail::start(&schema.at, level))?;
            if !translated.contains(&schema) {
                translated.push(schema);
            }
        }
        Ok(match translated.len() {
            0 | 1 => translated.pop().unwrap_or_else(|| json!({})),
            _ => json!({ "anyOf": translated }),
        })
    }

    fn with_note(&self, mut schema: Value, note: Option<String>) -> Value {
        if let (Some(note), Value::Object(members)) = (note.filter(|_| !self.detail.is_bare), &mut schema) {
            append_description(members, &note);
        }
        schema
    }

    /// Returns the maximum length of a generated description.
    pub(super) fn description_chars(&self) -> usize {
        if self.detail.is_bare { 0 } else { self.detail.description_chars.max(MIN_VARIANT_CHARS) }
    }

    /// Translates a `$ref` and its siblings: all of them in 3.1, only annotations in 3.0.
    fn reference(
        &mut self,
        reference: &str,
        members: &'d Map<String, Value>,
        trail: &SchemaTrail<'_, 'd>,
    ) -> Result<Value, TooLarge> {
        let is_parent = std::mem::take(&mut self.is_parent);
        let target = match self.target(reference, trail.file()) {
            Ok(target) => self.referred(&target, is_parent, trail.level)?,
            Err(error) => {
                self.is_loose = true;
                self.notes.remark_at(&trail.position(), format_args!("{error}; any value is accepted"));
                json!({})
            }
        };
        let keeps_all = self.document.version >= Version::V3_1;
        let mut beside = Map::new();
        self.keywords(members, |keyword| keeps_all || is_annotation(keyword), trail, &mut beside)?;
        Ok(self.finish(members, join(target, beside)))
    }

    /// Follows one `$ref`, because the siblings of each `$ref` in a chain count. Fails if the chain as a whole cannot
    /// be resolved.
    fn target(&self, reference: &str, from: &'d SourceFile) -> Result<LocatedValue<'d>, ReferenceError> {
        let target = self.document.lookup(reference, from)?;
        target.follow()?;
        Ok(target)
    }

    /// Returns a copy of a small schema, otherwise a reference to its definition. `is_parent`: whether the referring
    /// schema extends it.
    fn referred(&mut self, target: &LocatedValue<'d>, is_parent: bool, level: usize) -> Result<Value, TooLarge> {
        let end = self.subtypes.extended(target);
        let is_parent = is_parent && end.is_some();
        let target = end.as_ref().filter(|_| is_parent).unwrap_or(target);
        // The variants of a schema are too many to be copied.
        if (is_parent || end.is_none()) && is_copied(self.copied, target) {
            let outer = self.without_variants;
            if is_parent {
                self.without_variants = target.value.as_object().map(address);
            }
            let copy = self.schema(target, self.part, level);
            self.without_variants = outer;
            return copy;
        }
        if level >= self.detail.levels && !self.definitions.has(target, self.part, is_parent) {
            let end = self.document.end_of(target.value, target.at.file());
            let end = end.and_then(|(end, _)| end.as_object());
            self.is_loose |= end.is_none();
            return Ok(end.map_or_else(|| json!({}), |members| self.cut(members)));
        }
        let name = self.definitions.name_of(target, self.part, is_parent, level + 1);
        self.spend(DEFINITIONS.len() + name.len() + KEYWORD_BYTES)?;
        Ok(json!({ "$ref": format!("{DEFINITIONS}{name}") }))
    }

    /// Returns the reduced form of a schema below the last level: its type and description.
    fn cut(&mut self, members: &'d Map<String, Value>) -> Value {
        let mut kept = Map::new();
        let types = types_of(members);
        if !types.is_empty() {
            kept.insert("type".to_owned(), type_value(&types));
        }
        let text = members.get("description").and_then(Value::as_str);
        if let Some(text) = text.filter(|_| !self.detail.is_bare) {
            kept.insert("description".to_owned(), shorten(&plain_text(text), self.detail.description_chars).into());
        }
        let is_cut = members.keys().any(|key| !kept.contains_key(key) && form(key).is_some());
        self.is_cut |= is_cut;
        self.is_loose |= is_cut;
        self.finish(members, kept)
    }

    fn keywords(
        &mut self,
        members: &'d Map<String, Value>,
        is_included: impl Fn(&str) -> bool,
        trail: &SchemaTrail<'_, 'd>,
        translated: &mut Map<String, Value>,
    ) -> Result<(), TooLarge> {
        for (key, value) in members.iter().filter(|(key, _)| is_included(key)) {
            let Some(form) = form(key) else { continue };
            self.spend(key.len() + KEYWORD_BYTES)?;
            let child = trail.keyword(key);
            let (key, value) = match form {
                // OpenAPI 3.0 and Swagger 2.0 have no tuples: a list of one schema is the schema of every item.
                KeywordForm::Schema if is_list_of_one(value) && self.document.version < Version::V3_1 => {
                    let item = value.get(0).unwrap_or(&Value::Null);
                    (key.as_str(), Some(self.any(item, &child.item(0))?))
                }
                KeywordForm::Schema if value.is_array() => ("prefixItems", self.list(value, false, &child)?),
                KeywordForm::Schema => (key.as_str(), Some(self.any(value, &child)?)),
                KeywordForm::Schemas => {
                    let has_parents = key == "allOf" && self.subtypes.extends(members);
                    (key.as_str(), self.list(value, has_parents, &child)?)
                }
                KeywordForm::SchemaMap => (key.as_str(), self.map(value, &child)?),
                _ => self.leaf(key, form, members, &child)?,
            };
            if let Some(value) = value {
                translated.insert(key.to_owned(), value);
            }
        }
        Ok(())
    }

    fn leaf<'k>(
        &mut self,
        key: &'k str,
        form: KeywordForm,
        members: &Map<String, Value>,
        trail: &SchemaTrail<'_, 'd>,
    ) -> Result<(&'k str, Option<Value>), TooLarge> {
        let is_list = members.get(key).and_then(Value::as_array).is_some_and(|values| values.len() > MANY_VALUES);
        if self.detail.is_bare && (is_annotation(key) || is_list && form == KeywordForm::Enum) {
            self.is_loose |= form == KeywordForm::Enum;
            return Ok((key, None));
        }
        let leaf = leaf(key, form, members, self.detail.description_chars);
        if let Some(loss) = leaf.loss {
            self.is_loose |= leaf.value.is_none() && !is_annotation(key);
            self.notes.remark_at(&trail.position(), loss);
        }
        if let Some(value) = &leaf.value {
            self.spend(value.as_str().map_or_else(|| value.to_string().len(), str::len))?;
        }
        Ok((leaf.key.unwrap_or(key), leaf.value))
    }

    /// Translates a list of schemas. `has_parents`: whether its references are the schemas that the list's holder
    /// extends.
    fn list(
        &mut self,
        value: &'d Value,
        has_parents: bool,
        trail: &SchemaTrail<'_, 'd>,
    ) -> Result<Option<Value>, TooLarge> {
        let schemas = value.as_array().filter(|schemas| !schemas.is_empty());
        // A single alternative without a list.
        if value.is_object() {
            return Ok(Some(json!([self.any(value, trail)?])));
        }
        let Some(schemas) = schemas else { return Ok(self.malformed(trail)) };
        let mut translated = Vec::with_capacity(schemas.len());
        for (index, schema) in schemas.iter().enumerate() {
            self.is_parent = has_parents && schema.get("$ref").is_some_and(Value::is_string);
            translated.push(match schema {
                // YAML parses an unquoted `null` as a null value.
                Value::Object(members) if members.len() == 1 && members.get("type") == Some(&Value::Null) => {
                    json!({"type": "null"})
                }
                schema => self.any(schema, &trail.item(index))?,
            });
        }
        Ok(Some(Value::Array(translated)))
    }

    fn map(&mut self, value: &'d Value, trail: &SchemaTrail<'_, 'd>) -> Result<Option<Value>, TooLarge> {
        let Some(schemas) = value.as_object() else { return Ok(self.malformed(trail)) };
        let mut translated = Map::new();
        for (name, schema) in schemas {
            let member = trail.member(name);
            self.spend(name.len() + KEYWORD_BYTES)?;
            translated.insert(name.clone(), self.any(schema, &member)?);
        }
        Ok(Some(Value::Object(translated)))
    }

    fn malformed(&mut self, trail: &SchemaTrail<'_, 'd>) -> Option<Value> {
        self.is_loose = true;
        self.notes.remark_at(&trail.position(), "has a value of the wrong form; left out");
        None
    }

    /// Adopts `required: true` inside properties (JSON Schema draft 3) into the list `required`.
    fn take_over_required(
        &mut self,
        members: &'d Map<String, Value>,
        trail: &SchemaTrail<'_, 'd>,
        translated: &mut Map<String, Value>,
    ) {
        let properties = members.get("properties").and_then(Value::as_object).into_iter().flatten();
        for (name, schema) in properties {
            if !schema.get("required").is_some_and(|flag| flag == true || flag == "true") {
                continue;
            }
            let required = translated.entry("required").or_insert_with(|| json!([]));
            let Some(names) = required.as_array_mut() else { return };
            if !names.iter().any(|required| required == name) {
                names.push(name.as_str().into());
                let properties = trail.member("properties");
                self.notes.remark_at(
                    &properties.member(name).position(),
                    "has `required: true` itself and is treated as required",
                );
            }
        }
    }

    /// Removes read-only properties from `properties` and `required`, here and in every branch of `allOf`.
    fn hide_read_only(&self, schema: &'d Value, file: &'d SourceFile, translated: &mut Map<String, Value>) {
        // A path parameter is always sent, even if its schema is read-only.
        if self.part == RequestPart::Path {
            return;
        }
        let hidden = read_only_names(self.document, schema, file);
        if hidden.is_empty() {
            return;
        }
        remove_properties(translated, &hidden);
        let branches = translated.get_mut("allOf").and_then(Value::as_array_mut);
        for branch in branches.into_iter().flatten().filter_map(Value::as_object_mut) {
            remove_properties(branch, &hidden);
        }
        let visible = visible_by_reference(self.document, schema, file, &hidden);
        if let (false, Some(Value::Array(branches))) = (visible.is_empty(), translated.get_mut("allOf")) {
            let has: Vec<Value> = visible.iter().map(|name| json!({"required": [name]})).collect();
            branches.push(json!({"not": {"anyOf": has}}));
        }
    }

    /// Applies `nullable`, which has no meaning from OpenAPI 3.1 on, where the type `null` is used instead.
    fn finish(&self, members: &Map<String, Value>, translated: Map<String, Value>) -> Value {
        let is_nullable = self.document.version < Version::V3_1 && is_nullable(members);
        Value::Object(if is_nullable { make_nullable(translated) } else { translated })
    }

    pub(super) fn spend(&mut self, bytes: usize) -> Result<(), TooLarge> {
        self.bytes_left = self.bytes_left.checked_sub(bytes).ok_or(TooLarge)?;
        Ok(())
    }
}

/// Removes the properties with the `hidden` names.
pub(super) fn remove_properties(schema: &mut Map<String, Value>, hidden: &HashSet<&str>) {
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.retain(|name, _| !hidden.contains(name.as_str()));
    }
    if let Some(Value::Array(names)) = schema.get_mut("required") {
        names.retain(|name| name.as_str().is_some_and(|name| !hidden.contains(name)));
    }
}

/// Merges a referenced schema with the siblings of the `$ref`, which describe this use and therefore take precedence.
fn join(target: Value, beside: Map<String, Value>) -> Map<String, Value> {
    let target = match target {
        Value::Object(members) => members,
        // `true` equals the empty schema; `false` is its negation.
        Value::Bool(false) => Map::from_iter([("not".to_owned(), json!({}))]),
        _ => Map::new(),
    };
    let conflicts = beside.keys().any(|key| !is_annotation(key) && target.contains_key(key));
    let mut joined = if conflicts { Map::from_iter([("allOf".to_owned(), json!([target]))]) } else { target };
    if conflicts && beside.contains_key("allOf") {
        let both = json!([Value::Object(joined), Value::Object(beside)]);
        return Map::from_iter([("allOf".to_owned(), both)]);
    }
    joined.extend(beside);
    joined
}
