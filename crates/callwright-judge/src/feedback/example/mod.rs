//! Example arguments that match a schema, to show a correct call to the model.

mod bounds;
mod effective;
mod text;

use serde_json::{Map, Value};

use callwright_common::limits::EXCERPT_CHARS;
use callwright_scanner::{CompiledTool, type_names};
use effective::effective;

/// Maximum number of values per example.
const MAX_VALUES: usize = 300;

/// Maximum number of alternatives to try.
const MAX_BRANCHES: usize = 4;

/// Maximum number of items of an example array.
const MAX_ITEMS: u64 = 16;

/// Returns arguments for `tool` that its schema accepts: the matching ones of `given`, the other required parameters,
/// and the parameters `wanted`, if the tool has them. `None` if no accepted arguments are found, so an example is never
/// wrong.
pub(super) fn example(
    tool: &CompiledTool,
    given: &Map<String, Value>,
    wanted: &[String],
) -> Option<Map<String, Value>> {
    let given: Map<String, Value> = given
        .iter()
        .filter(|(name, value)| tool.has_parameter(name) && value.to_string().len() <= EXCERPT_CHARS)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    // The given or requested parameters may themselves be invalid.
    let nothing = Map::new();
    let bases: [(&Map<String, Value>, &[String]); 3] = [(&given, wanted), (&given, &[]), (&nothing, &[])];
    let tries = bases
        .iter()
        .flat_map(|base| (0..MAX_BRANCHES).flat_map(move |branch| [true, false].map(|hints| (base, branch, hints))));
    for ((base, wanted), branch, hints) in tries {
        let mut builder = ExampleBuilder { root: tool.schema(), branch, hints, left: MAX_VALUES };
        let mut keywords = effective(tool.schema(), tool.schema(), branch);
        require(&mut keywords, wanted);
        if let Some(Value::Object(built)) = builder.object(&keywords, base)
            && tool.accepts(&built)
        {
            return Some(built);
        }
    }
    None
}

fn require(keywords: &mut Map<String, Value>, wanted: &[String]) {
    let properties = keywords.get("properties").and_then(Value::as_object);
    let known = wanted.iter().filter(|name| properties.is_some_and(|properties| properties.contains_key(*name)));
    let more: Vec<Value> = known.map(|name| Value::from(name.as_str())).collect();
    if let Value::Array(required) = keywords.entry("required").or_insert_with(|| Value::Array(Vec::new())) {
        required.extend(more);
    }
}

struct ExampleBuilder<'a> {
    root: &'a Value,
    /// Number of the alternative to choose in each `anyOf` and `oneOf`.
    branch: usize,
    /// Whether to use examples and defaults of the schema.
    hints: bool,
    /// Number of values that may still be created.
    left: usize,
}

impl ExampleBuilder<'_> {
    /// Creates a value for `schema`; `variant` distinguishes the items of an array with unique items.
    fn value(&mut self, schema: &Value, name: &str, variant: usize) -> Option<Value> {
        self.left = self.left.checked_sub(1)?;
        if schema == &Value::Bool(false) {
            return None;
        }
        let keywords = effective(self.root, schema, self.branch);
        if let Some(only) = keywords.get("const") {
            return Some(only.clone());
        }
        if let Some(options) = keywords.get("enum").and_then(Value::as_array) {
            let mut real = options.iter().filter(|option| !option.is_null());
            let first = real.clone().next().or(options.first());
            return real.nth(variant).or(first).cloned();
        }
        if let Some(hint) = self.hint(&keywords).filter(|_| variant == 0) {
            return Some(hint);
        }
        match kind(&keywords) {
            "object" => self.object(&keywords, &Map::new()),
            "array" => self.array(&keywords, name),
            "integer" => bounds::whole(&keywords, variant),
            "number" => bounds::number(&keywords, variant),
            "boolean" => Some(Value::Bool(variant == 0)),
            "null" => Some(Value::Null),
            _ => text::text(&keywords, name, variant).map(Value::String),
        }
    }

    fn hint(&self, keywords: &Map<String, Value>) -> Option<Value> {
        let listed = keywords.get("examples").and_then(Value::as_array).and_then(|examples| examples.first());
        let hint = keywords.get("example").or(listed).or_else(|| keywords.get("default"));
        hint.filter(|hint| self.hints && !hint.is_null() && hint.to_string().len() <= EXCERPT_CHARS).cloned()
    }

    /// Creates an object with the members of `base`, the required members, and as many others as `minProperties`
    /// requires.
    fn object(&mut self, keywords: &Map<String, Value>, base: &Map<String, Value>) -> Option<Value> {
        const ANYTHING: &Value = &Value::Bool(true);
        let mut built = base.clone();
        let properties = keywords.get("properties").and_then(Value::as_object);
        let required =
            keywords.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        for name in required {
            if !built.contains_key(name) {
                let schema = properties.and_then(|properties| properties.get(name)).unwrap_or(ANYTHING);
                built.insert(name.to_owned(), self.value(schema, name, 0)?);
            }
        }
        let least = keywords.get("minProperties").and_then(Value::as_u64).unwrap_or(0);
        for (name, schema) in properties.into_iter().flatten() {
            if built.len() as u64 >= least {
                break;
            }
            if !built.contains_key(name) {
                built.insert(name.clone(), self.value(schema, name, 0)?);
            }
        }
        Some(Value::Object(built))
    }

    fn array(&mut self, keywords: &Map<String, Value>, name: &str) -> Option<Value> {
        const ANYTHING: &Value = &Value::Bool(true);
        let [least, most] = ["minItems", "maxItems"].map(|keyword| keywords.get(keyword).and_then(Value::as_u64));
        let first = keywords.get("prefixItems").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let count = least.unwrap_or(0).max(1).max(first.len() as u64).min(most.unwrap_or(u64::MAX));
        if count > MAX_ITEMS {
            return None;
        }
        let rest = keywords.get("items").unwrap_or(ANYTHING);
        let distinct = keywords.get("uniqueItems").is_some_and(|unique| unique == true);
        let items = (0..).zip(0..count).map(|(index, _): (usize, u64)| {
            let schema = first.get(index).unwrap_or(rest);
            self.value(schema, name, if distinct { index } else { 0 })
        });
        items.collect::<Option<Vec<Value>>>().map(Value::Array)
    }
}

