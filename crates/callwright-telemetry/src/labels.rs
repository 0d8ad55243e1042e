//! Label values. Values that are not enumerations are limited by [`KnownNames`].

use std::collections::HashSet;
use std::sync::Arc;

use arc_swap::ArcSwap;

use callwright_common::limits::{NAME_LENGTH, REMEMBERED};
pub use callwright_types::Label;
use callwright_types::UpstreamFailureKind;

/// Label value of everything unknown.
pub const OTHER: &str = "other";

/// Defines an enumeration and its label values.
macro_rules! labels {
    ($(#[$doc:meta])+ $name:ident { $($(#[$value_doc:meta])+ $value:ident = $label:expr),+ $(,)? }) => {
        $(#[$doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$value_doc])+ $value),+ }

        impl Label for $name {
            const ALL: &'static [Self] = &[$(Self::$value),+];

            fn index(self) -> usize {
                self as usize
            }

            fn label(self) -> &'static str {
                match self { $(Self::$value => $label),+ }
            }
        }

        impl $name {
            /// Returns the value with this label; `None` if there is none.
            pub fn of(label: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.label() == label)
            }
        }
    };
}

labels! {
    /// Endpoint of a request, as a route template.
    Endpoint {
        /// Chat completions.
        ChatCompletions = "/v1/chat/completions",
        /// Chat completions behind Azure-style paths.
        Deployment = "/openai/deployments/{model}/chat/completions",
        /// Responses.
        Responses = "/v1/responses",
        /// Messages.
        Messages = "/v1/messages",
        /// The list of models.
        Models = "/v1/models",
        /// Verdicts on turns.
        Feedback = "/v1/feedback",
        /// Any other path under `/v1/`: passed through, not evaluated.
        PassThrough = "/v1/*",
        /// No matching route.
        Other = OTHER,
    }
}

labels! {
    /// Content of a cache.
    CacheName {
        /// Parsed tool lists of clients.
        ToolLists = "tool_lists",
        /// Tool lists that are searched.
        SearchedTools = "searched_tools",
        /// Compiled JSON Schemas.
        Schemas = "schemas",
        /// Tools offered in sessions.
        OfferedTools = "offered_tools",
        /// Lessons shown with messages.
        Lessons = "lessons",
        /// Outlines shown with messages.
        Outlines = "outlines",
        /// Examined tool messages.
        ToolMessages = "tool_messages",
        /// Embeddings of names.
        NameVectors = "name_vectors",
        /// Clients' tools that are searched for sources of arguments.
        ArgumentSources = "argument_sources",
    }
}

labels! {
    /// A listener.
    Listener {
        /// Listener for OpenAI clients.
        Client = "client",
        /// Listener for health, metrics and administration.
        Operator = "operator",
    }
}

labels! {
    /// State of a connection by its requests.
    ConnectionState {
        /// No request is in progress.
        Idle = "idle",
        /// At least one request is in progress.
        Active = "active",
    }
}

labels! {
    /// Reason for refusing a connection.
    ConnectionRefusal {
        /// The limit of open connections is reached.
        Limit = "limit",
        /// The process has no free file descriptor.
        Descriptors = "descriptors",
    }
}

labels! {
    /// Reason for closing a connection.
    CloseReason {
        /// The header section of a request did not arrive in time.
        HeaderTimeout = "header_timeout",
        /// The body of a request stopped arriving.
        BodyTimeout = "body_timeout",
        /// The body of a request arrived too slowly.
        BodyTooSlow = "body_too_slow",
        /// The client read nothing of a response for too long. One of several responses of an HTTP/2 connection counts too.
        SlowReader = "slow_reader",
        /// No request arrived within the idle timeout.
        Idle = "idle",
        /// The client did not acknowledge an HTTP/2 PING frame.
        PingTimeout = "ping_timeout",
    }
}

labels! {
    /// Reason for rejecting a request before routing.
    RequestRefusal {
        /// `Host` is not one that the listener serves.
        Host = "host",
        /// A web page of another origin sent the request.
        Origin = "origin",
        /// The path has no safe normal form, or is an obfuscated form of a guarded one.
        Path = "path",
        /// The request is a WebSocket upgrade.
        Upgrade = "upgrade",
        /// The proxy itself sent the request, because the address of an upstream leads back to it.
        Loop = "loop",
    }
}

