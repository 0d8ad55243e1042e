//! Resolves paths, folders and globs to documentation files.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use globset::GlobBuilder;

use super::formats::format::{documentation_endings, is_documentation};
use callwright_common::yaml::YamlProblem;

/// Characters that make a path a glob.
const GLOB_MARKS: [char; 4] = ['*', '?', '[', '{'];

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DocumentationFile {
    pub(crate) path: PathBuf,
    /// Path relative to the searched folder, with `/` as separator.
    pub(crate) name: String,
}

/// Files and folders that paths resolve to.
#[derive(Debug, Default)]
pub(crate) struct DocumentationPaths {
    /// Files, those of each path sorted by name.
    pub(crate) files: Vec<DocumentationFile>,
    /// Folders that were searched.
    pub(crate) folders: Vec<PathBuf>,
}

/// Resolves paths: each is a file, a folder (all documentation files in it and below), or a glob (all matching files).
/// Also returns the errors of paths that match nothing or cannot be read.
pub(crate) fn find(paths: &[PathBuf]) -> (DocumentationPaths, Vec<DocumentError>) {
    let (mut found, mut errors) = (DocumentationPaths::default(), Vec::new());
    for path in paths {
        match named(path) {
            Ok((files, folders)) => {
                if files.is_empty() {
                    errors.push(DocumentError::None { path: path.clone() });
                }
                found.files.extend(files);
                found.folders.extend(folders);
            }
            Err(error) => errors.push(error),
        }
    }
    (found, errors)
}

/// Files, and the folders that were searched for them.
type NamedFiles = (Vec<DocumentationFile>, Vec<PathBuf>);

fn named(path: &Path) -> Result<NamedFiles, DocumentError> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => below(path),
        Ok(_) => {
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
            Ok((vec![DocumentationFile { path: path.to_owned(), name }], Vec::new()))
        }
        Err(_) if is_glob(path) => fitting(path),
        Err(reason) => Err(DocumentError::Read { path: path.to_owned(), reason }),
    }
}

/// Returns the path to watch for a missing file: the first missing folder of the path, or the path itself. Returns
/// `None` if nothing is missing.
pub(crate) fn awaited(path: &Path) -> Option<PathBuf> {
    let named = if path.exists() || !is_glob(path) { path.to_owned() } else { first_folders(path) };
    let missing = named.ancestors().take_while(|part| !part.as_os_str().is_empty() && !part.exists());
    missing.last().map(Path::to_owned)
}

/// Returns the leading path components of a glob that contain no glob characters.
fn first_folders(glob: &Path) -> PathBuf {
    glob.components().take_while(|part| !is_glob(Path::new(part))).collect()
}

/// Reads a file of at most `limit` bytes.
///
/// # Errors
/// Returns [`DocumentError`] if the file is larger or cannot be read.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, DocumentError> {
    let unread = |reason| DocumentError::Read { path: path.to_owned(), reason };
    let file = fs::File::open(path).map_err(unread)?;
    let bytes = file.metadata().map_err(unread)?.len();
    let mut read = Vec::new();
    // A file may grow while it is read, and some files report no size.
    file.take(limit.saturating_add(1)).read_to_end(&mut read).map_err(unread)?;
    let bytes = bytes.max(read.len() as u64);
    if bytes > limit { Err(DocumentError::TooLarge { path: path.to_owned(), bytes, limit }) } else { Ok(read) }
}

fn is_glob(path: &Path) -> bool {
    path.to_string_lossy().contains(GLOB_MARKS)
}

/// Returns the files that match a glob.
fn fitting(glob: &Path) -> Result<NamedFiles, DocumentError> {
    let fits = GlobBuilder::new(&glob.to_string_lossy()).literal_separator(true).build();
    let fits = fits.map_err(|reason| DocumentError::Glob { path: glob.to_owned(), reason })?.compile_matcher();
    let (mut files, folders) = below(&first_folders(glob))?;
    files.retain(|file| fits.is_match(&file.path));
    Ok((files, folders))
}

/// Returns the documentation files in a folder and below. Links to folders are not followed, because they could form
/// cycles. Hidden files and folders (leading dot) are skipped.
fn below(folder: &Path) -> Result<NamedFiles, DocumentError> {
    let unread = |reason| DocumentError::Read { path: folder.to_owned(), reason };
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    let mut open = vec![(folder.to_owned(), String::new())];
    while let Some((folder, prefix)) = open.pop() {
        for entry in fs::read_dir(&folder).map_err(unread)? {
            let entry = entry.map_err(unread)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') {
                continue;
            }
            let (path, name) = (entry.path(), format!("{prefix}{name}"));
            if entry.file_type().map_err(unread)?.is_dir() {
                open.push((path, format!("{name}/")));
            } else if is_documentation(&path) && path.is_file() {
                files.push(DocumentationFile { path, name });
            }
        }
        folders.push(folder);
    }
    files.sort_by(|left, right| left.name.cmp(&right.name));
    Ok((files, folders))
}

