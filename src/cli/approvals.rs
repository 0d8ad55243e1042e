//! `callwright approvals`: lists the calls that need a person's approval, and decides on them.

use clap::{Args, Subcommand, ValueEnum};
use serde::Deserialize;
use serde_json::{Value, json};

use super::errors::VerbResult;
use super::operator::{OperatorClient, Remote, segment, text};
use super::output::{out, outln, print_json};
use super::plain;
use super::setup::runtime;
use super::shared_arguments::{OutputFormat, value_name};
use super::table::{Column, TextTable};

/// Path of the approvals on the operator side.
const APPROVALS: &str = "/admin/approvals";

/// Number of approvals per request.
const PAGE: &str = "100";

/// Arguments of `approvals`.
#[derive(Debug, Args)]
pub(super) struct ApprovalsArguments {
    #[command(subcommand)]
    action: ApprovalsAction,
}

#[derive(Debug, Subcommand)]
enum ApprovalsAction {
    /// List calls, newest first; by default those that wait for a decision.
    List(Remote<ListArguments>),
    /// Show one call with its arguments.
    Show(Remote<ShowArguments>),
    /// Approve one execution of a call.
    Approve(Remote<DecisionArguments>),
    /// Deny the execution of a call.
    Deny(Remote<DecisionArguments>),
}

#[derive(Debug, Args)]
struct ListArguments {
    /// Only calls with this status; `any` for all.
    #[arg(long, value_enum, default_value_t = ListedStatus::Pending)]
    status: ListedStatus,
    /// `text` as a table for people, `json` as one object per line.
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

#[derive(Debug, Args)]
struct ShowArguments {
    /// Id of the approval.
    id: String,
    /// `text` for people, `json` as one object.
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

#[derive(Debug, Args)]
struct DecisionArguments {
    /// Id of the approval.
    id: String,
    /// Name of the person who decides, for the trace.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Comment, which the model reads.
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ListedStatus {
    Pending,
    Approved,
    Denied,
    Expired,
    Withdrawn,
    Used,
    Any,
}

pub(super) fn run(ApprovalsArguments { action }: ApprovalsArguments) -> VerbResult {
    runtime()?.block_on(async {
        match action {
            ApprovalsAction::List(list) => {
                let (client, ListArguments { status, format }) = list.connect()?;
                self::list(&client, status, format).await
            }
            ApprovalsAction::Show(show) => {
                let (client, ShowArguments { id, format }) = show.connect()?;
                let approval: Value = client.get(&format!("{APPROVALS}/{}", segment(&id)), &[]).await?;
                match format {
                    OutputFormat::Json => print_json(&approval),
                    OutputFormat::Text => out!("{}", details(&approval)),
                }
                Ok(())
            }
            ApprovalsAction::Approve(decision) => decide("approve", decision).await,
            ApprovalsAction::Deny(decision) => decide("deny", decision).await,
        }
    })
}

/// Page of approvals.
#[derive(Deserialize)]
struct Page {
    approvals: Vec<Value>,
    next: Option<String>,
}

async fn list(client: &OperatorClient, status: ListedStatus, format: OutputFormat) -> VerbResult {
    let mut query = Vec::new();
    if status != ListedStatus::Any {
        query.push(("status", value_name(status)));
    }
    let (mut approvals, mut before) = (Vec::new(), None::<String>);
    loop {
        let mut query = query.clone();
        query.push(("limit", PAGE.to_owned()));
        query.extend(before.take().map(|before| ("before", before)));
        let Page { approvals: page, next } = client.get(APPROVALS, &query).await?;
        approvals.extend(page);
        before = next;
        if before.is_none() {
            break;
        }
    }
    match format {
        OutputFormat::Json => approvals.iter().for_each(print_json),
        OutputFormat::Text if approvals.is_empty() && status == ListedStatus::Pending => {
            outln!("no calls wait for a decision");
        }
        OutputFormat::Text if approvals.is_empty() => outln!("no calls"),
        OutputFormat::Text => out!("{}", table(&approvals)),
    }
    Ok(())
}

fn table(approvals: &[Value]) -> String {
    let id_width = approvals.iter().map(|approval| text(approval, "id").len()).max().unwrap_or_default();
    let [status, created, toolset, tool] = [9, 20, 16, 24].map(Column::Left);
    let mut table = TextTable::new([Column::Left(id_width), status, created, toolset, tool, Column::Rest]);
    table.header("ID", &["STATUS", "CREATED", "TOOLSET", "TOOL", "TARGET"]);
    for approval in approvals {
        // Seconds are enough for people.
        let created: String = text(approval, "created_at").chars().take(19).collect();
        let target = if approval.get("target").is_some_and(Value::is_string) {
            text(approval, "target")
        } else {
            text(approval, "operation")
        };
        let target = format!("{} {target}", text(approval, "method"));
        table.row(
            &text(approval, "id"),
            &[text(approval, "status"), created, text(approval, "toolset"), text(approval, "tool"), target],
        );
    }
    table.into_text()
}

fn details(approval: &Value) -> String {
    let mut table = TextTable::new([Column::Left(12), Column::Rest]);
    for (name, value) in approval.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        table.row(name, &[value]);
    }
    table.into_text()
}

async fn decide(verb: &str, decision: Remote<DecisionArguments>) -> VerbResult {
    let (client, DecisionArguments { id, by, comment }) = decision.connect()?;
    let body = json!({"by": by, "comment": comment});
    let approval = client.post(&format!("{APPROVALS}/{}/{verb}", segment(&id)), &body).await?;
    let [id, status, tool] = ["id", "status", "tool"].map(|name| plain::text(&text(&approval, name)));
    outln!("{id} ({tool}) is {status}");
    Ok(())
}
