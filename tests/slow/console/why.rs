//! The turn page answers "why did this turn go wrong" for each kind of fault and failure, although bodies are not
//! recorded: a browser opens the page of one turn per kind and searches for the sentence.

use callwright_telemetry::labels::{ExecutionOutcome, Label};
use callwright_test_macros::requires;
use callwright_types::outcome::CredentialFault;
use callwright_types::{ApprovalStatus, FaultCode, RefusalReason, Trace, TurnLimit, UpstreamFailureKind, Verdict};
use serde_json::{Value, json};

use super::seeded;
use super::{drive, script};
use crate::support::Server;
use crate::support::answer::text;

/// Returns the sentence about a fault at `/from` of a call of `bookRoom`.
const fn of_fault(code: FaultCode) -> &'static str {
    match code {
        FaultCode::NoCall => "no call could be parsed from it: the limit of tokens was reached within the call.",
        FaultCode::ToolNotRelevant => "The tool bookRoom exists, but another tool serves the request better.",
        FaultCode::ToolNameLiteral => "The name bookRoom differs from that of an offered tool only in case",
        FaultCode::ToolNameSemantic => {
            "There is no tool bookRoom. Its name is probably a misspelling of an offered one."
        }
        FaultCode::ToolUnknown => "There is no tool bookRoom, and no offered tool is similar.",
        FaultCode::ParameterOfOtherTool => "The parameter from belongs to another tool, not to bookRoom.",
        FaultCode::ParameterLiteral => "The name from differs from that of a parameter of bookRoom only in case",
        FaultCode::ParameterSemantic => "The tool bookRoom has no parameter from. One of its parameters has a similar",
        FaultCode::ParameterMissing => "The call of bookRoom lacks the required parameter from.",
        FaultCode::ParameterUnknown => "The tool bookRoom has no parameter from, and none is similar.",
        FaultCode::TypeMismatch => {
            "The value at from of the call of bookRoom has a type that the schema does not allow."
        }
        FaultCode::Constraint => "The value at from of the call of bookRoom violates a constraint of the schema",
        FaultCode::Placeholder => "The value at from of the call of bookRoom is a placeholder",
        FaultCode::WrongSource => "has to come from the result of an earlier call, and it differs from that result.",
        FaultCode::Circle => "The model made the same call of bookRoom for the third time, with the same result",
        FaultCode::RepeatedCall => "The model repeated the call of bookRoom with the same arguments",
        FaultCode::NoAnswer => "Tools were offered, and the answer has neither text nor a call.",
        FaultCode::CallAnnounced => "The answer announces a call and ends without one.",
    }
}

const fn of_upstream(kind: UpstreamFailureKind) -> &'static str {
    match kind {
        UpstreamFailureKind::Connect => "The connection to the upstream default failed: nothing was sent.",
        UpstreamFailureKind::Timeout => "The upstream default did not answer in time.",
        UpstreamFailureKind::Reset => "The connection to the upstream default broke after the request was sent.",
        UpstreamFailureKind::Refused => "The upstream default stated that it did not process the request.",
        UpstreamFailureKind::Unread => {
            "The upstream default had closed the connection before it could read the request."
        }
        UpstreamFailureKind::Malformed => "The response of the upstream default violates the protocol.",
        UpstreamFailureKind::Truncated => "The stream of the upstream default ended before its answer was complete.",
        UpstreamFailureKind::Busy => "the limit of concurrent requests to the upstream default is reached.",
        UpstreamFailureKind::CircuitOpen => "the circuit of the upstream default is open",
    }
}

/// Returns the sentence about an executed call; `None` for success and for labels that no trace has.
const fn of_outcome(outcome: ExecutionOutcome) -> Option<&'static str> {
    match outcome {
        ExecutionOutcome::ClientError => Some("The API refused the call of bookRoom with status 503."),
        ExecutionOutcome::ServerError => Some("The API failed at the call of bookRoom with status 503."),
        ExecutionOutcome::Redirected => {
            Some("The API redirected the call of bookRoom with status 503 to an address that")
        }
        ExecutionOutcome::Unreachable => Some("The API of bookRoom could not be reached: nothing was sent."),
        ExecutionOutcome::Unknown => Some("no response arrived. It is not known whether it took effect."),
        ExecutionOutcome::Refused => Some("The call of bookRoom was not sent."),
        ExecutionOutcome::Unapproved => Some("was not sent, because it requires a person's approval."),
        ExecutionOutcome::Success | ExecutionOutcome::Other => None,
    }
}

