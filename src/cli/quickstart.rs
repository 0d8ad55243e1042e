//! Configurations that `serve --openapi` and `init` make from a provider, a model and an OpenAPI document.

use std::error::Error;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use url::{Host, Url};

use crate::app;
use crate::config::{self, ConfigError, LoadedConfig, toml_string};
use callwright_openapi::Catalog;

/// Addresses of this machine, which `executor.allowed_addresses` must name before the proxy calls them.
pub(super) const LOOPBACK: [&str; 2] = ["127.0.0.0/8", "::1"];

/// File names without a meaning, which do not name a toolset.
const PLAIN_NAMES: [&str; 6] = ["openapi", "swagger", "api-docs", "spec", "index", "v3"];

/// Name of a toolset whose document has no better one.
const DEFAULT_NAME: &str = "api";

/// A model provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Provider {
    /// Base URL; empty: CALLWRIGHT_UPSTREAM_URL, then OPENAI_BASE_URL, then OpenAI's API.
    pub(super) base_url: String,
    /// Environment variable with the provider's key; empty: the keys of clients are forwarded.
    pub(super) key_variable: String,
}

/// An OpenAPI document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ToolDocument {
    pub(super) name: String,
    /// Path or URL.
    pub(super) document: String,
    /// Base URL of the API; empty: the document's servers.
    pub(super) api_url: String,
}

/// A configuration in the making.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Quickstart {
    pub(super) provider: Provider,
    pub(super) model: String,
    pub(super) documents: Vec<ToolDocument>,
    /// Whether tool APIs on this machine may be called.
    pub(super) allows_loopback: bool,
}

impl Quickstart {
    /// Returns the tables of provider, model and tools in TOML, without comments.
    pub(super) fn tables(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        if !self.provider.base_url.is_empty() {
            let _ = writeln!(text, "[upstreams.default]\nbase_url = {}", quoted(&self.provider.base_url));
            if !self.provider.key_variable.is_empty() {
                let _ = writeln!(text, "api_key = \"${{{}:-}}\"", self.provider.key_variable);
            }
        }
        if !self.model.is_empty() {
            let names: Vec<String> = self.documents.iter().map(|document| quoted(&document.name)).collect();
            let model = quoted(&self.model);
            let key = toml_string(&self.model);
            let _ = writeln!(text, "\n[aliases.{key}]\nmodel = {model}\ntoolsets = [{}]", names.join(", "));
        }
        for ToolDocument { name, document, api_url } in &self.documents {
            let _ = writeln!(text, "\n[toolsets.{name}]\ndocument = {}", quoted(document));
            if !api_url.is_empty() {
                let _ = writeln!(text, "base_url = {}", quoted(api_url));
            }
        }
        if self.allows_loopback {
            let addresses = LOOPBACK.map(|address| format!("\"{address}\"")).join(", ");
            let _ = writeln!(text, "\n[executor]\nallowed_addresses = [{addresses}]");
        }
        text
    }

    /// Returns the settings of a proxy that keeps nothing on disk.
    ///
    /// # Errors
    /// An invalid flag.
    pub(super) fn in_memory(
        &self,
        listen: Option<SocketAddr>,
        operator_listen: Option<SocketAddr>,
    ) -> Result<LoadedConfig, ConfigError> {
        let mut text = String::from("[server]\n");
        for (key, address) in [("listen", listen), ("operator_listen", operator_listen)] {
            if let Some(address) = address {
                let _ = writeln!(text, "{key} = \"{address}\"");
            }
        }
        let store = "[store]\nurl = \"sqlite::memory:\"\nspill_dir = \"\"\n";
        config::parse(&format!("{text}{store}{}", self.tables()), Path::new("."), &config::process_environment)
    }

    /// Loads the documents as a proxy with this configuration would.
    ///
    /// # Errors
    /// A document that cannot be used.
    pub(super) fn load_documents(&self, base_dir: &Path) -> Result<Catalog, Box<dyn Error + Send + Sync>> {
        let loaded = config::parse(&self.tables(), base_dir, &config::process_environment)?;
        let (catalog, errors) = app::load_catalog(&loaded.settings, &loaded.base_dir)?;
        match errors.into_iter().next() {
            Some(error) if catalog.toolsets().next().is_none() => Err(error.into()),
            _ => Ok(catalog),
        }
    }
}

/// Returns a TOML string. `${` is escaped, because the configuration interpolates environment variables.
pub(super) fn quoted(text: &str) -> String {
    toml_string(&text.replace("${", "$${"))
}

/// Returns toolsets for documents, named after their files; names are unique.
pub(super) fn tool_documents(documents: &[String], api_url: &str) -> Vec<ToolDocument> {
    let mut named: Vec<ToolDocument> = Vec::new();
    for document in documents {
        let base = name_of(document);
        let (mut name, mut number) = (base.clone(), 2_u32);
        while named.iter().any(|other| other.name == name) {
            name = format!("{base}-{number}");
            number += 1;
        }
        named.push(ToolDocument { name, document: document.clone(), api_url: api_url.to_owned() });
    }
    named
}

/// Returns a name for the toolset of a document: its file name without extension in lower case.
fn name_of(document: &str) -> String {
    let path = document.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    let path = path.split_once("://").map_or(path, |(_, rest)| rest.split_once('/').map_or("", |(_, path)| path));
    let file = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem).to_lowercase();
    let name: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let name = name.trim_matches('-');
    if name.is_empty() || PLAIN_NAMES.contains(&name) { DEFAULT_NAME.to_owned() } else { name.to_owned() }
}

/// Whether a URL names this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.to_canonical().is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toolsets_are_named_after_their_documents() {
        let documents = [
            "http://127.0.0.1:8000/openapi.json",
            "specs/Meeting Rooms.yaml",
            "https://api.example.com/v2/swagger.json?x=1",
            "https://api.example.com/",
            "crm.v2.yaml",
        ];
        let named = tool_documents(&documents.map(str::to_owned), "");
        let names: Vec<&str> = named.iter().map(|document| document.name.as_str()).collect();
        assert_eq!(names, ["api", "meeting-rooms", "api-2", "api-3", "crm-v2"]);
    }

    #[test]
    fn hostile_texts_stay_values() {
        let quickstart = Quickstart {
            provider: Provider { base_url: "http://host/v1".to_owned(), key_variable: String::new() },
            model: "a\"]\n[server]\u{7f}x = \"${HOME}".to_owned(),
            documents: tool_documents(&["x\"\n${HOME}.json".to_owned()], "http://127.0.0.1/\"a\""),
            allows_loopback: true,
        };
        let settings = quickstart.in_memory(None, None).unwrap().settings;
        assert!(settings.aliases.contains_key(&quickstart.model));
        let toolset = settings.toolsets.values().next().unwrap();
        assert_eq!(toolset.document, "x\"\n${HOME}.json");
        assert_eq!(settings.executor.allowed_addresses, LOOPBACK);
    }

    #[test]
    fn this_machine_has_several_names() {
        for (url, is_local) in [
            ("http://127.0.0.1:8000/", true),
            ("http://127.8.0.1/", true),
            ("http://localhost/", true),
            ("http://[::1]:1/", true),
            ("http://[::ffff:127.0.0.1]/", true),
            ("http://10.0.0.1/", false),
            ("https://localhost.example.com/", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), is_local, "{url}");
        }
    }
}
