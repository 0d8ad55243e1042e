//! Report as a web page: one self-contained HTML file without scripts and network access.

mod chart;

use std::fmt::Write;

use super::report::{ClassifierEffect, ConfusionCount, Report, ToolScores};
use crate::grouped;

/// Maximum number of rows of a table; `report.json` has the rest.
const MAX_ROWS: usize = 500;

/// The policy forbids loading and running anything: users, models and documents wrote the displayed text.
const HEAD: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";

const STYLE: &str = "<style>\n\
    body { font: 15px/1.5 system-ui, sans-serif; color: #1c2430; background: #fff; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }\n\
    h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }\n\
    table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .25rem .5rem; border-bottom: 1px solid #dde3ea; \
    overflow-wrap: anywhere; vertical-align: top; }\n\
    td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }\n\
    .up { color: #14713d; } .down { color: #a3262a; } .note { color: #5a6675; }\n\
    svg { max-width: 100%; height: auto; } svg text { font: 12px system-ui, sans-serif; fill: #5a6675; }\n\
    @media (prefers-color-scheme: dark) { body { color: #e4e8ee; background: #14181e; } th, td { border-color: #2c3540; } \
    .up { color: #5ec98a; } .down { color: #ef8a8d; } }\n\
    </style>\n";

/// Returns the page of a report.
pub fn page(report: &Report) -> String {
    let mut text = String::from(HEAD);
    let subject = report.toolset.as_deref().unwrap_or("tools defined by clients");
    let title = format!("Learned representations: {}", escaped(subject));
    // Writing to a `String` cannot fail, here and below.
    let _ = write!(text, "<title>{title}</title>\n{STYLE}</head>\n<body>\n<h1>{title}</h1>\n");
    summary(&mut text, report);
    text.push_str("<h2>Macro-F1 by iteration</h2>\n");
    text.push_str(&chart::curve(&report.curve));
    tools(&mut text, &report.tools);
    confusions(&mut text, &report.confusions);
    failures(&mut text, report);
    text.push_str("</body>\n</html>\n");
    text
}

fn summary(text: &mut String, report: &Report) {
    let Report { before, after, .. } = report;
    let _ = writeln!(
        text,
        "<table>\n<tr><th></th><th class=\"n\">before</th><th class=\"n\">after</th><th class=\"n\">change</th></tr>\n\
         <tr><td>macro-F1</td><td class=\"n\">{before:.2} %</td><td class=\"n\">{after:.2} %</td>{}</tr>",
        change(Some(*before), Some(*after))
    );
    if let Some(ClassifierEffect { before, after, .. }) = report.classifier {
        let _ = writeln!(
            text,
            "<tr><td>right tools first, without and with the classifier</td><td class=\"n\">{before:.2} %</td>\
             <td class=\"n\">{after:.2} %</td>{}</tr>",
            change(Some(before), Some(after))
        );
    }
    text.push_str("</table>\n");
    let embedder = report.embedder.as_deref().unwrap_or("none: words alone");
    let _ = writeln!(
        text,
        "<p class=\"note\">{} samples; macro-F1 is measured on {:.0} % of them, which nothing was copied from. Proposer: {}. \
         Selector: {}. Embedder: {}. Seed {}, threshold {} points.</p>",
        report.samples,
        report.validation_share * 100.0,
        escaped(&report.proposer),
        escaped(&report.selector),
        escaped(embedder),
        report.seed,
        report.threshold,
    );
    if report.cost.requests > 0 {
        let cost = report.cost;
        let _ = writeln!(
            text,
            "<p class=\"note\">Model requests: {}; prompt tokens: {}; completion tokens: {}.</p>",
            grouped(cost.requests),
            grouped(cost.prompt_tokens),
            grouped(cost.completion_tokens)
        );
    }
}

fn tools(text: &mut String, tools: &[ToolScores]) {
    text.push_str(
        "<h2>Tools</h2>\n<table>\n<tr><th>tool</th><th class=\"n\">patterns</th><th class=\"n\">F1 before</th>\
         <th class=\"n\">after</th><th class=\"n\">change</th></tr>\n",
    );
    for ToolScores { tool, before, after, patterns } in tools.iter().take(MAX_ROWS) {
        let _ = writeln!(
            text,
            "<tr><td>{}</td><td class=\"n\">{patterns}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>{}</tr>",
            escaped(tool),
            points(*before),
            points(*after),
            change(*before, *after)
        );
    }
    text.push_str("</table>\n");
    more(text, tools.len());
}

