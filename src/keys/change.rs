//! Validation of keys that operators create or change.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Deserializer};

use super::known::globs;
use super::registrar::KeyError;
use callwright_common::limits::{LINE_CHARS, WORD_CHARS};
use callwright_types::{BudgetPeriod, KeyLimits, VirtualKey, ids};

/// Maximum number of model globs or policy names of one key; longer lists are unreadable.
const MAX_NAMES: usize = 100;

/// A key to create.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyDraft {
    pub name: String,
    /// All other fields; absent limits mean unlimited.
    #[serde(flatten)]
    pub change: KeyChange,
}

/// Changes of a key; absent fields stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct KeyChange {
    /// Group of the key; empty: none.
    pub group: Option<String>,
    /// Policy that applies to the key's turns; empty: none.
    pub policy: Option<String>,
    /// Policies that the key's requests may select; empty: none.
    pub selectable_policies: Option<Vec<String>>,
    /// Globs on the models and aliases that the key may use; empty: all.
    pub models: Option<Vec<String>>,
    /// Paths below `/v1` that are passed through for the key; `null`: those of the configuration.
    #[serde(deserialize_with = "some")]
    pub pass_through: Option<Option<Vec<String>>>,
    /// Maximum number of requests per minute; 0: unlimited.
    pub requests_per_minute: Option<u64>,
    /// Maximum number of tokens per minute; 0: unlimited.
    pub tokens_per_minute: Option<u64>,
    /// Maximum number of concurrent requests; 0: unlimited.
    pub concurrent_requests: Option<u64>,
    /// Maximum cost per budget period; 0: unlimited.
    pub budget: Option<f64>,
    pub budget_period: Option<BudgetPeriod>,
    /// Number of days until the key expires; 0: never.
    pub expires_in_days: Option<u32>,
}

/// Distinguishes `null` from an absent field.
fn some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<Vec<String>>>, D::Error> {
    Option::<Vec<String>>::deserialize(deserializer).map(Some)
}

/// Maximum number of days until a key expires: a hundred years; larger values are mistakes.
const MAX_DAYS: u32 = 36_500;

impl KeyChange {
    /// Applies the change to a key.
    ///
    /// # Errors
    /// [`KeyError::Invalid`], if a value is invalid.
    pub(super) fn apply(&self, key: &mut VirtualKey, now: Timestamp) -> Result<(), KeyError> {
        if let Some(group) = &self.group {
            if !group.is_empty() {
                check_name("group", group)?;
            }
            key.group.clone_from(group);
        }
        if let Some(policy) = &self.policy {
            check_text("policy", policy)?;
            key.policy.clone_from(policy);
        }
        if let Some(policies) = &self.selectable_policies {
            check_texts("selectable_policies", policies)?;
            key.selectable_policies.clone_from(policies);
        }
        if let Some(models) = &self.models {
            check_texts("models", models)?;
            globs(models).map_err(|error| KeyError::Invalid(format!("`models`: {error}")))?;
            key.models.clone_from(models);
        }
        if let Some(paths) = &self.pass_through {
            check_paths("pass_through", paths.as_deref().unwrap_or_default())?;
            key.pass_through.clone_from(paths);
        }
        key.limits = self.limits(key.limits);
        if let Some(fault) = key.limits.fault() {
            return Err(KeyError::Invalid(fault));
        }
        match self.expires_in_days {
            None => {}
            Some(0) => key.expires_at = None,
            Some(days) if days > MAX_DAYS => {
                return Err(KeyError::Invalid(format!("`expires_in_days` must be at most {MAX_DAYS}; 0 means never")));
            }
            Some(days) => {
                let time = SignedDuration::from_hours(i64::from(days) * 24);
                key.expires_at = Some(now.checked_add(time).unwrap_or(Timestamp::MAX));
            }
        }
        Ok(())
    }

