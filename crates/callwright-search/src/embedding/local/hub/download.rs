//! Files of a hub → a folder, once.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::StatusCode;
use http::header::AUTHORIZATION;
use tempfile::NamedTempFile;

use super::repository::Repository;
use crate::embedding::{BuildError, LocalSettings, Pooling};

/// What the hub sees as the client.
const USER_AGENT: &str = concat!("callwright/", env!("CARGO_PKG_VERSION"));

/// The state of a repository that is fetched: what its owner published last.
const REVISION: &str = "main";

/// Who is shown how a download goes on.
pub trait DownloadWatcher: Send + Sync {
    /// A file begins; its size in bytes where the hub tells it.
    fn begins(&self, file: &str, bytes: Option<u64>);
    /// So many bytes of it have come.
    fn advances(&self, bytes: u64);
    /// It is whole, or its download failed.
    fn ends(&self);
}

/// Fetches what of a model is not in the cache yet; a model that is in it whole asks the hub nothing. Gives the model's folder, and its
/// pooling where that is known.
///
/// # Errors
/// [`BuildError::Setting`] where the name is wrong, [`BuildError::Download`] where the hub does not give the files.
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
        // reqwest panics where the process has no provider; a second installation changes nothing.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let silence = Duration::from_secs(settings.hub_timeout_seconds);
        // Hubs redirect to where the files are; reqwest sends the token to no other host.
        let http =
            reqwest::Client::builder().user_agent(USER_AGENT).connect_timeout(silence).read_timeout(silence).build();
        let http = http.map_err(|error| BuildError::BrokenOff(error.to_string()))?;
        Ok(Self { http, settings })
    }

    /// Fetches one file. It appears under its name when it is whole.
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
        tracing::info!(%url, "fetching a file of the model of meaning");
        let response = self.ask(&url).await?;
        watcher.begins(path, response.content_length());
        let written = self.write(response, target, left, watcher).await;
        watcher.ends();
        written.map_err(|reason| BuildError::Download { url, reason })
    }

    async fn ask(&self, url: &str) -> Result<reqwest::Response, BuildError> {
        let mut request = self.http.get(url);
        if !self.settings.hub_token.is_empty() {
            request = request.header(AUTHORIZATION, format!("Bearer {}", self.settings.hub_token.expose()));
        }
        let failed = |reason: String| BuildError::Download { url: url.to_owned(), reason };
        let response = request.send().await.map_err(|error| failed(unreachable(&error)))?;
        match response.status() {
            status if status.is_success() => Ok(response),
            status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => Err(failed(format!(
                "status {status}: the model does not exist, or takes a token; check `embedding.fastembed.model` and `hub_token`"
            ))),
            StatusCode::NOT_FOUND => Err(failed(
                "the hub has no such file, and a model is model.onnx and four JSON files; check `embedding.fastembed.model`".to_owned(),
            )),
            status => Err(failed(format!("status {status}"))),
        }
    }

    async fn write(
        &self,
        mut response: reqwest::Response,
        target: &Path,
        left: &mut u64,
        watcher: &dyn DownloadWatcher,
    ) -> Result<(), String> {
        let folder = target.parent().unwrap_or(target);
        let unwritable = |error: std::io::Error| format!("cannot be kept in {}: {error}", folder.display());
        std::fs::create_dir_all(folder).map_err(unwritable)?;
        let mut file = NamedTempFile::new_in(folder).map_err(unwritable)?;
        let mut done = 0;
        while let Some(piece) = response.chunk().await.map_err(|error| unreachable(&error))? {
            let size = piece.len() as u64;
            *left = left.checked_sub(size).ok_or_else(|| {
                format!(
                    "the model is larger than `embedding.fastembed.max_model_bytes` ({})",
                    self.settings.max_model_bytes
                )
            })?;
            file.write_all(&piece).map_err(unwritable)?;
            done += size;
            watcher.advances(done);
        }
        file.persist(target).map_err(|error| unwritable(error.error))?;
        Ok(())
    }
}

/// Why there is no answer, and what does without one.
fn unreachable(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    format!(
        "{cause}; where the hub cannot be reached, put the model's files into a folder and name it in `embedding.fastembed.folder`"
    )
}
