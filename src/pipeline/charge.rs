//! What a turn's key is charged, and what a client is told that may not use more.

use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue};

use crate::keys::{Admission, Charge, Limit, Refused};
use callwright_openai::ErrorBody;
use callwright_telemetry::labels::TokenKind;
use callwright_types::{Trace, Usage};
use callwright_upstream::forbid_retry;

use super::Pipeline;

/// Counts what a turn used: all its attempts, those of its plans too. Its request is under way no more.
pub(super) fn charge(pipeline: &Pipeline, admission: Option<Admission>, trace: &Trace) {
    let (Some(admission), Some(key)) = (admission, &trace.key) else { return };
    let charges = trace
        .attempts
        .iter()
        .map(|attempt| Charge { model: &attempt.model, usage: attempt.estimate.unwrap_or(attempt.usage) });
    let used = charges.clone().fold(Usage::default(), |mut sum, charge| {
        sum += charge.usage;
        sum
    });
    let cost = admission.charge(charges);
    pipeline.metrics.key_tokens.add(&key.group, TokenKind::Prompt, used.prompt_tokens);
    pipeline.metrics.key_tokens.add(&key.group, TokenKind::Completion, used.completion_tokens);
    pipeline.metrics.key_cost.add(&key.group, cost);
}

/// The body of the answer to a request that is not served.
pub fn refusal_body(refused: &Refused) -> ErrorBody {
    ErrorBody {
        message: refused.message.clone(),
        kind: refused.limit.kind().to_owned(),
        param: (refused.limit == Limit::Model).then(|| "model".to_owned()),
        code: Some(refused.limit.code().to_owned()),
    }
}

/// Its header fields: when it is worth another try.
pub fn refusal_headers(refused: &Refused) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Some(seconds) = refused.retry_after_seconds() {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if refused.limit == Limit::Budget {
        // It is over in hours or days: clients would try in vain.
        forbid_retry(&mut headers);
    }
    headers
}
