//! JSON logs: the fields of a line and their types match docs/logs.md, and every line of a turn identifies it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::support::request::{plain, streamed, with_tools};
use crate::support::rooms::{self, ask};
use crate::support::tls::Authority;
use crate::support::{Gate, Proxy, Received, Reply, Server, answer, config, guarded, policy};
use http::Method;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use serde_json::{Map, Value, json};

/// Fields of every line.
const HEAD: [&str; 4] = ["timestamp", "level", "target", "message"];
const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

/// Returns the documented fields and their types.
fn table() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(root().join("docs/logs.md")).unwrap();
    let rows = text.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.split(" | ");
        Some((cells.next()?.trim_end_matches('`').to_owned(), cells.next()?.to_owned()))
    });
    rows.collect()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns all `.rs` files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|ending| ending == "rs"))
        .collect()
}

/// Whether a token ends an item, a field or a variant.
fn ends_item(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(end) => matches!(end.as_char(), ';' | ','),
        _ => false,
    }
}

/// Collects the fields of all log calls in the source text, except in tests.
fn logged_fields(tokens: TokenStream, fields: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut place = 0;
    while place < tokens.len() {
        if is_test(&tokens[place..]) {
            // Skips the attribute and its item.
            while tokens.get(place).is_some_and(|token| !ends_item(token)) {
                place += 1;
            }
        } else if let Some(arguments) = log_call(&tokens[place..]) {
            fields.extend(arguments);
        } else if let TokenTree::Group(group) = &tokens[place] {
            logged_fields(group.stream(), fields);
        }
        place += 1;
    }
}

/// Whether the tokens begin with `#[cfg(test)]`.
fn is_test(tokens: &[TokenTree]) -> bool {
    let [TokenTree::Punct(hash), TokenTree::Group(group), ..] = tokens else { return false };
    hash.as_char() == '#' && group.stream().to_string().replace(' ', "") == "cfg(test)"
}

/// Returns the fields of `tracing::LEVEL!(...)` or `tracing::LEVEL_span!(...)`, if the tokens begin with one.
fn log_call(tokens: &[TokenTree]) -> Option<Vec<String>> {
    let [TokenTree::Ident(tracing), _, _, TokenTree::Ident(level), TokenTree::Punct(bang), TokenTree::Group(group), ..] =
        tokens
    else {
        return None;
    };
    let level = level.to_string();
    let is_log = LEVELS.contains(&level.trim_end_matches("_span"));
    if tracing != "tracing" || bang.as_char() != '!' || !is_log {
        return None;
    }
    let mut arguments = vec![Vec::new()];
    for token in group.stream() {
        match &token {
            TokenTree::Punct(comma) if comma.as_char() == ',' => arguments.push(Vec::new()),
            _ => arguments.last_mut().unwrap().push(token.to_string()),
        }
    }
    let is_text = |argument: &Vec<String>| argument.first().is_some_and(|token| token.starts_with('"'));
    // The name of a span is not a field; the arguments after a message are its format arguments.
    let fields: Vec<Vec<String>> = match level.ends_with("_span") {
        true => arguments.into_iter().skip(1).collect(),
        false => arguments.into_iter().take_while(|argument| !is_text(argument)).collect(),
    };
    let name = |argument: Vec<String>| argument.into_iter().find(|token| !["%", "?"].contains(&token.as_str()));
    Some(fields.into_iter().filter_map(name).collect())
}

#[test]
fn logged_and_documented_fields_are_the_same() {
    let mut logged = BTreeSet::new();
    let crates = std::fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path().join("src"));
    for source in crates.chain([root().join("src")]).flat_map(|folder| sources(&folder)) {
        let is_test_file = source.file_name().unwrap().to_string_lossy().contains("test")
            || source.components().any(|part| part.as_os_str() == "tests");
        if !is_test_file {
            logged_fields(std::fs::read_to_string(&source).unwrap().parse().unwrap(), &mut logged);
        }
    }
    let documented: BTreeSet<String> = table().into_keys().filter(|field| !HEAD.contains(&field.as_str())).collect();
    assert!(logged.len() > 30, "{logged:?}");
    assert_eq!(logged, documented, "left: logged in src; right: in docs/logs.md");
}

