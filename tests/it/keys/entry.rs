//! Authentication, identity and policy of clients.

use reqwest::Method;
use serde_json::{Value, json};

use super::{JSON, Key, UPSTREAM_KEY, configuration, post, verb};
use crate::support::answer::{one_call, text};
use crate::support::request::{plain, with_tools};
use crate::support::{Proxy, Reply, Server, guarded, policy};

#[tokio::test]
async fn nobody_comes_in_without_a_known_key_whatever_they_ask_for() {
    let upstream = Server::always(text("hi")).await;
    let proxy = Proxy::start(configuration(&upstream, "", "")).await;
    let key = Key::create(&proxy, json!({"name": "ada"})).await;
    let changed = format!("{}x", key.secret);
    let wrong = ["", "Bearer sk-client", "Bearer cw-00000000-AAAA", "Basic YTpi", &format!("Bearer {changed}")];
    let asked = [
        (Method::POST, "/v1/chat/completions"),
        (Method::POST, "/openai/deployments/m/chat/completions"),
        (Method::GET, "/v1/models"),
        (Method::POST, "/v1/embeddings"),
        (Method::GET, "/v1/files"),
        (Method::POST, "/v1/feedback"),
        (Method::GET, "/v2/anything"),
        (Method::DELETE, "/openai/deployments/m/chat/completions"),
    ];
    for (method, path) in &asked {
        for value in wrong {
            let mut fields = vec![JSON];
            fields.extend((!value.is_empty()).then_some(("authorization", value)));
            let answer = proxy.client().send(method.clone(), path, &fields, plain("Hello").to_string()).await;
            let error = answer.error(401);
            assert_eq!(error["code"], "invalid_api_key", "{method} {path} {value}");
            assert_eq!(error["type"], "invalid_request_error");
            assert!(!answer.text().contains(&changed));
        }
    }
    assert_eq!(upstream.received().len(), 0);
    let denied = [("group", ""), ("result", "denied")];
    assert_eq!(proxy.metrics().await.sum("key_requests_total", &denied), (asked.len() * wrong.len()) as f64);
    assert_eq!(key.chat(&proxy).await.status, 200, "the key itself is good");
}

#[tokio::test]
async fn a_key_is_taken_in_each_field_and_goes_no_further() {
    let upstream = Server::always(text("hi")).await;
    let proxy = Proxy::start(configuration(&upstream, "", "")).await;
    let key = Key::create(&proxy, json!({"name": "ada", "group": "search"})).await;
    let bearer = format!("Bearer {}", key.secret);
    for field in [("authorization", bearer.as_str()), ("api-key", &key.secret), ("x-api-key", &key.secret)] {
        let body = plain("Hello").to_string();
        let answer = proxy.client().send(Method::POST, "/v1/chat/completions", &[JSON, field], body).await;
        assert_eq!(answer.status, 200, "{field:?} {}", answer.text());
        let embedded = proxy.client().send(Method::POST, "/v1/embeddings", &[JSON, field], "{}").await;
        assert_eq!(embedded.status, 200);
    }
    for request in upstream.take_received() {
        assert_eq!(request.header("authorization"), Some(format!("Bearer {UPSTREAM_KEY}").as_str()));
        assert!(request.headers.iter().all(|(_, value)| !value.contains(&key.secret)), "{request:?}");
        assert!(request.header("api-key").is_none() && request.header("x-api-key").is_none());
    }
    Key::create(&proxy, json!({"name": "bob"})).await.chat(&proxy).await.ok();
    let proxy = proxy.stop().await.start_again().await;
    for of_ada in ["ada", key.id.as_str()] {
        let list = proxy.operator().get(&format!("/admin/traces?key={of_ada}")).await.ok();
        assert_eq!(list["traces"].as_array().unwrap().len(), 3, "{list}");
        let id = list["traces"][0]["id"].as_str().unwrap();
        let trace = proxy.operator().get(&format!("/admin/traces/{id}")).await.ok();
        assert_eq!(trace["key"], json!({"id": key.id, "name": "ada", "group": "search"}));
        assert_eq!(trace["tenant"], key.id.as_str());
    }
    let metrics = proxy.metrics().await;
    assert_eq!(metrics.sum("keys", &[]), 2.0);
}

