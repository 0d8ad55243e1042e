//! `callwright init`: writes a first configuration and a policy.

use std::error::Error;
use std::fs::OpenOptions;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use url::Url;

use super::errors::VerbResult;
use super::output::outln;
use super::plain;
use super::quickstart::{Provider, Quickstart, is_loopback, quoted, tool_documents};
use crate::config::DEFAULT_FILE;

/// Providers with a name: base URL, and the environment variable with the key.
const PROVIDERS: [(&str, &str, &str); 5] = [
    ("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    ("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    ("ollama", "http://127.0.0.1:11434/v1", ""),
    ("vllm", "http://127.0.0.1:8000/v1", ""),
    ("lmstudio", "http://127.0.0.1:1234/v1", ""),
];

/// Path of the policy, relative to the folder of the configuration.
const POLICY_FILE: &str = "policies/default.yaml";

/// The policy.
const POLICY: &str = "\
# Rules of every request for which no other policy is selected. An omitted key has its default.
# `callwright policy check` validates the files of this folder; a running proxy reloads them.
name: default
description: GET and HEAD calls run; other methods wait for a person's approval.

# guard: repair, send back and execute calls. shadow: only record what guard would do. off: pass through.
mode: guard

execute:
  # The first matching rule decides; without one, only GET and HEAD run.
  rules:
    - methods: [POST, PUT, PATCH, DELETE]
      permission: approve # or allow, or deny
";

/// Arguments of `init`.
#[derive(Debug, Args)]
pub(super) struct InitArguments {
    /// Folder of the files; it is created if it does not exist.
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// Model provider: openai, openrouter, ollama, vllm, lmstudio, or a base URL such as https://host/v1.
    #[arg(long, value_name = "NAME_OR_URL")]
    provider: Option<String>,
    /// Model name as the provider spells it.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// OpenAPI document of the API whose operations become tools.
    #[arg(long, value_name = "FILE_OR_URL")]
    openapi: Option<String>,
    /// Base URL of that API. Default: the document's server.
    #[arg(long, value_name = "URL")]
    api_url: Option<String>,
    /// Overwrite existing files.
    #[arg(long)]
    force: bool,
}

pub(super) fn run(arguments: InitArguments) -> VerbResult {
    let InitArguments { directory, provider, model, openapi, api_url, force } = arguments;
    let files = [directory.join(DEFAULT_FILE), directory.join(POLICY_FILE)];
    if let Some(file) = files.iter().find(|file| !force && file.exists()) {
        return Err(exists(file).into());
    }
    let question = "Provider (openai, openrouter, ollama, vllm, lmstudio, or a base URL)";
    let provider = provider_of(&answer(provider, "--provider", question)?)?;
    let model = answer(model, "--model", "Model, as the provider spells it")?;
    let openapi = answer(openapi, "--openapi", "OpenAPI document (file or URL) of the API to use as tools")?;
    let document = relative_to(&directory, &openapi);
    let mut quickstart = Quickstart {
        provider,
        model,
        documents: tool_documents(std::slice::from_ref(&document), api_url.as_deref().unwrap_or_default()),
        // To fetch the document of an API on this machine.
        allows_loopback: true,
    };
    let (mut tools, mut servers) = inspect(&quickstart, &directory)?;
    if servers.is_empty() {
        let url = answer(None, "--api-url", "The document names no server. Base URL of the API")?;
        quickstart.documents = tool_documents(&[document], &url);
        (tools, servers) = inspect(&quickstart, &directory)?;
    }
    quickstart.allows_loopback =
        servers.iter().any(is_loopback) || Url::parse(&openapi).is_ok_and(|url| is_loopback(&url));

    let config = config_text(&quickstart);
    for (file, text) in files.iter().zip([config.as_str(), POLICY]) {
        write(file, text, force)?;
        outln!("wrote {}", file.strip_prefix(".").unwrap_or(file).display());
    }
    let server = servers.first().map(Url::to_string).unwrap_or_default();
    outln!("{tools} tools from {}, called at {}", plain::text(&openapi), plain::text(&server));
    print_next(&directory, &quickstart);
    Ok(())
}

/// Loads the document; returns the number of its tools and its servers.
fn inspect(quickstart: &Quickstart, directory: &Path) -> Result<(usize, Vec<Url>), Box<dyn Error + Send + Sync>> {
    let catalog = quickstart.load_documents(directory)?;
    let tools = catalog.toolsets().map(|toolset| toolset.operations.len()).sum();
    if tools == 0 {
        let file = catalog.toolsets().next().map(|toolset| toolset.report.file.clone()).unwrap_or_default();
        return Err(format!("no operation of {file} can be a tool; `callwright check {file}` reports why").into());
    }
    let servers = catalog.toolsets().flat_map(|toolset| &toolset.operations);
    let mut servers: Vec<Url> = servers.filter_map(|operation| operation.servers.first().cloned()).collect();
    servers.dedup();
    Ok((tools, servers))
}

fn provider_of(text: &str) -> Result<Provider, String> {
    let text = text.trim();
    if let Some((_, base_url, key)) = PROVIDERS.iter().find(|(name, ..)| name.eq_ignore_ascii_case(text)) {
        return Ok(Provider { base_url: (*base_url).to_owned(), key_variable: (*key).to_owned() });
    }
    match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.host().is_some() => {
            Ok(Provider { base_url: text.to_owned(), key_variable: String::new() })
        }
        _ => {
            let names = PROVIDERS.map(|(name, ..)| name).join(", ");
            Err(format!(
                "--provider: `{}` is neither one of {names} nor a base URL such as https://host/v1",
                plain::text(text)
            ))
        }
    }
}

