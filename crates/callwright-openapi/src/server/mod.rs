//! Determines the server URLs of an operation, by the operator's choice of server and the values of server variables
//! (OpenAPI 3.0.4, Server Object and Server Variable Object).

use std::collections::BTreeSet;

use url::Url;

use crate::{ApiDocument, LoadError, LoadNotes, LocatedValue, ToolsetSettings, Version, swagger};
use callwright_common::json::scalar_text;
use callwright_common::text::code_spans;

/// Selects the servers of a document's operations.
pub(crate) struct Servers<'d> {
    document: &'d ApiDocument,
    toolset: &'d str,
    settings: &'d ToolsetSettings,
    /// The document's own servers, or only the operator's `base_url`.
    pub(crate) root: Vec<Url>,
}

impl<'d> Servers<'d> {
    /// Parses the document's own servers; a non-empty `base_url` replaces them.
    ///
    /// # Errors
    ///
    /// Returns an error if `base_url` is not an absolute http or https URL, or the server settings do not match the
    /// document ([`Self::check_settings`]).
    pub(crate) fn new(
        document: &'d ApiDocument,
        toolset: &'d str,
        settings: &'d ToolsetSettings,
        notes: &mut LoadNotes,
    ) -> Result<Self, LoadError> {
        let mut servers = Self { document, toolset, settings, root: Vec::new() };
        let base_url = &settings.base_url;
        if !base_url.is_empty() {
            let url = absolute(base_url)
                .map_err(|reason| format!("base_url `{base_url}` {reason}; give an absolute http or https URL"));
            servers.root.push(url.map_err(|reason| LoadError::settings(toolset, reason))?);
        }
        servers.check_settings()?;
        if !base_url.is_empty() {
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

    /// Returns the servers of `operation`: its own, otherwise those of its path, otherwise the document's (OpenAPI
    /// 3.0.4, Operation Object).
    pub(crate) fn servers_of(
        &self,
        path_item: &LocatedValue<'d>,
        operation: &LocatedValue<'d>,
        notes: &mut LoadNotes,
    ) -> Vec<Url> {
        if !self.settings.base_url.is_empty() {
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
            if self.selects(address, None, Some(position)) {
                match self.fill(address, None).and_then(|filled| absolute_from(base, &filled)) {
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
            self.selects(server.text("url").unwrap_or_default(), Some(server), is_own.then_some(index))
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
        absolute_from(server.at.file().url(), &self.fill(template, Some(server))?)
    }
}

impl Servers<'_> {
    /// Checks the settings `server` and `server_variables` against the document.
    ///
    /// # Errors
    ///
    /// Returns an error if they select a server that the document does not have, name a variable that no server has,
    /// or set a value that no server allows. Also returns an error if they are combined with `base_url`, which
    /// replaces all servers.
    fn check_settings(&self) -> Result<(), LoadError> {
        let settings = self.settings;
        if settings.server.is_empty() && settings.server_variables.is_empty() {
            return Ok(());
        }
        if !settings.base_url.is_empty() {
            let key = if settings.server.is_empty() { "server_variables" } else { "server" };
            return Err(self.error(key, "", "`base_url` replaces all servers; set one of the two"));
        }
        let servers = all_servers(self.document);
        self.check_server(&servers)?;
        settings.server_variables.iter().try_for_each(|(name, value)| self.check_variable(name, value, &servers))
    }

    /// Whether the server with this `address` matches the setting `server`; always true without a setting. `position`
    /// is its index among the document's own servers.
    fn selects(&self, address: &str, server: Option<&LocatedValue<'_>>, position: Option<usize>) -> bool {
        let selector = self.settings.server.trim();
        let description = server.and_then(|server| server.text("description"));
        selector.is_empty()
            || position.is_some_and(|position| selector == (position + 1).to_string())
            || address.eq_ignore_ascii_case(selector)
            || description.is_some_and(|text| text.eq_ignore_ascii_case(selector))
    }

    /// Replaces each variable of the template by the operator's value, otherwise by its default.
    ///
    /// # Errors
    ///
    /// Returns the fault as the end of a sentence: a variable has no value, or a value that this server does not
    /// allow.
    fn fill(&self, template: &str, server: Option<&LocatedValue<'_>>) -> Result<String, String> {
        let mut url = String::new();
        let mut rest = template;
        while let Some((before, behind)) = rest.split_once('{') {
            let (name, after) = behind.split_once('}').ok_or_else(|| format!("`{template}` has an unclosed brace"))?;
            let variable = variable(server, name);
            url.push_str(before);
            match self.settings.server_variables.get(name) {
                Some(value) => match refused(variable.as_ref(), value) {
                    Some(allowed) => return Err(format!("`{template}` allows only {allowed} for `{name}`")),
                    None => url.push_str(value),
                },
                None => url.push_str(&default(variable.as_ref()).ok_or_else(|| {
                    format!("`{template}` has no default for `{name}` (give one in `server_variables`)")
                })?),
            }
            rest = after;
        }
        url.push_str(rest);
        Ok(url)
    }

    fn check_server(&self, servers: &[(String, Option<LocatedValue<'_>>)]) -> Result<(), LoadError> {
        let own = self.document.member("servers").map_or(0, |list| list.items().count());
        let own = if own == 0 { servers.len() } else { own };
        let mut selected = servers.iter().enumerate().map(|(index, (address, server))| {
            self.selects(address, server.as_ref(), (index < own || server.is_none()).then_some(index))
        });
        if selected.any(|is_selected| is_selected) || servers.is_empty() && self.settings.server.is_empty() {
            return Ok(());
        }
        let mut listed = Vec::new();
        for (index, (address, server)) in servers.iter().take(own).enumerate() {
            let described = server.as_ref().and_then(|server| server.text("description"));
            let described = described.map(|text| format!(" ({text})")).unwrap_or_default();
            listed.push(format!("{} `{address}`{described}", index + 1));
        }
        let listed = if listed.is_empty() { "no server at all".to_owned() } else { listed.join(", ") };
        Err(self.error("server", &self.settings.server, &format!("the document has {listed}")))
    }

    fn check_variable(
        &self,
        name: &str,
        value: &str,
        servers: &[(String, Option<LocatedValue<'_>>)],
    ) -> Result<(), LoadError> {
        let key = format!("server_variables.{name}");
        let expression = format!("{{{name}}}");
        let mut refusals = servers
            .iter()
            .filter(|(address, _)| address.contains(&expression))
            .map(|(_, server)| refused(variable(server.as_ref(), name).as_ref(), value))
            .peekable();
        if refusals.peek().is_none() {
            let variables: BTreeSet<&str> = servers.iter().flat_map(|(address, _)| variable_names(address)).collect();
            let variables = if variables.is_empty() { "none".to_owned() } else { code_spans(variables) };
            let reason = format!("no server has this variable; the variables are: {variables}");
            return Err(self.error(&key, value, &reason));
        }
        let all: Option<Vec<String>> = refusals.collect();
        match all.and_then(|allowed| allowed.into_iter().next()) {
            Some(allowed) => Err(self.error(&key, value, &format!("the document allows {allowed}"))),
            None => Ok(()),
        }
    }

    fn error(&self, key: &str, given: &str, reason: &str) -> LoadError {
        LoadError::settings(self.toolset, format!("{key} `{given}`: {reason}"))
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

/// Returns the Server Variable Object of the variable `name`.
fn variable<'d>(server: Option<&LocatedValue<'d>>, name: &str) -> Option<LocatedValue<'d>> {
    server?.member("variables")?.member(name)
}

/// Returns the list of allowed values for a message if `value` is not one of them.
fn refused(variable: Option<&LocatedValue<'_>>, value: &str) -> Option<String> {
    let allowed = variable?.value.get("enum")?.as_array().filter(|values| !values.is_empty())?;
    let allowed: Vec<String> = allowed.iter().filter_map(scalar_text).collect();
    (!allowed.is_empty() && !allowed.iter().any(|allowed| allowed == value)).then(|| code_spans(allowed))
}

/// Returns the default value. It is mandatory; if it is missing, the first allowed value is used.
fn default(variable: Option<&LocatedValue<'_>>) -> Option<String> {
    let variable = variable?.value;
    let value = variable.get("default").or_else(|| variable.get("enum")?.get(0))?;
    value.as_bool().map(|flag| flag.to_string()).or_else(|| scalar_text(value))
}

fn variable_names(template: &str) -> Vec<&str> {
    template.split('{').skip(1).filter_map(|behind| Some(behind.split_once('}')?.0)).collect()
}

/// Returns the URL templates of all servers, the document's own first, with their Server Objects if there are any.
fn all_servers(document: &ApiDocument) -> Vec<(String, Option<LocatedValue<'_>>)> {
    let mut holders = vec![document.root()];
    for (_, path_item) in document.root().members_of("paths") {
        let Ok(path_item) = path_item.follow() else { continue };
        holders.extend(path_item.members().map(|(_, operation)| operation));
        holders.push(path_item);
    }
    let listed = holders.iter().filter_map(|holder| holder.member("servers"));
    let mut servers: Vec<(String, Option<LocatedValue<'_>>)> = Vec::new();
    for server in listed.flat_map(|list| list.items().collect::<Vec<_>>()) {
        let Ok(server) = server.follow() else { continue };
        servers.push((server.text("url").unwrap_or_default().to_owned(), Some(server)));
    }
    if document.version == Version::V2_0 {
        let addresses = swagger::addresses(document, None, &mut LoadNotes::default()).unwrap_or_default();
        servers.extend(addresses.into_iter().map(|address| (address, None)));
    }
    servers
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
            assert!(matches!(servers_of(root.clone(), bad), Err(LoadError::Other(_))), "{bad}");
        }
    }

    #[test]
    fn hosts_without_scheme_and_variables_without_default_work() {
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

#[cfg(test)]
mod choice_tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::*;
    use crate::load::toolset_of;

    fn servers(root: &Value, server: &str, variables: &[(&str, &str)]) -> Result<Vec<String>, String> {
        let pairs = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let settings =
            ToolsetSettings { server: server.into(), server_variables: pairs.collect(), ..ToolsetSettings::default() };
        let toolset =
            toolset_of(root.clone(), "api", Path::new("api.json"), &settings).map_err(|error| error.to_string())?;
        let servers = toolset.operations.first().map_or(&toolset.servers, |operation| &operation.servers);
        Ok(servers.iter().map(ToString::to_string).collect())
    }

    fn document() -> Value {
        let region = json!({"enum": ["us", "eu"], "default": "us"});
        json!({"openapi": "3.0.3", "paths": {}, "servers": [
            {"url": "https://{region}.example.com/{base}", "description": "Production",
             "variables": {"region": region, "base": {"default": "v1"}}},
            {"url": "https://sandbox.example.com", "description": "Sandbox"},
            {"url": "https://{tenant}.example.net"}
        ]})
    }

    #[test]
    fn variables_have_the_operators_values_or_their_defaults() {
        let first = |variables: &[(&str, &str)]| servers(&document(), "1", variables).unwrap().remove(0);
        assert_eq!(first(&[]), "https://us.example.com/v1");
        assert_eq!(first(&[("region", "eu"), ("base", "v2/x")]), "https://eu.example.com/v2/x");
        let all = servers(&document(), "", &[("tenant", "acme")]).unwrap();
        assert_eq!(all, ["https://us.example.com/v1", "https://sandbox.example.com/", "https://acme.example.net/"]);
    }

    #[test]
    fn a_server_is_chosen_by_number_description_or_url() {
        for server in ["2", "sandbox", "Sandbox", "https://sandbox.example.com"] {
            assert_eq!(servers(&document(), server, &[]).unwrap(), ["https://sandbox.example.com/"], "{server}");
        }
        let tenant = servers(&document(), "https://{tenant}.example.net", &[("tenant", "a")]).unwrap();
        assert_eq!(tenant, ["https://a.example.net/"]);
    }

    #[test]
    fn the_selected_server_applies_to_the_servers_of_an_operation() {
        let mut root = document();
        let own = |second: &str| json!([{"url": "https://a.example.com"}, {"url": "https://b.example.com", "description": second}]);
        root["paths"] = json!({"/x": {"get": {"servers": own("Sandbox")}}});
        assert_eq!(servers(&root, "sandbox", &[]).unwrap(), ["https://b.example.com/"]);
        root["paths"] = json!({"/x": {"get": {"servers": own("Other")}}});
        assert_eq!(servers(&root, "sandbox", &[]).unwrap(), ["https://a.example.com/", "https://b.example.com/"]);
    }

    #[test]
    fn variables_of_a_swagger_host_can_be_set() {
        let root = json!({"swagger": "2.0", "host": "{tenant}.example.com", "schemes": ["https"], "paths": {}});
        assert_eq!(servers(&root, "", &[("tenant", "acme")]).unwrap(), ["https://acme.example.com/"]);
        assert_eq!(servers(&root, "", &[]).unwrap(), Vec::<String>::new());
        assert!(servers(&root, "", &[("region", "eu")]).unwrap_err().contains("`tenant`"));
    }

    /// A `server`, `server_variables`, and the expected parts of the error.
    type Case = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);

    #[test]
    fn settings_without_effect_are_errors_with_the_alternatives() {
        let cases: [Case; 4] = [
            ("", &[("zone", "a")], &["server_variables.zone", "`base`, `region`, `tenant`"]),
            ("", &[("region", "asia")], &["server_variables.region", "`asia`", "`us`, `eu`"]),
            ("Staging", &[], &["`Staging`", "(Production)", "2 `https://sandbox.example.com` (Sandbox)"]),
            ("4", &[], &["`4`", "3 `https://{tenant}.example.net`"]),
        ];
        for (server, variables, parts) in cases {
            let error = servers(&document(), server, variables).unwrap_err();
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        }
        let settings = ToolsetSettings {
            base_url: "https://x.example.com".into(),
            server: "1".into(),
            ..ToolsetSettings::default()
        };
        let error = toolset_of(document(), "api", Path::new("api.json"), &settings).unwrap_err().to_string();
        assert!(error.contains("`base_url`"), "{error}");
    }
}
