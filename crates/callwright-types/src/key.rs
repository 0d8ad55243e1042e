//! Virtual keys: client credentials that the proxy issues.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// A key issued by the proxy. Only hashes of its secret are stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VirtualKey {
    /// `key_` and hexadecimal digits; unchanged when the secret is rotated.
    pub id: String,
    /// Name used in policies and traces; unique among keys that are not revoked.
    pub name: String,
    /// Group of the key; empty for none.
    #[serde(default)]
    pub group: String,
    /// Policy of the key's turns; empty for the policy of turns without a key.
    #[serde(default)]
    pub policy: String,
    /// Names of the policies that its requests may select.
    #[serde(default)]
    pub selectable_policies: Vec<String>,
    /// Globs on the names of permitted models and aliases; empty for all.
    #[serde(default)]
    pub models: Vec<String>,
    /// Paths below `/v1` that may be passed through; `None` for those of the configuration.
    #[serde(default)]
    pub pass_through: Option<Vec<String>>,
    /// Usage limits.
    #[serde(default)]
    pub limits: KeyLimits,
    /// Secrets, newest last. Older ones remain valid until the grace period of a rotation ends.
    pub secrets: Vec<KeySecret>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of expiry.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// Time of revocation, if revoked.
    #[serde(default)]
    pub revoked_at: Option<Timestamp>,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

/// The stored data of a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeySecret {
    /// The non-secret part of the secret's text, used for the lookup.
    pub handle: String,
    /// SHA-256 of the whole text, as hexadecimal digits. The text has 256 random bits and cannot be guessed, so a slow
    /// password hash would only delay requests.
    pub hash: String,
    /// Time of creation.
    pub created_at: Timestamp,
    /// End of validity; `None` for as long as the key is valid.
    #[serde(default)]
    pub valid_until: Option<Timestamp>,
}

/// Usage limits of a key or a group. 0 means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KeyLimits {
    /// Maximum number of requests per minute.
    pub requests_per_minute: u64,
    /// Maximum number of tokens per minute: prompts and completions over all attempts of the turns.
    pub tokens_per_minute: u64,
    /// Maximum number of concurrent requests.
    pub concurrent_requests: u64,
    /// Spending limit.
    pub budget: Budget,
}

impl KeyLimits {
    /// Returns a description of the first invalid limit: the key and the permitted values.
    pub fn fault(&self) -> Option<String> {
        let amount = self.budget.amount;
        (!(amount.is_finite() && amount >= 0.0))
            .then(|| format!("`budget.amount` is {amount}; it must be 0 (no budget) or more"))
    }

    /// Returns the limits of a request that uses no model: those on the number of requests.
    #[must_use]
    pub fn of_requests(self) -> Self {
        Self { tokens_per_minute: 0, budget: Budget { amount: 0.0, ..self.budget }, ..self }
    }

    /// Whether any limit depends on token counts reported by upstreams.
    pub fn is_metered(&self) -> bool {
        self.tokens_per_minute > 0 || self.budget.amount > 0.0
    }
}

/// Maximum spending per period.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// Amount in the currency of the price table; 0 for no budget.
    pub amount: f64,
    /// Period after which the budget resets.
    pub period: BudgetPeriod,
}

/// Period of a budget; it begins and ends at midnight UTC.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "lowercase")]
pub enum BudgetPeriod {
    /// One day.
    Day,
    /// One calendar month.
    #[default]
    Month,
}

crate::labels!(BudgetPeriod);

/// The virtual key of a turn, as recorded in its trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyNote {
    /// Id of the key.
    pub id: String,
    /// Name of the key at the time of the turn.
    pub name: String,
    /// Group of the key at the time of the turn; empty for none.
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
