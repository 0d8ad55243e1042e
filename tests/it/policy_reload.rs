//! Selection of a turn's policy, and reload of changed files: a valid file takes effect immediately, an invalid one
//! never.

use crate::support::answer::one_call;
use crate::support::request::with_tools;
use crate::support::{Answer, POLL, Proxy, Server, config, guarded, policy};
use serde_json::json;

const PARIS: &str = r#"{"city":"Paris"}"#;

/// An upstream whose calls require a repair, so that the verdict shows the mode: `repaired` or `unguarded`.
async fn upstream() -> Server {
    Server::always(one_call("getWeather", PARIS)).await
}

const GUARD: &str = "mode: guard";
const OFF: &str = "mode: \"off\"";

async fn ask(proxy: &Proxy, fields: &[(&str, &str)]) -> Answer {
    proxy.client().chat_with(&with_tools("Weather?"), fields).await
}

/// Sends requests until the verdict is `verdict`, because a change takes effect shortly after the file is written.
async fn becomes(proxy: &Proxy, verdict: &str) {
    guarded(verdict, async {
        while ask(proxy, &[]).await.verdict() != verdict {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
}

async fn start(upstream: &Server, files: &[(&str, &str)]) -> Proxy {
    let files: Vec<(String, String)> =
        files.iter().map(|(name, rules)| (format!("policies/{name}.yaml"), policy::file(name, rules))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    Proxy::start_with_files(config(&upstream.url("/v1")) + &policy::table("usual"), &files).await
}

#[tokio::test]
async fn a_changed_file_takes_effect_without_a_restart() {
    let upstream = upstream().await;
    let proxy = start(&upstream, &[("usual", GUARD)]).await;
    assert_eq!(ask(&proxy, &[]).await.verdict(), "repaired");
    proxy.write("policies/usual.yaml", &policy::file("usual", OFF));
    becomes(&proxy, "unguarded").await;
    proxy.write("policies/usual.yaml", &policy::file("usual", GUARD));
    becomes(&proxy, "repaired").await;
    assert!(proxy.metrics().await.sum("policy_reloads_total", &[("result", "success")]) >= 2.0);
}

#[tokio::test]
async fn a_bad_file_keeps_the_old_rules_and_says_why() {
    for bad in ["mode: sideways", "mode: [", "no_such_key: 1", "limits: {static_feedback: -1}", "\u{0}"] {
        let upstream = upstream().await;
        let proxy = start(&upstream, &[("usual", OFF)]).await;
        let before = failures(&proxy).await;
        proxy.write("policies/usual.yaml", &policy::file("usual", bad));
        guarded("waiting for the bad file to be noticed", async {
            while failures(&proxy).await <= before {
                tokio::time::sleep(POLL).await;
            }
        })
        .await;
        assert_eq!(ask(&proxy, &[]).await.verdict(), "unguarded", "{bad}");
        assert!(proxy.log().contains("usual.yaml"), "{bad}: {}", proxy.log());
        proxy.write("policies/usual.yaml", &policy::file("usual", GUARD));
        becomes(&proxy, "repaired").await;
    }
}

/// Returns the number of failed reloads.
async fn failures(proxy: &Proxy) -> f64 {
    let metrics = proxy.metrics().await;
    metrics.sum("policy_reloads_total", &[]) - metrics.sum("policy_reloads_total", &[("result", "success")])
}

#[tokio::test]
async fn removing_the_default_keeps_it_in_force() {
    let upstream = upstream().await;
    let proxy = start(&upstream, &[("usual", OFF), ("other", GUARD)]).await;
    std::fs::remove_file(proxy.directory().join("policies/usual.yaml")).unwrap();
    guarded("waiting for the loss to be noticed", async {
        while failures(&proxy).await == 0.0 {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
    assert_eq!(ask(&proxy, &[]).await.verdict(), "unguarded");
}

#[tokio::test]
async fn a_bad_file_at_the_start_is_a_refusal() {
    let upstream = upstream().await;
    let text = config(&upstream.url("/v1")) + &policy::table("absent");
    let refusal = Proxy::refusal(&text).await;
    assert!(refusal.contains("polic"), "{refusal}");
}

#[tokio::test]
async fn policies_match_models_aliases_and_headers() {
    let upstream = upstream().await;
    let files = [
        ("policies/usual.yaml", policy::file("usual", OFF)),
        ("policies/model.yaml", policy::file("model", "match: {models: [\"large-*\"]}")),
        (
            "policies/header.yaml",
            policy::file("header", "priority: 5\nmatch: {headers: {x-team: \"red*\"}}\nmode: guard"),
        ),
        ("policies/bound.yaml", policy::file("bound", GUARD)),
    ];
    let files = files.each_ref().map(|(path, text)| (*path, text.as_str()));
    let aliases = "[aliases.helper]\nmodel = \"m\"\npolicy = \"bound\"\n";
    let config = config(&upstream.url("/v1")) + &policy::table("usual") + aliases;
    let proxy = Proxy::start_with_files(config, &files).await;
    let of_model = async |model: &str, fields: &[(&str, &str)]| {
        let mut request = with_tools("Weather?");
        request["model"] = json!(model);
        proxy.client().chat_with(&request, fields).await.verdict().to_owned()
    };
    assert_eq!(of_model("small", &[]).await, "unguarded");
    assert_eq!(of_model("large-1", &[]).await, "repaired");
    assert_eq!(of_model("helper", &[]).await, "repaired");
    assert_eq!(of_model("small", &[("X-Team", "reds")]).await, "repaired");
    assert_eq!(of_model("small", &[("X-Team", "blues")]).await, "unguarded");
    let policies: Vec<String> =
        proxy.traces_after_stop().await.iter().map(|trace| trace["policy"].as_str().unwrap().to_owned()).collect();
    assert_eq!(policies, ["usual", "model", "bound", "header", "usual"]);
}

#[tokio::test]
async fn a_request_without_a_key_selects_no_policy() {
    let upstream = upstream().await;
    let proxy = start(&upstream, &[("usual", GUARD), ("off", OFF)]).await;
    for refused in ["off", "no-such-policy"] {
        let answer = ask(&proxy, &[("x-callwright-policy", refused)]).await;
        assert!(answer.error(400)["message"].as_str().unwrap().contains("virtual key"), "{refused}");
    }
    assert_eq!(ask(&proxy, &[("x-callwright-policy", "usual")]).await.verdict(), "repaired");
}
