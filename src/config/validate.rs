//! Validation of constraints between the settings of several modules.

use std::net::SocketAddr;

use super::problem::{ConfigProblem, FilePosition};
use super::settings::Settings;
use crate::pipeline::AliasSettings;
use callwright_common::text::nearest;

/// Keys with problems, each with its message.
type Faults = Vec<(String, String)>;

/// Returns every problem of the settings, in the order of the file. Policies have files of their own: the policy module
/// checks whether an alias's policy exists.
pub(super) fn problems(settings: &Settings, place_of: impl Fn(&str) -> Option<FilePosition>) -> Vec<ConfigProblem> {
    let mut faults = listener_faults(settings);
    faults.extend(settings.server.faults());
    faults.extend(reference_faults(settings));
    faults.extend(key_faults(settings));
    let approvals = settings.approvals.faults().into_iter();
    faults.extend(approvals.map(|(key, fault)| (format!("approvals.{key}"), format!("`approvals.{key}` {fault}"))));
    let problem = |(key, message): (String, String)| ConfigProblem { place: place_of(&key), key, message };
    let mut problems: Vec<ConfigProblem> = faults.into_iter().map(problem).collect();
    problems.sort_by_key(|problem| problem.place);
    problems
}

fn listener_faults(settings: &Settings) -> Faults {
    let server = &settings.server;
    let mut faults = Vec::new();
    for (key, address, is_guarded, lacks) in [
        ("server.listen", server.listen, server.requires_client_credential(settings.keys.is_required()), CLIENTS),
        ("server.operator_listen", server.operator_listen, server.requires_operator_credential(), OPERATORS),
    ] {
        // Loopback includes IPv4-mapped IPv6 addresses.
        if !is_guarded && !server.allow_public && !address.ip().to_canonical().is_loopback() {
            faults.push((key.to_owned(), public_message(key, &address, lacks)));
        }
    }
    if server.listen == server.operator_listen && server.listen.port() != 0 {
        let message = format!(
            "`server.operator_listen`: both listeners have the address {}; set another port for the operator listener",
            server.listen
        );
        faults.push(("server.operator_listen".to_owned(), message));
    }
    faults
}

/// Consequence and fix of a client listener without authentication.
const CLIENTS: [&str; 2] = [
    "use your provider's key",
    "set `keys.mode = \"required\"`, so that clients need keys, or `server.tls.client_ca`, so that they need certificates",
];

/// Consequence and fix of an operator listener without authentication.
const OPERATORS: [&str; 2] = [
    "read traces and approve calls",
    "set `server.operator_token` or `server.operator_tls.client_ca`, so that operators need a credential",
];

fn public_message(key: &str, address: &SocketAddr, [means, fix]: [&str; 2]) -> String {
    format!(
        "`{key}`: {address} is not a loopback address, and any host that reaches it could {means}; {fix}, listen on 127.0.0.1, or set \
         `server.allow_public = true` if a component in front of it authenticates requests"
    )
}

/// Returns the faults of virtual keys: missing store, missing upstream credentials, invalid limits and prices.
fn key_faults(settings: &Settings) -> Faults {
    let keys = settings.keys.faults().into_iter();
    let mut faults: Faults =
        keys.map(|(key, fault)| (format!("keys.{key}"), format!("`keys.{key}`: {fault}"))).collect();
    for (model, price) in &settings.prices {
        if let Some((name, value)) = price.fault() {
            let key = format!("prices.{model}.{name}");
            let message = format!("`{key}` is {value}; it must be 0 or more (price per million tokens)");
            faults.push((key, message));
        }
    }
    if !settings.keys.is_required() {
        return faults;
    }
    if settings.store.url.is_empty() {
        let message = "`keys.mode` is `required`, but the store that holds the keys is switched off: set `store.url`";
        faults.push(("keys.mode".to_owned(), message.to_owned()));
    }
    for (name, _) in settings.upstreams.iter().filter(|(_, upstream)| !upstream.has_credential()) {
        let key = format!("upstreams.{name}.api_key");
        let message = format!(
            "`{key}` is empty, and with `keys.mode = \"required\"` no client sends the provider's key: set it; for a provider that requires \
             none, set any text"
        );
        faults.push((key, message));
    }
    faults
}

