//! `callwright procedures`: lists, shows and removes the procedures of the configured store.

mod table;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::errors::VerbResult;
use super::format::OutputFormat;
use super::memory_store::MemoryStore;
use callwright_store::{MemoryFilter, MemoryStatus, Procedures, StoreError};
use callwright_types::{Procedure, Scope};

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
    status: Option<ListedStatus>,
    /// `text` as a table for people, `json` as one object per line.
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ListedStatus {
    /// In use.
    Active,
    /// No longer in use.
    Retired,
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
    super::runtime()?.block_on(act(arguments))
}

async fn act(ProceduresArguments { action, config }: ProceduresArguments) -> VerbResult {
    let MemoryStore { store, .. } = MemoryStore::open(config).await?;
    let procedures = store.procedures();
    let done = match action {
        ProceduresAction::List(list) => self::list(procedures, list).await,
        ProceduresAction::Show { id, format } => show(procedures, id, format).await,
        ProceduresAction::Rm { ids } => remove(procedures, ids).await,
    };
    store.close().await;
    done
}

async fn list(procedures: &Procedures, arguments: ListArguments) -> VerbResult {
    let ListArguments { scope, toolset, tool, status, format } = arguments;
    let status = status.map(|status| match status {
        ListedStatus::Active => MemoryStatus::Active,
        ListedStatus::Retired => MemoryStatus::Retired,
    });
    let filter = MemoryFilter { scope: scope.map(Scope::from), toolset, tool, status, ..MemoryFilter::default() };
    let found = pages(procedures, filter).await?;
    match format {
        OutputFormat::Json => found.iter().for_each(print_json),
        OutputFormat::Text => anstream::print!("{}", table::table(&found)),
    }
    Ok(())
}

async fn pages(procedures: &Procedures, mut filter: MemoryFilter) -> Result<Vec<Procedure>, StoreError> {
    let mut all = Vec::new();
    loop {
        let page = procedures.page(&filter).await?;
        all.extend(page.items);
        filter.after = page.next;
        if filter.after.is_none() {
            return Ok(all);
        }
    }
}

async fn show(procedures: &Procedures, id: String, format: OutputFormat) -> VerbResult {
    let procedure = procedures.find(&id).await?.ok_or(Absent::One(id))?;
    match format {
        OutputFormat::Json => print_json(&procedure),
        OutputFormat::Text => anstream::print!("{}", table::whole(&procedure)),
    }
    Ok(())
}

async fn remove(procedures: &Procedures, ids: Vec<String>) -> VerbResult {
    let (named, gone) = (ids.len() as u64, procedures.remove(&ids).await?);
    anstream::println!("{gone} removed");
    if gone < named { Err(Absent::Some { absent: named - gone, named }.into()) } else { Ok(()) }
}

fn print_json(procedure: &Procedure) {
    anstream::println!("{}", super::plain::json(callwright_common::json::raw(procedure).get().to_owned()));
}
