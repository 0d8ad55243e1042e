//! `callwright policy`: validates policies, and explains which one a request would get, without serving.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::Value;

use super::errors::VerbResult;
use super::output::outln;
use super::setup::{load_config, load_policies};
use super::shared_arguments::OutputFormat;
use callwright_policy::{KeyFacts, PolicyBook, PolicySelection, Settings, TurnFacts};

/// Header field with which a request selects a policy.
const POLICY_HEADER: &str = "x-callwright-policy";

// A doc comment would replace that of the subcommand in `CliVerb`.
#[derive(Debug, Subcommand)]
pub(super) enum PolicyAction {
    /// Validate a folder of policies as `serve` would.
    Check {
        /// Folder of policies. Default: the policies of the configuration, and the policies that its model aliases
        /// name.
        #[arg(value_name = "PATH")]
        folder: Option<PathBuf>,
        /// Name of the policy that applies if none matches.
        #[arg(long, value_name = "NAME", requires = "folder")]
        default: Option<String>,
        /// Configuration file, if no folder is given. Default: as for `serve`.
        #[arg(long, value_name = "FILE", conflicts_with = "folder")]
        config: Option<PathBuf>,
    },
    /// Print which policy a request would get by the current configuration, and why.
    Explain(PolicyExplainArguments),
}

pub(super) fn run(action: PolicyAction) -> VerbResult {
    match action {
        PolicyAction::Check { folder: Some(folder), default, .. } => check_folder(&folder, default),
        PolicyAction::Check { config, .. } => check_configured(config),
        PolicyAction::Explain(arguments) => explain(&arguments),
    }
}

fn check_folder(folder: &Path, default: Option<String>) -> VerbResult {
    let default = default.unwrap_or_else(|| Settings::default().default);
    let settings = Settings { directory: folder.display().to_string(), default };
    print_policies(&PolicyBook::load(&settings, Path::new("."))?);
    Ok(())
}

fn check_configured(file: Option<PathBuf>) -> VerbResult {
    print_policies(&load_policies(&load_config(file)?)?);
    Ok(())
}

fn print_policies(book: &PolicyBook) {
    for policy in book.policies() {
        outln!("{}: OK, {}", policy.name, policy.description);
    }
}

/// Arguments of `policy explain`.
#[derive(Debug, Args)]
pub(super) struct PolicyExplainArguments {
    /// File with the body of a chat request, as a client sends it; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    request: PathBuf,
    /// Header field of the request; may be given several times.
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Name of the request's virtual key. It is assumed to list the policy that a header field `x-callwright-policy`
    /// selects.
    #[arg(long, value_name = "NAME")]
    key: Option<String>,
    /// Name of the key's group.
    #[arg(long, value_name = "NAME", default_value = "", requires = "key")]
    group: String,
    /// Name of the policy to which the key is bound.
    #[arg(long, value_name = "NAME", default_value = "", requires = "key")]
    key_policy: String,
    /// Configuration file. Default: as for `serve`.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

/// JSON form; the same members as the response of `POST /admin/policies/explain`.
#[derive(Serialize)]
struct PolicyExplanation<'a> {
    model: &'a str,
    alias: bool,
    #[serde(flatten)]
    reasoned: &'a PolicySelection,
}

fn explain(arguments: &PolicyExplainArguments) -> VerbResult {
    let model = model_of(&arguments.request)?;
    let loaded = load_config(arguments.config.clone())?;
    let book = load_policies(&loaded)?;
    let mut headers = HeaderMap::new();
    for (name, value) in &arguments.headers {
        headers.append(name.clone(), value.clone());
    }
    let alias = loaded.settings.aliases.get(&model);
    let wish = headers.get(POLICY_HEADER).and_then(|value| value.to_str().ok()).map(|text| text.trim().to_owned());
    let wish = wish.filter(|wish| !wish.is_empty());
    let reasoned = book.reason(&TurnFacts {
        model: &model,
        alias: alias.map(|_| model.as_str()),
        alias_policy: alias.map(|alias| alias.policy.as_str()).filter(|policy| !policy.is_empty()),
        key: arguments.key.as_deref().map(|name| KeyFacts {
            name,
            group: &arguments.group,
            policy: &arguments.key_policy,
            selectable_policies: wish.as_slice(),
        }),
        headers: &headers,
        requested: wish.as_deref(),
    })?;
    match arguments.format {
        OutputFormat::Text => print_explanation(&model, alias.is_some(), &reasoned),
        OutputFormat::Json => {
            let explained = PolicyExplanation { model: &model, alias: alias.is_some(), reasoned: &reasoned };
            outln!("{}", serde_json::to_string(&explained)?);
        }
    }
    Ok(())
}

/// Returns the model of the request.
fn model_of(file: &Path) -> Result<String, String> {
    let place = if file == Path::new("-") { "standard input".to_owned() } else { file.display().to_string() };
    let text = if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(file)
    };
    let text = text.map_err(|error| format!("--request: {place}: {error}"))?;
    let body: Value = serde_json::from_str(&text).map_err(|error| format!("--request: {place}: not JSON: {error}"))?;
    let model = body.get("model").and_then(Value::as_str);
    model
        .map(str::to_owned)
        .ok_or_else(|| format!("--request: {place}: no `model`; the file must hold the body of a chat request"))
}

fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let (name, value) = text.split_once(':').ok_or("expected `name: value`")?;
    let name = name.trim().parse().map_err(|_| format!("`{}` is not a header field name", name.trim()))?;
    let value =
        value.trim().parse().map_err(|_| "the value has characters that are invalid in a header field".to_owned())?;
    Ok((name, value))
}

fn print_explanation(model: &str, is_alias: bool, reasoned: &PolicySelection) {
    let PolicySelection { policy, base, ground, considered } = reasoned;
    let kind = if is_alias { "alias" } else { "model" };
    outln!("{kind} `{model}`: policy `{}`, mode `{}`", policy.name, policy.mode.label());
    outln!("  `{base}` applies: {ground}");
    if policy.name != *base {
        outln!("  the request selects another one with `{POLICY_HEADER}`");
    }
    outln!("policies in the order of evaluation:");
    for one in considered {
        let result = match (one.matches, &one.lacks) {
            (None, _) => "no `match`: applies only where it is named".to_owned(),
            (Some(true), _) => "matches".to_owned(),
            (Some(false), Some(key)) => format!("does not match: {key}"),
            (Some(false), None) => "does not match".to_owned(),
        };
        outln!("  `{}` (priority {}): {result}", one.name, one.priority);
    }
}