/// Error while reading documentation. The message names the file, the position and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The file does not exist or cannot be read.
    #[error("{}: {reason}; name a file or folder that can be read", path.display())]
    Read {
        /// File or folder.
        path: PathBuf,
        /// Cause.
        reason: std::io::Error,
    },
    /// Invalid glob pattern.
    #[error("{}: {reason}; `*` and `?` match any characters, `**` matches any folders", path.display())]
    Glob {
        /// Glob pattern.
        path: PathBuf,
        /// Cause.
        reason: globset::Error,
    },
    /// No documentation in a folder, or no match for a glob.
    #[error("{}: no documentation found; name a file, or a folder with files that end in .{}", path.display(), documentation_endings().collect::<Vec<_>>().join(", ."))]
    None {
        /// Folder or glob.
        path: PathBuf,
    },
    /// The file is too large.
    #[error("{} has {bytes} bytes, more than `explain.max_file_bytes` ({limit}); split the file or raise the limit", path.display())]
    TooLarge {
        path: PathBuf,
        /// Size in bytes.
        bytes: u64,
        /// Maximum size in bytes.
        limit: u64,
    },
    /// The file does not have the format that its extension indicates.
    #[error("{}:{error} there, or give the file the extension of its actual format", path.display())]
    Content {
        path: PathBuf,
        /// Cause.
        error: ContentError,
    },
}

/// Error in the content of a file: its position, cause and remedy.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// Invalid JSON. Content before the error is used.
    #[error(" {0}; fix the JSON")]
    Json(serde_json::Error),
    /// Invalid YAML. The lines are used as plain text.
    #[error("{}:{}: {}; fix the YAML", .0.line, .0.column, .0.message)]
    Yaml(YamlProblem),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documentation_files_are_found_in_order_at_any_depth() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.md", "a/c.HTML", "a/d/e.csv", "a/x.png", ".hidden/f.md", ".g.md"] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "text").unwrap();
        }
        let names =
            |path: PathBuf| -> Vec<String> { named(&path).unwrap().0.into_iter().map(|file| file.name).collect() };
        assert_eq!(names(folder.path().to_owned()), ["a/c.HTML", "a/d/e.csv", "b.md"]);
        assert_eq!(names(folder.path().join("**/*.csv")), ["a/d/e.csv"]);
        assert_eq!(names(folder.path().join("*.md")), ["b.md"]);
        assert_eq!(names(folder.path().join("a/?.HTML")), ["c.HTML"]);
        assert_eq!(named(folder.path()).unwrap().1.len(), 3);
    }

    #[test]
    fn the_first_missing_folder_of_a_path_is_watched() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.md"), "text").unwrap();
        let awaited = |path: &str| {
            let found = awaited(&folder.path().join(path));
            found.map(|found| found.strip_prefix(folder.path()).unwrap().to_string_lossy().into_owned())
        };
        assert_eq!([awaited(""), awaited("a.md"), awaited("*.md")], [None, None, None]);
        assert_eq!(awaited("b.md").as_deref(), Some("b.md"));
        assert_eq!(awaited("new/folder/b.md").as_deref(), Some("new"));
        assert_eq!(awaited("new/**/*.md").as_deref(), Some("new"));
    }

    #[test]
    fn a_file_is_found_whatever_its_ending() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("CODES");
        fs::write(&path, "text").unwrap();
        assert_eq!(named(&path).unwrap().0, [DocumentationFile { path, name: "CODES".into() }]);
    }

    #[test]
    fn unreadable_paths_are_reported_with_their_fix() {
        let folder = tempfile::tempdir().unwrap();
        let message = |path: &str| named(&folder.path().join(path)).unwrap_err().to_string();
        assert!(message("none").contains("none: No such file") && message("none").contains("name a file or folder"));
        assert!(message("a{").contains("a{: ") && message("a{").contains("match any"));
        let large = folder.path().join("large.md");
        fs::write(&large, "12345").unwrap();
        let error = read(&large, 4).unwrap_err().to_string();
        assert!(error.contains("large.md has 5 bytes") && error.contains("max_file_bytes"), "{error}");
        assert_eq!(read(&large, 5).unwrap(), b"12345");
    }
}
