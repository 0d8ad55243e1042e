//! Reviews a document for its author: the loader's report, the losses in a schema dialect, and advice.

use super::advice::{Rule, advise};
use super::dialect;
use super::document::ApiDocument;
use super::files::{Fetch, Origin};
use super::load::read;
use super::{LoadError, Report, ToolsetSettings};
use callwright_types::SchemaDialect;

/// Optional parts of a review.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Review {
    /// Dialect whose losses are added to the simplified parts.
    pub dialect: Option<SchemaDialect>,
    /// Rules of the advice, applied in this order to each operation.
    pub advice: Vec<Rule>,
}

/// Reviews the document at `origin`. Files that it refers to are read as `settings` allow; `fetch` fetches remote
/// files.
///
/// # Errors
///
/// Returns an error if the document as a whole cannot be loaded.
pub fn review(
    origin: Origin<'_>,
    settings: &ToolsetSettings,
    review: &Review,
    fetch: &dyn Fetch,
) -> Result<Report, LoadError> {
    let path = origin.to_path();
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let document = ApiDocument::load(origin, settings, fetch)?;
    let mut toolset = read(&document, &name, &path, settings)?;
    if let Some(dialect) = review.dialect {
        toolset.report.simplified.extend(dialect::losses(&toolset.operations, dialect));
    }
    toolset.report.advice = advise(&document, &toolset, &settings.limits, &review.advice);
    Ok(toolset.report)
}
