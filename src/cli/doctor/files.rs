//! What the configuration names: policies, templates, documents, the store.

use std::path::Path;

use super::super::policy as policies;
use super::finding::Finding;
use crate::app;
use crate::config::Loaded;
use crate::keys::{KeyState, Registrar};
use callwright_judge::feedback::Templates;
use callwright_judge::repair::Notations;
use callwright_store::{Location, Store, StoreError};

pub(super) async fn examine(loaded: &Loaded) -> Vec<Finding> {
    let mut findings = vec![policies_of(loaded), templates(loaded), notations(loaded)];
    findings.extend(documents(loaded));
    findings.push(store(loaded).await);
    findings.push(keys(loaded).await);
    findings.extend(spill(loaded));
    findings
}

fn policies_of(loaded: &Loaded) -> Finding {
    match policies::load(loaded) {
        Ok(book) => Finding::ok("policies", format!("{} of them are valid", book.policies().count())),
        Err(error) => {
            Finding::fail("policies", error.to_string(), "correct the file; `callwright policy check` reads them again")
        }
    }
}

fn templates(loaded: &Loaded) -> Finding {
    match Templates::load(&loaded.settings.feedback) {
        Ok(_) => Finding::ok("templates", "those of the messages to the model are valid"),
        Err(error) => Finding::fail("templates", error.to_string(), "correct what `feedback.templates` names"),
    }
}

fn notations(loaded: &Loaded) -> Finding {
    match Notations::load(&loaded.settings.repair, &loaded.base_dir) {
        Ok(_) => Finding::ok("notations", "those of calls in text are valid"),
        Err(error) => Finding::fail("notations", error.to_string(), "correct the file that `repair.notations` names"),
    }
}

fn documents(loaded: &Loaded) -> Vec<Finding> {
    if loaded.settings.toolsets.is_empty() {
        return vec![Finding::ok("documents", "none are configured: tools are those that clients send")];
    }
    match app::load_catalog(&loaded.settings, &loaded.base_dir) {
        Ok((catalog, errors)) => {
            let failed = errors.iter().map(|error| {
                Finding::fail(
                    "documents",
                    error.to_string(),
                    "correct the document, or where `[toolsets]` says that it is",
                )
            });
            let read = catalog.toolsets().map(|toolset| {
                let report = &toolset.report;
                let check = format!("toolset {}", toolset.name);
                let message = format!("{} operations are tools", report.operations_loaded);
                match report.operations_skipped.len() {
                    0 => Finding::ok(check, message),
                    skipped => Finding::warn(
                        check,
                        format!("{message}, {skipped} are not"),
                        format!("`callwright check {}` says why", report.file),
                    ),
                }
            });
            failed.chain(read).collect()
        }
        Err(error) => vec![Finding::fail(
            "documents",
            error.to_string(),
            "correct the document, or what `[toolsets]`, `[catalog]` and `[executor]` say of it",
        )],
    }
}

/// Opens a store that is there; of a file that the first start makes it only asks whether it could be made.
async fn store(loaded: &Loaded) -> Finding {
    let settings = &loaded.settings.store;
    let fix = "correct `store.url`; turns are served without a store, and nothing is recorded, learned or remembered";
    let location = match Location::parse(settings.url.expose(), &loaded.base_dir) {
        Ok(location) => location,
        Err(error) => return Finding::fail("store", error.to_string(), fix),
    };
    match &location {
        Location::Off => {
            return Finding::warn("store", "it is switched off: nothing is recorded or remembered", "set `store.url`");
        }
        Location::Memory => {
            return Finding::warn("store", "it is in memory: what is learned ends with the process", "set `store.url`");
        }
        Location::File(file) => {
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            if let Err(error) = writable(folder) {
                let message = format!("{} cannot be written: {error}", folder.display());
                return Finding::fail(
                    "store",
                    message,
                    "let the user that runs the proxy write there, or name another place in `store.url`",
                );
            }
            if !file.exists() {
                return Finding::ok("store", format!("{} will be made by the first start", file.display()));
            }
        }
        Location::Postgres(_) => {}
    }
    match Store::open_beside(settings, &loaded.base_dir).await {
        Ok(store) => {
            store.close().await;
            Finding::ok("store", format!("{location} can be opened"))
        }
        Err(error) => Finding::fail("store", error.to_string(), fix),
    }
}

/// Can clients come in? Of a store that is not there yet nothing is known.
async fn keys(loaded: &Loaded) -> Finding {
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
            Finding::warn(CHECK, "clients need keys, and there are none", "`callwright keys create NAME` makes one")
        }
        (true, Ok(active)) => Finding::ok(CHECK, format!("{active} are of use")),
        (false, Ok(active)) if active > 0 => Finding::warn(
            CHECK,
            format!("there are {active}, and clients come in without them"),
            "set `keys.mode = \"required\"`, or revoke them",
        ),
        (false, _) => Finding::ok(CHECK, "clients need none of the proxy's own"),
        (true, Err(error)) => Finding::fail(CHECK, error.to_string(), "make the store work: keys are in it"),
    }
}

async fn active_keys(loaded: &Loaded) -> Result<usize, StoreError> {
    let store = Store::open_beside(&loaded.settings.store, &loaded.base_dir).await?;
    let keys = Registrar::of(&store).list().await;
    store.close().await;
    Ok(keys?.iter().filter(|key| key.state == KeyState::Active).count())
}

/// The folder where traces wait while the store does not take them; it may have to be made.
fn spill(loaded: &Loaded) -> Option<Finding> {
    let settings = &loaded.settings.store;
    if settings.spill_dir.is_empty() || settings.url.is_empty() {
        return None;
    }
    let folder = loaded.base_dir.join(&settings.spill_dir);
    let there = folder.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("."));
    Some(match writable(there) {
        Ok(()) => Finding::ok("traces on disk", format!("{} can be written", folder.display())),
        Err(error) => Finding::warn(
            "traces on disk",
            format!("{} cannot be written: {error}; traces are lost while the store does not work", there.display()),
            "name a folder that can be written in `store.spill_dir`",
        ),
    })
}

/// Makes a file in `folder` that is gone at once.
fn writable(folder: &Path) -> std::io::Result<()> {
    tempfile::tempfile_in(folder).map(drop)
}