/// Returns the sentence about a limit; `None` for the label that no trace has.
const fn of_limit(limit: TurnLimit) -> Option<&'static str> {
    match limit {
        TurnLimit::StaticFeedback => Some("(limits.static_feedback)"),
        TurnLimit::DynamicFeedback => Some("(limits.dynamic_feedback)"),
        TurnLimit::UpstreamRequests => Some("The limit of requests to the model was reached"),
        TurnLimit::Tokens => Some("The limit of tokens of a turn was reached"),
        TurnLimit::Seconds => Some("The time limit of a turn was reached"),
        TurnLimit::Upstream => Some("A further request to the model failed"),
        TurnLimit::Judgement => Some("The time limit for the validation of one answer was reached."),
        TurnLimit::Other => None,
    }
}

/// Returns the sentence about a call without an approval.
const fn of_approval(status: ApprovalStatus) -> Option<&'static str> {
    match status {
        ApprovalStatus::Pending => Some("A person has not decided about the call yet."),
        ApprovalStatus::Denied => Some("A person denied the call."),
        ApprovalStatus::Expired => Some("No person decided in time, or the approved call was made too late."),
        ApprovalStatus::Withdrawn => Some("The turn ended before a person decided."),
        ApprovalStatus::Used => Some("The approval was used by an earlier execution."),
        ApprovalStatus::Approved => None,
    }
}

const fn of_credential(fault: CredentialFault) -> &'static str {
    match fault {
        CredentialFault::Missing => "A required credential of the toolset is not configured.",
        CredentialFault::Unavailable => "The configured credential of the toolset cannot be obtained.",
        CredentialFault::Refused => "The API rejected the credential of the toolset.",
    }
}

/// Returns the sentence about a call that was not sent.
const fn of_refusal(reason: RefusalReason) -> &'static str {
    match reason {
        RefusalReason::NoServer => "The document names no server, so that the operation has no usable address.",
        RefusalReason::AddressNotAllowed => "private, local or reserved, and the configuration does not allow it",
        RefusalReason::NoAddress => "The name of the API's host has no address.",
        RefusalReason::RedirectNotAllowed => "The API redirects to another server, to an invalid URL, or too often.",
        RefusalReason::PolicyDenied => "A rule of the policy denies the call, or no rule allows its method",
        RefusalReason::ApprovalPending => "A person has not decided about the call yet.",
        RefusalReason::ApprovalDenied => "A person denied the call.",
        RefusalReason::ApprovalExpired => "No person decided in time, or the approved call was made too late.",
        RefusalReason::ApprovalWithdrawn => "The turn ended before a person decided.",
        RefusalReason::ApprovalUsed => "The approval was used by an earlier execution.",
        RefusalReason::ApprovalUnavailable => "The call requires an approval that cannot be requested or used.",
        RefusalReason::CredentialMissing => "A required credential of the toolset is not configured.",
        RefusalReason::CredentialUnavailable => "The configured credential of the toolset cannot be obtained.",
        RefusalReason::InvalidArguments => "The arguments cannot be sent safely.",
        RefusalReason::NotChosen => "The request's tool_choice excludes the tool.",
        RefusalReason::CallLimit => "The turn has executed as many calls as the policy allows",
        RefusalReason::IntentNotStored => "The intent to execute a call with side effects could not be stored first.",
        RefusalReason::ToolRemoved => "The tool is no longer in the catalog.",
        RefusalReason::NotValidated => "The call was not validated against this operation.",
        RefusalReason::ClientGone => "The client disconnected before the call was sent.",
    }
}

