//! Documentation besides the OpenAPI documents: reads it and assigns it to operations.

use std::collections::BTreeMap;
use std::path::Path;

use callwright_explain::{self as explain, OperationGlobs, OperationNames, Section};
use callwright_openapi::{Catalog, DocsSettings, Toolset, ToolsetSettings};

/// Returns the sections of every toolset's further documentation, each with the toolset's name. Unreadable files are
/// logged.
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
                tracing::error!(toolset = entry, %error, "documentation skipped");
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
    let globs = OperationGlobs { operations: &docs.operations, paths: &docs.paths, tags: &docs.tags };
    globs.assign(sections, &names.collect::<Vec<_>>());
}
