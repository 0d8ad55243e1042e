//! Conversations about faulty calls and their outcomes.

use callwright_types::trace::Enrichment;
use callwright_types::{FaultCode, RepairKind, Trace};

use super::super::client_tool::OwnTool;
use super::super::transcript::is_handed_over;
use super::{
    DemoConversation, all_ran, attempts, executions, has_diagnosis, has_repair, nothing_was_sent_back, succeeded,
};

/// Conversations about single calls; none of them requires a plan.
pub(super) static CONVERSATIONS: [DemoConversation; 7] = [
    DemoConversation {
        title: "A tool's name is mended",
        about: "The model writes the name with other separators. Only one tool can be meant, so the proxy renames it and \
                asks nobody.",
        model: "travel",
        question: "Where is Osaka Castle?",
        replies: &[],
        streams_with: None,
        is_planned: false,
        remembers: false,
        promise: |traces| {
            has_repair(traces, RepairKind::ToolRenamed) && nothing_was_sent_back(traces) && all_ran(traces, 1)
        },
    },
    DemoConversation {
        title: "A parameter is renamed and a value gets its type",
        about: "Numbers and booleans arrive as text, under names that are almost right. Nothing is lost by mending them, so \
                the model is not asked again.",
        model: "travel",
        question: "Show me at most 2 routes without tolls from 135.7588,34.9858 to 135.5258,34.6873 by car.",
        replies: &[],
        streams_with: None,
        is_planned: false,
        remembers: false,
        promise: |traces| {
            has_repair(traces, RepairKind::ParameterRenamed)
                && has_repair(traces, RepairKind::TypeCoerced)
                && nothing_was_sent_back(traces)
                && all_ran(traces, 1)
        },
    },
    DemoConversation {
        title: "A missing parameter is asked for",
        about: "A required parameter is left out, and no default stands in for it. The call never leaves the proxy: the \
                model is told what is missing, and calls again.",
        model: "office",
        question: "Which rooms seat 6 people on 2026-06-02?",
        replies: &[],
        streams_with: None,
        is_planned: false,
        remembers: false,
        promise: |traces| {
            has_diagnosis(traces, FaultCode::ParameterMissing)
                && attempts(traces).any(|attempt| attempt.purpose == "static_feedback")
                && all_ran(traces, 1)
        },
    },
    DemoConversation {
        title: "An API's error is explained by its own documentation",
        about: "The call is well-formed, yet the API answers with a bare code. The proxy finds the sentence of the \
                documentation that explains the code and hands both to the model.",
        model: "travel",
        question: "I stand at 34.9858, 135.7588. Plan a route by bike to 34.6873, 135.5258.",
        replies: &[],
        streams_with: None,
        is_planned: false,
        remembers: false,
        promise: |traces| {
            executions(traces).any(|execution| execution.explanation.as_ref().is_some_and(|found| found.is_hit()))
                && executions(traces).last().is_some_and(succeeded)
        },
    },
    DemoConversation {
        title: "A limit is reached, and a person takes over",
        about: "The user wants what the API does not have, and the model insists. After three rounds of feedback the proxy \
                stops, and hands over the record of what was tried.",
        model: "travel",
        question: "Plan a route by helicopter from 135.7588,34.9858 to 135.5258,34.6873.",
        replies: &[],
        streams_with: None,
        is_planned: false,
        remembers: false,
        promise: |traces| {
            traces.iter().any(|trace| is_handed_over(trace) && trace.record.len() > 1)
                && has_diagnosis(traces, FaultCode::Constraint)
                && executions(traces).next().is_none()
        },
    },
    DemoConversation {
        title: "The client's own tool, streamed",
        about: "The client brings the tool and runs it itself. Text flows as it comes; the call is held until it is whole, \
                mended, and then sent on as the client's SDK expects it.",
        model: "travel",
        question: "What will the weather be in Oslo for the next 3 days?",
        replies: &[],
        streams_with: Some(OwnTool::Weather),
        is_planned: false,
        remembers: false,
        promise: |traces| {
            traces.len() == 2
                && traces.iter().all(|trace| trace.stream)
                && has_repair(traces, RepairKind::ToolRenamed)
                && has_repair(traces, RepairKind::TypeCoerced)
                && nothing_was_sent_back(traces)
        },
    },
    DemoConversation {
        title: "The client's own tool fails, and the proxy explains it",
        about: "The client runs the tool itself and sends back what the API answered: a bare code. The proxy recognises the \
                failure and adds the sentence of the documentation below it, before the model sees it.",
        model: "travel",
        question: "My own planner shall find me a walk from 34.9858, 135.7588 to 34.6873, 135.5258.",
        replies: &[],
        streams_with: Some(OwnTool::Route),
        is_planned: false,
        remembers: false,
        promise: |traces| {
            let added = |trace: &Trace| trace.observed.iter().any(|seen| seen.done == Enrichment::Added && !seen.again);
            traces.len() == 3 && traces.iter().any(added) && executions(traces).next().is_none()
        },
    },
];
