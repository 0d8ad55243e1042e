//! `callwright check`: reports which operations of OpenAPI documents become tools.

mod arguments;
mod documents;
mod guard;
mod tally;
mod text;

use std::io::{self, Read, Write};

use serde::Serialize;

pub(super) use arguments::CheckArguments;
use documents::{DocumentEntry, DocumentList, DocumentSource};
use tally::{DeniedFinding, ReportTally};

use super::errors::VerbResult;
use super::plain;
use super::shared_arguments::OutputFormat;
use crate::app;
use callwright_common::limits::DOCUMENT_BYTES_AT_ONCE;
use callwright_common::parallel::{WorkLimits, cores, in_order};
use callwright_openapi::{self as catalog, Fetch, Offline, Origin, Report, Review, ToolsetSettings};

/// Maximum number of reports that wait for an earlier one.
const REPORTS_AHEAD: usize = 256;

/// Result of one document, ready to be written.
struct CheckedDocument {
    tally: ReportTally,
    text: String,
}

pub(super) fn run(arguments: &CheckArguments) -> VerbResult {
    let DocumentList { entries, skipped_folders } = documents::find(&arguments.paths, arguments.files_from.as_deref())?;
    if !skipped_folders.is_empty() {
        anstream::eprintln!("{}", text::skipped_folders(&skipped_folders));
    }
    if entries.is_empty() {
        let places: Vec<String> = arguments.paths.iter().map(|path| plain::text(&path.display().to_string())).collect();
        let places = if places.is_empty() { "the list".to_owned() } else { places.join(", ") };
        let form = "a document has a top-level `openapi` or `swagger` key and the extension .json, .yaml or .yml";
        return Err(format!("no OpenAPI document in {places}; {form}").into());
    }
    let is_remote = entries.iter().any(|entry| matches!(entry.source, DocumentSource::Url(_)));
    let fetch = if is_remote { app::public_fetcher()? } else { Box::new(Offline) };
    guard::listen();
    match write(arguments, &entries, fetch.as_ref()) {
        // `callwright check specs | head`: a closed pipe is not an error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(format!("the reports cannot be written: {error}").into()),
        Ok(total) => verdict(&total, &arguments.deny),
    }
}

/// Writes the reports as they become available, in the order of `entries`.
fn write(arguments: &CheckArguments, entries: &[DocumentEntry], fetch: &dyn Fetch) -> io::Result<ReportTally> {
    let mut out: Box<dyn Write> = match arguments.format {
        OutputFormat::Json => Box::new(io::stdout().lock()),
        OutputFormat::Text => Box::new(anstream::stdout().lock()),
    };
    if arguments.format == OutputFormat::Text {
        out.write_all(text::header().as_bytes())?;
    }
    let review = Review { dialect: arguments.dialect, advice: arguments.advice.0.clone() };
    let run = CheckRun { review: &review, format: arguments.format, fetch };
    let workers = cores().get().min(entries.len());
    let limits = WorkLimits { workers, weight: DOCUMENT_BYTES_AT_ONCE, ahead: REPORTS_AHEAD };
    let mut total = ReportTally::default();
    in_order(
        limits,
        entries.iter(),
        |entry| entry.bytes(),
        |entry| checked(entry, run),
        |CheckedDocument { tally, text }| {
            total += tally;
            out.write_all(text.as_bytes())
        },
    )?;
    if arguments.format == OutputFormat::Text && total.documents > 1 {
        out.write_all(text::summary(&total).as_bytes())?;
    }
    out.flush()?;
    Ok(total)
}

/// Settings that apply to every document of a run.
#[derive(Clone, Copy)]
struct CheckRun<'a> {
    review: &'a Review,
    format: OutputFormat,
    fetch: &'a dyn Fetch,
}

fn checked(entry: &DocumentEntry, run: CheckRun<'_>) -> CheckedDocument {
    let report = guard::guarded(|| report(entry, run)).unwrap_or_else(|fault| Report::of_failure("", fault));
    let report = Report { file: entry.name.clone(), ..report };
    let text = match run.format {
        OutputFormat::Json => json_line(&report, &entry.path()),
        OutputFormat::Text => text::document(&report, &entry.shown),
    };
    CheckedDocument { tally: ReportTally::of(&report), text }
}

