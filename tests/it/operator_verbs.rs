//! Verbs with which an operator inspects an installation: `doctor`, `health`, `policy explain`, `completions`, `man`.

use crate::support::verb::{Folder, Said};
use crate::support::{Proxy, Reply, Server, config};
use serde_json::{Value, json};

const KEY: &str = "sk-canary-key";

fn stdout(said: &Said) -> &str {
    std::str::from_utf8(&said.stdout).unwrap()
}

/// Runs a verb while servers of this runtime can respond to it.
async fn run(folder: Folder, arguments: &'static [&'static str]) -> (Folder, Said) {
    let ran = move || {
        let said = folder.run(arguments, b"");
        (folder, said)
    };
    tokio::task::spawn_blocking(ran).await.unwrap()
}

/// Returns the findings of `doctor --format json` with this configuration: each check and its status.
async fn examined(configuration: &str) -> (Vec<Value>, Said) {
    let folder = Folder::with(&[("callwright.toml", configuration.as_bytes())]);
    let (_, said) = run(folder, &["doctor", "--format", "json"]).await;
    assert!(!stdout(&said).contains("canary") && !said.stderr.contains("canary"), "{}", stdout(&said));
    (said.lines(), said)
}

fn finding<'a>(findings: &'a [Value], check: &str) -> &'a Value {
    findings.iter().find(|finding| finding["check"] == check).unwrap_or_else(|| panic!("no {check}: {findings:#?}"))
}

#[tokio::test]
async fn a_sound_installation_has_no_failure() {
    let upstream = Server::always(Reply::json(200, &json!({"object": "list", "data": []}))).await;
    let (findings, said) = examined(&(config(&upstream.url("/v1")) + &format!("api_key = \"{KEY}\"\n"))).await;
    assert_eq!(said.status, Some(0), "{findings:#?}");
    for check in ["configuration", "policies", "documents", "store", "upstream scripted", "server.listen"] {
        assert_eq!(finding(&findings, check)["status"], "ok", "{findings:#?}");
    }
    let asked = upstream.only_request();
    assert_eq!((asked.method.as_str(), asked.target.as_str()), ("GET", "/v1/models"));
    assert_eq!(asked.header("authorization"), Some("Bearer sk-canary-key"));
}

#[tokio::test]
async fn every_failure_names_what_mends_it_and_the_status_is_one() {
    let refusing = Server::always(Reply::json(401, &json!({"error": {"message": "bad key sk-canary-key"}}))).await;
    let configuration = config(&refusing.url("/v1"))
        + &format!(
            "api_key = \"{KEY}\"\n[upstreams.down]\nbase_url = \"http://{}/v1\"\nconnect_retries = 0\n",
            Server::refusing()
        )
        + "[toolsets.lost]\ndocument = \"lost.yaml\"\n";
    let configuration = configuration.replace("sqlite:traces.sqlite3", "sqlite:no/such/folder/traces.sqlite3");
    let (findings, said) = examined(&configuration).await;
    assert_eq!(said.status, Some(1));
    for (check, fix) in [
        ("upstream scripted", "upstreams.scripted.api_key"),
        ("upstream down", "base_url"),
        ("documents", "toolsets"),
        ("store", "store.url"),
    ] {
        let found = finding(&findings, check);
        assert_eq!(found["status"], "fail", "{found}");
        assert!(found["fix"].as_str().unwrap().contains(fix), "{found}");
    }
    assert!(said.stderr.contains("4 of "), "{}", said.stderr);
}

#[tokio::test]
async fn a_wrong_clock_is_a_warning_and_a_bad_file_the_only_finding() {
    let old = [("content-type", "application/json"), ("date", "Sun, 06 Nov 1994 08:49:37 GMT")];
    let upstream = Server::always(Reply::body(200, &old, "{}")).await;
    let (findings, said) = examined(&config(&upstream.url("/v1"))).await;
    assert_eq!(finding(&findings, "clock")["status"], "warn", "{findings:#?}");
    assert_eq!(said.status, Some(0), "a warning is no failure");

    let (findings, said) = examined("[server]\nlistn = \"127.0.0.1:0\"\n").await;
    assert_eq!((findings.len(), said.status), (1, Some(1)));
    assert!(findings[0]["message"].as_str().unwrap().contains("listn"));
}

#[tokio::test]
async fn people_read_one_line_and_a_fix() {
    let configuration = config(&format!("http://{}/v1", Server::refusing())) + "connect_retries = 0\n";
    let folder = Folder::with(&[("callwright.toml", configuration.as_bytes())]);
    let (_, said) = run(folder, &["doctor"]).await;
    let text = stdout(&said);
    assert!(text.contains("ok    configuration: ") && text.contains("fail  upstream scripted: "), "{text}");
    assert!(text.contains("\n      fix: check `base_url`"), "{text}");
}

