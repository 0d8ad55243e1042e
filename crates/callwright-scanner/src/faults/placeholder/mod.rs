//! E4.3 `placeholder`: a value such as `<city>`, `YOUR_API_KEY`, `string` or `example.com` that the conversation never
//! mentions. The model did not have the value and filled in the parameter anyway.
//!
//! The whole value must have such a form ([`PlaceholderForm`]); text that merely contains one is a value. The value is
//! not a placeholder if the conversation contains it (users do own `example.com`) or the tool's schema lists it or uses
//! it as an example or default. The same holds if the parameter accepts such values (a tag filter takes `<div>`, a
//! schema editor the type `string`). Without a conversation, only unambiguous forms count.

mod form;

use serde_json::{Value, json};

use self::form::{is_accepted, speaks_for_itself};
use crate::{ArgumentPath, CompiledTool, FaultCase, Transcript, quoted};
use callwright_common::json::Pointer;
use callwright_common::limits::EXAMINED_VALUES;
use callwright_common::placeholder::{PlaceholderForm, form};
use callwright_types::{Diagnosis, FaultCode};

pub(super) fn check(case: &FaultCase<'_>, tool: &CompiledTool, arguments: &Value) -> Vec<Diagnosis> {
    let mut search = PlaceholderSearch { case, tool, found: Vec::new(), leaves: 0 };
    search.visit(arguments, &ArgumentPath::Root);
    search.found
}

struct PlaceholderSearch<'a, 'b> {
    case: &'a FaultCase<'b>,
    tool: &'a CompiledTool,
    found: Vec<Diagnosis>,
    leaves: usize,
}

impl PlaceholderSearch<'_, '_> {
    fn visit(&mut self, value: &Value, place: &ArgumentPath<'_>) {
        match value {
            Value::Object(members) => {
                members.iter().for_each(|(name, value)| self.visit(value, &ArgumentPath::Member(place, name)));
            }
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(index, item)| self.visit(item, &ArgumentPath::Item(place, index)));
            }
            Value::String(text) if self.leaves < EXAMINED_VALUES => {
                self.leaves += 1;
                if let Some(form) = form(text) {
                    self.judge(text, form, place);
                }
            }
            _ => {}
        }
    }

    fn judge(&mut self, text: &str, form: PlaceholderForm, place: &ArgumentPath<'_>) {
        let path = place.pointer();
        let parameter = place.parameter();
        let described = self.tool.describe_argument(&parameter).unwrap_or_default();
        let schema = self.tool.schema_of(&parameter);
        let accepted = is_accepted(form, place.name(), &described.description);
        if accepted || is_named(schema, text) || !self.is_evident(text, &form, place) {
            return;
        }
        let message = format!("`{}` is {}, not a value: {}", quoted(path.as_str()), form.label(), quoted(text));
        let facts = json!({
            "value": quoted(&Value::from(text).to_string()), "form": form.label(),
            "required": is_required(self.tool, &path),
            "options": described.options, "description": described.description,
        });
        self.found.push(self.case.diagnosis(FaultCode::Placeholder, path, message, facts));
    }

    /// Whether the conversation does not contain the value. Without a conversation: whether its form is unambiguous.
    fn is_evident(&self, text: &str, form: &PlaceholderForm, place: &ArgumentPath<'_>) -> bool {
        match self.case.context.conversation {
            Some(conversation) => !is_mentioned(conversation.transcript(), form.key(text)),
            None => speaks_for_itself(*form, text, place.name()),
        }
    }
}

/// Whether the key of the form occurs in the texts of the conversation.
fn is_mentioned(transcript: &Transcript, key: String) -> bool {
    let is_number = key.bytes().all(|byte| byte.is_ascii_digit());
    transcript.texts().iter().any(|text| match is_number {
        // Compares digits only, because they are grouped in many ways.
        true => text.chars().filter(char::is_ascii_digit).collect::<String>().contains(&key),
        false => text.to_lowercase().contains(&key),
    })
}

/// Whether the schema lists the value or uses it as an example or default.
fn is_named(schema: Option<&Value>, text: &str) -> bool {
    let Some(schema) = schema else { return false };
    ["enum", "const", "default", "examples", "example"].into_iter().any(|keyword| match schema.get(keyword) {
        Some(Value::Array(values)) => values.iter().any(|value| value == text),
        Some(value) => value == text,
        None => false,
    })
}

