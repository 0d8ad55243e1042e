//! Download of a hub's files to a folder.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::StatusCode;
use http::header::AUTHORIZATION;
use tempfile::NamedTempFile;

use super::repository::Repository;
use crate::embedding::{BuildError, LocalSettings, Pooling};

/// Value of the `user-agent` header.
const USER_AGENT: &str = concat!("callwright/", env!("CARGO_PKG_VERSION"));

/// Revision that is fetched: the latest published one.
const REVISION: &str = "main";

/// Observer of a download's progress.
pub trait DownloadWatcher: Send + Sync {
    /// Reports the start of a file, with its size in bytes if the hub provides it.
    fn begins(&self, file: &str, bytes: Option<u64>);
    /// Reports the number of bytes received so far.
    fn advances(&self, bytes: u64);
    /// Reports the end of a file, complete or failed.
    fn ends(&self);
}

/// Fetches the files of a model that are not in the cache; a complete model causes no request. Returns the model's
/// folder, and its pooling if known.
///
/// # Errors
/// [`BuildError::Setting`] if the name is invalid, [`BuildError::Download`] if the hub does not provide the files.
pub(in crate::embedding) async fn fetch(
    settings: &LocalSettings,
    base_dir: &Path,
    watcher: &dyn DownloadWatcher,
) -> Result<(PathBuf, Option<Pooling>), BuildError> {
    let repository = Repository::find(&settings.model)?;
    let folder = base_dir.join(&settings.cache).join(&repository.folder);
    let hub = Hub::new(settings)?;
    let mut left = settings.max_model_bytes;
    for (path, file) in &repository.files {
        let target = folder.join(file);
        if !target.is_file() {
            hub.fetch(&repository.name, path, &target, &mut left, watcher).await?;
        }
    }
    Ok((folder, repository.pooling))
}

struct Hub<'a> {
    http: reqwest::Client,
    settings: &'a LocalSettings,
}

impl<'a> Hub<'a> {
    fn new(settings: &'a LocalSettings) -> Result<Self, BuildError> {
        // reqwest panics if the process has no crypto provider; a second installation has no effect.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let silence = Duration::from_secs(settings.hub_timeout_seconds);
        // Hubs redirect to the location of the files; reqwest does not send the token to another host.
        let http =
            reqwest::Client::builder().user_agent(USER_AGENT).connect_timeout(silence).read_timeout(silence).build();
        let http = http.map_err(|error| BuildError::BrokenOff(error.to_string()))?;
        Ok(Self { http, settings })
    }

    /// Fetches one file. It is renamed to its final name when it is complete.
    async fn fetch(
        &self,
        repository: &str,
        path: &str,
        target: &Path,
        left: &mut u64,
        watcher: &dyn DownloadWatcher,
    ) -> Result<(), BuildError> {
        let hub = self.settings.hub_url.trim_end_matches('/');
        let url = format!("{hub}/{repository}/resolve/{REVISION}/{path}");
        tracing::info!(%url, "fetching a file of the embedding model");
        let response = self.request(&url).await?;
        watcher.begins(path, response.content_length());
        let written = self.write(response, target, left, watcher).await;
        watcher.ends();
        written.map_err(|reason| BuildError::download(&url, reason))
    }

    async fn request(&self, url: &str) -> Result<reqwest::Response, BuildError> {
        let mut request = self.http.get(url);
        if !self.settings.hub_token.is_empty() {
            request = request.header(AUTHORIZATION, format!("Bearer {}", self.settings.hub_token.expose()));
        }
        let response = request.send().await.map_err(|error| BuildError::download(url, unreachable(&error)))?;
        let reason = match response.status() {
            status if status.is_success() => return Ok(response),
            status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => format!(
                "status {status}: the model does not exist, or requires a token; check `embedding.fastembed.model` and `hub_token`"
            ),
            StatusCode::NOT_FOUND => {
                "the hub does not have this file (a model is model.onnx and four JSON files); check `embedding.fastembed.model`".to_owned()
            }
            status => format!("status {status}"),
        };
        Err(BuildError::download(url, reason))
    }

    async fn write(
        &self,
        mut response: reqwest::Response,
        target: &Path,
        left: &mut u64,
        watcher: &dyn DownloadWatcher,
    ) -> Result<(), String> {
        let folder = target.parent().unwrap_or(target);
        std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
        let mut file = NamedTempFile::new_in(folder).map_err(|error| unwritable(folder, &error))?;
        let mut done = 0;
        while let Some(piece) = response.chunk().await.map_err(|error| unreachable(&error))? {
            let size = piece.len() as u64;
            *left = left.checked_sub(size).ok_or_else(|| {
                format!(
                    "the model is larger than `embedding.fastembed.max_model_bytes` ({})",
                    self.settings.max_model_bytes
                )
            })?;
            file.write_all(&piece).map_err(|error| unwritable(folder, &error))?;
            done += size;
            watcher.advances(done);
        }
        file.persist(target).map_err(|error| unwritable(folder, &error.error))?;
        Ok(())
    }
}

fn unwritable(folder: &Path, error: &std::io::Error) -> String {
    format!("cannot be stored in {}: {error}", folder.display())
}

/// Returns the cause of a failed request, and an alternative.
fn unreachable(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    format!(
        "{cause}; if the hub is unreachable, put the model's files into a folder and set `embedding.fastembed.folder` to it"
    )
}
