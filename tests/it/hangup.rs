//! SIGHUP reloads all reloadable files, and interrupts neither the process nor a stream.

use crate::support::answer::{one_call, text_chunks};
use crate::support::request::{plain, streamed, with_tools};
use crate::support::{Assembled, Event, Gate, POLL, Proxy, Reply, Server, config, guarded, policy};

const PARIS: &str = r#"{"city":"Paris"}"#;

#[tokio::test]
async fn a_running_stream_goes_on() {
    let gate = Gate::closed();
    let chunks = text_chunks("to the end");
    let mut reply = Reply::stream().event(&chunks[0]).event(&chunks[1]).wait(&gate);
    for chunk in &chunks[2..] {
        reply = reply.event(chunk);
    }
    let upstream = Server::always(reply.done()).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let mut stream = proxy.client().chat_stream(&streamed(plain("Hello"))).await;
    let mut events = vec![stream.next().await.unwrap()];
    proxy.signal("HUP");
    proxy.metric_reaches("config_reloads_total", &[("result", "success")], 1.0).await;
    gate.open();
    events.extend(stream.rest().await);
    assert_eq!(events.last(), Some(&Event::Done));
    assert_eq!(Assembled::of_events(&events).choice().content, "to the end");
    proxy.stop().await;
}

#[tokio::test]
async fn files_that_are_not_watched_are_read_again() {
    let upstream = Server::always(one_call("getWeather", PARIS)).await;
    let table = policy::table("usual") + "[reload]\nfiles = false\n";
    let files = [("policies/usual.yaml", policy::file("usual", "mode: guard"))];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let proxy = Proxy::start_with_files(config(&upstream.url("/v1")) + &table, &files).await;
    let verdict = async || proxy.client().chat(&with_tools("Weather?")).await.verdict().to_owned();
    assert_eq!(verdict().await, "repaired");
    proxy.write("policies/usual.yaml", &policy::file("usual", "mode: \"off\""));
    proxy.signal("HUP");
    proxy.metric_reaches("policy_reloads_total", &[("result", "success")], 1.0).await;
    assert_eq!(verdict().await, "unguarded");
}

#[tokio::test]
async fn changed_keys_are_named_and_a_mistake_ends_nothing() {
    let upstream = Server::always(crate::support::answer::text("hi")).await;
    let before = config(&upstream.url("/v1"));
    let proxy = Proxy::start(before.clone()).await;
    let logs = async |text: &str| {
        guarded(text, async {
            while !proxy.log().contains(text) {
                tokio::time::sleep(POLL).await;
            }
        })
        .await;
    };
    let secret = "api_key = \"sk-canary-of-hangup\"\n";
    proxy.write("callwright.toml", &(before.replace("[store]", "body_limit_bytes = 1000\n[store]") + secret));
    proxy.signal("HUP");
    logs("need a restart").await;
    let log = proxy.log();
    assert!(log.contains("server.body_limit_bytes") && log.contains("upstreams.scripted.api_key"), "{log}");
    assert!(!log.contains("sk-canary-of-hangup"), "{log}");
    proxy.write("callwright.toml", &(before + "nonsense = 1\n"));
    proxy.signal("HUP");
    proxy.metric_reaches("config_reloads_total", &[("result", "failure")], 1.0).await;
    logs("unknown key `upstreams.scripted.nonsense`").await;
    assert_eq!(proxy.client().chat(&plain("Hello")).await.message()["content"], "hi");
}
