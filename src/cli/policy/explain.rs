//! `callwright policy explain`: prints which policy a request would get, and why.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::Value;

use super::super::format::OutputFormat;
use super::VerbResult;
use crate::config;
use callwright_policy::{KeyFacts, Reasoned, TurnFacts};

/// Header field with which a request selects a policy.
const POLICY_HEADER: &str = "x-callwright-policy";

/// Arguments of `policy explain`.
#[derive(Debug, Args)]
pub(super) struct PolicyExplainArguments {
    /// File with the body of a chat request, as a client sends it; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    request: PathBuf,
    /// Header field of the request; may be given several times.
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Name of the request's virtual key.
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
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

/// JSON form; the same members as the response of `POST /admin/policies/explain`.
#[derive(Serialize)]
struct PolicyExplanation<'a> {
    model: &'a str,
    alias: bool,
    #[serde(flatten)]
    reasoned: &'a Reasoned,
}

pub(super) fn run(arguments: &PolicyExplainArguments) -> VerbResult {
    let model = model_of(&arguments.request)?;
    let request = config::ConfigRequest { file: arguments.config.clone(), ..config::ConfigRequest::default() };
    let loaded = config::load(&request, &config::process_environment)?;
    let book = super::load(&loaded)?;
    let mut headers = HeaderMap::new();
    for (name, value) in &arguments.headers {
        headers.append(name.clone(), value.clone());
    }
    let alias = loaded.settings.aliases.get(&model);
    let wish = headers.get(POLICY_HEADER).and_then(|value| value.to_str().ok()).map(str::trim);
    let reasoned = book.reason(&TurnFacts {
        model: &model,
        alias: alias.map(|_| model.as_str()),
        alias_policy: alias.map(|alias| alias.policy.as_str()).filter(|policy| !policy.is_empty()),
        key: arguments.key.as_deref().map(|name| KeyFacts {
            name,
            group: &arguments.group,
            policy: &arguments.key_policy,
            selectable: None,
        }),
        headers: &headers,
        requested: wish.filter(|wish| !wish.is_empty()),
    })?;
    match arguments.format {
        OutputFormat::Text => print(&model, alias.is_some(), &reasoned),
        OutputFormat::Json => {
            let explained = PolicyExplanation { model: &model, alias: alias.is_some(), reasoned: &reasoned };
            anstream::println!("{}", serde_json::to_string(&explained)?);
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

fn print(model: &str, is_alias: bool, reasoned: &Reasoned) {
    let Reasoned { policy, base, ground, considered } = reasoned;
    anstream::println!("{} `{model}`: policy `{}`, mode `{}`", kind(is_alias), policy.name, mode(reasoned));
    anstream::println!("  `{base}` applies: {ground}");
    if policy.name != *base {
        anstream::println!("  the request adds a policy with `{POLICY_HEADER}`: of each rule the stricter applies");
    }
    anstream::println!("policies in the order of evaluation:");
    for one in considered {
        let said = match (one.matches, &one.lacks) {
            (None, _) => "no `match`: applies only where it is named".to_owned(),
            (Some(true), _) => "matches".to_owned(),
            (Some(false), Some(key)) => format!("does not match: {key}"),
            (Some(false), None) => "does not match".to_owned(),
        };
        anstream::println!("  `{}` (priority {}): {said}", one.name, one.priority);
    }
}

fn kind(is_alias: bool) -> &'static str {
    if is_alias { "alias" } else { "model" }
}

fn mode(reasoned: &Reasoned) -> &'static str {
    reasoned.policy.mode.label()
}
