//! How remote files come in, without this room doing network I/O.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use url::Url;

use super::address::shown;

/// A remote file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Where it was found in the end; differs from what was asked for after a redirect.
    pub url: Url,
    /// Its content.
    pub bytes: Vec<u8>,
    /// What its server calls this version of it (`ETag`, RFC 9110 section 8.8.3).
    pub etag: Option<String>,
    /// When it was changed, as its server says it (`Last-Modified`, RFC 9110 section 8.8.2).
    pub last_modified: Option<String>,
}

/// How much a remote file may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchBounds {
    /// Bytes, decompressed.
    pub bytes: u64,
    /// Time until it is whole.
    pub time: Duration,
}

/// Gets files from http and https addresses. Whoever implements it decides which addresses may be asked, and keeps the bounds.
pub trait Fetch: Send + Sync {
    /// Gets the file at `url`; blocks until it is there.
    ///
    /// # Errors
    /// A sentence for the operator: why it cannot be had. A file that is larger than the bounds allow is an error.
    fn fetch(&self, url: &Url, bounds: FetchBounds) -> Result<Fetched, String>;

    /// Gets the file again; `None` where its server says that it has not changed since.
    ///
    /// # Errors
    /// As [`Self::fetch`].
    fn fetch_again(&self, file: &RemoteFile, bounds: FetchBounds) -> Result<Option<Fetched>, String> {
        self.fetch(&file.url, bounds).map(Some)
    }
}

/// What is remembered of a remote file, to tell later whether it has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteFile {
    /// Where it was asked for.
    pub url: Url,
    /// Its `ETag`.
    pub etag: Option<String>,
    /// Its `Last-Modified`.
    pub last_modified: Option<String>,
    /// A hash of its content.
    digest: u64,
}

impl RemoteFile {
    /// What there is to remember of `fetched`, which was asked for at `url`.
    pub(super) fn of(url: &Url, fetched: &Fetched) -> Self {
        Self {
            url: url.clone(),
            etag: fetched.etag.clone(),
            last_modified: fetched.last_modified.clone(),
            digest: digest(&fetched.bytes),
        }
    }

    /// The URL for messages.
    pub(in super::super) fn shown(&self) -> String {
        shown(&self.url)
    }

    /// Has the file another content now?
    ///
    /// # Errors
    /// As [`Fetch::fetch`].
    pub(in super::super) fn has_changed(&self, fetch: &dyn Fetch, bounds: FetchBounds) -> Result<bool, String> {
        let again = fetch.fetch_again(self, bounds)?;
        Ok(again.is_some_and(|fetched| digest(&fetched.bytes) != self.digest))
    }
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// Gets nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offline;

impl Fetch for Offline {
    fn fetch(&self, _url: &Url, _bounds: FetchBounds) -> Result<Fetched, String> {
        Err("remote files cannot be fetched here".to_owned())
    }
}
