//! Polymorphism by inheritance: the schemas that extend a schema with a `discriminator` by `allOf`.
//!
//! The parent does not list them (OpenAPI 3.0.4, Composition and Inheritance; Swagger 2.0, Models with Polymorphism
//! Support). A request described by the parent is one of them, selected by the value of the discriminator.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Map, Value};

use crate::request::body::PLAIN_OBJECT;
use crate::schema::{is_annotation, read_only_names};
use crate::tool::text::{distinct, is_among, strings};
use crate::{ApiDocument, LocatedValue, SourceFile, ValuePositionId};
use callwright_common::text::letters;

/// Maximum number of variants of one schema; further ones are reported.
const MAX_VARIANTS: usize = 256;

/// Maximum nesting of `allOf` in a variant.
const MAX_LEVELS: usize = 16;

/// Extension of AutoRest for the discriminator's value.
const VALUE_EXTENSION: &str = "x-ms-discriminator-value";

/// The schemas of a document that extend others.
#[derive(Debug, Default)]
pub(crate) struct Subtypes<'d> {
    /// Component schemas by the position of a schema that they extend directly.
    children: HashMap<ValuePositionId, Vec<LocatedValue<'d>>>,
    /// Memory addresses of those of them that add something. The others are other names of the same schema.
    extending: HashSet<usize>,
}

/// A schema with a discriminator, and the schemas that extend it.
#[derive(Debug, Clone)]
pub(crate) struct Variants<'d> {
    /// Name of the discriminator property.
    pub(crate) selector: &'d str,
    pub(crate) variants: Vec<Variant<'d>>,
    /// Whether the names are all values that the discriminator may have, and the schema itself does not list them.
    pub(crate) is_complete: bool,
    /// Further values that the parent schema itself gives.
    pub(crate) other_values: Vec<&'d str>,
    /// Whether the parent schema forbids additional properties.
    is_closed: bool,
    /// Number of variants beyond [`MAX_VARIANTS`].
    pub(crate) left_out: usize,
    /// Keywords of the parent that only list its variants. They refer to it in turn, so that they cannot be evaluated.
    pub(crate) alternatives: Vec<&'static str>,
    /// Names of the parent's own properties.
    own: HashSet<&'d str>,
    /// The properties of the variants with all their different schemas, in order.
    members: Vec<(&'d str, Vec<LocatedValue<'d>>)>,
    /// Indexes of `members` by name.
    indexes: HashMap<&'d str, usize>,
}

/// A schema that extends another one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Variant<'d> {
    pub(crate) schema_name: String,
    /// Values of the discriminator that select it; empty if they are not known.
    pub(crate) names: Vec<String>,
    /// The properties that it adds or restates, without the discriminator.
    pub(crate) members: Vec<(&'d str, LocatedValue<'d>)>,
    /// Names of required properties, without the discriminator.
    pub(crate) required: Vec<&'d str>,
    /// Whether it forbids additional properties.
    is_closed: bool,
    /// Whether it allows any additional properties.
    is_open: bool,
    /// Keywords that are not represented.
    pub(crate) ignored: Vec<&'d str>,
    /// Values to which it restricts the discriminator itself.
    own_values: Vec<&'d str>,
    /// Names of `members`.
    has: HashSet<&'d str>,
}

impl<'d> Subtypes<'d> {
    /// Indexes the component schemas of all files.
    pub(crate) fn new(document: &'d ApiDocument) -> Self {
        let mut found = Self::default();
        for root in document.file_roots() {
            let components = root.member("components").and_then(|components| components.member("schemas"));
            for schemas in [components, root.member("definitions")].into_iter().flatten() {
                schemas.members().for_each(|(_, schema)| found.add(schema));
            }
        }
        found
    }

    fn add(&mut self, schema: LocatedValue<'d>) {
        let Some(branches) = schema.member("allOf").filter(|_| schema.reference().is_none()) else { return };
        let Some(members) = schema.value.as_object() else { return };
        let adds = branches.items().count() > 1 || members.keys().any(|key| key != "allOf" && !is_annotation(key));
        for branch in branches.items().filter(|branch| branch.reference().is_some()) {
            if let Ok(parent) = branch.follow() {
                self.children.entry(parent.at.id()).or_default().push(schema.clone());
                if adds {
                    self.extending.insert(address(members));
                }
            }
        }
    }

    /// Whether the schema with these members is a component that extends another schema.
    pub(crate) fn extends(&self, members: &Map<String, Value>) -> bool {
        self.extending.contains(&address(members))
    }