/// Checks that names in one table exist in another.
fn reference_faults(settings: &Settings) -> Faults {
    let upstreams: Vec<&str> = settings.upstreams.keys().map(String::as_str).collect();
    let toolsets: Vec<&str> = settings.toolsets.keys().map(String::as_str).collect();
    let aliases: Vec<&str> = settings.aliases.keys().map(String::as_str).collect();
    let mut faults = Vec::new();
    if !upstreams.contains(&settings.default_upstream.as_str()) {
        faults.push(unknown_name("default_upstream".to_owned(), "upstream", &settings.default_upstream, &upstreams));
    }
    for (name, alias) in &settings.aliases {
        faults.extend(target_faults(settings, name, alias, &upstreams));
        for (number, toolset) in alias.toolsets.iter().enumerate() {
            if !toolsets.contains(&toolset.as_str()) {
                let key = format!("aliases.{name}.toolsets[{number}]");
                faults.push(unknown_name(key, "toolset", toolset, &toolsets));
            }
        }
    }
    let passing = &settings.pass_through;
    let paths = passing.paths.iter().map(|(path, name)| (format!("pass_through.paths.{path}"), name));
    for (key, name) in paths.chain([("pass_through.upstream".to_owned(), &passing.upstream)]) {
        if !name.is_empty() && !upstreams.contains(&name.as_str()) {
            faults.push(unknown_name(key, "upstream", name, &upstreams));
        }
    }
    for path in passing.paths.keys().filter(|path| !path.starts_with('/')) {
        let key = format!("pass_through.paths.{path}");
        let message = format!("`{key}`: paths start with a slash, relative to /v1: write `/{path}`");
        faults.push((key, message));
    }
    for (key, alias) in [("planner.alias", &settings.planner.alias), ("learning.alias", &settings.learning.alias)] {
        if !alias.is_empty() && !aliases.contains(&alias.as_str()) {
            faults.push(unknown_name(key.to_owned(), "alias", alias, &aliases));
        }
    }
    faults.extend(settings.own_requests.fault().map(|fault| ("own_requests.answer_tokens".to_owned(), fault)));
    faults.extend(settings.experience.out_of_range().into_iter().map(|(key, range)| {
        let key = format!("experience.{key}");
        let message = format!("`{key}` is out of range; it must be {range}");
        (key, message)
    }));
    faults.extend(settings.store.seal_key_fault().map(|fault| ("store.seal_key".to_owned(), fault)));
    faults
}

/// Returns the faults of an alias's upstreams.
fn target_faults(settings: &Settings, name: &str, alias: &AliasSettings, upstreams: &[&str]) -> Faults {
    let table = format!("aliases.{name}");
    let mut named = vec![(format!("{table}.upstream"), alias.upstream.as_str())];
    for (number, target) in alias.targets.iter().enumerate() {
        named.push((format!("{table}.targets[{number}].upstream"), &target.upstream));
    }
    for (number, fallback) in alias.fallbacks.iter().enumerate() {
        named.push((format!("{table}.fallbacks[{number}].upstream"), &fallback.upstream));
    }
    let unknown = named.iter().filter(|(_, upstream)| !upstream.is_empty() && !upstreams.contains(upstream));
    let unknown = unknown.map(|(key, upstream)| unknown_name(key.clone(), "upstream", upstream, upstreams));
    let mut faults: Faults = unknown.collect();
    if !alias.targets.is_empty() {
        let key = format!("{table}.targets");
        if !(alias.upstream.is_empty() && alias.model.is_empty()) {
            faults.push((key.clone(), format!("`{key}` replaces `upstream` and `model`; remove those")));
        }
        if alias.targets.iter().all(|target| target.weight == 0) {
            let message = format!("`{key}`: every weight is 0; give one target a weight of at least 1");
            faults.push((key, message));
        }
        named.remove(0);
    }
    // Tools are selected and serialised once per turn, for every upstream that may answer it.
    let mut formats = named.iter().filter_map(|(key, upstream)| Some((key, tool_format(settings, upstream)?)));
    if !alias.toolsets.is_empty()
        && let Some((_, first)) = formats.next()
        && let Some((key, _)) = formats.find(|(_, other)| *other != first)
    {
        let message = format!(
            "`{key}`: the upstreams of an alias with toolsets need the same `schema_dialect` and `max_tools`, because its tools are \
             written once for all of them"
        );
        faults.push((key.clone(), message));
    }
    faults
}

