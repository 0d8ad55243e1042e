//! Builds the schema of a tool's argument object, in as much detail as the size limit allows.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::definitions::RequestPart;
use super::emptiness::{self, EmptyValueRule};
use super::keyword::append_description;
use super::leaf::examples;
use super::loops::{open_loops, relax};
use super::shared::{self, SharedSchemas, ToolSchema};
use super::single_value::take_single_values;
use super::translator::{SchemaDetail, SchemaTranslator, TooLarge};
use super::variant_rule::VariantRule;
use crate::schema::subtypes::Variants;
use crate::tool::markup::plain_text;
use crate::tool::text::shorten;
use crate::{ApiDocument, DocumentLimits, LoadNotes, LocatedValue, Subtypes, ValuePositionId};

/// Upper bound of `limits.schema_depth`. Each schema level takes two levels of JSON, which must stay below the 127
/// that JSON parsers commonly accept.
const MAX_LEVELS: usize = 48;

/// Maximum length of a property's description, in characters, if the full schema is too large.
const SHORT_DESCRIPTION_CHARS: usize = 160;

/// Numbers of levels that are tried in descending order if shorter descriptions do not suffice.
const FEWER_LEVELS: [usize; 9] = [16, 12, 8, 6, 5, 4, 3, 2, 1];

/// One member of an argument object.
pub(crate) struct ObjectArgument<'d> {
    pub(crate) name: String,
    /// Schema of its values.
    pub(crate) schema: ArgumentSchema<'d>,
    /// The part of the request to which the argument belongs.
    pub(crate) part: RequestPart,
    /// Description of the parameter itself; precedes the schema's description.
    pub(crate) description: Option<&'d str>,
    /// Example values, used if the schema has none.
    pub(crate) examples: Vec<&'d Value>,
    /// Hint for the model on how to write the value; appended to the description and never shortened.
    pub(crate) hint: Option<String>,
    /// Whether every call must have the argument.
    pub(crate) required: bool,
    /// Handling of empty values.
    pub(crate) empty: EmptyValueRule,
    /// Whether the document marks the argument as deprecated.
    pub(crate) deprecated: bool,
}

/// Source of an argument's schema.
pub(crate) enum ArgumentSchema<'d> {
    /// A schema of the document.
    Document(LocatedValue<'d>),
    /// Schemas of the document, of which one applies.
    Alternatives(Vec<LocatedValue<'d>>),
    /// An object with these members.
    Object(Vec<ObjectArgument<'d>>),
    /// A generated schema, if the document has no suitable one.
    Own(Value),
}

/// The variants of a body whose properties are arguments.
pub(crate) struct ArgumentVariants<'d> {
    pub(crate) variants: Variants<'d>,
    /// Names of the arguments by the name of the property.
    pub(crate) names: HashMap<&'d str, String>,
}

/// Builds the argument schemas of a document's operations.
pub(crate) struct SchemaWriter<'d> {
    document: &'d ApiDocument,
    subtypes: &'d Subtypes<'d>,
    limits: &'d DocumentLimits,
    copied: HashMap<ValuePositionId, bool>,
    shared: SharedSchemas,
}

impl<'d> SchemaWriter<'d> {
    pub(crate) fn new(document: &'d ApiDocument, subtypes: &'d Subtypes<'d>, limits: &'d DocumentLimits) -> Self {
        Self { document, subtypes, limits, copied: HashMap::new(), shared: SharedSchemas::default() }
    }