    fn limits(&self, before: KeyLimits) -> KeyLimits {
        let mut limits = before;
        limits.requests_per_minute = self.requests_per_minute.unwrap_or(before.requests_per_minute);
        limits.tokens_per_minute = self.tokens_per_minute.unwrap_or(before.tokens_per_minute);
        limits.concurrent_requests = self.concurrent_requests.unwrap_or(before.concurrent_requests);
        limits.budget.amount = self.budget.unwrap_or(before.budget.amount);
        limits.budget.period = self.budget_period.unwrap_or(before.budget.period);
        limits
    }
}

/// Checks the name of a key or a group.
pub(super) fn check_name(field: &str, name: &str) -> Result<(), KeyError> {
    let has_valid_letters = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    if (1..=WORD_CHARS).contains(&name.len()) && has_valid_letters && !name.starts_with(ids::KEY_ID) {
        return Ok(());
    }
    Err(KeyError::Invalid(format!(
        "`{field}` must be 1 to {WORD_CHARS} letters, digits, `-`, `_` or `.`, and must not begin with `{}`, as ids do",
        ids::KEY_ID
    )))
}

/// Checks paths that may be passed through: segments below `/v1`, such as `files` or `audio/speech`, or `*` for
/// everything.
pub(super) fn check_paths(field: &str, paths: &[String]) -> Result<(), KeyError> {
    check_texts(field, paths)?;
    match paths.iter().find(|path| !is_path(path)) {
        None => Ok(()),
        Some(path) => Err(KeyError::Invalid(format!(
            "`{field}`: `{path}` is not a path below `/v1`; write it without leading or trailing slashes, such as `files` or `audio/speech`, or `*` for \
             everything"
        ))),
    }
}

/// Whether a text is `*` or a normalised sequence of segments.
fn is_path(text: &str) -> bool {
    text == "*" || text.split('/').all(is_segment)
}

fn is_segment(segment: &str) -> bool {
    !matches!(segment, "" | "." | "..")
        && segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~' | b':'))
}

fn check_texts(field: &str, texts: &[String]) -> Result<(), KeyError> {
    if texts.len() > MAX_NAMES {
        return Err(KeyError::Invalid(format!("`{field}` must have at most {MAX_NAMES} entries")));
    }
    texts.iter().try_for_each(|text| {
        if text.is_empty() {
            return Err(KeyError::Invalid(format!("`{field}` has an empty entry")));
        }
        check_text(field, text)
    })
}

fn check_text(field: &str, text: &str) -> Result<(), KeyError> {
    if text.chars().count() > LINE_CHARS || text.chars().any(char::is_control) {
        return Err(KeyError::Invalid(format!(
            "`{field}` must have at most {LINE_CHARS} characters, without control characters"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_stand_in_metrics_and_are_no_ids() {
        for name in ["a", "Search.Team_1-x", &"a".repeat(100)] {
            assert!(check_name("name", name).is_ok(), "{name}");
        }
        for name in ["", "a b", "ä", "a/b", "key_1", &"a".repeat(101), "a\n"] {
            assert!(check_name("name", name).unwrap_err().to_string().contains("`name`"), "{name}");
        }
    }

    #[test]
    fn paths_are_segments_below_v1() {
        let check = |path: &str| check_paths("pass_through", &[path.to_owned()]);
        for path in ["*", "files", "audio/speech", "fine_tuning/jobs", "vector_stores"] {
            assert!(check(path).is_ok(), "{path}");
        }
        for path in ["", "/files", "files/", "v1//files", "files/*", "../admin", "a b", "files?x"] {
            assert!(check(path).unwrap_err().to_string().contains("`pass_through`"), "{path}");
        }
    }

    #[test]
    fn null_is_told_from_what_is_left_out() {
        let read = |value| serde_json::from_value::<KeyChange>(value).unwrap().pass_through;
        assert_eq!(read(json!({})), None);
        assert_eq!(read(json!({"pass_through": null})), Some(None));
        assert_eq!(read(json!({"pass_through": []})), Some(Some(vec![])));
    }
}
