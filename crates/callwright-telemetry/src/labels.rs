//! The values that labels may have. What is not an enumeration is bounded by [`KnownNames`].

use std::collections::HashSet;
use std::sync::Arc;

use arc_swap::ArcSwap;

use callwright_types::outcome::CredentialFault;
use callwright_types::{EvidenceKind, FaultCode, PlanResult, PrefixChange, RepairKind, UpstreamFailureKind, Verdict};

/// A closed set of label values.
pub trait Label: Copy + 'static {
    /// Every value; the place of a value here is its [`Label::index`].
    const ALL: &'static [Self];

    /// Place in [`Label::ALL`].
    fn index(self) -> usize;

    /// The value as Prometheus sees it.
    fn label(self) -> &'static str;
}

/// The label value of everything that is not known.
pub const OTHER: &str = "other";

/// An enumeration and its label values.
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
            /// The value of this label; `None` where there is none.
            pub fn of(label: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.label() == label)
            }
        }
    };
}

labels! {
    /// Where a request arrived, as a route template.
    Endpoint {
        /// Chat completions.
        ChatCompletions = "/v1/chat/completions",
        /// Chat completions behind Azure-style paths.
        Deployment = "/openai/deployments/{model}/chat/completions",
        /// The list of models.
        Models = "/v1/models",
        /// Verdicts on turns.
        Feedback = "/v1/feedback",
        /// Anything else under `/v1/`: passed through, not judged.
        PassThrough = "/v1/*",
        /// No route.
        Other = OTHER,
    }
}

labels! {
    /// What a cache holds.
    CacheName {
        /// Clients' lists of tools, parsed.
        ToolLists = "tool_lists",
        /// Lists of tools that are searched.
        SearchedTools = "searched_tools",
        /// Compiled JSON Schemas.
        Schemas = "schemas",
        /// Tools that sessions were offered.
        OfferedTools = "offered_tools",
        /// Lessons that messages were shown.
        Lessons = "lessons",
        /// Outlines that messages were shown.
        Outlines = "outlines",
        /// Tool messages that were looked at.
        ToolMessages = "tool_messages",
        /// Vectors of names.
        NameVectors = "name_vectors",
        /// Clients' tools that are searched for sources of arguments.
        ArgumentSources = "argument_sources",
    }
}

labels! {
    /// Which listener.
    Listener {
        /// The one that OpenAI clients speak to.
        Client = "client",
        /// The one for health, metrics, administration.
        Operator = "operator",
    }
}

labels! {
    /// Whether requests are in progress on a connection.
    ConnectionState {
        /// None is.
        Idle = "idle",
        /// At least one is.
        Active = "active",
    }
}

labels! {
    /// Why a connection was refused.
    RefusalReason {
        /// As many connections were open as are allowed.
        Limit = "limit",
        /// The process had no file descriptor left.
        Descriptors = "descriptors",
    }
}

labels! {
    /// Why the proxy closed a connection.
    CloseReason {
        /// The header section of a request did not arrive in time.
        HeaderTimeout = "header_timeout",
        /// The body of a request stopped arriving.
        BodyTimeout = "body_timeout",
        /// No request came for so long.
        Idle = "idle",
        /// The client did not acknowledge an HTTP/2 PING frame.
        PingTimeout = "ping_timeout",
    }
}

labels! {
    /// Why a request is refused before it is routed.
    RequestRefusal {
        /// `Host` is not one that the listener serves.
        Host = "host",
        /// A web page of another origin made it.
        Origin = "origin",
        /// Its path has no safe normal form, or is a disguise of a guarded one.
        Path = "path",
        /// It is to become a WebSocket.
        Upgrade = "upgrade",
    }
}

labels! {
    /// Why a TLS handshake came to nothing.
    HandshakeFailure {
        /// The client took too long.
        Timeout = "timeout",
        /// The client went away.
        Closed = "closed",
        /// The client refused what it was shown: it does not trust the certificate, or the name is another.
        Refused = "refused",
        /// The client's own certificate is absent or not good.
        ClientCertificate = "client_certificate",
        /// What came is no TLS, or none that both sides speak.
        Protocol = "protocol",
    }
}

