//! Compiled JSON Schema of a tool: the normalised schema, its table of member names and a validator.

mod anchors;
mod describe;
mod normalise;
#[cfg(test)]
mod quirks;
mod shape;
mod validators;
mod value_type;
mod violations;
mod work;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use jsonschema::Validator;
use serde_json::{Map, Value};

use callwright_common::json::Pointer;
pub use describe::{Description, MAX_LISTED, describe, find_keyword, member_names, named_types, quoted};
use normalise::{NormalisedSchema, PatternEngine, build_options, normalise};
use shape::SchemaShape;
pub use shape::{NodeId, Openness, ShapeNode};
pub use validators::Validators;
pub use value_type::{type_names, type_of};
pub use violations::{MAX_FINDINGS, SchemaRule, Violation};
use work::{Extent, MAX_VISITS, SchemaWork};

/// Maximum number of subschemas to visit in all to explain violations: each may have an error of about 500 bytes.
const MAX_ERRORS: u64 = 200_000;

/// Maximum number of subschemas to visit in all, about 0.4 s. Larger arguments are not validated.
const MAX_VISITED: u64 = 20_000_000;

/// Number of locations up to which arguments are validated without a look at the work.
const FEW_LOCATIONS: u64 = 1_000;

/// Maximum number of schemas on the stack during validation. Each takes up to about 700 bytes of the 2 MB thread stack.
/// Real arguments do not need more; deeper ones count as a violation.
const MAX_STACK: usize = 1024;

/// Maximum size of the text in arguments that is judged by regular expressions with look-around or back-references, in
/// bytes. Their time is not linear, so larger arguments are judged without them.
const MAX_BACKTRACKED_BYTES: usize = 8 * 1024;

/// A parameter of a tool.
#[derive(Debug, Clone, Copy)]
pub struct Parameter<'a> {
    pub name: &'a str,
    /// Whether the parameter is required.
    pub required: bool,
    /// Normalised JSON Schema; `true` if the parameter is required but not described.
    pub schema: &'a Value,
}

/// Compiled form of one schema text, shared by all tools with that text.
#[derive(Debug)]
pub struct CompiledSchema {
    pub schema: Value,
    /// Its members and their types.
    pub shape: SchemaShape,
    validator: Option<Validator>,
    /// Validator without the regular expressions that do not take linear time, if there are any.
    linear_validator: Option<Validator>,
    work: Option<SchemaWork>,
    /// Keywords that are not applied, for people.
    pub problems: Vec<String>,
    /// Whether no value is validated, although the tool has a schema.
    is_unusable: bool,
    /// Locations in the schema whose values are not validated.
    gaps: Vec<Pointer>,
    /// Whether the problems were logged.
    pub seen: AtomicBool,
}

/// Schema in the cache of [`Validators`].
pub type SharedSchema = Arc<CompiledSchema>;

impl Default for CompiledSchema {
    fn default() -> Self {
        let schema = Value::Bool(true);
        Self {
            shape: SchemaShape::read(&schema),
            schema,
            validator: None,
            linear_validator: None,
            work: None,
            problems: Vec::new(),
            is_unusable: false,
            gaps: Vec::new(),
            seen: AtomicBool::new(false),
        }
    }
}

impl CompiledSchema {
    fn compile(parameters: &Value) -> Self {
        let NormalisedSchema { schema, draft, engine, notes: mut problems, gaps } =
            normalise(parameters, PatternEngine::Backtracking);
        let built = match SchemaWork::read(&schema) {
            Ok(work) => build_options(draft, engine)
                .build(&schema)
                .map(|validator| (validator, work))
                .map_err(|error| format!("`{}`: {}", error.instance_path(), error.masked())),
            Err(unusable) => Err(unusable.to_string()),
        };
        let (validator, work) = match built {
            Ok((validator, work)) => (Some(validator), work),
            Err(problem) => {
                problems.push(format!("the schema is not used for validation: {problem}"));
                (None, None)
            }
        };
        let linear_validator = (engine == PatternEngine::Backtracking).then(|| {
            let linear = normalise(parameters, PatternEngine::Linear);
            build_options(draft, PatternEngine::Linear).build(&linear.schema)
        });
        let linear_validator = linear_validator.and_then(Result::ok);
        let shape = SchemaShape::read(&schema);
        let (is_unusable, seen) = (validator.is_none(), AtomicBool::default());
        Self { schema, shape, validator, linear_validator, work, problems, is_unusable, gaps, seen }
    }

