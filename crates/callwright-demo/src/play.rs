//! Holds the conversations of the catalogue through a proxy and prints the transcript.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use http::StatusCode;
use serde_json::{Value, json};

use callwright_types::Trace;

use super::client_answer::ClientAnswer;
use super::client_tool::{DemoClientTools, definitions};
use super::comparison::{self, Comparison, Ending, Outcome};
use super::conversations::{CATALOGUE, DemoConversation};
use super::direct::{DirectResult, DirectTools, MOST_TURNS};
use super::transcript::{
    BRIEF_CHARS, TranscriptLabel, TranscriptLine, TranscriptPage, brief, ending_lines, is_handed_over, moved,
    turn_lines,
};
use super::{DemoError, client};
use callwright_common::text::first_sentence;

/// Number of attempts to fetch a trace, and the pause between them: the trace is stored in the background, after the
/// answer.
const TRACE_POLLS: u32 = 100;
const TRACE_PAUSE: Duration = Duration::from_millis(50);

/// Metric with the number of lessons.
const LESSONS: &str = "callwright_lessons ";

/// Introduction of the transcript.
const OPENING: &str = "The model in this demo is scripted: a small server with a few rules that makes typical mistakes of models. It \
    sees only the messages and tools of each request, and corrects a mistake only if the feedback explains it. Everything \
    else is real: the proxy, the sample APIs, their documents, and every HTTP request between them.";

/// Introduction of the brief transcript.
const BRIEF_OPENING: &str = "The model is scripted: a small server that makes typical mistakes of models and corrects one only if the \
    feedback explains it. Proxy, sample APIs and requests are real. `no proxy` is the same conversation without it.";

/// Addresses of a demo, such as `http://127.0.0.1:8787`.
#[derive(Debug, Clone, Copy)]
pub struct Stage<'a> {
    /// Client side of the proxy.
    pub client_url: &'a str,
    /// Operator side of the proxy.
    pub operator_url: &'a str,
    /// The model without the proxy.
    pub model_url: &'a str,
}

/// Extent of a transcript.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Detail {
    /// Five conversations on two pages of a terminal.
    #[default]
    Brief,
    /// All conversations in full.
    Full,
}

/// Options of [`play()`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlayOptions {
    /// Extent of the transcript.
    pub detail: Detail,
    /// Whether to show the difference that the conversations made in the metrics.
    pub shows_metrics: bool,
}

/// Result of a conversation.
#[derive(Debug)]
pub struct PlayedConversation {
    pub title: &'static str,
    /// Traces of its turns, from the operator API.
    pub traces: Vec<Trace>,
    /// Text of the last answer.
    pub answer: String,
    /// Whether it showed the expected behaviour.
    pub as_promised: bool,
    /// The conversation with and without the proxy, if it was held in both ways.
    pub comparison: Option<Comparison>,
}

/// Holds the conversations of the catalogue through the proxy, and the first ones also without it, fetches the traces
/// from its operator side, and writes the transcript to `out`. The transcript has ANSI styles: wrap a writer that may
/// not support them (`anstream`).
///
/// # Errors
/// [`DemoError::Request`] if a request has no usable response, [`DemoError::Output`] if writing to `out` fails.
pub async fn play(
    stage: &Stage<'_>,
    options: PlayOptions,
    out: &mut impl Write,
) -> Result<Vec<PlayedConversation>, DemoError> {
    let PlayOptions { detail, shows_metrics } = options;
    let mut page = TranscriptPage::new(out);
    page.heading("Callwright demo").map_err(DemoError::Output)?;
    let opening = if detail == Detail::Brief { BRIEF_OPENING } else { OPENING };
    page.paragraph(opening).map_err(DemoError::Output)?;
    let metrics = format!("{}/metrics", stage.operator_url);
    let before = client::get(&metrics).await?.text();
    let run: String = std::iter::repeat_with(fastrand::alphanumeric).take(8).collect();
    let mut all = Vec::new();
    for (number, conversation) in (1..).zip(&CATALOGUE) {
        if detail == Detail::Brief && conversation.right.is_none() {
            continue;
        }
        let about = match detail {
            Detail::Full => conversation.about,
            Detail::Brief => first_sentence(conversation.about),
        };
        let heading = format!("{number:>2}  {}", conversation.title);
        page.heading(&heading).and_then(|()| page.paragraph(about)).map_err(DemoError::Output)?;
        let proxy = Proxy { stage: *stage, session: format!("demo-{run}-{number}") };
        if conversation.remembers {
            proxy.has_learned().await?;
        }
        let played = hold(conversation, &proxy, detail, &mut page).await?;
        if !played.as_promised {
            let line =
                TranscriptLine::new(TranscriptLabel::Problem, "this conversation did not show what it is here to show");
            page.line(&line).map_err(DemoError::Output)?;
        }
        all.push(played);
    }
    if detail == Detail::Full {
        page.paragraph(&planned(&all)).map_err(DemoError::Output)?;
    }
    let comparisons: Vec<Comparison> = all.iter().filter_map(|played| played.comparison).collect();
    comparison::print(&mut page, &comparisons).map_err(DemoError::Output)?;
    if shows_metrics {
        let after = client::get(&metrics).await?.text();
        closing(&mut page, &moved(&before, &after)).map_err(DemoError::Output)?;
    }
    Ok(all)
}

