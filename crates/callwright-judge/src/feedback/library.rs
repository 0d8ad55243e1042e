//! The templates of the messages to the model.

use std::sync::LazyLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};

use super::quote;

/// All templates, each below a line with its name: the frame of static feedback, one template per fault code in it, and
/// the other messages.
const SOURCES: &str = include_str!("templates.jinja");

/// Returns the name and text of each template.
fn templates() -> impl Iterator<Item = (&'static str, &'static str)> {
    SOURCES.split("## ").filter_map(|template| template.split_once('\n'))
}

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
    for (name, text) in templates() {
        let added = environment.add_template(name, text);
        debug_assert!(added.is_ok(), "{name}: {added:?}");
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
        for (name, _) in templates() {
            let samples = samples::contexts(name);
            assert!(!samples.is_empty(), "{name}");
            for sample in samples {
                let text = environment.get_template(name).unwrap().render(sample).unwrap();
                assert!(!text.trim().is_empty(), "{name}");
            }
        }
    }
}
