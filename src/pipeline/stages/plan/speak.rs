//! What a plan under way says in the model's place.

use http::HeaderValue;
use http::header::CONTENT_TYPE;
use serde_json::{Map, Value};

use crate::pipeline::dialogue::Purpose;
use callwright_common::json::raw;
use callwright_knowledge::planner::progress::Next;
use callwright_openai::{Completion, ToolChoice};
use callwright_types::{Call, PlanResult, Usage};

use super::super::offer::Offer;
use super::choosing::{self, Choice};
use super::course::Course;
use super::mending::mend;
use super::scene::Scene;

/// What the plan says next, as a model's answer; `None` where the upstream is to be asked.
pub(super) async fn speak(scene: &mut Scene<'_>, course: &mut Course, purpose: Purpose) -> Option<Completion> {
    // After feedback on what the model said, and for its last word, the model has to speak.
    if !matches!(purpose, Purpose::First | Purpose::ToolResults | Purpose::DynamicFeedback) {
        return None;
    }
    let mut said = None;
    while course.is_under_way() && said.is_none() && !scene.turn.cancelled.is_cancelled() {
        said = step(scene, course).await;
    }
    course.note(scene.turn);
    let mut completion = said?;
    let (prompt_tokens, completion_tokens) = (course.cost.prompt_tokens, course.cost.completion_tokens);
    completion.set_usage(Usage {
        prompt_tokens,
        completion_tokens,
        total_tokens: course.cost.tokens(),
        cached_tokens: 0,
    });
    let kind = if scene.turn.request.is_stream() { "text/event-stream" } else { "application/json" };
    scene.turn.answer_headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    Some(completion)
}

/// What comes next, without what is borrowed of the plan.
enum Move {
    /// The call of this label has to be drawn anew, and why.
    Mend(String, String),
    Ask(Vec<Missing>),
    Call(Vec<Ready>),
    Choose(Choice),
    End(PlanResult, &'static str),
}

/// What nobody gave.
struct Missing {
    tool: String,
    argument: String,
    question: String,
}

/// A call that can be made.
struct Ready {
    label: String,
    tool: String,
    arguments: Map<String, Value>,
}

fn next(course: &Course) -> Move {
    let owned = str::to_owned;
    match course.waiting.progress.next() {
        Next::Failed(node) => Move::Mend(node.label.clone(), format!("{} failed", node.tool)),
        Next::Absent(node, from) => {
            let place = if from.output.is_root() { "anything" } else { from.output.as_str() };
            Move::Mend(node.label.clone(), format!("{} did not answer with {place}", from.node))
        }
        Next::Ask(missing) => {
            let missing = missing.into_iter().map(|input| Missing {
                tool: input.node.tool.clone(),
                argument: owned(input.argument),
                question: owned(input.question),
            });
            Move::Ask(missing.collect())
        }
        Next::Calls(ready) => {
            let ready = ready.into_iter().map(|ready| Ready {
                label: ready.node.label.clone(),
                tool: ready.node.tool.clone(),
                arguments: ready.arguments,
            });
            Move::Call(ready.collect())
        }
        Next::Choose(options) => Move::Choose(Choice::of(options)),
        Next::Wait => Move::End(PlanResult::GivenUp, "calls of it were not answered"),
        Next::Done => Move::End(PlanResult::Complete, ""),
    }
}

/// Takes one step: says something, brings the plan nearer to that, or ends it.
async fn step(scene: &mut Scene<'_>, course: &mut Course) -> Option<Completion> {
    match next(course) {
        Move::Ask(missing) => return ask(scene, course, missing),
        Move::Call(ready) => return call(scene, course, ready),
        Move::Mend(label, why) => mend(scene, course, label, why).await,
        Move::Choose(choice) => choosing::choose(scene, course, choice).await,
        Move::End(result, note) => course.end(result, note),
    }
    None
}

/// One question that names all that is missing. What was asked for before is not asked for again: the model goes on then; as it does where
/// the client wants a call, or an answer in a form of its own.
fn ask(scene: &Scene<'_>, course: &mut Course, missing: Vec<Missing>) -> Option<Completion> {
    let request = &scene.turn.request;
    if request.tool_choice() != ToolChoice::Auto || request.wants_json() {
        course.end(PlanResult::GivenUp, "something is missing, and the client takes no question");
        return None;
    }
    let questions: Vec<&str> = missing.iter().map(|missing| missing.question.as_str()).collect();
    let text = scene.pipeline.templates.missing_inputs(&questions);
    let asked: Vec<(String, String)> = missing.into_iter().map(|missing| (missing.tool, missing.argument)).collect();
    if asked.iter().any(|input| course.waiting.asked.contains(input)) {
        course.end(PlanResult::GivenUp, "the user was asked for what is missing, and it is missing still");
        return None;
    }
    course.waiting.asked.extend(asked);
    Some(Completion::of_text(&scene.turn.record.trace().model, &text))
}

/// The calls that are ready: the proxy's own, or where there are none the client's, as nothing else can be done before it returns.
fn call(scene: &mut Scene<'_>, course: &mut Course, ready: Vec<Ready>) -> Option<Completion> {
    scene.offer(ready.iter().map(|ready| ready.tool.as_str()));
    let offer = scene.offering.offer();
    if let Some(ready) = ready.iter().find(|ready| offer.toolbook.get(&ready.tool).is_none()) {
        course.end(PlanResult::GivenUp, format!("{} is not offered", ready.tool));
        return None;
    }
    let (mut now, clients): (Vec<Ready>, Vec<Ready>) =
        ready.into_iter().partition(|ready| offer.is_proxys(&ready.tool));
    if now.is_empty() {
        now = clients;
        let most = if scene.turn.request.parallel_tool_calls() { usize::MAX } else { 1 };
        now.truncate(most);
    }
    let progress = &mut course.waiting.progress;
    progress.begin_answer();
    let make = |Ready { label, tool, arguments }| {
        let (id, arguments) = (progress.new_id(), fitting(offer, &tool, arguments));
        let written = raw(&arguments).get().to_owned();
        progress.sent(&label, &id, Value::Object(arguments));
        Call { id, name: tool, arguments: written }
    };
    let made: Vec<Call> = now.into_iter().map(make).collect();
    Some(Completion::of_calls(&scene.turn.record.trace().model, &made))
}

/// Numbers where texts are wanted are written as texts: APIs answer with ids in either form.
fn fitting(offer: &Offer, tool: &str, mut arguments: Map<String, Value>) -> Map<String, Value> {
    for (name, value) in &mut arguments {
        let parameter = offer.toolbook.get(tool).and_then(|tool| tool.parameter(name));
        let kind = parameter.and_then(|parameter| parameter.schema.get("type")?.as_str());
        if kind == Some("string") && (value.is_number() || value.is_boolean()) {
            *value = Value::String(value.to_string());
        }
    }
    arguments
}