/// Connection data of one conversation.
struct Proxy<'a> {
    stage: Stage<'a>,
    session: String,
}

impl Proxy<'_> {
    /// Sends one request; returns the answer, its trace, and the time until the answer.
    async fn turn(&self, body: &Value) -> Result<(ClientAnswer, Trace, Duration), DemoError> {
        let url = format!("{}/v1/chat/completions", self.stage.client_url);
        let headers = [("x-callwright-debug", "true"), ("x-callwright-session", self.session.as_str())];
        let begin = Instant::now();
        let answer = client::post(&url, &headers, body).await?;
        let duration = begin.elapsed();
        let id = answer.header("x-callwright-trace").ok_or_else(|| "no header x-callwright-trace".to_owned());
        match ClientAnswer::parse(&answer).and_then(|reply| Ok((reply, id?))) {
            Ok((reply, id)) => Ok((reply, self.trace(id).await?, duration)),
            Err(reason) => Err(DemoError::Request { method: "POST".to_owned(), url, reason }),
        }
    }

    /// Waits for a lesson, which is learned in the background. Without one, the check of the conversation fails.
    async fn has_learned(&self) -> Result<(), DemoError> {
        for _ in 0..TRACE_POLLS {
            let metrics = client::get(&format!("{}/metrics", self.stage.operator_url)).await?.text();
            if metrics.lines().any(|line| line.starts_with(LESSONS) && !line.ends_with(" 0")) {
                break;
            }
            tokio::time::sleep(TRACE_PAUSE).await;
        }
        Ok(())
    }

    async fn trace(&self, id: &str) -> Result<Trace, DemoError> {
        let url = format!("{}/admin/traces/{id}", self.stage.operator_url);
        let mut reason = format!("not stored within {} seconds", (TRACE_PAUSE * TRACE_POLLS).as_secs());
        for _ in 0..TRACE_POLLS {
            let answer = client::get(&url).await?;
            if answer.status.is_success() {
                match serde_json::from_str(&answer.text()) {
                    Ok(trace) => return Ok(trace),
                    Err(error) => reason = format!("no trace: {error}"),
                }
                break;
            }
            if answer.status != StatusCode::NOT_FOUND {
                reason = format!("status {}: {}", answer.status.as_u16(), answer.text());
                break;
            }
            tokio::time::sleep(TRACE_PAUSE).await;
        }
        Err(DemoError::Request { method: "GET".to_owned(), url, reason })
    }
}

