//! How remote files come in, without this room doing network I/O.

use url::Url;

/// A remote file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Where it was found in the end; differs from what was asked for after a redirect.
    pub url: Url,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Gets files from http and https addresses. Whoever implements it decides which addresses may be asked, and bounds the time.
pub trait Fetch: Send + Sync {
    /// Gets the file at `url`, of at most `limit` bytes; blocks until it is there.
    ///
    /// # Errors
    /// A sentence for the operator: why it cannot be had. A file that is larger than `limit` is an error.
    fn fetch(&self, url: &Url, limit: u64) -> Result<Fetched, String>;
}

/// Gets nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offline;

impl Fetch for Offline {
    fn fetch(&self, _url: &Url, _limit: u64) -> Result<Fetched, String> {
        Err("remote files cannot be fetched here".to_owned())
    }
}
