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
mod trace_text;
pub(super) mod traces;
pub(super) mod upstreams;

use super::error::{self, Refusal};
use super::state::OperatorSide;

/// Maximum number of bytes of a body, also of a verdict: a representation takes the most, several times less than this.
pub(super) const MAX_BODY: usize = 1 << 20;

/// Checks that a policy exists.
fn policy_named(side: &OperatorSide, name: &str) -> Result<(), Refusal> {
    let policies = side.pipeline.policies.load_full();
    if policies.get(name).is_some() {
        return Ok(());
    }
    let known: Vec<&str> = policies.policies().map(|policy| policy.name.as_str()).collect();
    Err(error::invalid_body(format!("there is no policy `{name}`; known policies: {}", known.join(", "))).into())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::http::Settings;
    use crate::keys::KeyState;
    use callwright_common::limits::{LINE_CHARS, TEXT_LENGTH};
    use callwright_store::{FindingKind, MAX_BUCKETS};
    use callwright_types::rules::Mode;
    use callwright_types::{ApprovalStatus, CircuitState, TurnOutcome, UnjudgedReason, Verdict};

    #[test]
    fn the_description_has_the_names_and_limits_of_the_code() {
        let api: Value = serde_json::from_str(include_str!("../../../openapi/callwright.json")).unwrap();
        let schema = |path: &str| &api["components"]["schemas"][path];
        let query = |path: &str, name: &str| {
            let parameters = api["paths"][path]["get"]["parameters"].as_array().unwrap();
            parameters.iter().find(|parameter| parameter["name"] == name).unwrap()["schema"].clone()
        };
        let states = [KeyState::Active, KeyState::Expired, KeyState::Revoked].map(KeyState::label);
        let statuses = ApprovalStatus::ALL.map(ApprovalStatus::label);
        let kinds = FindingKind::ALL.map(FindingKind::label);
        for (described, expected) in [
            (schema("Verdict")["enum"].clone(), json!(Verdict::ALL.map(Verdict::label))),
            (schema("Mode")["enum"].clone(), json!([Mode::Guard, Mode::Shadow, Mode::Off].map(Mode::label))),
            (schema("Trace")["properties"]["outcome"]["enum"].clone(), json!(TurnOutcome::ALL.map(TurnOutcome::label))),
            (
                schema("Trace")["properties"]["unjudged"]["enum"].clone(),
                json!(UnjudgedReason::ALL.map(UnjudgedReason::label)),
            ),
            (
                schema("Upstream")["properties"]["circuit"]["enum"].clone(),
                json!(CircuitState::ALL.map(CircuitState::label)),
            ),
            (schema("Finding")["properties"]["kind"]["enum"].clone(), json!(kinds)),
            (query("/admin/traces", "finding")["pattern"].clone(), json!(format!("^({}):", kinds.join("|")))),
            (query("/admin/approvals", "status")["enum"].clone(), json!(statuses)),
            (query("/admin/keys", "state")["enum"].clone(), json!(states)),
            (query("/admin/overview", "buckets")["maximum"].clone(), json!(MAX_BUCKETS)),
            (schema("Decision")["properties"]["by"]["maxLength"].clone(), json!(LINE_CHARS)),
            (schema("Opinion")["properties"]["by"]["maxLength"].clone(), json!(LINE_CHARS)),
            (schema("Opinion")["properties"]["reason"]["maxLength"].clone(), json!(TEXT_LENGTH)),
            (schema("Throw")["properties"]["reason"]["maxLength"].clone(), json!(TEXT_LENGTH)),
            (api["info"]["version"].clone(), json!(env!("CARGO_PKG_VERSION"))),
            (api["servers"][0]["url"].clone(), json!(format!("http://{}", Settings::default().listen))),
            (api["servers"][1]["url"].clone(), json!(format!("http://{}", Settings::default().operator_listen))),
        ] {
            assert_eq!(described, expected);
        }
    }
}
