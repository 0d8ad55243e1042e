//! `callwright lessons`: lists, shows and retires the learned lessons of a running proxy.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::errors::VerbResult;
use super::operator::{Pages, Remote, Resource, text};
use super::output::{outln, print_item, print_list};
use super::plain;
use super::setup::runtime;
use super::shared_arguments::{LearnedStatus, OutputFormat, value_name};
use super::table::{Column, TextTable, beginning};

/// The lessons on the operator side.
const LESSONS: Resource = Resource { path: "/admin/lessons", items: "items", cursor: "after" };

// A doc comment would replace that of the subcommand in `CliVerb`.
#[derive(Debug, Subcommand)]
pub(super) enum LessonsAction {
    /// List lessons in the order of learning.
    List(Remote<ListArguments>),
    /// Show one lesson: its text, its evidence and the results of turns with and without it.
    Show(Remote<ShowArguments>),
    /// Retire a lesson: it is no longer recalled.
    Retire(Remote<RetireArguments>),
}

#[derive(Debug, Args)]
pub(super) struct ListArguments {
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
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

#[derive(Debug, Args)]
pub(super) struct ShowArguments {
    /// Id of the lesson: `les_` and digits.
    id: String,
    /// `text` for people, `json` as one object.
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

#[derive(Debug, Args)]
pub(super) struct RetireArguments {
    /// Id of the lesson.
    id: String,
    /// Name of the person who decides.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Reason, which is stored with the lesson.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(super) fn run(action: LessonsAction) -> VerbResult {
    runtime()?.block_on(async {
        match action {
            LessonsAction::List(list) => {
                let (client, ListArguments { scope, toolset, tool, status, format }) = list.connect()?;
                let filter =
                    [("scope", scope), ("toolset", toolset), ("tool", tool), ("status", status.map(value_name))];
                let filter = filter.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
                let lessons = Pages::new(&client, LESSONS, filter, 0).all().await?;
                print_list(&lessons, format, "no lessons", table);
            }
            LessonsAction::Show(show) => {
                let (client, ShowArguments { id, format }) = show.connect()?;
                print_item(&client.get(&LESSONS.item(&id), &[]).await?, format, details);
            }
            LessonsAction::Retire(retire) => {
                let (client, RetireArguments { id, by, reason }) = retire.connect()?;
                let body = json!({"by": by, "reason": reason});
                let lesson = client.post(&format!("{}/retire", LESSONS.item(&id)), &body).await?;
                outln!("{} is retired", plain::text(&text(&lesson, "id")));
            }
        }
        Ok(())
    })
}

fn array<'a>(lesson: &'a Value, name: &str) -> &'a [Value] {
    lesson.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn tools(lesson: &Value) -> String {
    let tools: Vec<&str> = array(lesson, "tools").iter().filter_map(Value::as_str).collect();
    if tools.is_empty() { "-".to_owned() } else { tools.join(", ") }
}

fn table(lessons: &[Value]) -> TextTable {
    let numbers = [10, 6, 8, 6].map(Column::Right);
    let mut table = TextTable::new([&[Column::Left(0)][..], &numbers, &[Column::Left(20), Column::Rest]].concat());
    table.header("ID", &["EVIDENCE", "USES", "HELPED", "HURT", "TOOLS", "LESSON"]);
    for lesson in lessons {
        let [id, uses, helped, hurt, value] =
            ["id", "tally/uses", "tally/helped", "tally/hurt", "value"].map(|name| text(lesson, name));
        let evidence = array(lesson, "evidence").len().to_string();
        let value = beginning(&value, lesson.get("retired").is_some_and(|retired| !retired.is_null()));
        table.row(&id, &[evidence, uses, helped, hurt, tools(lesson), value]);
    }
    table
}

fn details(lesson: &Value) -> TextTable {
    let mut table = TextTable::new([Column::Left(9), Column::Rest]);
    table.row("id", &[text(lesson, "id")]);
    table.row("scope", &[text(lesson, "scope")]);
    table.row("toolset", &[text(lesson, "toolset")]);
    table.row("tools", &[tools(lesson)]);
    table.row("polarity", &[text(lesson, "polarity")]);
    table.row("key", &[text(lesson, "key")]);
    table.row("lesson", &[text(lesson, "value")]);
    for evidence in array(lesson, "evidence") {
        let [kind, at, trace, source] = ["kind", "at", "trace", "source"].map(|name| text(evidence, name));
        let place = [trace, source].into_iter().find(|place| place != "-").unwrap_or_default();
        table.row("evidence", &[format!("{kind} {at} {place}")]);
    }
    let [uses, helped, hurt] = ["tally/uses", "tally/helped", "tally/hurt"].map(|name| text(lesson, name));
    table.row("tally", &[format!("{uses} uses, {helped} helped, {hurt} hurt")]);
    if lesson.get("retired").is_some_and(|retired| !retired.is_null()) {
        table.row("retired", &[format!("{} {}", text(lesson, "retired/at"), text(lesson, "retired/reason"))]);
    }
    table.row("learned", &[format!("{}, changed {}", text(lesson, "created_at"), text(lesson, "updated_at"))]);
    table
}