    /// Creates a schema that accepts any value, and records why the original was not compiled.
    fn unread(problem: String) -> Self {
        Self { problems: vec![problem], is_unusable: true, ..Self::default() }
    }

    /// Whether the schema has a validator for values.
    pub fn judges(&self) -> bool {
        self.validator.is_some()
    }

    /// Whether `arguments` have values that are not validated: the schema has no validator, or a part of it that applies to
    /// them is missing. A missing part below a property of the root applies to arguments with this property.
    pub fn leaves_unjudged(&self, arguments: &Map<String, Value>) -> bool {
        self.is_unusable
            || self.exceeds(Extent::of_parts(arguments.values()))
            || self.gaps.iter().any(|gap| property_of(gap).is_none_or(|name| arguments.contains_key(&name)))
    }

    /// Whether arguments of this extent would take too long to validate.
    fn exceeds(&self, extent: Extent) -> bool {
        extent.locations > FEW_LOCATIONS && self.work.as_ref().is_some_and(|work| work.total(extent) > MAX_VISITED)
    }

    /// Whether only the first violation in these arguments is reported, because there may be too many.
    pub fn reports_only_first(&self, arguments: &Value) -> bool {
        self.work.as_ref().is_some_and(|work| work.total(Extent::of(arguments)) > MAX_ERRORS)
    }

    /// Returns the schema violations in `arguments`. Empty if there are none, the schema has no validator, or the arguments
    /// are too large for it.
    pub fn violations(&self, arguments: &Value) -> Vec<Violation> {
        let Some(mut validator) = self.validator.as_ref() else { return Vec::new() };
        if let Some(linear) = &self.linear_validator
            && text_bytes(arguments) > MAX_BACKTRACKED_BYTES
        {
            validator = linear;
        }
        let extent = Extent::of(arguments);
        if self.exceeds(extent) {
            return Vec::new();
        }
        let recursive = self.work.as_ref().filter(|work| work.has_references());
        if recursive.is_some_and(|work| work.stack(extent.depth) > MAX_STACK) {
            return vec![Violation::unexplained()];
        }
        if validator.is_valid(arguments) {
            return Vec::new();
        }
        if recursive.is_some_and(|work| work.bound(extent.depth) > MAX_VISITS) {
            return vec![Violation::unexplained()];
        }
        if !self.reports_only_first(arguments) {
            return violations::collect(validator, arguments);
        }
        let has_alternatives = self.work.as_ref().is_some_and(SchemaWork::has_alternatives);
        if has_alternatives { vec![Violation::unexplained()] } else { violations::first(validator, arguments) }
    }
}

/// Returns the size of all strings and names in a value.
fn text_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(text_bytes).sum(),
        Value::Object(members) => members.iter().map(|(name, value)| name.len() + text_bytes(value)).sum(),
        _ => 0,
    }
}