#[tokio::test]
async fn a_secret_is_shown_once_and_is_nowhere_else() {
    let upstream = Server::always(one_call("getWeather", r#"{"city": "Oslo"}"#)).await;
    let files = policy::file("open", "record: {bodies: true}");
    let config = configuration(&upstream, "", &policy::table("open"));
    let proxy = Proxy::start_with_files(config, &[("policies/open.yaml", &files)]).await;
    let key = Key::create(&proxy, json!({"name": "ada", "requests_per_minute": 2})).await;
    let random = key.secret.splitn(3, '-').nth(2).unwrap().to_owned();
    let mut told = Vec::new();
    for headers in [&[key.field()][..], &[key.field(), ("x-callwright-debug", "true")], &[key.field()]] {
        let answer = proxy.client().chat_with(&with_tools("What is the weather in Oslo?"), headers).await;
        told.push(format!("{:?} {}", answer.headers, answer.text()));
    }
    let rotated = post(&proxy, "/admin/keys/ada/rotate", json!({"grace_seconds": 60})).await.ok();
    let second = Key::of(&rotated);
    for path in ["/admin/keys", "/admin/keys/ada", "/metrics", "/readyz", "/admin/traces"] {
        told.push(proxy.operator().get(path).await.text());
    }
    told.extend(proxy.traces().await.iter().map(Value::to_string));
    let stopped = proxy.stop().await;
    told.push(stopped.log());
    told.push(verb(stopped.directory(), &["keys", "list", "--all", "--format", "json"]));
    told.push(verb(stopped.directory(), &["keys", "show", "ada"]));
    told.push(verb(stopped.directory(), &["store", "export"]));
    for file in std::fs::read_dir(stopped.directory()).unwrap().flatten().filter(|file| file.path().is_file()) {
        told.push(String::from_utf8_lossy(&std::fs::read(file.path()).unwrap()).into_owned());
    }
    for text in &told {
        for secret in [random.as_str(), &second.secret, UPSTREAM_KEY] {
            let is_the_configuration = secret == UPSTREAM_KEY && text.contains("api_key = ");
            assert!(!text.contains(secret) || is_the_configuration, "{secret} is in {text}");
        }
    }
    assert!(told.iter().any(|text| text.contains("virtual_keys")), "the database was looked at");
}

#[tokio::test]
async fn a_key_is_rotated_with_a_time_of_grace_or_without() {
    let upstream = Server::always(text("hi")).await;
    let proxy = Proxy::start(configuration(&upstream, "", "")).await;
    let first = Key::create(&proxy, json!({"name": "ada"})).await;
    let second = Key::of(&post(&proxy, "/admin/keys/ada/rotate", json!({"grace_seconds": 3600})).await.ok());
    assert_eq!(first.id, second.id);
    assert_eq!(
        (first.chat(&proxy).await.status, second.chat(&proxy).await.status),
        (200.try_into().unwrap(), 200.try_into().unwrap())
    );
    let third = Key::of(&post(&proxy, &format!("/admin/keys/{}/rotate", first.id), json!({})).await.ok());
    for old in [&first, &second] {
        old.chat(&proxy).await.error(401);
    }
    assert_eq!(third.chat(&proxy).await.status, 200);
    let shown = proxy.operator().get("/admin/keys/ada").await.ok();
    assert_eq!(shown["prefixes"].as_array().unwrap().len(), 1, "what has ended is forgotten: {shown}");
}

#[tokio::test]
async fn what_the_command_line_does_reaches_a_running_proxy() {
    let upstream = Server::always(text("hi")).await;
    let proxy = Proxy::start(configuration(&upstream, "", "")).await;
    let made = verb(
        proxy.directory(),
        &[
            "keys", "create", "ada", "--group", "search", "--requests-per-minute", "100", "--budget", "2.5",
            "--budget-period", "day", "--model", "gpt-*", "--format", "json",
        ],
    );
    let key = Key::of(&serde_json::from_str(&made).unwrap());
    let reaches = async |status: u16| {
        guarded("the proxy hears of it", async {
            while key.chat(&proxy).await.status != status {
                tokio::time::sleep(crate::support::POLL).await;
            }
        })
        .await;
    };
    // It has a budget, and the model has no price.
    reaches(403).await;
    verb(proxy.directory(), &["keys", "update", "ada", "--budget", "0"]);
    reaches(200).await;
    let listed: Value = serde_json::from_str(&verb(proxy.directory(), &["keys", "list", "--format", "json"])).unwrap();
    assert_eq!(
        (&listed["name"], &listed["group"], &listed["state"]),
        (&json!("ada"), &json!("search"), &json!("active"))
    );
    assert_eq!(listed["limits"]["requests_per_minute"], 100);
    let secret = verb(proxy.directory(), &["keys", "rotate", "ada", "--grace", "600"]);
    assert!(secret.starts_with("cw-"), "{secret}");
    verb(proxy.directory(), &["keys", "revoke", "ada"]);
    reaches(401).await;
    assert!(key.chat(&proxy).await.error(401)["message"].as_str().unwrap().contains("revoked"));
    assert_eq!(verb(proxy.directory(), &["keys", "list", "--format", "json"]), "");
    verb(proxy.directory(), &["keys", "create", "ada"]);
    assert!(verb(proxy.directory(), &["keys", "list", "--all"]).contains("revoked"));
}

#[tokio::test]
async fn a_key_has_its_policy_and_may_ask_for_its_own() {
    let upstream = Server::always(one_call("getWeather", r#"{"city": "Oslo"}"#)).await;
    let files = [
        ("policies/default.yaml", policy::file("default", "")),
        ("policies/shadow.yaml", policy::file("shadow", "mode: shadow")),
        ("policies/off.yaml", policy::file("off", "mode: off\nmatch: {groups: ['batch-*'], keys: ['night-*']}")),
        ("policies/strict.yaml", policy::file("strict", "on_exhausted: error")),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let config = configuration(&upstream, "", &policy::table("default"));
    let proxy = Proxy::start_with_files(config, &files).await;
    let verdict = async |draft: Value, headers: &[(&str, &str)]| {
        let key = Key::create(&proxy, draft).await;
        let mut fields = vec![key.field()];
        fields.extend_from_slice(headers);
        proxy.client().chat_with(&with_tools("What is the weather in Oslo?"), &fields).await
    };
    assert_eq!(verdict(json!({"name": "plain"}), &[]).await.verdict(), "repaired");
    let bound = verdict(json!({"name": "bound", "policy": "off"}), &[]).await;
    assert_eq!(bound.verdict(), "unguarded");
    let matched = verdict(json!({"name": "night-1", "group": "batch-a"}), &[]).await;
    assert_eq!(matched.verdict(), "unguarded");
    let other_group = verdict(json!({"name": "night-2", "group": "day"}), &[]).await;
    assert_eq!(other_group.verdict(), "repaired");
    let wish = [("x-callwright-policy", "strict"), ("x-callwright-debug", "true")];
    let wished = verdict(json!({"name": "wishes", "selectable_policies": ["strict"]}), &wish).await.ok();
    assert_eq!(wished["callwright"]["policy"], "strict", "{wished}");
    let refused = verdict(json!({"name": "may-not"}), &wish).await.error(400);
    assert_eq!(refused["code"], "policy_not_selectable");
    assert!(refused["message"].as_str().unwrap().contains("may select none"), "{refused}");
    let unknown = post(&proxy, "/admin/keys", json!({"name": "lost", "policy": "nobody"})).await.error(400);
    assert!(unknown["message"].as_str().unwrap().contains("there is no policy `nobody`"));
}

#[tokio::test]
async fn a_model_that_is_not_allowed_is_refused_and_not_listed() {
    let upstream = Server::scripted(|_, request| match request.target.as_str() {
        "/v1/models" => Reply::json(200, &json!({"object": "list", "data": [{"id": "gpt-test"}, {"id": "o3"}]})),
        _ => text("hi"),
    })
    .await;
    let proxy = Proxy::start(configuration(&upstream, "", "[aliases.fast]\nmodel = \"o3\"\n")).await;
    let key = Key::create(&proxy, json!({"name": "ada", "models": ["gpt-*"]})).await;
    assert_eq!(key.chat(&proxy).await.status, 200);
    for model in ["o3", "fast"] {
        let mut body = plain("Hello");
        body["model"] = json!(model);
        let error = proxy.client().chat_with(&body, &[key.field()]).await.error(403);
        assert_eq!((&error["code"], &error["param"]), (&json!("model_not_allowed"), &json!("model")), "{error}");
    }
    let path = "/openai/deployments/o3/chat/completions";
    let deployed = proxy.client().send(Method::POST, path, &[JSON, key.field()], plain("Hello").to_string()).await;
    deployed.error(403);
    let ids = async |key: &Key| {
        let list = proxy.client().send(Method::GET, "/v1/models", &[key.field()], "").await.ok();
        list["data"].as_array().unwrap().iter().map(|model| model["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&key).await, ["gpt-test"]);
    assert_eq!(ids(&Key::create(&proxy, json!({"name": "bob"})).await).await, ["fast", "gpt-test", "o3"]);
}

#[tokio::test]
async fn memory_and_sessions_belong_to_the_key_and_outlive_its_secret() {
    let upstream = Server::always(text("hi")).await;
    let proxy = Proxy::start(configuration(&upstream, "", "")).await;
    let first = Key::create(&proxy, json!({"name": "ada"})).await;
    let other = Key::create(&proxy, json!({"name": "bob"})).await;
    first.chat(&proxy).await.ok();
    let second = Key::of(&post(&proxy, "/admin/keys/ada/rotate", json!({})).await.ok());
    second.chat(&proxy).await.ok();
    other.chat(&proxy).await.ok();
    let traces = proxy.traces_after_stop().await;
    let of = |name: &str| -> Vec<(&Value, &Value)> {
        let of_key = traces.iter().filter(|trace| trace["key"]["name"] == name);
        of_key.map(|trace| (&trace["tenant"], &trace["session"])).collect()
    };
    let (ada, bob) = (of("ada"), of("bob"));
    assert_eq!(ada.len(), 2);
    assert_eq!(ada[0], ada[1], "another secret, the same key");
    assert_ne!(ada[0].0, bob[0].0);
    assert_ne!(ada[0].1, bob[0].1, "the same words are another conversation");
}
