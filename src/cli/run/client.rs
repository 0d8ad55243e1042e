//! Variables and command-line options with which a coding agent sends its requests through the proxy.
//!
//! Nothing is written to the user's files.

use std::ffi::OsString;
use std::path::Path;

use serde_json::{Value, json};
use url::Url;

use crate::cli::quickstart::is_loopback;
use crate::config::Environment;
use callwright_types::Protocol;

/// Key that a client sends where neither the proxy nor the provider needs one.
const PLACEHOLDER_KEY: &str = "callwright";

/// Host of the API whose own client switches functions off for any other address.
const ANTHROPIC_HOST: &str = "api.anthropic.com";

/// A client, known by the name of its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Client {
    Codex,
    ClaudeCode,
    Opencode,
    /// Any other command, with the variables of the official SDKs.
    Other,
}

impl Client {
    /// Returns the client of a program's path.
    pub(super) fn of_program(program: &Path) -> Self {
        match program.file_stem().and_then(|name| name.to_str()) {
            Some("codex") => Self::Codex,
            Some("claude") => Self::ClaudeCode,
            Some("opencode") => Self::Opencode,
            _ => Self::Other,
        }
    }

    /// Returns the protocol of its requests.
    pub(super) fn protocol(self) -> Protocol {
        match self {
            Self::Codex => Protocol::Responses,
            Self::ClaudeCode => Protocol::Messages,
            Self::Opencode | Self::Other => Protocol::Chat,
        }
    }

    /// Returns the variable that names its provider, and its provider's address.
    pub(super) fn usual_provider(self) -> (&'static str, &'static str) {
        match self {
            Self::ClaudeCode => ("ANTHROPIC_BASE_URL", "https://api.anthropic.com/v1"),
            Self::Codex | Self::Opencode | Self::Other => ("OPENAI_BASE_URL", "https://api.openai.com/v1"),
        }
    }
}

/// The proxy and its provider, as far as clients depend on them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Route<'a> {
    /// Address of the proxy, without a path.
    pub(super) proxy_url: &'a str,
    /// Base URL of the provider.
    pub(super) upstream_url: &'a str,
    /// Whether the proxy has the provider's key.
    pub(super) has_key: bool,
    /// Model that the client requests; `None`: its own.
    pub(super) model: Option<&'a str>,
}

impl Route<'_> {
    fn upstream(&self) -> Option<Url> {
        Url::parse(self.upstream_url).ok()
    }

    /// Whether the client's key is not used: the proxy has one, or the provider runs on this machine.
    fn needs_no_key(&self) -> bool {
        self.has_key || self.upstream().is_some_and(|url| is_loopback(&url))
    }

    fn is_anthropic(&self) -> bool {
        self.upstream().is_some_and(|url| url.host_str() == Some(ANTHROPIC_HOST))
    }
}

/// Additions to a client's command line and environment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Launch {
    /// Arguments in front of the user's.
    pub(super) arguments: Vec<OsString>,
    pub(super) variables: Vec<(&'static str, String)>,
}

impl Launch {
    /// Returns what the client needs. Variables of the user stay, except for addresses.
    pub(super) fn new(client: Client, route: Route<'_>, environment: &Environment) -> Self {
        let mut launch = Self::default();
        match client {
            Client::Codex => launch.codex(route, environment),
            Client::ClaudeCode => launch.claude_code(route, environment),
            Client::Opencode => launch.opencode(route),
            Client::Other => {}
        }
        if matches!(client, Client::Opencode | Client::Other) {
            launch.sdks(route, environment);
        }
        launch
    }

    fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.variables.push((name, value.into()));
    }

    fn set_if_absent(&mut self, name: &'static str, value: &str, environment: &Environment) {
        if !is_set(name, environment) {
            self.set(name, value);
        }
    }

    /// `openai_base_url` keeps Codex's own provider, and with it its models and tools.
    fn codex(&mut self, route: Route<'_>, environment: &Environment) {
        let base_url = Value::from(format!("{}/v1", route.proxy_url));
        let model = route.model.map(|model| format!("model={}", Value::from(model)));
        for option in [Some(format!("openai_base_url={base_url}")), model].into_iter().flatten() {
            self.arguments.extend(["-c".into(), option.into()]);
        }
        if !is_set("CODEX_API_KEY", environment) {
            match environment("OPENAI_API_KEY").filter(|key| !key.is_empty()) {
                Some(key) => self.set("CODEX_API_KEY", key.to_string_lossy()),
                None if route.needs_no_key() => self.set("CODEX_API_KEY", PLACEHOLDER_KEY),
                // It has a login of its own, or reports the missing key itself.
                None => {}
            }
        }
    }

    fn claude_code(&mut self, route: Route<'_>, environment: &Environment) {
        self.set("ANTHROPIC_BASE_URL", route.proxy_url);
        let has_key = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"].iter().any(|name| is_set(name, environment));
        if !has_key && route.needs_no_key() {
            // Unlike a key, a token needs no confirmation in its dialog.
            self.set("ANTHROPIC_AUTH_TOKEN", PLACEHOLDER_KEY);
        }
        if let Some(model) = route.model {
            self.set("ANTHROPIC_MODEL", model);
            self.set_if_absent("ANTHROPIC_DEFAULT_HAIKU_MODEL", model, environment);
        }
        if route.is_anthropic() {
            self.set_if_absent("ENABLE_TOOL_SEARCH", "true", environment);
        }
    }

    fn opencode(&mut self, route: Route<'_>) {
        let base_url = format!("{}/v1", route.proxy_url);
        let known = json!({ "options": { "baseURL": base_url } });
        let mut config = json!({ "provider": { "openai": known, "anthropic": known } });
        if let Some(model) = route.model {
            let mut own =
                json!({"npm": "@ai-sdk/openai-compatible", "options": known["options"], "models": {model: {}}});
            if route.needs_no_key() {
                own["options"]["apiKey"] = PLACEHOLDER_KEY.into();
            }
            config["provider"]["callwright"] = own;
            config["model"] = format!("callwright/{model}").into();
        }
        self.set("OPENCODE_CONFIG_CONTENT", config.to_string());
    }

    fn sdks(&mut self, route: Route<'_>, environment: &Environment) {
        self.set("OPENAI_BASE_URL", format!("{}/v1", route.proxy_url));
        self.set("ANTHROPIC_BASE_URL", route.proxy_url);
        if route.needs_no_key() {
            self.set_if_absent("OPENAI_API_KEY", PLACEHOLDER_KEY, environment);
            self.set_if_absent("ANTHROPIC_API_KEY", PLACEHOLDER_KEY, environment);
        }
        if let Some(model) = route.model {
            self.set("OPENAI_MODEL", model);
        }
    }
}