#[tokio::test]
async fn health_follows_the_proxy() {
    let upstream = Server::always(Reply::json(200, &json!({}))).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let operator = proxy.operator().url("").trim_start_matches("http://").to_owned();
    let ask = |more: &'static [&'static str]| {
        let operator = operator.clone();
        tokio::task::spawn_blocking(move || {
            let arguments = [&["health", "--operator", operator.as_str()], more].concat();
            Folder::with(&[]).run(&arguments, b"")
        })
    };
    for path in [&[][..], &["--ready"]] {
        let said = ask(path).await.unwrap();
        assert_eq!(said.status, Some(0), "{}", said.stderr);
    }
    proxy.stop().await;
    let said = ask(&[]).await.unwrap();
    assert_eq!(said.status, Some(1));
    assert!(said.stderr.contains("is the proxy running?"), "{}", said.stderr);
}

#[tokio::test]
async fn a_health_check_finds_the_operator_side_in_the_configuration() {
    let operator = Server::always(Reply::body(200, &[], "ok\n")).await;
    let address = operator.url("").trim_start_matches("http://").to_owned();
    let text = format!("[server]\noperator_listen = \"{address}\"\n");
    let (_, said) = run(Folder::with(&[("callwright.toml", text.as_bytes())]), &["health"]).await;
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    assert_eq!(operator.only_request().target, "/healthz");
}

const POLICIES: [(&str, &str); 3] = [
    ("default.yaml", "description: d\n"),
    ("gpt.yaml", "description: g\nmode: shadow\nmatch: {models: ['gpt-*']}\n"),
    ("team.yaml", "description: t\npriority: 5\nmatch: {headers: {x-team: search}}\n"),
];

/// Runs `policy explain` for a request for this model.
fn explained(model: &str, more: &[&str]) -> Said {
    let configuration =
        "[policies]\ndirectory = \"policies\"\n[aliases.fast]\nmodel = \"gpt-mini\"\npolicy = \"gpt\"\n";
    let folder = Folder::with(&[("callwright.toml", configuration.as_bytes())]);
    std::fs::create_dir(folder.path("policies")).unwrap();
    for (name, text) in POLICIES {
        std::fs::write(folder.path("policies").join(name), text).unwrap();
    }
    let body = json!({"model": model, "messages": []}).to_string();
    folder.run(&[&["policy", "explain", "--request", "-"], more].concat(), body.as_bytes())
}

#[test]
fn policy_explain_says_which_policy_a_request_gets_and_why() {
    for (model, headers, policy, mode, because) in [
        ("o3", &[][..], "default", "guard", "no policy matches"),
        ("gpt-5", &[], "gpt", "shadow", "`match` holds"),
        ("fast", &[], "gpt", "shadow", "the alias is bound"),
        ("gpt-5", &["--header", "X-Team: search"], "team", "guard", "`match` holds"),
    ] {
        let said = explained(model, &[&["--format", "json"], headers].concat());
        assert_eq!(said.status, Some(0), "{}", said.stderr);
        let told = &said.lines()[0];
        assert_eq!((&told["policy"], &told["mode"]), (&json!(policy), &json!(mode)), "{told}");
        assert!(told["because"].as_str().unwrap().contains(because), "{told}");
    }
    let text = explained("gpt-5", &[]);
    let text = stdout(&text);
    assert!(text.contains("model `gpt-5`: policy `gpt`, mode `shadow`"), "{text}");
    assert!(text.contains("`team` (priority 5): does not match: `headers.x-team`"), "{text}");
}

#[test]
fn policy_explain_names_what_is_no_request() {
    let folder = Folder::with(&[("empty.json", b"{}"), ("broken.json", b"{")]);
    for (file, word) in [("empty.json", "`model`"), ("broken.json", "not JSON"), ("absent.json", "absent.json")] {
        let said = folder.run(&["policy", "explain", "--request", file], b"");
        assert_eq!(said.status, Some(1));
        assert!(said.stderr.contains(word), "{}", said.stderr);
    }
    let said = explained("o3", &["--header", "x-callwright-policy: gpt"]);
    assert!(said.status == Some(1) && said.stderr.contains("gpt"), "there is no key: {}", said.stderr);
    let said = explained("o3", &["--key", "ada", "--header", "x-callwright-policy: gpt"]);
    assert!(stdout(&said).contains("policy `gpt`, mode `shadow`"), "{}", stdout(&said));
}

#[test]
fn completions_and_the_manual_know_every_verb() {
    let folder = Folder::with(&[]);
    let help = folder.run(&["--help"], b"");
    let verbs: Vec<&str> = stdout(&help)
        .lines()
        .take_while(|line| *line != "Options:")
        .filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '))?.split_whitespace().next())
        .filter(|verb| *verb != "help")
        .collect();
    assert!(verbs.len() > 15 && verbs.contains(&"doctor"), "{verbs:?}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = folder.run(&["completions", shell], b"");
        assert_eq!(said.status, Some(0), "{}", said.stderr);
        for verb in &verbs {
            assert!(stdout(&said).contains(verb), "{shell} does not complete {verb}");
        }
    }
    let page = folder.run(&["man"], b"");
    assert!(stdout(&page).contains(".TH callwright 1"), "{}", stdout(&page));
    assert_eq!(folder.run(&["man", "--out", "pages"], b"").status, Some(0));
    for verb in verbs {
        let page = folder.path("pages").join(format!("callwright-{verb}.1"));
        assert!(page.is_file(), "{} is missing", page.display());
    }
    assert_eq!(folder.run(&["completions", "cmd"], b"").status, Some(2));
}
