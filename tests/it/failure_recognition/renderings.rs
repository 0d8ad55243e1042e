//! Renderings of API responses as tool messages in the formats of frameworks.

use serde_json::{Value, json};

use super::answers::{Answer, chance};

/// A tool message and the name of its format.
pub(crate) type Rendered = (&'static str, String);

fn reason(status: u16) -> &'static str {
    http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or("Unknown")
}

fn server_or_client(status: u16) -> &'static str {
    if status >= 500 { "Server" } else { "Client" }
}

/// Returns the messages in which a failed response can reach a model. Those without body and status are last.
pub(crate) fn of_failure(answer: &Answer) -> Vec<Rendered> {
    let Answer { status, description, body, .. } = answer;
    let reason = reason(*status);
    let body_text = body.as_ref().map_or_else(|| description.clone(), Value::to_string);
    let said = if description.is_empty() { reason } else { description };
    let url = "https://api.example.org/v2/items/17";
    let side = server_or_client(*status);
    let mut all: Vec<Rendered> = vec![
        ("status and body", format!("Error: {status} {reason}: {body_text}")),
        ("requests", format!("{status} {side} Error: {reason} for url: {url}")),
        ("requests, named", format!("requests.exceptions.HTTPError: {status} {side} Error: {reason} for url: {url}")),
        ("openai agents", format!("An error occurred while running the tool. Please try again. Error: {said}")),
        ("openai client", format!("Error code: {status} - {}", body_text.replace('"', "'"))),
        ("langchain", format!("Error: ToolException('{said}')\n Please fix your mistakes.")),
        ("langchain http", format!("HTTPError({status}, '{reason}')")),
        ("llamaindex", format!("Encountered error: {said}")),
        ("mcp", json!({"content": [{"type": "text", "text": body_text}], "isError": true}).to_string()),
        ("mcp text", format!("Error executing tool get_items: {status} {reason}")),
        ("wrapped", json!({"error": body.clone().unwrap_or_else(|| json!(said))}).to_string()),
        ("status member", json!({"status": status, "body": body}).to_string()),
        (
            "status_code member",
            json!({"status_code": status, "data": body, "headers": {"content-type": "application/json"}}).to_string(),
        ),
        ("axios", format!("AxiosError: Request failed with status code {status}")),
        ("axios text", format!("Request failed with status code {status}: {body_text}")),
        ("fetch", format!("HTTP error! status: {status}, message: {said}")),
        ("status line", format!("HTTP/1.1 {status} {reason}\r\ncontent-type: application/json\r\n\r\n{body_text}")),
        ("status first", format!("{status} {reason}\n\n{body_text}")),
        ("invoking", format!("Error invoking tool 'get_items': {said}")),
        ("autogen", format!("Error: {said}")),
        (
            "crewai",
            format!(
                "I encountered an error while trying to use the tool. This was the error: {said}.\n Tool get_items accepts these inputs: ..."
            ),
        ),
        ("failed to", format!("Failed to call get_items: {status} {reason}")),
        (
            "traceback",
            format!(
                "Traceback (most recent call last):\n  File \"/app/tools.py\", line 41, in run\n    response.raise_for_status()\n  File \"/usr/lib/python3/site-packages/requests/models.py\", line 1021, in raise_for_status\n    raise HTTPError(http_error_msg, response=self)\nrequests.exceptions.HTTPError: {status} {side} Error: {reason} for url: {url}"
            ),
        ),
        (
            "html page",
            format!(
                "<html>\r\n<head><title>{status} {reason}</title></head>\r\n<body>\r\n<center><h1>{status} {reason}</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>"
            ),
        ),
        ("success flag", json!({"success": false, "error": said}).to_string()),
        ("status word", json!({"status": "error", "message": said}).to_string()),
    ];
    // Servers do not send an HTML error page for a status without a name.
    all.retain(|(_, text)| !text.contains(" Unknown"));
    // Bodies that a client passes on unchanged, and texts that contain only the event.
    if let Some(body) = body.as_ref().filter(|_| !answer.like_a_success) {
        all.push(("body", body.to_string()));
        all.push(("body, indented", serde_json::to_string_pretty(body).unwrap()));
    }
    if description.split_whitespace().count() > 2 && !description.contains('<') {
        all.push(("description", description.clone()));
    }
    all
}

/// Returns the messages in which a successful response can reach a model.
pub(crate) fn of_success(answer: &Answer) -> Vec<Rendered> {
    let Some(body) = &answer.body else {
        return vec![("empty", String::new()), ("none", "null".to_owned()), ("done", "OK".to_owned())];
    };
    let text = body.to_string();
    let indented = serde_json::to_string_pretty(body).unwrap();
    vec![
        ("body", text.clone()),
        ("body, indented", indented.clone()),
        ("mcp", json!({"content": [{"type": "text", "text": text}], "isError": false}).to_string()),
        ("content blocks", json!([{"type": "text", "text": indented}]).to_string()),
        ("wrapped", json!({"result": body}).to_string()),
        ("status member", json!({"status": answer.status, "body": body}).to_string()),
        ("error is null", json!({"data": body, "error": null}).to_string()),
        ("success flag", json!({"success": true, "data": body, "errors": []}).to_string()),
        ("python", text.replace('"', "'").replace("null", "None").replace("true", "True").replace("false", "False")),
        ("status line", format!("HTTP/1.1 {} {}\r\n\r\n{text}", answer.status, reason(answer.status))),
        ("said", format!("Result of get_items: {text}")),
        ("fenced", format!("```json\n{indented}\n```")),
        ("cut", text.chars().take(text.chars().count() * 2 / 3).collect()),
        ("lines", lines(body)),
    ]
}

/// Formats a body with one line per member, as a hand-written tool does.
fn lines(body: &Value) -> String {
    let first = body.get(0).unwrap_or(body);
    match first {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| format!("{}: {value}", name.replace('_', " ")))
            .collect::<Vec<_>>()
            .join("\n"),
        other => other.to_string(),
    }
}

/// Returns a sample of the messages that depends only on the response.
pub(crate) fn some(all: Vec<Rendered>, of: &str, count: usize) -> Vec<Rendered> {
    let mut all = all;
    all.sort_by_key(|(manner, text)| chance((of, manner, text)));
    all.truncate(count);
    all
}
