//! `callwright policy explain`: which policy a request would get, and why.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::Value;

use super::super::format::Format;
use super::VerbResult;
use crate::config;
use callwright_policy::{KeyFacts, Reasoned, TurnFacts};

/// With this header field a request asks for a policy.
const POLICY_HEADER: &str = "x-callwright-policy";

/// Arguments of `policy explain`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// File with the body of a chat request, as a client sends it; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    request: PathBuf,
    /// Header field of the request; may be given several times.
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Name of the virtual key that the request is sent with.
    #[arg(long, value_name = "NAME")]
    key: Option<String>,
    /// Name of that key's group.
    #[arg(long, value_name = "NAME", default_value = "", requires = "key")]
    group: String,
    /// Name of the policy that the key is bound to.
    #[arg(long, value_name = "NAME", default_value = "", requires = "key")]
    key_policy: String,
    /// The configuration; as for `serve`.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// How the answer is printed.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// `--format json`: as `POST /admin/policies/explain` says it.
#[derive(Serialize)]
struct Explained<'a> {
    model: &'a str,
    alias: bool,
    #[serde(flatten)]
    reasoned: &'a Reasoned,
}

pub(super) fn run(arguments: &Arguments) -> VerbResult {
    let model = model_of(&arguments.request)?;
    let request = config::Request { file: arguments.config.clone(), ..config::Request::default() };
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
        Format::Text => print(&model, alias.is_some(), &reasoned),
        Format::Json => {
            let explained = Explained { model: &model, alias: alias.is_some(), reasoned: &reasoned };
            anstream::println!("{}", serde_json::to_string(&explained)?);
        }
    }
    Ok(())
}

/// The model that the request names.
fn model_of(file: &Path) -> Result<String, String> {
    let place = if file == Path::new("-") { "standard input".to_owned() } else { file.display().to_string() };
    let text = if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(file)
    };
    let text = text.map_err(|error| format!("--request: {place}: {error}"))?;
    let body: Value = serde_json::from_str(&text).map_err(|error| format!("--request: {place}: no JSON: {error}"))?;
    let model = body.get("model").and_then(Value::as_str);
    model
        .map(str::to_owned)
        .ok_or_else(|| format!("--request: {place}: it has no `model`; give the body of a chat request"))
}

fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let (name, value) = text.split_once(':').ok_or("write it as `name: value`")?;
    let name = name.trim().parse().map_err(|_| format!("`{}` is not a header field's name", name.trim()))?;
    let value =
        value.trim().parse().map_err(|_| "the value has characters that a header field cannot hold".to_owned())?;
    Ok((name, value))
}

fn print(model: &str, is_alias: bool, reasoned: &Reasoned) {
    let Reasoned { policy, base, ground, considered } = reasoned;
    anstream::println!("{} `{model}`: policy `{}`, mode `{}`", kind(is_alias), policy.name, mode(reasoned));
    anstream::println!("  `{base}` holds: {ground}");
    if policy.name != *base {
        anstream::println!("  the request asks for more by `{POLICY_HEADER}`: of each rule the stricter holds");
    }
    anstream::println!("in the order in which they are tried:");
    for one in considered {
        let said = match (one.matches, &one.lacks) {
            (None, _) => "no `match`: it holds where it is named".to_owned(),
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
