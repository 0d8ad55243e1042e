//! Hints that `demo --serve` prints while it keeps running: URLs and an example.

use std::io::Write;

use super::DemoError;
use super::transcript::TranscriptPage;

/// Call with three mistakes as an example: tool name, order of coordinates, number as text.
const DICTATED: &str = r#"Call plan_route {\"origin\": \"34.9858,135.7588\", \"destination\": \"34.6873,135.5258\", \"max_results\": \"2\"}"#;

/// Prints how to use the proxy at `client_url`, and its operator side, while the demo runs.
pub fn invite(client_url: &str, operator_url: &str, out: &mut impl Write) -> Result<(), DemoError> {
    let lines = [
        format!("Client side: {client_url}/v1 (base URL for any OpenAI client, with any key)"),
        format!("Console: {operator_url}/console"),
        format!("Operator side: {operator_url}/admin/traces and {operator_url}/metrics"),
        "Models: travel (route planner), office (meeting rooms), flights, and scripted (no tools of the proxy); all use\n\
         the same scripted model"
            .to_owned(),
    ];
    let mut page = TranscriptPage::new(out);
    let written = page
        .heading("The proxy, the model and the APIs keep running until Ctrl-C")
        .and_then(|()| page.paragraph(&lines.join("\n")))
        .and_then(|()| page.paragraph("Send a question like those above, or dictate a call with any mistake:"))
        .and_then(|()| page.command(&curl(client_url)));
    written.map_err(DemoError::Output)
}

fn curl(client_url: &str) -> String {
    [
        format!("curl -i {client_url}/v1/chat/completions -H 'content-type: application/json' -d '{{"),
        r#"  "model": "travel", "messages": [{"role": "user", "content":"#.to_owned(),
        format!(r#"  "{DICTATED}"}}]"#),
        "}'".to_owned(),
    ]
    .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_holds_a_request_that_the_model_understands() {
        let command = curl("http://127.0.0.1:1");
        let body = command.split_once("-d '").and_then(|(_, body)| body.strip_suffix('\'')).unwrap();
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        let question = body["messages"][0]["content"].as_str().unwrap();
        let arguments = question.strip_prefix("Call plan_route ").unwrap();
        let arguments: serde_json::Value = serde_json::from_str(arguments).unwrap();
        assert_eq!(arguments["max_results"], "2");
    }

    #[test]
    fn both_sides_are_named() {
        let mut out = Vec::new();
        invite("http://127.0.0.1:1", "http://127.0.0.1:2", &mut out).unwrap();
        let text = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
        assert!(text.contains("http://127.0.0.1:1/v1") && text.contains("http://127.0.0.1:2/metrics"), "{text}");
        assert!(text.contains("http://127.0.0.1:2/console"), "{text}");
    }
}
