//! Report of a learning run as a table for the terminal.

use std::fmt::Write;

use callwright_offline::{Report, grouped};

/// Maximum number of printed rows; report.json has all.
const SHOWN_ROWS: usize = 20;

/// Maximum number of printed characters of a name.
const NAME_WIDTH: usize = 48;

/// Prints the changes of a run on standard error.
pub(super) fn print(report: &Report) {
    anstream::eprint!("{}", table(report));
}

fn table(report: &Report) -> String {
    let mut text = String::new();
    let iterations = report.curve.len().saturating_sub(1);
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(
        text,
        "macro-F1 {:.2} % -> {:.2} % after {iterations} iterations, on {:.0} % of {} samples",
        report.before,
        report.after,
        report.validation_share * 100.0,
        grouped(report.samples as u64)
    );
    let changed: Vec<_> = report.tools.iter().filter(|tool| tool.patterns > 0).collect();
    if !changed.is_empty() {
        let _ = writeln!(text, "{:<NAME_WIDTH$}{:>10}{:>10}{:>10}", "tool", "patterns", "before", "after");
    }
    for tool in changed.iter().take(SHOWN_ROWS) {
        let (before, after) = (points(tool.before), points(tool.after));
        let _ = writeln!(text, "{:<NAME_WIDTH$}{:>10}{before:>10}{after:>10}", plain(&tool.tool), tool.patterns);
    }
    if let Some(more) = changed.len().checked_sub(SHOWN_ROWS).filter(|more| *more > 0) {
        let _ = writeln!(text, "and {more} more");
    }
    for confusion in report.confusions.iter().take(SHOWN_ROWS / 4) {
        let (wanted, selected) = (plain(&confusion.wanted), plain(&confusion.selected));
        let _ = writeln!(text, "still confused with {wanted}: {selected} ({} samples)", confusion.samples);
    }
    text
}

fn points(score: Option<f64>) -> String {
    score.map_or_else(|| "-".to_owned(), |score| format!("{score:.1}"))
}

/// Returns a name without characters that act on the terminal.
fn plain(name: &str) -> String {
    let mut plain: String =
        name.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(NAME_WIDTH - 1).collect();
    if name.chars().count() >= NAME_WIDTH {
        plain.pop();
        plain.push('\u{2026}');
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_tells_what_changed_and_hides_nothing_of_the_terminal() {
        let report: Report = serde_json::from_value(serde_json::json!({
            "samples": 1234, "validation_share": 0.2, "before": 40.0, "after": 81.25,
            "curve": [{"iteration": 0}, {"iteration": 1}],
            "tools": [{"tool": "pay\u{1b}[2J", "before": 10.0, "after": 90.0, "patterns": 3}, {"tool": "idle"}],
            "confusions": [{"wanted": "a", "selected": "b", "samples": 4}],
        }))
        .unwrap();
        let table = table(&report);
        assert!(
            table.starts_with("macro-F1 40.00 % -> 81.25 % after 1 iterations, on 20 % of 1,234 samples\n"),
            "{table}"
        );
        assert!(table.contains("pay [2J") && table.contains("90.0") && !table.contains("idle"), "{table}");
        assert!(table.ends_with("still confused with a: b (4 samples)\n"), "{table}");
    }
}
