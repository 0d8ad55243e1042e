//! What must hold between rooms, and so is no room's own business.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use super::problem::{Place, Problem};
use super::serde_message::nearest;
use super::settings::Settings;

/// Every problem of the settings, in the order of the file.
pub(super) fn problems(settings: &Settings, place_of: impl Fn(&str) -> Option<Place>) -> Vec<Problem> {
    let mut problems = listener_problems(settings);
    problems.extend(reference_problems(settings));
    for problem in &mut problems {
        problem.place = place_of(&problem.key);
    }
    problems.sort_by_key(|problem| problem.place);
    problems
}

/// The aliases whose policy is none of `known`; policies have their own files, so only who has read them can tell.
pub fn unknown_policies(settings: &Settings, known: &[&str]) -> Vec<Problem> {
    let known_names: BTreeSet<&str> = known.iter().copied().collect();
    let named = settings.aliases.iter().filter(|(_, alias)| !alias.policy.is_empty());
    named
        .filter(|(_, alias)| !known_names.contains(alias.policy.as_str()))
        .map(|(name, alias)| unknown_name(format!("aliases.{name}.policy"), "policy", &alias.policy, known))
        .collect()
}

fn listener_problems(settings: &Settings) -> Vec<Problem> {
    let server = &settings.server;
    let listeners = [("server.listen", server.listen), ("server.operator_listen", server.operator_listen)];
    let mut problems: Vec<Problem> = listeners
        .into_iter()
        .filter(|(_, address)| !server.allow_public && !is_loopback(address))
        .map(|(key, address)| problem(key, public_message(key, &address)))
        .collect();
    if server.listen == server.operator_listen && server.listen.port() != 0 {
        let message = format!(
            "`server.operator_listen`: both listeners are to use {}; give the operator side another port",
            server.listen
        );
        problems.push(problem("server.operator_listen", message));
    }
    problems
}

/// Loopback, also as an IPv6 address that stands for an IPv4 one.
fn is_loopback(address: &SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

fn public_message(key: &str, address: &SocketAddr) -> String {
    format!(
        "`{key}`: {address} is not a loopback address, and no keys protect the listeners, so whoever reaches it could use your \
         provider's key and read traces; listen on 127.0.0.1, or set `server.allow_public = true` where something in front of it \
         checks who comes in"
    )
}

fn reference_problems(settings: &Settings) -> Vec<Problem> {
    let _ = settings;
    Vec::new()
}

fn unknown_name(key: String, what: &str, name: &str, known: &[&str]) -> Problem {
    let known_names = if known.is_empty() { "none is configured".to_owned() } else { known.join(", ") };
    let message = match nearest(name, known) {
        Some(near) => format!("`{key}`: there is no {what} `{name}`; did you mean `{near}`? Known: {known_names}"),
        None => format!("`{key}`: there is no {what} `{name}`; known: {known_names}"),
    };
    problem(&key, message)
}

fn problem(key: &str, message: String) -> Problem {
    Problem { place: None, key: key.to_owned(), message }
}