/// Holds one conversation to its last answer, and prints it.
async fn hold<W: Write>(
    conversation: &DemoConversation,
    proxy: &Proxy<'_>,
    detail: Detail,
    page: &mut TranscriptPage<'_, W>,
) -> Result<PlayedConversation, DemoError> {
    let tools = DemoClientTools::default();
    let mut messages = Vec::new();
    let mut replies = std::iter::once(&conversation.question).chain(conversation.replies);
    let (mut traces, mut answer): (Vec<Trace>, _) = (Vec::new(), String::new());
    let mut is_users_turn = true;
    let (mut without, mut duration) = (None, Duration::ZERO);
    for _ in 0..MOST_TURNS {
        if is_users_turn {
            let Some(reply) = replies.next() else { break };
            messages.push(json!({ "role": "user", "content": reply }));
            write(page, [TranscriptLine::new(TranscriptLabel::User, *reply)])?;
        }
        if conversation.right.is_some() && without.is_none() {
            let direct = directly(conversation, proxy.stage).await?;
            write(page, [TranscriptLine::new(TranscriptLabel::Without, excerpt(&direct.in_words()))])?;
            without = Some(direct);
        }
        let (reply, trace, time) = proxy.turn(&request(conversation, &messages)).await?;
        duration += time;
        let mut lines = turn_lines(&trace, &reply.text, traces.last());
        lines.extend(answer_lines(&reply));
        lines.extend(ending_lines(&trace));
        write(page, if detail == Detail::Brief { brief(lines) } else { lines })?;
        traces.push(trace);
        answer.clone_from(&reply.text);
        messages.push(reply.to_message());
        is_users_turn = reply.calls.is_empty();
        for call in &reply.calls {
            let result = tools.run(&call.name, &call.arguments);
            write(
                page,
                [TranscriptLine::new(TranscriptLabel::Client, format!("runs {} itself → {result}", call.name))],
            )?;
            messages.push(json!({ "role": "tool", "tool_call_id": call.id, "content": result.to_string() }));
        }
    }
    let as_promised = !answer.is_empty() && conversation.holds_for(&traces);
    let requests = traces.iter().map(|trace| trace.attempts.len() as u64).sum();
    let comparison = conversation.right.zip(without).map(|(right, direct)| Comparison {
        title: conversation.title,
        without: Outcome {
            ending: ending(right, &direct.answer, false),
            requests: direct.requests,
            duration: direct.duration,
        },
        with: Outcome { ending: ending(right, &answer, traces.iter().any(is_handed_over)), requests, duration },
    });
    Ok(PlayedConversation { title: conversation.title, traces, answer, as_promised, comparison })
}

/// Holds a conversation without the proxy.
async fn directly(conversation: &DemoConversation, stage: Stage<'_>) -> Result<DirectResult, DemoError> {
    let tools = DirectTools::of_toolset(stage.operator_url, conversation.toolset()).await?;
    tools.converse(stage.model_url, conversation.question).await
}

/// Judges the last answer by the texts of the right one. A request that nothing fulfils has none.
fn ending(right: &[&str], answer: &str, is_handed_over: bool) -> Ending {
    if is_handed_over {
        Ending::HandedOver
    } else if !right.is_empty() && right.iter().all(|text| answer.contains(text)) {
        Ending::Right
    } else {
        Ending::Wrong
    }
}

fn excerpt(text: &str) -> String {
    let mut chars = text.chars();
    let mut excerpt: String = chars.by_ref().take(BRIEF_CHARS).collect();
    if chars.next().is_some() {
        // The end has the result.
        let end: Vec<char> = text.chars().rev().take(BRIEF_CHARS / 3).collect();
        excerpt = text.chars().take(BRIEF_CHARS - end.len() - 1).chain(['…']).chain(end.into_iter().rev()).collect();
    }
    excerpt
}

/// Returns a sentence with the number of turns that followed a plan, and the cost of the plans.
fn planned(all: &[PlayedConversation]) -> String {
    let turns: Vec<&Trace> = all.iter().flat_map(|played| &played.traces).collect();
    let plans: Vec<_> = turns.iter().filter_map(|trace| trace.plan.as_ref()).collect();
    let requests: u64 = plans.iter().map(|plan| plan.cost.requests).sum();
    format!(
        "{} of {} turns followed a plan, which took {requests} small requests to the model; the others paid for none.",
        plans.len(),
        turns.len()
    )
}

pub(super) fn request(conversation: &DemoConversation, messages: &[Value]) -> Value {
    let mut body = json!({ "model": conversation.model, "messages": messages });
    if let Some(tool) = conversation.streams_with {
        body["tools"] = definitions(tool);
        body["stream"] = true.into();
    }
    body
}