#[test]
fn the_reader_of_sources_sees_fields() {
    let code = r#"
        fn f() { tracing::warn!(%error, tool = tool.name(), n, "a {}", x); if a { tracing::info!("b") } }
        fn g() { tracing::error_span!("turn", trace = id) }
        #[cfg(test)] mod tests { fn h() { tracing::warn!(hidden = 1, "c"); } }
    "#;
    let mut fields = BTreeSet::new();
    logged_fields(code.parse().unwrap(), &mut fields);
    assert_eq!(fields.into_iter().collect::<Vec<_>>(), ["error", "n", "tool", "trace"]);
}

/// Returns the lines of a log, each checked against the table.
fn checked(log: &str) -> Vec<Map<String, Value>> {
    let table = table();
    let mut lines = Vec::new();
    for text in log.lines() {
        let line: Map<String, Value> = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let head: Vec<&String> = line.keys().take(HEAD.len()).collect();
        assert_eq!(head, HEAD, "{text}");
        if line["target"].as_str().unwrap().starts_with("callwright") {
            for (field, value) in &line {
                let kind = table.get(field).unwrap_or_else(|| panic!("docs/logs.md has no `{field}`: {text}"));
                let is_right = match kind.as_str() {
                    "string" => value.is_string(),
                    "number" => value.is_number(),
                    other => panic!("`{field}` has no known type: {other}"),
                };
                assert!(is_right, "`{field}` is no {kind}: {text}");
            }
            assert_ne!(line["message"], "", "{text}");
            lines.push(line);
        }
    }
    lines
}

