//! Policy files → the rules and limits of a turn.
//!
//! Owns reading, matching, precedence and reload of policies. Must not know what the rules are used for.
//!
//! One YAML file is one policy; `policies/default.yaml` explains every key. [`PolicyBook::resolve`] finds the policy of a
//! turn: the one that the virtual key is bound to; else the one that the model alias is bound to; else, of those whose `match` fits, the one of the highest `priority`
//! (among equals, the first file name); else the one that `[policies] default` names. A request may ask for a `selectable`
//! one with `x-callwright-policy`, which can only tighten the rules that hold anyway.

mod book;
mod considered;
mod error;
mod failures;
mod fault;
mod file;
mod parse;
mod rules;
mod selector;
mod settings;
mod sources;
mod tighten;
mod validate;
mod watch;

pub use book::{KeyFacts, PolicyBook, TurnFacts};
pub use considered::{Considered, Ground, Reasoned};
pub use error::{PolicyError, SelectError};
pub use file::load_file;
pub use rules::{Match, Policy};
pub use settings::Settings;
pub use watch::watch;