#[derive(Serialize)]
struct ReportLine<'a> {
    #[serde(flatten)]
    report: &'a Report,
    /// Path of the document relative to the working directory; `file` may repeat across folders.
    path: &'a str,
}

/// Returns the JSON line of the report on the document at `path`.
fn json_line(report: &Report, path: &str) -> String {
    let written = serde_json::to_string(&ReportLine { report, path });
    // Every report can be represented in JSON.
    plain::json(written.unwrap_or_default()) + "\n"
}

fn report(entry: &DocumentEntry, CheckRun { review, fetch, .. }: CheckRun<'_>) -> Report {
    let root = entry.root.as_ref().map(|root| root.to_string_lossy().into_owned()).unwrap_or_default();
    let settings = ToolsetSettings { root, ..ToolsetSettings::default() };
    let reviewed = match &entry.source {
        DocumentSource::File(path) => catalog::reviewed(Origin::Path(path), &settings, review, fetch),
        DocumentSource::Url(url) => catalog::reviewed(Origin::Url(url), &settings, review, fetch),
        DocumentSource::StandardInput(path) => {
            let mut bytes = Vec::new();
            // Reads one byte more than the limit, so that a document that is too large is detected.
            let limit = settings.limits.document_bytes.saturating_add(1);
            match io::stdin().lock().take(limit).read_to_end(&mut bytes) {
                Ok(_) => catalog::reviewed(Origin::Bytes(path, &bytes), &settings, review, fetch),
                Err(error) => return Report::of_failure("", format!("standard input cannot be read: {error}")),
            }
        }
        DocumentSource::Fault(fault) => return Report::of_failure("", fault),
    };
    reviewed.map_or_else(|error| Report::of_failure("", error), |toolset| toolset.report)
}

fn verdict(total: &ReportTally, denied: &[DeniedFinding]) -> VerbResult {
    let ReportTally { documents, failed, .. } = *total;
    let found: Vec<String> = denied.iter().filter_map(|what| total.of_denied(*what)).collect();
    match (failed, found.as_slice()) {
        (0, []) => Ok(()),
        (0, _) => {
            let found = found.join(" and ");
            Err(format!("{found}, which --deny forbids; see the reports for the locations").into())
        }
        _ => {
            let reasons = "documents could not be loaded; see their reports for the reasons";
            Err(format!("{failed} of {documents} {reasons}").into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unloadable_documents_fail_and_so_do_denied_findings() {
        let tally = ReportTally { documents: 3, skipped: 2, advice: 1, ..ReportTally::default() };
        let message =
            |tally: &ReportTally, denied: &[DeniedFinding]| verdict(tally, denied).err().map(|error| error.to_string());
        assert_eq!(message(&tally, &[]), None);
        assert_eq!(message(&tally, &[DeniedFinding::Renamed]), None);
        let denied = message(&tally, &[DeniedFinding::Skipped, DeniedFinding::Renamed, DeniedFinding::Advice]).unwrap();
        assert!(denied.starts_with("2 operations skipped and 1 piece of advice, which --deny forbids"), "{denied}");
        let failed = message(&ReportTally { failed: 1, ..tally }, &[DeniedFinding::Skipped]).unwrap();
        assert!(failed.starts_with("1 of 3 documents could not be loaded"), "{failed}");
    }

    #[test]
    fn the_documented_members_come_first() {
        let report = Report { file: "a\nb.json".to_owned(), ..Report::default() };
        let expected =
            r#"{"file":"a\nb.json","operations_loaded":0,"operations_skipped":[],"renamed":[],"simplified":[],"#;
        assert_eq!(
            json_line(&report, "x/a.json"),
            format!("{expected}\"error\":null,\"advice\":[],\"hidden\":[],\"path\":\"x/a.json\"}}\n")
        );
    }
}
