//! Text reports: a table with one row per document, and the document's details below its row.

use std::fmt::Write as _;
use std::path::PathBuf;

use anstyle::{AnsiColor, Style};

use super::tally::{ReportTally, counted};
use crate::cli::plain::text as plain;
use callwright_common::limits::{EXAMPLES, LISTED};
use callwright_openapi::{HiddenParameter, Report, Rule};

const HEAD: Style = Style::new().bold();
const FAILED: Style = AnsiColor::Red.on_default().bold();
const LOST: Style = AnsiColor::Yellow.on_default();
const NOTED: Style = AnsiColor::Cyan.on_default();

/// Returns the column titles. Names come last because only the terminal knows their widths.
pub(super) fn header() -> String {
    format!("{HEAD} loaded  skipped  renamed  simplified  hidden  advice  document{HEAD:#}\n")
}

/// Returns the line about folders that were not searched.
pub(super) fn skipped_folders(folders: &[PathBuf]) -> String {
    let shown: Vec<String> = folders.iter().take(LISTED).map(|folder| plain(&folder.display().to_string())).collect();
    let more = folders.len().saturating_sub(LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(
        "skipped {}{more}: folders whose names begin with a dot are not searched; pass them as arguments to check them",
        shown.join(", ")
    )
}

/// Returns the row and the details of one document.
pub(super) fn document(report: &Report, name: &str) -> String {
    let name = plain(name);
    if let Some(error) = &report.error {
        let dashes = format!("{0:>7}  {0:>7}  {0:>7}  {0:>10}  {0:>6}  {0:>6}", "-");
        return format!(
            "{dashes}  {FAILED}{name}{FAILED:#}\n    {FAILED}{:<10}{FAILED:#}  {}\n",
            "error",
            plain(error)
        );
    }
    let mut out = row(&ReportTally::of(report));
    let _ = writeln!(out, "  {HEAD}{name}{HEAD:#}");
    let Report { operations_skipped, renamed, simplified, .. } = report;
    let skipped = operations_skipped.iter().map(|skipped| about(&skipped.operation, &skipped.reason));
    details(&mut out, LOST, "skipped", skipped, LISTED);
    let renamed = renamed.iter().map(|renamed| {
        let from = renamed.from.as_deref().map_or_else(|| "no operationId".to_owned(), |from| format!("from `{from}`"));
        about(&renamed.operation, &format!("`{}` ({from})", renamed.to))
    });
    details(&mut out, NOTED, "renamed", renamed, LISTED);
    let simplified = simplified.iter().map(|simplified| about(&simplified.operation, &simplified.what));
    details(&mut out, NOTED, "simplified", simplified, LISTED);
    details(&mut out, NOTED, "hidden", report.hidden.iter().map(hidden), LISTED);
    advice(&mut out, report);
    out
}

/// Returns the totals over all documents.
pub(super) fn summary(total: &ReportTally) -> String {
    let mut out = row(total);
    let ReportTally { documents, failed, .. } = *total;
    let _ = write!(out, "  {HEAD}{}{HEAD:#}", counted(documents, "document", "documents"));
    if failed > 0 {
        let _ = write!(out, ", {FAILED}{failed} could not be loaded{FAILED:#}");
    }
    out.push('\n');
    out
}

/// Returns the numbers of one row, without the name.
fn row(tally: &ReportTally) -> String {
    let ReportTally { loaded, skipped, renamed, simplified, advice, hidden, .. } = *tally;
    let lost = if skipped > 0 { LOST } else { Style::new() };
    format!("{loaded:>7}  {lost}{skipped:>7}{lost:#}  {renamed:>7}  {simplified:>10}  {hidden:>6}  {advice:>6}")
}

/// Returns the line about a parameter that is not offered.
fn hidden(hidden: &HiddenParameter) -> String {
    let HiddenParameter { parameter, location, value, reason, operations } = hidden;
    let place = match operations.as_slice() {
        [operation] => operation.clone(),
        operations => counted(operations.len(), "operation", "operations"),
    };
    let value = value.as_ref().map(|value| format!(" = {value}")).unwrap_or_default();
    plain(&format!("{parameter} ({location}){value} in {place}: {reason}"))
}

fn about(operation: &str, what: &str) -> String {
    if operation.is_empty() { plain(what) } else { format!("{}: {}", plain(operation), plain(what)) }
}

/// Appends the advice. The fix of each rule is printed once, above its findings.
fn advice(out: &mut String, report: &Report) {
    for rule in Rule::ALL {
        let mut given = report.advice.iter().filter(|advice| advice.code == rule.code).peekable();
        if given.peek().is_some() {
            detail(out, NOTED, "advice", &format!("{HEAD}{}{HEAD:#}: {}", rule.code, rule.fix));
            let found =
                given.map(|advice| format!("{} ({})", about(&advice.operation, &advice.message), plain(&advice.at)));
            details(out, NOTED, "", found, EXAMPLES);
        }
    }
}

/// Appends at most `shown` lines, and the number of the remaining ones.
fn details(out: &mut String, style: Style, kind: &str, mut lines: impl Iterator<Item = String>, shown: usize) {
    for line in lines.by_ref().take(shown) {
        detail(out, style, kind, &line);
    }
    let more = lines.count();
    if more > 0 {
        detail(out, style, kind, &format!("and {more} more (--format json shows all)"));
    }
}

fn detail(out: &mut String, style: Style, kind: &str, line: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "    {style}{kind:<10}{style:#}  {line}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use callwright_openapi::{Advice, RenamedTool, Simplification, SkippedOperation};

    fn seen(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    fn skipped(count: usize, reason: &str) -> Vec<SkippedOperation> {
        let skipped = |number| SkippedOperation { operation: format!("GET /{number}"), reason: reason.to_owned() };
        (0..count).map(skipped).collect()
    }

    #[test]
    fn a_document_is_a_row_with_its_details_below() {
        let report = Report {
            operations_loaded: 12,
            operations_skipped: skipped(1, "bad"),
            renamed: vec![RenamedTool { operation: "GET /a".to_owned(), from: None, to: "get_a".to_owned() }],
            simplified: vec![Simplification { operation: String::new(), what: "no server".to_owned() }],
            hidden: vec![HiddenParameter {
                parameter: "api-version".to_owned(),
                location: "query",
                value: Some("2024-05-01".into()),
                reason: "the version".to_owned(),
                operations: vec!["GET /a".to_owned(), "GET /b".to_owned()],
            }],
            advice: vec![Advice {
                code: "missing-description",
                operation: "GET /a".to_owned(),
                at: "a.yaml:3 #/x".to_owned(),
                message: "it says nothing".to_owned(),
                fix: "say it",
            }],
            ..Report::default()
        };
        let expected = "
 loaded  skipped  renamed  simplified  hidden  advice  document
     12        1        1           1       2       1  a.yaml
    skipped     GET /0: bad
    renamed     GET /a: `get_a` (no operationId)
    simplified  no server
    hidden      api-version (query) = \"2024-05-01\" in 2 operations: the version
    advice      missing-description: describe in `summary` or `description` what it does, what it returns, and when to use it
                GET /a: it says nothing (a.yaml:3 #/x)
     12        1        1           1       2       1  1 document
";
        let text = header() + &document(&report, "a.yaml") + &summary(&ReportTally::of(&report));
        assert_eq!(seen(&text), expected.trim_start_matches('\n'));
    }

    #[test]
    fn a_document_that_cannot_be_loaded_has_no_numbers() {
        let report = Report::of_failure("x", "a.yaml: no JSON");
        let text = seen(&document(&report, "a.yaml"));
        assert_eq!(
            text,
            "      -        -        -           -       -       -  a.yaml\n    error       a.yaml: no JSON\n"
        );
        assert!(seen(&summary(&ReportTally::of(&report))).ends_with("1 document, 1 could not be loaded\n"));
    }

    #[test]
    fn long_lists_say_how_much_is_left_out() {
        let report = Report { operations_skipped: skipped(LISTED + 5, "bad"), ..Report::default() };
        let text = seen(&document(&report, "a.yaml"));
        assert_eq!(text.lines().count(), 1 + LISTED + 1);
        assert!(text.ends_with("and 5 more (--format json shows all)\n"), "{text}");
    }

    #[test]
    fn skipped_folders_are_listed_up_to_a_limit() {
        let folders: Vec<PathBuf> = (0..LISTED + 2).map(|number| PathBuf::from(format!("api/.{number}"))).collect();
        let text = skipped_folders(&folders);
        assert!(text.starts_with("skipped api/.0, api/.1") && text.contains(" and 2 more: "), "{text}");
        assert!(skipped_folders(&folders[..1]).starts_with("skipped api/.0: "));
    }

    #[test]
    fn nothing_of_a_document_acts_on_the_terminal() {
        let hostile = "\u{1b}]0;owned\u{7}\u{9b}31m\nloaded  9\u{202e}";
        let report = Report {
            operations_skipped: vec![SkippedOperation { operation: hostile.to_owned(), reason: hostile.to_owned() }],
            renamed: vec![RenamedTool {
                operation: hostile.to_owned(),
                from: Some(hostile.to_owned()),
                to: "a".to_owned(),
            }],
            ..Report::default()
        };
        let failure = Report::of_failure("", hostile);
        for text in [document(&report, hostile), document(&failure, hostile)] {
            let text = seen(&text);
            assert!(text.chars().all(|c| c == '\n' || !c.is_control()) && !text.contains('\u{202e}'), "{text:?}");
            assert!(text.contains("\\u{1b}]0;owned\\u{7}\\u{9b}31m loaded"), "what was there is still seen: {text}");
        }
    }
}