/// Returns the property of the root to which a location in the schema belongs; `None` if it belongs to none alone.
fn property_of(location: &Pointer) -> Option<String> {
    let mut tokens = location.tokens().into_iter();
    if tokens.next()? == "properties" { tokens.next() } else { None }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_with_a_useless_part_still_judges_the_rest() {
        let schema = CompiledSchema::compile(&json!({ "properties": {
            "a": { "type": "integer", "pattern": "(" }, "b": { "$ref": "https://example.org/b" } } }));
        assert!(schema.judges() && schema.problems.len() == 2, "{:?}", schema.problems);
        assert_eq!(schema.violations(&json!({ "a": "x", "b": 1 })).len(), 1);
    }

    #[test]
    fn references_in_circles_judge_nothing_and_hang_nothing() {
        for schema in [
            json!({ "$ref": "#" }),
            json!({ "properties": { "a": { "$ref": "#/properties/a" } } }),
            json!({ "properties": { "a": { "$ref": "#/$defs/x" } },
                    "$defs": { "x": { "anyOf": [{ "$ref": "#/$defs/y" }] }, "y": { "allOf": [{ "$ref": "#/$defs/x" }] } } }),
        ] {
            let schema = CompiledSchema::compile(&schema);
            assert!(!schema.judges());
            assert!(schema.violations(&json!({ "a": "x" })).is_empty());
        }
    }

    #[test]
    fn a_long_list_with_many_branches_takes_little_time_and_memory() {
        let branches: Vec<Value> = (0..2_000).map(|length| json!({ "items": { "maxLength": length % 3 } })).collect();
        let schema = CompiledSchema::compile(&json!({ "properties": { "a": { "anyOf": branches } } }));
        let list = |items: usize| json!({ "a": vec!["long text"; items] });
        assert!(matches!(schema.violations(&list(10))[0].rule, SchemaRule::Branches(_)));
        assert_eq!(schema.violations(&list(500)), [Violation::unexplained()]);
        let plain = CompiledSchema::compile(&json!({ "properties": { "a": { "items": { "type": "string" } } } }));
        let mut numbers = list(100_000);
        numbers["a"][70_000] = json!(1);
        assert_eq!(plain.violations(&numbers)[0].path, Pointer::from("/a/70000"));
        let large = list(20_000);
        assert!(schema.violations(&large).is_empty() && schema.leaves_unjudged(large.as_object().unwrap()));
        assert!(!schema.leaves_unjudged(list(500).as_object().unwrap()));
    }

    #[test]
    fn a_reason_that_would_take_for_ever_to_work_out_is_not_given() {
        let schema = CompiledSchema::compile(&json!({ "$ref": "#/$defs/tree", "$defs": { "tree": {
            "type": "object", "required": ["leaf"],
            "properties": { "next": { "anyOf": [{ "$ref": "#/$defs/tree" }, { "$ref": "#/$defs/tree" }] } } } } }));
        let deep = |levels| (0..levels).fold(json!({}), |inner, _| json!({ "next": inner, "leaf": 1 }));
        assert!(matches!(schema.violations(&deep(3))[0].rule, SchemaRule::Branches(_)));
        assert_eq!(schema.violations(&deep(100)), [Violation::unexplained()]);
    }

    #[test]
    fn deep_recursive_schemas_and_arguments_fit_a_small_stack() {
        for steps in [0, 7, 25] {
            let step = |step: usize| json!({ "anyOf": [{ "type": "string" }, { "$ref": format!("#/$defs/{step}") }] });
            let leaf = json!({ "properties": { "a": { "$ref": "#/$defs/0" } }, "additionalProperties": false });
            let definitions: serde_json::Map<_, _> =
                (0..steps).map(|at| (at.to_string(), step(at + 1))).chain([(steps.to_string(), leaf)]).collect();
            let schema = json!({ "$ref": "#/$defs/0", "$defs": definitions });
            let judge = move || {
                let schema = CompiledSchema::compile(&schema);
                for depth in [1, 50, 120] {
                    let arguments = (0..depth).fold(json!({ "b": 1 }), |inner, _| json!({ "a": inner }));
                    assert!(schema.judges() && !schema.violations(&arguments).is_empty());
                }
            };
            std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(judge).unwrap().join().unwrap();
        }
    }

    #[test]
    fn ten_thousand_properties_are_read() {
        let properties: serde_json::Map<_, _> =
            (0..10_000).map(|index| (format!("p{index}"), json!({ "type": "integer" }))).collect();
        let schema = CompiledSchema::compile(&json!({ "properties": properties }));
        assert_eq!(schema.shape.root().unwrap().members.len(), 10_000);
        assert_eq!(schema.violations(&json!({ "p7": "x", "p9999": 1 })).len(), 1);
    }
}
