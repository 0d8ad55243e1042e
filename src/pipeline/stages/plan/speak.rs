//! The answers of a running plan.

use http::HeaderValue;
use http::header::CONTENT_TYPE;
use serde_json::{Map, Value};

use crate::pipeline::state::PlanRun;
use crate::pipeline::tools::Offer;
use callwright_common::json::raw;
use callwright_judge::feedback;
use callwright_plan::progress::ProgressStep;
use callwright_types::{Call, PlanResult, Purpose, Usage};
use callwright_wire::{Completion, ToolChoice};

use super::choosing::{self, ItemChoice};
use super::drawing::mend;
use super::metered::StageContext;

/// Returns the next answer of the plan; `None` if the upstream is to answer.
pub(super) async fn speak(
    context: &mut StageContext<'_>,
    plan_run: &mut PlanRun,
    purpose: Purpose,
) -> Option<Completion> {
    // Only the model can react to feedback on its own answer, and give a final answer.
    if !matches!(purpose, Purpose::First | Purpose::ToolResults | Purpose::DynamicFeedback) {
        return None;
    }
    let mut answer = None;
    while plan_run.is_under_way() && answer.is_none() && !context.turn.cancelled.is_cancelled() {
        answer = step(context, plan_run).await;
    }
    plan_run.note(context.turn);
    let mut completion = answer?;
    let (prompt_tokens, completion_tokens) = (plan_run.note.cost.prompt_tokens, plan_run.note.cost.completion_tokens);
    completion.set_usage(Usage {
        prompt_tokens,
        completion_tokens,
        total_tokens: plan_run.note.cost.tokens(),
        cached_tokens: 0,
    });
    let kind = if context.turn.request.is_stream() { "text/event-stream" } else { "application/json" };
    context.turn.answer_headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    Some(completion)
}

/// A call that can be made.
struct ReadyCall {
    label: String,
    tool: String,
    arguments: Map<String, Value>,
}

/// Runs one step: answers, advances the plan, or ends it.
async fn step(context: &mut StageContext<'_>, plan_run: &mut PlanRun) -> Option<Completion> {
    let next = plan_run.waiting.progress.next();
    match next {
        ProgressStep::Failed(node) => {
            let (label, why) = (node.label.clone(), format!("{} failed", node.tool));
            mend(context, plan_run, label, why).await;
        }
        ProgressStep::Absent(node, from) => {
            let place = if from.output.is_root() { "anything" } else { from.output.as_str() };
            let (label, why) = (node.label.clone(), format!("{} did not answer with {place}", from.node));
            mend(context, plan_run, label, why).await;
        }
        ProgressStep::RequestInputs(missing) => {
            let questions: Vec<&str> = missing.iter().map(|input| input.question).collect();
            let text = feedback::missing_inputs(&questions);
            let inputs = missing.iter().map(|input| (input.node.tool.clone(), input.argument.to_owned())).collect();
            return ask(context, plan_run, &text, inputs);
        }
        ProgressStep::Calls(ready) => {
            let ready = ready.into_iter().map(|ready| {
                let (label, tool) = (ready.node.label.clone(), ready.node.tool.clone());
                ReadyCall { label, tool, arguments: ready.arguments }
            });
            let ready = ready.collect();
            return call(context, plan_run, ready);
        }
        ProgressStep::Choose(options) => {
            let choice = ItemChoice::of(options);
            choosing::choose(context, plan_run, choice).await;
        }
        ProgressStep::Wait => plan_run.end(PlanResult::GivenUp, "some of its calls were not answered"),
        ProgressStep::Done => plan_run.end(PlanResult::Complete, ""),
    }
    None
}

/// Returns one question for all missing inputs. Gives the plan up if an input was requested before, or if the client
/// requires a call or a JSON answer.
fn ask(
    context: &StageContext<'_>,
    plan_run: &mut PlanRun,
    question: &str,
    inputs: Vec<(String, String)>,
) -> Option<Completion> {
    let request = &context.turn.request;
    if request.tool_choice() != ToolChoice::Auto || request.requires_json() {
        plan_run.end(PlanResult::GivenUp, "an input is missing, and the client does not accept a question");
        return None;
    }
    if inputs.iter().any(|input| plan_run.waiting.asked.contains(input)) {
        plan_run.end(PlanResult::GivenUp, "an input is still missing after a question to the user");
        return None;
    }
    plan_run.waiting.asked.extend(inputs);
    Some(Completion::of_text(request.protocol(), &context.turn.record.trace.model, question))
}

/// Returns the ready calls: the proxy's own, or without any the client's, because only the client can continue then.
fn call(context: &mut StageContext<'_>, plan_run: &mut PlanRun, ready: Vec<ReadyCall>) -> Option<Completion> {
    context.offer(ready.iter().map(|ready| ready.tool.as_str()));
    let offer = &context.offering.offer;
    if let Some(ready) = ready.iter().find(|ready| offer.tool_set.get(&ready.tool).is_none()) {
        plan_run.end(PlanResult::GivenUp, format!("{} is not offered", ready.tool));
        return None;
    }
    let (mut now, clients): (Vec<ReadyCall>, Vec<ReadyCall>) =
        ready.into_iter().partition(|ready| offer.is_proxys(&ready.tool));
    if now.is_empty() {
        now = clients;
        let most = if context.turn.request.parallel_tool_calls() { usize::MAX } else { 1 };
        now.truncate(most);
    }
    let progress = &mut plan_run.waiting.progress;
    progress.begin_answer();
    let mut made: Vec<Call> = Vec::with_capacity(now.len());
    for ReadyCall { label, tool, arguments } in now {
        let (id, arguments) = (progress.new_id(), fitting(offer, &tool, arguments));
        let written = raw(&arguments).get().to_owned();
        progress.sent(&label, &id, Value::Object(arguments));
        made.push(Call { id, name: tool, arguments: written });
    }
    Some(Completion::of_calls(context.turn.request.protocol(), &context.turn.record.trace.model, &made))
}

/// Converts numbers and booleans to strings where the schema requires strings: APIs return ids in both forms.
fn fitting(offer: &Offer, tool: &str, mut arguments: Map<String, Value>) -> Map<String, Value> {
    for (name, value) in &mut arguments {
        let parameter = offer.tool_set.get(tool).and_then(|tool| tool.parameter(name));
        let kind = parameter.and_then(|parameter| parameter.schema.get("type")?.as_str());
        if kind == Some("string") && (value.is_number() || value.is_boolean()) {
            *value = Value::String(value.to_string());
        }
    }
    arguments
}
