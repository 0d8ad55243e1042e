//! Interface for fetching remote files. This crate does no network I/O itself.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use url::Url;

use super::address::display_url;

/// A fetched file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedFile {
    /// Final URL; differs from the requested URL after a redirect.
    pub url: Url,
    /// Content of the file.
    pub bytes: Vec<u8>,
    /// Entity tag (`ETag`, RFC 9110 section 8.8.3).
    pub etag: Option<String>,
    /// Last modification date as sent by the server (`Last-Modified`, RFC 9110 section 8.8.2).
    pub last_modified: Option<String>,
}

/// Limits of one fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchBounds {
    /// Maximum size in bytes, decompressed.
    pub bytes: u64,
    /// Maximum time until the file is complete.
    pub time: Duration,
}

/// Fetches files over http and https. The implementation decides which addresses are allowed, and enforces the
/// limits.
pub trait Fetch: Send + Sync {
    /// Fetches the file at `url`; blocks until it is complete.
    ///
    /// # Errors
    ///
    /// Returns a message for the operator with the reason of the failure. A file that exceeds the limits is an error.
    fn fetch(&self, url: &Url, bounds: FetchBounds) -> Result<FetchedFile, String>;

    /// Fetches the file again; returns `None` if the server reports that it is unchanged.
    ///
    /// # Errors
    ///
    /// See [`Self::fetch`].
    fn fetch_again(&self, file: &RemoteFile, bounds: FetchBounds) -> Result<Option<FetchedFile>, String> {
        self.fetch(&file.url, bounds).map(Some)
    }
}

/// Validators of a fetched file, for detecting changes later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteFile {
    /// The requested URL.
    pub url: Url,
    /// Entity tag (`ETag`).
    pub etag: Option<String>,
    /// Last modification date (`Last-Modified`).
    pub last_modified: Option<String>,
    /// Hash of the content.
    digest: u64,
}

impl RemoteFile {
    /// Records the validators of `fetched`, which was requested from `url`.
    pub(super) fn new(url: &Url, fetched: &FetchedFile) -> Self {
        Self {
            url: url.clone(),
            etag: fetched.etag.clone(),
            last_modified: fetched.last_modified.clone(),
            digest: digest(&fetched.bytes),
        }
    }

    /// Formats the URL for messages.
    pub(crate) fn display_url(&self) -> String {
        display_url(&self.url)
    }

    /// Whether the file's content has changed.
    ///
    /// # Errors
    ///
    /// See [`Fetch::fetch`].
    pub(crate) fn has_changed(&self, fetch: &dyn Fetch, bounds: FetchBounds) -> Result<bool, String> {
        let again = fetch.fetch_again(self, bounds)?;
        Ok(again.is_some_and(|fetched| digest(&fetched.bytes) != self.digest))
    }
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// Rejects every fetch.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offline;

impl Fetch for Offline {
    fn fetch(&self, _url: &Url, _bounds: FetchBounds) -> Result<FetchedFile, String> {
        Err("remote files cannot be fetched here".to_owned())
    }
}
