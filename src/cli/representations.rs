//! `callwright representations`: manages the tool representations that replicas share through the configured store.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use jiff::Timestamp;

use super::errors::VerbResult;
use super::output::{outln, print_list};
use super::setup::{all_items, load_config, runtime, with_store};
use super::shared_arguments::OutputFormat;
use super::table::{Column, TextTable};
use callwright_memory::representation::{RepresentationFile, shared_classifier_id, shared_id};
use callwright_store::{MemoryFilter, Representations};
use callwright_types::representation::SharedRepresentation;

/// Arguments of `representations`.
#[derive(Debug, Args)]
pub(super) struct RepresentationsArguments {
    #[command(subcommand)]
    action: RepresentationsAction,
    /// Configuration file with the `[store]`. Default: as for `serve`.
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum RepresentationsAction {
    /// List the tools with a shared representation.
    List {
        /// List only tools of this toolset.
        #[arg(long, value_name = "NAME")]
        toolset: Option<String>,
        /// `text` as a table for people, `json` as one object per line.
        #[arg(long, value_enum, default_value_t)]
        format: OutputFormat,
    },
    /// Share the tools' representations of files. They take precedence over the files of all proxies with this store at
    /// once.
    Put {
        /// Representation files.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Remove the shared representations of tools; the representations of files apply again.
    Rm {
        /// Toolset of the tools. Default: tools that clients send.
        #[arg(long, value_name = "NAME")]
        toolset: Option<String>,
        /// Remove the classifier of the toolset.
        #[arg(long)]
        classifier: bool,
        /// Names of the tools.
        #[arg(required_unless_present = "classifier")]
        tools: Vec<String>,
    },
}

pub(super) fn run(RepresentationsArguments { action, config: file }: RepresentationsArguments) -> VerbResult {
    let loaded = load_config(file)?;
    runtime()?.block_on(with_store(&loaded, async |store| {
        let representations = store.representations();
        match action {
            RepresentationsAction::List { toolset, format } => {
                let filter = MemoryFilter { toolset, ..MemoryFilter::default() };
                let mut shared = all_items(representations, filter).await?;
                shared.sort_by(|one, other| (&one.toolset, &one.tool).cmp(&(&other.toolset, &other.tool)));
                print_list(&shared, format, "no shared representations", table);
            }
            RepresentationsAction::Put { files } => put(representations, &files).await?,
            RepresentationsAction::Rm { toolset, classifier, tools } => {
                let toolset = toolset.as_deref();
                let mut ids: Vec<String> = tools.iter().map(|tool| shared_id(toolset, tool)).collect();
                ids.extend(classifier.then(|| shared_classifier_id(toolset)));
                let gone = representations.remove(&ids).await?;
                outln!("{gone} removed");
                let absent = ids.len() as u64 - gone;
                if absent > 0 {
                    let message = "of these are not shared; see `callwright representations list`";
                    return Err(format!("{absent} {message}").into());
                }
            }
        }
        Ok(())
    }))
}

fn table(shared: &[SharedRepresentation]) -> TextTable {
    let columns = [0, 12, 8].map(Column::Left);
    let mut table = TextTable::new([&columns[..], &[Column::Rest]].concat());
    table.header("TOOLSET", &["TOOL", "PATTERNS", "UPDATED"]);
    for one in shared {
        let updated = format!("{:.0}", one.updated_at);
        let (tool, patterns) = match &one.classifier {
            Some(_) => ("(classifier)", "-".to_owned()),
            None => (one.tool.as_str(), one.patterns.as_array().map_or(0, Vec::len).to_string()),
        };
        table.row(one.toolset.as_deref().unwrap_or("(clients)"), &[tool, &patterns, &updated]);
    }
    table
}

async fn put(representations: &Representations, files: &[PathBuf]) -> VerbResult {
    let mut shared = Vec::new();
    // All files are read before the first one is shared.
    for file in files {
        let (read, now) = (RepresentationFile::read(file)?, Timestamp::now());
        shared.extend(read.to_shared(|_| Vec::new(), now)?);
        shared.extend(read.classifier_to_shared(file, Vec::new(), now)?);
    }
    representations.restore(&shared).await?;
    let classifiers = shared.iter().filter(|shared| shared.classifier.is_some()).count();
    outln!("{} tools and {classifiers} classifiers shared", shared.len() - classifiers);
    Ok(())
}
