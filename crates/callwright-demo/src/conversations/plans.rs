//! Conversations with requests that lack data: plans are drawn backward from the final call ("Reverse Chain", section
//! 3).

use callwright_types::{Call, ChosenBy, PlanResult, Trace};

use super::super::client_tool::OwnTool;
use super::{DemoConversation, all_ran};

/// Conversations that follow a plan.
pub(super) static CONVERSATIONS: [DemoConversation; 5] = [
    DemoConversation {
        title: "A plan: a room for Jack",
        about: "A booking wants two ids that nobody said. Before the model is asked for an answer, two small questions are put to it: \
                which call is the last one, and where does each of its arguments come from? The plan then speaks in its place. \
                Independent calls run at the same time; items of lists are chosen by what the user said or by the model.",
        model: "office",
        question: "Book a room for Jack on 2026-06-02 from 9 to 10.",
        replies: &[],
        streams_with: None,
        is_planned: true,
        remembers: false,
        promise: |traces| {
            results(traces) == [PlanResult::Complete]
                && all_ran(traces, 3)
                && was_chosen_by(traces, ChosenBy::Model)
                && booked(traces, "createBooking", &["p-52", "r-101"])
        },
    },
    DemoConversation {
        title: "A plan four calls deep: a flight for Lucas",
        about: "Where the trip goes and when is in yet another answer. The trip is the one that the user names, so nobody has to be \
                asked for it.",
        model: "flights",
        question: "I am Lucas. Book me the cheapest flight from Oslo for my trip to the trade fair.",
        replies: &[],
        streams_with: None,
        is_planned: true,
        remembers: false,
        promise: |traces| {
            results(traces) == [PlanResult::Complete]
                && all_ran(traces, 4)
                && was_chosen_by(traces, ChosenBy::Said)
                && booked(traces, "bookFlight", &["f-327", "t-61"])
        },
    },
    DemoConversation {
        title: "A plan lacks something, and the user is asked once",
        about: "Two calls need to know until when. The user is asked one question, nothing is called before it is answered, and only \
                what was missing is drawn anew.",
        model: "office",
        question: "Book a room for Jack on 2026-06-03 from 14:00.",
        replies: &["Until 15:30, please."],
        streams_with: None,
        is_planned: true,
        remembers: false,
        promise: |traces| {
            results(traces) == [PlanResult::Asked, PlanResult::Complete]
                && traces.first().is_some_and(|trace| trace.executions.is_empty())
                && all_ran(traces, 3)
                && booked(traces, "createBooking", &["2026-06-03T14:00", "2026-06-03T15:30"])
        },
    },
    DemoConversation {
        title: "A plan with the client's own tools: a room for Jack",
        about: "The client brings the tools and runs them itself. The plan leaves as ordinary tool calls, as many at once as are ready; \
                when the client returns, the plan is found again by their ids.",
        model: "scripted",
        question: "Book a room for Jack on 2026-06-02 from 9 to 10.",
        replies: &[],
        streams_with: Some(OwnTool::Rooms),
        is_planned: true,
        remembers: false,
        promise: |traces| {
            results(traces) == [PlanResult::Handed, PlanResult::Handed, PlanResult::Complete]
                && all_ran(traces, 0)
                && booked(traces, "createBooking", &["p-52", "r-101"])
        },
    },
    DemoConversation {
        title: "A plan with the client's own tools: a flight for Lucas",
        about: "Nobody tells the proxy what a client's tool answers with but its description. Turn by turn the client gets the calls \
                that are ready, with values of what it sent back.",
        model: "scripted",
        question: "I am Lucas. Book me the cheapest flight from Oslo for my trip to the trade fair.",
        replies: &[],
        streams_with: Some(OwnTool::Flights),
        is_planned: true,
        remembers: false,
        promise: |traces| {
            let last = results(traces).pop();
            traces.len() == 5
                && last == Some(PlanResult::Complete)
                && all_ran(traces, 0)
                && booked(traces, "bookFlight", &["f-327", "t-61"])
        },
    },
];

/// Returns the plan results, turn by turn.
fn results(traces: &[Trace]) -> Vec<PlanResult> {
    traces.iter().filter_map(|trace| Some(trace.plan.as_ref()?.result)).collect()
}

fn was_chosen_by(traces: &[Trace], by: ChosenBy) -> bool {
    traces.iter().filter_map(|trace| trace.plan.as_ref()).flat_map(|plan| &plan.choices).any(|choice| choice.by == by)
}

/// Whether the last call of the plans is of this tool and contains these values.
fn booked(traces: &[Trace], tool: &str, values: &[&str]) -> bool {
    let steps = traces.iter().filter_map(|trace| trace.plan.as_ref()).flat_map(|plan| &plan.steps);
    let is_it = |call: &Call| call.name == tool && values.iter().all(|value| call.arguments.contains(value));
    steps.flat_map(|step| &step.calls).last().is_some_and(is_it)
}
