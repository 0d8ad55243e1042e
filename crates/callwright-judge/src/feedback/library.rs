//! The templates of the messages to the model.

use std::sync::LazyLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};

use super::quote;

/// A template.
struct Template {
    name: &'static str,
    text: &'static str,
}

macro_rules! templates {
    ($($name:literal),* $(,)?) => {
        [$(Template { name: $name, text: include_str!(concat!("templates/", $name, ".jinja")) }),*]
    };
}

/// All templates: the frame of static feedback, one template per fault code in it, and the other messages.
const SOURCES: [Template; 31] = templates![
    "faulty_call", "no_call", "tool_not_relevant", "tool_name_literal", "tool_name_semantic", "tool_unknown",
    "parameter_of_other_tool", "parameter_literal", "parameter_semantic", "parameter_missing", "parameter_unknown",
    "type_mismatch", "constraint", "placeholder", "wrong_source", "circle", "repeated_call", "unread_answer",
    "confirm_call", "no_answer", "accepted_call", "deferred_call", "unexamined_call", "failed_outcome",
    "observed_failure", "doubted_answer", "unapproved_call", "lost_result", "found_tools", "missing_inputs", "closing",
];

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(compiled);

fn compiled() -> Environment<'static> {
    let mut environment = Environment::new();
    // A missing fact must not suppress the message, so a condition on it is false.
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    if let Ok(syntax) = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build() {
        environment.set_syntax(syntax);
    }
    environment.add_filter("code", quote::code);
    environment.add_filter("codes", |names: Vec<String>| quote::codes(&names));
    environment.add_filter("data", quote::data);
    environment.add_filter("line", quote::line);
    environment.add_filter("said", quote::said);
    environment.add_filter("described", |description: Value| quote::described(&description));
    for template in SOURCES {
        let added = environment.add_template(template.name, template.text);
        debug_assert!(added.is_ok(), "{}: {added:?}", template.name);
    }
    environment
}

/// Renders a template. A template that fails gives an empty text: the tests render all of them.
pub(super) fn render(name: &str, context: &Value) -> String {
    let text = TEMPLATES.get_template(name).and_then(|template| template.render(context));
    text.map(|text| text.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    #[test]
    fn every_template_renders_every_sample() {
        let mut environment = compiled();
        // Every name must be defined.
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        for template in SOURCES {
            let samples = samples::contexts(template.name);
            assert!(!samples.is_empty(), "{}", template.name);
            for sample in samples {
                let text = environment.get_template(template.name).unwrap().render(sample).unwrap();
                assert!(!text.trim().is_empty(), "{}", template.name);
            }
        }
    }
}
