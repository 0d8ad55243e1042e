//! Determines the server URLs of an operation.

mod choice;

use url::Url;

use crate::document::{ApiDocument, LocatedValue, Version};
use crate::report::notes::LoadNotes;
use crate::server::choice::ServerChoice;
use crate::{LoadError, ToolsetSettings, swagger};

/// Selects the servers of a document's operations.
pub(crate) struct Servers<'d> {
    document: &'d ApiDocument,
    choice: ServerChoice<'d>,
    replaced_by: Option<Url>,
    /// The document's own servers.
    root: Vec<Url>,
}

impl<'d> Servers<'d> {
    /// Parses the document's own servers; a non-empty `base_url` replaces them.
    ///
    /// # Errors
    ///
    /// Returns an error if `base_url` is not an absolute http or https URL, or the server settings do not match the
    /// document ([`ServerChoice::new`]).
    pub(crate) fn new(
        document: &'d ApiDocument,
        toolset: &'d str,
        settings: &'d ToolsetSettings,
        notes: &mut LoadNotes,
    ) -> Result<Self, LoadError> {
        let base_url = &settings.base_url;
        let operators = (!base_url.is_empty()).then(|| absolute(base_url)).transpose();
        let replaced_by = operators.map_err(|reason| {
            LoadError::settings(toolset, format!("base_url `{base_url}` {reason}; give an absolute http or https URL"))
        })?;
        let choice = ServerChoice::new(document, toolset, settings)?;
        let mut servers = Self { document, choice, replaced_by, root: Vec::new() };
        if let Some(url) = &servers.replaced_by {
            servers.root.push(url.clone());
            return Ok(servers);
        }
        if document.version == Version::V2_0 {
            servers.root = servers.swagger_servers(None, notes).unwrap_or_default();
            return Ok(servers);
        }
        match document.member("servers").filter(has_items) {
            Some(list) => servers.root = servers.listed_servers(&list, true, notes),
            None => match document.root().at.file().url().and_then(|url| url.join("/").ok()) {
                Some(origin) => servers.root.push(origin),
                None => notes.remark("the document has no server; `base_url` is needed to call its operations"),
            },
        }
        Ok(servers)
    }

    /// Returns the document's own servers, or only the operator's `base_url`.
    pub(crate) fn root(&self) -> &[Url] {
        &self.root
    }

    /// Returns the servers of `operation`: its own, otherwise those of its path, otherwise the document's (OpenAPI
    /// 3.0.4, Operation Object).
    pub(crate) fn servers_of(
        &self,
        path_item: &LocatedValue<'d>,
        operation: &LocatedValue<'d>,
        notes: &mut LoadNotes,
    ) -> Vec<Url> {
        if self.replaced_by.is_some() {
            return self.root.clone();
        }
        if self.document.version == Version::V2_0 {
            return self.swagger_servers(Some(operation), notes).unwrap_or_else(|| self.root.clone());
        }
        let nearest = [operation, path_item].into_iter().find_map(|holder| holder.member("servers").filter(has_items));
        nearest.map_or_else(|| self.root.clone(), |list| self.listed_servers(&list, false, notes))
    }

    /// Returns the servers of the document, or of `operation` if it lists schemes of its own.
    fn swagger_servers(&self, operation: Option<&LocatedValue<'d>>, notes: &mut LoadNotes) -> Option<Vec<Url>> {
        let addresses = swagger::addresses(self.document, operation, notes)?;
        let mut urls = Vec::new();
        let mut reasons = Vec::new();
        let base = self.document.root().at.file().url();
        for (position, address) in addresses.iter().enumerate() {
            if self.choice.selects(address, None, Some(position)) {
                match self.choice.fill(address, None).and_then(|filled| absolute_from(base, &filled)) {
                    Ok(url) => urls.push(url),
                    Err(reason) => reasons.push(reason),
                }
            }
        }
        if urls.is_empty() && operation.is_none() {
            let reason = reasons.first().map(|reason| format!(" ({reason})")).unwrap_or_default();
            notes.remark(format!("the document has no server{reason}; `base_url` is needed to call its operations"));
        }
        Some(urls)
    }

    /// Returns the usable servers of a list: only those that match the operator's choice, or all if none matches. The
    /// document's own list always has a match.
    fn listed_servers(&self, list: &LocatedValue<'d>, is_own: bool, notes: &mut LoadNotes) -> Vec<Url> {
        let servers = list.items().map(|server| server.follow().map_err(|error| (server.at, error)));
        let all: Vec<_> = servers.enumerate().collect();
        let is_selected = |index: usize, server: &LocatedValue<'_>| {
            self.choice.selects(server.text("url").unwrap_or_default(), Some(server), is_own.then_some(index))
        };
        let has_selected =
            all.iter().any(|(index, server)| server.as_ref().is_ok_and(|server| is_selected(*index, server)));
        let mut urls = Vec::new();
        for (index, server) in all {
            let (position, url) = match server {
                Ok(server) if has_selected && !is_selected(index, &server) => continue,
                Ok(server) => (server.at.clone(), self.address(&server)),
                Err((position, error)) => (position, Err(error.to_string())),
            };
            match url {
                Ok(url) => urls.push(url),
                Err(reason) => notes.remark_at(&position, format_args!("the server {reason}; it is not used")),
            }
        }
        if urls.is_empty() {
            notes.remark_at(&list.at, "no usable server; `base_url` is needed to call the operations");
        }
        urls
    }

    /// Returns the server's URL. A relative URL is resolved against the document's URL (OpenAPI 3.0.4, Server
    /// Object), which only a remote document has.
    fn address(&self, server: &LocatedValue<'_>) -> Result<Url, String> {
        let template = server.text("url").ok_or("has no `url`")?;
        absolute_from(server.at.file().url(), &self.choice.fill(template, Some(server))?)
    }
}

