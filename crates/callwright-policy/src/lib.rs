//! Policies: converts policy files to the rules and limits of a turn.
//!
//! Owns reading, matching, precedence and reload of policies. Must not depend on the use of the rules.
//!
//! One YAML file is one policy; `policies/default.yaml` documents every key. [`PolicyBook::resolve`] finds the policy
//! of a turn: the one to which the virtual key is bound; otherwise the one to which the model alias is bound;
//! otherwise the matching policy with the highest `priority` (among equals, the first file name); otherwise the one
//! in `[policies] default`. With `x-callwright-policy` a request may select one of the policies that its virtual key
//! lists.

mod book;
mod considered;
mod error;
mod failures;
mod parse;
mod rules;
mod selector;
mod settings;
mod sources;
mod validate;
mod watch;

pub use book::{AliasBinding, PolicyBook};
pub use considered::{ConsideredPolicy, PolicySelection, SelectionReason};
pub use error::{PolicyError, SelectError};
pub use parse::load_file;
pub use rules::{Match, Policy};
pub use selector::{KeyFacts, TurnFacts};
pub use settings::Settings;
pub use watch::watch;
