//! Properties of a turn that select its policy.

use http::HeaderMap;

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
    /// Name of the key.
    pub name: &'a str,
    /// Group of the key; empty: none.
    pub group: &'a str,
    /// Policy to which the key is bound; empty: none.
    pub policy: &'a str,
    /// Policies that its requests may select; `None`: those that are `selectable`.
    pub selectable: Option<&'a [String]>,
}