    /// Returns the schema of an object with these members and no others, without the required members that have a
    /// single allowed value. `variants` are those of the members that belong to the body.
    ///
    /// # Errors
    ///
    /// Returns an error if the schema exceeds the size limit even without nested levels.
    pub(crate) fn write(
        &mut self,
        arguments: &[ObjectArgument<'d>],
        variants: Option<&ArgumentVariants<'d>>,
        notes: &mut LoadNotes,
    ) -> Result<ToolSchema, String> {
        let key = shared::key(arguments);
        if let Some(schema) = self.shared.find(&key).filter(|_| variants.is_none()) {
            return Ok(schema);
        }
        let remarks = notes.count();
        let object = ObjectMembers { arguments, variants };
        let mut schema = self.write_new(object, notes)?;
        // The model selects the variant, even if there is only one, unless nothing depends on it.
        let selector = variants.and_then(|variants| variants.names.get(variants.variants.selector));
        let selector = selector.filter(|name| schema["dependentSchemas"].get(name.as_str()).is_some());
        let single_values = take_single_values(&mut schema, selector.map(String::as_str));
        // A remark applies to one operation or position, so that operations with remarks are translated one by one.
        let key = (notes.count() == remarks && variants.is_none()).then_some(key);
        Ok(self.shared.add(key, schema, single_values))
    }

    fn write_new(&mut self, object: ObjectMembers<'_, 'd>, notes: &mut LoadNotes) -> Result<Value, String> {
        let whole = self.whole();
        let (written, detail) = match self.attempt(object, whole, notes) {
            Ok(written) => (written, whole),
            Err(TooLarge) => self.write_less(object, notes)?,
        };
        if detail.is_bare {
            notes.remark(format!(
                "the argument schema is larger than {} bytes; descriptions, examples and long enumerations are left out",
                detail.bytes
            ));
        } else if detail != whole {
            notes.remark(format!(
                "the argument schema is larger than {} bytes; descriptions of arguments are cut to {} characters",
                detail.bytes, detail.description_chars
            ));
        }
        if written.lacks_variants {
            notes.remark("the variants of schemas with a discriminator are left out; their properties are accepted without being described");
        }
        if written.is_cut {
            notes.remark(format!("arguments nested deeper than {} levels accept any value", detail.levels));
        }
        if written.is_relaxed {
            notes.remark(
                "some parts accept more than the document specifies; there, `oneOf` becomes `anyOf`, and `not` and `if` are left out",
            );
        }
        for name in written.opened {
            notes.remark(format!("`{name}` refers to itself for the same value; any value is accepted there"));
        }
        Ok(written.schema)
    }

    /// Finds the most detailed schema that fits by bisection, because less detail never takes more bytes.
    fn write_less(
        &mut self,
        object: ObjectMembers<'_, 'd>,
        notes: &mut LoadNotes,
    ) -> Result<(BoundedSchema, SchemaDetail), String> {
        let details = self.less();
        let at = details.partition_point(|detail| self.attempt(object, *detail, notes).is_err());
        let fitting = details.get(at).and_then(|detail| Some((self.attempt(object, *detail, notes).ok()?, *detail)));
        fitting.ok_or_else(|| {
            let bytes = self.limits.schema_bytes;
            format!("its argument schema is larger than {bytes} bytes even without nested levels; raise `limits.schema_bytes`")
        })
    }

    fn whole(&self) -> SchemaDetail {
        let levels = self.limits.schema_depth.clamp(1, MAX_LEVELS);
        SchemaDetail {
            levels,
            description_chars: usize::MAX,
            bytes: self.limits.schema_bytes,
            has_variants: true,
            is_bare: false,
        }
    }

    fn less(&self) -> Vec<SchemaDetail> {
        let whole = SchemaDetail { description_chars: SHORT_DESCRIPTION_CHARS, ..self.whole() };
        let plain = SchemaDetail { has_variants: false, ..whole };
        let fewer = FEWER_LEVELS.into_iter().filter(|levels| *levels < whole.levels);
        let bare = [1, 0].map(|levels| SchemaDetail { levels, is_bare: true, ..plain });
        [whole, plain].into_iter().chain(fewer.map(|levels| SchemaDetail { levels, ..plain })).chain(bare).collect()
    }

    fn attempt(
        &mut self,
        object: ObjectMembers<'_, 'd>,
        detail: SchemaDetail,
        notes: &mut LoadNotes,
    ) -> Result<BoundedSchema, TooLarge> {
        let ObjectMembers { arguments, variants } = object;
        let mut translator = SchemaTranslator::new(self.document, self.subtypes, &mut self.copied, notes, detail);
        let mut properties = Map::new();
        let mut loose_properties = HashSet::new();
        for argument in arguments {
            properties.insert(argument.name.clone(), property(&mut translator, argument, detail, 1)?);
            if translator.take_loose() {
                loose_properties.insert(argument.name.clone());
            }
        }
        let rule = match variants {
            Some(variants) => variants.rule(&mut translator, arguments)?,
            None => None,
        };
        let mut definitions = translator.definitions()?;
        let (is_cut, lacks_variants) = (translator.is_cut, translator.lacks_variants);
        let rule_chars = translator.description_chars();
        let mut loose = std::mem::take(&mut translator.loose);
        let opened = open_loops(&mut definitions);
        loose.extend(opened.iter().cloned());
        let is_relaxed = relax(&mut properties, &loose_properties, &mut definitions, loose);
        let mut schema = object_schema(arguments, properties, definitions);
        if let (Some(rule), Some(members)) = (rule, schema.as_object_mut()) {
            rule.apply(members, rule_chars);
        }
        let fits = schema.to_string().len() <= detail.bytes;
        fits.then_some(BoundedSchema { schema, is_cut, lacks_variants, is_relaxed, opened }).ok_or(TooLarge)
    }
}

/// The members of an argument object.
#[derive(Clone, Copy)]
struct ObjectMembers<'o, 'd> {
    arguments: &'o [ObjectArgument<'d>],
    variants: Option<&'o ArgumentVariants<'d>>,
}

