//! Keys: that of the client reaches its upstream, an upstream's own replaces it, and virtual keys work in the header
//! fields of both protocols.

use http::Method;
use serde_json::{Value, json};

use super::api::{APIS, Api, FIELDS, text};
use crate::support::{Proxy, Server, config};

async fn answering(api: Api) -> Server {
    Server::scripted(move |_, received| api.reply(received, &[text("Hello.")])).await
}

#[tokio::test]
async fn the_clients_key_reaches_the_default_upstream() {
    for api in APIS {
        let upstream = answering(api).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        api.send(&proxy, &api.plain("Hello")).await.ok();
        let received = upstream.only_request();
        assert_eq!(received.header("x-api-key"), Some("sk-client"));
        assert_eq!(received.header("authorization"), Some("Bearer sk-client"));
        assert_eq!(received.header("anthropic-version"), Some("2023-06-01"));
    }
}

#[tokio::test]
async fn an_upstreams_own_key_replaces_that_of_the_client() {
    for api in APIS {
        let upstream = answering(api).await;
        let keys = "api_key = \"sk-own\"\napi_key_header = \"x-api-key\"\n";
        let proxy = Proxy::start(config(&upstream.url("/v1")) + keys).await;
        api.send(&proxy, &api.plain("Hello")).await.ok();
        let received = upstream.only_request();
        assert_eq!((received.header("x-api-key"), received.header("authorization")), (Some("sk-own"), None));
    }
}

#[tokio::test]
async fn a_virtual_key_is_accepted_in_the_field_of_the_protocol() {
    for api in APIS {
        let upstream = answering(api).await;
        let tables = "api_key = \"sk-own\"\n[keys]\nmode = \"required\"\n";
        let proxy = Proxy::start(config(&upstream.url("/v1")) + tables).await;
        let draft = json!({"name": "app", "requests_per_minute": 2}).to_string();
        let created = proxy.operator().send(Method::POST, "/admin/keys", &FIELDS[..1], draft).await;
        assert_eq!(created.status, 201, "{}", created.text());
        let secret = created.json()["secret"].as_str().unwrap().to_owned();
        let bearer = format!("Bearer {secret}");
        for field in [("x-api-key", secret.as_str()), ("authorization", bearer.as_str())] {
            let body = api.plain("Hello").to_string();
            let answer = proxy.client().send(Method::POST, api.path(), &[FIELDS[0], field], body).await;
            assert_eq!(api.outline(&answer.ok()), ["text Hello."], "{api:?} {}", field.0);
            let received = upstream.last_request();
            assert!(!format!("{:?}", received.headers).contains(&secret), "{received:?}");
        }
        let body = api.plain("Hello").to_string();
        let limited =
            proxy.client().send(Method::POST, api.path(), &[FIELDS[0], ("x-api-key", secret.as_str())], body).await;
        let error: Value = api.error(&limited, 429);
        assert!(limited.header("retry-after").is_some(), "{error}");
        if api == Api::Messages {
            assert_eq!(error["type"], "rate_limit_error");
        }
    }
}