fn answer_lines(reply: &ClientAnswer) -> Vec<TranscriptLine> {
    let mut lines = Vec::new();
    let streamed = if reply.events > 0 { format!(" (streamed, {} events)", reply.events) } else { String::new() };
    if !reply.text.is_empty() {
        lines.push(TranscriptLine::new(TranscriptLabel::Answer, format!("{}{streamed}", reply.text)));
    }
    for call in &reply.calls {
        lines.push(TranscriptLine::new(TranscriptLabel::Answer, format!("calls {} {}", call.name, call.arguments)));
    }
    lines
}

fn write<W: Write>(
    page: &mut TranscriptPage<'_, W>,
    lines: impl IntoIterator<Item = TranscriptLine>,
) -> Result<(), DemoError> {
    lines.into_iter().try_for_each(|line| page.line(&line)).map_err(DemoError::Output)
}

fn closing<W: Write>(page: &mut TranscriptPage<'_, W>, moved: &[(String, f64)]) -> io::Result<()> {
    page.heading("What moved on /metrics")?;
    page.table(moved.iter().map(|(series, growth)| (format!("+{growth}"), series.as_str())))
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::super::server::{Handler, Reply, Request, Server};
    use super::*;

    /// Proxy stub with a fixed answer and an empty trace.
    struct EmptyProxy;

    impl Handler for EmptyProxy {
        async fn handle(&self, request: &Request) -> Reply {
            match request.path.as_str() {
                "/v1/chat/completions" => {
                    let answer = json!({ "choices": [{ "message": { "content": "I do not know." } }] });
                    Reply::json(StatusCode::OK, &answer)
                        .with_header(HeaderName::from_static("x-callwright-trace"), "t1")
                }
                "/admin/traces/t1" => Reply::json(
                    StatusCode::OK,
                    &json!({
                        "id": "t1", "started_at": "2026-06-02T10:00:00Z", "endpoint": "/v1/chat/completions",
                        "model": "travel", "upstream": "default", "policy": "demo", "mode": "guard", "stream": false,
                        "status": 200, "verdict": "text", "tools_offered": [], "attempts": [], "executions": [],
                        "record": [], "usage": {}, "duration_ms": 1.0, "overhead_ms": 0.1
                    }),
                ),
                _ => Reply::json(StatusCode::OK, &Value::Null),
            }
        }
    }

    #[tokio::test]
    async fn a_conversation_without_its_expected_outcome_is_a_problem() {
        let proxy = Server::start(EmptyProxy).await.unwrap();
        let mut out = Vec::new();
        let url = proxy.url();
        let stage = Stage { client_url: &url, operator_url: &url, model_url: &url };
        let full = PlayOptions { detail: Detail::Full, shows_metrics: true };
        let all = play(&stage, full, &mut out).await.unwrap();
        assert_eq!(all.len(), CATALOGUE.len());
        assert!(all.iter().all(|played| !played.as_promised && played.answer == "I do not know."));
        let transcript = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
        assert_eq!(transcript.matches("did not show what it is here to show").count(), CATALOGUE.len());
        assert!(transcript.contains("The model in this demo is scripted"));
        assert!(transcript.lines().all(|line| line.chars().count() <= 100));
    }

    #[test]
    fn an_answer_is_right_by_its_texts_only() {
        assert_eq!(ending(&["a", "b"], "b and a", false), Ending::Right);
        assert_eq!(ending(&["a", "b"], "a", false), Ending::Wrong);
        assert_eq!(ending(&[], "anything", false), Ending::Wrong);
        assert_eq!(ending(&[], "anything", true), Ending::HandedOver);
    }

    #[tokio::test]
    async fn an_answer_without_a_trace_ends_the_play_with_its_location() {
        let model = super::super::scripted_model::ScriptedModel::start().await.unwrap();
        let url = model.url();
        let stage = Stage { client_url: &url, operator_url: &url, model_url: &url };
        let error = play(&stage, PlayOptions::default(), &mut Vec::new()).await.unwrap_err();
        assert!(error.to_string().contains("/v1/chat/completions: no header x-callwright-trace"), "{error}");
    }
}