fn is_required(tool: &CompiledTool, path: &Pointer) -> bool {
    path.tokens().first().and_then(|name| tool.parameter(name)).is_some_and(|parameter| parameter.required)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::{call, tool_set};
    use crate::{Context, Transcript, scan_in};
    use callwright_types::rules::{Action, ScanRules};
    use callwright_types::{Diagnosis, FaultCode};

    const TOOL: &str = r#"[{"name":"f","parameters":{"type":"object","properties":{
        "city":{"type":"string"}, "api_key":{"type":"string"}, "type":{"type":"string"}, "html":{"type":"string"},
        "unit":{"type":"string","enum":["string","x"]}, "site":{"type":"string","default":"example.com"},
        "phone":{"type":"string"}, "note":{"type":"string"}, "to":{"type":"array","items":{"type":"string"}}},
        "required":["city"],"additionalProperties":true}}]"#;

    fn found(name: &str, value: &serde_json::Value, conversation: Option<&str>) -> Vec<Diagnosis> {
        let mut transcript = Transcript::default();
        transcript.add_user_message(conversation.unwrap_or_default());
        let context = match conversation {
            Some(_) => Context { conversation: Some(&transcript), ..Context::default() },
            None => Context::default(),
        };
        let faults = ScanRules::default().faults.with(FaultCode::Placeholder, Action::Feedback);
        let rules = ScanRules { faults, ..ScanRules::default() };
        let mut arguments = json!({ "city": "Ulm" });
        arguments[name] = value.clone();
        let call = call("f", &arguments.to_string());
        scan_in(&call, 0, &tool_set(TOOL), &rules, &context).result.err().unwrap_or_default()
    }

    #[test]
    fn what_was_never_said_and_has_the_form_of_a_placeholder_is_one() {
        for (name, value) in [
            ("city", "<city>"),
            ("city", "<insert city here>"),
            ("city", "{{city}}"),
            ("city", "[insert city]"),
            ("city", "[Your City]"),
            ("city", "string"),
            ("city", "TODO"),
            ("city", "xxx"),
            ("api_key", "YOUR_API_KEY"),
            ("api_key", "your-api-key-here"),
            ("note", "https://www.example.com/path"),
            ("note", "user@example.org"),
            ("phone", "123-456-7890"),
            ("phone", "1234567890"),
        ] {
            let found = found(name, &json!(value), Some("What is the weather at my place?"));
            assert_eq!(found.len(), 1, "{value}");
            assert_eq!((found[0].code, found[0].path.as_str()), (FaultCode::Placeholder, format!("/{name}").as_str()));
        }
    }

    #[test]
    fn what_the_conversation_has_is_a_value() {
        for (value, said) in [
            ("<city>", "Replace <city> everywhere."),
            ("YOUR_API_KEY", "The file says your_api_key; find it."),
            ("string", "Which string is it?"),
            ("user@example.com", "I am at Example.com."),
            ("123-456-7890", "Call (123) 456 7890."),
            ("TODO", "List every todo."),
        ] {
            assert!(found("note", &json!(value), Some(said)).is_empty(), "{value}");
        }
    }

    #[test]
    fn a_text_in_which_a_placeholder_occurs_is_a_text() {
        for value in ["Dear <name>, see example.com", "see {{x}} and {{y}}", "<p>Hello</p>", "a < b > c", "strings"] {
            assert!(found("note", &json!(value), Some("Write to her.")).is_empty(), "{value}");
        }
    }

    #[test]
    fn what_the_parameter_asks_for_or_the_schema_names_is_a_value() {
        for (name, value) in [("type", "string"), ("html", "<div>"), ("unit", "string"), ("site", "example.com")] {
            assert!(found(name, &json!(value), Some("Go on.")).is_empty(), "{name} {value}");
        }
    }

    #[test]
    fn without_a_conversation_only_an_evident_form_counts() {
        for (name, value) in [("city", "<city>"), ("city", "{{ city }}"), ("city", "<your city>")] {
            assert_eq!(found(name, &json!(value), None).len(), 1, "{value}");
        }
        for (name, value) in [
            ("city", "string"),
            ("api_key", "YOUR_API_KEY"),
            ("note", "user@example.com"),
            ("note", "<b>"),
            ("note", "{{x}}"),
            ("phone", "1234567890"),
        ] {
            assert!(found(name, &json!(value), None).is_empty(), "{value}");
        }
    }

    #[test]
    fn items_are_checked_and_a_schema_violation_is_that_fault_alone() {
        assert_eq!(found("to", &json!(["a@b.c", "<name>"]), Some(""))[0].path.as_str(), "/to/1");
        let wrong = found("unit", &json!("<unit>"), Some(""));
        assert_eq!(wrong.iter().map(|found| found.code).collect::<Vec<_>>(), [FaultCode::Constraint]);
    }

    #[test]
    fn by_default_it_is_only_noted() {
        let scan =
            scan_in(&call("f", r#"{"city":"<city>"}"#), 0, &tool_set(TOOL), &ScanRules::default(), &Context::default());
        assert!(scan.result.is_ok());
        assert_eq!(scan.advice[0].code, FaultCode::Placeholder);
        assert_eq!(
            (&scan.advice[0].facts["form"], &scan.advice[0].facts["required"]),
            (&json!("a blank to fill in"), &json!(true))
        );
    }
}