/// Returns a turn for each kind, with the sentence that its page must have.
fn kinds() -> Vec<(Trace, &'static str)> {
    let mut kinds: Vec<(Trace, &str)> =
        FaultCode::ALL.map(|code| (seeded::faulty(code, "/from"), of_fault(code))).into();
    let failures = [
        UpstreamFailureKind::Connect,
        UpstreamFailureKind::Timeout,
        UpstreamFailureKind::Reset,
        UpstreamFailureKind::Refused,
        UpstreamFailureKind::Unread,
        UpstreamFailureKind::Malformed,
        UpstreamFailureKind::Truncated,
        UpstreamFailureKind::Busy,
        UpstreamFailureKind::CircuitOpen,
    ];
    kinds.extend(failures.map(|kind| (seeded::unanswered(kind), of_upstream(kind))));
    for &outcome in ExecutionOutcome::ALL {
        let turn = seeded::executed(seeded::execution("bookRoom", outcome.label(), Some(503)));
        kinds.extend(of_outcome(outcome).map(|sentence| (turn, sentence)));
    }
    for limit in TurnLimit::ALL {
        let exhausted = Some(limit);
        let turn = Trace { exhausted, ..seeded::turn(60, Verdict::Faulty) };
        kinds.extend(of_limit(limit).map(|sentence| (turn, sentence)));
    }
    for status in ApprovalStatus::ALL {
        kinds.extend(of_approval(status).map(|sentence| (seeded::unapproved(status), sentence)));
    }
    kinds.extend(RefusalReason::ALL.map(|reason| (seeded::refused(reason), of_refusal(reason))));
    kinds.push((seeded::refused(RefusalReason::NoServer), "What to do: add the address."));
    kinds.extend(CredentialFault::ALL.map(|fault| (seeded::uncredentialed(fault), of_credential(fault))));
    kinds.push((
        seeded::client_tool("error_member"),
        "The application's tool sendMail reported a failure, recognised by error_member.",
    ));
    let failed = Trace {
        error: Some("the request has no messages".to_owned()),
        status: 400,
        ..seeded::turn(60, Verdict::Unguarded)
    };
    kinds.push((failed, "The client got an error: the request has no messages"));
    kinds.push((seeded::turn(60, Verdict::Text), "Nothing went wrong in this turn."));
    kinds
}

/// Session of the turns of [`recorded`].
const SESSION: &str = "recorded";

/// Returns a turn of each protocol with recorded bodies, with its question.
fn recorded() -> Vec<(Trace, &'static str)> {
    let user = |content: Value| json!({"role": "user", "content": content});
    let blocks = json!([{"type": "text", "text": "Is Cyan free?"}]);
    let result = json!([{"type": "tool_result", "tool_use_id": "t", "content": "yes"}]);
    let items = json!([user(json!([{"type": "input_text", "text": "Is Blue free?"}])),
        {"type": "function_call_output", "call_id": "c", "output": "yes"}]);
    let message = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Responses: yes."}]});
    let turns = [
        (
            json!({"messages": [user(json!("Is Amber free?"))]}),
            json!({"choices": [{"message": {"role": "assistant", "content": "Chat: yes."}}]}),
            "Is Amber free?",
        ),
        (json!({"input": "Is Red free?"}), json!({"output": [{"type": "reasoning"}, message]}), "Is Red free?"),
        (json!({"input": items}), json!({"output": [message]}), "Is Blue free?"),
        (
            json!({"messages": [user(blocks), user(result)]}),
            json!({"content": [{"type": "thinking", "thinking": "..."}, {"type": "text", "text": "Messages: yes."}]}),
            "Is Cyan free?",
        ),
    ];
    let turn = |(request, answer, question)| {
        let turn = seeded::turn(60, Verdict::Text);
        (Trace { request: Some(request), answer: Some(answer), session: Some(SESSION.to_owned()), ..turn }, question)
    };
    turns.map(turn).into()
}

#[requires(chromium, python_clients)]
#[tokio::test(flavor = "multi_thread")]
async fn each_kind_of_failure_is_explained_in_words_without_bodies() {
    let upstream = Server::always(text("hi")).await;
    let (mut kinds, recorded) = (kinds(), recorded());
    let mut expected: Vec<_> = kinds.iter().map(|(trace, sentence)| json!([trace.id, sentence])).collect();
    let questions = recorded.iter();
    expected.extend(questions.map(|(trace, question)| json!([trace.id, "Nothing went wrong in this turn.", question])));
    kinds.extend(recorded);
    let proxy = seeded::proxy_with(&upstream, "", kinds.into_iter().map(|(trace, _)| trace).collect()).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kinds.json");
    std::fs::write(&file, serde_json::to_vec(&expected).unwrap()).unwrap();
    let mut command = script("console_why.py", &proxy);
    command.arg(file).arg(SESSION);
    drive(command).await;
}
