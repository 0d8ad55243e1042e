//! Reads a document's files by following the references between them.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[cfg(test)]
use serde_json::Value;
use url::Url;

use super::address::{Address, Boundary, display_url};
use super::resources::{ResourceNames, ScanFinding, scan};
#[cfg(test)]
use crate::parse::Syntax;
use crate::parse::{ParsedText, parse};
use crate::{DocumentLimits, Fetch, FetchBounds, FetchedFile, LoadError, RemoteFile, SourceFile, ToolsetSettings};

/// Source of a document.
#[derive(Debug, Clone, Copy)]
pub enum Origin<'a> {
    /// A file; a relative path is resolved against the process's working directory.
    Path(&'a Path),
    /// An http or https URL.
    Url(&'a Url),
    /// Bytes that are treated as the content of the file at this path.
    Bytes(&'a Path, &'a [u8]),
}

impl Origin<'_> {
    /// Returns the path or URL for messages.
    pub(crate) fn to_path(self) -> PathBuf {
        match self {
            Self::Path(path) | Self::Bytes(path, _) => path.to_owned(),
            Self::Url(url) => PathBuf::from(display_url(url)),
        }
    }
}

pub(crate) struct DocumentFileSet {
    pub(crate) main: SourceFile,
    others: Vec<SourceFile>,
    /// Referenced local files, as absolute paths with links resolved, including files that could not be parsed.
    pub(crate) referred: BTreeSet<PathBuf>,
    /// The fetched files.
    pub(crate) remote: Vec<RemoteFile>,
}

impl DocumentFileSet {
    /// Returns all files that were read.
    pub(crate) fn all(&self) -> impl Iterator<Item = &SourceFile> {
        std::iter::once(&self.main).chain(&self.others)
    }

    /// Returns the file that `link`, a reference in `from` without its fragment, refers to, or the reason why it
    /// cannot be resolved.
    pub(crate) fn linked<'f>(&'f self, link: &str, from: &'f SourceFile) -> Result<&'f SourceFile, String> {
        let number = match from.links.get(link) {
            _ if link.is_empty() => return Ok(from),
            Some(Ok(number)) => *number,
            Some(Err(reason)) => return Err(reason.clone()),
            None => return Err("is in a place where references are not resolved".to_owned()),
        };
        let file = number.checked_sub(1).map_or(Some(&self.main), |other| self.others.get(other));
        file.ok_or_else(|| "has no target".to_owned())
    }

    /// Returns the remarks about repairs in the text of each file.
    pub(crate) fn remarks(&self) -> impl Iterator<Item = (&SourceFile, &str)> {
        self.all().flat_map(|file| file.remarks.iter().map(move |remark| (file, remark.as_str())))
    }
}

/// Reads the files of one document.
pub(crate) struct Loader<'a> {
    limits: &'a DocumentLimits,
    boundary: Boundary,
    /// Fetcher for referenced files; `None`: remote files are not read.
    fetch: Option<&'a dyn Fetch>,
    files: Vec<SourceFile>,
    names: ResourceNames,
    /// Results for the addresses already followed.
    known: HashMap<Address, Result<usize, String>>,
    /// Indexes of local files by path, with links resolved.
    by_path: HashMap<PathBuf, usize>,
    referred: BTreeSet<PathBuf>,
    fetched: Vec<RemoteFile>,
    bytes_left: u64,
    /// Deadline of all fetches; set by the first one.
    fetch_until: Option<Instant>,
}