fn has_items(list: &LocatedValue<'_>) -> bool {
    list.value.as_array().is_some_and(|servers| !servers.is_empty())
}

fn absolute_from(base: Option<&Url>, text: &str) -> Result<Url, String> {
    match base.map(|base| base.join(text.trim())) {
        None if begins_with_host(text) => absolute(&format!("https://{text}")),
        None => absolute(text),
        Some(Ok(url)) => absolute(url.as_str()),
        Some(Err(error)) => Err(format!("`{text}` is not a URL ({error})")),
    }
}

fn absolute(text: &str) -> Result<Url, String> {
    let text = text.trim();
    // A URL without scheme takes the scheme of the document's URL, which is unknown for a local file. `https` is
    // assumed.
    let url = if text.starts_with("//") { Url::parse(&format!("https:{text}")) } else { Url::parse(text) };
    let url = url.map_err(|error| format!("`{text}` is not an absolute URL ({error})"))?;
    let is_http = matches!(url.scheme(), "http" | "https") && url.has_host();
    if is_http { Ok(url) } else { Err(format!("`{text}` is not an http or https URL")) }
}

/// Whether the text begins with a host name instead of a scheme: `api.example.com/v1`. A text that begins with a
/// slash or a dot is relative.
fn begins_with_host(text: &str) -> bool {
    let text = text.trim();
    let host = text.split(['/', ':', '?', '#']).next().unwrap_or_default();
    let behind = text.get(host.len()..).unwrap_or_default();
    let labels: Vec<&str> = host.split('.').collect();
    let is_host =
        labels.iter().all(|label| !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'));
    let is_name = labels.last().is_some_and(|last| last.len() > 1 && last.chars().all(|c| c.is_ascii_alphabetic()));
    labels.len() > 1 && is_name && is_host && !behind.starts_with("://")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use serde_json::{Value, json};

    fn servers_of(root: Value, base_url: &str) -> Result<(Vec<String>, usize), LoadError> {
        let document = ApiDocument::new(root, Path::new("api.json"))?;
        let mut notes = LoadNotes::default();
        let settings = ToolsetSettings { base_url: base_url.to_owned(), ..ToolsetSettings::default() };
        let servers = Servers::new(&document, "api", &settings, &mut notes)?;
        let path_item = document.member("item").unwrap();
        let urls = servers.servers_of(&path_item, &path_item.member("get").unwrap(), &mut notes);
        Ok((urls.into_iter().map(String::from).collect(), notes.finish().0.len()))
    }

    #[test]
    fn the_nearest_servers_apply_with_default_variables() {
        let variables = json!({"region": {"default": "eu"}, "port": {"default": 8443}});
        let root = json!({
            "openapi": "3.0.0",
            "servers": [{"url": "https://{region}.example.com:{port}/v1", "variables": variables}, {"url": "/v2"}],
            "item": {"get": {}}
        });
        assert_eq!(servers_of(root, "").unwrap(), (vec!["https://eu.example.com:8443/v1".to_owned()], 1));
        let root = json!({
            "openapi": "3.0.0", "servers": [{"url": "https://a.example.com"}],
            "item": {"servers": [{"url": "https://b.example.com"}], "get": {"servers": [{"url": "//c.example.com"}]}}
        });
        assert_eq!(servers_of(root, "").unwrap(), (vec!["https://c.example.com/".to_owned()], 0));
    }

    #[test]
    fn the_operators_address_replaces_all_others() {
        let root = json!({"openapi": "3.0.0", "item": {"servers": [{"url": "https://b.example.com"}], "get": {}}});
        assert_eq!(
            servers_of(root.clone(), "http://127.0.0.1:9/x").unwrap(),
            (vec!["http://127.0.0.1:9/x".to_owned()], 0)
        );
        for bad in ["/v1", "ftp://a.example.com", "api.example.com"] {
            assert!(matches!(servers_of(root.clone(), bad), Err(LoadError::Settings { .. })), "{bad}");
        }
    }

    #[test]
    fn a_host_without_scheme_and_a_variable_without_default_are_understood() {
        let variables = json!({"region": {"enum": ["us", "eu"]}});
        let root = json!({
            "openapi": "3.0.0", "item": {"get": {}},
            "servers": [{"url": "api.example.com:8443/v1"}, {"url": "https://{region}.example.com", "variables": variables}]
        });
        let expected = ["https://api.example.com:8443/v1", "https://us.example.com/"].map(str::to_owned);
        assert_eq!(servers_of(root, "").unwrap(), (expected.to_vec(), 0));
        for relative in ["v1.0", "./api.example.com", "/api.example.com", "api", "ftp.example.com://x"] {
            assert!(!begins_with_host(relative), "{relative}");
        }
    }

    #[test]
    fn unusable_servers_are_reported() {
        let root = json!({
            "openapi": "3.0.0", "item": {"get": {}},
            "servers": [{"url": "https://{x}.example.com"}, {"url": "https://{x"}, {}, 1, {"url": "wss://a.example.com"}]
        });
        assert_eq!(servers_of(root, "").unwrap(), (vec![], 6));
        assert_eq!(servers_of(json!({"openapi": "3.0.0", "item": {"get": {}}}), "").unwrap(), (vec![], 1));
    }
}
