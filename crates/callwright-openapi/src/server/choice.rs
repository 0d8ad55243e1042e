//! Evaluates the operator's choice of server and the values of server variables (OpenAPI 3.0.4, Server Object and
//! Server Variable Object).

use std::collections::BTreeSet;

use crate::document::{ApiDocument, LocatedValue, Version};
use crate::report::notes::LoadNotes;
use crate::{LoadError, ToolsetSettings, swagger};
use callwright_common::json::scalar_text;
use callwright_common::text::code_spans;

/// The settings `server` and `server_variables` of a toolset.
pub(crate) struct ServerChoice<'s> {
    toolset: &'s str,
    settings: &'s ToolsetSettings,
}

impl<'s> ServerChoice<'s> {
    /// Checks the settings against the document.
    ///
    /// # Errors
    ///
    /// Returns an error if they select a server that the document does not have, name a variable that no server has,
    /// or set a value that no server allows. Also returns an error if they are combined with `base_url`, which
    /// replaces all servers.
    pub(crate) fn new(
        document: &ApiDocument,
        toolset: &'s str,
        settings: &'s ToolsetSettings,
    ) -> Result<Self, LoadError> {
        let choice = Self { toolset, settings };
        let is_given = !settings.server.is_empty() || !settings.server_variables.is_empty();
        if !is_given {
            return Ok(choice);
        }
        if !settings.base_url.is_empty() {
            let key = if settings.server.is_empty() { "server_variables" } else { "server" };
            return Err(choice.error(key, "", "`base_url` replaces all servers; set one of the two"));
        }
        let servers = all_servers(document);
        choice.check_server(document, &servers)?;
        for (name, value) in &settings.server_variables {
            choice.check_variable(name, value, &servers)?;
        }
        Ok(choice)
    }

    /// Whether the server with this `address` matches the setting `server`; always true without a setting. `position`
    /// is its index among the document's own servers.
    pub(crate) fn selects(&self, address: &str, server: Option<&LocatedValue<'_>>, position: Option<usize>) -> bool {
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
    pub(crate) fn fill(&self, template: &str, server: Option<&LocatedValue<'_>>) -> Result<String, String> {
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

    fn check_server(
        &self,
        document: &ApiDocument,
        servers: &[(String, Option<LocatedValue<'_>>)],
    ) -> Result<(), LoadError> {
        let own = document.member("servers").map_or(0, |list| list.items().count());
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

    use serde_json::json;

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
    fn settings_without_effect_are_errors_that_list_the_alternatives() {
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
