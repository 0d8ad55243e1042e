//! Which files below a folder are documentation.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use globset::GlobBuilder;

use super::DocumentError;

/// Endings of the files that are read.
pub const DOCUMENTATION_ENDINGS: [&str; 14] =
    ["md", "markdown", "mdx", "mdown", "html", "htm", "xhtml", "txt", "text", "json", "jsonl", "ndjson", "csv", "tsv"];

/// What makes a path a glob.
const GLOB_MARKS: [char; 4] = ['*', '?', '[', '{'];

/// Folders within folders that are searched, at most.
const MAX_FOLDER_DEPTH: usize = 64;

/// A file of documentation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Found {
    /// Where it is.
    pub(super) path: PathBuf,
    /// The way to it from the folder that was searched, with `/` between its parts.
    pub(super) name: String,
}

/// What a path names.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// The files, in the order of their names.
    pub(super) files: Vec<Found>,
    /// The folders that were searched for them.
    pub(super) folders: Vec<PathBuf>,
}

/// The file that `path` names, or those of a known kind in the folder that it names and below, or those that it fits if it is a glob.
///
/// # Errors
/// [`DocumentError`], where it names nothing, or a folder cannot be listed. A folder without documentation is none: more may come.
pub(super) fn named(path: &Path) -> Result<Named, DocumentError> {
    let unread = |reason| DocumentError::Read { path: path.to_owned(), reason };
    let named = match fs::metadata(path) {
        Ok(found) if found.is_dir() => below(path).map_err(unread)?,
        Ok(_) => {
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
            Named { files: vec![Found { path: path.to_owned(), name }], folders: Vec::new() }
        }
        Err(_) if is_glob(path) => fitting(path)?,
        Err(reason) => return Err(unread(reason)),
    };
    Ok(named)
}

/// What has to come before a path can name anything: itself, or the first of its folders that is not there. `None` where nothing is missing.
pub(super) fn awaited(path: &Path) -> Option<PathBuf> {
    let named = if path.exists() || !is_glob(path) { path.to_owned() } else { first_folders(path) };
    let missing = named.ancestors().take_while(|part| !part.as_os_str().is_empty() && !part.exists());
    missing.last().map(Path::to_owned)
}

/// The folders that a glob begins with, those without marks.
fn first_folders(glob: &Path) -> PathBuf {
    glob.components().take_while(|part| !is_glob(Path::new(part))).collect()
}

/// The bytes of a file of at most `limit` bytes.
///
/// # Errors
/// [`DocumentError`], where it has more, or cannot be read.
pub(super) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, DocumentError> {
    let unread = |reason| DocumentError::Read { path: path.to_owned(), reason };
    let file = fs::File::open(path).map_err(unread)?;
    let bytes = file.metadata().map_err(unread)?.len();
    let mut read = Vec::new();
    // A file may grow while it is read, and some tell no size.
    file.take(limit.saturating_add(1)).read_to_end(&mut read).map_err(unread)?;
    let bytes = bytes.max(read.len() as u64);
    if bytes > limit { Err(DocumentError::TooLarge { path: path.to_owned(), bytes, limit }) } else { Ok(read) }
}

fn is_glob(path: &Path) -> bool {
    path.to_string_lossy().contains(GLOB_MARKS)
}

/// The files below the first folders of a glob that it fits.
fn fitting(glob: &Path) -> Result<Named, DocumentError> {
    let broken = |reason| DocumentError::Glob { path: glob.to_owned(), reason };
    let fits = GlobBuilder::new(&glob.to_string_lossy()).literal_separator(true).build().map_err(broken)?;
    let fits = fits.compile_matcher();
    let folder = first_folders(glob);
    let unread = |reason| DocumentError::Read { path: folder.clone(), reason };
    let mut named = below(&folder).map_err(unread)?;
    named.files.retain(|file| fits.is_match(&file.path));
    Ok(named)
}

/// The files of a known kind in a folder and below. Links to folders are not followed: they could lead in circles; what begins with a dot is
/// passed over.
fn below(folder: &Path) -> io::Result<Named> {
    let mut named = Named::default();
    let mut open = vec![(folder.to_owned(), String::new(), 0)];
    while let Some((folder, prefix, depth)) = open.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let file_name = entry.file_name().to_string_lossy().into_owned();
            if file_name.starts_with('.') {
                continue;
            }
            let name = if prefix.is_empty() { file_name } else { format!("{prefix}/{file_name}") };
            if entry.file_type()?.is_dir() {
                if depth < MAX_FOLDER_DEPTH {
                    open.push((entry.path(), name, depth + 1));
                }
            } else if is_documentation(&entry.path()) {
                named.files.push(Found { path: entry.path(), name });
            }
        }
        named.folders.push(folder);
    }
    named.files.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(named)
}

/// Has the file an ending of documentation?
fn is_documentation(path: &Path) -> bool {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    ending.is_some_and(|ending| DOCUMENTATION_ENDINGS.contains(&ending.as_str())) && path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_known_kind_are_found_in_order_at_any_depth() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.md", "a/c.HTML", "a/d/e.csv", "a/x.png", ".hidden/f.md", ".g.md"] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "text").unwrap();
        }
        let names =
            |path: PathBuf| -> Vec<String> { named(&path).unwrap().files.into_iter().map(|file| file.name).collect() };
        assert_eq!(names(folder.path().to_owned()), ["a/c.HTML", "a/d/e.csv", "b.md"]);
        assert_eq!(names(folder.path().join("**/*.csv")), ["a/d/e.csv"]);
        assert_eq!(names(folder.path().join("*.md")), ["b.md"]);
        assert_eq!(names(folder.path().join("a/?.HTML")), ["c.HTML"]);
        assert_eq!(named(folder.path()).unwrap().folders.len(), 3);
    }

    #[test]
    fn what_is_not_there_is_awaited_where_its_folders_end() {
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
        assert_eq!(named(&path).unwrap().files, [Found { path, name: "CODES".into() }]);
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_place_and_what_mends_it() {
        let folder = tempfile::tempdir().unwrap();
        let told = |path: &str| named(&folder.path().join(path)).unwrap_err().to_string();
        assert!(told("none").contains("none: No such file") && told("none").contains("name a file or folder"));
        assert!(told("a{").contains("a{: ") && told("a{").contains("stand for any"));
        let large = folder.path().join("large.md");
        fs::write(&large, "12345").unwrap();
        let error = read(&large, 4).unwrap_err().to_string();
        assert!(error.contains("large.md has 5 bytes") && error.contains("max_file_bytes"), "{error}");
        assert_eq!(read(&large, 5).unwrap(), b"12345");
    }
}