    /// Returns the end of the references from `schema` if it has a discriminator, and other schemas extend it.
    pub(crate) fn extended(&self, schema: &LocatedValue<'d>) -> Option<LocatedValue<'d>> {
        if self.children.is_empty() {
            return None;
        }
        let end = schema.follow().ok()?;
        (selector(&end).is_some() && self.children.contains_key(&end.at.id())).then_some(end)
    }

    /// Returns the variants of `schema`; `None` if it has no discriminator, or no schema extends it.
    pub(crate) fn variants(&self, schema: &LocatedValue<'d>) -> Option<Variants<'d>> {
        let selector = selector(schema)?;
        let id = schema.at.id();
        let mapping = mapping(schema);
        let mut descendants = self.descendants(schema);
        if descendants.is_empty() {
            return None;
        }
        if !mapping.is_empty() {
            // Schemas that the mapping omits are not values of it, such as those between parent and variant.
            let mapped: HashSet<ValuePositionId> = mapping.iter().map(|(_, target)| target.at.id()).collect();
            descendants.retain(|child| mapped.contains(&child.at.id()));
            let known: HashSet<ValuePositionId> = descendants.iter().map(|child| child.at.id()).collect();
            let mut others: Vec<LocatedValue<'d>> = Vec::new();
            for (_, target) in &mapping {
                if !known.contains(&target.at.id()) && others.iter().all(|other| other.at != target.at) {
                    others.push(target.clone());
                }
            }
            descendants.extend(others);
        }
        let left_out = descendants.len().saturating_sub(MAX_VARIANTS);
        descendants.truncate(MAX_VARIANTS);
        let members = schema.value.as_object()?;
        let mut alternatives = vec!["oneOf", "anyOf"];
        alternatives.retain(|keyword| self.lists_only(schema, keyword, &descendants));
        let own = members.get("properties").and_then(Value::as_object).into_iter().flatten();
        let mut variants = Variants {
            selector,
            variants: Vec::new(),
            is_complete: true,
            other_values: Vec::new(),
            is_closed: is_false(members.get("additionalProperties")),
            left_out,
            alternatives,
            own: own.map(|(name, _)| name.as_str()).collect(),
            members: Vec::new(),
            indexes: HashMap::new(),
        };
        let read_only = |schema: &LocatedValue<'d>| read_only_names(schema.document, schema.value, schema.at.file());
        let hidden = read_only(schema);
        let mut are_implied = true;
        for child in descendants {
            let mut variant = Variant::new(&child);
            if child.at.id() != id {
                let mut hidden = hidden.clone();
                hidden.extend(read_only(&child));
                variant.collect(&child, &CollectionLimits { parent: &id, selector, hidden: &hidden }, MAX_LEVELS);
            }
            let mapped = mapping.iter().filter(|(_, target)| target.at.id() == child.at.id());
            let mapped: Vec<String> = mapped.map(|(name, _)| (*name).to_owned()).collect();
            let extension = child.text(VALUE_EXTENSION).map(str::to_owned);
            let own_values: Vec<String> = variant.own_values.iter().map(|value| (*value).to_owned()).collect();
            let explicit =
                [mapped, extension.into_iter().collect(), own_values].into_iter().find(|all| !all.is_empty());
            are_implied &= explicit.is_none();
            variant.names = explicit.unwrap_or_else(|| vec![variant.schema_name.clone()]);
            variants.add(variant);
        }
        variants.match_values(schema, are_implied);
        Some(variants)
    }

    /// Whether all schemas in the list `keyword` of `schema` are among its descendants.
    fn lists_only(&self, schema: &LocatedValue<'d>, keyword: &str, descendants: &[LocatedValue<'d>]) -> bool {
        let Some(list) = schema.member(keyword).filter(|list| list.value.is_array()) else { return false };
        list.items().all(|item| {
            let target = item.reference().and_then(|_| item.follow().ok());
            target.is_some_and(|target| descendants.iter().any(|child| child.at == target.at))
        })
    }

    /// Returns the schemas that extend `schema`, directly or not. A schema with a discriminator of its own is one of
    /// them, but its descendants are selected by that discriminator.
    fn descendants(&self, schema: &LocatedValue<'d>) -> Vec<LocatedValue<'d>> {
        let own = selector(schema);
        let mut found: Vec<LocatedValue<'d>> = Vec::new();
        let mut seen = HashSet::from([schema.at.id()]);
        let mut waiting = VecDeque::from([schema.at.id()]);
        while let Some(parent) = waiting.pop_front() {
            for child in self.children.get(&parent).into_iter().flatten() {
                if !seen.insert(child.at.id()) {
                    continue;
                }
                if selector(child).is_none_or(|other| Some(other) == own) {
                    waiting.push_back(child.at.id());
                }
                found.push(child.clone());
            }
        }
        found
    }
}

impl<'d> Variants<'d> {
    /// Compares the names of the variants with the values that the parent itself gives for the discriminator. Names
    /// that are only implied by the names of schemas are often written differently by the API.
    fn match_values(&mut self, schema: &LocatedValue<'d>, are_implied: bool) {
        let described = schema.member("properties").and_then(|properties| properties.member(self.selector));
        let Some(described) = described.and_then(|described| described.follow().ok()) else { return };
        let listed: Vec<&str> = strings(described.get("enum")).collect();
        if !listed.is_empty() {
            self.is_complete = false;
            for variant in &mut self.variants {
                variant.names = matching(&variant.names, &listed);
            }
            return;
        }
        let given = ["default", "example"].into_iter().filter_map(|keyword| described.get(keyword)?.as_str());
        for value in given.chain(strings(described.get("examples"))) {
            let names = self.variants.iter().flat_map(|variant| &variant.names);
            if names.clone().any(|name| name == value) || self.other_values.contains(&value) {
                continue;
            }
            if are_implied && names.clone().any(|name| letters(name) == letters(value)) {
                self.is_complete = false;
                self.variants.iter_mut().for_each(|variant| variant.names.clear());
                return;
            }
            self.other_values.push(value);
        }
    }

    /// Returns the names of all variants.
    pub(crate) fn names(&self) -> Vec<&str> {
        distinct(self.variants.iter().flat_map(|variant| &variant.names).map(String::as_str))
    }

    /// Whether the variants add only properties, which can be offered beside those of the parent.
    pub(crate) fn are_plain(&self) -> bool {
        self.left_out == 0 && self.variants.iter().all(|variant| variant.ignored.is_empty() && !variant.is_open)
    }

    fn add(&mut self, variant: Variant<'d>) {
        for (name, schema) in &variant.members {
            let index = *self.indexes.entry(name).or_insert(self.members.len());
            match self.members.get_mut(index) {
                Some((_, schemas)) if schemas.iter().all(|other| !is_same(other, schema)) => {
                    schemas.push(schema.clone())
                }
                Some(_) => {}
                None => self.members.push((name, vec![schema.clone()])),
            }
        }
        self.variants.push(variant);
    }

    /// Returns the properties that the parent does not have, with all their different schemas, in order.
    pub(crate) fn added(&self) -> impl Iterator<Item = &(&'d str, Vec<LocatedValue<'d>>)> {
        self.members.iter().filter(|(name, _)| !self.own.contains(name))
    }

    /// Returns the names of the variants with the property `name`, unless all variants or the parent have it, or their
    /// names are not known.
    pub(crate) fn owners(&self, name: &str) -> Vec<&str> {
        let (with, without): (Vec<&Variant<'d>>, Vec<&Variant<'d>>) =
            self.variants.iter().partition(|variant| variant.has.contains(name));
        if without.is_empty() || self.own.contains(name) || with.iter().any(|variant| variant.names.is_empty()) {
            return Vec::new();
        }
        with.into_iter().flat_map(|variant| &variant.names).map(String::as_str).collect()
    }

    /// Returns the properties that `variant` describes differently than the parent or another variant.
    pub(crate) fn restated<'v>(
        &'v self,
        variant: &'v Variant<'d>,
    ) -> impl Iterator<Item = &'v (&'d str, LocatedValue<'d>)> {
        variant.members.iter().filter(|(name, _)| {
            let schemas = self.indexes.get(name).and_then(|index| self.members.get(*index));
            self.own.contains(name) || schemas.is_some_and(|(_, schemas)| schemas.len() > 1)
        })
    }

