//! `callwright traces`: lists, shows, exports and follows the traces of a running proxy.

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde_json::Value;

use super::errors::VerbResult;
use super::operator::{OperatorClient, Pages, Query, Remote, Resource, text};
use super::output::{self, out, outln, print_json};
use super::plain;
use super::setup::runtime;
use super::shared_arguments::{OutputFormat, value_name};
use super::table::{Column, TextTable};
use crate::app;
use callwright_store::parse_time;

/// The traces on the operator side.
pub(super) const TRACES: Resource = Resource { path: "/admin/traces", items: "traces", cursor: "cursor" };

/// Number of the newest traces that `tail` compares in each poll.
const TAIL_PAGE: u64 = 200;

/// Number of ids that `tail` remembers.
const REMEMBERED: usize = 10_000;

/// Time between two queries of `tail`.
const TAIL_PAUSE: Duration = Duration::from_secs(1);

// A doc comment would replace that of the subcommand in `CliVerb`.
#[derive(Debug, Subcommand)]
pub(super) enum TracesAction {
    /// List traces, newest first.
    List(Remote<ListArguments>),
    /// Show one trace: what the model called, what was found, repaired and sent back, and what tool APIs answered.
    Show(Remote<ShowArguments>),
    /// Export traces in full as JSON Lines, newest first, as `callwright replay` and `callwright learn` read them.
    Export(Remote<ExportArguments>),
    /// Print traces as they are stored, until SIGINT or SIGTERM.
    Tail(Remote<TailArguments>),
}

