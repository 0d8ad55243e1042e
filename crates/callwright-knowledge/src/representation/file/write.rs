//! What a file holds → its text: the same for the same, in a form that people read and version control compares line by line.

use std::io::Write;
use std::path::Path;

use serde_saphyr::SerializerOptions;
use tempfile::NamedTempFile;

use super::error::RepresentationError;
use super::form::FileForm;
use super::stored::RepresentationFile;
use super::validate::{Fault, validate};

/// What stands above the keys.
const HEADING: &str = "\
# What requests for these tools are like. Callwright ranks tools by it and shows it to models, behind each tool's own description.
# Read it, change it, keep it in version control; remove the file, or a part of it, to take it back.
#
# toolset   whose tools these are; without it, those that clients send
# learned   how the last run of `callwright learn representations` went: macro_f1 in percent, on the samples that changes were tried on
# ranking   how much the best likeness counts beside the others (sharpness), and words beside meaning (words)
# tools     at most 12 patterns for each:
#   description  one general sentence
#   cases        2 or 3 short phrases, as people use them
#   weight       how much a likeness to this pattern counts: 1 as usual, 0.5 half of that
#   source       `learned NAME`, `edited` or `written`; what you change or add belongs to you, and learning again keeps it as it is
#   gain         points of macro-F1 that it brought when it was learned
#   digest       tells whether what was learned has been changed since
";

/// Characters of a line beyond which a text goes on in the next one.
const LINE_CHARS: usize = 120;

/// The text of a file.
///
/// # Errors
/// [`RepresentationError::Unfit`] where it could not be read again.
pub(super) fn text(file: &RepresentationFile, path: &Path) -> Result<String, RepresentationError> {
    let form = FileForm::of(file);
    let unfit = |place: String, message: String| RepresentationError::Unfit { path: path.to_owned(), place, message };
    validate(&form).map_err(|Fault { place, message }| unfit(place.to_string(), message))?;
    let mut text = HEADING.to_owned();
    serde_saphyr::to_fmt_writer_with_options(&mut text, &form, options())
        .map_err(|error| unfit(String::new(), error.to_string()))?;
    Ok(text)
}

/// Writes a file in one step: whoever reads it meanwhile sees the old one or the new one, whole.
///
/// # Errors
/// [`RepresentationError::Unfit`] where it could not be read again, [`RepresentationError::Unwritable`].
pub(super) fn write(file: &RepresentationFile, path: &Path) -> Result<(), RepresentationError> {
    let text = text(file, path)?;
    let unwritable = |source| RepresentationError::Unwritable { path: path.to_owned(), source };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut new = new_file(folder).map_err(unwritable)?;
    new.write_all(text.as_bytes()).and_then(|()| new.as_file().sync_all()).map_err(unwritable)?;
    new.persist(path).map_err(|error| unwritable(error.error))?;
    Ok(())
}

/// A hidden file, which nobody takes for a representation. A temporary file is its owner's alone; this one will be read by others.
fn new_file(folder: &Path) -> std::io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.prefix(".new-").tempfile_in(folder)
}

fn options() -> SerializerOptions {
    serde_saphyr::ser_options! { folded_wrap_chars: LINE_CHARS, compact_list_indent: true }
}