    /// Returns the properties of other variants, if `variant` must not have them.
    pub(crate) fn forbidden(&self, variant: &Variant<'d>) -> Vec<&'d str> {
        if !self.is_closed && !variant.is_closed || variant.is_open || !variant.ignored.is_empty() {
            return Vec::new();
        }
        self.added().map(|(name, _)| *name).filter(|name| !variant.has.contains(name)).collect()
    }
}

impl<'d> Variant<'d> {
    fn new(schema: &LocatedValue<'d>) -> Self {
        Self { schema_name: schema.at.pointer().last().unwrap_or_default(), ..Self::default() }
    }

    /// Adds what `schema` describes, within `limits`.
    fn collect(&mut self, schema: &LocatedValue<'d>, limits: &CollectionLimits<'_, 'd>, levels: usize) {
        let CollectionLimits { parent, selector, hidden } = *limits;
        let Some(members) = schema.value.as_object() else { return };
        for (key, value) in members {
            match key.as_str() {
                "allOf" => {
                    let Some(levels) = levels.checked_sub(1) else {
                        self.ignored.push("allOf");
                        continue;
                    };
                    for branch in schema.items_of("allOf") {
                        match branch.follow() {
                            Ok(branch) if branch.at.id() == *parent => {}
                            Ok(branch) => self.collect(&branch, limits, levels),
                            Err(_) => self.ignored.push("$ref"),
                        }
                    }
                }
                "properties" => {
                    let described = schema.member("properties");
                    for (name, property) in described.iter().flat_map(LocatedValue::members) {
                        if name == selector {
                            self.own_values = own_values(&property);
                        } else if !hidden.contains(name.as_str()) {
                            if !self.has.insert(name) {
                                self.members.retain(|(member, _)| member != name);
                            }
                            self.members.push((name, property));
                        }
                    }
                }
                "required" => {
                    for name in strings(Some(value)) {
                        if name != selector && !hidden.contains(name) && !self.required.contains(&name) {
                            self.required.push(name);
                        }
                    }
                }
                "additionalProperties" | "unevaluatedProperties" if is_false(Some(value)) => self.is_closed = true,
                "additionalProperties" => self.is_open = true,
                "type" if value == "object" => {}
                key if is_among(PLAIN_OBJECT, key) && key != "type" || key.starts_with("x-") => {}
                key => self.ignored.push(key),
            }
        }
    }
}

/// Parts of a variant that are not collected.
struct CollectionLimits<'c, 'd> {
    /// Position of the parent schema.
    parent: &'c ValuePositionId,
    /// Name of the discriminator.
    selector: &'c str,
    /// Names of read-only properties.
    hidden: &'c HashSet<&'d str>,
}

/// Returns the name of the discriminator property: a string in Swagger 2.0, a member of an object later.
fn selector<'d>(schema: &LocatedValue<'d>) -> Option<&'d str> {
    let discriminator = schema.get("discriminator")?;
    let name = discriminator.as_str().or_else(|| discriminator.get("propertyName")?.as_str());
    name.filter(|name| !name.is_empty())
}

