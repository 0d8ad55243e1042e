//! Documentation besides the OpenAPI documents: reading it, and which operations it belongs to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use callwright_knowledge::explain::{self, DocumentFiles, OperationNames, Section, Ties};
use callwright_openapi::{Catalog, DocsSettings, Toolset, ToolsetSettings};

/// The sections of the further documentation of every toolset, each with the toolset's name. What cannot be read is told in the log.
pub(super) fn sections(
    catalog: &Catalog,
    settings: &BTreeMap<String, ToolsetSettings>,
    base_dir: &Path,
    explain: &explain::Settings,
) -> Vec<(String, Section)> {
    let mut all = Vec::new();
    for (entry, toolset_settings) in settings {
        for docs in &toolset_settings.docs {
            let found = explain::documents(&[base_dir.join(&docs.path)], explain);
            for error in &found.errors {
                tracing::error!(toolset = entry, %error, "documentation is left out");
            }
            tracing::info!(toolset = entry, path = docs.path, sections = found.sections.len(), "documentation loaded");
            for toolset in catalog.toolsets().filter(|toolset| toolset.entry == *entry) {
                let mut sections = found.sections.clone();
                tie(&mut sections, docs, toolset);
                all.extend(sections.into_iter().map(|section| (toolset.name.clone(), section)));
            }
        }
    }
    all
}

fn tie(sections: &mut [Section], docs: &DocsSettings, toolset: &Toolset) {
    let names = toolset.operations.iter().map(|operation| OperationNames {
        tool: operation.own_name(),
        id: operation.operation_id.as_deref(),
        method: operation.method.as_str(),
        path: &operation.path,
        tags: &operation.tags,
    });
    let ties = Ties { operations: &docs.operations, paths: &docs.paths, tags: &docs.tags };
    ties.tie(sections, &names.collect::<Vec<_>>());
}

/// Where the further documentation is, and where more of it may come.
pub(super) fn files(settings: &BTreeMap<String, ToolsetSettings>, base_dir: &Path) -> DocumentFiles {
    let paths: Vec<PathBuf> =
        settings.values().flat_map(|toolset| &toolset.docs).map(|docs| base_dir.join(&docs.path)).collect();
    explain::document_files(&paths)
}
