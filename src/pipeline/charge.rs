//! Charges the usage of a turn to its virtual key, and builds the answer to a request over a limit.

use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue};

use crate::keys::{Charge, RefusedRequest, RequestPermit, ViolatedLimit};
use callwright_telemetry::labels::TokenKind;
use callwright_types::{Trace, Usage};
use callwright_upstream::forbid_retry;
use callwright_wire::ErrorBody;

use super::services::Pipeline;
use super::state::Turn;

/// Returns the usage of each attempt of a turn.
fn charges(trace: &Trace) -> impl Iterator<Item = Charge<'_>> + Clone {
    let attempts = trace.attempts.iter();
    attempts.map(|attempt| Charge { model: &attempt.model, usage: attempt.estimate.unwrap_or(attempt.usage) })
}

/// Returns the cost of a turn, if a model of it has a price.
pub(super) fn cost(pipeline: &Pipeline, trace: &Trace) -> Option<f64> {
    pipeline.access.cost(charges(trace))
}

/// Charges the usage of all attempts of a turn, including those of its plans, and ends its permit.
pub(super) fn charge(pipeline: &Pipeline, request_permit: Option<RequestPermit>, trace: &Trace) {
    let (Some(request_permit), Some(key)) = (request_permit, &trace.key) else { return };
    let charges = charges(trace);
    let used = charges.clone().fold(Usage::default(), |mut sum, charge| {
        sum += charge.usage;
        sum
    });
    let cost = request_permit.charge(charges);
    pipeline.metrics.key_tokens.add(&key.group, TokenKind::Prompt, used.prompt_tokens);
    pipeline.metrics.key_tokens.add(&key.group, TokenKind::Completion, used.completion_tokens);
    pipeline.metrics.key_cost.add(&key.group, cost);
}

/// Stores the charge of a response in the background whose usage is not known yet. It is replaced when a client fetches the
/// response.
pub(super) async fn reserve_background(pipeline: &Pipeline, turn: &Turn, id: Option<String>) {
    let trace = &turn.record.trace;
    let estimate = trace.attempts.last().and_then(|attempt| Some((attempt.model.as_str(), attempt.estimate?)));
    let (Some(permit), Some(key), Some(id)) = (&turn.request_permit, &trace.key, id) else { return };
    if let Some((model, usage)) = estimate.filter(|_| turn.request.is_background()) {
        let charge = permit.reserved_charge(Charge { model, usage });
        pipeline.access.objects().reserve(key, &id, &charge).await;
    }
}

/// Returns the body of the answer to a refused request.
pub fn refusal_body(refused: &RefusedRequest) -> ErrorBody {
    ErrorBody {
        message: refused.message.clone(),
        kind: refused.limit.kind().to_owned(),
        param: (refused.limit == ViolatedLimit::Model).then(|| "model".to_owned()),
        code: Some(refused.limit.code().to_owned()),
    }
}

/// Returns the header fields of the answer to a refused request: `Retry-After`, or no retry for a spent budget.
pub fn refusal_headers(refused: &RefusedRequest) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Some(seconds) = refused.retry_after_seconds() {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if refused.limit == ViolatedLimit::Budget {
        // A budget renews after hours or days, so client retries would fail.
        forbid_retry(&mut headers);
    }
    headers
}
