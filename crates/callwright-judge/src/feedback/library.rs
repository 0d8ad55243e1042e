//! Sources of templates: built in, or a directory of the operator.

use std::io::Read;
use std::path::{Path, PathBuf};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, Error, UndefinedBehavior};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{quote, samples};

/// Settings of the messages to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Directory with templates `NAME.jinja` that replace the built-in ones of the same name. Empty: built-in templates
    /// only.
    pub templates: String,
    /// Whether to reload the directory when it changes.
    pub reload: bool,
    /// Quiet time in milliseconds after the last change before the directory is reloaded.
    pub reload_quiet_milliseconds: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { templates: String::new(), reload: true, reload_quiet_milliseconds: 200 }
    }
}

/// A template name and its built-in text.
struct BuiltIn {
    name: &'static str,
    text: &'static str,
}

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        [$(BuiltIn { name: $name, text: include_str!(concat!("templates/", $name, ".jinja")) }),*]
    };
}

/// All templates: the frame of static feedback, one template per fault code in it, and the other messages.
const BUILT_IN: [BuiltIn; 31] = built_in![
    "faulty_call",
    "no_call",
    "tool_not_relevant",
    "tool_name_literal",
    "tool_name_semantic",
    "tool_unknown",
    "parameter_of_other_tool",
    "parameter_literal",
    "parameter_semantic",
    "parameter_missing",
    "parameter_unknown",
    "type_mismatch",
    "constraint",
    "placeholder",
    "wrong_source",
    "circle",
    "repeated_call",
    "unread_answer",
    "confirm_call",
    "no_answer",
    "accepted_call",
    "deferred_call",
    "unexamined_call",
    "failed_outcome",
    "observed_failure",
    "doubted_answer",
    "unapproved_call",
    "lost_result",
    "found_tools",
    "missing_inputs",
    "closing",
];

/// Error in a directory of templates.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The directory or a file in it cannot be read.
    #[error("cannot read {path}: {source}", path = path.display())]
    Unreadable {
        /// Path that cannot be read.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The file is too large for a template.
    #[error("{path} has more than {limit} bytes", path = path.display())]
    TooLarge {
        /// Path of the file.
        path: PathBuf,
        /// Maximum size in bytes.
        limit: u64,
    },
    /// The file name does not match a built-in template.
    #[error("{path} does not match a built-in template; the templates are {known}", path = path.display())]
    UnknownName {
        /// Path of the file.
        path: PathBuf,
        /// Names of all templates.
        known: String,
    },
    /// The template is invalid, or uses a variable that its message does not have.
    #[error("{path}, line {line}: {message}", path = path.display())]
    Invalid {
        /// Path of the file.
        path: PathBuf,
        /// Line in the file, 1-based.
        line: usize,
        /// Description of the error.
        message: String,
    },
}

impl TemplateError {
    fn unreadable(path: &Path, source: std::io::Error) -> Self {
        Self::Unreadable { path: path.to_owned(), source }
    }

    fn invalid(path: &Path, error: &Error) -> Self {
        let kind = error.kind();
        let message = error.detail().map_or_else(|| kind.to_string(), |detail| format!("{kind}: {detail}"));
        Self::Invalid { path: path.to_owned(), line: error.line().unwrap_or(1), message }
    }
}

/// Behaviour at run time: a missing fact must not suppress the message, so a condition on it is false.
const IN_SERVICE: UndefinedBehavior = UndefinedBehavior::SemiStrict;

/// Behaviour while templates are checked: every name must be defined.
const ON_TRIAL: UndefinedBehavior = UndefinedBehavior::Strict;

/// Returns an environment with the built-in templates.
pub(super) fn built_in() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(IN_SERVICE);
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
    for template in BUILT_IN {
        let added = environment.add_template(template.name, template.text);
        debug_assert!(added.is_ok(), "{}: {added:?}", template.name);
    }
    environment
}

/// A template of the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TemplateSource {
    path: PathBuf,
    text: String,
}

/// Maximum size of a template in bytes: far larger than real templates, and little memory.
const MAX_BYTES: u64 = 256 * 1024;

/// Reads the templates of a directory, sorted by path. Skips hidden files and files without the extension `.jinja`.
pub(super) fn read(directory: &Path) -> Result<Vec<TemplateSource>, TemplateError> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(|error| TemplateError::unreadable(directory, error))? {
        let path = entry.map_err(|error| TemplateError::unreadable(directory, error))?.path();
        let is_hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
        if !is_hidden && path.extension().is_some_and(|extension| extension == "jinja") {
            paths.push(path);
        }
    }
    paths.sort();
    paths.into_iter().map(read_file).collect()
}

