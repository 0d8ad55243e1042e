//! An example of a right call, as a message shows it.

use minijinja::context;
use minijinja::value::Value;
use serde_json::Map;

use super::example::example;
use crate::scanner::CompiledTool;
use callwright_common::json::Pointer;

/// A right call to show.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shown {
    /// The tool.
    pub(super) name: String,
    /// The arguments, as JSON.
    pub(super) arguments: String,
    /// Parameters whose values only show the form: nobody knows the right ones yet.
    pub(super) open: Vec<String>,
}

impl Shown {
    /// What a template can say of it.
    pub(super) fn context(self) -> Value {
        context! { name => self.name, arguments => self.arguments, open => self.open }
    }
}

/// A call of `tool` with what fits of the arguments `given`, what is required beside them, and the parameters `wanted`.
/// `None` where no arguments can be made that the schema accepts.
pub(super) fn call_of(tool: &CompiledTool, given: &Map<String, serde_json::Value>, wanted: &[String]) -> Option<Shown> {
    let built = example(tool, given, wanted)?;
    let is_open =
        |name: &str, value: &serde_json::Value| given.get(name) != Some(value) && !is_settled(tool, name, value);
    let open = built.iter().filter(|(name, value)| is_open(name, value)).map(|(name, _)| name.clone()).collect();
    Some(Shown { name: tool.name().to_owned(), arguments: serde_json::Value::Object(built).to_string(), open })
}

/// Does the schema itself say that the parameter has this value: by its default, or because it allows no other?
fn is_settled(tool: &CompiledTool, name: &str, value: &serde_json::Value) -> bool {
    let path = Pointer::root().child(name);
    tool.default_of(&path) == Some(value)
        || tool.describe_argument(&path).is_some_and(|told| told.options.len() == 1 && told.more_options == 0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::scanner::generated::toolbook;

    #[test]
    fn values_that_only_show_the_form_are_named() {
        let book =
            toolbook(&json!({ "type": "object", "required": ["city", "day", "unit", "kind", "count"], "properties": {
            "city": { "type": "string" }, "day": { "type": "string", "format": "date" },
            "unit": { "type": "string", "default": "celsius" }, "kind": { "const": "forecast" },
            "count": { "type": "integer" } } }));
        let given = json!({ "count": 3 }).as_object().cloned().unwrap();
        let shown = call_of(&book.tools()[0], &given, &[]).unwrap();
        assert_eq!(shown.open, ["city", "day"]);
        let arguments: serde_json::Value = serde_json::from_str(&shown.arguments).unwrap();
        assert_eq!(
            arguments,
            json!({ "count": 3, "city": "<city>", "day": "2025-01-31", "unit": "celsius", "kind": "forecast" })
        );
    }
}
