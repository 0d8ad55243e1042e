//! Virtual keys: authentication of clients, and limits on their usage.
//!
//! Owns secrets and their hashes, the loaded keys, the counters behind limits and budgets, prices, their exchange
//! through the store, and the owners of the provider's objects. Must not depend on HTTP, the rules of policies, or the contents of requests.

mod access;
mod change;
mod known;
mod ledger;
mod moment;
mod objects;
mod prices;
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
pub use ledger::{Dimension, QuotaStatus};
pub use objects::{ObjectOwners, OwnedObject, Ownership};
pub use prices::PriceSettings;
pub use refusal::{KeyDenial, RefusedRequest, ViolatedLimit};
pub use registrar::{IssuedSecret, KeyError, Registrar};
pub use report::{KeyReport, UsageSummary};
pub use request_permit::{Charge, RequestPermit, ReservedCharge};
pub use secret::{OperatorToken, may_be_ours};
pub use settings::{KeyMode, ObjectSharing, Settings, UnknownObjects, Unmetered};
