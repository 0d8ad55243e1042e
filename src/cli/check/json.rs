//! Reports as JSON Lines.

use serde::Serialize;

use crate::cli::plain;
use callwright_openapi::Report;

#[derive(Serialize)]
struct ReportLine<'a> {
    #[serde(flatten)]
    report: &'a Report,
    /// Path of the document relative to the working directory; `file` may repeat across folders.
    path: &'a str,
}

/// Returns the JSON line of the report on the document at `path`.
pub(super) fn line(report: &Report, path: &str) -> String {
    let written = serde_json::to_string(&ReportLine { report, path });
    // Every report can be represented in JSON.
    plain::json(written.unwrap_or_default()) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_members_come_first() {
        let report = Report { file: "a\nb.json".to_owned(), ..Report::default() };
        let expected =
            r#"{"file":"a\nb.json","operations_loaded":0,"operations_skipped":[],"renamed":[],"simplified":[],"#;
        assert_eq!(
            line(&report, "x/a.json"),
            format!("{expected}\"error\":null,\"advice\":[],\"path\":\"x/a.json\"}}\n")
        );
    }
}