impl<'a> Loader<'a> {
    /// Creates a loader for the document at `origin`. `fetch` is used for a remote document itself. It is used for
    /// referenced files only if the settings allow that.
    pub(crate) fn new(origin: Origin<'_>, settings: &'a ToolsetSettings, fetch: &'a dyn Fetch) -> Self {
        let root = match (origin, settings.root.as_str()) {
            // A remote document never refers to local files.
            (Origin::Url(_), _) => PathBuf::new(),
            (Origin::Path(path) | Origin::Bytes(path, _), "") => {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
                path.parent().unwrap_or(&path).to_owned()
            }
            (Origin::Path(_) | Origin::Bytes(..), root) => {
                std::path::absolute(root).unwrap_or_else(|_| PathBuf::from(root))
            }
        };
        Self {
            limits: &settings.limits,
            boundary: Boundary::below(root),
            fetch: settings.allow_remote_refs.then_some(fetch),
            files: Vec::new(),
            names: ResourceNames::default(),
            known: HashMap::new(),
            by_path: HashMap::new(),
            referred: BTreeSet::new(),
            fetched: Vec::new(),
            bytes_left: settings.limits.document_bytes,
            fetch_until: None,
        }
    }

    /// Reads the document's main file.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, or is neither JSON nor YAML.
    pub(crate) fn main(&mut self, origin: Origin<'_>, fetch: &dyn Fetch) -> Result<SourceFile, LoadError> {
        let limit = self.limits.document_bytes;
        let path = origin.to_path();
        let (address, bytes) = match origin {
            Origin::Path(path) => {
                // The operator configured the path, so a pipe is allowed.
                let bytes =
                    read_bounded(path, limit).map_err(|source| LoadError::Read { path: path.to_owned(), source })?;
                (Address::of_path(path), bytes)
            }
            Origin::Bytes(path, bytes) => (Address::of_path(path), bytes.to_owned()),
            Origin::Url(url) => {
                let fetched = self.fetch(fetch, url);
                let fetched = fetched.map_err(|reason| LoadError::fetch(display_url(url), reason))?;
                (Address::Url(fetched.url), fetched.bytes)
            }
        };
        let bytes_left = limit.checked_sub(bytes.len() as u64);
        self.bytes_left = bytes_left.ok_or_else(|| {
            LoadError::content(
                &path,
                format!("larger than {limit} bytes; raise `limits.document_bytes` if this is intended"),
            )
        })?;
        let parsed = parse(bytes).map_err(|fault| LoadError::content(&path, fault))?;
        Ok(self.first(address, parsed))
    }

    #[cfg(test)]
    /// Uses `root` as the content of the document's main file at `path`.
    pub(crate) fn value(&mut self, root: Value, path: &Path) -> SourceFile {
        let parsed = ParsedText { value: root, text: String::new(), syntax: Syntax::Json, remarks: Vec::new() };
        self.first(Address::of_path(path), parsed)
    }

    fn first(&mut self, address: Address, parsed: ParsedText) -> SourceFile {
        let name = match &address {
            Address::Path(path) => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            Address::Url(url) => display_url(url),
        };
        self.known.insert(address.clone(), Ok(0));
        if let Address::Path(path) = &address {
            self.by_path.insert(fs::canonicalize(path).unwrap_or_else(|_| path.clone()), 0);
        }
        SourceFile::new(name, address, parsed)
    }

    /// Reads all files that `main` refers to, transitively. A failure is recorded at the reference.
    pub(crate) fn complete(mut self, main: SourceFile) -> DocumentFileSet {
        self.files.push(main);
        let mut number = 0;
        while number < self.files.len() {
            let links = self.links_of(number);
            for link in links {
                let target = self.follow(number, &link);
                if let Some(file) = self.files.get_mut(number) {
                    file.links.insert(link, target);
                }
            }
            number += 1;
        }
        self.names.settle(&mut self.files);
        let main = self.files.remove(0);
        DocumentFileSet { main, others: self.files, referred: self.referred, remote: self.fetched }
    }

    /// Returns the distinct links of the file, except links to parts that have an address of their own.
    fn links_of(&mut self, number: usize) -> BTreeSet<String> {
        let mut links = BTreeSet::new();
        let Some(file) = self.files.get(number) else { return links };
        let Some(base) = file.address.base() else { return links };
        let names = &mut self.names;
        names.resource(&base, number, callwright_common::json::Pointer::root());
        scan(&file.root, &base, &mut |finding| match finding {
            ScanFinding::Resource(url, at) => names.resource(&url, number, at),
            ScanFinding::Anchor(url, name, at) => names.anchor(&url, name, number, at),
            ScanFinding::Reference(reference) => {
                names.has_others |= reference.keyword != "$ref";
                let link = reference.text.split('#').next().unwrap_or_default();
                if !link.is_empty() && !links.contains(link) && !names.is_part([&reference.base.url, &base], link) {
                    links.insert(link.to_owned());
                }
            }
        });
        links
    }

