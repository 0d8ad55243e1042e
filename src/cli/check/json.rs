//! Reports for programs: one line each.

use serde::Serialize;

use crate::cli::plain;
use callwright_openapi::Report;

#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    report: &'a Report,
    /// Where the document is, from the working folder: names of several folders may be the same.
    path: &'a str,
}

/// The report on the document at `path`.
pub(super) fn line(report: &Report, path: &str) -> String {
    let written = serde_json::to_string(&Line { report, path });
    // A report has nothing that JSON cannot say.
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
