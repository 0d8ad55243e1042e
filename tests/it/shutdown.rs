//! A termination signal ends the proxy when the running turns have ended, and at the latest after the grace period.

use crate::support::answer::{self, call_chunks, one_call};
use crate::support::config::config_with_server;
use crate::support::request::{plain, streamed, with_tools};
use crate::support::{Assembled, Client, Event, Gate, Proxy, Reply, Server, config, guarded};
use tokio::io::AsyncWriteExt;

const PARIS: &str = r#"{"city":"Paris"}"#;

/// Waits until the client listener accepts no new connections.
async fn closed(client: &Client) {
    let address = client.url("").trim_start_matches("http://").to_owned();
    guarded("waiting for the listener to close", async {
        while tokio::net::TcpStream::connect(&address).await.is_ok() {
            tokio::time::sleep(crate::support::POLL).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_running_turn_is_finished() {
    for signal in ["TERM", "INT", "QUIT"] {
        let gate = Gate::closed();
        let upstream =
            Server::replying([one_call("get_weather", "{}").after(&gate), one_call("get_weather", PARIS)]).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        let request = with_tools("Weather?");
        let (answer, ()) = tokio::join!(proxy.client().chat(&request), async {
            upstream.arrival_of(1).await;
            proxy.signal(signal);
            closed(proxy.client()).await;
            gate.open();
        });
        assert_eq!(answer.verdict(), "corrected", "the turn may even ask again");
        let stopped = proxy.ended().await;
        assert!(stopped.status.success(), "{signal}: {}\n{}", stopped.status, stopped.log());
        let traces = stopped.start_again().await.traces().await;
        assert_eq!(traces.len(), 1);
        assert_eq!(traces[0]["verdict"], "corrected");
    }
}

#[tokio::test]
async fn a_running_stream_is_finished() {
    let gate = Gate::closed();
    let chunks = call_chunks(&[("call_1", "getWeather", PARIS)]);
    let mut reply = Reply::stream().event(&chunks[0]).wait(&gate);
    for chunk in &chunks[1..] {
        reply = reply.event(chunk);
    }
    let upstream = Server::always(reply.done()).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let mut stream = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await;
    let mut events = vec![stream.next().await.unwrap()];
    proxy.terminate();
    closed(proxy.client()).await;
    gate.open();
    events.extend(stream.rest().await);
    assert_eq!(events.last(), Some(&Event::Done));
    assert_eq!(Assembled::of_events(&events).choice().calls[0]["function"]["name"], "get_weather");
    assert!(proxy.ended().await.status.success());
}

#[tokio::test]
async fn a_passed_through_body_is_finished() {
    let gate = Gate::closed();
    let upstream = Server::always(Reply::stream().piece("first").wait(&gate).piece("last").end()).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let (answer, ()) = tokio::join!(proxy.client().get("/v1/files/1/content"), async {
        upstream.arrival_of(1).await;
        proxy.terminate();
        closed(proxy.client()).await;
        gate.open();
    });
    assert_eq!(answer.text(), "firstlast");
    assert!(proxy.ended().await.status.success());
}

#[tokio::test]
async fn idle_connections_hold_nothing_up() {
    let upstream = Server::always(answer::text("hi")).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let mut idle = Vec::new();
    for _ in 0..5 {
        let address = proxy.client().url("").trim_start_matches("http://").to_owned();
        idle.push(tokio::net::TcpStream::connect(address).await.unwrap());
    }
    proxy.client().chat(&plain("Hello")).await.ok();
    proxy.stop().await;
    drop(idle);
}

#[tokio::test]
async fn half_sent_header_sections_hold_nothing_up() {
    let upstream = Server::always(answer::text("hi")).await;
    let server = "header_timeout_seconds = 3600\nshutdown_grace_seconds = 3600";
    let proxy = Proxy::start(config_with_server(&upstream.url("/v1"), "sqlite:traces.sqlite3", server)).await;
    let mut begun = Vec::new();
    for beginning in ["", "G", "GET /v1/models HTTP/1.1\r\nhost: loc", "PRI * HTTP/2.0\r\n"] {
        let address = proxy.client().url("").trim_start_matches("http://").to_owned();
        let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
        socket.write_all(beginning.as_bytes()).await.unwrap();
        begun.push(socket);
    }
    proxy.metric_reaches("connections", &[("listener", "client")], 4.0).await;
    proxy.stop().await;
    drop(begun);
}

#[tokio::test]
async fn the_grace_ends() {
    let upstream = Server::always(Reply::silence()).await;
    let proxy =
        Proxy::start(config_with_server(&upstream.url("/v1"), "sqlite:traces.sqlite3", "shutdown_grace_seconds = 1"))
            .await;
    let client = Client::new(proxy.client().url(""));
    let request = with_tools("Weather?");
    tokio::select! {
        // The turn ends with a broken connection or an error response.
        _ = client.try_chat(&request) => {}
        stopped = async { upstream.arrival_of(1).await; proxy.terminate(); proxy.ended().await } => drop(stopped),
    }
    upstream.hangup().await;
}
