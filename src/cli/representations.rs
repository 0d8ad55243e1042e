//! `callwright representations`: what replicas share of tools, in the configured store.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use jiff::Timestamp;

use super::errors::VerbResult;
use super::format::Format;
use super::plain;
use crate::config;
use callwright_knowledge::representation::{RepresentationFile, shared_id};
use callwright_store::{MemoryFilter, Representations, Store, StoreError};
use callwright_types::representation::SharedRepresentation;

/// Arguments of `representations`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Action,
    /// The configuration, whose `[store]` is meant; as for `serve`.
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the tools of which something is shared.
    List {
        /// Only those of this toolset.
        #[arg(long, value_name = "NAME")]
        toolset: Option<String>,
        /// `text` is a table for people, `json` one object on each line.
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Share what representation files say of their tools: it stands over the files of all proxies with this store, at once.
    Put {
        /// The files.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Take back what is shared of tools: what the files say of them holds again.
    Rm {
        /// The toolset of the tools. Without it: tools that clients send.
        #[arg(long, value_name = "NAME")]
        toolset: Option<String>,
        /// The tools.
        #[arg(required = true)]
        tools: Vec<String>,
    },
}

pub(super) fn run(arguments: Arguments) -> VerbResult {
    super::runtime()?.block_on(act(arguments))
}

async fn act(Arguments { action, config: file }: Arguments) -> VerbResult {
    let loaded = config::load(&config::Request { file, ..config::Request::default() }, &config::process_environment)?;
    let store = Store::open_beside(&loaded.settings.store, &loaded.base_dir).await?;
    let representations = store.representations();
    let done = match action {
        Action::List { toolset, format } => list(representations, toolset, format).await,
        Action::Put { files } => put(representations, &files).await,
        Action::Rm { toolset, tools } => remove(representations, toolset.as_deref(), &tools).await,
    };
    store.close().await;
    done
}

async fn list(representations: &Representations, toolset: Option<String>, format: Format) -> VerbResult {
    let mut shared = all(representations, MemoryFilter { toolset, ..MemoryFilter::default() }).await?;
    shared.sort_by(|one, other| (&one.toolset, &one.tool).cmp(&(&other.toolset, &other.tool)));
    if format == Format::Text && shared.is_empty() {
        anstream::println!("nothing is shared");
    }
    for one in shared {
        let SharedRepresentation { toolset, tool, patterns, updated_at, .. } = &one;
        if format == Format::Json {
            anstream::println!("{}", plain::json(callwright_common::json::raw(&one).get().to_owned()));
            continue;
        }
        let patterns = patterns.as_array().map_or(0, Vec::len);
        let toolset = toolset.as_deref().unwrap_or("(clients)");
        anstream::println!("{}  {}  {patterns} patterns  {updated_at:.0}", plain::text(toolset), plain::text(tool));
    }
    Ok(())
}

/// All that is shared.
///
/// # Errors
/// [`StoreError`].
pub(super) async fn all(
    representations: &Representations,
    mut filter: MemoryFilter,
) -> Result<Vec<SharedRepresentation>, StoreError> {
    let mut all = Vec::new();
    loop {
        let page = representations.page(&filter).await?;
        all.extend(page.items);
        filter.after = page.next;
        if filter.after.is_none() {
            return Ok(all);
        }
    }
}

async fn put(representations: &Representations, files: &[PathBuf]) -> VerbResult {
    let mut shared = Vec::new();
    // All files are read before the first is shared.
    for file in files {
        shared.extend(RepresentationFile::read(file)?.to_shared(|_| Vec::new(), Timestamp::now())?);
    }
    representations.restore(&shared).await?;
    anstream::println!("{} tools shared", shared.len());
    Ok(())
}

async fn remove(representations: &Representations, toolset: Option<&str>, tools: &[String]) -> VerbResult {
    let ids: Vec<String> = tools.iter().map(|tool| shared_id(toolset, tool)).collect();
    let gone = representations.remove(&ids).await?;
    anstream::println!("{gone} taken back");
    match tools.len() as u64 - gone {
        0 => Ok(()),
        absent => Err(format!(
            "nothing is shared of {absent} of these tools; `callwright representations list` names those of which something is"
        )
        .into()),
    }
}
