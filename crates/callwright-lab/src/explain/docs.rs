//! Documentation folder: its APIs and their searchable sections.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::OfflineError;
use callwright_common::limits::{LISTED, WORD_CHARS};
use callwright_common::text::excerpt;
use callwright_explain::{DocumentError, Documents, Explainer, Settings, documents};
use callwright_search::embedding::Embedder;

/// Documentation of all APIs.
pub(super) struct DocumentLibrary {
    pub(super) explainer: Explainer,
    pub(super) apis: BTreeSet<String>,
    folder: String,
    /// Errors of files that could not be read, or only in part.
    pub(super) errors: Vec<DocumentError>,
    /// Warnings about members that cannot be read, one for each API and member.
    warnings: Mutex<BTreeMap<(String, &'static str), String>>,
}

impl DocumentLibrary {
    /// Reads the folder. With an embedder, sections are also searched by embedding.
    ///
    /// # Errors
    /// [`OfflineError::Unreadable`] if the folder cannot be read or has no documentation, [`OfflineError::Unembedded`]
    /// if the embedder fails.
    pub(super) async fn read(
        folder: &Path,
        settings: &Settings,
        embedder: Option<&Arc<dyn Embedder>>,
    ) -> Result<Self, OfflineError> {
        std::fs::read_dir(folder).map_err(|source| unreadable(folder, source))?;
        let Documents { sections, errors } = documents(&[folder.to_owned()], settings);
        let sections: Vec<_> = sections.into_iter().map(|section| (api_of(&section.file), section)).collect();
        let apis: BTreeSet<String> = sections.iter().map(|(api, _)| api.clone()).collect();
        if apis.is_empty() {
            let source = io::Error::new(io::ErrorKind::NotFound, "there is no documentation in it");
            return Err(unreadable(folder, source));
        }
        let mut explainer = Explainer::build(Vec::new(), sections, settings);
        if let Some(embedder) = embedder {
            explainer.embed_passages(embedder).await.map_err(OfflineError::Unembedded)?;
        }
        Ok(Self { explainer, apis, folder: folder.display().to_string(), errors, warnings: Mutex::default() })
    }

    /// Stores the first warning about a member of an API's lines.
    pub(super) fn warn(&self, api: &str, member: &'static str, message: impl FnOnce() -> String) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        warnings.entry((api.to_owned(), member)).or_insert_with(message);
    }

    /// Returns the warnings about members that could not be read.
    pub(super) fn warnings(&self) -> Vec<String> {
        let warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        warnings.values().cloned().collect()
    }

    /// Returns the toolset for a line's `api`.
    ///
    /// # Errors
    /// A message with the known APIs if the name is unknown.
    pub(super) fn toolset(&self, api: &str) -> Result<&str, String> {
        let found = self.apis.get(api).or_else(|| self.apis.iter().find(|name| name.eq_ignore_ascii_case(api)));
        found.map(String::as_str).ok_or_else(|| {
            let named: Vec<&str> = self.apis.iter().take(LISTED).map(String::as_str).collect();
            let more = if self.apis.len() > LISTED { ", ..." } else { "" };
            format!(
                "`{}` names no documentation of {}; there is {}{more}",
                excerpt(api, WORD_CHARS),
                self.folder,
                named.join(", ")
            )
        })
    }
}

const FOLDER_FIX: &str =
    "name a folder with an API's documentation in each file, such as `--docs docs` with docs/weather.md";

fn unreadable(folder: &Path, source: io::Error) -> OfflineError {
    OfflineError::Unreadable { file: folder.display().to_string(), source, fix: FOLDER_FIX }
}

/// Returns the API that a file documents: the file name without folders and extension.
fn api_of(file: &str) -> String {
    Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}
