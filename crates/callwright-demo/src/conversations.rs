//! Catalogue of the conversations and of the behaviour that each must show. Owns their texts and checks. Must not send
//! requests: `play` does.

use callwright_types::trace::{Attempt, Enrichment, Execution};
use callwright_types::{ChosenBy, FaultCode, PlanNote, PlanResult, RepairKind, Trace};

use super::client_tool::OwnTool;
use super::transcript::is_handed_over;

/// One conversation.
#[derive(Debug)]
pub(super) struct DemoConversation {
    /// Title.
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
}

/// Expected behaviour of a conversation, by the traces of its turns.
#[derive(Debug)]
enum ConversationCheck {
    /// A call was repaired in this way.
    Repaired(RepairKind),
    /// This fault was found.
    Found(FaultCode),
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
    /// A lesson was shown to the model.
    LessonShown,
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
};

/// All conversations, in the order of the transcript: single calls, requests that lack data and follow a plan, which is
/// drawn backward from the final call ("Reverse Chain", section 3), and memory of earlier conversations.
pub(super) static CATALOGUE: [DemoConversation; 13] = [
    DemoConversation {
        title: "A tool's name is mended",
        about: "The model writes the name with other separators. Only one tool can be meant, so the proxy renames it and \
        asks nobody.",
        model: "travel",
        question: "Where is Osaka Castle?",
        checks: &[
            ConversationCheck::Repaired(RepairKind::ToolRenamed),
            ConversationCheck::NothingSentBack,
            ConversationCheck::Ran(1),
        ],
        ..BASE
    },
    DemoConversation {
        title: "A parameter is renamed and a value gets its type",
        about: "Numbers and booleans arrive as text, under names that are almost right. Nothing is lost by mending them, so \
        the model is not asked again.",
        model: "travel",
        question: "Show me at most 2 routes without tolls from 135.7588,34.9858 to 135.5258,34.6873 by car.",
        checks: &[
            ConversationCheck::Repaired(RepairKind::ParameterRenamed),
            ConversationCheck::Repaired(RepairKind::TypeCoerced),
            ConversationCheck::NothingSentBack,
            ConversationCheck::Ran(1),
        ],
        ..BASE
    },
    DemoConversation {
        title: "A missing parameter is asked for",
        about: "A required parameter is left out, and no default stands in for it. The call never leaves the proxy: the \
        model is told what is missing, and calls again.",
        model: "office",
        question: "Which rooms seat 6 people on 2026-06-02?",
        checks: &[
            ConversationCheck::Found(FaultCode::ParameterMissing),
            ConversationCheck::SentBack,
            ConversationCheck::Ran(1),
        ],
        ..BASE
    },
    DemoConversation {
        title: "An API's error is explained by its own documentation",
        about: "The call is well-formed, yet the API answers with a bare code. The proxy finds the sentence of the \
        documentation that explains the code and hands both to the model.",
        model: "travel",
        question: "I stand at 34.9858, 135.7588. Plan a route by bike to 34.6873, 135.5258.",
        checks: &[ConversationCheck::Explained],
        ..BASE
    },
    DemoConversation {
        title: "A limit is reached, and a person takes over",
        about: "The user wants what the API does not have, and the model insists. After three rounds of feedback the proxy \
        stops, and hands over the record of what was tried.",
        model: "travel",
        question: "Plan a route by helicopter from 135.7588,34.9858 to 135.5258,34.6873.",
        checks: &[
            ConversationCheck::HandedOver,
            ConversationCheck::Found(FaultCode::Constraint),
            ConversationCheck::Ran(0),
        ],
        ..BASE
    },
    DemoConversation {
        title: "The client's own tool, streamed",
        about: "The client brings the tool and runs it itself. Text flows as it comes; the call is held until it is whole, \
        mended, and then sent on as the client's SDK expects it.",
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
        title: "The client's own tool fails, and the proxy explains it",
        about: "The client runs the tool itself and sends back what the API answered: a bare code. The proxy recognises the \
        failure and adds the sentence of the documentation below it, before the model sees it.",
        model: "travel",
        question: "My own planner shall find me a walk from 34.9858, 135.7588 to 34.6873, 135.5258.",
        streams_with: Some(OwnTool::Route),
        checks: &[ConversationCheck::Turns(3), ConversationCheck::NoteAdded, ConversationCheck::Ran(0)],
        ..BASE
    },
    DemoConversation {
        title: "A plan: a room for Jack",
        about: "A booking wants two ids that nobody said. Before the model is asked for an answer, two small questions are put to it: \
        which call is the last one, and where does each of its arguments come from? The plan then speaks in its place. \
        Independent calls run at the same time; items of lists are chosen by what the user said or by the model.",
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
        about: "Where the trip goes and when is in yet another answer. The trip is the one that the user names, so nobody has to be \
        asked for it.",
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
        title: "A plan lacks something, and the user is asked once",
        about: "Two calls need to know until when. The user is asked one question, nothing is called before it is answered, and only \
        what was missing is drawn anew.",
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
        about: "The client brings the tools and runs them itself. The plan leaves as ordinary tool calls, as many at once as are ready; \
        when the client returns, the plan is found again by their ids.",
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
        about: "Nobody tells the proxy what a client's tool answers with but its description. Turn by turn the client gets the calls \
        that are ready, with values of what it sent back.",
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
        title: "A mistake is not made twice",
        about: "The model once left out the date, was told so, and the call that came in its place worked. That was verified, so it became a \
        lesson, which now stands behind the user's question, and the call is right at once.",
        model: "office",
        question: "Which rooms seat 4 people on 2026-06-04?",
        remembers: true,
        checks: &[ConversationCheck::LessonShown, ConversationCheck::NothingSentBack, ConversationCheck::Ran(1)],
        ..BASE
    },
];

impl DemoConversation {
    /// Whether the traces of its turns show the expected behaviour.
    pub(super) fn is_kept_by(&self, traces: &[Trace]) -> bool {
        plans(traces).next().is_some() == self.is_planned && self.checks.iter().all(|check| check.holds(traces))
    }
}

impl ConversationCheck {
    fn holds(&self, traces: &[Trace]) -> bool {
        match self {
            Self::Repaired(kind) => {
                attempts(traces).flat_map(|attempt| &attempt.repairs).any(|repair| repair.kind == *kind)
            }
            Self::Found(code) => {
                attempts(traces).flat_map(|attempt| &attempt.diagnoses).any(|diagnosis| diagnosis.code == *code)
            }
            Self::NothingSentBack => attempts(traces).all(|attempt| !attempt.purpose.ends_with("_feedback")),
            Self::SentBack => attempts(traces).any(|attempt| attempt.purpose == "static_feedback"),
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
                observed.any(|seen| seen.done == Enrichment::Added && !seen.again)
            }
            Self::LessonShown => {
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
