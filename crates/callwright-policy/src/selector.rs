//! Properties of a turn that select its policy, and the compiled `match` that they are compared with.

use std::fmt;

use globset::{Glob, GlobMatcher, GlobSet, GlobSetBuilder};
use http::{HeaderMap, HeaderName};

use super::error::PolicyFault;
use super::rules::Match;
use callwright_common::json::Pointer;

/// Properties of a turn that select a policy.
#[derive(Debug, Clone, Copy)]
pub struct TurnFacts<'a> {
    /// Model name as the client sent it.
    pub model: &'a str,
    /// Model name, if it is an alias.
    pub alias: Option<&'a str>,
    /// Policy to which the alias is bound.
    pub alias_policy: Option<&'a str>,
    /// Virtual key of the request.
    pub key: Option<KeyFacts<'a>>,
    /// Header fields of the request.
    pub headers: &'a HeaderMap,
    /// Policy that the request selects (`x-callwright-policy`).
    pub requested: Option<&'a str>,
}

/// Properties of a virtual key that select a policy.
#[derive(Debug, Clone, Copy)]
pub struct KeyFacts<'a> {
    pub name: &'a str,
    /// Group of the key; empty: none.
    pub group: &'a str,
    /// Policy to which the key is bound; empty: none.
    pub policy: &'a str,
    /// Policies that its requests may select.
    pub selectable_policies: &'a [String],
}

/// Compiled globs of a `match`.
#[derive(Debug)]
pub(super) struct MatchSelector {
    /// `None` if the key is not given.
    models: Option<GlobSet>,
    aliases: Option<GlobSet>,
    keys: Option<GlobSet>,
    groups: Option<GlobSet>,
    headers: Vec<(HeaderName, GlobMatcher)>,
}

impl MatchSelector {
    /// Compiles a `match`; `place` is its location.
    pub(super) fn compile(matches: &Match, place: &Pointer) -> Result<Self, PolicyFault> {
        if *matches == Match::default() {
            let message = "`match` is empty; give `models`, `aliases`, `keys`, `groups` or `headers`, or omit it";
            return Err(PolicyFault::new(place.clone(), message));
        }
        let place_of_headers = place.child("headers");
        let headers = matches.headers.iter().map(|(name, value)| header(name, value, &place_of_headers));
        Ok(Self {
            models: globs(&matches.models, &place.child("models"))?,
            aliases: globs(&matches.aliases, &place.child("aliases"))?,
            keys: globs(&matches.keys, &place.child("keys"))?,
            groups: globs(&matches.groups, &place.child("groups"))?,
            headers: headers.collect::<Result<_, _>>()?,
        })
    }

    /// Whether every given key matches.
    pub(super) fn matches(&self, facts: &TurnFacts<'_>) -> bool {
        self.lacks(facts).is_none()
    }

    /// Returns the first key that does not match.
    pub(super) fn lacks(&self, facts: &TurnFacts<'_>) -> Option<MatchKey<'_>> {
        if self.models.as_ref().is_some_and(|globs| !globs.is_match(facts.model)) {
            return Some(MatchKey::Models);
        }
        if !match_name(self.aliases.as_ref(), facts.alias) {
            return Some(MatchKey::Aliases);
        }
        if !match_name(self.keys.as_ref(), facts.key.map(|key| key.name)) {
            return Some(MatchKey::Keys);
        }
        if !match_name(self.groups.as_ref(), facts.key.map(|key| key.group).filter(|group| !group.is_empty())) {
            return Some(MatchKey::Groups);
        }
        let header = self.headers.iter().find(|(name, glob)| !has_value(facts.headers, name, glob));
        header.map(|(name, _)| MatchKey::Header(name))
    }
}

/// Key of a `match`, displayed as it is spelled in a file.
#[derive(Debug, Clone, Copy)]
pub(super) enum MatchKey<'a> {
    Models,
    Aliases,
    Keys,
    Groups,
    Header(&'a HeaderName),
}

impl fmt::Display for MatchKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Models => f.write_str("`models`"),
            Self::Aliases => f.write_str("`aliases`"),
            Self::Keys => f.write_str("`keys`"),
            Self::Groups => f.write_str("`groups`"),
            Self::Header(name) => write!(f, "`headers.{name}`"),
        }
    }
}