labels! {
    /// What became of an OpenTelemetry span.
    SpanEnd {
        /// The collector took it.
        Exported = "exported",
        /// The queue was full.
        Dropped = "dropped",
        /// The collector did not take it.
        Failed = "failed",
    }
}

labels! {
    /// A stage of a turn, by which the proxy's own time is told apart.
    Stage {
        /// Request → turn.
        Open = "open",
        /// Which tools are offered.
        Offer = "offer",
        /// A plan is drawn, or gone on with: our part of it.
        Plan = "plan",
        /// The upstream request is made.
        Compose = "compose",
        /// The client's tool messages are read, failures in them explained.
        Observe = "observe",
        /// Lessons are looked up.
        Recall = "recall",
        /// The proxy's part of earlier answers is put back.
        Rejoin = "rejoin",
        /// The upstream is asked: our part of it.
        Ask = "ask",
        /// The answer is repaired and scanned.
        Judge = "judge",
        /// Diagnoses become messages.
        FeedBack = "feed_back",
        /// Calls are executed: our part of it.
        Run = "run",
        /// Failed outcomes are explained.
        Explain = "explain",
        /// The proxy's part of an answer is kept.
        Keep = "keep",
        /// The answer is written.
        Answer = "answer",
        /// What may be learned from the turn is gathered, once the client has its answer.
        Gather = "gather",
        /// The trace is handed over.
        Record = "record",
        /// The whole turn: all its time that was neither an upstream's nor a tool API's.
        Turn = "turn",
    }
}

labels! {
    /// What became of an upstream request.
    AttemptOutcome {
        /// An answer with a status below 400.
        Success = "success",
        /// An answer with an error status.
        HttpError = "http_error",
        /// No connection.
        Connect = UpstreamFailureKind::Connect.label(),
        /// Silence.
        Timeout = UpstreamFailureKind::Timeout.label(),
        /// The connection broke.
        Reset = UpstreamFailureKind::Reset.label(),
        /// Not what the protocol promises.
        Malformed = UpstreamFailureKind::Malformed.label(),
        /// The stream ended too early.
        Truncated = UpstreamFailureKind::Truncated.label(),
        /// Not sent: too many requests were under way.
        Busy = UpstreamFailureKind::Busy.label(),
        /// Not sent: the upstream failed too often lately.
        CircuitOpen = UpstreamFailureKind::CircuitOpen.label(),
        /// Something else, such as a client that went away.
        Other = OTHER,
    }
}

labels! {
    /// Why a streamed text that was held as a possible call is held no longer.
    HoldEnd {
        /// It turned out to be text.
        Text = "text",
        /// The answer ended, and was judged.
        Judged = "judged",
        /// More was to be held than is allowed.
        Bytes = "bytes",
        /// It was held as long as is allowed.
        Time = "time",
        /// The answer calls in another way.
        NativeCall = "native_call",
    }
}

labels! {
    /// What is remembered.
    MemoryKind {
        /// A lesson of the notebook.
        Lesson = "lesson",
        /// A procedure.
        Procedure = "procedure",
    }
}

labels! {
    /// The jobs beside the turns.
    LearningJob {
        /// Lessons and procedures are made of what was verified.
        Learn = "learn",
        /// A model words lessons.
        Word = "word",
    }
}

labels! {
    /// What came of a run of a learning job.
    LearningRun {
        /// Something was learned or counted, and is stored.
        Learned = "learned",
        /// There was nothing to learn.
        Idle = "idle",
        /// Another replica does the job.
        Elsewhere = "elsewhere",
        /// The store could not be read or written, or the model did not answer; what was to be learned is still there.
        Failed = "failed",
    }
}

labels! {
    /// What became of a request with a virtual key.
    KeyResult {
        /// It was taken in.
        Admitted = "admitted",
        /// No key was sent, or none that is known.
        Denied = "denied",
        /// Too many requests within a minute.
        LimitedRequests = "limited_requests",
        /// Too many tokens within a minute.
        LimitedTokens = "limited_tokens",
        /// Too many requests at a time.
        LimitedConcurrent = "limited_concurrent",
        /// The budget is used up.
        LimitedBudget = "limited_budget",
        /// The key may not use the model.
        RefusedModel = "refused_model",
        /// The key has a budget, and the model no price.
        RefusedPrice = "refused_price",
        /// The key is limited, and what it asked for is not counted.
        RefusedUnmetered = "refused_unmetered",
        /// The key may not have the path passed through.
        RefusedPath = "refused_path",
        /// None of these.
        Other = OTHER,
    }
}

