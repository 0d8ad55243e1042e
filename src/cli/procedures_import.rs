//! `callwright procedures import`: imports procedures from Markdown runbooks.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use jiff::Timestamp;

use super::errors::{VerbError, VerbResult};
use super::plain;
use super::setup::{runtime, with_store};
use crate::app;
use crate::config::LoadedConfig;
use callwright_common::limits::FILE_BYTES;
use callwright_memory::LearnOutcome;
use callwright_memory::procedures::import::{self, OperationName};
use callwright_memory::procedures::{ProcedureTool, Settings, merge_draft};
use callwright_openapi::{Catalog, Operation, Toolset};
use callwright_store::{MAX_PAGE, Procedures, Revision, Store, StoreError};
use callwright_types::memory::EvidenceKind;
use callwright_types::{Evidence, Procedure, ProcedureDraft, Scope};

/// Arguments of `procedures import`.
#[derive(Debug, Args)]
pub(super) struct ImportArguments {
    /// Markdown runbooks. Their operations must belong to toolsets of the configuration.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Scope of the procedures: `group:NAME` or `key:HASH`.
    #[arg(long, value_name = "SCOPE", value_parser = scope)]
    scope: Scope,
    /// Report what would be imported without storing it.
    #[arg(long)]
    dry_run: bool,
}

/// A workflow that became a draft, and its place.
struct ReadDraft {
    draft: ProcedureDraft,
    source: String,
}

pub(super) fn run(arguments: &ImportArguments, loaded: LoadedConfig) -> VerbResult {
    let (catalog, errors) = app::load_catalog(&loaded.settings, &loaded.base_dir)?;
    for error in &errors {
        anstream::eprintln!("{}", plain::text(&error.to_string()));
    }
    let (mut drafts, mut failed) = (Vec::new(), 0);
    for read in arguments.paths.iter().flat_map(|path| read(path, &catalog, &loaded.settings.procedures)) {
        match read {
            Ok(draft) => drafts.push(draft),
            Err(error) => {
                failed += 1;
                anstream::eprintln!("{}", plain::text(&error));
            }
        }
    }
    let all = drafts.len() + failed;
    let outdated = runtime()?.block_on(store(&drafts, arguments, &loaded))?;
    if outdated > 0 {
        return Err(outdated_procedures(outdated));
    }
    match failed {
        0 => Ok(()),
        _ => Err(format!("{failed} of {all} workflows were not imported; see above for the reasons").into()),
    }
}

/// Returns the error that another process changed procedures during a run.
pub(super) fn outdated_procedures(count: usize) -> VerbError {
    format!(
        "another process changed {count} procedures during the run, and its versions were kept; run the command again to \
         store the others too"
    )
    .into()
}

fn scope(text: &str) -> Result<Scope, String> {
    let is_scope =
        text.split_once(':').is_some_and(|(kind, name)| ["group", "key"].contains(&kind) && !name.is_empty());
    is_scope.then(|| Scope::from(text.to_owned())).ok_or_else(|| "give `group:NAME` or `key:HASH`".to_owned())
}

/// Reads the workflows of a file; those that cannot be imported are errors with their place.
fn read(path: &Path, catalog: &Catalog, settings: &Settings) -> Vec<Result<ReadDraft, String>> {
    let place = path.display();
    let workflows = match text(path).and_then(|text| import::parse(&text).map_err(|error| error.to_string())) {
        Ok(workflows) => workflows,
        Err(error) => return vec![Err(format!("{place}: {error}"))],
    };
    let drafts = workflows.iter().map(|workflow| {
        let source = format!("{place}#{}", workflow.name);
        match import::draft(workflow, &|operation| find(catalog, operation), settings) {
            Ok(draft) => Ok(ReadDraft { draft, source: plain::text(&source) }),
            Err(error) => Err(format!("{source}: {error}")),
        }
    });
    drafts.collect()
}

fn text(path: &Path) -> Result<String, String> {
    let size = fs::metadata(path).map_err(|error| error.to_string())?.len();
    if size > FILE_BYTES {
        return Err(format!("has {size} bytes; at most {} are read", FILE_BYTES));
    }
    fs::read_to_string(path).map_err(|error| error.to_string())
}

/// Returns the tool of an operation: by its name or `operationId`, or by method and path.
fn find<'a>(catalog: &'a Catalog, wanted: &OperationName) -> Option<ProcedureTool<'a>> {
    for toolset in catalog.toolsets() {
        let operation = toolset.operations.iter().find(|operation| match wanted {
            OperationName::Id(id) => {
                operation.tool.name == *id || operation.own_name() == id || operation.operation_id.as_ref() == Some(id)
            }
            OperationName::Path(method, path) => operation.method.as_str() == method && operation.path == *path,
        });
        if let Some(operation) = operation {
            return Some(known_tool(toolset, operation));
        }
    }
    None
}

fn known_tool<'a>(toolset: &'a Toolset, operation: &'a Operation) -> ProcedureTool<'a> {
    ProcedureTool {
        name: &operation.tool.name,
        toolset: Some(&toolset.name),
        client: None,
        description: &operation.tool.description,
        parameters: &operation.tool.parameters,
        outputs: &operation.outputs,
        links: &operation.links,
        changes_state: !operation.method.is_safe(),
    }
}

/// Stores the drafts as procedures with their documents as evidence. Returns the number of procedures that another
/// process changed meanwhile.
async fn store(drafts: &[ReadDraft], arguments: &ImportArguments, loaded: &LoadedConfig) -> Result<usize, VerbError> {
    with_store(loaded, async |store| {
        let (known, seen) = all_procedures(store).await?;
        let mut known: Vec<Arc<Procedure>> = known.into_iter().map(Arc::new).collect();
        let (mut changed, mut new, mut joined): (Vec<Procedure>, usize, usize) = (Vec::new(), 0, 0);
        let now = Timestamp::now();
        for ReadDraft { draft, source } in drafts {
            let source = Some(source.clone());
            let evidence = Evidence { kind: EvidenceKind::Operator, trace: None, session: None, source, at: now };
            let settings = &loaded.settings.procedures;
            let procedure = match merge_draft(&known, draft, evidence, &arguments.scope, now, settings) {
                LearnOutcome::New(procedure) => {
                    new += 1;
                    procedure
                }
                LearnOutcome::Confirmed(procedure) => {
                    joined += 1;
                    procedure
                }
                LearnOutcome::Unchanged => continue,
            };
            known.retain(|other| other.id != procedure.id);
            changed.retain(|other: &Procedure| other.id != procedure.id);
            known.push(Arc::new(procedure.clone()));
            changed.push(procedure);
        }
        let mut outdated = 0;
        if !arguments.dry_run && !changed.is_empty() {
            outdated = Procedures::put(store.procedures(), &changed, seen).await?.outdated.len();
        }
        anstream::eprintln!("{} workflows read, {new} new procedures, {joined} known procedures changed", drafts.len());
        Ok(outdated)
    })
    .await
}

/// Returns all procedures, and the revision up to which they were read.
pub(super) async fn all_procedures(store: &Store) -> Result<(Vec<Procedure>, Revision), StoreError> {
    let (mut all, mut after): (Vec<Procedure>, Revision) = (Vec::new(), 0);
    loop {
        let changes = store.procedures().changed(after, MAX_PAGE).await?;
        all.extend(changes.changed);
        after = changes.upto;
        if !changes.more {
            return Ok((all, after));
        }
    }
}