/// Returns the type of the example: the first type other than `null`, or the type that the keywords imply.
fn kind(keywords: &Map<String, Value>) -> &str {
    const IMPLIED: [(&str, &[&str]); 3] = [
        ("object", &["properties", "required", "minProperties"]),
        ("array", &["items", "prefixItems", "minItems"]),
        ("number", &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
    ];
    let types = keywords.get("type").and_then(type_names).unwrap_or_default();
    if let Some(first) = types.first() {
        return types.iter().find(|name| **name != "null").unwrap_or(first);
    }
    let mut implied = IMPLIED.iter().filter(|(_, signs)| signs.iter().any(|sign| keywords.contains_key(*sign)));
    implied.next().map_or("string", |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::generated::{config, schema_and_arguments, tool_set, wild_json};

    fn example_of(properties: &Value, required: &[&str]) -> Option<Value> {
        let book = tool_set(&json!({ "type": "object", "properties": properties, "required": required }));
        example(&book.tools()[0], &Map::new(), &[]).map(Value::Object)
    }

    #[test]
    fn values_fit_their_rules() {
        for (schema, value) in [
            (json!({ "type": "string" }), json!("<a>")),
            (json!({ "type": "string", "maxLength": 2 }), json!("aa")),
            (json!({ "type": "string", "minLength": 6 }), json!("<a>aaa")),
            (json!({ "type": "string", "format": "date" }), json!("2025-01-31")),
            (json!({ "type": "string", "pattern": "^[A-Z]{3}-\\d{2}$" }), json!("AAA-00")),
            (json!({ "type": "string", "example": "Oslo" }), json!("Oslo")),
            (json!({ "type": "integer", "default": "none" }), json!(1)),
            (json!({ "type": "integer", "minimum": 10, "multipleOf": 7 }), json!(14)),
            (json!({ "type": "integer", "maximum": -3 }), json!(-3)),
            (json!({ "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 }), json!(0.5)),
            (json!({ "enum": [null, "x"] }), json!("x")),
            (json!({ "anyOf": [{ "type": "null" }, { "type": "boolean" }] }), json!(true)),
            (
                json!({ "type": "array", "items": { "type": "integer" }, "minItems": 2, "uniqueItems": true }),
                json!([1, 2]),
            ),
            (json!({ "type": "array", "maxItems": 0 }), json!([])),
            (json!({ "allOf": [{ "minimum": 3 }, { "type": "integer", "maximum": 4 }] }), json!(3)),
            (
                json!({ "type": "object", "properties": { "b": { "type": "integer" } }, "minProperties": 1 }),
                json!({ "b": 1 }),
            ),
        ] {
            assert_eq!(example_of(&json!({ "a": schema }), &["a"]), Some(json!({ "a": value })), "{schema}");
        }
    }

    #[test]
    fn nothing_is_shown_where_nothing_right_can_be_made() {
        assert_eq!(example_of(&json!({ "a": false }), &["a"]), None);
        assert_eq!(example_of(&json!({ "a": { "type": "integer", "minimum": 2, "maximum": 1 } }), &["a"]), None);
        assert_eq!(example_of(&json!({ "a": { "type": "string", "not": {} } }), &["a"]), None);
    }

    #[test]
    fn the_alternative_that_fits_is_found_and_recursion_ends() {
        let book =
            tool_set(&json!({ "$ref": "#/$defs/node", "$defs": { "node": { "type": "object", "required": ["next"],
            "properties": { "next": { "anyOf": [{ "$ref": "#/$defs/node" }, { "type": "null" }] } } } } }));
        let built = example(&book.tools()[0], &Map::new(), &[]);
        assert!(built.is_none_or(|built| book.tools()[0].accepts(&built)));
        let book = tool_set(&json!({ "type": "object", "oneOf": [
            { "required": ["a"], "properties": { "a": { "type": "string" } }, "not": { "required": ["a"] } },
            { "required": ["b"], "properties": { "b": { "type": "integer" } } }] }));
        assert_eq!(example(&book.tools()[0], &Map::new(), &[]).map(Value::Object), Some(json!({ "b": 1 })));
    }

    proptest! {
        #![proptest_config(config(256))]

        #[test]
        fn examples_fit_every_well_formed_schema((schema, arguments) in schema_and_arguments()) {
            let book = tool_set(&schema);
            let built = example(&book.tools()[0], arguments.as_object().unwrap(), &[]);
            prop_assert!(built.is_some(), "{schema}");
            let strict = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
            prop_assert!(strict.is_valid(&Value::Object(built.clone().unwrap())), "{schema} {built:?}");
        }

        #[test]
        fn no_schema_makes_an_example_that_it_refuses(schema in wild_json(), given in wild_json()) {
            let book = tool_set(&schema);
            let given = given.as_object().cloned().unwrap_or_default();
            if let Some(built) = example(&book.tools()[0], &given, &["city".to_owned()]) {
                prop_assert!(book.tools()[0].accepts(&built));
            }
        }
    }
}
