//! Learning representations from requests whose right tools are known (Algorithm 1 of the paper).

mod proposer;

pub use proposer::{Addition, Cost, Edition, ProposeError, Proposer};
