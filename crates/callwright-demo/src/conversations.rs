//! Catalogue of the conversations and of the behaviour that each must show. Owns their texts and checks. Must not send
//! requests: `play` does.

use callwright_types::trace::{Attempt, Enrichment, Execution};
use callwright_types::{ChosenBy, FaultCode, PlanNote, PlanResult, Purpose, RepairKind, Trace};

use super::client_tool::OwnTool;
use super::transcript::is_handed_over;

#[derive(Debug)]
pub(super) struct DemoConversation {
    pub(super) title: &'static str,
    /// Explanation for the reader of the transcript.
    pub(super) about: &'static str,
    /// Requested model alias.
    pub(super) model: &'static str,
    /// First user message.
    pub(super) question: &'static str,
    /// Further user messages, each sent after the previous answer.
    pub(super) replies: &'static [&'static str],
    /// Tools that the client offers and runs itself, if any; it requests a stream then.
    pub(super) streams_with: Option<OwnTool>,
    /// Whether a plan is drawn. If not, no plan may be drawn: a simple turn must not pay for planning.
    is_planned: bool,
    /// Whether it requires a lesson of an earlier conversation. It waits until a lesson exists.
    pub(super) remembers: bool,
    /// Expected behaviour.
    checks: &'static [ConversationCheck],
    /// Texts of the right answer if the conversation is also held without the proxy. `Some` without texts: nothing
    /// fulfils the request, so that only a person can help.
    pub(super) right: Option<&'static [&'static str]>,
}

