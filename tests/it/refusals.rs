//! Refused calls: the reason and its remedy are in the trace, in the report for the client, in the log, in the metrics
//! and on the console's page of the turn.

use crate::support::answer::{self, one_call};
use crate::support::verb::Folder;
use crate::support::{Answer, POLL, Proxy, Reply, Server, config, guarded, policy, rooms};
use http::Method;
use serde_json::{Value, json};

const BOOKING: &str = r#"{"room":"Amber","from":"2026-03-01T09:00:00Z","hours":2}"#;
const LIST: (&str, &str) = ("listRooms", r#"{"floor":2}"#);
const BOOK: (&str, &str) = ("bookRoom", BOOKING);

/// A refusal: how it is provoked, and what its remedy names.
struct Refused {
    reason: &'static str,
    /// Tool and arguments of the model's call.
    call: (&'static str, &'static str),
    /// Rules of the policy.
    rules: &'static str,
    /// Change of the configuration: a text and its replacement.
    config: (&'static str, &'static str),
    /// Part of the remedy.
    remedy: &'static str,
}

const NO_BASE_URL: (&str, &str) = ("\"rooms.yaml\"\nbase_url", "\"rooms.yaml\"\n#base_url");
const ALLOWED: &str = "execute: {rules: [{permission: allow}]}";
const ASKING: &str =
    "execute: {rules: [{methods: [POST], permission: approve}], approval: {mode: wait, timeout_seconds: 60}}";

const CASES: [Refused; 12] = [
    Refused {
        reason: "no_server",
        call: LIST,
        rules: ALLOWED,
        config: NO_BASE_URL,
        remedy: "`base_url = \"https://HOST\"` in `[toolsets.rooms]`",
    },
    Refused {
        reason: "address_not_allowed",
        call: LIST,
        rules: ALLOWED,
        config: ("\"127.0.0.1\"]", "]"),
        remedy: "\"127.0.0.1\" to `allowed_addresses` in `[executor]`",
    },
    Refused {
        reason: "redirect_not_allowed",
        call: ("getRoom", r#"{"room":"elsewhere"}"#),
        rules: ALLOWED,
        config: ("", ""),
        remedy: "`base_url` in `[toolsets.rooms]`",
    },
    Refused {
        reason: "policy_denied",
        call: BOOK,
        rules: "mode: guard",
        config: ("", ""),
        remedy: "`- {methods: [POST], tools: [\"rooms/bookRoom\"], permission: allow}` to `execute.rules` of the policy `tested`",
    },
    Refused { reason: "approval_denied", call: BOOK, rules: ASKING, config: ("", ""), remedy: "a person denied" },
    Refused {
        reason: "approval_expired",
        call: BOOK,
        rules: "execute: {rules: [{methods: [POST], permission: approve}], approval: {mode: wait, timeout_seconds: 1}}",
        config: ("", ""),
        remedy: "`execute.approval.timeout_seconds`",
    },
    Refused {
        reason: "approval_pending",
        call: BOOK,
        rules: "execute: {rules: [{methods: [POST], permission: approve}], approval: {mode: notice}}",
        config: ("", ""),
        remedy: "`/admin/approvals`",
    },
    Refused {
        reason: "approval_unavailable",
        call: BOOK,
        rules: ASKING,
        config: ("[executor]", "[pipeline]\nmax_approval_bytes = 1\n[executor]"),
        remedy: "`pipeline.max_approval_bytes`",
    },
    Refused {
        reason: "credential_missing",
        call: LIST,
        rules: ALLOWED,
        config: ("key = \"rooms-secret-1\"", ""),
        remedy: "`[toolsets.rooms.credentials]`",
    },
    Refused {
        reason: "credential_unavailable",
        call: LIST,
        rules: ALLOWED,
        config: ("key = \"rooms-secret-1\"", "key = { file = \"no-such-file\" }"),
        remedy: "`[toolsets.rooms.credentials]`",
    },
    Refused {
        reason: "invalid_arguments",
        call: ("getRoom", r#"{"room":".."}"#),
        rules: ALLOWED,
        config: ("", ""),
        remedy: "other arguments",
    },
    Refused {
        reason: "call_limit",
        call: LIST,
        rules: "execute: {rules: [{permission: allow}]}\nlimits: {executed_calls: 0}",
        config: ("", ""),
        remedy: "`limits.executed_calls` of the policy `tested`",
    },
];

/// A model that makes a call and ends with a text.
async fn model(case: &Refused) -> Server {
    let (tool, arguments) = case.call;
    Server::scripted(move |_, received| match received.last_message()["role"].as_str() {
        Some("tool") => answer::text("That did not work."),
        _ => one_call(tool, arguments),
    })
    .await
}

/// An API that redirects requests for one room to another server.
async fn api() -> Server {
    Server::scripted(|_, received| match received.target.contains("elsewhere") {
        true => Reply::body(302, &[("location", "http://other.example/")], ""),
        false => Reply::json(200, &json!(["Amber"])),
    })
    .await
}

async fn proxy(case: &Refused, model: &Server, api: &Server) -> Proxy {
    let (before, after) = case.config;
    let plain = rooms::config_of(model, api);
    assert!(plain.contains(before), "{before}");
    let config = if before.is_empty() { plain } else { plain.replace(before, after) };
    let config = config + &policy::table("tested") + "[telemetry]\nformat = \"json\"\n";
    let document = rooms::DOCUMENT.replace("servers: [{url: \"http://127.0.0.1:1\"}]\n", "");
    let file = policy::file("tested", case.rules);
    Proxy::start_with_files(config, &[("rooms.yaml", &document), ("policies/tested.yaml", &file)]).await
}

/// Sends a request in a session of its own; a person denies the call if one is requested to decide.
async fn turn(proxy: &Proxy, case: &Refused, session: &str) -> Answer {
    let headers = [("x-callwright-debug", "true"), ("x-callwright-session", session)];
    let request = rooms::ask("Help me.");
    let answered = proxy.client().chat_with(&request, &headers);
    if case.reason != "approval_denied" {
        return answered.await;
    }
    let denied = async {
        let id = guarded("the request for approval", async {
            loop {
                let page = proxy.operator().get("/admin/approvals?status=pending").await.ok();
                if let Some(id) = page["approvals"][0]["id"].as_str() {
                    return id.to_owned();
                }
                tokio::time::sleep(POLL).await;
            }
        });
        let path = format!("/admin/approvals/{}/deny", id.await);
        let fields = [("content-type", "application/json")];
        proxy.operator().send(Method::POST, &path, &fields, json!({"by": "Ada"}).to_string()).await.ok();
    };
    tokio::join!(answered, denied).0
}

/// Returns the refused execution among the executions of a turn.
fn refused(executions: &Value) -> Value {
    let all = executions.as_array().unwrap();
    let refused: Vec<&Value> = all.iter().filter(|execution| !execution["reason"].is_null()).collect();
    assert_eq!(refused.len(), 1, "{executions:#}");
    refused[0].clone()
}

fn log_lines(proxy: &Proxy) -> Vec<Value> {
    proxy.log().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Checks one reason in all places, over two turns.
async fn check(case: &Refused) {
    let (model, api) = (model(case).await, api().await);
    let proxy = proxy(case, &model, &api).await;
    for session in ["first", "second"] {
        let answer = turn(&proxy, case, session).await;
        let report = refused(&answer.json()["callwright"]["executions"]);
        assert_eq!(report["reason"], case.reason, "{report:#}");
        assert!(report["remedy"].as_str().unwrap().contains(case.remedy), "{report:#}");
    }
    let metrics = proxy.metrics().await;
    let labels = [("toolset", "rooms"), ("reason", case.reason)];
    assert_eq!(metrics.sum("calls_refused_total", &labels), 2.0, "{}", case.reason);
    assert_eq!(metrics.sum("calls_refused_total", &[]), 2.0, "{}", case.reason);

    let lines = log_lines(&proxy);
    let is_line = |line: &&Value| line["message"].as_str().unwrap().contains("a call was refused");
    let logged: Vec<&Value> = lines.iter().filter(is_line).collect();
    assert_eq!(logged.len(), 1, "once for the toolset and the reason: {logged:#?}");
    assert_eq!((&logged[0]["level"], &logged[0]["toolset"]), (&json!("WARN"), &json!("rooms")));
    assert_eq!(logged[0]["reason"], case.reason);
    assert!(logged[0]["remedy"].as_str().unwrap().contains(case.remedy), "{}", logged[0]);
    assert!(logged[0]["trace"].is_string(), "{}", logged[0]);

    let traces = proxy.traces_after_stop().await;
    assert_eq!(traces.len(), 2);
    for trace in &traces {
        let execution = refused(&trace["executions"]);
        assert_eq!(execution["reason"], case.reason, "{execution:#}");
        assert!(execution["remedy"].as_str().unwrap().contains(case.remedy), "{execution:#}");
        assert!(execution.get("body").is_none(), "bodies are not recorded: {execution:#}");
    }
}

#[tokio::test]
async fn every_reason_is_in_trace_report_log_and_metrics() {
    for case in &CASES {
        check(case).await;
    }
}

#[tokio::test]
async fn the_text_of_a_trace_shows_the_reason() {
    let case = &CASES[1];
    let (model, api) = (model(case).await, api().await);
    let proxy = proxy(case, &model, &api).await;
    turn(&proxy, case, "first").await;
    let proxy = proxy.stop().await.start_again().await;
    let id = proxy.traces().await[0]["id"].as_str().unwrap().to_owned();
    let text = proxy.operator().get(&format!("/admin/traces/{id}?format=text")).await.text();
    assert!(text.contains("not sent: address_not_allowed; remedy: add \"127.0.0.1\""), "{text}");
}

#[tokio::test]
async fn a_refusal_is_logged_again_after_a_reload() {
    let case = &CASES[3];
    let (model, api) = (model(case).await, api().await);
    let proxy = proxy(case, &model, &api).await;
    let count = || proxy.log().matches("a call was refused").count();
    turn(&proxy, case, "first").await;
    turn(&proxy, case, "second").await;
    assert_eq!(count(), 1);
    proxy.write("policies/tested.yaml", &policy::file("tested", "priority: 3"));
    proxy.metric_reaches("policy_reloads_total", &[("result", "success")], 1.0).await;
    turn(&proxy, case, "third").await;
    assert_eq!(count(), 2);
}

/// A configuration whose calls are refused, and the finding about it.
struct Audited {
    /// Change of the configuration.
    config: (&'static str, &'static str),
    /// Parts of the finding.
    parts: &'static [&'static str],
}

const AUDITED: [Audited; 4] = [
    Audited {
        config: NO_BASE_URL,
        parts: &[
            "3 of 3 operations have no absolute server URL",
            "no_server",
            "[toolsets.rooms]\n    base_url = \"https://HOST\"",
        ],
    },
    Audited {
        config: ("\"127.0.0.1\"]", "\"10.0.0.0/8\"]"),
        parts: &[
            "3 of 3",
            "address_not_allowed",
            "[executor]\n    allowed_addresses = [\"10.0.0.0/8\", \"127.0.0.1\"]",
        ],
    },
    Audited {
        config: ("key = \"rooms-secret-1\"", ""),
        parts: &[
            "3 operations require a credential",
            "credential_missing",
            "[toolsets.rooms.credentials]\n    key = \"${ROOMS_KEY}\"",
        ],
    },
    Audited {
        config: ("", ""),
        parts: &[
            "denies 1 of 3 tools, which are not offered: bookRoom",
            "policy_denied",
            "execute:\n      rules:\n        - {methods: [POST], tools: [\"rooms/*\"], permission: approve}",
        ],
    },
];

#[tokio::test]
async fn check_doctor_and_start_report_calls_that_would_be_refused() {
    let (model, api) = (model(&CASES[0]).await, api().await);
    let document = rooms::DOCUMENT.replace("servers: [{url: \"http://127.0.0.1:1\"}]\n", "");
    for Audited { config: (before, after), parts } in AUDITED {
        let plain = rooms::config_of(&model, &api);
        let config = if before.is_empty() { plain } else { plain.replace(before, after) };
        let files = [("callwright.toml", config.as_bytes()), ("rooms.yaml", document.as_bytes())];
        let folder = Folder::with(&files);
        let checked = folder.run(&["config", "check"], b"");
        let text = String::from_utf8(checked.stdout).unwrap();
        assert_eq!(checked.status, Some(0), "{text}{}", checked.stderr);
        for part in parts {
            assert!(text.contains(part), "{part}\n{text}");
        }
        let found = folder.run(&["doctor", "--format", "json"], b"").lines();
        let finding = found.iter().find(|finding| {
            finding["check"] == "calls of rooms" && finding["message"].as_str().unwrap().contains(parts[0])
        });
        let finding = finding.unwrap_or_else(|| panic!("{}: {found:#?}", parts[0]));
        if parts[1] == "policy_denied" {
            assert_eq!(finding["status"], "ok", "denying writes is the default: {finding:#}");
        } else {
            let fix = finding["fix"].as_str().unwrap().replace('\n', "\n    ");
            assert_eq!(finding["status"], "warn");
            assert!(fix.contains(parts[2]), "{fix}");
        }
        let proxy =
            Proxy::start_with_files(config + "[telemetry]\nformat = \"json\"\n", &[("rooms.yaml", &document)]).await;
        let lines = log_lines(&proxy);
        let line = lines.iter().find(|line| line["reason"] == parts[1]);
        let line = line.unwrap_or_else(|| panic!("{}: {lines:#?}", parts[1]));
        assert!(line["message"].as_str().unwrap().contains(parts[0]), "{line:#}");
        assert_eq!(line["level"], if parts[1] == "policy_denied" { "INFO" } else { "WARN" });
        let last = parts[2].lines().last().unwrap().trim();
        assert!(line["remedy"].as_str().unwrap().contains(last), "{line:#}");
    }
}

#[tokio::test]
async fn a_document_without_servers_is_called_at_its_own_origin() {
    let document = rooms::DOCUMENT.replace("servers: [{url: \"http://127.0.0.1:1\"}]\n", "");
    let api = Server::scripted(move |_, received| match received.target.as_str() {
        "/docs/openapi.yaml" => Reply::body(200, &[("content-type", "application/yaml")], document.clone()),
        _ => Reply::json(200, &json!(["Amber"])),
    })
    .await;
    let model = model(&CASES[0]).await;
    let config = config(&model.url("/v1"))
        + "[executor]\nallowed_addresses = [\"127.0.0.1\"]\n"
        + "[aliases.helper]\nmodel = \"gpt-test\"\ntoolsets = [\"rooms\"]\n"
        + &format!("[toolsets.rooms]\ndocument = \"{}\"\n", api.url("/docs/openapi.yaml"))
        + "missing_credentials = \"send\"\n";
    let proxy = Proxy::start(config).await;
    assert!(!proxy.log().contains("no_server"), "{}", proxy.log());
    proxy.client().chat(&rooms::ask("Which rooms?")).await.ok();
    assert_eq!(api.last_request().target, "/rooms?floor=2");
}
