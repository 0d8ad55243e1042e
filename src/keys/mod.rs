//! Virtual keys: who may come in, and how much each may use.
//!
//! Owns secrets and their hashes, the keys that are known, the counts behind limits and budgets, prices, and how all of that is shared by way of
//! the store. Must not know HTTP, policies' rules, or what a request says.

mod access;
mod admission;
mod change;
mod known;
mod ledger;
mod moment;
mod operator;
mod prices;
mod refusal;
mod registrar;
mod report;
mod secret;
mod settings;
mod standing;
mod tally;
mod window;

pub use access::{Access, Asked, Caller};
pub use admission::{Admission, Charge};
pub use change::{KeyChange, KeyDraft};
pub use known::{KeyState, KnownKey, KnownKeys};
pub use operator::OperatorToken;
pub use prices::PriceSettings;
pub use refusal::{Denied, Limit, Refused};
pub use registrar::{Issued, KeyError, Registrar};
pub use report::{KeyReport, UsageSummary};
pub use secret::may_be_ours;
pub use settings::{KeyMode, Settings, Unmetered};
pub use standing::{Dimension, Standing};
