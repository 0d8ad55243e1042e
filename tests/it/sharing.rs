//! Shared knowledge about the use of tools in the store: samples from verdicts, and representations that all proxies
//! use.

use crate::support::config::config_with_store;
use crate::support::request::plain;
use crate::support::verb::{Folder, Said, json_lines, to_lines};
use crate::support::{POLL, Proxy, Reply, Server, answer, guarded, policy, postgres, rooms};
use callwright_test_macros::requires;
use reqwest::Method;
use serde_json::{Value, json};

/// Address without a server, because these verbs send no model requests.
const NOBODY: &str = "http://127.0.0.1:9/v1";

/// Representation of a tool, written by an operator.
const LEARNED: &str = "toolset: rooms
tools:
- tool: listRooms
  patterns:
  - description: People who look for a place to sit down together.
";

fn ask(text: &str) -> Value {
    let mut request = plain(text);
    request["model"] = json!("helper");
    request
}

fn run(folder: &Folder, arguments: &[&str]) -> Said {
    let said = folder.run(arguments, b"");
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    said
}

/// Returns the description of `listRooms` in the next request.
async fn described(proxy: &Proxy, upstream: &Server) -> String {
    proxy.client().chat(&ask("Where can we meet?")).await.ok();
    let tools = upstream.last_request().json()["tools"].as_array().unwrap().clone();
    let tool = tools.iter().find(|tool| tool["function"]["name"] == "listRooms").unwrap();
    tool["function"]["description"].as_str().unwrap().to_owned()
}

