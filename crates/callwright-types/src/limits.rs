//! Limits of one turn.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// Placeholder of the trace's id in a message to users.
const TRACE: &str = "{trace}";

/// Text that users read if a turn ends at a limit without a usable answer: plain sentences by language.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LimitMessage {
    /// Language of the text if the request's `Accept-Language` names none that `texts` has.
    pub language: String,
    /// Texts by language tag (RFC 5646). `{trace}` is replaced by the id of the turn's trace.
    pub texts: BTreeMap<String, String>,
}

impl Default for LimitMessage {
    fn default() -> Self {
        let text = "I could not finish this request. Please try again, or contact support with the reference {trace}.";
        Self { language: "en".to_owned(), texts: BTreeMap::from([("en".to_owned(), text.to_owned())]) }
    }
}

impl LimitMessage {
    /// Returns the text for a request with this `Accept-Language` (RFC 9110 section 12.5.4).
    pub fn text(&self, accept_language: &str, trace_id: &str) -> String {
        let mut wanted: Vec<(f32, &str)> = accept_language.split(',').filter_map(weighted).collect();
        wanted.sort_by(|one, other| other.0.total_cmp(&one.0));
        let found =
            wanted.iter().find_map(|(_, tag)| self.of_language(tag)).or_else(|| self.of_language(&self.language));
        found.or_else(|| self.texts.values().next().map(String::as_str)).unwrap_or_default().replace(TRACE, trace_id)
    }

    /// Returns the text for a language tag, or for its language without region and script.
    fn of_language(&self, tag: &str) -> Option<&str> {
        let language = tag.split('-').next().unwrap_or_default();
        let find = |wanted: &str| self.texts.iter().find(|(known, _)| known.eq_ignore_ascii_case(wanted));
        find(tag).or_else(|| find(language)).map(|(_, text)| text.as_str())
    }
}

/// Splits a language range into its weight and its tag; `None` for one that is not acceptable.
fn weighted(range: &str) -> Option<(f32, &str)> {
    let mut parts = range.split(';').map(str::trim);
    let tag = parts.next()?;
    let weight = parts.find_map(|part| part.strip_prefix("q=")).map_or(Some(1.0), |weight| weight.parse().ok())?;
    (weight > 0.0 && !tag.is_empty()).then_some((weight, tag))
}

/// Limit that can end a turn. The names are policy keys under `limits`, values in traces, and metric labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum TurnLimit {
    /// Rounds of static feedback.
    StaticFeedback,
    /// Rounds of dynamic feedback.
    DynamicFeedback,
    /// Upstream requests.
    UpstreamRequests,
    /// Tokens.
    Tokens,
    /// Wall-clock time.
    Seconds,
    /// A repeated upstream request failed.
    Upstream,
    /// Time budget for the validation of one answer.
    Judgement,
    /// Any other limit, in a trace of another version.
    #[serde(other)]
    Other,
}

crate::labels!(TurnLimit);

/// Limits of one turn. Every number is a policy key under `limits`. The defaults are those of the papers where these
/// give one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Rounds of static feedback (AutoFeedback: 3): answers returned to the model because a scan found a fault.
    pub static_feedback: u32,
    /// Rounds of dynamic feedback (AutoFeedback: 2): failed outcomes returned to the model with an explanation.
    pub dynamic_feedback: u32,
    /// Upstream requests of a turn in total, including the first one.
    pub upstream_requests: u32,
    /// Tokens of a turn over all its attempts, as counted by the upstream; 0 means no limit.
    pub tokens: u64,
    /// Wall-clock seconds of a turn after which no new step starts.
    pub seconds: u64,
    /// Wall-clock seconds of a turn after which an upstream response in progress is aborted; 0 means no limit.
    pub total_seconds: u64,
    /// Calls of one answer that the proxy executes concurrently.
    pub parallel_calls: u32,
    /// Calls that the proxy executes in one turn in total.
    pub executed_calls: u32,
    /// Maximum depth of a plan, counted from a goal. The arguments of a call at this depth are not supplied by other
    /// calls.
    pub plan_depth: u32,
    /// Maximum number of calls in a plan.
    pub plan_calls: u32,
    /// Requests to the planning model per turn. They do not count towards `upstream_requests`.
    pub plan_requests: u32,
    /// Tokens of these requests and their responses per turn; an estimate if the provider does not report them.
    pub plan_tokens: u64,
    /// Message to users at a limit.
    pub message: LimitMessage,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            static_feedback: 3,
            dynamic_feedback: 2,
            upstream_requests: 16,
            tokens: 0,
            seconds: 300,
            total_seconds: 0,
            parallel_calls: 8,
            executed_calls: 100,
            plan_depth: 5,
            plan_calls: 16,
            plan_requests: 40,
            plan_tokens: 200_000,
            message: LimitMessage::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_has_an_accepted_language_or_the_policys_own() {
        let texts = [("en", "Sorry ({trace})."), ("de", "Leider nicht."), ("pt-BR", "Desculpe.")];
        let texts = texts.map(|(language, text)| (language.to_owned(), text.to_owned())).into();
        let message = LimitMessage { language: "en".to_owned(), texts };
        for (accepted, text) in [
            ("", "Sorry (t1)."),
            ("de", "Leider nicht."),
            ("de-AT, en;q=0.5", "Leider nicht."),
            ("en;q=0.5, DE;q=0.9", "Leider nicht."),
            ("fr, pt-br;q=0.3", "Desculpe."),
            ("pt", "Sorry (t1)."),
            ("de;q=0, *", "Sorry (t1)."),
            (";q=x,,;;", "Sorry (t1)."),
        ] {
            assert_eq!(message.text(accepted, "t1"), text, "{accepted}");
        }
    }
}