/// Compiles one glob with the semantics of all globs in policies: `*` also matches `/`, and matching is
/// case-sensitive.
pub(super) fn glob(text: &str, place: Pointer) -> Result<Glob, PolicyFault> {
    Glob::new(text).map_err(|error| PolicyFault::new(place, error.to_string()))
}

fn globs(texts: &[String], place: &Pointer) -> Result<Option<GlobSet>, PolicyFault> {
    if texts.is_empty() {
        return Ok(None);
    }
    let mut set = GlobSetBuilder::new();
    for (index, text) in texts.iter().enumerate() {
        set.add(glob(text, place.item(index))?);
    }
    set.build().map(Some).map_err(|error| PolicyFault::new(place.clone(), error.to_string()))
}

/// Whether one of the globs matches; true if none are given.
fn match_name(globs: Option<&GlobSet>, name: Option<&str>) -> bool {
    globs.is_none_or(|globs| name.is_some_and(|name| globs.is_match(name)))
}

fn header(name: &str, value: &str, place: &Pointer) -> Result<(HeaderName, GlobMatcher), PolicyFault> {
    let here = place.child(name);
    let matcher = glob(value, here.clone())?.compile_matcher();
    let name = HeaderName::try_from(name)
        .map_err(|_| PolicyFault::new(here, format!("`{name}` is not a header field's name")))?;
    Ok((name, matcher))
}

fn has_value(headers: &HeaderMap, name: &HeaderName, glob: &GlobMatcher) -> bool {
    headers.get_all(name).iter().any(|value| value.to_str().is_ok_and(|value| glob.is_match(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeyFacts;

    fn selector(yaml: &str) -> MatchSelector {
        MatchSelector::compile(&serde_saphyr::from_str(yaml).unwrap(), &Pointer::root()).unwrap()
    }

    fn facts<'a>(model: &'a str, alias: Option<&'a str>, headers: &'a HeaderMap) -> TurnFacts<'a> {
        TurnFacts { model, alias, alias_policy: None, key: None, headers, requested: None }
    }

    #[test]
    fn one_glob_of_a_list_is_enough_and_a_star_takes_slashes() {
        let none = HeaderMap::new();
        let selector = selector("models: ['gpt-*', 'openai/*']");
        assert!(selector.matches(&facts("gpt-5", None, &none)));
        assert!(selector.matches(&facts("openai/eu/gpt-5", None, &none)));
        assert!(!selector.matches(&facts("GPT-5", None, &none)));
    }

    #[test]
    fn one_glob_needs_no_list() {
        let none = HeaderMap::new();
        let selector = selector("{models: 'gpt-*', aliases: fast}");
        assert!(selector.matches(&facts("gpt-5", Some("fast"), &none)));
        assert!(!selector.matches(&facts("gpt-5", Some("slow"), &none)));
    }

    #[test]
    fn a_model_that_is_no_alias_matches_no_alias() {
        let none = HeaderMap::new();
        let selector = selector("aliases: ['*']");
        assert!(selector.matches(&facts("a", Some("a"), &none)));
        assert!(!selector.matches(&facts("a", None, &none)));
    }

    #[test]
    fn keys_and_groups_match_by_name_and_never_without_a_key() {
        let none = HeaderMap::new();
        let both = selector("{keys: ['search-*'], groups: ['team']}");
        let of = |name, group| {
            let key = KeyFacts { name, group, policy: "", selectable_policies: &[] };
            both.matches(&TurnFacts { key: Some(key), ..facts("m", None, &none) })
        };
        assert!(of("search-1", "team"));
        assert!(!of("mail", "team") && !of("search-1", "other") && !of("search-1", ""));
        assert!(!both.matches(&facts("m", None, &none)));
        let any_group = selector("groups: ['*']");
        let key = KeyFacts { name: "a", group: "", policy: "", selectable_policies: &[] };
        assert!(!any_group.matches(&TurnFacts { key: Some(key), ..facts("m", None, &none) }), "no group is none");
    }

    #[test]
    fn every_key_must_hold_and_any_value_of_a_header_may() {
        let mut headers = HeaderMap::new();
        headers.append("x-team", "search".parse().unwrap());
        headers.append("x-team", "billing-eu".parse().unwrap());
        let selector = selector("{models: ['gpt-*'], headers: {X-Team: 'billing-*'}}");
        assert!(selector.matches(&facts("gpt-5", None, &headers)));
        assert!(!selector.matches(&facts("o3", None, &headers)));
        assert!(!selector.matches(&facts("gpt-5", None, &HeaderMap::new())));
    }
}
