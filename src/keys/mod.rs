//! Virtual keys: authentication of clients, and limits on their usage.
//!
//! Owns secrets and their hashes, the loaded keys, the counters behind limits and budgets, prices, and their exchange
//! through the store. Must not depend on HTTP, the rules of policies, or the contents of requests.

mod access;
mod change;
mod known;
mod ledger;
mod moment;
mod operator;
mod prices;
mod quota_status;
mod refusal;
mod registrar;
mod report;
mod request_permit;
mod secret;
mod settings;
mod usage_counter;
mod window;

pub use access::{Access, Caller, RequestedAccess};
pub use change::{KeyChange, KeyDraft};
pub use known::{KeyState, KnownKey, KnownKeys};
pub use operator::OperatorToken;
pub use prices::PriceSettings;
pub use quota_status::{Dimension, QuotaStatus};
pub use refusal::{KeyDenial, RefusedRequest, ViolatedLimit};
pub use registrar::{IssuedSecret, KeyError, Registrar};
pub use report::{KeyReport, UsageSummary};
pub use request_permit::{Charge, RequestPermit};
pub use secret::may_be_ours;
pub use settings::{KeyMode, Settings, Unmetered};