labels! {
    /// Reason for a failed TLS handshake.
    HandshakeFailure {
        /// The handshake timed out.
        Timeout = "timeout",
        /// The client disconnected.
        Closed = "closed",
        /// The client rejected the server certificate: it does not trust it, or the name differs.
        Refused = "refused",
        /// The client certificate is missing or invalid.
        ClientCertificate = "client_certificate",
        /// The data is not TLS, or there is no common version.
        Protocol = "protocol",
    }
}

labels! {
    /// Result of exporting an OpenTelemetry span.
    SpanEnd {
        /// The collector accepted it.
        Exported = "exported",
        /// The queue was full.
        Dropped = "dropped",
        /// The collector did not accept it.
        Failed = "failed",
    }
}

labels! {
    /// Result of a notification of an approval.
    WebhookEnd {
        /// The receiver accepted it.
        Delivered = "delivered",
        /// The queue was full.
        Dropped = "dropped",
        /// The receiver did not accept it.
        Failed = "failed",
    }
}

labels! {
    /// A stage of a turn, for which the proxy's own time is measured.
    Stage {
        /// Conversion of the request to a turn.
        Open = "open",
        /// Selection of the offered tools.
        Offer = "offer",
        /// Drawing or continuation of a plan: the proxy's own work.
        Plan = "plan",
        /// Composition of the upstream request.
        Compose = "compose",
        /// Analysis of the client's tool messages, and explanation of failures in them.
        Observe = "observe",
        /// Look-up of lessons.
        Recall = "recall",
        /// Restoration of the proxy's part of earlier answers.
        Rejoin = "rejoin",
        /// Upstream request: the proxy's own work.
        Ask = "ask",
        /// Repair and scan of the answer.
        Judge = "judge",
        /// Conversion of diagnoses to messages.
        FeedBack = "feed_back",
        /// Execution of calls: the proxy's own work.
        Run = "run",
        /// Explanation of failed outcomes.
        Explain = "explain",
        /// Storage of the proxy's part of an answer.
        Keep = "keep",
        /// Writing of the response.
        Answer = "answer",
        /// Collection of what may be learned from the turn, after the client has its response.
        Gather = "gather",
        /// Handover of the trace.
        Record = "record",
        /// The whole turn: all time spent neither in an upstream nor in a tool API.
        Turn = "turn",
    }
}

labels! {
    /// Outcome of an upstream request.
    AttemptOutcome {
        /// A response with a status below 400.
        Success = "success",
        /// A response with an error status.
        HttpError = "http_error",
        /// The connection failed.
        Connect = UpstreamFailureKind::Connect.label(),
        /// A timeout.
        Timeout = UpstreamFailureKind::Timeout.label(),
        /// The connection broke.
        Reset = UpstreamFailureKind::Reset.label(),
        /// The server stated that it did not process the request.
        Refused = UpstreamFailureKind::Refused.label(),
        /// The server had closed the idle connection before.
        Unread = UpstreamFailureKind::Unread.label(),
        /// A protocol violation.
        Malformed = UpstreamFailureKind::Malformed.label(),
        /// The stream ended prematurely.
        Truncated = UpstreamFailureKind::Truncated.label(),
        /// Not sent: too many requests were in flight.
        Busy = UpstreamFailureKind::Busy.label(),
        /// Not sent: the circuit is open because the upstream failed too often recently.
        CircuitOpen = UpstreamFailureKind::CircuitOpen.label(),
        /// Any other outcome, such as a client that disconnected.
        Other = OTHER,
    }
}

labels! {
    /// Reason for releasing streamed text that was held as a possible call.
    HoldEnd {
        /// The text turned out not to be a call.
        Text = "text",
        /// The answer ended and was evaluated.
        Judged = "judged",
        /// The size limit of held text was reached.
        Bytes = "bytes",
        /// The time limit of held text was reached.
        Time = "time",
        /// The answer contains a native call.
        NativeCall = "native_call",
    }
}