impl<'d> ArgumentVariants<'d> {
    fn rule(
        &self,
        translator: &mut SchemaTranslator<'_, 'd>,
        arguments: &[ObjectArgument<'d>],
    ) -> Result<Option<VariantRule>, TooLarge> {
        let required: Vec<String> =
            arguments.iter().filter(|argument| argument.required).map(|argument| argument.name.clone()).collect();
        VariantRule::new(translator, &self.variants, &|name| self.offered(name, arguments), &required, 0)
    }

    /// Returns the argument for a property; `None` if it is not offered.
    fn offered(&self, name: &str, arguments: &[ObjectArgument<'d>]) -> Option<String> {
        let argument = self.names.get(name)?;
        arguments.iter().any(|other| other.name == *argument).then(|| argument.clone())
    }
}

/// Returns the schema of one member on nesting level `level`.
fn property<'d>(
    translator: &mut SchemaTranslator<'_, 'd>,
    argument: &ObjectArgument<'d>,
    detail: SchemaDetail,
    level: usize,
) -> Result<Value, TooLarge> {
    let schema = match &argument.schema {
        ArgumentSchema::Document(schema) => translator.schema(schema, argument.part, level)?,
        ArgumentSchema::Alternatives(schemas) => translator.alternatives_of(schemas, argument.part, level)?,
        ArgumentSchema::Own(schema) => schema.clone(),
        ArgumentSchema::Object(members) => {
            let mut properties = Map::new();
            for member in members {
                properties.insert(member.name.clone(), property(translator, member, detail, level + 1)?);
            }
            object_schema(members, properties, Map::new())
        }
    };
    Ok(described(schema, argument, detail))
}

/// An argument schema within the size limit.
struct BoundedSchema {
    schema: Value,
    /// Whether a part was nested too deeply.
    is_cut: bool,
    /// Whether variants were left out.
    lacks_variants: bool,
    /// Whether keywords were dropped that reject values which another schema accepts.
    is_relaxed: bool,
    /// Definitions whose recursion would never end, and that were opened.
    opened: Vec<String>,
}

fn object_schema(
    arguments: &[ObjectArgument<'_>],
    properties: Map<String, Value>,
    definitions: Map<String, Value>,
) -> Value {
    let required: Vec<&str> =
        arguments.iter().filter(|argument| argument.required).map(|argument| argument.name.as_str()).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    if !definitions.is_empty() {
        schema.insert("$defs".to_owned(), definitions.into());
    }
    Value::Object(schema)
}

/// Adds description, hint, examples and deprecation of `argument` to `schema`. The parameter's description comes
/// first, because it describes this use. The schema's description follows, unless it is a repetition.
fn described(schema: Value, argument: &ObjectArgument<'_>, detail: SchemaDetail) -> Value {
    let mut members = match schema {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    if let Some(text) = argument.description.filter(|_| !detail.is_bare).map(plain_text) {
        let own = members.get("description").and_then(Value::as_str).filter(|own| !text.contains(*own));
        let whole = own.map_or_else(|| text.to_string(), |own| format!("{text}\n{own}"));
        members.insert("description".to_owned(), shorten(&whole, detail.description_chars).into());
    }
    if let Some(hint) = &argument.hint {
        append_description(&mut members, hint);
    }
    let has_examples = detail.is_bare || members.contains_key("examples");
    if let Some(kept) = examples(&argument.examples).filter(|_| !has_examples) {
        members.insert("examples".to_owned(), kept);
    }
    if argument.deprecated {
        members.insert("deprecated".to_owned(), true.into());
    }
    Value::Object(emptiness::apply(argument.empty, argument.required, members))
}
