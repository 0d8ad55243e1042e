//! Addresses of a document's files, the resolution of references between files, and the restriction of local files.
//!
//! Referenced content ends up in descriptions that models and providers see. A document from elsewhere must therefore
//! not read arbitrary local files. It may refer to files below one folder, the root: the document's own folder, or a
//! parent folder that the operator configures. Links are resolved before this check. Only files with the extensions
//! of documents are read, which excludes keys and configuration files beside a document.

use std::path::{Component, Path, PathBuf};
use std::{fmt, fs};

use percent_encoding::percent_decode_str;
use url::Url;

/// Address of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Address {
    /// Path in the file system; absolute, without `.` and `..`.
    Path(PathBuf),
    /// An http or https URL, without fragment.
    Url(Url),
}

impl Address {
    /// Returns the address of a file that the operator configured.
    pub(super) fn of_path(path: &Path) -> Self {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Self::Path(normalised(&absolute))
    }

    /// Resolves `link`, a reference in this file without its fragment. A link in a remote file always resolves to a
    /// remote address.
    ///
    /// # Errors
    ///
    /// Returns the reason why the link cannot be followed.
    pub(super) fn follow(&self, link: &str) -> Result<Self, String> {
        if let Self::Url(base) = self {
            let url = base.join(link).map_err(|error| format!("is not a valid URL ({error})"))?;
            return remote(url)
                .map_err(|scheme| format!("refers from a remote document to `{scheme}:`, which is not followed"));
        }
        match Url::parse(link) {
            Ok(url) if url.scheme() == "file" => {
                let path = url.to_file_path().map_err(|()| "refers to a file on another machine".to_owned())?;
                Ok(Self::Path(normalised(&path)))
            }
            // A scheme of one letter is a Windows drive.
            Ok(url) if url.scheme().len() > 1 => {
                remote(url).map_err(|scheme| format!("has the scheme `{scheme}:`, which is not followed"))
            }
            _ if link.starts_with("//") => self.follow(&format!("https:{link}")),
            _ => Ok(self.beside(link)),
        }
    }

    /// Resolves the path `link` against this file's folder.
    fn beside(&self, link: &str) -> Self {
        let link = link.split('?').next().unwrap_or_default();
        let decoded = percent_decode_str(link).decode_utf8_lossy().replace('\\', "/");
        let folder = match self {
            Self::Path(path) => path.parent().unwrap_or(path),
            Self::Url(_) => Path::new(""),
        };
        Self::Path(normalised(&folder.join(decoded)))
    }

    /// Returns the address as the base URL for relative `$id`s.
    pub(super) fn base(&self) -> Option<Url> {
        match self {
            Self::Path(path) => Url::from_file_path(path).ok(),
            Self::Url(url) => Some(url.clone()),
        }
    }

    /// Returns the file's name for messages; for local files, the path relative to the folder of the main file
    /// `main`.
    pub(super) fn name_from(&self, main: &Self) -> String {
        match (self, main) {
            (Self::Path(path), Self::Path(main)) => {
                relative_path(main.parent().unwrap_or(main), path).display().to_string()
            }
            (Self::Url(url), _) => display_url(url),
            (Self::Path(_), Self::Url(_)) => self.to_string(),
        }
    }
}

/// Formats a URL for messages and reports, without the query, which may contain a key.
pub(super) fn display_url(url: &Url) -> String {
    let mut url = url.clone();
    if url.query().is_some() {
        url.set_query(Some("..."));
    }
    url.to_string()
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::Url(url) => write!(f, "{url}"),
        }
    }
}

/// Returns `url` as a remote address. The error is its scheme if that is not http or https.
fn remote(mut url: Url) -> Result<Address, String> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(url.scheme().to_owned());
    }
    url.set_fragment(None);
    Ok(Address::Url(url))
}