labels! {
    /// Kind of memory.
    MemoryKind {
        /// A lesson of the lesson_store.
        Lesson = "lesson",
        /// A procedure.
        Procedure = "procedure",
    }
}

labels! {
    /// Background learning jobs.
    LearningJob {
        /// Creates lessons and procedures from verified outcomes.
        Learn = "learn",
        /// Rewrites lessons with a model.
        Word = "word",
    }
}

labels! {
    /// Result of a run of a learning job.
    LearningRun {
        /// Something was learned or counted, and stored.
        Learned = "learned",
        /// There was nothing to learn.
        Idle = "idle",
        /// Another replica runs the job.
        Elsewhere = "elsewhere",
        /// The store could not be read or written, or the model did not answer. The input is kept for a later run.
        Failed = "failed",
    }
}

labels! {
    /// Result of a request with a virtual key.
    KeyResult {
        /// The request was admitted.
        Admitted = "admitted",
        /// The key is missing or unknown.
        Denied = "denied",
        /// Too many requests per minute.
        LimitedRequests = "limited_requests",
        /// Too many tokens per minute.
        LimitedTokens = "limited_tokens",
        /// Too many concurrent requests.
        LimitedConcurrent = "limited_concurrent",
        /// The budget is used up.
        LimitedBudget = "limited_budget",
        /// The key may not use the model.
        RefusedModel = "refused_model",
        /// The key has a budget, and the model has no price.
        RefusedPrice = "refused_price",
        /// The key is limited, and the requested endpoint is not metered.
        RefusedUnmetered = "refused_unmetered",
        /// The key may not use the pass-through path.
        RefusedPath = "refused_path",
        /// The request names an object of the provider that the key may not use.
        RefusedObject = "refused_object",
        /// Any other result.
        Other = OTHER,
    }
}

impl KeyResult {
    /// Returns the result for a limit's label.
    pub fn of_limit(label: &str) -> Self {
        Self::of(label).unwrap_or(Self::Other)
    }
}

labels! {
    /// Kind of token.
    TokenKind {
        /// Prompt token.
        Prompt = "prompt",
        /// Completion token.
        Completion = "completion",
    }
}

labels! {
    /// Kind of feedback.
    FeedbackKind {
        /// Feedback about the findings of a scan.
        Static = "static",
        /// Feedback about an API's response.
        Dynamic = "dynamic",
    }
}

labels! {
    /// Result for an answer that is either a call or a text about one.
    UnsureResult {
        /// The model confirmed that it meant a call.
        Confirmed = "confirmed",
        /// The model was requested to confirm, and made no call.
        Declined = "declined",
        /// The model was not requested to confirm: policy or a limit keeps the text.
        Text = "text",
    }
}

labels! {
    /// Outcome of executing a call.
    ExecutionOutcome {
        /// A status of 2xx, or 304.
        Success = "success",
        /// Another status of 3xx: a redirect that is not followed.
        Redirected = "redirected",
        /// A status of 400 to 499.
        ClientError = "client_error",
        /// A status of 500 or more.
        ServerError = "server_error",
        /// Nothing reached the API.
        Unreachable = "unreachable",
        /// The request was sent, and no response arrived.
        Unknown = "unknown",
        /// Not sent: a rule forbids it.
        Refused = "refused",
        /// Not sent: it requires a person's approval.
        Unapproved = "unapproved",
        /// Any other outcome.
        Other = OTHER,
    }
}

labels! {
    /// Decision on a call that requires approval.
    Decision {
        /// The call may be executed.
        Approved = "approved",
        /// The call must not be executed.
        Denied = "denied",
        /// No decision within the time limit.
        Expired = "expired",
        /// The turn that waited for the decision ended first.
        Withdrawn = "withdrawn",
    }
}

labels! {
    /// Result of an operation.
    ResultLabel {
        /// The operation succeeded.
        Success = "success",
        /// The operation failed; the previous state stays in use.
        Failure = "failure",
    }
}

labels! {
    /// State of a document's operation.
    OperationState {
        /// The operation is available as a tool.
        Loaded = "loaded",
        /// The operation could not be converted to a tool.
        Skipped = "skipped",
    }
}

