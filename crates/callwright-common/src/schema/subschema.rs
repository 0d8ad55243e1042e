//! Direct subschemas of a schema, for all drafts of JSON Schema from 4 to 2020-12.

use serde_json::{Map, Value};

/// The values to which a subschema applies, relative to the value of the parent schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applies<'s> {
    /// The same value, unconditionally: `allOf`.
    Always,
    /// The same value, conditionally: `anyOf`, `oneOf`, `not`, `if`, `then`, `else`, `dependentSchemas`,
    /// `dependencies`.
    Sometimes,
    /// The member with this name: `properties`.
    Member(&'s str),
    /// The members whose names match this regular expression: `patternProperties`.
    Pattern(&'s str),
    /// The members that the schema does not name: `additionalProperties`, `unevaluatedProperties`.
    OtherMembers,
    /// The names of members: `propertyNames`.
    Names,
    /// The item at this index: `prefixItems`, and `items` if that is an array.
    Item(usize),
    /// The remaining items: `items`, `additionalItems`.
    OtherItems,
    /// Any of the items: `contains`, `unevaluatedItems`.
    AnyItem,
    /// The content encoded in the string: `contentSchema`.
    Content,
}

impl Applies<'_> {
    /// Whether it is the value of the parent schema.
    pub fn is_same_value(self) -> bool {
        matches!(self, Self::Always | Self::Sometimes)
    }
}

/// A direct subschema of another schema.
#[derive(Debug, Clone, Copy)]
pub struct Subschema<'s> {
    /// The keyword that contains it.
    pub keyword: &'s str,
    /// Index in the keyword's array.
    pub index: Option<usize>,
    /// Name in the keyword's object.
    pub name: Option<&'s str>,
    /// The values to which it applies.
    pub applies: Applies<'s>,
    pub schema: &'s Value,
}

impl<'s> Subschema<'s> {
    pub(super) fn new(keyword: &'s str, index: Option<usize>, name: Option<&'s str>, schema: &'s Value) -> Self {
        Self { keyword, index, name, applies: applies(keyword, index, name), schema }
    }
}

/// The form of a keyword that contains schemas.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SubschemaForm {
    One,
    List,
    OneOrList,
    ByName,
}

/// Returns the form of a keyword; `None` if it contains no schemas, or only definitions, which apply to no value by
/// themselves.
fn form(keyword: &str) -> Option<SubschemaForm> {
    Some(match keyword {
        "not"
        | "if"
        | "then"
        | "else"
        | "additionalProperties"
        | "unevaluatedProperties"
        | "propertyNames"
        | "additionalItems"
        | "unevaluatedItems"
        | "contains"
        | "contentSchema" => SubschemaForm::One,
        "items" => SubschemaForm::OneOrList,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => SubschemaForm::List,
        "properties" | "patternProperties" | "dependentSchemas" | "dependencies" => SubschemaForm::ByName,
        _ => return None,
    })
}

fn applies<'s>(keyword: &str, index: Option<usize>, name: Option<&'s str>) -> Applies<'s> {
    match (keyword, index, name) {
        ("allOf", ..) => Applies::Always,
        ("properties", _, Some(name)) => Applies::Member(name),
        ("patternProperties", _, Some(name)) => Applies::Pattern(name),
        ("additionalProperties" | "unevaluatedProperties", ..) => Applies::OtherMembers,
        ("propertyNames", ..) => Applies::Names,
        ("prefixItems" | "items", Some(index), _) => Applies::Item(index),
        ("items" | "additionalItems", ..) => Applies::OtherItems,
        ("contains" | "unevaluatedItems", ..) => Applies::AnyItem,
        ("contentSchema", ..) => Applies::Content,
        _ => Applies::Sometimes,
    }
}

/// Returns the direct subschemas in the order of the keywords. Targets of `$ref` are not included: see
/// [`super::resolve`].
pub fn subschemas(keywords: &Map<String, Value>) -> impl Iterator<Item = Subschema<'_>> {
    keywords.iter().flat_map(|(keyword, value)| of_keyword(keyword, value))
}