    /// Returns the index of the file that `link` in file `from` refers to. Reads the file on first use.
    fn follow(&mut self, from: usize, link: &str) -> Result<usize, String> {
        let from = self.files.get(from).ok_or("has no target")?;
        let address = from.address.follow(link)?;
        if let Some(known) = self.known.get(&address) {
            return known.clone();
        }
        let number = match &address {
            Address::Path(path) => self.local(path, &address),
            Address::Url(url) => self.remote(url),
        };
        self.known.insert(address, number.clone());
        number
    }

    fn local(&mut self, path: &Path, address: &Address) -> Result<usize, String> {
        let resolved = self.boundary.admit(path)?;
        if let Some(number) = self.by_path.get(&resolved) {
            return Ok(*number);
        }
        self.referred.insert(resolved.clone());
        self.has_room()?;
        let bytes = regular(&resolved).and_then(|()| read_bounded(&resolved, self.bytes_left));
        let bytes = bytes.map_err(|error| format!("cannot be read: {error}"))?;
        let number = self.add(address.clone(), bytes)?;
        self.by_path.insert(resolved, number);
        Ok(number)
    }

    fn remote(&mut self, url: &Url) -> Result<usize, String> {
        let fetch = self.fetch.ok_or("is remote; set the toolset's `allow_remote_refs` if it may be fetched")?;
        self.has_room()?;
        let fetched = self.fetch(fetch, url).map_err(|reason| format!("cannot be fetched: {reason}"))?;
        self.add(Address::Url(fetched.url), fetched.bytes)
    }

    /// Fetches a file within the bytes and the time that all files of the document share.
    fn fetch(&mut self, fetch: &dyn Fetch, url: &Url) -> Result<FetchedFile, String> {
        let seconds = self.limits.fetch_seconds;
        let until = *self.fetch_until.get_or_insert_with(|| Instant::now() + Duration::from_secs(seconds));
        let time = until.saturating_duration_since(Instant::now());
        if time.is_zero() {
            return Err(format!(
                "fetching the document's files took {seconds} seconds; raise `limits.fetch_seconds` to allow more"
            ));
        }
        let fetched = fetch.fetch(url, FetchBounds { bytes: self.bytes_left, time })?;
        self.fetched.push(RemoteFile::new(url, &fetched));
        Ok(fetched)
    }

    fn has_room(&self) -> Result<(), String> {
        let limit = self.limits.files;
        if self.files.len() < limit {
            return Ok(());
        }
        Err(format!("exceeds the limit of {limit} files per document; raise `limits.files` if this is intended"))
    }

    fn add(&mut self, address: Address, bytes: Vec<u8>) -> Result<usize, String> {
        let limit = self.limits.document_bytes;
        let bytes_left = self.bytes_left.checked_sub(bytes.len() as u64);
        self.bytes_left = bytes_left.ok_or_else(|| {
            format!("makes the document larger than {limit} bytes; raise `limits.document_bytes` if this is intended")
        })?;
        let parsed = parse(bytes).map_err(|message| format!("cannot be parsed: {message}"))?;
        let main = self.files.first().map(|main| &main.address);
        let name = main.map_or_else(|| address.to_string(), |main| address.name_from(main));
        self.files.push(SourceFile::new(name, address, parsed));
        Ok(self.files.len() - 1)
    }
}

/// Reads at most `limit` + 1 bytes, so that the caller can detect a larger file.
fn read_bounded(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Rejects pipes and devices, which could be read endlessly.
fn regular(path: &Path) -> io::Result<()> {
    if fs::metadata(path)?.is_file() { Ok(()) } else { Err(io::Error::other("it is not a regular file")) }
}
