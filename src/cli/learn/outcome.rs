//! Report of a learning run as a table for the terminal.

use crate::cli::plain;
use crate::cli::table::{Column, TextTable};
use callwright_common::limits::LISTED_ROWS;
use callwright_lab::{Report, TestReport, grouped};

/// Prints the changes of a run on standard error.
pub(super) fn print(report: &Report) {
    anstream::eprint!("{}", text(report));
}

fn text(report: &Report) -> String {
    let mut table = TextTable::new([&[Column::Cut(48)][..], &[Column::Right(10); 3]].concat());
    table.line(&format!(
        "macro-F1 {:.2} % -> {:.2} % after {} iterations, on {:.0} % of {} samples",
        report.before,
        report.after,
        report.curve.len().saturating_sub(1),
        report.validation_share * 100.0,
        grouped(report.samples as u64)
    ));
    if let Some(classifier) = &report.classifier {
        table.line(&format!(
            "with a classifier, {:.1} % of the right tools come first on these samples instead of {:.1} %",
            classifier.after, classifier.before
        ));
        if let Some(share) = classifier.no_tool {
            table.line(&format!("no tool is found for {share:.1} % of the requests that none serves"));
        }
    }
    if let Some(test) = &report.test {
        print_test(test, &mut table);
    }
    let changed: Vec<_> = report.tools.iter().filter(|tool| tool.patterns > 0).collect();
    if !changed.is_empty() {
        table.row("tool", &["patterns", "before", "after"]);
    }
    for tool in changed.iter().take(LISTED_ROWS) {
        table.row(&tool.tool, &[tool.patterns.to_string(), points(tool.before), points(tool.after)]);
    }
    if let Some(more) = changed.len().checked_sub(LISTED_ROWS).filter(|more| *more > 0) {
        table.line(&format!("and {more} more"));
    }
    for confusion in report.confusions.iter().take(LISTED_ROWS / 4) {
        let (wanted, selected) = (plain::text(&confusion.expected), plain::text(&confusion.selected));
        table.line(&format!("still confused with {wanted}: {selected} ({} samples)", confusion.samples));
    }
    table.into_text()
}

fn print_test(test: &TestReport, table: &mut TextTable) {
    table.line(&format!(
        "on {} samples of --test ({} others were learned from):",
        grouped(test.samples as u64),
        grouped(test.seen as u64)
    ));
    table.row("ranking", &["first right", "macro-F1", "no tool"].map(str::to_owned));
    for (name, scores) in [("plain", &test.plain), ("patterns", &test.patterns), ("learned", &test.learned)] {
        table.row(name, &[points(Some(scores.first_right)), points(Some(scores.macro_f1)), points(scores.no_tool)]);
    }
}

fn points(score: Option<f64>) -> String {
    score.map_or_else(|| "-".to_owned(), |score| format!("{score:.1}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use callwright_lab::ToolScores;
    use callwright_lab::representation::{Confusion, LearningPoint};

    #[test]
    fn the_table_lists_changes_and_escapes_terminal_characters() {
        let tool = |tool: &str, patterns| ToolScores {
            tool: tool.to_owned(),
            before: Some(10.0),
            after: Some(90.0),
            patterns,
        };
        let report = Report {
            samples: 1234,
            validation_share: 0.2,
            before: 40.0,
            after: 81.25,
            curve: vec![LearningPoint::default(); 2],
            tools: vec![tool("pay\u{1b}[2J", 3), tool("idle", 0)],
            confusions: vec![Confusion { expected: "a".to_owned(), selected: "b".to_owned(), samples: 4 }],
            ..Report::default()
        };
        let table = text(&report);
        assert!(
            table.starts_with("macro-F1 40.00 % -> 81.25 % after 1 iterations, on 20 % of 1,234 samples\n"),
            "{table}"
        );
        assert!(table.contains("pay\\u{1b}[2J") && table.contains("90.0") && !table.contains("idle"), "{table}");
        assert!(table.ends_with("still confused with a: b (4 samples)\n"), "{table}");
    }
}