/// Returns a path that the configuration in `directory` can use; URLs stay.
fn relative_to(directory: &Path, document: &str) -> String {
    if document.contains("://") || Path::new(document).is_absolute() || directory == Path::new(".") {
        return document.to_owned();
    }
    if let Ok(rest) = Path::new(document).strip_prefix(directory) {
        return rest.display().to_string();
    }
    std::path::absolute(document).map_or_else(|_| document.to_owned(), |path| path.display().to_string())
}

/// Returns the configuration with comments.
fn config_text(quickstart: &Quickstart) -> String {
    let key = &quickstart.provider.key_variable;
    let key = match key.is_empty() {
        true => "# No key: the keys of clients are forwarded. `api_key` sends one key for all clients.".to_owned(),
        false => format!("# The provider's key. While {key} is not set, the keys of clients are forwarded."),
    };
    let mut text = String::from(
        "# Configuration of callwright. Keys that are not here have their defaults: docs/configuration.md lists them.\n\
         # `callwright config check` validates this file, `callwright doctor` checks what it names.\n\n\
         # Addresses of both listeners: for clients, and for operators with the console at /console.\n\
         [server]\nlisten = \"127.0.0.1:8787\"\noperator_listen = \"127.0.0.1:8788\"\n\n\
         # The model provider. A base URL usually ends in /v1.\n",
    );
    for line in quickstart.tables().lines() {
        let comment = match line {
            _ if line.starts_with("api_key = ") => key.as_str(),
            _ if line.starts_with("[aliases.") => {
                "# The model name that clients use. Its requests also get the tools of these toolsets."
            }
            _ if line.starts_with("[toolsets.") => {
                "# The operations of this document become tools, which the proxy calls at the document's server, or at\n\
                 # `base_url`. `credentials` holds keys of the API: docs/toolsets.md."
            }
            _ if line.starts_with("[executor]") => {
                "# Private addresses are refused unless they are here: an API on this machine is called on purpose."
            }
            _ => "",
        };
        if !comment.is_empty() {
            text.push_str(comment);
            text.push('\n');
        }
        text.push_str(line);
        text.push('\n');
    }
    if quickstart.provider.key_variable.is_empty() {
        text = text.replacen("[upstreams.default]", &format!("{key}\n[upstreams.default]"), 1);
    }
    text.push_str(&format!(
        "\n# Rules and limits: {POLICY_FILE}.\n[policies]\ndirectory = {}\n\n\
         # Traces, approvals and what is learned.\n[store]\nurl = \"sqlite:callwright.sqlite3\"\n",
        quoted("policies")
    ));
    text
}