impl KeyResult {
    /// That of a limit's label.
    pub fn of_limit(label: &str) -> Self {
        Self::of(label).unwrap_or(Self::Other)
    }
}

labels! {
    /// Why the upstream was asked.
    Purpose {
        /// The client's own request.
        First = "first",
        /// The scan found faults.
        StaticFeedback = "static_feedback",
        /// The model confirms that a text was meant as a call.
        Confirmation = "confirmation",
        /// Executed calls succeeded.
        ToolResults = "tool_results",
        /// Executed calls failed.
        DynamicFeedback = "dynamic_feedback",
        /// A last word without calls.
        Closing = "closing",
        /// A plan is drawn.
        Plan = "plan",
        /// An outline is made of procedures that were learned.
        Procedure = "procedure",
        /// A lesson is worded; no turn is charged.
        Note = "note",
        /// None of these.
        Other = OTHER,
    }
}

labels! {
    /// What a token was used for.
    TokenKind {
        /// The request.
        Prompt = "prompt",
        /// The answer.
        Completion = "completion",
    }
}

labels! {
    /// The kinds of feedback.
    FeedbackKind {
        /// About what a scan found.
        Static = "static",
        /// About what an API answered.
        Dynamic = "dynamic",
    }
}

labels! {
    /// Result for an answer that may be a call or about one.
    UnsureResult {
        /// The model confirmed that it meant to call.
        Confirmed = "confirmed",
        /// The model was requested to confirm, and did not call.
        Declined = "declined",
        /// The model was not requested: policy or a limit leaves the text as it is.
        Text = "text",
    }
}

labels! {
    /// Why an answer was not judged.
    UnjudgedReason {
        /// Judging its native calls took longer than `scanner.max_judgement_milliseconds`.
        CallsTime = "calls_time",
        /// Looking for calls in its text took longer than that.
        TextTime = "text_time",
    }
}

labels! {
    /// What ended a turn before its answer was right.
    Exhausted {
        /// Rounds of static feedback.
        StaticFeedback = "static_feedback",
        /// Rounds of dynamic feedback.
        DynamicFeedback = "dynamic_feedback",
        /// Upstream requests.
        UpstreamRequests = "upstream_requests",
        /// Tokens.
        Tokens = "tokens",
        /// Time.
        Seconds = "seconds",
        /// The upstream failed when it was asked again.
        Upstream = "upstream",
        /// The time that judging one answer may take.
        Judgement = "judgement",
        /// None of these.
        Other = OTHER,
    }
}

labels! {
    /// What executing a call gave.
    ExecutionOutcome {
        /// A status below 400.
        Success = "success",
        /// A status of 400 to 499.
        ClientError = "client_error",
        /// A status of 500 or more.
        ServerError = "server_error",
        /// Nothing reached the API.
        Unreachable = "unreachable",
        /// Sent, and no answer came.
        Unknown = "unknown",
        /// Not sent: a rule forbids it.
        Refused = "refused",
        /// Not sent: a person would have to approve it.
        Unapproved = "unapproved",
        /// None of these.
        Other = OTHER,
    }
}

labels! {
    /// What became of a call that a person was asked about.
    Decision {
        /// It may be executed.
        Approved = "approved",
        /// It may not.
        Denied = "denied",
        /// Nobody decided in time.
        Expired = "expired",
        /// The turn that waited for it ended before.
        Withdrawn = "withdrawn",
    }
}

labels! {
    /// How far the proxy might go with a turn.
    TurnMode {
        /// Answers were judged, repaired, sent back.
        Guard = "guard",
        /// Nothing was changed: verdicts say what would have been.
        Shadow = "shadow",
        /// Passed through.
        Off = "off",
    }
}

labels! {
    /// How an operation ended.
    ResultLabel {
        /// Well.
        Success = "success",
        /// Not well; what was in force stays.
        Failure = "failure",
    }
}

