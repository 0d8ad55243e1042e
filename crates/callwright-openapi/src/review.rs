//! A document read for its author: the report, with what a dialect of schemas would lose and what would make models use it better.

use super::advice::{Rule, advise};
use super::dialect;
use super::document::Document;
use super::files::{Fetch, Origin};
use super::load::read;
use super::{LoadError, Report, ToolsetSettings};
use callwright_types::SchemaDialect;

/// What a review looks for besides what loading reports.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Review {
    /// Whose losses are among what was simplified.
    pub dialect: Option<SchemaDialect>,
    /// Which advice is given, in this order for each operation.
    pub advice: Vec<Rule>,
}

/// The report on the document at `origin`. Files that it refers to are read as `settings` allow; `fetch` gets what is remote.
///
/// # Errors
/// Where the document as a whole cannot be loaded.
pub fn review(
    origin: Origin<'_>,
    settings: &ToolsetSettings,
    review: &Review,
    fetch: &dyn Fetch,
) -> Result<Report, LoadError> {
    let path = origin.to_path();
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let document = Document::load(origin, settings, fetch)?;
    let mut toolset = read(&document, &name, &path, settings)?;
    if let Some(dialect) = review.dialect {
        toolset.report.simplified.extend(dialect::losses(&toolset.operations, dialect));
    }
    toolset.report.advice = advise(&document, &toolset, &settings.limits, &review.advice);
    Ok(toolset.report)
}