fn exists(file: &Path) -> String {
    format!("{} exists already; add --force to overwrite it, or name another folder", file.display())
}

fn write(file: &Path, text: &str, force: bool) -> Result<(), String> {
    let shown = file.display();
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create(force).truncate(force).create_new(!force);
    match options.open(file).and_then(|mut opened| opened.write_all(text.as_bytes())) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(exists(file)),
        done => done.map_err(|error| format!("{shown}: {error}")),
    }
}

fn print_next(directory: &Path, quickstart: &Quickstart) {
    outln!("\nnext:");
    if directory != Path::new(".") {
        outln!("  cd {}", directory.display());
    }
    let key = &quickstart.provider.key_variable;
    if !key.is_empty() {
        outln!("  export {key}=...   # unless it is set, or clients send their own keys");
    }
    outln!("  callwright doctor   # checks provider, document and files");
    outln!("  callwright serve");
}

/// Returns the value of a flag, or prompts a person at a terminal for it.
fn answer(given: Option<String>, flag: &str, question: &str) -> Result<String, String> {
    if let Some(value) = given {
        let value = value.trim().to_owned();
        return if value.is_empty() { Err(format!("{flag} is empty")) } else { Ok(value) };
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(format!("{flag} is missing; `callwright init` prompts for it only on a terminal ({question})"));
    }
    loop {
        // Standard output may be redirected.
        anstream::eprint!("{question}: ");
        io::stderr().flush().map_err(|error| error.to_string())?;
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line).map_err(|error| format!("standard input: {error}"))?;
        if read == 0 {
            return Err(format!("no answer; give {flag}"));
        }
        if !line.trim().is_empty() {
            return Ok(line.trim().to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    #[test]
    fn providers_have_names_or_a_base_url() {
        let openai = provider_of("OpenAI").unwrap();
        assert_eq!((openai.base_url.as_str(), openai.key_variable.as_str()), (PROVIDERS[0].1, "OPENAI_API_KEY"));
        assert_eq!(provider_of("http://10.0.0.1:8000/v1").unwrap().key_variable, "");
        for text in ["openia", "file:///x", "host/v1", ""] {
            assert!(provider_of(text).unwrap_err().contains("openrouter"), "{text}");
        }
    }

    #[test]
    fn what_is_written_is_valid_and_explained() {
        for (provider, loopback) in [("openai", true), ("ollama", false)] {
            let quickstart = Quickstart {
                provider: provider_of(provider).unwrap(),
                model: "gpt-x.1".to_owned(),
                documents: tool_documents(&["rooms.yaml".to_owned()], "http://127.0.0.1:1"),
                allows_loopback: loopback,
            };
            let text = config_text(&quickstart);
            let settings = config::parse(&text, Path::new(""), &|_| None).unwrap().settings;
            assert_eq!(settings.aliases["gpt-x.1"].toolsets, ["rooms"]);
            assert_eq!(settings.executor.allowed_addresses.is_empty(), !loopback);
            for table in text.lines().filter(|line| line.starts_with('[')) {
                let (before, _) = text.split_once(table).unwrap();
                assert!(before.trim_end().lines().last().unwrap().starts_with('#'), "{table} has no comment:\n{text}");
            }
        }
    }

    #[test]
    fn documents_beside_the_configuration_have_short_paths() {
        let here = Path::new("proxy");
        assert_eq!(relative_to(here, "proxy/api.yaml"), "api.yaml");
        assert_eq!(relative_to(here, "https://host/openapi.json"), "https://host/openapi.json");
        assert_eq!(relative_to(here, "/specs/api.yaml"), "/specs/api.yaml");
        assert!(Path::new(&relative_to(here, "api.yaml")).is_absolute());
        assert_eq!(relative_to(Path::new("."), "api.yaml"), "api.yaml");
    }
}
