//! Checks of the resources that the configuration names: policies, documents, the store.

use std::path::Path;

use super::finding::{DoctorFinding, fail, ok, warn};
use crate::app;
use crate::cli::errors::VerbError;
use crate::cli::setup::{load_policies, with_store};
use crate::config::LoadedConfig;
use crate::keys::{KeyState, Registrar};
use callwright_openapi::Catalog;
use callwright_store::Location;
use callwright_types::RefusalReason;

pub(super) async fn examine(loaded: &LoadedConfig) -> Vec<DoctorFinding> {
    let mut findings = vec![policies_of(loaded)];
    findings.extend(documents(loaded).await);
    findings.push(store(loaded).await);
    findings.push(keys(loaded).await);
    findings.extend(spill(loaded));
    findings
}

fn policies_of(loaded: &LoadedConfig) -> DoctorFinding {
    match load_policies(loaded) {
        Ok(book) => ok("policies", format!("{} valid", book.policies().count())),
        Err(error) => fail("policies", error.to_string(), "correct the file; `callwright policy check` validates it"),
    }
}

async fn documents(loaded: &LoadedConfig) -> Vec<DoctorFinding> {
    if loaded.settings.toolsets.is_empty() {
        return vec![ok("documents", "none are configured: the proxy uses the tools that clients send")];
    }
    match app::load_catalog(&loaded.settings, &loaded.base_dir) {
        Ok((catalog, errors)) => {
            let failed = errors.iter().map(|error| {
                fail("documents", error.to_string(), "correct the document, or its location in `[toolsets]`")
            });
            let read = catalog.toolsets().map(|toolset| {
                let report = &toolset.report;
                let check = format!("toolset {}", toolset.name);
                let message = format!("{} operations are tools", report.operations_loaded);
                match report.operations_skipped.len() {
                    0 => ok(check, message),
                    skipped => warn(
                        check,
                        format!("{message}, {skipped} are not"),
                        format!("`callwright check {}` reports why", report.file),
                    ),
                }
            });
            failed.chain(read).chain(refused_calls(loaded, &catalog).await).collect()
        }
        Err(error) => vec![fail(
            "documents",
            error.to_string(),
            "correct the document, or its settings in `[toolsets]` and `[executor]`",
        )],
    }
}

/// Returns the calls that would be refused. Resolves the names of the servers.
async fn refused_calls(loaded: &LoadedConfig, catalog: &Catalog) -> Vec<DoctorFinding> {
    let settings = &loaded.settings;
    let names = app::forbidden_names(catalog, &settings.executor).await.unwrap_or_default();
    let mut findings = app::audit_toolsets(catalog, &settings.executor, &names).unwrap_or_default();
    if let Ok(book) = load_policies(loaded) {
        let has_directory = !settings.policies.directory.is_empty();
        findings.extend(app::audit_policies(catalog, &settings.aliases, &book, has_directory));
    }
    let findings = findings.into_iter().map(|finding| {
        let check = format!("calls of {}", finding.toolset);
        let message = format!("{} ({})", finding.message, finding.reason);
        if !finding.is_total && finding.reason == RefusalReason::PolicyDenied {
            ok(check, message)
        } else {
            warn(check, message, format!("add {}", finding.fix()))
        }
    });
    findings.collect()
}

/// Opens an existing store. Where the first start would create a file, checks only whether the folder is writable.
async fn store(loaded: &LoadedConfig) -> DoctorFinding {
    let settings = &loaded.settings.store;
    let fix = "correct `store.url`; without a store, turns are served but not recorded, and nothing is learned";
    let location = match Location::parse(settings.url.expose(), &loaded.base_dir) {
        Ok(location) => location,
        Err(error) => return fail("store", error.to_string(), fix),
    };
    match &location {
        Location::Off => {
            return warn("store", "switched off: nothing is recorded or learned", "set `store.url`");
        }
        Location::Memory => {
            return warn("store", "in memory: all data is lost when the process ends", "set `store.url`");
        }
        Location::File(file) => {
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            if let Err(error) = writable(folder) {
                let message = format!("{} cannot be written: {error}", folder.display());
                return fail(
                    "store",
                    message,
                    "give the user that runs the proxy write permission, or set another path in `store.url`",
                );
            }
            if !file.exists() {
                return ok("store", format!("{} will be created by the first start", file.display()));
            }
        }
        Location::Postgres(_) => {}
    }
    match with_store(loaded, async |_| Ok(())).await {
        Ok(()) => ok("store", format!("{location} can be opened")),
        Err(error) => fail("store", error.to_string(), fix),
    }
}

/// Checks whether clients can authenticate. A store that does not exist yet counts as having no keys.
async fn keys(loaded: &LoadedConfig) -> DoctorFinding {
    const CHECK: &str = "keys";
    let settings = &loaded.settings;
    let is_there = match Location::parse(settings.store.url.expose(), &loaded.base_dir) {
        Ok(Location::File(file)) => file.exists(),
        Ok(Location::Postgres(_)) => true,
        _ => false,
    };
    let active = if is_there { active_keys(loaded).await } else { Ok(0) };
    match (settings.keys.is_required(), active) {
        (true, Ok(0)) => {
            warn(CHECK, "clients need keys, but there are none", "create one with `callwright keys create NAME`")
        }
        (true, Ok(active)) => ok(CHECK, format!("{active} active")),
        (false, Ok(active)) if active > 0 => warn(
            CHECK,
            format!("{active} active, but clients are admitted without one"),
            "set `keys.mode = \"required\"`, or revoke the keys",
        ),
        (false, _) => ok(CHECK, "clients need no virtual keys"),
        (true, Err(error)) => fail(CHECK, error.to_string(), "make the store available: it holds the keys"),
    }
}

async fn active_keys(loaded: &LoadedConfig) -> Result<usize, VerbError> {
    let keys = with_store(loaded, async |store| Ok(Registrar::of(store).list().await?)).await?;
    Ok(keys.iter().filter(|key| key.state == KeyState::Active).count())
}

/// Checks the folder where traces are spilled while the store does not accept them. The folder may not exist yet.
fn spill(loaded: &LoadedConfig) -> Option<DoctorFinding> {
    let settings = &loaded.settings.store;
    if settings.spill_dir.is_empty() || settings.url.is_empty() {
        return None;
    }
    let folder = loaded.base_dir.join(&settings.spill_dir);
    let there = folder.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("."));
    Some(match writable(there) {
        Ok(()) => ok("traces on disk", format!("{} can be written", folder.display())),
        Err(error) => warn(
            "traces on disk",
            format!("{} cannot be written: {error}; traces are lost while the store is unavailable", there.display()),
            "set `store.spill_dir` to a writable folder",
        ),
    })
}

/// Checks write permission with an anonymous temporary file.
fn writable(folder: &Path) -> std::io::Result<()> {
    tempfile::tempfile_in(folder).map(drop)
}