fn read_file(path: PathBuf) -> Result<TemplateSource, TemplateError> {
    let mut text = String::new();
    std::fs::File::open(&path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text))
        .map_err(|error| TemplateError::unreadable(&path, error))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(TemplateError::TooLarge { path, limit: MAX_BYTES });
    }
    Ok(TemplateSource { path, text })
}

/// Compiled templates, and the operator's sources among them.
#[derive(Debug)]
pub(super) struct TemplateLibrary {
    pub(super) environment: Environment<'static>,
    pub(super) sources: Vec<TemplateSource>,
}

impl TemplateLibrary {
    /// Renders a template.
    pub(super) fn render(&self, name: &str, context: &Value) -> Result<String, Error> {
        let text = self.environment.get_template(name)?.render(context)?;
        Ok(text.trim().to_owned())
    }

    /// Returns the operator's text that replaces a built-in template, if any.
    pub(super) fn replacing(&self, name: &str) -> Option<&str> {
        let source = self.sources.iter().find(|source| source.path.file_stem().is_some_and(|stem| stem == name))?;
        Some(&source.text)
    }
}

/// Compiles the built-in templates with these replacements. Renders each replacement with sample facts, so that errors
/// are found at load time and not in a conversation.
pub(super) fn compile(sources: Vec<TemplateSource>) -> Result<TemplateLibrary, TemplateError> {
    let mut environment = built_in();
    environment.set_undefined_behavior(ON_TRIAL);
    for source in &sources {
        replace(&mut environment, source)?;
    }
    environment.set_undefined_behavior(IN_SERVICE);
    Ok(TemplateLibrary { environment, sources })
}

fn replace(
    environment: &mut Environment<'static>,
    TemplateSource { path, text }: &TemplateSource,
) -> Result<(), TemplateError> {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let Some(template) = BUILT_IN.iter().find(|template| template.name == stem) else {
        let known = BUILT_IN.map(|template| template.name).join(", ");
        return Err(TemplateError::UnknownName { path: path.clone(), known });
    };
    environment
        .add_template_owned(template.name, text.clone())
        .map_err(|error| TemplateError::invalid(path, &error))?;
    for sample in samples::contexts(template.name) {
        environment
            .get_template(template.name)
            .and_then(|template| template.render(sample))
            .map_err(|error| TemplateError::invalid(path, &error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn load(directory: &Path) -> Result<Environment<'static>, TemplateError> {
        compile(read(directory)?).map(|library| library.environment)
    }

    fn load_one(name: &str, text: &str) -> Result<Environment<'static>, TemplateError> {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(name), text).unwrap();
        fs::write(directory.path().join("README.md"), "not a template {{").unwrap();
        fs::write(directory.path().join(".closing.jinja"), "a copy that an editor keeps {{").unwrap();
        load(directory.path())
    }

    #[test]
    fn every_built_in_template_renders_every_sample() {
        let mut environment = built_in();
        environment.set_undefined_behavior(ON_TRIAL);
        for template in BUILT_IN {
            let samples = samples::contexts(template.name);
            assert!(!samples.is_empty(), "{}", template.name);
            for sample in samples {
                let text = environment.get_template(template.name).unwrap().render(sample).unwrap();
                assert!(!text.trim().is_empty(), "{}", template.name);
            }
        }
    }

    #[test]
    fn a_template_of_the_operator_takes_the_place_of_the_built_in_one() {
        let environment = load_one("accepted_call.jinja", "Angenommen: {{ call.name }}").unwrap();
        let sample = samples::contexts("accepted_call").remove(0);
        let text = environment.get_template("accepted_call").unwrap().render(sample).unwrap();
        assert!(text.starts_with("Angenommen: "));
    }

    #[test]
    fn mistakes_are_found_when_loading_and_say_where() {
        let message = |name, text: &str| load_one(name, text).unwrap_err().to_string();
        assert!(message("closing.jinja", "a\n{{ nonsense }}").contains("closing.jinja, line 2"));
        assert!(message("constraint.jinja", "{{ facts.nonsense }}").contains("constraint.jinja, line 1"));
        assert!(message("closing.jinja", "{% if %}").contains("line 1"));
        assert!(message("repeated_call.jinja", "{% if facts.nonsense %}x{% endif %}").contains("line 1"));
        let unknown = message("clozing.jinja", "x");
        assert!(unknown.contains("does not match a built-in template; the templates are faulty_call,"));
        assert!(message("closing.jinja", &"x".repeat(300_000)).contains("closing.jinja has more than 262144 bytes"));
        let missing = load(Path::new("nowhere/at/all")).unwrap_err().to_string();
        assert!(missing.starts_with("cannot read nowhere/at/all"), "{missing}");
    }
}
