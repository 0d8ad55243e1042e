//! An API of a thousand operations: twenty actions on each of fifty kinds of records.

use serde_json::{Map, Value, json};

use super::config::config;
use super::server::Server;
use super::{POLL, Proxy, guarded, policy};

/// Actions: the beginning of the name, the beginning of the sentence, and the method.
const ACTIONS: [(&str, &str); 20] = [
    ("list", "Lists"),
    ("find", "Finds"),
    ("count", "Counts"),
    ("export", "Exports"),
    ("compare", "Compares"),
    ("validate", "Validates"),
    ("preview", "Previews"),
    ("print", "Prints"),
    ("archive", "Archives"),
    ("restore", "Restores"),
    ("approve", "Approves"),
    ("reject", "Rejects"),
    ("assign", "Assigns"),
    ("share", "Shares"),
    ("merge", "Merges"),
    ("split", "Splits"),
    ("schedule", "Schedules"),
    ("remind", "Sends reminders of"),
    ("translate", "Translates"),
    ("audit", "Audits"),
];

/// Kinds of records.
const RECORDS: [&str; 50] = [
    "invoice", "room", "forecast", "booking", "customer", "parcel", "ticket", "contract", "salary", "vacation",
    "vehicle", "warehouse", "supplier", "recipe", "playlist", "podcast", "photo", "newsletter", "survey", "auction",
    "donation", "membership", "lesson", "exam", "diploma", "patient", "prescription", "vaccine", "laboratory",
    "experiment", "telescope", "satellite", "harvest", "tractor", "vineyard", "museum", "painting", "concert",
    "festival", "stadium", "referee", "tournament", "passport", "visa", "embassy", "petition", "ballot", "parliament",
    "bridge", "tunnel",
];

/// Returns the name of the tool for an action (`list`) on a record (`invoice`).
pub(crate) fn tool(action: &str, record: &str) -> String {
    let (first, rest) = record.split_at(1);
    format!("{action}{}{rest}s", first.to_uppercase())
}

/// Returns the document.
pub(crate) fn document() -> Value {
    let mut paths = Map::new();
    for record in RECORDS {
        for (action, does) in ACTIONS {
            let operation = json!({
                "operationId": tool(action, record),
                "summary": format!("{does} {record}s."),
                "parameters": [
                    {"name": "id", "in": "query", "required": true, "schema": {"type": "string"}, "description": format!("Number of the {record}.")},
                    {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1}, "description": "Most that are wanted."},
                ],
                "responses": {"200": {"description": "Done."}},
            });
            paths.insert(format!("/{record}s/{action}"), json!({ "get": operation }));
        }
    }
    json!({"openapi": "3.0.3", "info": {"title": "Everything", "version": "1"}, "paths": paths})
}

/// Returns the files of a proxy whose alias `helper` offers the thousand tools under a policy with these rules of the
/// offer (YAML).
pub(crate) fn files(rules: &str) -> Vec<(String, String)> {
    vec![
        ("everything.json".to_owned(), document().to_string()),
        ("policies/offering.yaml".to_owned(), policy::file("offering", &format!("offer: {rules}"))),
    ]
}

/// Returns the configuration of that proxy, with more keys of the upstream.
pub(crate) fn config_of(upstream: &Server, api: &Server, keys: &str) -> String {
    format!("{}{keys}\n", config(&upstream.url("/v1")))
        + "[executor]\nallowed_addresses = [\"127.0.0.1\"]\n"
        + "[aliases.helper]\nmodel = \"gpt-test\"\ntoolsets = [\"everything\"]\n"
        + &format!("[toolsets.everything]\ndocument = \"everything.json\"\nbase_url = \"{}\"\n", api.url(""))
        + &policy::table("offering")
}

/// Starts that proxy, and waits until its tools have vectors.
pub(crate) async fn proxy(upstream: &Server, api: &Server, keys: &str, rules: &str) -> Proxy {
    let files = files(rules);
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let proxy = Proxy::start_with_files(config_of(upstream, api, keys), &files).await;
    indexed(&proxy).await;
    proxy
}

/// Waits until all tools have their vectors.
pub(crate) async fn indexed(proxy: &Proxy) {
    guarded("waiting for the vectors of the tools", async {
        while proxy.metrics_now().await.sum("tools_without_vectors", &[]) > 0.0 {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
}