/// Returns the properties of an upstream that determine how tools are written; the empty name is the default upstream.
fn tool_format(settings: &Settings, upstream: &str) -> Option<impl PartialEq> {
    let upstream = if upstream.is_empty() { &settings.default_upstream } else { upstream };
    settings.upstreams.get(upstream).map(|upstream| (upstream.schema_dialect, upstream.max_tools))
}

/// Returns the fault of a `name` at `key` that is not in `known`.
fn unknown_name(key: String, what: &str, name: &str, known: &[&str]) -> (String, String) {
    let known_names = if known.is_empty() { "none is configured".to_owned() } else { known.join(", ") };
    let message = match nearest(&name.to_lowercase(), known.iter().copied()) {
        Some(near) => format!("`{key}`: there is no {what} `{name}`; did you mean `{near}`? Known: {known_names}"),
        None => format!("`{key}`: there is no {what} `{name}`; known: {known_names}"),
    };
    (key, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::KeyMode;
    use crate::pipeline::{FallbackSettings, TargetSettings};

    fn messages(change: impl FnOnce(&mut Settings)) -> Vec<String> {
        let mut settings = Settings::default();
        change(&mut settings);
        problems(&settings, |_| None).into_iter().map(|problem| problem.message).collect()
    }

    #[test]
    fn the_defaults_have_no_problem() {
        assert_eq!(messages(|_| {}), Vec::<String>::new());
    }

    #[test]
    fn public_addresses_are_refused_unless_allowed() {
        for public in ["0.0.0.0:1", "[::]:1", "192.168.1.1:1", "[::ffff:8.8.8.8]:1"] {
            let message = messages(|settings| settings.server.listen = public.parse().unwrap());
            assert!(message.len() == 1 && message[0].contains("allow_public"), "{public}: {message:?}");
            assert!(message[0].contains("keys.mode") && !message[0].contains("operator_token"), "{message:?}");
            let allowed = messages(|settings| {
                settings.server.operator_listen = public.parse().unwrap();
                settings.server.allow_public = true;
            });
            assert!(allowed.is_empty(), "{public}: {allowed:?}");
        }
        for loopback in ["127.0.0.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert!(messages(|settings| settings.server.listen = loopback.parse().unwrap()).is_empty());
        }
    }

    #[test]
    fn a_listener_with_a_credential_of_its_own_may_be_public() {
        let public: SocketAddr = "0.0.0.0:1".parse().unwrap();
        let with_key = |settings: &mut Settings| {
            settings.upstreams.values_mut().for_each(|upstream| upstream.api_key = "sk-1".into());
        };
        let messages_of = |keys: bool, token: &str| {
            messages(|settings| {
                with_key(settings);
                settings.keys.mode = if keys { KeyMode::Required } else { KeyMode::PassThrough };
                settings.server.operator_token = token.into();
                settings.server.listen = public;
                settings.server.operator_listen = "0.0.0.0:2".parse().unwrap();
            })
        };
        assert_eq!(messages_of(true, "token"), Vec::<String>::new());
        let with_certificates = messages(|settings| {
            settings.server.operator_listen = public;
            let tls = &mut settings.server.operator_tls;
            (tls.certificate, tls.key, tls.client_ca) = ("c.pem".to_owned(), "k.pem".to_owned(), "ca.pem".to_owned());
        });
        assert_eq!(with_certificates, Vec::<String>::new());
        let no_token = messages_of(true, "");
        assert!(no_token.len() == 1 && no_token[0].contains("`server.operator_token`"), "{no_token:?}");
        let no_keys = messages_of(false, "token");
        assert!(no_keys.len() == 1 && no_keys[0].contains("`keys.mode = \"required\"`"), "{no_keys:?}");
    }

    #[test]
    fn required_keys_need_a_store_and_an_upstreams_own_key() {
        let found = messages(|settings| {
            settings.keys.mode = KeyMode::Required;
            settings.store.url = "".into();
            let limits = settings.keys.groups.entry("a team".to_owned()).or_default();
            limits.budget.amount = -1.0;
            settings.prices.entry("m".to_owned()).or_default().cached = Some(f64::NAN);
        });
        assert_eq!(found.len(), 5, "{found:#?}");
        for (message, part) in found.iter().zip([
            "`keys.groups.a team`: a group's `name` must be",
            "`keys.groups.a team`: `budget.amount` is -1",
            "`prices.m.cached` is NaN",
            "set `store.url`",
            "`upstreams.default.api_key` is empty",
        ]) {
            assert!(message.contains(part), "{message}");
        }
        let own_header = messages(|settings| {
            settings.keys.mode = KeyMode::Required;
            let upstream = settings.upstreams.get_mut("default").unwrap();
            upstream.headers.insert("X-Goog-Api-Key".to_owned(), "k".into());
        });
        assert_eq!(own_header, Vec::<String>::new());
    }

    #[test]
    fn listeners_share_no_port_but_the_free_one() {
        let share = |port: u16| {
            messages(|settings| {
                settings.server.listen.set_port(port);
                settings.server.operator_listen.set_port(port);
            })
        };
        assert!(share(8787)[0].contains("another port"));
        assert!(share(0).is_empty());
    }

    #[test]
    fn names_must_be_found_in_their_tables() {
        let found = messages(|settings| {
            settings.default_upstream = "defalt".to_owned();
            let alias = settings.aliases.entry("fast".to_owned()).or_default();
            alias.upstream = "elsewhere".to_owned();
            settings.planner.alias = "fats".to_owned();
            settings.learning.alias = "none".to_owned();
            settings.experience.withhold = f64::NAN;
            alias.toolsets = vec!["maps".to_owned()];
        });
        assert_eq!(
            found,
            [
                "`default_upstream`: there is no upstream `defalt`; did you mean `default`? Known: default",
                "`aliases.fast.upstream`: there is no upstream `elsewhere`; known: default",
                "`aliases.fast.toolsets[0]`: there is no toolset `maps`; known: none is configured",
                "`planner.alias`: there is no alias `fats`; did you mean `fast`? Known: fast",
                "`learning.alias`: there is no alias `none`; known: fast",
                "`experience.withhold` is out of range; it must be 0 or more and below 1",
            ]
        );
    }

    #[test]
    fn targets_and_fallbacks_must_be_there_and_write_tools_alike() {
        let found = messages(|settings| {
            let strict = callwright_upstream::Settings { max_tools: 5, ..Default::default() };
            settings.upstreams.insert("small".to_owned(), strict);
            settings.pass_through.upstream = "smal".to_owned();
            settings.pass_through.paths = [("files".to_owned(), "small".to_owned())].into();
            settings.toolsets.insert("rooms".to_owned(), Default::default());
            let target =
                |upstream: &str, weight| TargetSettings { upstream: upstream.into(), weight, ..Default::default() };
            let alias = settings.aliases.entry("fast".to_owned()).or_default();
            alias.targets = vec![target("default", 0), target("smaller", 0)];
            alias.model = "m".to_owned();
            let alias = settings.aliases.entry("sure".to_owned()).or_default();
            alias.fallbacks = vec![FallbackSettings { upstream: "small".to_owned(), ..Default::default() }];
            alias.toolsets = vec!["rooms".to_owned()];
        });
        assert_eq!(
            found,
            [
                "`aliases.fast.targets[1].upstream`: there is no upstream `smaller`; did you mean `small`? Known: default, small",
                "`aliases.fast.targets` replaces `upstream` and `model`; remove those",
                "`aliases.fast.targets`: every weight is 0; give one target a weight of at least 1",
                "`aliases.sure.fallbacks[0].upstream`: the upstreams of an alias with toolsets need the same `schema_dialect` and \
                 `max_tools`, because its tools are written once for all of them",
                "`pass_through.upstream`: there is no upstream `smal`; did you mean `small`? Known: default, small",
                "`pass_through.paths.files`: paths start with a slash, relative to /v1: write `/files`",
            ]
        );
    }
}
