//! `callwright lessons`: lists, shows and retires the learned lessons of a running proxy.

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::{Value, json};

use super::errors::VerbResult;
use super::operator::{OperatorClient, Remote, segment};
use super::output::{out, outln, print_json};
use super::plain;
use super::setup::runtime;
use super::shared_arguments::{LearnedStatus, OutputFormat, value_name};
use super::table::{Column, TextTable};

/// Path of the lessons on the operator side.
const LESSONS: &str = "/admin/lessons";

/// Number of lessons per request.
const PAGE: &str = "500";

/// Maximum number of printed characters of a lesson's text.
const TEXT_CHARS: usize = 80;

/// Arguments of `lessons`.
#[derive(Debug, Args)]
pub(super) struct LessonsArguments {
    #[command(subcommand)]
    action: LessonsAction,
}

#[derive(Debug, Subcommand)]
enum LessonsAction {
    /// List lessons in the order of learning.
    List(Remote<ListArguments>),
    /// Show one lesson: its text, its evidence and the results of turns with and without it.
    Show(Remote<ShowArguments>),
    /// Retire a lesson: it is no longer recalled.
    Retire(Remote<RetireArguments>),
}

#[derive(Debug, Args)]
struct ListArguments {
    /// List only lessons of this scope: `key:HASH` or `group:NAME`.
    #[arg(long, value_name = "SCOPE")]
    scope: Option<String>,
    /// List only lessons about this toolset.
    #[arg(long, value_name = "NAME")]
    toolset: Option<String>,
    /// List only lessons about a tool of this name.
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// List only lessons with this status.
    #[arg(long, value_enum)]
    status: Option<LearnedStatus>,
    /// `text` as a table for people, `json` as one object per line.
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

#[derive(Debug, Args)]
struct ShowArguments {
    /// Id of the lesson: `les_` and digits.
    id: String,
    /// `text` for people, `json` as one object.
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

#[derive(Debug, Args)]
struct RetireArguments {
    /// Id of the lesson.
    id: String,
    /// Name of the person who decides.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Reason, which is stored with the lesson.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(super) fn run(LessonsArguments { action }: LessonsArguments) -> VerbResult {
    runtime()?.block_on(async {
        match action {
            LessonsAction::List(list) => {
                let (client, ListArguments { scope, toolset, tool, status, format }) = list.connect()?;
                let status = status.map(value_name);
                let filter = [("scope", scope), ("toolset", toolset), ("tool", tool), ("status", status)];
                let filter = filter.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
                self::list(&client, filter, format).await
            }
            LessonsAction::Show(show) => {
                let (client, ShowArguments { id, format }) = show.connect()?;
                let lesson: Value = client.get(&format!("{LESSONS}/{}", segment(&id)), &[]).await?;
                match format {
                    OutputFormat::Json => print_json(&lesson),
                    OutputFormat::Text => out!("{}", details(&lesson)),
                }
                Ok(())
            }
            LessonsAction::Retire(retire) => {
                let (client, RetireArguments { id, by, reason }) = retire.connect()?;
                let body = json!({"by": by, "reason": reason});
                let lesson = client.post(&format!("{LESSONS}/{}/retire", segment(&id)), &body).await?;
                outln!("{} is retired", plain::text(&text(&lesson, "/id")));
                Ok(())
            }
        }
    })
}

/// Page of lessons.
#[derive(Deserialize)]
struct Page {
    items: Vec<Value>,
    next: Option<String>,
}

async fn list(client: &OperatorClient, filter: Vec<(&'static str, String)>, format: OutputFormat) -> VerbResult {
    let (mut lessons, mut after) = (Vec::new(), None::<String>);
    loop {
        let mut query = filter.clone();
        query.push(("limit", PAGE.to_owned()));
        query.extend(after.take().map(|after| ("after", after)));
        let Page { items, next } = client.get(LESSONS, &query).await?;
        lessons.extend(items);
        after = next;
        if after.is_none() {
            break;
        }
    }
    match format {
        OutputFormat::Json => lessons.iter().for_each(print_json),
        OutputFormat::Text if lessons.is_empty() => outln!("no lessons"),
        OutputFormat::Text => out!("{}", table(&lessons)),
    }
    Ok(())
}

fn text(lesson: &Value, pointer: &str) -> String {
    match lesson.pointer(pointer) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => "-".to_owned(),
        Some(other) => other.to_string(),
    }
}

fn tools(lesson: &Value) -> String {
    let tools = lesson.get("tools").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let tools: Vec<&str> = tools.collect();
    if tools.is_empty() { "-".to_owned() } else { tools.join(", ") }
}

fn table(lessons: &[Value]) -> String {
    let id_width = lessons.iter().map(|lesson| text(lesson, "/id").len()).max().unwrap_or_default();
    let numbers = [10, 6, 8, 6].map(Column::Right);
    let mut table =
        TextTable::new([&[Column::Left(id_width)][..], &numbers, &[Column::Left(20), Column::Rest]].concat());
    table.header("ID", &["EVIDENCE", "USES", "HELPED", "HURT", "TOOLS", "LESSON"]);
    for lesson in lessons {
        let evidence = lesson.get("evidence").and_then(Value::as_array).map_or(0, Vec::len);
        let value: String = text(lesson, "/value").chars().take(TEXT_CHARS).collect();
        let retired = if lesson.get("retired").is_some_and(|retired| !retired.is_null()) { "  (retired)" } else { "" };
        table.row(
            &text(lesson, "/id"),
            &[
                evidence.to_string(),
                text(lesson, "/tally/uses"),
                text(lesson, "/tally/helped"),
                text(lesson, "/tally/hurt"),
                tools(lesson),
                value + retired,
            ],
        );
    }
    table.into_text()
}

fn details(lesson: &Value) -> String {
    let mut table = TextTable::new([Column::Left(9), Column::Rest]);
    table.row("id", &[text(lesson, "/id")]);
    table.row("scope", &[text(lesson, "/scope")]);
    table.row("toolset", &[text(lesson, "/toolset")]);
    table.row("tools", &[tools(lesson)]);
    table.row("polarity", &[text(lesson, "/polarity")]);
    table.row("key", &[text(lesson, "/key")]);
    table.row("lesson", &[text(lesson, "/value")]);
    for evidence in lesson.get("evidence").and_then(Value::as_array).into_iter().flatten() {
        let place = [text(evidence, "/trace"), text(evidence, "/source")];
        let place = place.iter().find(|place| *place != "-").cloned().unwrap_or_default();
        table.row("evidence", &[format!("{} {} {place}", text(evidence, "/kind"), text(evidence, "/at"))]);
    }
    let [uses, helped, hurt] = ["/tally/uses", "/tally/helped", "/tally/hurt"].map(|pointer| text(lesson, pointer));
    table.row("tally", &[format!("{uses} uses, {helped} helped, {hurt} hurt")]);
    if lesson.get("retired").is_some_and(|retired| !retired.is_null()) {
        let [at, reason] = ["/retired/at", "/retired/reason"].map(|pointer| text(lesson, pointer));
        table.row("retired", &[format!("{at} {reason}")]);
    }
    table.row("learned", &[format!("{}, changed {}", text(lesson, "/created_at"), text(lesson, "/updated_at"))]);
    table.into_text()
}
