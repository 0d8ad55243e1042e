//! One document → one toolset. The order of the steps is the order of this file.

use std::path::Path;

use super::report::{Report, Skipped};
use super::{LoadError, Toolset, ToolsetSettings, source};

/// Loads the document at `path` as the toolset `name`; `settings.document` is not looked at. A fault of one operation skips that
/// operation and is in the report; the errors are about the document as a whole.
pub fn load_document(name: &str, path: &Path, settings: &ToolsetSettings) -> Result<Toolset, LoadError> {
    let document = source::read(path, settings.limits.document_bytes)?;
    let mut report = Report { file: path.display().to_string(), ..Report::default() };
    let paths = document.get("paths").and_then(serde_json::Value::as_object);
    for path in paths.into_iter().flat_map(|paths| paths.keys()) {
        report.operations_skipped.push(Skipped { operation: path.clone(), reason: "not read yet".to_owned() });
    }
    Ok(Toolset { name: name.to_owned(), report, ..Toolset::default() })
}
