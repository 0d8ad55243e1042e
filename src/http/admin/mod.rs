//! `/admin/*`: the operator API (JSON).

pub(super) mod approval_events;
pub(super) mod approvals;
pub(super) mod keys;
pub(super) mod memory;
pub(super) mod overview;
pub(super) mod policies;
pub(super) mod shadow;
pub(super) mod switch;
pub(super) mod tools;
mod trace_plan;
mod trace_text;
pub(super) mod traces;
pub(super) mod upstreams;

use super::error::{self, Refusal};
use super::state::OperatorSide;

/// Maximum number of bytes of a body: a representation takes the most, several times less than this.
pub(super) const MAX_BODY: usize = 1 << 20;

/// Maximum number of characters of the name of a person who decides.
const MAX_BY: usize = 200;

/// Maximum number of characters of a reason.
const MAX_REASON: usize = 500;

/// Checks that a policy exists.
fn policy_named(side: &OperatorSide, name: &str) -> Result<(), Refusal> {
    let policies = side.pipeline.policies();
    if policies.get(name).is_some() {
        return Ok(());
    }
    let known: Vec<&str> = policies.policies().map(|policy| policy.name.as_str()).collect();
    Err(error::invalid_body(format!("there is no policy `{name}`; known policies: {}", known.join(", "))).into())
}