fn confusions(text: &mut String, confusions: &[ConfusionCount]) {
    text.push_str("<h2>Remaining confusions</h2>\n");
    if confusions.is_empty() {
        text.push_str("<p class=\"note\">Nothing.</p>\n");
        return;
    }
    text.push_str("<table>\n<tr><th>expected</th><th>selected</th><th class=\"n\">samples</th></tr>\n");
    for ConfusionCount { wanted: expected, selected, samples } in confusions.iter().take(MAX_ROWS) {
        let (expected, selected) = (escaped(expected), escaped(selected));
        let _ = writeln!(text, "<tr><td>{expected}</td><td>{selected}</td><td class=\"n\">{samples}</td></tr>");
    }
    text.push_str("</table>\n");
    more(text, confusions.len());
}

fn failures(text: &mut String, report: &Report) {
    if report.failures.is_empty() {
        return;
    }
    text.push_str("<h2>Without a proposal</h2>\n<table>\n<tr><th>tool</th><th>why</th></tr>\n");
    for failure in report.failures.iter().take(MAX_ROWS) {
        let _ = writeln!(text, "<tr><td>{}</td><td>{}</td></tr>", escaped(&failure.tool), escaped(&failure.reason));
    }
    text.push_str("</table>\n");
    more(text, report.failures.len());
}

fn more(text: &mut String, rows: usize) {
    if let Some(more) = rows.checked_sub(MAX_ROWS).filter(|more| *more > 0) {
        let _ = writeln!(text, "<p class=\"note\">{more} more are in report.json.</p>");
    }
}

/// Minimum difference that is coloured: it is visible with one decimal place.
const SHOWN: f64 = 0.05;

/// Returns a table cell with the difference.
fn change(before: Option<f64>, after: Option<f64>) -> String {
    let (Some(before), Some(after)) = (before, after) else { return "<td class=\"n\"></td>".to_owned() };
    let difference = after - before;
    let class = match () {
        () if difference >= SHOWN => "n up",
        () if difference <= -SHOWN => "n down",
        () => "n",
    };
    format!("<td class=\"{class}\">{difference:+.1}</td>")
}

fn points(score: Option<f64>) -> String {
    score.map_or_else(String::new, |score| format!("{score:.1}"))
}

/// Escapes HTML special characters, replaces control characters by spaces, and removes bidirectional controls.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            _ if character.is_control() => escaped.push(' '),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::report::{CurvePoint, ProposalFailure};

    fn report() -> Report {
        let point = |iteration, macro_f1| CurvePoint { iteration, macro_f1, ..CurvePoint::default() };
        Report {
            toolset: Some("<script>alert(1)</script>".to_owned()),
            proposer: "a & b".to_owned(),
            before: 40.0,
            after: 80.5,
            curve: vec![point(0, 40.0), point(1, 80.5)],
            tools: vec![ToolScores { tool: "pay\"<b>".to_owned(), before: Some(90.0), after: Some(50.0), patterns: 2 }],
            confusions: vec![ConfusionCount { wanted: "<i>".to_owned(), selected: "'x'".to_owned(), samples: 4 }],
            failures: vec![ProposalFailure { tool: "t".to_owned(), reason: "</td><img src=x onerror=y>".to_owned() }],
            classifier: Some(ClassifierEffect { before: 61.25, after: 72.5, no_tool: None }),
            ..Report::default()
        }
    }

    #[test]
    fn the_page_shows_the_report_and_is_self_contained() {
        let page = page(&report());
        for part in [
            "40.00 %",
            "80.50 %",
            "61.25 %",
            "72.50 %",
            "<td class=\"n up\">+40.5</td>",
            "<td class=\"n down\">-40.0</td>",
            "<svg",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert!(
            !page.contains("http://") || page.matches("http://").count() == page.matches("http://www.w3.org/").count()
        );
        assert!(!page.contains("https://") && page.contains("default-src 'none'"));
    }

    #[test]
    fn foreign_text_is_escaped() {
        let page = page(&report());
        for hostile in ["<script>alert", "<b>", "<i>", "<img"] {
            assert!(!page.contains(hostile), "{hostile}");
        }
        assert!(
            page.contains("&lt;script&gt;alert(1)")
                && page.contains("a &amp; b")
                && page.contains("pay&quot;&lt;b&gt;")
        );
    }

    #[test]
    fn truncated_tables_state_the_omitted_rows() {
        let tool = ToolScores { tool: "t".to_owned(), ..ToolScores::default() };
        let page = page(&Report { tools: vec![tool; MAX_ROWS + 7], ..Report::default() });
        assert!(page.contains("7 more are in report.json"));
    }

    #[test]
    fn an_empty_report_is_a_page_too() {
        assert!(page(&Report::default()).ends_with("</html>\n"));
    }

    #[test]
    fn html_characters_are_escaped() {
        assert_eq!(escaped("a<b> & \"c\" 'd'\u{0}\u{202e}ü"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39; ü");
    }
}
