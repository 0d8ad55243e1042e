//! `callwright learn` as a person or a script calls it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use serde_json::json;
use support::verb::Folder;

#[test]
fn a_report_becomes_a_page_that_needs_nothing_else() {
    let report = json!({
        "proposer": "extractive", "selector": "none", "seed": 1,
        "before": {"macro_f1": 41.5, "accuracy": 40.0}, "after": {"macro_f1": 88.25, "accuracy": 90.0},
        "curve": [{"iteration": 0, "macro_f1": 41.5}, {"iteration": 1, "macro_f1": 88.25}],
        "tools": [{"tool": "<script>", "samples": 4, "before": 0.0, "after": 100.0, "patterns": 3}],
    });
    let folder = Folder::with(&[("report.json", report.to_string().as_bytes())]);
    let said = folder.run(&["learn", "report"], b"");
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    let page = String::from_utf8(said.stdout).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("88.25 %") && page.contains("<polyline"), "{page}");
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script"), "{page}");
    let said = folder.run(&["learn", "report", "--in", "report.json", "--out", "page.html"], b"");
    assert_eq!((said.status, folder.read("page.html")), (Some(0), page.into_bytes()));
}

#[test]
fn a_report_that_is_not_there_is_told_with_what_makes_one() {
    let folder = Folder::with(&[("broken.json", b"{")]);
    for place in [".", "broken.json", "none"] {
        let said = folder.run(&["learn", "report", "--in", place], b"");
        assert_eq!(said.status, Some(1));
        assert!(said.stderr.contains("learn representations"), "{}", said.stderr);
    }
}
