//! `GET /admin/switch`, `POST /admin/switch`: the kill switch.

use axum::extract::State;
use callwright_common::limits::TEXT_LENGTH;
use serde::{Deserialize, Serialize};

use super::policy_named;
use crate::http::json::{Answer, Json, Sent, SentBody};
use crate::http::state::OperatorSide;

/// Body of a switch request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct SwitchBody {
    off: bool,
    /// Policy whose turns are switched; all turns if absent.
    #[serde(default)]
    policy: Option<String>,
    #[serde(default)]
    reason: String,
}

impl SentBody for SwitchBody {
    const NAME: &'static str = "a switch request";
    const FORM: &'static str = "the body must be `{\"off\": true}` or `false`, with optional `policy` and `reason`";

    fn texts(&self) -> Vec<(&'static str, Option<&str>, usize)> {
        vec![("reason", Some(&self.reason), TEXT_LENGTH)]
    }
}

/// Returns what is switched off now.
pub(in crate::http) async fn show(State(side): State<OperatorSide>) -> Json<impl Serialize> {
    Json(side.pipeline.switch.state())
}

/// Switches everything, or the turns of one policy, off or on again.
pub(in crate::http) async fn throw(
    State(side): State<OperatorSide>,
    Sent(SwitchBody { off, policy, reason }): Sent<SwitchBody>,
) -> Answer<impl Serialize> {
    let switch = &side.pipeline.switch;
    if off {
        policy.as_deref().map_or(Ok(()), |name| policy_named(&side, name))?;
        switch.off(policy.as_deref(), &reason);
    } else {
        switch.on(policy.as_deref());
    }
    Ok(Json(switch.state()))
}
