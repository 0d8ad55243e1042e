//! Responses that mention errors without reporting one.

use serde_json::{Value, json};

use super::answers::Answer;
use super::renderings::Rendered;

/// Returns successes that quote, list, count or explain the failure.
pub(crate) fn of(answer: &Answer) -> Vec<Rendered> {
    let Answer { status, description, body, .. } = answer;
    let reason =
        http::StatusCode::from_u16(*status).ok().and_then(|status| status.canonical_reason()).unwrap_or("Error");
    let said = if description.is_empty() { reason } else { description };
    let quoted = body.clone().unwrap_or_else(|| json!({"message": said}));
    let number = super::answers::chance(said) % 40 + 2;
    vec![
        ("log", json!({"entries": [{"at": "2024-05-13T08:15:00Z", "level": "error", "status": status, "message": said}, {"at": "2024-05-13T08:16:00Z", "level": "info", "message": "retried, done"}]}).to_string()),
        ("log text", format!("2024-05-13 08:15:00 INFO GET /items/17\n2024-05-13 08:15:01 ERROR {status} {said}\n2024-05-13 08:15:02 INFO retry succeeded")),
        ("search", json!({"results": [{"title": format!("How to mend \"{said}\""), "url": "https://example.org/q/1", "snippet": format!("Error: {status} {reason}. {said}")}], "total": number}).to_string()),
        ("search text", format!("1. How to mend \"{said}\" - example.org\n   I get Error: {status} {reason} when I call it.\n2. {reason} explained - example.com")),
        ("article", format!("Understanding the error {status} {reason}\n\nWhen a server answers {status}, it means: {said}. This article shows why requests failed and how to handle such errors in your client.")),
        ("article heading", format!("# Error handling\n\nThe API answers with {status} ({reason}) in this case: {said}\n\n```json\n{quoted}\n```\n\nRetry where it says so.")),
        ("job", json!({"id": "job_17", "name": "import", "state": "failed", "started_at": "2024-05-13T08:15:00Z", "finished_at": "2024-05-13T08:16:10Z", "attempts": 3, "failure_reason": said}).to_string()),
        ("job with status", json!({"id": 17, "status": "failed", "error": {"code": status, "message": said}, "created_at": "2024-05-13T08:15:00Z", "queue": "mail"}).to_string()),
        ("jobs", json!([{"id": 1, "status": "done", "error": null}, {"id": 2, "status": "error", "error": said}]).to_string()),
        ("partial", json!({"imported": number, "failed": 1, "errors": [{"row": 3, "message": said}]}).to_string()),
        ("batch", json!({"results": [{"id": 1, "status": 200, "body": {"id": 1}}, {"id": 2, "status": status, "body": quoted}]}).to_string()),
        ("rates", json!({"service": "items", "error_rate": 0.02, "errors": number, "failed": 1, "requests": 4711}).to_string()),
        ("tests", format!("collected {number} items\n\ntests/test_items.py ..F.\n\nFAILED tests/test_items.py::test_get - AssertionError: {said}\n==== 1 failed, {number} passed in 1.07s ====")),
        ("codes", json!({"codes": [{"code": status, "name": reason, "meaning": said}, {"code": 200, "name": "OK", "meaning": "done"}]}).to_string()),
        ("table", format!("| status | meaning |\n|---|---|\n| 200 | done |\n| {status} | {said} |")),
        ("ticket", json!({"id": number, "title": format!("{status} {reason} on /items"), "state": "open", "body": format!("Since this morning: {said}"), "labels": ["bug"]}).to_string()),
        ("mail", format!("Subject: {reason} this morning\n\nHi team,\n\nthe client says \"{said}\" for every call. Can somebody look at it?\n\nMia")),
        ("told", format!("I have told the customer that the request failed ({said}) and opened ticket {number}.")),
        ("counted", format!("Found {number} errors of kind {status} in the last hour; none of them is new.")),
        ("source", format!("def get(item):\n    response = client.get(item)\n    if response.status_code == {status}:\n        raise ValueError(\"{}\")\n    return response.json()", said.replace('"', "'"))),
        ("document", json!({"path": "docs/errors.md", "content": format!("Error: {status} {reason}\n\n{said}")}).to_string()),
        ("warning", json!({"data": [{"id": number, "name": "a"}], "warnings": [said], "error": null}).to_string()),
        ("monitor", json!({"url": "https://api.example.org/items", "status_code": status, "checked_at": "2024-05-13T08:15:00Z", "latency_ms": number}).to_string()),
    ]
}

/// Returns texts that report an empty result or the absence of errors.
pub(crate) fn of_nothing() -> Vec<Rendered> {
    [
        "",
        "null",
        "None",
        "[]",
        "{}",
        "\"\"",
        "0",
        "false",
        "OK",
        "Done.",
        "No results found.",
        "No errors found.",
        "0 errors, 0 warnings",
        "Error count: 0",
        "Errors: none",
        "error: null",
        "Nothing matched your search.",
        "No matching flights.",
        "The list is empty.",
        "{\"items\":[],\"total\":0}",
        "{\"error\":null,\"data\":[]}",
        "{\"errors\":[],\"data\":{\"items\":[]}}",
        "{\"error\":\"\",\"ok\":true}",
        "{\"error\":false,\"message\":\"Saved\"}",
        "{\"success\":true,\"message\":\"Deleted\"}",
        "{\"status\":\"ok\"}",
        "{\"code\":0,\"msg\":\"ok\",\"data\":null}",
        "{\"failed\":0,\"succeeded\":3}",
        "{\"errorCount\":0}",
        "{\"results\":[],\"status\":\"ZERO_RESULTS\"}",
    ]
    .into_iter()
    .map(|text| ("nothing", text.to_owned()))
    .collect()
}

/// Whether the text is a JSON value.
#[allow(dead_code, reason = "for people who look at misses")]
pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok()
}