/// Removes `.` and `..` from an absolute path without accessing the file system. `..` at the root is dropped.
fn normalised(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

/// Returns the relative path from `folder` to `path`, both normalised.
fn relative_path(folder: &Path, path: &Path) -> PathBuf {
    let shared = folder.components().zip(path.components()).take_while(|(one, other)| one == other).count();
    let up = folder.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(path.components().skip(shared)).collect()
}

/// File name extensions that a document may refer to.
const EXTENSIONS: [&str; 4] = ["json", "yaml", "yml", "jsonschema"];

/// The local files that a document may refer to.
#[derive(Debug, Clone)]
pub(super) struct Boundary {
    /// The root as configured, absolute.
    root: PathBuf,
    /// The root with links resolved; `None` if it does not exist.
    resolved: Option<PathBuf>,
}

impl Boundary {
    /// Allows files below the absolute path `root`.
    pub(super) fn below(root: PathBuf) -> Self {
        let resolved = fs::canonicalize(&root).ok();
        Self { root, resolved }
    }

    /// Checks the absolute and normalised `path`, and returns it with links resolved.
    ///
    /// # Errors
    ///
    /// Returns the reason why the file is not read.
    pub(super) fn admit(&self, path: &Path) -> Result<PathBuf, String> {
        let root = self.resolved.as_ref().ok_or_else(|| self.outside())?;
        // Checked before any file access, so that the error does not reveal which files exist.
        if !path.starts_with(&self.root) && !path.starts_with(root) {
            return Err(self.outside());
        }
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        if !EXTENSIONS.iter().any(|known| extension == *known) {
            return Err(format!(
                "has an unsupported extension; a document may refer to files that end in {}",
                EXTENSIONS.join(", ")
            ));
        }
        let resolved = fs::canonicalize(path).map_err(|error| format!("cannot be read: {error}"))?;
        if resolved.starts_with(root) { Ok(resolved) } else { Err(self.outside()) }
    }

    fn outside(&self) -> String {
        let root = self.root.display();
        format!("is outside `{root}`; set the toolset's `root` to a folder that contains both if this is intended")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn followed(from: &str, link: &str) -> Result<String, String> {
        let from = Url::parse(from).map_or_else(|_| Address::of_path(Path::new(from)), Address::Url);
        from.follow(link).map(|address| address.to_string())
    }

    #[cfg(unix)]
    #[test]
    fn links_in_files_lead_to_files_beside_them_or_to_the_network() {
        for (link, expected) in [
            ("b.yaml", "/d/api/b.yaml"),
            ("./x/../b.yaml", "/d/api/b.yaml"),
            ("../b.yaml", "/d/b.yaml"),
            ("../../../../etc/passwd", "/etc/passwd"),
            ("/etc/passwd", "/etc/passwd"),
            ("file:///etc/passwd", "/etc/passwd"),
            ("%2e%2e/b%20c.yaml", "/d/b c.yaml"),
            ("..\\b.yaml", "/d/b.yaml"),
            ("b.yaml?raw=true", "/d/api/b.yaml"),
            ("https://example.com/b.yaml#/x", "https://example.com/b.yaml"),
            ("//example.com/b.yaml", "https://example.com/b.yaml"),
        ] {
            assert_eq!(followed("/d/api/a.yaml", link).as_deref(), Ok(expected), "{link}");
        }
        for link in ["ftp://example.com/x", "data:text/plain,x", "urn:x:y"] {
            assert!(followed("/d/a.yaml", link).unwrap_err().contains("not followed"), "{link}");
        }
        assert!(followed("/d/a.yaml", "file://server/share/x.yaml").is_err());
    }

    #[test]
    fn links_in_remote_files_never_lead_to_files() {
        let base = "https://example.com/api/a.yaml";
        assert_eq!(followed(base, "../b.yaml").unwrap(), "https://example.com/b.yaml");
        assert_eq!(followed(base, "/etc/passwd").unwrap(), "https://example.com/etc/passwd");
        assert_eq!(followed(base, "http://other.example/b").unwrap(), "http://other.example/b");
        for link in ["file:///etc/passwd", "FILE:/etc/passwd", "ftp://example.com/x"] {
            assert!(followed(base, link).unwrap_err().contains("not followed"), "{link}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn files_are_named_by_their_path_relative_to_the_first_file() {
        let main = Address::of_path(Path::new("/d/api/a.yaml"));
        for (path, name) in [("/d/api/a.yaml", "a.yaml"), ("/d/api/s/b.yaml", "s/b.yaml"), ("/d/c.yaml", "../c.yaml")] {
            assert_eq!(Address::of_path(Path::new(path)).name_from(&main), name);
        }
        let remote = Address::Url(Url::parse("https://example.com/b.yaml").unwrap());
        assert_eq!(remote.name_from(&main), "https://example.com/b.yaml");
    }
}