#[tokio::test]
async fn every_line_is_as_documented_and_names_its_turn() {
    let upstream = Server::scripted(|_, request| {
        let text = request.text();
        if text.contains("broken") {
            Reply::json(500, &json!({"error": {"message": "broken", "type": "server_error"}}))
        } else if request.json()["stream"] == true {
            Reply::events(&answer::text_chunks("hi"))
        } else if text.contains("floor 8")
            && !text.contains("Invalid API key")
            && request.last_message()["role"] == "user"
        {
            answer::one_call("listRooms", r#"{"floor": 8}"#)
        } else {
            rooms::forgetful(0, request)
        }
    })
    .await;
    let api = Server::scripted(|_, request| match request.target.contains("floor=8") {
        true => Reply::json(401, &json!({"message": "Invalid API key"})),
        false => Reply::json(200, &json!({"rooms": ["blue"]})),
    })
    .await;
    let authority = Authority::new();
    let (issued, other) = (authority.issue(), authority.issue());
    let config = rooms::config_of(&upstream, &api)
        .replace("[store]", "tls = { certificate = \"cert.pem\", key = \"key.pem\" }\n[store]")
        .replace("[executor]", "max_tools = 2\nretries = 0\n[executor]")
        + &format!(
            "[telemetry]\nlog = \"callwright=trace,warn\"\nformat = \"json\"\notlp_endpoint = \"http://{}\"\notlp_batch_milliseconds = 1\n",
            Server::refusing()
        )
        + &policy::table("usual");
    let rules = policy::file("usual", "mode: guard");
    let files = [
        ("rooms.yaml", rooms::DOCUMENT),
        ("policies/usual.yaml", rules.as_str()),
        ("cert.pem", issued.certificate.as_str()),
        ("key.pem", issued.key.as_str()),
    ];
    let proxy = Proxy::start_with_files(config, &files).await.trusting(&authority.pem());
    let client = proxy.client();
    let mut turns = Vec::new();
    for wish in ["Which rooms are free?", "List the rooms of floor 8", "broken"] {
        let answer = client.chat_with(&ask(wish), &[("x-callwright-session", "s")]).await;
        turns.push(answer.header("x-callwright-trace").unwrap().to_owned());
    }
    let mut stream = client.chat_stream(&streamed(with_tools("Hello"))).await;
    stream.rest().await;
    turns.push(stream.header("x-callwright-trace").unwrap().to_owned());
    client.send(Method::POST, "/v1/chat/completions", &[("content-type", "application/json")], "no JSON").await;
    client.send(Method::POST, "/v1/embeddings", &[], "{}").await;
    client.send(Method::GET, "/nowhere", &[], "").await;
    client.send(Method::POST, "/v1/feedback", &[], "{}").await;
    drop(tokio::net::TcpStream::connect(client.url("").trim_start_matches("https://")).await.unwrap());
    proxy.metric_reaches("tls_handshake_failures_total", &[], 1.0).await;
    for thrown in [json!({"off": true, "reason": "test"}), json!({"off": false})] {
        let fields = [("content-type", "application/json")];
        proxy.operator().send(Method::POST, "/admin/switch", &fields, thrown.to_string()).await.ok();
    }
    proxy.write("cert.pem", &other.certificate);
    proxy.metric_reaches("tls_reloads_total", &[("result", "failure")], 1.0).await;
    proxy.write("key.pem", &other.key);
    proxy.metric_reaches("tls_reloads_total", &[("result", "success")], 1.0).await;
    proxy.write("policies/usual.yaml", "mode: sideways");
    proxy.metric_reaches("policy_reloads_total", &[("result", "failure")], 1.0).await;
    proxy.write("rooms.yaml", "openapi: [");
    proxy.metric_reaches("catalog_reloads_total", &[("result", "failure")], 1.0).await;
    proxy.metric_reaches("spans_total", &[("result", "failed")], 1.0).await;
    guarded("the log of the last turn", async {
        while proxy.log().matches("the turn has ").count() < turns.len() {
            tokio::time::sleep(crate::support::POLL).await;
        }
    })
    .await;
    let lines = checked(&proxy.stop().await.log());

    let said = |message: &str| lines.iter().filter(|line| line["message"].as_str().unwrap().contains(message)).count();
    for message in [
        "listening",
        "document loaded",
        "tools are chosen",
        "credential is missing or was not accepted",
        "switched off",
        "not reloaded",
        "handshake failed",
        "shutting down",
    ] {
        assert!(said(message) > 0, "nothing was provoked that says: {message}\n{lines:#?}");
    }
    let of_turns = ["callwright::pipeline::stages", "callwright_executor", "callwright_explain"];
    for line in lines.iter().filter(|line| of_turns.iter().any(|of| line["target"].as_str().unwrap().starts_with(of))) {
        let trace = line.get("trace").unwrap_or_else(|| panic!("no turn is named: {line:?}"));
        assert!(turns.iter().any(|turn| trace == turn), "{line:?}");
    }
    let ended: Vec<&Value> = lines.iter().filter(|line| is_end(line)).map(|line| &line["trace"]).collect();
    assert_eq!(ended.len(), turns.len());
    assert!(turns.iter().all(|turn| ended.iter().any(|ended| *ended == turn)), "{ended:?}");
}

/// Whether a line is the one about the end of a turn.
fn is_end(line: &Map<String, Value>) -> bool {
    ["the turn has ended", "the turn has failed"].iter().any(|message| line["message"] == *message)
}

/// A provider that is broken on request; turns and passed-through requests of one key are limited.
#[tokio::test]
async fn a_turn_has_one_line_and_each_failure_a_reasoned_warning() {
    let upstream = Server::scripted(|_, request| match request.text().contains("broken") {
        true => Reply::json(503, &json!({"error": {"message": "canary", "type": "server_error"}})),
        false => answer::text("hi"),
    })
    .await;
    for log_turns in [true, false] {
        let config = crate::support::config(&upstream.url("/v1"))
            + &format!("retries = 0\n[telemetry]\nformat = \"json\"\nlog_turns = {log_turns}\n");
        let proxy = Proxy::start(config).await;
        let client = proxy.client();
        client.chat(&plain("Hello")).await.ok();
        let broken = client.chat(&plain("broken")).await;
        assert_eq!(broken.status, 503);
        let fields = [("content-type", "application/json")];
        let passed = client.send(Method::POST, "/v1/embeddings", &fields, r#"{"input":"broken"}"#).await;
        assert_eq!(passed.status, 503);
        let lines = checked(&proxy.stop().await.log());
        let ended: Vec<_> = lines.iter().filter(|line| line["message"] == "the turn has ended").collect();
        assert_eq!(ended.len(), usize::from(log_turns), "{ended:?}");
        if let Some(line) = ended.first() {
            assert_eq!(
                (&line["level"], &line["status"], &line["verdict"]),
                (&json!("INFO"), &json!(200), &json!("text"))
            );
            assert_eq!((&line["attempts"], &line["executions"], &line["tokens"]), (&json!(1), &json!(0), &json!(25)));
        }
        for (message, response) in [("the turn has failed", &broken), ("a request was not served", &passed)] {
            let found: Vec<_> = lines.iter().filter(|line| line["message"] == message).collect();
            assert_eq!(found.len(), 1, "{message}: {lines:#?}");
            assert_eq!((&found[0]["level"], &found[0]["status"]), (&json!("WARN"), &json!(503)));
            assert!(!found[0]["reason"].as_str().unwrap().is_empty(), "{:?}", found[0]);
            assert_eq!(found[0]["trace"], response.header("x-callwright-trace").unwrap(), "{:?}", found[0]);
        }
        assert!(!lines.iter().any(|line| format!("{line:?}").contains("canary")), "{lines:#?}");
    }
}

#[tokio::test]
async fn text_logs_name_the_turn_too() {
    let upstream = Server::always(answer::text("hi")).await;
    let config = crate::support::config(&upstream.url("/v1")) + "[telemetry]\nlog = \"callwright=debug\"\n";
    let proxy = Proxy::start(config).await;
    let turn = proxy.client().chat(&plain("Hello")).await.header("x-callwright-trace").unwrap().to_owned();
    let log = proxy.stop().await.log();
    let line = log.lines().find(|line| line.contains("the turn has ended")).unwrap();
    assert!(line.contains(&format!("trace=\"{turn}\"")), "{line}");
}

/// Number of streams in progress at the end of the process.
const STREAMS: usize = 20;

/// A full disk, a closed descriptor, and a pipe whose reader has left.
#[tokio::test]
async fn a_log_that_cannot_be_written_ends_nothing() {
    for (stderr, is_lost) in [("2>/dev/full", true), ("2>&-", false), ("2> >(:)", true)] {
        let gate = Gate::closed();
        let script = {
            let gate = gate.clone();
            move |_, received: &Received| match received.json()["stream"] == true {
                true => Reply::stream()
                    .event(&answer::role())
                    .wait(&gate)
                    .event(&answer::text_chunk("whole"))
                    .event(&answer::finish("stop"))
                    .done()
                    .end(),
                false => Reply::json(500, &json!({"error": {"message": "broken", "type": "server_error"}})),
            }
        };
        let upstream = Server::scripted(script).await;
        let launcher = format!("exec \"$@\" {stderr}");
        let proxy = Proxy::start_through(&["bash", "-c", &launcher, "bash"], config(&upstream.url("/v1")), &[]).await;
        assert_eq!(proxy.client().chat(&plain("a failure, which is a line")).await.status, 500, "{stderr}");
        if is_lost {
            proxy.metric_reaches("log_lines_lost_total", &[], 1.0).await;
        }
        let mut streams = Vec::new();
        for _ in 0..STREAMS {
            let mut stream = proxy.client().chat_stream(&streamed(plain("Hello"))).await;
            stream.next_chunk().await;
            streams.push(stream);
        }
        proxy.signal("HUP");
        proxy.metric_reaches("config_reloads_total", &[], 1.0).await;
        assert_eq!(proxy.operator().get("/readyz").await.status, 200, "{stderr}");
        proxy.terminate();
        gate.open();
        for stream in &mut streams {
            assert_eq!(stream.assemble().await.choice().content, "whole", "{stderr}");
        }
        let stopped = guarded(stderr, proxy.ended()).await;
        assert!(stopped.status.success(), "{stderr}: {}", stopped.status);
        assert_eq!(stopped.start_again().await.traces().await.len(), STREAMS + 1, "{stderr}");
    }
}
