//! Explanation of the policy selection of a turn, for operators.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::ser::Serializer;

use super::{Policy, PolicyBook, SelectError, TurnFacts};

/// Reason why a policy applies before the request's own selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SelectionReason {
    /// The virtual key is bound to it.
    BoundByKey,
    /// The alias is bound to it.
    Bound,
    /// It is the first that matches.
    Matched,
    /// No policy matches.
    Default,
}

impl fmt::Display for SelectionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BoundByKey => "the key is bound to it",
            Self::Bound => "the alias is bound to it",
            Self::Matched => "it is the first in order whose `match` holds",
            Self::Default => "no policy matches, and it is the default",
        })
    }
}

/// One policy with the result of its `match` for the turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConsideredPolicy {
    #[serde(rename = "policy")]
    pub name: String,
    pub priority: i64,
    /// Whether its `match` holds; `None` if it has none.
    pub matches: Option<bool>,
    /// First key of `match` that does not hold.
    pub lacks: Option<String>,
}

/// Policy of a turn, with the reason for its selection.
#[derive(Debug)]
pub struct PolicySelection {
    /// The policy that applies.
    pub policy: Arc<Policy>,
    /// Name of the policy that would apply without the request's own selection.
    pub base: String,
    /// Reason for the selection of `base`.
    pub ground: SelectionReason,
    /// All policies in the order of evaluation.
    pub considered: Vec<ConsideredPolicy>,
}

/// Serialised form.
#[derive(Serialize)]
struct SelectionForm<'a> {
    policy: &'a str,
    mode: &'static str,
    base: &'a str,
    because: String,
    considered: &'a [ConsideredPolicy],
}

impl Serialize for PolicySelection {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { policy, base, ground, considered } = self;
        let form = SelectionForm {
            policy: &policy.name,
            mode: policy.mode.label(),
            base,
            because: ground.to_string(),
            considered,
        };
        form.serialize(serializer)
    }
}

impl PolicyBook {
    /// Finds the policy of a turn as [`PolicyBook::resolve`] does, and returns the reason for its selection.
    ///
    /// # Errors
    /// [`SelectError`] if the request selects a policy that it may not use.
    pub fn reason(&self, facts: &TurnFacts<'_>) -> Result<PolicySelection, SelectError> {
        let policy = self.resolve(facts)?;
        let base = self.resolve(&TurnFacts { requested: None, ..*facts })?.name.clone();
        let considered = self.selectors().map(|(policy, selector)| {
            let lacks = selector.map(|selector| selector.lacks(facts));
            ConsideredPolicy {
                name: policy.name.clone(),
                priority: policy.priority,
                matches: lacks.map(|lacks| lacks.is_none()),
                lacks: lacks.flatten().map(|key| key.to_string()),
            }
        });
        let considered: Vec<ConsideredPolicy> = considered.collect();
        let ground = match facts.alias_policy {
            _ if facts.key.is_some_and(|key| !key.policy.is_empty()) => SelectionReason::BoundByKey,
            Some(_) => SelectionReason::Bound,
            None if considered.iter().any(|policy| policy.matches == Some(true)) => SelectionReason::Matched,
            None => SelectionReason::Default,
        };
        Ok(PolicySelection { policy, base, ground, considered })
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use http::HeaderMap;

    use super::*;
    use crate::KeyFacts;
    use callwright_common::watch::FolderFile;

    fn book(files: &[(&str, &str)]) -> PolicyBook {
        let files = files.iter().map(|(name, text)| FolderFile { path: PathBuf::from(name), text: (*text).to_owned() });
        PolicyBook::of(&files.collect::<Vec<_>>(), "default", "test".to_owned()).unwrap()
    }

    fn three() -> PolicyBook {
        book(&[
            ("default.yaml", ""),
            ("gpt.yaml", "match: {models: ['gpt-*']}"),
            ("team.yaml", "priority: 5\nmatch: {models: ['gpt-*'], headers: {x-team: search}}"),
        ])
    }

    #[test]
    fn what_holds_and_what_each_policy_lacks_is_said() {
        let mut headers = HeaderMap::new();
        fn facts(headers: &HeaderMap) -> TurnFacts<'_> {
            TurnFacts { model: "gpt-5", alias: None, alias_policy: None, key: None, headers, requested: None }
        }
        let book = three();
        let reasoned = book.reason(&facts(&headers)).unwrap();
        assert_eq!((reasoned.policy.name.as_str(), &reasoned.ground), ("gpt", &SelectionReason::Matched));
        let told: Vec<_> =
            reasoned.considered.iter().map(|it| (it.name.as_str(), it.matches, it.lacks.as_deref())).collect();
        let lacks = "`headers.x-team`";
        assert_eq!(told, [("team", Some(false), Some(lacks)), ("default", None, None), ("gpt", Some(true), None)]);

        headers.insert("x-team", "search".parse().unwrap());
        assert_eq!(book.reason(&facts(&headers)).unwrap().policy.name, "team");
    }

    #[test]
    fn a_binding_a_default_and_a_wish_are_told_apart() {
        let (book, none) = (three(), HeaderMap::new());
        let facts =
            TurnFacts { model: "o3", alias: None, alias_policy: None, key: None, headers: &none, requested: None };
        let reasoned = book.reason(&facts).unwrap();
        assert_eq!((reasoned.base.as_str(), reasoned.ground), ("default", SelectionReason::Default));
        let bound = book.reason(&TurnFacts { alias_policy: Some("gpt"), ..facts }).unwrap();
        assert_eq!((bound.base.as_str(), bound.ground), ("gpt", SelectionReason::Bound));
        let listed = ["team".to_owned()];
        let key = KeyFacts { name: "ada", group: "", policy: "", selectable_policies: &listed };
        let select = |name| book.reason(&TurnFacts { requested: Some(name), key: Some(key), ..facts });
        let selected = select("team").unwrap();
        assert_eq!((selected.policy.name.as_str(), selected.base.as_str()), ("team", "default"));
        assert!(select("gpt").is_err(), "the key does not list it");
    }
}
