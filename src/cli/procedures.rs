//! `callwright procedures`: lists, shows, imports and removes the procedures of the configured store.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::errors::VerbResult;
use super::output::{outln, print_item, print_list};
use super::procedures_import::{self, ImportArguments};
use super::setup::{all_items, load_config, runtime, with_store};
use super::shared_arguments::{LearnedStatus, OutputFormat};
use super::table::{Column, TextTable, beginning};
use callwright_store::{MemoryFilter, MemoryStatus};
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
        #[arg(long, value_enum, default_value_t)]
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
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

pub(super) fn run(ProceduresArguments { action, config }: ProceduresArguments) -> VerbResult {
    let loaded = load_config(config)?;
    let action = match action {
        ProceduresAction::Import(import) => return procedures_import::run(&import, loaded),
        action => action,
    };
    runtime()?.block_on(with_store(&loaded, async |store| {
        let procedures = store.procedures();
        match action {
            ProceduresAction::List(ListArguments { scope, toolset, tool, status, format }) => {
                let (scope, status) = (scope.map(Scope::from), status.map(MemoryStatus::from));
                let filter = MemoryFilter { scope, toolset, tool, status, ..MemoryFilter::default() };
                print_list(&all_items(procedures, filter).await?, format, "no procedures", table);
            }
            ProceduresAction::Show { id, format } => {
                let absent = || format!("there is no procedure `{id}`; see `callwright procedures list`");
                let procedure = procedures.find(&id).await?.ok_or_else(absent)?;
                print_item(&procedure, format, details);
            }
            ProceduresAction::Rm { ids } => {
                let (named, gone) = (ids.len() as u64, procedures.remove(&ids).await?);
                outln!("{gone} removed");
                if gone < named {
                    let absent = named - gone;
                    let message = "procedures do not exist; see `callwright procedures list`";
                    return Err(format!("{absent} of {named} {message}").into());
                }
            }
            ProceduresAction::Import(_) => {}
        }
        Ok(())
    }))
}

/// Returns a table with one line per procedure.
fn table(procedures: &[Procedure]) -> TextTable {
    let numbers = [7, 10, 7, 8, 8].map(Column::Right);
    let mut table = TextTable::new([&[Column::Left(0)][..], &numbers, &[Column::Rest]].concat());
    table.header("ID", &["STEPS", "EVIDENCE", "USES", "HELPED", "HURT", "GIVES"]);
    for Procedure { id, steps, evidence, tally, output, retired, .. } in procedures {
        let counts = [steps.len() as u64, evidence.len() as u64, tally.uses, tally.helped, tally.hurt];
        let [steps, evidence, uses, helped, hurt] = counts.map(|count| count.to_string());
        table.row(id, &[steps, evidence, uses, helped, hurt, beginning(output, retired.is_some())]);
    }
    table
}

/// Returns all details of one procedure.
fn details(procedure: &Procedure) -> TextTable {
    let mut table = TextTable::new([Column::Left(8), Column::Rest]);
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
    table
}
