//! Calls that a message shows to the model: the example of a valid call, and a faulty call with long arguments.

use minijinja::context;
use minijinja::value::Value;
use serde_json::Map;

use super::example::example;
use callwright_common::json::Pointer;
use callwright_common::limits::{LINE_CHARS, VALUE_LENGTH};
use callwright_common::text::excerpt;
use callwright_scanner::CompiledTool;

/// Maximum number of bytes of a faulty call's arguments that go back to the model. Every round of feedback sends them
/// again, and the model has just written them.
const MAX_ARGUMENTS: usize = 16 * 1024;

/// Maximum number of elements of an array or object within shortened arguments.
const MAX_ELEMENTS: usize = 20;

/// Whether arguments are too long to go back to the model whole.
pub fn are_too_long(arguments: &str) -> bool {
    arguments.len() > MAX_ARGUMENTS
}

/// Returns arguments without most of their long values; `None` if they are short enough to go back to the model.
pub fn shortened_arguments(arguments: &str) -> Option<String> {
    if !are_too_long(arguments) {
        return None;
    }
    let Ok(mut value) = serde_json::from_str::<serde_json::Value>(arguments) else {
        return Some(excerpt(arguments, LINE_CHARS));
    };
    shorten(&mut value);
    let text = value.to_string();
    Some(if text.len() <= MAX_ARGUMENTS { text } else { "{}".to_owned() })
}

fn shorten(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::String(text) if text.len() > LINE_CHARS => *text = excerpt(text, LINE_CHARS),
        serde_json::Value::Array(items) => {
            items.truncate(MAX_ELEMENTS);
            items.iter_mut().for_each(shorten);
        }
        serde_json::Value::Object(members) => {
            *members = std::mem::take(members).into_iter().take(MAX_ELEMENTS).collect();
            members.values_mut().for_each(shorten);
        }
        _ => {}
    }
}

/// Whether an example repeats a value of the model's call.
pub(super) fn is_repeated(value: &serde_json::Value) -> bool {
    value.to_string().len() <= VALUE_LENGTH
}

/// A valid call to show.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ExampleCall {
    /// Name of the tool.
    pub(super) name: String,
    /// JSON text of the arguments.
    pub(super) arguments: String,
    /// Parameters whose values only illustrate the form, because the correct ones are unknown.
    pub(super) open: Vec<String>,
}

impl ExampleCall {
    /// Returns the template context.
    pub(super) fn context(self) -> Value {
        context! { name => self.name, arguments => self.arguments, open => self.open }
    }
}

/// Creates a call of `tool` with the matching ones of the arguments `given`, the other required parameters, and the
/// parameters `wanted`. `None` if no arguments are found that the schema accepts.
pub(super) fn call_of(
    tool: &CompiledTool,
    given: &Map<String, serde_json::Value>,
    wanted: &[String],
) -> Option<ExampleCall> {
    let built = example(tool, given, wanted)?;
    let open = built.iter().filter(|(name, value)| given.get(*name) != Some(*value) && !is_settled(tool, name, value));
    let open = open.map(|(name, _)| name.clone()).collect();
    Some(ExampleCall { name: tool.name().to_owned(), arguments: serde_json::Value::Object(built).to_string(), open })
}

/// Whether the schema itself determines the value of the parameter: by its default, or because it allows no other
/// value.
fn is_settled(tool: &CompiledTool, name: &str, value: &serde_json::Value) -> bool {
    let path = Pointer::root().child(name);
    tool.default_of(&path) == Some(value)
        || tool
            .describe_argument(&path)
            .is_some_and(|described| described.options.len() == 1 && described.more_options == 0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::generated::tool_set;

    #[test]
    fn long_arguments_are_shortened_and_stay_an_object() {
        let long = "word ".repeat(MAX_ARGUMENTS);
        assert_eq!(shortened_arguments(&json!({ "text": "short" }).to_string()), None);
        let shown = shortened_arguments(&json!({ "path": "a.txt", "text": long, "list": vec![1; 9_000] }).to_string());
        let shown: serde_json::Value = serde_json::from_str(&shown.unwrap()).unwrap();
        assert_eq!((&shown["path"], shown["list"].as_array().map(Vec::len)), (&json!("a.txt"), Some(MAX_ELEMENTS)));
        assert!(shown["text"].as_str().unwrap().starts_with("word word") && shown.to_string().len() < 500);
        let nested = (0..6).fold(json!("leaf text"), |inner, _| json!(vec![inner; MAX_ELEMENTS / 2]));
        assert_eq!(shortened_arguments(&nested.to_string()).as_deref(), Some("{}"));
        assert!(shortened_arguments(&format!("{{{long}")).unwrap().len() < 300);
    }

    #[test]
    fn values_that_only_show_the_form_are_named() {
        let book =
            tool_set(&json!({ "type": "object", "required": ["city", "day", "unit", "kind", "count"], "properties": {
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
