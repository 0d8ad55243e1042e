//! `callwright representations`: manages the tool representations that replicas share through the configured store.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use jiff::Timestamp;

use super::errors::VerbResult;
use super::memory_store::all_items;
use super::plain;
use super::setup::{load_config, runtime};
use super::shared_arguments::OutputFormat;
use callwright_knowledge::representation::{RepresentationFile, shared_classifier_id, shared_id};
use callwright_store::{MemoryFilter, Representations, Store};
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
        #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
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

pub(super) fn run(arguments: RepresentationsArguments) -> VerbResult {
    runtime()?.block_on(act(arguments))
}

async fn act(RepresentationsArguments { action, config: file }: RepresentationsArguments) -> VerbResult {
    let loaded = load_config(file)?;
    let store = Store::open_beside(&loaded.settings.store, &loaded.base_dir).await?;
    let representations = store.representations();
    let done = match action {
        RepresentationsAction::List { toolset, format } => list(representations, toolset, format).await,
        RepresentationsAction::Put { files } => put(representations, &files).await,
        RepresentationsAction::Rm { toolset, classifier, tools } => {
            let toolset = toolset.as_deref();
            let mut ids: Vec<String> = tools.iter().map(|tool| shared_id(toolset, tool)).collect();
            ids.extend(classifier.then(|| shared_classifier_id(toolset)));
            remove(representations, &ids).await
        }
    };
    store.close().await;
    done
}

async fn list(representations: &Representations, toolset: Option<String>, format: OutputFormat) -> VerbResult {
    let mut shared = all_items(representations, MemoryFilter { toolset, ..MemoryFilter::default() }).await?;
    shared.sort_by(|one, other| (&one.toolset, &one.tool).cmp(&(&other.toolset, &other.tool)));
    if format == OutputFormat::Text && shared.is_empty() {
        anstream::println!("no shared representations");
    }
    for one in shared {
        let SharedRepresentation { toolset, tool, patterns, classifier, updated_at, .. } = &one;
        if format == OutputFormat::Json {
            anstream::println!("{}", plain::json(callwright_common::json::raw(&one).get().to_owned()));
            continue;
        }
        let toolset_name = plain::text(toolset.as_deref().unwrap_or("(clients)"));
        if classifier.is_some() {
            anstream::println!("{toolset_name}  (classifier)  {updated_at:.0}");
            continue;
        }
        let patterns = patterns.as_array().map_or(0, Vec::len);
        anstream::println!("{toolset_name}  {}  {patterns} patterns  {updated_at:.0}", plain::text(tool));
    }
    Ok(())
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
    anstream::println!("{} tools and {classifiers} classifiers shared", shared.len() - classifiers);
    Ok(())
}

async fn remove(representations: &Representations, ids: &[String]) -> VerbResult {
    let gone = representations.remove(ids).await?;
    anstream::println!("{gone} removed");
    match ids.len() as u64 - gone {
        0 => Ok(()),
        absent => Err(format!("{absent} of these are not shared; see `callwright representations list`").into()),
    }
}
