//! A key as operators see it: without hashes, with what it used.

use jiff::Timestamp;
use serde::Serialize;

use super::known::KeyState;
use super::secret;
use super::tally::Amount;
use callwright_store::UsageRow;
use callwright_types::{KeyLimits, VirtualKey};

/// A key as operators see it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KeyReport {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its group; empty: none.
    pub group: String,
    /// Is it of use?
    pub state: KeyState,
    /// What its secrets begin with, the latest last.
    pub prefixes: Vec<PrefixReport>,
    /// The policy that it is bound to; empty: none.
    pub policy: String,
    /// The policies that its requests may ask for; none: those that are `selectable`.
    pub selectable: Option<Vec<String>>,
    /// Globs on the models that it may use; none given: all.
    pub models: Vec<String>,
    /// Paths below `/v1` that it may have passed through; none: those of the configuration (`keys.pass_through`).
    pub pass_through: Option<Vec<String>>,
    /// How much it may use.
    pub limits: KeyLimits,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it is of no use any more.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// What it used, where that was looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageSummary>,
}

/// The beginning of a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PrefixReport {
    /// Its first letters.
    pub prefix: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// Until when it holds; none: as long as the key.
    pub valid_until: Option<Timestamp>,
}

/// What a key used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct UsageSummary {
    /// In this day of UTC.
    pub day: Used,
    /// In this month.
    pub month: Used,
    /// Requests that are under way, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub under_way: Option<u64>,
}

/// What was used in a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Used {
    /// Requests.
    pub requests: u64,
    /// Tokens of requests and answers.
    pub tokens: u64,
    /// Money, in the currency of the price table.
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
            selectable: key.selectable.clone(),
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
        Self { day: Used::of(day), month: Used::of(month), under_way }
    }

    /// What the rows of a month say; `today` is the day.
    pub(super) fn of_rows(rows: &[UsageRow], today: jiff::civil::Date) -> Self {
        let amount = |row: &UsageRow| Amount { requests: row.requests, tokens: row.tokens, nanos: row.nanos };
        let sum = |all: Amount, row: &UsageRow| all.plus(amount(row));
        let day = rows.iter().filter(|row| row.day == today).fold(Amount::default(), sum);
        Self::of(day, rows.iter().fold(Amount::default(), sum), None)
    }
}

impl Used {
    fn of(amount: Amount) -> Self {
        Self { requests: amount.requests, tokens: amount.tokens, cost: amount.nanos as f64 / 1e9 }
    }
}
