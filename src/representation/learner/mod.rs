//! Learning representations from requests whose right tools are known (Algorithm 1 of the paper).

mod proposer;
mod selector;

pub use proposer::{Addition, Cost, Edition, ProposeError, Proposer};
pub use selector::{Candidate, NoSelection, Selector};
