//! `callwright procedures`: lists, shows, imports and removes the procedures of the configured store.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::errors::VerbResult;
use super::memory_store::{MemoryStore, all_items};
use super::output::{out, outln, print_json};
use super::plain;
use super::procedures_import::{self, ImportArguments};
use super::setup::runtime;
use super::shared_arguments::{LearnedStatus, OutputFormat};
use super::table::{Column, TextTable};
use callwright_store::{MemoryFilter, MemoryStatus, Procedures};
use callwright_types::memory::ProcedureInput;
use callwright_types::{Evidence, Procedure, Scope, UsageCounter};

/// Arguments of `procedures`.
#[derive(Debug, Args)]
pub(super) struct ProceduresArguments {
    #[command(subcommand)]
    action: ProceduresAction,
    /// Configuration file with the store. Default: as for `serve`.
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum ProceduresAction {
    /// List procedures, oldest first.
    List(ListArguments),
    /// Show one procedure: inputs, output, steps and evidence.
    Show {
        /// Id of the procedure: `pro_` and digits.
        id: String,
        /// `text` for people, `json` as one object.
        #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
        format: OutputFormat,
    },
    /// Import procedures from Markdown runbooks.
    Import(ImportArguments),
    /// Remove procedures. Proxies that share the store apply this at once.
    Rm {
        /// Ids of the procedures.
        #[arg(required = true)]
        ids: Vec<String>,
    },
}

#[derive(Debug, Args)]
struct ListArguments {
    /// List only procedures of this scope: `key:HASH` or `group:NAME`.
    #[arg(long, value_name = "SCOPE")]
    scope: Option<String>,
    /// List only procedures with a tool of this toolset.
    #[arg(long, value_name = "NAME")]
    toolset: Option<String>,
    /// List only procedures that call this tool.
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// List only procedures of this status.
    #[arg(long, value_enum)]
    status: Option<LearnedStatus>,
    /// `text` as a table for people, `json` as one object per line.
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

/// Error that a requested procedure does not exist.
#[derive(Debug, thiserror::Error)]
enum Absent {
    #[error("there is no procedure `{0}`; see `callwright procedures list`")]
    One(String),
    #[error("{absent} of {named} procedures do not exist; see `callwright procedures list`")]
    Some { absent: u64, named: u64 },
}

pub(super) fn run(arguments: ProceduresArguments) -> VerbResult {
    match arguments.action {
        ProceduresAction::Import(import) => procedures_import::run(&import, arguments.config),
        action => runtime()?.block_on(act(ProceduresArguments { action, ..arguments })),
    }
}

async fn act(ProceduresArguments { action, config }: ProceduresArguments) -> VerbResult {
    let MemoryStore { store, .. } = MemoryStore::open(config).await?;
    let procedures = store.procedures();
    let done = match action {
        ProceduresAction::List(list) => self::list(procedures, list).await,
        ProceduresAction::Show { id, format } => show(procedures, id, format).await,
        ProceduresAction::Rm { ids } => remove(procedures, ids).await,
        ProceduresAction::Import(_) => Ok(()),
    };
    store.close().await;
    done
}

async fn list(procedures: &Procedures, arguments: ListArguments) -> VerbResult {
    let ListArguments { scope, toolset, tool, status, format } = arguments;
    let status = status.map(MemoryStatus::from);
    let filter = MemoryFilter { scope: scope.map(Scope::from), toolset, tool, status, ..MemoryFilter::default() };
    let found = all_items(procedures, filter).await?;
    match format {
        OutputFormat::Json => found.iter().for_each(print_json),
        OutputFormat::Text => out!("{}", table(&found)),
    }
    Ok(())
}

async fn show(procedures: &Procedures, id: String, format: OutputFormat) -> VerbResult {
    let procedure = procedures.find(&id).await?.ok_or(Absent::One(id))?;
    match format {
        OutputFormat::Json => print_json(&procedure),
        OutputFormat::Text => out!("{}", details(&procedure)),
    }
    Ok(())
}

async fn remove(procedures: &Procedures, ids: Vec<String>) -> VerbResult {
    let (named, gone) = (ids.len() as u64, procedures.remove(&ids).await?);
    outln!("{gone} removed");
    if gone < named { Err(Absent::Some { absent: named - gone, named }.into()) } else { Ok(()) }
}

/// Maximum number of printed characters of a procedure's output.
const OUTPUT_CHARS: usize = 60;

/// Width of the names of details.
const DETAIL_WIDTH: usize = 8;

/// Returns a table with one line per procedure.
fn table(procedures: &[Procedure]) -> String {
    let Some(id_width) = procedures.iter().map(|procedure| procedure.id.len()).max() else {
        return "no procedures\n".to_owned();
    };
    let numbers = [7, 10, 7, 8, 8].map(Column::Right);
    let mut table = TextTable::new([&[Column::Left(id_width)][..], &numbers, &[Column::Rest]].concat());
    table.header("ID", &["STEPS", "EVIDENCE", "USES", "HELPED", "HURT", "GIVES"]);
    for procedure in procedures {
        let gives: String = plain::text(&procedure.output).chars().take(OUTPUT_CHARS).collect();
        let retired = if procedure.retired.is_some() { "  (retired)" } else { "" };
        let tally = procedure.tally;
        table.row(
            &procedure.id,
            &[
                procedure.steps.len().to_string(),
                procedure.evidence.len().to_string(),
                tally.uses.to_string(),
                tally.helped.to_string(),
                tally.hurt.to_string(),
                gives + retired,
            ],
        );
    }
    table.into_text()
}

/// Returns all details of one procedure.
fn details(procedure: &Procedure) -> String {
    let mut table = TextTable::new([Column::Left(DETAIL_WIDTH), Column::Rest]);
    table.row("id", &[&procedure.id]);
    table.row("scope", &[procedure.scope.as_str()]);
    table.row("toolsets", &[procedure.toolsets.join(", ")]);
    table.row("gives", &[&procedure.output]);
    for ProcedureInput { name, description } in &procedure.input {
        table.row("needs", &[if description.is_empty() { name.clone() } else { format!("{name}: {description}") }]);
    }
    for (number, step) in (1..).zip(&procedure.steps) {
        table.row(&format!("step {number}"), &[step]);
    }
    for Evidence { kind, trace, source, at, .. } in &procedure.evidence {
        let place = trace.as_deref().or(source.as_deref()).unwrap_or_default();
        table.row("evidence", &[format!("{} {at} {place}", kind.label())]);
    }
    let UsageCounter { uses, helped, hurt, withheld, withheld_hurt, .. } = procedure.tally;
    let uses = format!("{uses} uses, {helped} helped, {hurt} hurt");
    table.row("tally", &[format!("{uses}; withheld from {withheld} turns, {withheld_hurt} of them hurt")]);
    if let Some(retired) = &procedure.retired {
        table.row("retired", &[format!("{} {}", retired.at, retired.reason)]);
    }
    table.row("learned", &[format!("{}, changed {}", procedure.created_at, procedure.updated_at)]);
    table.into_text()
}