fn is_set(name: &str, environment: &Environment) -> bool {
    environment(name).is_some_and(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCAL: Route<'_> =
        Route { proxy_url: "http://127.0.0.1:9", upstream_url: "http://127.0.0.1:1/v1", has_key: false, model: None };

    fn launch(program: &str, route: Route<'_>, variables: &[(&str, &str)]) -> Launch {
        let environment =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(*value));
        Launch::new(Client::of_program(Path::new(program)), route, &environment)
    }

    fn value<'a>(launch: &'a Launch, name: &str) -> Option<&'a str> {
        launch.variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    #[test]
    fn codex_keeps_its_own_provider() {
        let made = launch("/usr/bin/codex", Route { model: Some("m\"x"), ..LOCAL }, &[]);
        let expected = ["-c", "openai_base_url=\"http://127.0.0.1:9/v1\"", "-c", "model=\"m\\\"x\""];
        assert_eq!(made.arguments, expected.map(OsString::from));
        assert_eq!(value(&made, "CODEX_API_KEY"), Some(PLACEHOLDER_KEY));
        assert_eq!(value(&launch("codex", LOCAL, &[("OPENAI_API_KEY", "k")]), "CODEX_API_KEY"), Some("k"));
        assert_eq!(value(&launch("codex", LOCAL, &[("CODEX_API_KEY", "k")]), "CODEX_API_KEY"), None);
    }

    #[test]
    fn a_key_of_the_user_is_neither_replaced_nor_invented() {
        let remote = Route { upstream_url: "https://models.example/v1", ..LOCAL };
        for program in ["codex", "claude", "opencode", "python3"] {
            let made = launch(program, remote, &[]);
            assert!(made.variables.iter().all(|(_, value)| value != PLACEHOLDER_KEY), "{made:?}");
        }
        let made = launch("claude", Route { has_key: true, ..remote }, &[]);
        assert_eq!(value(&made, "ANTHROPIC_AUTH_TOKEN"), Some(PLACEHOLDER_KEY));
        assert_eq!(value(&launch("claude", LOCAL, &[("ANTHROPIC_API_KEY", "k")]), "ANTHROPIC_AUTH_TOKEN"), None);
    }

    #[test]
    fn functions_of_a_provider_are_enabled_only_for_it() {
        let own = Route { upstream_url: "https://api.anthropic.com/v1", ..LOCAL };
        assert_eq!(value(&launch("claude", own, &[]), "ENABLE_TOOL_SEARCH"), Some("true"));
        assert_eq!(value(&launch("claude", own, &[("ENABLE_TOOL_SEARCH", "auto")]), "ENABLE_TOOL_SEARCH"), None);
        let similar = Route { upstream_url: "https://api.anthropic.com.example/v1", ..LOCAL };
        assert_eq!(value(&launch("claude", similar, &[]), "ENABLE_TOOL_SEARCH"), None);
    }

    #[test]
    fn other_commands_get_the_variables_of_the_sdks() {
        let made = launch("python3", Route { model: Some("m"), ..LOCAL }, &[("OPENAI_API_KEY", "k")]);
        assert_eq!(value(&made, "OPENAI_BASE_URL"), Some("http://127.0.0.1:9/v1"));
        assert_eq!(value(&made, "ANTHROPIC_BASE_URL"), Some("http://127.0.0.1:9"));
        assert_eq!((value(&made, "OPENAI_API_KEY"), value(&made, "OPENAI_MODEL")), (None, Some("m")));
        let made = launch("opencode", Route { model: Some("m"), ..LOCAL }, &[]);
        let config: Value = serde_json::from_str(value(&made, "OPENCODE_CONFIG_CONTENT").unwrap()).unwrap();
        assert_eq!(config["model"], "callwright/m");
        assert_eq!(config["provider"]["callwright"]["options"]["baseURL"], "http://127.0.0.1:9/v1");
    }
}