/// Returns the direct subschemas that apply to the same value, except `not`.
pub(super) fn same_value(keywords: &Map<String, Value>) -> impl Iterator<Item = Subschema<'_>> {
    let keywords = keywords.iter().filter(|(keyword, _)| {
        matches!(
            keyword.as_str(),
            "allOf" | "anyOf" | "oneOf" | "if" | "then" | "else" | "dependentSchemas" | "dependencies"
        )
    });
    keywords.flat_map(|(keyword, value)| of_keyword(keyword, value))
}

fn of_keyword<'s>(keyword: &'s str, value: &'s Value) -> impl Iterator<Item = Subschema<'s>> {
    let form = form(keyword);
    let is_one = form == Some(SubschemaForm::One) || form == Some(SubschemaForm::OneOrList) && !value.is_array();
    let one = is_one.then(|| Subschema::new(keyword, None, None, value));
    let list = value.as_array().filter(|_| matches!(form, Some(SubschemaForm::List | SubschemaForm::OneOrList)));
    let by_name = value.as_object().filter(|_| form == Some(SubschemaForm::ByName));
    let listed = list.into_iter().flatten().enumerate();
    let listed = listed.map(move |(index, schema)| Subschema::new(keyword, Some(index), None, schema));
    let named = by_name.into_iter().flatten();
    let named = named.map(move |(name, schema)| Subschema::new(keyword, None, Some(name), schema));
    // In early drafts, `dependencies` may contain lists of names.
    one.into_iter().chain(listed).chain(named).filter(|found| found.schema.is_object() || found.schema.is_boolean())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_keyword_with_schemas_is_known_with_what_it_judges() {
        let schema = json!({
            "$ref": "#/x", "$defs": {"d": {}}, "definitions": {"d": {}}, "type": "object", "enum": [{}], "default": {},
            "allOf": [{}], "anyOf": [true], "oneOf": [{}], "not": {}, "if": {}, "then": {}, "else": {},
            "dependentSchemas": {"a": {}}, "dependencies": {"a": {}, "b": ["c"]},
            "properties": {"p": {}, "q": 7}, "patternProperties": {"^x": {}}, "additionalProperties": false,
            "unevaluatedProperties": {}, "propertyNames": {},
            "prefixItems": [{}, {}], "items": {}, "additionalItems": {}, "unevaluatedItems": {}, "contains": {}, "contentSchema": {},
        });
        let found: Vec<(String, Applies<'_>)> =
            subschemas(schema.as_object().unwrap()).map(|found| (found.keyword.to_owned(), found.applies)).collect();
        let expected = [
            ("allOf", Applies::Always),
            ("anyOf", Applies::Sometimes),
            ("oneOf", Applies::Sometimes),
            ("not", Applies::Sometimes),
            ("if", Applies::Sometimes),
            ("then", Applies::Sometimes),
            ("else", Applies::Sometimes),
            ("dependentSchemas", Applies::Sometimes),
            ("dependencies", Applies::Sometimes),
            ("properties", Applies::Member("p")),
            ("patternProperties", Applies::Pattern("^x")),
            ("additionalProperties", Applies::OtherMembers),
            ("unevaluatedProperties", Applies::OtherMembers),
            ("propertyNames", Applies::Names),
            ("prefixItems", Applies::Item(0)),
            ("prefixItems", Applies::Item(1)),
            ("items", Applies::OtherItems),
            ("additionalItems", Applies::OtherItems),
            ("unevaluatedItems", Applies::AnyItem),
            ("contains", Applies::AnyItem),
            ("contentSchema", Applies::Content),
        ];
        assert_eq!(found, expected.map(|(keyword, applies)| (keyword.to_owned(), applies)));
        let tuple = json!({"items": [{}]});
        assert_eq!(subschemas(tuple.as_object().unwrap()).next().unwrap().applies, Applies::Item(0));
    }
}
