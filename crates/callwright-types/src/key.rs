//! Virtual keys: what clients are known by where the proxy gives out keys of its own.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A key that the proxy gave out. Its secret is nowhere: only hashes of it are kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VirtualKey {
    /// `key_` and digits; it stays when the secret is rotated.
    pub id: String,
    /// What people, policies and traces call it; no two keys that are not revoked have the same.
    pub name: String,
    /// The group that it belongs to; empty: none.
    #[serde(default)]
    pub group: String,
    /// The policy that holds for its turns; empty: as for turns without a key.
    #[serde(default)]
    pub policy: String,
    /// Names of the policies that its requests may ask for; none: those that are `selectable`.
    #[serde(default)]
    pub selectable: Option<Vec<String>>,
    /// Globs on the names of models and aliases that it may use; none given: all.
    #[serde(default)]
    pub models: Vec<String>,
    /// Paths below `/v1` that it may have passed through; none: those of the configuration.
    #[serde(default)]
    pub pass_through: Option<Vec<String>>,
    /// How much it may use.
    #[serde(default)]
    pub limits: KeyLimits,
    /// Its secrets, the latest last; those before it hold until a rotation's grace time is over.
    pub secrets: Vec<KeySecret>,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it is of no use any more.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// When it was revoked, where it was.
    #[serde(default)]
    pub revoked_at: Option<Timestamp>,
    /// When it changed last.
    pub updated_at: Timestamp,
}

/// What is kept of a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeySecret {
    /// The part of the secret's text that is not secret, by which it is found.
    pub handle: String,
    /// SHA-256 of its whole text, as hexadecimal digits. The text has 256 random bits, so nobody finds it by trying, and a hash that is slow
    /// on purpose, as passwords need, would only slow down requests.
    pub hash: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// Until when it holds; none: as long as its key.
    #[serde(default)]
    pub valid_until: Option<Timestamp>,
}

/// How much a key or a group may use. 0 everywhere: any amount.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KeyLimits {
    /// Requests within any minute.
    pub requests_per_minute: u64,
    /// Tokens within any minute, of requests and answers, over all attempts of the turns.
    pub tokens_per_minute: u64,
    /// Requests under way at a time.
    pub concurrent_requests: u64,
    /// Money.
    pub budget: Budget,
}

impl KeyLimits {
    /// What is wrong with them, as the key and what is to be done.
    pub fn fault(&self) -> Option<String> {
        let amount = self.budget.amount;
        (!(amount.is_finite() && amount >= 0.0))
            .then(|| format!("`budget.amount` is {amount}; it must be 0, for no budget, or more"))
    }

    /// Does any of them depend on what the upstreams count?
    pub fn is_metered(&self) -> bool {
        self.tokens_per_minute > 0 || self.budget.amount > 0.0
    }
}

/// Money that may be spent in a period.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// How much, in the currency of the price table; 0: no budget.
    pub amount: f64,
    /// After what time it begins anew.
    pub period: BudgetPeriod,
}

/// The time that a budget is for; it begins and ends at midnight UTC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BudgetPeriod {
    /// A day.
    Day,
    /// A month of the calendar.
    #[default]
    Month,
}

impl BudgetPeriod {
    /// As it is written.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Month => "month",
        }
    }
}

/// Whose turn it was, in its trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyNote {
    /// The key's id.
    pub id: String,
    /// Its name then.
    pub name: String,
    /// Its group then; empty: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_must_be_a_number_from_0_on() {
        let fault =
            |amount| KeyLimits { budget: Budget { amount, ..Budget::default() }, ..KeyLimits::default() }.fault();
        assert!(fault(0.0).is_none() && fault(12.5).is_none());
        for amount in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(fault(amount).unwrap().contains("budget.amount"), "{amount}");
        }
    }
}