/// Maximum number of models with their own series: the first with an answer from a configured upstream.
pub const MAX_MODELS: usize = 100;

/// Maximum number of clients' tools with their own series: the first that were offered and called. The limit protects
/// the places of the documents' tools.
pub const MAX_CLIENT_TOOLS: usize = 200;

/// The names with their own series: those from the operator's configuration, and the first ones learned from traffic.
/// Any other name of a client or a model is [`OTHER`].
#[derive(Debug, Default)]
pub struct KnownNames(ArcSwap<HashSet<Box<str>>>);

impl KnownNames {
    /// Adds names, up to [`REMEMBERED`] in total. A name is never removed, because its series exist.
    pub fn add<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        let mut known = HashSet::clone(&self.0.load());
        for name in names {
            if known.len() < REMEMBERED {
                known.insert(name.into());
            }
        }
        self.0.store(Arc::new(known));
    }

    /// Learns a name from traffic if it is printable ASCII and fewer than `most` names are known. Returns whether it is
    /// new.
    pub fn learn(&self, name: &str, most: usize) -> bool {
        let known = self.0.load();
        let is_name = (1..=NAME_LENGTH).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic());
        if known.len() >= most || known.contains(name) || !is_name {
            return false;
        }
        drop(known);
        let mut is_new = false;
        self.0.rcu(|known| {
            let mut more = HashSet::clone(known);
            is_new = more.len() < most && more.insert(name.into());
            Arc::new(more)
        });
        is_new
    }

    /// Returns the name if it is known, otherwise [`OTHER`].
    pub fn label<'a>(&self, name: &'a str) -> &'a str {
        if self.0.load().contains(name) { name } else { OTHER }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callwright_types::outcome::CredentialFault;
    use callwright_types::rules::Mode;
    use callwright_types::{
        FaultCode, Outcome, PrefixChange, Purpose, Refusal, RefusalReason, RepairKind, TurnAction, TurnLimit,
        TurnOutcome, UnjudgedReason, Verdict,
    };

    fn check<L: Label + PartialEq + std::fmt::Debug>() {
        let labels: HashSet<_> = L::ALL.iter().map(|value| value.label()).collect();
        assert_eq!(labels.len(), L::ALL.len(), "two values have one label");
        for (index, value) in L::ALL.iter().enumerate() {
            assert_eq!(value.index(), index, "{value:?}");
        }
    }

    #[test]
    fn every_value_knows_its_place_and_has_a_label_of_its_own() {
        check::<Endpoint>();
        check::<Listener>();
        check::<HandshakeFailure>();
        check::<SpanEnd>();
        check::<WebhookEnd>();
        check::<Stage>();
        check::<AttemptOutcome>();
        check::<HoldEnd>();
        check::<KeyResult>();
        check::<Purpose>();
        check::<TurnLimit>();
        check::<UnjudgedReason>();
        check::<ExecutionOutcome>();
        check::<Decision>();
        check::<Mode>();
        check::<Verdict>();
        check::<TurnOutcome>();
        check::<TurnAction>();
        check::<FaultCode>();
        check::<RepairKind>();
        check::<CredentialFault>();
        check::<RefusalReason>();
        check::<PrefixChange>();
        check::<bool>();
    }

    #[test]
    fn outcomes_of_calls_have_a_label_here() {
        let reason = String::new();
        for outcome in [
            Outcome::Unreachable { reason: reason.clone() },
            Outcome::Unknown { reason: reason.clone() },
            Outcome::Refused(Refusal::new(RefusalReason::NoServer, reason)),
        ] {
            assert!(ExecutionOutcome::of(outcome.label()).is_some(), "{}", outcome.label());
        }
    }

    #[test]
    fn no_more_names_become_known_than_the_bound() {
        let names: Vec<String> = (0..2 * REMEMBERED).map(|number| format!("tool_{number}")).collect();
        let known = KnownNames::default();
        known.add(names.iter().map(String::as_str));
        assert_eq!(names.iter().filter(|name| known.label(name) != OTHER).count(), REMEMBERED);
    }
}
