//! What a plan under way says in the model's place.

use http::HeaderValue;
use http::header::CONTENT_TYPE;
use serde_json::{Map, Value};

use crate::domain::json::raw;
use crate::domain::{Call, ChosenBy, PlanChoice, PlanResult, Usage};
use crate::openai::Completion;
use crate::pipeline::Pipeline;
use crate::pipeline::dialogue::Purpose;
use crate::pipeline::plan_ground::PlanGround;
use crate::pipeline::turn::Turn;
use crate::planner::drawing::{Chance, Renewal};
use crate::planner::progress::{Next, by_words};
use crate::scanner::CompiledTool;

use super::super::compose::Draft;
use super::super::offer::{Offer, Offering};
use super::course::Course;
use super::drawing::{self, Sketch};
use super::{asked_now, conversation};

/// What the plan says next, as a model's answer; `None` where the upstream is to be asked.
pub(crate) async fn speak(
    pipeline: &Pipeline,
    turn: &mut Turn,
    offering: &mut Offering,
    draft: &mut Draft,
    course: &mut Option<Course>,
    purpose: Purpose,
) -> Option<Completion> {
    // After feedback on what the model said, and for its last word, the model has to speak.
    if !matches!(purpose, Purpose::First | Purpose::ToolResults | Purpose::DynamicFeedback) {
        return None;
    }
    let course = course.as_mut().filter(|course| course.is_under_way())?;
    let mut said = None;
    while course.is_under_way() && said.is_none() && !turn.cancelled.is_cancelled() {
        said = step(pipeline, turn, offering, draft, course).await;
    }
    course.note(turn);
    let mut completion = said?;
    let cost = course.cost;
    let usage = Usage {
        prompt_tokens: cost.prompt_tokens,
        completion_tokens: cost.completion_tokens,
        total_tokens: cost.tokens(),
    };
    completion.set_usage(usage);
    let kind = if turn.request.is_stream() { "text/event-stream" } else { "application/json" };
    turn.answer_headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    Some(completion)
}

