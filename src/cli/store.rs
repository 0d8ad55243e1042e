//! `callwright store`: exports, imports and deletes stored data.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use jiff::{SignedDuration, Timestamp};
use tokio::runtime::Handle;

use super::errors::{BadLines, VerbResult};
use super::output::outln;
use super::progress::answer_lines;
use super::setup::{load_config, runtime, with_store};
use crate::config::LoadedConfig;
use callwright_common::digest;
use callwright_lab as offline;
use callwright_store::{Deletion, DeletionCounts, RecoveredTraces, Store};
use callwright_types::ids;

/// Arguments of `store`.
#[derive(Debug, Args)]
pub(super) struct StoreArguments {
    #[command(subcommand)]
    action: StoreAction,
    /// Configuration file with the `[store]`. Default: as for `serve`.
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum StoreAction {
    /// Export all stored data except vectors and tokens as JSON Lines. A proxy may run meanwhile.
    Export {
        /// Output file of the lines; compressed if the name ends in .gz. `-` is standard output.
        #[arg(long = "out", value_name = "FILE", default_value = "-")]
        output: PathBuf,
    },
    /// Import what `export` wrote. Existing data that is the same or newer is kept, so an import can be repeated. Exit
    /// status 1 if a line could not be used.
    Import {
        /// Input file of the lines; gzip is accepted. `-` is standard input.
        #[arg(long = "in", value_name = "FILE", default_value = "-")]
        input: PathBuf,
    },
    /// Delete traces with their verdicts and turn state, and the evidence that lessons, procedures, representations and
    /// samples have from them. Those without any other evidence are deleted too.
    #[command(group = clap::ArgGroup::new("what").required(true).multiple(true))]
    Delete {
        /// Delete by client: its key, the hash that traces call `tenant`, or the id of a virtual key.
        #[arg(long, value_name = "KEY", group = "what")]
        key: Vec<String>,
        /// Delete by session.
        #[arg(long, value_name = "SESSION", group = "what")]
        session: Vec<String>,
        /// Delete what is older than this number of days.
        #[arg(long, value_name = "DAYS", group = "what")]
        older_than: Option<u32>,
    },
}

pub(super) fn run(StoreArguments { action, config: file }: StoreArguments) -> VerbResult {
    let loaded = load_config(file)?;
    match action {
        StoreAction::Export { output } => transfer(&loaded, |store, runtime| {
            answer_lines(
                &output,
                |progress| offline::export(store, output.clone(), runtime, progress),
                |summary, _| anstream::eprintln!("{} items exported", summary.items),
                |summary| BadLines { problems: summary.problems, lines: summary.items + summary.problems },
            )
        }),
        StoreAction::Import { input } => transfer(&loaded, |store, runtime| {
            answer_lines(
                // Nothing goes to standard output, so the progress bar may be shown.
                Path::new(""),
                |progress| offline::import(store, input, runtime, progress),
                |summary, _| {
                    anstream::eprintln!("{} items imported, {} existed already", summary.written, summary.known);
                },
                |summary| BadLines { problems: summary.problems, lines: summary.lines },
            )
        }),
        StoreAction::Delete { key, session, older_than } => delete(&loaded, &key, session, older_than),
    }
}

/// Runs a transfer, which waits for the store on a thread that is none of the runtime's.
fn transfer(loaded: &LoadedConfig, work: impl FnOnce(&Store, &Handle) -> VerbResult) -> VerbResult {
    let runtime = runtime()?;
    let store = runtime.block_on(Store::open_beside(&loaded.settings.store, &loaded.base_dir))?;
    let result = work(&store, runtime.handle());
    runtime.block_on(store.close());
    result
}

fn delete(loaded: &LoadedConfig, keys: &[String], sessions: Vec<String>, older_than: Option<u32>) -> VerbResult {
    let age = older_than.map(|days| SignedDuration::from_hours(i64::from(days) * 24));
    let before = age.map(|age| Timestamp::now().checked_sub(age)).transpose()?;
    let deletion = Deletion { tenants: keys.iter().flat_map(|key| tenants(key)).collect(), sessions, before };
    let (taken, deleted) = runtime()?.block_on(with_store(loaded, async |store| {
        // Traces spilled on disk would otherwise reach the store later and remain there.
        let taken = store.recover_traces(&loaded.settings.store, &loaded.base_dir).await?;
        Ok((taken, store.delete(&deletion).await?))
    }))?;
    print(taken);
    let DeletionCounts { traces, feedback, turn_state, lessons, procedures, representations, samples } = deleted;
    outln!("{traces} traces, {feedback} verdicts and {turn_state} rows of turn state deleted");
    for (kind, forgot) in
        [("lessons", lessons), ("procedures", procedures), ("representations", representations), ("samples", samples)]
    {
        outln!("{kind}: {} deleted, {} lost part of their evidence", forgot.removed, forgot.changed);
    }
    Ok(())
}

/// Reports the traces that were spilled on disk.
fn print(RecoveredTraces { traces, lost, held }: RecoveredTraces) {
    if traces + lost > 0 {
        anstream::eprintln!(
            "{traces} traces spilled on disk were included; {lost} unreadable lines there were dropped"
        );
    }
    if held > 0 {
        anstream::eprintln!(
            "a running proxy keeps traces in {held} files of `store.spill_dir`: repeat the deletion when its metric callwright_traces_on_disk_bytes is 0"
        );
    }
}

/// Returns the tenant hashes of a client with this key; the header field in which the client sends it is unknown.
fn tenants(key: &str) -> Vec<String> {
    // Tenants are SHA-256 hashes in hexadecimal digits.
    if key.len() == 64 && key.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return vec![key.to_ascii_lowercase()];
    }
    if key.starts_with(ids::KEY_ID) {
        return vec![key.to_owned()];
    }
    [key.to_owned(), format!("Bearer {key}")].iter().map(|field| digest::tenant(field.as_bytes())).collect()
}