labels! {
    /// What became of an operation of a document.
    OperationState {
        /// It is a tool.
        Loaded = "loaded",
        /// It could not be made one.
        Skipped = "skipped",
    }
}

/// The label values of a noun of `domain`.
macro_rules! domain_labels {
    ($name:ident, $label:ident) => {
        impl Label for $name {
            const ALL: &'static [Self] = &$name::ALL;

            fn index(self) -> usize {
                self as usize
            }

            fn label(self) -> &'static str {
                $name::$label(self)
            }
        }
    };
}

domain_labels!(Verdict, label);
domain_labels!(PlanResult, label);
domain_labels!(EvidenceKind, label);
domain_labels!(FaultCode, code);
domain_labels!(RepairKind, label);
domain_labels!(CredentialFault, label);
domain_labels!(PrefixChange, label);

impl Label for bool {
    const ALL: &'static [Self] = &[false, true];

    fn index(self) -> usize {
        usize::from(self)
    }

    fn label(self) -> &'static str {
        if self { "true" } else { "false" }
    }
}

/// Most names of one kind that get series of their own. A label value costs memory here and in Prometheus for as long as
/// the process lives.
pub const MAX_KNOWN_NAMES: usize = 1_000;

/// Models that get series of their own: the first of which an upstream of the configuration gave an answer.
pub const MAX_MODELS: usize = 100;

/// Notations of calls written as text that get series of their own.
pub const MAX_NOTATIONS: usize = 64;

/// Tools of clients that get series of their own: the first that were offered and called. They take no more places than these from
/// the tools of documents.
pub const MAX_CLIENT_TOOLS: usize = 200;

/// Bytes of a name that is learned from use.
const MAX_LEARNED_BYTES: usize = 128;

/// The names that have series of their own: those that the operator's configuration made known, and the first that were learned from
/// use; whatever else a client or a model says is [`OTHER`].
#[derive(Debug, Default)]
pub struct KnownNames(ArcSwap<HashSet<Box<str>>>);

impl KnownNames {
    /// Makes names known, as long as there are fewer than [`MAX_KNOWN_NAMES`]. A name stays known: its series exist.
    pub fn add<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        let mut known = HashSet::clone(&self.0.load());
        for name in names {
            if known.len() < MAX_KNOWN_NAMES {
                known.insert(name.into());
            }
        }
        self.0.store(Arc::new(known));
    }

    /// Makes a name known that was met in use, where it is printable ASCII and fewer than `most` names are known; returns whether it is
    /// new.
    pub fn learn(&self, name: &str, most: usize) -> bool {
        let known = self.0.load();
        let is_name = (1..=MAX_LEARNED_BYTES).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic());
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

    /// The name itself where it is known, else [`OTHER`].
    pub fn label<'a>(&self, name: &'a str) -> &'a str {
        if self.0.load().contains(name) { name } else { OTHER }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callwright_types::Outcome;

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
        check::<Stage>();
        check::<AttemptOutcome>();
        check::<HoldEnd>();
        check::<KeyResult>();
        check::<Purpose>();
        check::<Exhausted>();
        check::<UnjudgedReason>();
        check::<ExecutionOutcome>();
        check::<Decision>();
        check::<TurnMode>();
        check::<Verdict>();
        check::<FaultCode>();
        check::<RepairKind>();
        check::<CredentialFault>();
        check::<PrefixChange>();
        check::<bool>();
    }

    #[test]
    fn outcomes_of_calls_have_a_label_here() {
        let reason = String::new();
        for outcome in [
            Outcome::Unreachable { reason: reason.clone() },
            Outcome::Unknown { reason: reason.clone() },
            Outcome::Refused { reason },
        ] {
            assert!(ExecutionOutcome::of(outcome.label()).is_some(), "{}", outcome.label());
        }
    }

    #[test]
    fn no_more_names_become_known_than_the_bound() {
        let names: Vec<String> = (0..2 * MAX_KNOWN_NAMES).map(|number| format!("tool_{number}")).collect();
        let known = KnownNames::default();
        known.add(names.iter().map(String::as_str));
        assert_eq!(names.iter().filter(|name| known.label(name) != OTHER).count(), MAX_KNOWN_NAMES);
    }
}