/// Returns the entries of the discriminator's mapping that have a target.
fn mapping<'d>(schema: &LocatedValue<'d>) -> Vec<(&'d str, LocatedValue<'d>)> {
    let mapping = schema.get("discriminator").and_then(|discriminator| discriminator.get("mapping")?.as_object());
    let targets = mapping.into_iter().flatten().filter_map(|(name, target)| {
        Some((name.as_str(), mapped_schema(schema.document, target.as_str()?, schema.at.file())?))
    });
    targets.collect()
}

/// Resolves the target of a mapping entry: a reference, or the name of a component schema.
pub(crate) fn mapped_schema<'d>(
    document: &'d ApiDocument,
    target: &str,
    file: &'d SourceFile,
) -> Option<LocatedValue<'d>> {
    let component = format!("#/components/schemas/{target}");
    document.lookup(target, file).or_else(|_| document.lookup(&component, file)).ok()
}

/// Returns the values to which a variant restricts the discriminator.
fn own_values<'d>(property: &LocatedValue<'d>) -> Vec<&'d str> {
    let Ok(property) = property.follow() else { return Vec::new() };
    match property.get("const").and_then(Value::as_str) {
        Some(value) => vec![value],
        None => strings(property.get("enum")).collect(),
    }
}

/// Returns those of `listed` that are `names`, or the only ones that are written like them.
fn matching(names: &[String], listed: &[&str]) -> Vec<String> {
    let mut matching = Vec::new();
    for name in names {
        let mut alike = listed.iter().filter(|value| letters(value) == letters(name));
        match (listed.contains(&name.as_str()), alike.next(), alike.next()) {
            (true, ..) => matching.push(name.clone()),
            (false, Some(value), None) => matching.push((*value).to_owned()),
            _ => {}
        }
    }
    matching
}

fn is_false(value: Option<&Value>) -> bool {
    value == Some(&Value::Bool(false))
}

/// Whether two schemas are the same: relative references depend on the file.
fn is_same(a: &LocatedValue<'_>, b: &LocatedValue<'_>) -> bool {
    std::ptr::eq(a.at.file(), b.at.file()) && a.value == b.value
}

/// Returns the memory address of a schema's members, which do not move while a document is processed.
pub(crate) fn address(members: &Map<String, Value>) -> usize {
    std::ptr::from_ref(members).addr()
}
