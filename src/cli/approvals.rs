//! `callwright approvals`: lists the calls that need a person's approval, and decides on them.

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::errors::VerbResult;
use super::operator::{Pages, Remote, Resource, text};
use super::output::{outln, print_item, print_list};
use super::plain;
use super::setup::runtime;
use super::shared_arguments::OutputFormat;
use super::table::{Column, TextTable};
use callwright_types::ApprovalStatus;

/// The approvals on the operator side.
const APPROVALS: Resource = Resource { path: "/admin/approvals", items: "approvals", cursor: "before" };

// A doc comment would replace that of the subcommand in `CliVerb`.
#[derive(Debug, Subcommand)]
pub(super) enum ApprovalsAction {
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
pub(super) struct ListArguments {
    /// Only calls with this status; `any` for all.
    #[arg(long, default_value = ApprovalStatus::Pending.label(), value_parser = statuses())]
    status: String,
    /// `text` as a table for people, `json` as one object per line.
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

#[derive(Debug, Args)]
pub(super) struct ShowArguments {
    /// Id of the approval.
    id: String,
    /// `text` for people, `json` as one object.
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

#[derive(Debug, Args)]
pub(super) struct DecisionArguments {
    /// Id of the approval.
    id: String,
    /// Name of the person who decides, for the trace.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Comment, which the model reads.
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
}

/// Value of `--status` that means every status.
const ANY: &str = "any";

fn statuses() -> PossibleValuesParser {
    ApprovalStatus::ALL.map(ApprovalStatus::label).into_iter().chain([ANY]).into()
}

pub(super) fn run(action: ApprovalsAction) -> VerbResult {
    runtime()?.block_on(async {
        match action {
            ApprovalsAction::List(list) => {
                let (client, ListArguments { status, format }) = list.connect()?;
                let none =
                    if status == ApprovalStatus::Pending.label() { "no calls wait for a decision" } else { "no calls" };
                let query = if status == ANY { Vec::new() } else { vec![("status", status)] };
                let approvals = Pages::new(&client, APPROVALS, query, 0).all().await?;
                print_list(&approvals, format, none, table);
            }
            ApprovalsAction::Show(show) => {
                let (client, ShowArguments { id, format }) = show.connect()?;
                print_item(&client.get(&APPROVALS.item(&id), &[]).await?, format, details);
            }
            ApprovalsAction::Approve(decision) => decide("approve", decision).await?,
            ApprovalsAction::Deny(decision) => decide("deny", decision).await?,
        }
        Ok(())
    })
}

fn table(approvals: &[Value]) -> TextTable {
    let [status, toolset, tool] = [9, 16, 24].map(Column::Left);
    let mut table = TextTable::new([Column::Left(0), status, Column::Left(19), toolset, tool, Column::Rest]);
    table.header("ID", &["STATUS", "CREATED", "TOOLSET", "TOOL", "TARGET"]);
    for approval in approvals {
        let [id, status, created, toolset, tool, method, target, operation] =
            ["id", "status", "created_at", "toolset", "tool", "method", "target", "operation"]
                .map(|name| text(approval, name));
        // Seconds are enough for people.
        let created = created.chars().take(19).collect();
        let target = if target == "-" { operation } else { target };
        table.row(&id, &[status, created, toolset, tool, format!("{method} {target}")]);
    }
    table
}

fn details(approval: &Value) -> TextTable {
    let mut table = TextTable::new([Column::Left(12), Column::Rest]);
    for (name, value) in approval.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        table.row(name, &[value.as_str().map_or_else(|| value.to_string(), str::to_owned)]);
    }
    table
}

async fn decide(verb: &str, decision: Remote<DecisionArguments>) -> VerbResult {
    let (client, DecisionArguments { id, by, comment }) = decision.connect()?;
    let body = json!({"by": by, "comment": comment});
    let approval = client.post(&format!("{}/{verb}", APPROVALS.item(&id)), &body).await?;
    let [id, status, tool] = ["id", "status", "tool"].map(|name| plain::text(&text(&approval, name)));
    outln!("{id} ({tool}) is {status}");
    Ok(())
}
