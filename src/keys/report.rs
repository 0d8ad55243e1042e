//! Key reports for operators: without hashes, with usage.

use jiff::Timestamp;
use serde::Serialize;

use super::known::KeyState;
use super::secret;
use super::usage_counter::Amount;
use callwright_store::UsageRow;
use callwright_types::{KeyLimits, VirtualKey};

/// A key as operators see it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KeyReport {
    pub id: String,
    pub name: String,
    /// Group; empty: none.
    pub group: String,
    pub state: KeyState,
    /// Prefixes of its secrets, the latest last.
    pub prefixes: Vec<PrefixReport>,
    /// Policy to which the key is bound; empty: none.
    pub policy: String,
    /// Policies that the key's requests may select.
    pub selectable_policies: Vec<String>,
    /// Globs on the models that the key may use; empty: all.
    pub models: Vec<String>,
    /// Paths below `/v1` that are passed through for the key; `None`: those of the configuration (`keys.pass_through`).
    pub pass_through: Option<Vec<String>>,
    pub limits: KeyLimits,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of expiry.
    pub expires_at: Option<Timestamp>,
    /// Time of revocation.
    pub revoked_at: Option<Timestamp>,
    /// Usage, if it was queried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageSummary>,
}

/// Prefix of a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PrefixReport {
    /// First characters of the secret.
    pub prefix: String,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time until which the secret is valid; `None`: as long as the key.
    pub valid_until: Option<Timestamp>,
}

/// Usage of a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct UsageSummary {
    /// Usage of the current day (UTC).
    pub day: PeriodUsage,
    /// Usage of the current month (UTC).
    pub month: PeriodUsage,
    /// Number of requests in progress, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub under_way: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct PeriodUsage {
    /// Number of requests.
    pub requests: u64,
    /// Number of tokens of requests and answers.
    pub tokens: u64,
    /// Cost in the currency of the price table.
    pub cost: f64,
}

impl KeyReport {
    pub(super) fn of(key: &VirtualKey, now: Timestamp, usage: Option<UsageSummary>) -> Self {
        let prefixes = key.secrets.iter().map(|kept| PrefixReport {
            prefix: secret::prefix(&kept.handle),
            created_at: kept.created_at,
            valid_until: kept.valid_until,
        });
        Self {
            id: key.id.clone(),
            name: key.name.clone(),
            group: key.group.clone(),
            state: KeyState::of(key, now),
            prefixes: prefixes.collect(),
            policy: key.policy.clone(),
            selectable_policies: key.selectable_policies.clone(),
            models: key.models.clone(),
            pass_through: key.pass_through.clone(),
            limits: key.limits,
            created_at: key.created_at,
            expires_at: key.expires_at,
            revoked_at: key.revoked_at,
            usage,
        }
    }
}

impl UsageSummary {
    pub(super) fn of(day: Amount, month: Amount, under_way: Option<u64>) -> Self {
        Self { day: PeriodUsage::of(day), month: PeriodUsage::of(month), under_way }
    }

    /// Sums the rows of a month; `today` is the current day.
    pub(super) fn of_rows(rows: &[UsageRow], today: jiff::civil::Date) -> Self {
        let (mut day, mut month) = (Amount::default(), Amount::default());
        for row in rows {
            month = month.plus(Amount::of(row));
            if row.day == today {
                day = day.plus(Amount::of(row));
            }
        }
        Self::of(day, month, None)
    }
}

impl PeriodUsage {
    fn of(amount: Amount) -> Self {
        Self { requests: amount.requests, tokens: amount.tokens, cost: amount.nanos as f64 / 1e9 }
    }
}
