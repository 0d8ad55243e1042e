//! Writes a file as text: deterministic, readable, and suitable for line-based diffs.

use std::io::{self, Write};
use std::path::Path;

use serde_saphyr::SerializerOptions;
use tempfile::NamedTempFile;

use super::error::RepresentationError;
use super::stored::RepresentationFile;
use super::validate::{InvalidValue, validate};
use callwright_common::json::Pointer;

/// Comment at the top of the file.
const HEADING: &str = "\
# Learned patterns of the requests that each tool serves. Callwright ranks tools by them and appends them to the
# tools' descriptions for models. Review, edit and version this file; delete it, or parts of it, to undo what was learned.
#
# toolset   toolset of the tools; omitted for tools that clients send
# learned   last run of `callwright learn representations`; macro_f1 in percent, on the validation samples
# ranking   weight of the best similarity relative to the others (sharpness), and of words relative to meaning (words)
# classifier  linear classifier of requests in the file beside this one, NAME.classifier.json: weight of its margin
#           relative to the score by patterns (weight), factor of the sum (scale), and lead of `no tool` with which no
#           tool is found (no_tool); remove this key to rank by patterns alone
# tools     at most 12 patterns per tool:
#   description  one general sentence
#   cases        2 or 3 short phrases from user requests
#   weight       weight of a match with this pattern; 1 is the default, 0.5 counts half
#   source       `learned NAME`, `edited` or `written`; the learner keeps patterns that a person edited or wrote
#   gain         points of macro-F1 that it gained when it was learned
#   digest       detects edits of a learned pattern
";

/// Returns the text of a file.
///
/// # Errors
/// [`RepresentationError::InvalidContent`]: the content is invalid.
pub(super) fn text(file: &RepresentationFile, path: &Path) -> Result<String, RepresentationError> {
    let mut text = HEADING.to_owned();
    let written = validate(file).and_then(|()| {
        serde_saphyr::to_fmt_writer_with_options(&mut text, file, options())
            .map_err(|error| InvalidValue { location: Pointer::root(), message: error.to_string() })
    });
    written.map_err(|InvalidValue { location, message }| RepresentationError::InvalidContent {
        path: path.to_owned(),
        location: location.to_string(),
        message,
    })?;
    Ok(text)
}

/// Writes a file atomically: concurrent readers see the old or the new content.
///
/// # Errors
/// [`RepresentationError::InvalidContent`]: the content is invalid. [`RepresentationError::Unwritable`]: an I/O error.
pub(super) fn write(file: &RepresentationFile, path: &Path) -> Result<(), RepresentationError> {
    let text = text(file, path)?;
    replace(path, &text).map_err(|source| RepresentationError::Unwritable { path: path.to_owned(), source })
}

/// Replaces a file atomically.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut new = new_file(folder)?;
    new.write_all(text.as_bytes())?;
    new.as_file().sync_all()?;
    new.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Creates a hidden temporary file, which is not loaded as a representation file. Its mode allows others to read it,
/// unlike that of a default temporary file.
fn new_file(folder: &Path) -> std::io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.prefix(".new-").tempfile_in(folder)
}

fn options() -> SerializerOptions {
    serde_saphyr::ser_options! { folded_wrap_chars: 120, compact_list_indent: true }
}