/// What comes next, without what is borrowed of the plan.
enum Move {
    Mend(String, String),
    Ask(Vec<(String, String, String)>),
    Calls(Vec<(String, String, Map<String, Value>)>),
    Choose(Item),
    End(PlanResult, &'static str),
}

/// A choice among the items of a list.
struct Item {
    taker: String,
    tool: String,
    task: String,
    argument: String,
    from: String,
    items: Vec<(Value, Value)>,
}

fn next(course: &Course) -> Move {
    match course.waiting.progress.next() {
        Next::Failed(node) => Move::Mend(node.label.clone(), format!("{} failed", node.tool)),
        Next::Absent(node, from) => {
            let place = if from.output.is_root() { "an answer" } else { from.output.as_str() };
            Move::Mend(node.label.clone(), format!("`{}` did not answer with {place}", from.node))
        }
        Next::Ask(missing) => {
            let asked = missing.into_iter();
            let owned = |text: &str| text.to_owned();
            Move::Ask(
                asked.map(|input| (owned(&input.node.tool), owned(input.argument), owned(input.question))).collect(),
            )
        }
        Next::Calls(ready) => {
            let call = ready.into_iter();
            Move::Calls(call.map(|call| (call.node.label.clone(), call.node.tool.clone(), call.arguments)).collect())
        }
        Next::Choose(options) => Move::Choose(Item {
            taker: options.node.label.clone(),
            tool: options.node.tool.clone(),
            task: options.node.task.clone(),
            argument: options.argument.to_owned(),
            from: options.from.node.clone(),
            items: options.items,
        }),
        Next::Wait => Move::End(PlanResult::GivenUp, "calls of it were not answered"),
        Next::Done => Move::End(PlanResult::Complete, ""),
    }
}

/// Takes one step; says something, or brings the plan nearer to that, or ends it.
async fn step(
    pipeline: &Pipeline,
    turn: &mut Turn,
    offering: &mut Offering,
    draft: &mut Draft,
    course: &mut Course,
) -> Option<Completion> {
    match next(course) {
        Move::End(result, note) => course.end(result, note),
        Move::Ask(missing) => return ask(pipeline, turn, course, &missing),
        Move::Calls(ready) => return calls(pipeline, turn, offering, draft, course, ready),
        Move::Mend(label, why) => mend(pipeline, turn, offering, draft, course, label, why).await,
        Move::Choose(item) => choose(pipeline, turn, offering, draft, course, item).await,
    }
    None
}

/// One question that names all that is missing. What was asked for before is not asked for again: the model goes on then.
fn ask(
    pipeline: &Pipeline,
    turn: &Turn,
    course: &mut Course,
    missing: &[(String, String, String)],
) -> Option<Completion> {
    let asked = |tool: &str, argument: &str| {
        course.waiting.asked.iter().any(|known| *known == (tool.to_owned(), argument.to_owned()))
    };
    if missing.iter().any(|(tool, argument, _)| asked(tool, argument)) {
        course.end(PlanResult::GivenUp, "the user was asked for what is missing, and it is missing still");
        return None;
    }
    let questions: Vec<&str> = missing.iter().map(|(_, _, question)| question.as_str()).collect();
    let text = pipeline.templates.missing_inputs(&questions);
    course.waiting.asked.extend(missing.iter().map(|(tool, argument, _)| (tool.clone(), argument.clone())));
    Some(Completion::of_text(&turn.record.trace().model, &text))
}

/// The calls that are ready: those that the proxy makes first, as the client's wait for nothing but the client then.
fn calls(
    pipeline: &Pipeline,
    turn: &mut Turn,
    offering: &mut Offering,
    draft: &mut Draft,
    course: &mut Course,
    ready: Vec<(String, String, Map<String, Value>)>,
) -> Option<Completion> {
    if offering.take_in(pipeline, turn, ready.iter().map(|(_, tool, _)| tool.as_str())) {
        draft.offer(offering.offer());
    }
    let offer = offering.offer();
    if let Some((_, tool, _)) = ready.iter().find(|(_, tool, _)| offer.toolbook.get(tool).is_none()) {
        course.end(PlanResult::GivenUp, format!("{tool} is not offered"));
        return None;
    }
    let is_proxys = |(_, tool, _): &(String, String, Map<String, Value>)| offer.is_proxys(tool);
    let (mut own, clients): (Vec<_>, Vec<_>) = ready.into_iter().partition(is_proxys);
    if own.is_empty() {
        own = clients;
        if !turn.request.parallel_tool_calls() {
            own.truncate(1);
        }
    }
    if course.steps.len() >= turn.policy.limits.plan_calls as usize {
        course.end(PlanResult::Limit, "it has made as many steps as `limits.plan_calls` allows");
        return None;
    }
    let progress = &mut course.waiting.progress;
    progress.begin_answer();
    let mut made = Vec::with_capacity(own.len());
    for (label, tool, arguments) in own {
        let arguments = fitting(offer, &tool, arguments);
        let id = progress.new_id();
        progress.sent(&label, &id, Value::Object(arguments.clone()));
        made.push(Call { id, name: tool, arguments: raw(&arguments).get().to_owned() });
    }
    Some(Completion::of_calls(&turn.record.trace().model, &made))
}

/// Numbers where texts are wanted are written as texts: answers give ids in either form.
fn fitting(offer: &Offer, tool: &str, mut arguments: Map<String, Value>) -> Map<String, Value> {
    let tool: Option<&CompiledTool> = offer.toolbook.get(tool).map(|tool| &**tool);
    for (name, value) in &mut arguments {
        let schema = tool.and_then(|tool| tool.parameter(name)).map(|parameter| parameter.schema.get("type"));
        let wants_text = schema.flatten().and_then(Value::as_str) == Some("string");
        if wants_text && (value.is_number() || value.is_boolean()) {
            *value = Value::String(value.to_string());
        }
    }
    arguments
}

/// Draws a call anew that failed or cannot be made, as often as there may be rounds of dynamic feedback.
async fn mend(
    pipeline: &Pipeline,
    turn: &mut Turn,
    offering: &mut Offering,
    draft: &mut Draft,
    course: &mut Course,
    label: String,
    why: String,
) {
    if course.waiting.progress.mended() >= turn.policy.limits.dynamic_feedback {
        return course.end(PlanResult::GivenUp, why);
    }
    let before = course.waiting.progress.plan().clone();
    let labels = [label];
    let renewed = renew(pipeline, turn, offering, draft, course, Renewal::Calls { labels: &labels }, true).await;
    match renewed {
        Err(undrawn) => course.end(drawing::result_of(&undrawn), format!("{why}; {undrawn}")),
        // The same call would fail again.
        Ok(()) if *course.waiting.progress.plan() == before => {
            course.end(PlanResult::GivenUp, format!("{why}, and nothing else is known"));
        }
        Ok(()) => course.notes.push(why),
    }
}

/// Draws a part of the plan anew, from the conversation as it is now.
pub(super) async fn renew(
    pipeline: &Pipeline,
    turn: &mut Turn,
    offering: &Offering,
    draft: &Draft,
    course: &mut Course,
    renewal: Renewal<'_>,
    mends: bool,
) -> Result<(), crate::planner::drawing::Undrawn> {
    let ground = PlanGround::of(pipeline, turn, offering);
    let conversation = conversation(draft);
    let request = asked_now(&turn.request).or_else(|| last_request(&turn.request)).unwrap_or_default();
    let asked = ground.ask(pipeline, turn, &request).await;
    let sketch = Sketch { ground: &ground, asked: &asked, conversation: &conversation };
    drawing::renew(pipeline, turn, course, &sketch, renewal, mends).await
}

fn last_request(request: &crate::openai::ChatRequest) -> Option<String> {
    let messages = request.messages();
    let last = messages.iter().rev().find(|message| message.role == "user")?;
    last.text.as_deref().map(str::to_owned)
}

/// Chooses an item: the only one, the one that the conversation names, or the one that the model that draws plans says.
async fn choose(
    pipeline: &Pipeline,
    turn: &mut Turn,
    offering: &Offering,
    draft: &Draft,
    course: &mut Course,
    item: Item,
) {
    let said = conversation(draft);
    let users: Vec<&str> = said
        .iter()
        .filter(|message| message.speaker == crate::domain::Speaker::User)
        .map(|message| message.text.as_str())
        .chain([item.task.as_str()])
        .collect();
    let values: Vec<&Value> = item.items.iter().map(|(_, value)| value).collect();
    let is_only = values.windows(2).all(|pair| pair.first() == pair.last());
    let by_rule = if is_only {
        Some((0, ChosenBy::Only))
    } else {
        by_words(item.items.iter().map(|(item, _)| item), &users).map(|at| (at, ChosenBy::Said))
    };
    let chosen = match by_rule {
        Some(chosen) => Some(chosen),
        None => {
            let options: Vec<Value> = item.items.iter().map(|(item, _)| item.clone()).collect();
            let schema = offering
                .offer()
                .toolbook
                .get(&item.tool)
                .and_then(|tool| tool.parameter(&item.argument).map(|parameter| parameter.schema.clone()));
            let chance = Chance {
                conversation: &said,
                memory: &[],
                tool: &item.tool,
                task: &item.task,
                argument: &item.argument,
                schema: &schema.unwrap_or_default(),
                options: &options,
            };
            let chosen = drawing::item(pipeline, turn, course, &chance).await;
            chosen.index.map(|at| (at, ChosenBy::Model))
        }
    };
    let Some((taken, by)) = chosen else {
        return course.end(PlanResult::GivenUp, format!("nobody could say which item `{}` takes", item.argument));
    };
    course.waiting.progress.choose(&item.taker, &item.from, taken);
    let items = item.items.len();
    course.choices.push(PlanChoice { call: item.taker, from: item.from, items, taken, by });
}