#[derive(Debug, Args)]
pub(super) struct ListArguments {
    #[command(flatten)]
    filter: FilterArguments,
    /// Maximum number of traces; 0: all.
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u64,
    /// `text` as a table for people, `json` as one object per line.
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

#[derive(Debug, Args)]
pub(super) struct ShowArguments {
    /// Id of the trace: the response header `x-callwright-trace`.
    id: String,
    /// `text` for people, `json` as stored.
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

#[derive(Debug, Args)]
pub(super) struct ExportArguments {
    #[command(flatten)]
    filter: FilterArguments,
    /// Maximum number of traces; 0: all.
    #[arg(long, value_name = "N", default_value_t = 0)]
    limit: u64,
    /// Output file; `-` is standard output.
    #[arg(long, value_name = "FILE", default_value = "-")]
    out: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct TailArguments {
    #[command(flatten)]
    filter: FilterArguments,
    /// `text` as a table for people, `json` as one object per line.
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

/// Filter of traces: all given options must match.
#[derive(Debug, Args)]
pub(super) struct FilterArguments {
    /// Only turns with this verdict.
    #[arg(long, value_name = "VERDICT")]
    verdict: Option<String>,
    /// Only turns with this model name, as the client sent it.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Only turns of this session.
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Only turns with this policy.
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// Only turns with the virtual key of this name or id.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Only turns in this mode: guard, shadow or off.
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
    /// Only turns whose response has this status.
    #[arg(long, value_name = "STATUS")]
    status: Option<u16>,
    /// Only turns with a call of this tool.
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Only turns with this finding: KIND:NAME, such as fault:E3.4 or repair:tool_renamed.
    #[arg(long, value_name = "FINDING")]
    finding: Option<String>,
    /// Only turns since this time: an age such as `-1h` or `-2d`, or a time such as 2026-01-31T08:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    since: Option<Timestamp>,
    /// Only turns before this time, in the same forms.
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    until: Option<Timestamp>,
}

fn time(text: &str) -> Result<Timestamp, String> {
    parse_time(text, Timestamp::now())
}

impl FilterArguments {
    fn into_query(self) -> Query {
        let fields = [
            ("verdict", self.verdict),
            ("model", self.model),
            ("session", self.session),
            ("policy", self.policy),
            ("key", self.key),
            ("mode", self.mode),
            ("status", self.status.map(|status| status.to_string())),
            ("tool", self.tool),
            ("finding", self.finding),
            ("since", self.since.map(|time| time.to_string())),
            ("until", self.until.map(|time| time.to_string())),
        ];
        fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

pub(super) fn run(action: TracesAction) -> VerbResult {
    runtime()?.block_on(async {
        match action {
            TracesAction::List(list) => {
                let (client, ListArguments { filter, limit, format }) = list.connect()?;
                self::list(Pages::new(&client, TRACES, filter.into_query(), limit), format).await
            }
            TracesAction::Show(show) => {
                let (client, ShowArguments { id, format }) = show.connect()?;
                let query = [("format", value_name(format))];
                let text = client.text(&TRACES.item(&id), &query).await?;
                match format {
                    OutputFormat::Json => outln!("{}", plain::json(text)),
                    OutputFormat::Text => outln!("{}", plain::lines(text.trim_end())),
                }
                Ok(())
            }
            TracesAction::Export(export) => {
                let (client, ExportArguments { filter, limit, out }) = export.connect()?;
                self::export(&client, Pages::new(&client, TRACES, filter.into_query(), limit), &out).await
            }
            TracesAction::Tail(tail) => {
                let (client, TailArguments { filter, format }) = tail.connect()?;
                let filter = filter.into_query();
                tokio::select! {
                    done = self::tail(&client, &filter, format) => done,
                    _ = app::termination_requested() => Ok(()),
                }
            }
        }
    })
}

async fn list(mut pages: Pages<'_>, format: OutputFormat) -> VerbResult {
    let mut is_first = true;
    loop {
        let traces = pages.next().await?;
        if traces.is_empty() || output::is_closed() {
            break;
        }
        print(&traces, format, is_first);
        is_first = false;
    }
    if is_first && format == OutputFormat::Text {
        outln!("no traces");
    }
    Ok(())
}

/// Prints traces; the first ones with the header line.
fn print(traces: &[Value], format: OutputFormat, is_first: bool) {
    if format == OutputFormat::Json {
        traces.iter().for_each(print_json);
        return;
    }
    let [time, trace, verdict, model, policy] = [20, 32, 10, 16, 16].map(Column::Left);
    let [status, duration] = [8, 9].map(Column::Right);
    let mut table = TextTable::new([time, trace, verdict, status, duration, model, policy, Column::Rest]);
    if is_first {
        table.header("TIME", &["TRACE", "VERDICT", "STATUS", "MS", "MODEL", "POLICY", "SESSION"]);
    }
    for trace in traces {
        let started = text(trace, "started_at").parse::<Timestamp>();
        let duration = trace.get("duration_ms").and_then(Value::as_f64).unwrap_or_default();
        let [id, verdict, status, model, policy, session] =
            ["id", "verdict", "status", "model", "policy", "session"].map(|name| text(trace, name));
        table.row(
            &started.map_or_else(|_| "-".to_owned(), |time| format!("{time:.0}")),
            &[id, verdict, status, format!("{duration:.0}"), model, policy, session],
        );
    }
    out!("{}", table.into_text());
}

async fn export(client: &OperatorClient, mut pages: Pages<'_>, file: &Path) -> VerbResult {
    let mut sink = match file == Path::new("-") {
        true => None,
        false => Some(BufWriter::new(File::create(file).map_err(|error| unwritable(file, &error))?)),
    };
    let mut count = 0_u64;
    loop {
        let traces = pages.next().await?;
        if traces.is_empty() || output::is_closed() {
            break;
        }
        for row in traces {
            let trace: Value = client.get(&TRACES.item(&text(&row, "id")), &[]).await?;
            match &mut sink {
                Some(sink) => writeln!(sink, "{trace}").map_err(|error| unwritable(file, &error))?,
                None => print_json(&trace),
            }
            count += 1;
        }
    }
    if let Some(mut sink) = sink {
        sink.flush().map_err(|error| unwritable(file, &error))?;
        anstream::eprintln!("{count} traces exported");
    }
    Ok(())
}

fn unwritable(file: &Path, error: &std::io::Error) -> String {
    format!("--out: {}: {error}", file.display())
}

/// Ids of the traces that were seen; the oldest are forgotten.
#[derive(Default)]
struct SeenIds {
    order: VecDeque<String>,
    ids: HashSet<String>,
}

impl SeenIds {
    /// Adds an id; returns whether it is new.
    fn add(&mut self, id: &str) -> bool {
        if !self.ids.insert(id.to_owned()) {
            return false;
        }
        self.order.push_back(id.to_owned());
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
        true
    }
}

/// Polls the newest traces, because a trace is stored after its turn and a long turn arrived earlier than those before
/// it.
async fn tail(client: &OperatorClient, filter: &Query, format: OutputFormat) -> VerbResult {
    let mut seen = SeenIds::default();
    let mut is_first = true;
    loop {
        let mut new = news(client, filter, &mut seen, is_first).await?;
        if is_first {
            // The newest ones show that it works.
            new.truncate(10);
        }
        new.reverse();
        if !new.is_empty() || is_first {
            print(&new, format, is_first);
            is_first = false;
        }
        if output::is_closed() {
            return Ok(());
        }
        tokio::time::sleep(TAIL_PAUSE).await;
    }
}

/// Returns the traces that were not seen before, newest first.
async fn news(
    client: &OperatorClient,
    filter: &Query,
    seen: &mut SeenIds,
    is_first: bool,
) -> Result<Vec<Value>, String> {
    let mut pages = Pages::new(client, TRACES, filter.clone(), 0);
    pages.page = TAIL_PAGE;
    let mut new = Vec::new();
    loop {
        let traces = pages.next().await?;
        let all = new.len() + traces.len();
        new.extend(traces.into_iter().filter(|trace| seen.add(&text(trace, "id"))));
        // A page with a known trace is followed by known ones.
        if is_first || new.len() < all || pages.is_done {
            return Ok(new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_new_once_and_the_oldest_are_forgotten() {
        let mut seen = SeenIds::default();
        assert!(seen.add("a") && !seen.add("a"));
        (0..REMEMBERED).for_each(|number| assert!(seen.add(&number.to_string())));
        assert!(seen.add("a") && seen.ids.len() == REMEMBERED);
    }
}
