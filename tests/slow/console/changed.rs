//! The reason why a call was changed, on an installation without any configuration of recording.

use callwright_test_macros::requires;
use serde_json::json;

use super::{drive, pictures, script};
use crate::support::answer::one_call;
use crate::support::request::plain;
use crate::support::{Proxy, Server, config};

#[requires(chromium, python_clients)]
#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_a_repaired_turn_names_what_was_changed() {
    let upstream = Server::always(one_call("getForecast", r#"{"city":"canary","Days":"3"}"#)).await;
    let proxy = Proxy::start(config::config(&upstream.url("/v1"))).await;
    let mut request = plain("Weather?");
    let schema = json!({"type": "object", "required": ["city"],
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}});
    request["tools"] = json!([{"type": "function", "function": {"name": "get_forecast", "parameters": schema}}]);
    let answer = proxy.client().chat(&request).await;
    assert_eq!(answer.verdict(), "repaired");
    let id = answer.header("x-callwright-trace").unwrap().to_owned();
    // The trace is stored then.
    let proxy = proxy.stop().await.start_again().await;
    let mut command = script("console_changed.py", &proxy);
    command.arg(pictures()).arg(id);
    drive(command).await;
    assert!(pictures().join("why-changed.png").metadata().unwrap().len() > 10_000);
}
