//! Defaults without a file: one upstream from CALLWRIGHT_UPSTREAM_URL and the variables that OpenAI's clients
//! read, and other environment variables.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Environment;
use super::document::ConfigDocument;
use super::problem::ConfigProblem;
use super::settings::{DEFAULT_UPSTREAM, Settings};

/// Environment variable that names the library file of ONNX Runtime, as used by other programs.
const ONNX_RUNTIME_VARIABLE: &str = "ORT_DYLIB_PATH";

/// The built-in upstream in TOML.
const DOCUMENT: &str = r#"
[upstreams.default]
base_url = "${CALLWRIGHT_UPSTREAM_URL:-${OPENAI_BASE_URL:-https://api.openai.com/v1}}"
api_key = "${OPENAI_API_KEY:-}"
"#;

/// Adds the built-in upstream if the file names none, and its address and key if the file's `[upstreams.default]` has
/// no address.
///
/// The key from the environment belongs to the address from the environment: it is never sent to an address from the
/// file.
pub(super) fn complete(tree: &mut DeTable<'_>, environment: &Environment) -> Result<(), Vec<ConfigProblem>> {
    let Some(builtin) = ConfigDocument::parse(DOCUMENT, environment)?.into_tree().remove("upstreams") else {
        return Ok(());
    };
    match tree.get_mut("upstreams").map(Spanned::get_mut) {
        None => {
            tree.insert(unplaced("upstreams"), builtin);
        }
        Some(DeValue::Table(upstreams)) => {
            if let Some(DeValue::Table(upstream)) = upstreams.get_mut(DEFAULT_UPSTREAM).map(Spanned::get_mut) {
                complete_upstream(upstream, builtin.into_inner());
            }
        }
        Some(_) => {}
    }
    Ok(())
}

/// Completes settings that the file leaves empty from the environment.
pub(super) fn complete_settings(settings: &mut Settings, environment: &Environment) {
    let onnx_runtime = &mut settings.embedding.fastembed.onnx_runtime;
    if onnx_runtime.is_empty() {
        *onnx_runtime = onnx_runtime_path(environment);
    }
}

/// Returns the path of ONNX Runtime from the environment, or an empty string. For subcommands that read no file.
pub fn onnx_runtime_path(environment: &Environment) -> String {
    environment(ONNX_RUNTIME_VARIABLE).unwrap_or_default().to_string_lossy().into_owned()
}

fn complete_upstream<'t>(upstream: &mut DeTable<'t>, builtin: DeValue<'t>) {
    let DeValue::Table(mut builtin) = builtin else { return };
    let Some(DeValue::Table(keys)) = builtin.remove(DEFAULT_UPSTREAM).map(Spanned::into_inner) else { return };
    if upstream.contains_key("base_url") {
        return;
    }
    for (key, value) in keys {
        if !upstream.contains_key(key.get_ref().as_ref()) {
            upstream.insert(key, value);
        }
    }
}

fn unplaced(key: &'static str) -> Spanned<Cow<'static, str>> {
    Spanned::new(0..0, Cow::Borrowed(key))
}