/// Expected behaviour of a conversation, by the traces of its turns.
#[derive(Debug)]
enum ConversationCheck {
    /// A call was repaired in this way.
    Repaired(RepairKind),
    /// This fault was found.
    Diagnosed(FaultCode),
    /// Nothing was sent back to the model.
    NothingSentBack,
    /// A fault was sent back to the model.
    SentBack,
    /// This many calls ran, all with success.
    Ran(usize),
    /// No call ran in the first turn.
    NothingRanAtFirst,
    /// A failed outcome was explained, and the last one was a success.
    Explained,
    /// A limit ended a turn with several rounds.
    HandedOver,
    /// There were this many turns.
    Turns(usize),
    /// All answers were streamed.
    Streamed,
    /// An explanation was added to a failure of the client's own tool.
    NoteAdded,
    /// A lesson was included in the request to the model.
    LessonRecalled,
    /// The plans had these results, turn by turn.
    Plans(&'static [PlanResult]),
    /// The last plan had this result.
    LastPlan(PlanResult),
    /// An item was chosen by this criterion.
    ChosenBy(ChosenBy),
    /// The last call of the plans is of this tool and contains these values.
    Booked(&'static str, &'static [&'static str]),
}

/// Common members of the conversations.
const BASE: DemoConversation = DemoConversation {
    title: "",
    about: "",
    model: "",
    question: "",
    replies: &[],
    streams_with: None,
    is_planned: false,
    remembers: false,
    checks: &[],
    right: None,
};

/// All conversations, in the order of the transcript: single calls, requests that lack data and follow a plan, which is
/// drawn backward from the final call ("Reverse Chain", section 3), and memory of earlier conversations.
pub(super) static CATALOGUE: [DemoConversation; 13] = [
    DemoConversation {
        title: "A tool name is repaired",
        about: "The model writes the name with other separators. Only one tool matches, so the proxy repairs the name \
        without another request to the model.",
        model: "travel",
        question: "Where is Osaka Castle?",
        checks: &[
            ConversationCheck::Repaired(RepairKind::ToolRenamed),
            ConversationCheck::NothingSentBack,
            ConversationCheck::Ran(1),
        ],
        right: Some(&["longitude 135.5258", "latitude 34.6873"]),
        ..BASE
    },
    DemoConversation {
        title: "A parameter name and a type are repaired",
        about: "Numbers and booleans arrive as strings, under names that are almost correct. The repair is lossless and needs \
        no further request to the model.",
        model: "travel",
        question: "Show me at most 2 routes without tolls from 135.7588,34.9858 to 135.5258,34.6873 by car.",
        checks: &[
            ConversationCheck::Repaired(RepairKind::ParameterRenamed),
            ConversationCheck::Repaired(RepairKind::TypeCoerced),
            ConversationCheck::NothingSentBack,
            ConversationCheck::Ran(1),
        ],
        right: Some(&["There are 2 routes", "54.2 km", "65.6 km"]),
        ..BASE
    },
    DemoConversation {
        title: "A missing parameter is sent back to the model",
        about: "A required parameter without a default is missing. The call does not leave the proxy: the model gets feedback \
        that names the parameter, and calls again.",
        model: "office",
        question: "Which rooms seat 6 people on 2026-06-02?",
        checks: &[
            ConversationCheck::Diagnosed(FaultCode::ParameterMissing),
            ConversationCheck::SentBack,
            ConversationCheck::Ran(1),
        ],
        right: Some(&["Fjord (8 seats)", "Horizon (20 seats)"]),
        ..BASE
    },
    DemoConversation {
        title: "An API's error is explained by its own documentation",
        about: "The call is well-formed, yet the API answers with a bare code. The proxy finds the sentence of the \
        documentation that explains the code, and sends both to the model.",
        model: "travel",
        question: "I stand at 34.9858, 135.7588. Plan a route by bike to 34.6873, 135.5258.",
        checks: &[ConversationCheck::Explained],
        right: Some(&["49.3 km"]),
        ..BASE
    },
    DemoConversation {
        title: "A limit is reached, and a person takes over",
        about: "The user requests an unsupported mode, and the model repeats its call. After three feedback rounds the proxy \
        stops and returns a record of the attempts.",
        model: "travel",
        question: "Plan a route by helicopter from 135.7588,34.9858 to 135.5258,34.6873.",
        checks: &[
            ConversationCheck::HandedOver,
            ConversationCheck::Diagnosed(FaultCode::Constraint),
            ConversationCheck::Ran(0),
        ],
        right: Some(&[]),
        ..BASE
    },
    DemoConversation {
        title: "The client's own tool, streamed",
        about: "The client brings the tool and runs it itself. The proxy streams text at once, holds the call until it is \
        complete, repairs it, and sends it in the format that the client's SDK expects.",
        model: "travel",
        question: "What will the weather be in Oslo for the next 3 days?",
        streams_with: Some(OwnTool::Weather),
        checks: &[
            ConversationCheck::Turns(2),
            ConversationCheck::Streamed,
            ConversationCheck::Repaired(RepairKind::ToolRenamed),
            ConversationCheck::Repaired(RepairKind::TypeCoerced),
            ConversationCheck::NothingSentBack,
        ],
        ..BASE
    },
    DemoConversation {
        title: "The client's own tool fails, and the proxy explains the failure",
        about: "The client runs the tool itself and sends back the API's answer: a bare code. The proxy recognises the failure \
        and adds the sentence of the documentation that explains it, before the model sees it.",
        model: "travel",
        question: "My own planner shall find me a walk from 34.9858, 135.7588 to 34.6873, 135.5258.",
        streams_with: Some(OwnTool::Route),
        checks: &[ConversationCheck::Turns(3), ConversationCheck::NoteAdded, ConversationCheck::Ran(0)],
        ..BASE
    },
    DemoConversation {
        title: "A plan: a room for Jack",
        about: "A booking needs two ids that the user did not give. Two small requests to a model draw a plan: which call is \
        the goal, and where does each argument come from? The plan then makes the calls in place of the model. Independent \
        calls run concurrently; list items are chosen by the user's words or by the model.",
        model: "office",
        question: "Book a room for Jack on 2026-06-02 from 9 to 10.",
        is_planned: true,
        checks: &[
            ConversationCheck::Plans(&[PlanResult::Complete]),
            ConversationCheck::Ran(3),
            ConversationCheck::ChosenBy(ChosenBy::Model),
            ConversationCheck::Booked("createBooking", &["p-52", "r-101"]),
        ],
        ..BASE
    },
    DemoConversation {
        title: "A plan four calls deep: a flight for Lucas",
        about: "The destination and the date are in the answer of another call. The user named the trip, so no question is \
        needed.",
        model: "flights",
        question: "I am Lucas. Book me the cheapest flight from Oslo for my trip to the trade fair.",
        is_planned: true,
        checks: &[
            ConversationCheck::Plans(&[PlanResult::Complete]),
            ConversationCheck::Ran(4),
            ConversationCheck::ChosenBy(ChosenBy::Said),
            ConversationCheck::Booked("bookFlight", &["f-327", "t-61"]),
        ],
        ..BASE
    },
    DemoConversation {
        title: "A plan lacks a value, and the user gets one question",
        about: "Two calls need the end time. The user gets one question, and no call runs before the answer. Then only the \
        affected part of the plan is drawn again.",
        model: "office",
        question: "Book a room for Jack on 2026-06-03 from 14:00.",
        replies: &["Until 15:30, please."],
        is_planned: true,
        checks: &[
            ConversationCheck::Plans(&[PlanResult::Asked, PlanResult::Complete]),
            ConversationCheck::NothingRanAtFirst,
            ConversationCheck::Ran(3),
            ConversationCheck::Booked("createBooking", &["2026-06-03T14:00", "2026-06-03T15:30"]),
        ],
        ..BASE
    },
    DemoConversation {
        title: "A plan with the client's own tools: a room for Jack",
        about: "The client brings the tools and runs them itself. The proxy sends the plan as ordinary tool calls, all that are \
        ready at once, and resumes it by their ids when the client returns.",
        model: "scripted",
        question: "Book a room for Jack on 2026-06-02 from 9 to 10.",
        streams_with: Some(OwnTool::Rooms),
        is_planned: true,
        checks: &[
            ConversationCheck::Plans(&[PlanResult::Handed, PlanResult::Handed, PlanResult::Complete]),
            ConversationCheck::Ran(0),
            ConversationCheck::Booked("createBooking", &["p-52", "r-101"]),
        ],
        ..BASE
    },
    DemoConversation {
        title: "A plan with the client's own tools: a flight for Lucas",
        about: "The proxy knows the answers of the client's tools only from their descriptions. In each turn the client gets the \
        calls that are ready, with values from its earlier results.",
        model: "scripted",
        question: "I am Lucas. Book me the cheapest flight from Oslo for my trip to the trade fair.",
        streams_with: Some(OwnTool::Flights),
        is_planned: true,
        checks: &[
            ConversationCheck::Turns(5),
            ConversationCheck::LastPlan(PlanResult::Complete),
            ConversationCheck::Ran(0),
            ConversationCheck::Booked("bookFlight", &["f-327", "t-61"]),
        ],
        ..BASE
    },
    DemoConversation {
        title: "A mistake is not repeated",
        about: "The model once omitted the date, got feedback, and its corrected call worked. This became a lesson. The proxy adds \
        it to the user's message, and the first call is correct.",
        model: "office",
        question: "Which rooms seat 4 people on 2026-06-04?",
        remembers: true,
        checks: &[ConversationCheck::LessonRecalled, ConversationCheck::NothingSentBack, ConversationCheck::Ran(1)],
        ..BASE
    },
];

impl DemoConversation {
    /// Toolset of the model alias.
    pub(super) fn toolset(&self) -> &'static str {
        match self.model {
            "travel" => "route-planner",
            "office" => "meeting-rooms",
            _ => "flights",
        }
    }

    /// Whether the traces of its turns show the expected behaviour.
    pub(super) fn holds_for(&self, traces: &[Trace]) -> bool {
        plans(traces).next().is_some() == self.is_planned && self.checks.iter().all(|check| check.holds(traces))
    }
}

impl ConversationCheck {
    fn holds(&self, traces: &[Trace]) -> bool {
        match self {
            Self::Repaired(kind) => {
                attempts(traces).flat_map(|attempt| &attempt.repairs).any(|repair| repair.kind == *kind)
            }
            Self::Diagnosed(code) => {
                attempts(traces).flat_map(|attempt| &attempt.diagnoses).any(|diagnosis| diagnosis.code == *code)
            }
            Self::NothingSentBack => attempts(traces)
                .all(|attempt| !matches!(attempt.purpose, Purpose::StaticFeedback | Purpose::DynamicFeedback)),
            Self::SentBack => attempts(traces).any(|attempt| attempt.purpose == Purpose::StaticFeedback),
            Self::Ran(count) => executions(traces).count() == *count && executions(traces).all(succeeded),
            Self::NothingRanAtFirst => traces.first().is_some_and(|trace| trace.executions.is_empty()),
            Self::Explained => {
                executions(traces).filter_map(|execution| execution.explanation.as_ref()).any(|found| found.is_hit())
                    && executions(traces).last().is_some_and(succeeded)
            }
            Self::HandedOver => traces.iter().any(|trace| is_handed_over(trace) && trace.record.len() > 1),
            Self::Turns(count) => traces.len() == *count,
            Self::Streamed => traces.iter().all(|trace| trace.stream),
            Self::NoteAdded => {
                let mut observed = traces.iter().flat_map(|trace| &trace.observed);
                observed.any(|event| event.done == Enrichment::Added && !event.again)
            }
            Self::LessonRecalled => {
                let mut lessons =
                    traces.iter().filter_map(|trace| trace.memory.as_ref()).flat_map(|note| &note.lessons);
                lessons.any(|lesson| !lesson.withheld)
            }
            Self::Plans(results) => plans(traces).map(|plan| plan.result).eq(results.iter().copied()),
            Self::LastPlan(result) => plans(traces).last().is_some_and(|plan| plan.result == *result),
            Self::ChosenBy(by) => plans(traces).flat_map(|plan| &plan.choices).any(|choice| choice.by == *by),
            Self::Booked(tool, values) => {
                let calls = plans(traces).flat_map(|plan| &plan.steps).flat_map(|step| &step.calls);
                calls
                    .last()
                    .is_some_and(|call| call.name == *tool && values.iter().all(|value| call.arguments.contains(value)))
            }
        }
    }
}

fn attempts(traces: &[Trace]) -> impl Iterator<Item = &Attempt> {
    traces.iter().flat_map(|trace| &trace.attempts)
}

fn executions(traces: &[Trace]) -> impl Iterator<Item = &Execution> {
    traces.iter().flat_map(|trace| &trace.executions)
}

fn plans(traces: &[Trace]) -> impl Iterator<Item = &PlanNote> {
    traces.iter().filter_map(|trace| trace.plan.as_ref())
}

fn succeeded(execution: &Execution) -> bool {
    execution.outcome == "success"
}