async fn until_described(what: &str, proxy: &Proxy, upstream: &Server, is_so: impl Fn(&str) -> bool) {
    guarded(what, async {
        while !is_so(&described(proxy, upstream).await) {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
}

#[requires(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn what_an_operator_shares_precedes_all_files_until_revoked() {
    let url = postgres::database();
    let (upstream, api) =
        (Server::always(answer::text("hi")).await, Server::always(Reply::json(200, &json!([]))).await);
    let config = rooms::config_of(&upstream, &api).replace("sqlite:traces.sqlite3", &url)
        + "[representations]\ndirectory = \"learned\"\n";
    let of_file = LEARNED.replace("sit down together", "read");
    let files = [rooms::FILES[0], ("learned/rooms.yaml", of_file.as_str())];
    let one = Proxy::start_with_files(config.clone(), &files).await;
    let two = Proxy::start_with_files(config.clone(), &files).await;
    let folder = Folder::with(&[
        ("shared.yaml", LEARNED.as_bytes()),
        ("callwright.toml", config_with_store(NOBODY, &url).as_bytes()),
    ]);
    run(&folder, &["representations", "put", "shared.yaml"]);
    for proxy in [&one, &two] {
        until_described("what is shared is shown", proxy, &upstream, |text| text.contains("sit down together")).await;
    }
    let listed = String::from_utf8(run(&folder, &["representations", "list"]).stdout).unwrap();
    let words: Vec<&str> = listed.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(words[..3], ["rooms", "listRooms", "1"], "{listed}");
    let fresh = Proxy::start_with_files(config, &files).await;
    assert!(described(&fresh, &upstream).await.contains("sit down together"), "a new process has it from the start");
    run(&folder, &["representations", "rm", "--toolset", "rooms", "listRooms"]);
    for proxy in [&one, &two, &fresh] {
        until_described("what the file says is shown", proxy, &upstream, |text| text.contains("to read")).await;
    }
    let again = folder.run(&["representations", "rm", "--toolset", "rooms", "listRooms"], b"");
    assert_eq!(again.status, Some(1), "there is nothing more to take back");
    run(&folder, &["representations", "put", "shared.yaml"]);
    until_described("what is shared again", &one, &upstream, |text| text.contains("sit down together")).await;
}

#[tokio::test]
async fn a_verdict_with_right_tools_is_a_sample_if_bodies_are_kept() {
    for (bodies, expected) in [(true, 1), (false, 0)] {
        let (upstream, api) =
            (Server::always(answer::text("hi")).await, Server::always(Reply::json(200, &json!([]))).await);
        let policy = policy::file("recording", &format!("record:\n  bodies: {bodies}"));
        let config = rooms::config_of(&upstream, &api) + &policy::table("recording");
        let files = [rooms::FILES[0], ("policies/recording.yaml", policy.as_str())];
        let proxy = Proxy::start_with_files(config, &files).await;
        let answer = proxy.client().chat(&ask("Where can we meet? Tell ann@example.org")).await;
        let trace = answer.header("x-callwright-trace").unwrap();
        let verdict = json!({"verdict": "bad", "expected": {"tools": ["listRooms"]}}).to_string();
        let headers = [("content-type", "application/json")];
        // The trace is written shortly after the response.
        guarded("the verdict counts", async {
            while proxy.operator().get(&format!("/admin/traces/{trace}")).await.status != 200 {
                tokio::time::sleep(POLL).await;
            }
        })
        .await;
        proxy.operator().send(Method::POST, &format!("/admin/traces/{trace}/mark"), &headers, verdict).await.ok();
        proxy.metric_reaches("learning_runs_total", &[("result", "learned")], 1.0).await;
        let stopped = proxy.stop().await;
        let config = stopped.directory().join("callwright.toml");
        let folder = Folder::with(&[]);
        let said = run(&folder, &["store", "export", "--config", config.to_str().unwrap()]);
        let lines = said.lines();
        let samples: Vec<&Value> = lines.iter().filter_map(|line| line.get("sample")).collect();
        assert_eq!(samples.len(), expected, "{lines:?}");
        for sample in samples {
            assert_eq!(sample["query"], "Where can we meet? Tell <email>");
            assert_eq!((&sample["tools"], &sample["evidence"][0]["kind"]), (&json!(["listRooms"]), &json!("operator")));
        }
    }
}

/// Requests for three tools whose descriptions do not mention them.
fn samples() -> Vec<Value> {
    let wishes = [
        (
            "lookup_alpha",
            "I lost my",
            ["wallet on the train", "purse at the station", "handbag in town", "card", "keys"],
        ),
        (
            "lookup_beta",
            "when will it",
            ["arrive at my house", "reach me here", "come in the post", "be sent", "be here"],
        ),
        ("lookup_gamma", "how many euros for", ["ten dollars", "my pounds", "a hundred yen", "some francs", "kroner"]),
    ];
    let of_tool = |(tool, begins, ends): (&'static str, &'static str, [&'static str; 5])| {
        ends.into_iter().enumerate().map(move |(number, end)| {
            json!({"sample": {
                "id": format!("sam_{tool}{number}"), "scope": "group:bank", "query": format!("{begins} {end}"), "tools": [tool],
                "evidence": [{"kind": "feedback", "trace": format!("{tool}{number}"), "at": "2026-01-01T00:00:00Z"}],
                "at": "2026-01-01T00:00:00Z",
            }})
        })
    };
    wishes.into_iter().flat_map(of_tool).collect()
}

#[test]
fn learned_representations_are_shared_and_human_edits_stay() {
    let tools = ["lookup_alpha", "lookup_beta", "lookup_gamma"]
        .map(|name| json!({"name": name, "description": "Retrieves a resource."}));
    let mut lines = samples();
    lines.push(
        json!({"sample": {"id": "sam_x", "scope": "key:x", "query": "elsewhere", "tools": ["other"], "evidence": [],
        "at": "2026-01-01T00:00:00Z"}}),
    );
    let written = "tools:\n- tool: lookup_alpha\n  patterns:\n  - description: Written by a person.\n";
    let folder = Folder::with(&[
        ("tools.jsonl", &to_lines(&tools)),
        ("samples.jsonl", &to_lines(&lines)),
        ("written.yaml", written.as_bytes()),
        ("callwright.toml", config_with_store(NOBODY, "sqlite:store.sqlite3").as_bytes()),
    ]);
    run(&folder, &["store", "import", "--in", "samples.jsonl"]);
    run(&folder, &["representations", "put", "written.yaml"]);
    let learn = ["learn", "representations", "--tools", "tools.jsonl", "--from-store", "all", "--out", "learned"];
    let said = run(&folder, &learn);
    assert!(said.stderr.contains("1 stored samples name other tools"), "{}", said.stderr);
    let shared = || json_lines(&run(&folder, &["representations", "list", "--format", "json"]).stdout);
    let learned = shared();
    let alpha = learned.iter().find(|one| one["tool"] == "lookup_alpha").unwrap();
    let patterns = alpha["patterns"].as_array().unwrap();
    assert_eq!(patterns[0]["description"], "Written by a person.");
    let sources = learned.iter().flat_map(|one| one["patterns"].as_array().unwrap()).map(|pattern| &pattern["source"]);
    assert!(sources.clone().any(|source| source == "learned extractive"), "{learned:?}");
    assert!(alpha["evidence"].as_array().unwrap().iter().any(|event| event["trace"] == "lookup_alpha0"), "{alpha}");
    let none = folder.run(&learn.map(|part| if part == "all" { "group:other" } else { part }), b"");
    assert_eq!(none.status, Some(1), "no samples of that scope: {}", none.stderr);
    run(&folder, &["store", "delete", "--older-than", "1"]);
    let left = shared();
    assert_eq!(left.len(), 1, "what rests on what is deleted alone is gone: {left:?}");
    assert_eq!(left[0]["patterns"].as_array().unwrap().len(), 1, "but for what a person wrote: {left:?}");
}
