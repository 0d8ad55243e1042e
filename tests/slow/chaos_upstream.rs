//! Providers that are unavailable, slow, flapping or unreachable, and shutdown during requests: responses to clients,
//! retries, failover, and the records in traces and metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::answer::{self, role, text_chunk, text_chunks};
use crate::support::config::config_with_server;
use crate::support::request::{plain, streamed, with_tools};
use crate::support::tls::TlsFront;
use crate::support::{Assembled, Client, Event, Gate, POLL, Proxy, Reply, Server, config, guarded, policy};
use futures_util::future::join_all;
use serde_json::{Value, json};

/// Disables retries and the circuit breaker, so that a test observes one mechanism at a time.
const PLAIN: &str = "connect_retries = 0\nretries = 0\ncircuit_failures = 0\n";

/// Short timeouts.
const IMPATIENT: &str = "connect_timeout_seconds = 1\nfirst_byte_timeout_seconds = 1\nidle_timeout_seconds = 1\n";

/// Returns a configuration with `keys` for the upstream under test, and a fallback upstream of the alias `sure`.
fn with_fallback(url: &str, keys: &str, other: &Server) -> String {
    format!(
        "{}{keys}[upstreams.other]\nbase_url = \"{}\"\n[aliases.sure]\nmodel = \"big\"\n\
         fallbacks = [{{ upstream = \"other\", model = \"small\" }}]\n",
        config(url),
        other.url("/v1")
    )
}

fn to(model: &str, mut request: Value) -> Value {
    request["model"] = json!(model);
    request
}

fn busy(fields: &[(&str, &str)]) -> Reply {
    let mut all = vec![("content-type", "application/json")];
    all.extend_from_slice(fields);
    Reply::body(503, &all, json!({"error": {"message": "overloaded", "type": "server_error"}}).to_string())
}

fn failing() -> Reply {
    Reply::json(500, &json!({"error": {"message": "broken", "type": "server_error"}}))
}

/// Returns upstream and outcome of each attempt of the only turn.
async fn attempts(proxy: Proxy) -> Vec<(String, String)> {
    let traces = proxy.traces_after_stop().await;
    assert_eq!(traces.len(), 1, "{traces:#?}");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let attempts = traces[0]["attempts"].as_array().unwrap();
    attempts.iter().map(|attempt| (text(&attempt["upstream"]), text(&attempt["outcome"]))).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(upstream, outcome)| ((*upstream).to_owned(), (*outcome).to_owned())).collect()
}

async fn state_is(proxy: &Proxy, state: &str) -> bool {
    proxy.metrics_now().await.sum("upstream_circuit", &[("upstream", "scripted"), ("state", state)]) == 1.0
}

async fn state_becomes(proxy: &Proxy, state: &str) {
    guarded(state, async {
        while !state_is(proxy, state).await {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_failed_upstream_is_retried_before_another_one_answers() {
    let other = Server::always(answer::text("from the other")).await;
    let down = format!("http://{}/v1", Server::refusing());
    let proxy = Proxy::start(with_fallback(&down, "connect_retries = 2\n", &other)).await;
    let answer = proxy.client().chat(&to("sure", plain("Hello"))).await;
    assert_eq!(answer.message()["content"], "from the other");
    assert_eq!(other.only_request().json()["model"], "small");
    assert_eq!(answer.header("x-callwright-attempts"), Some("4"));
    let metrics = proxy.metrics().await;
    let counted = |labels: &[(&str, &str)]| metrics.sum("upstream_attempts_total", labels);
    assert_eq!(counted(&[("upstream", "scripted"), ("outcome", "connect")]), 3.0);
    assert_eq!(counted(&[("upstream", "other"), ("outcome", "success")]), 1.0);
    let expected = [("scripted", "connect"), ("scripted", "connect"), ("scripted", "connect"), ("other", "success")];
    assert_eq!(attempts(proxy).await, pairs(&expected));
}

#[tokio::test]
async fn an_answer_with_a_retry_hint_gets_the_request_again() {
    for stream in [false, true] {
        let upstream = Server::scripted(move |number, _| match number {
            0 => busy(&[]),
            1 => Reply::body(429, &[("retry-after-ms", "20")], "{}"),
            _ if stream => Reply::events(&text_chunks("at last")),
            _ => answer::text("at last"),
        })
        .await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        if stream {
            let mut events = proxy.client().chat_stream(&streamed(with_tools("Hello"))).await;
            assert_eq!(Assembled::of_events(&events.rest().await).choice().content, "at last");
        } else {
            let answer = proxy.client().chat(&with_tools("Hello")).await;
            assert_eq!(answer.message()["content"], "at last");
            assert_eq!(answer.header("retry-after"), None, "what an earlier answer said is no part of this one");
        }
        let expected = [("scripted", "http_error"), ("scripted", "http_error"), ("scripted", "success")];
        assert_eq!(attempts(proxy).await, pairs(&expected));
        let bodies: Vec<Value> = upstream.received().iter().map(|request| request.json()).collect();
        assert!(bodies.windows(2).all(|pair| pair[0] == pair[1]), "{bodies:#?}");
    }
}

#[tokio::test]
async fn what_the_provider_says_of_repeating_holds() {
    let conflict = |word: &'static str| Reply::body(409, &[("x-should-retry", word)], "{}");
    let cases = [
        (conflict("true"), 2),
        (Reply::body(409, &[], "{}"), 1),
        (busy(&[("x-should-retry", "false")]), 1),
        (busy(&[("retry-after", "3600")]), 1),
        (failing(), 1),
    ];
    for (first, requests) in cases {
        let upstream =
            Server::scripted(move |number, _| if number == 0 { first.clone() } else { answer::text("hi") }).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        let answer = proxy.client().chat(&plain("Hello")).await;
        assert_eq!(upstream.received().len(), requests, "{}", answer.text());
        assert_eq!(answer.status == 200, requests == 2);
    }
}

#[tokio::test]
async fn a_sent_unanswered_request_is_not_sent_there_again() {
    let other = Server::always(answer::text("from the other")).await;
    for (reply, outcome) in [(Reply::reset(), "reset"), (Reply::silence(), "timeout")] {
        let upstream = Server::always(reply).await;
        let proxy = Proxy::start(with_fallback(&upstream.url("/v1"), IMPATIENT, &other)).await;
        let answer = proxy.client().chat(&to("sure", plain("Hello"))).await;
        assert_eq!(answer.message()["content"], "from the other");
        assert_eq!(upstream.received().len(), 1);
        assert_eq!(attempts(proxy).await, pairs(&[("scripted", outcome), ("other", "success")]));
    }
}

#[tokio::test]
async fn another_one_is_asked_as_long_as_the_client_has_nothing() {
    let error = json!({"error": {"message": "overloaded", "type": "server_error"}});
    let nothing =
        [failing(), Reply::stream().then_reset(), Reply::stream().event(&error).end(), Reply::raw("SMTP\r\n")];
    for reply in nothing {
        let upstream = Server::always(reply).await;
        let other = Server::always(Reply::events(&text_chunks("from the other"))).await;
        let proxy = Proxy::start(with_fallback(&upstream.url("/v1"), PLAIN, &other)).await;
        let mut stream = proxy.client().chat_stream(&to("sure", streamed(with_tools("Hello")))).await;
        assert_eq!(Assembled::of_events(&stream.rest().await).choice().content, "from the other");
    }
}

#[tokio::test]
async fn what_one_began_to_say_no_other_goes_on_with() {
    let upstream = Server::always(Reply::stream().event(&role()).event(&text_chunk("It is ")).then_reset()).await;
    let other = Server::always(Reply::events(&text_chunks("from the other"))).await;
    let proxy = Proxy::start(with_fallback(&upstream.url("/v1"), PLAIN, &other)).await;
    let mut stream = proxy.client().chat_stream(&to("sure", streamed(plain("Hello")))).await;
    let assembled = Assembled::of_events(&stream.rest().await);
    assert_eq!(assembled.choices[&0].content, "It is ");
    assert_eq!(assembled.error.unwrap()["code"], "reset");
    assert_eq!(other.received().len(), 0);
}

#[tokio::test]
async fn another_upstream_does_not_hide_a_bad_request_or_key() {
    for status in [400, 401, 403, 404, 422] {
        let upstream = Server::always(Reply::json(status, &json!({"error": {"message": "no", "type": "t"}}))).await;
        let other = Server::always(answer::text("from the other")).await;
        let proxy = Proxy::start(with_fallback(&upstream.url("/v1"), "", &other)).await;
        assert_eq!(proxy.client().chat(&to("sure", plain("Hello"))).await.status, status);
        assert_eq!(other.received().len(), 0);
    }
}

#[tokio::test]
async fn sessions_are_shared_by_weight_and_stay_where_they_are() {
    let (one, two) = (Server::always(answer::text("one")).await, Server::always(answer::text("two")).await);
    let tables = format!(
        "[upstreams.two]\nbase_url = \"{}\"\n[aliases.shared]\n\
         targets = [{{ upstream = \"scripted\", weight = 3 }}, {{ upstream = \"two\", model = \"m2\" }}]\n",
        two.url("/v1")
    );
    let proxy = Proxy::start(config(&one.url("/v1")) + &tables).await;
    let ask = async |session: u32| {
        let session = format!("session {session}");
        let request = to("shared", plain("Hello"));
        let answer = proxy.client().chat_with(&request, &[("x-callwright-session", &session)]).await;
        answer.message()["content"].as_str().unwrap().to_owned()
    };
    let mut of_one = 0;
    for session in 0..60 {
        let first = ask(session).await;
        assert_eq!(first, ask(session).await, "session {session}");
        of_one += usize::from(first == "one");
    }
    assert!((30..60).contains(&of_one), "{of_one} of 60");
    assert_eq!(two.last_request().json()["model"], "m2");
    assert_eq!(one.last_request().json()["model"], "shared");
}

#[tokio::test]
async fn an_upstream_that_keeps_failing_is_left_alone() {
    let upstream = Server::always(failing()).await;
    let keys = "retries = 0\ncircuit_failures = 3\ncircuit_failure_percent = 50\ncircuit_open_seconds = 3600\n";
    let proxy = Proxy::start(config(&upstream.url("/v1")) + keys).await;
    assert!(state_is(&proxy, "closed").await);
    for _ in 0..3 {
        assert_eq!(proxy.client().chat(&plain("Hello")).await.status, 500);
    }
    for path in ["/v1/chat/completions", "/v1/embeddings"] {
        let fields = [("content-type", "application/json")];
        let answer = proxy.client().send(http::Method::POST, path, &fields, plain("Hello").to_string()).await;
        assert_eq!(answer.error(503)["code"], "circuit_open", "{path}");
        let seconds: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=3600).contains(&seconds), "{path}: {seconds}");
    }
    assert_eq!(upstream.received().len(), 3, "nobody asked it meanwhile");
    assert!(state_is(&proxy, "open").await);
    let refused = [("upstream", "scripted"), ("outcome", "circuit_open")];
    assert_eq!(proxy.metrics().await.sum("upstream_attempts_total", &refused), 2.0);
}

#[tokio::test]
async fn a_flapping_upstream_is_probed_and_used_again_once_well() {
    let well = Arc::new(AtomicBool::new(false));
    let seen = well.clone();
    let upstream =
        Server::scripted(move |_, _| if seen.load(Ordering::Relaxed) { answer::text("well") } else { failing() }).await;
    let keys = "retries = 0\ncircuit_failures = 3\ncircuit_open_seconds = 1\n";
    let proxy = Proxy::start(config(&upstream.url("/v1")) + keys).await;
    for _ in 0..3 {
        assert_eq!(proxy.client().chat(&plain("Hello")).await.status, 500);
    }
    for probe in 0..3 {
        state_becomes(&proxy, "half_open").await;
        assert_eq!(proxy.client().chat(&plain("Hello")).await.status, 500, "probe {probe}");
        assert!(!state_is(&proxy, "closed").await);
    }
    well.store(true, Ordering::Relaxed);
    state_becomes(&proxy, "half_open").await;
    for _ in 0..2 {
        assert_eq!(proxy.client().chat(&plain("Hello")).await.message()["content"], "well");
    }
    assert!(state_is(&proxy, "closed").await);
}

#[tokio::test]
async fn an_open_circuit_uses_the_fallback_at_once() {
    let upstream = Server::always(failing()).await;
    let other = Server::always(answer::text("from the other")).await;
    let keys = "retries = 0\ncircuit_failures = 2\ncircuit_open_seconds = 3600\n";
    let proxy = Proxy::start(with_fallback(&upstream.url("/v1"), keys, &other)).await;
    for _ in 0..5 {
        let answer = proxy.client().chat(&to("sure", plain("Hello"))).await;
        assert_eq!(answer.message()["content"], "from the other");
    }
    assert_eq!((upstream.received().len(), other.received().len()), (2, 5));
}

#[tokio::test]
async fn a_slow_upstream_costs_only_a_few_turns_their_patience() {
    let upstream = Server::always(Reply::silence()).await;
    let keys = "circuit_failures = 4\ncircuit_open_seconds = 3600\n";
    let proxy = Proxy::start(config(&upstream.url("/v1")) + IMPATIENT + keys).await;
    let request = plain("Hello");
    for answer in join_all((0..4).map(|_| proxy.client().chat(&request))).await {
        assert_eq!(answer.error(504)["code"], "timeout");
    }
    assert_eq!(proxy.client().chat(&request).await.error(503)["code"], "circuit_open");
    assert_eq!(upstream.received().len(), 4);
}

#[tokio::test]
async fn a_clients_fault_or_exit_never_counts_against_the_upstream() {
    let upstream = Server::scripted(|number, _| match number {
        0..5 => Reply::json(400, &json!({"error": {"message": "no", "type": "t"}})),
        5..8 => Reply::silence(),
        _ => answer::text("well"),
    })
    .await;
    let proxy =
        Proxy::start(config(&upstream.url("/v1")) + "circuit_failures = 1\ncircuit_failure_percent = 1\n").await;
    for _ in 0..5 {
        assert_eq!(proxy.client().chat(&plain("Hello")).await.status, 400);
    }
    for number in 6..9 {
        let connection = proxy.client().begin_chat(&plain("Hello")).await;
        upstream.arrival_of(number).await;
        connection.leave().await;
    }
    assert_eq!(proxy.client().chat(&plain("Hello")).await.message()["content"], "well");
    assert!(state_is(&proxy, "closed").await);
}

#[tokio::test]
async fn a_stream_holds_its_slot_and_a_full_queue_gives_a_503() {
    let gate = Gate::closed();
    let held =
        Reply::stream().event(&role()).event(&text_chunk("first")).wait(&gate).event(&answer::finish("stop")).done();
    let upstream =
        Server::scripted(move |number, _| if number == 0 { held.clone() } else { answer::text("second") }).await;
    let keys = "max_concurrent = 1\nmax_queued = 1\nqueue_milliseconds = 60000\n";
    let proxy = Proxy::start(config(&upstream.url("/v1")) + keys).await;
    let mut stream = proxy.client().chat_stream(&streamed(plain("Hello"))).await;
    stream.next().await.unwrap();
    let request = plain("Hello");
    let (second, ()) = tokio::join!(proxy.client().chat(&request), async {
        proxy.metric_reaches("upstream_queued", &[("upstream", "scripted")], 1.0).await;
        let refused = proxy.client().chat(&request).await;
        assert_eq!(refused.error(503)["code"], "busy");
        assert_eq!(refused.header("retry-after"), Some("60"));
        let metrics = proxy.metrics_now().await;
        assert_eq!(metrics.sum("upstream_in_flight", &[("upstream", "scripted")]), 1.0);
        assert_eq!(upstream.received().len(), 1, "nothing was sent for those who wait");
        gate.open();
        assert_eq!(stream.rest().await.last(), Some(&Event::Done));
    });
    assert_eq!(second.message()["content"], "second");
    let metrics = proxy.metrics().await;
    assert_eq!(metrics.sum("upstream_in_flight", &[]) + metrics.sum("upstream_queued", &[]), 0.0);
    assert_eq!(metrics.sum("upstream_attempts_total", &[("outcome", "busy")]), 1.0);
}

#[tokio::test]
async fn an_endless_answer_is_cut_off_at_the_turns_time_limit() {
    let piece = format!("data: {}\n\n", text_chunk("and "));
    let piece = format!("{:x}\r\n{piece}\r\n", piece.len());
    let reply = Reply::stream().event(&role()).then_again(piece, POLL);
    let upstream = Server::always(reply).await;
    let rules = policy::file("short", "limits: {total_seconds: 3}");
    let config = config(&upstream.url("/v1")) + &policy::table("short");
    let proxy = Proxy::start_with_files(config, &[("policies/short.yaml", &rules)]).await;
    for request in [streamed(plain("Hello")), streamed(with_tools("Hello"))] {
        let mut stream = proxy.client().chat_stream(&request).await;
        let assembled = Assembled::of_events(&stream.rest().await);
        let error = assembled.error.unwrap();
        assert_eq!(error["code"], "timeout");
        assert!(error["message"].as_str().unwrap().contains("limits.total_seconds"), "{error}");
    }
    upstream.hangup().await;
}

#[tokio::test]
async fn an_unresolved_name_is_reported_and_another_upstream_answers() {
    let other = Server::always(answer::text("from the other")).await;
    let keys = format!("{IMPATIENT}connect_retries = 1\n");
    let proxy = Proxy::start(with_fallback("http://model.invalid/v1", &keys, &other)).await;
    let answer = proxy.client().chat(&plain("Hello")).await;
    assert_eq!(answer.error(502)["code"], "connect", "{}", answer.text());
    let answer = proxy.client().chat(&to("sure", plain("Hello"))).await;
    assert_eq!(answer.message()["content"], "from the other");
}

#[tokio::test]
async fn an_expired_certificate_is_told_and_nothing_is_sent() {
    let upstream = Server::always(answer::text("in secret")).await;
    let other = Server::always(answer::text("from the other")).await;
    let front = TlsFront::start_expired(&upstream).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("authority.pem");
    std::fs::write(&file, &front.authority).unwrap();
    let keys = format!("ca_file = {file:?}\nconnect_retries = 0\n");
    let proxy = Proxy::start(with_fallback(&front.url("/v1"), &keys, &other)).await;
    let answer = proxy.client().chat(&plain("Hello")).await;
    let error = answer.error(502);
    assert_eq!(error["code"], "connect");
    assert!(error["message"].as_str().unwrap().to_lowercase().contains("expired"), "{error}");
    let answer = proxy.client().chat(&to("sure", plain("Hello"))).await;
    assert_eq!(answer.message()["content"], "from the other");
    assert_eq!(upstream.received().len(), 0);
}

#[tokio::test]
async fn without_file_descriptors_there_is_an_error_then_an_answer() {
    const OPEN_FILES: u32 = 120;
    // Client connections that are allowed. With one upstream connection for each, there are more than open files.
    const TURNS: usize = 60;
    let gate = Gate::closed();
    let held = gate.clone();
    // Each request needs a new connection.
    let upstream = Server::scripted(move |number, _| match number {
        0 => answer::text("hi").then_close(),
        _ => answer::text("hi").then_close().after(&held),
    })
    .await;
    let server = format!("max_connections = {TURNS}");
    let file = config_with_server(&upstream.url("/v1"), "sqlite:traces.sqlite3", &server);
    let keys = "connect_retries = 0\ncircuit_failures = 1\n";
    let proxy = Proxy::start_with_open_files(file + keys, OPEN_FILES).await;
    assert_eq!(proxy.client().chat(&plain("Hello")).await.message()["content"], "hi");
    let request = plain("Hello");
    // A client whose connection is refused for the same reason gets no response.
    let turns = join_all((0..TURNS).map(|_| proxy.client().try_chat(&request)));
    let (answers, ()) = tokio::join!(turns, async {
        proxy.metric_reaches("upstream_attempts_total", &[("outcome", "connect")], 1.0).await;
        gate.open();
    });
    let is_connect = |answer: &bytes::Bytes| String::from_utf8_lossy(answer).contains("\"code\":\"connect\"");
    assert!(answers.iter().flatten().any(is_connect), "{answers:?}");
    let answer = until(proxy.client(), |status| status == 200).await;
    assert_eq!(answer.message()["content"], "hi", "the circuit was not opened by what was no fault of the upstream");
    proxy.stop().await;
}

/// Sends requests until the status matches `wanted`.
async fn until(client: &Client, wanted: impl Fn(u16) -> bool) -> crate::support::Answer {
    guarded("waiting for another status", async {
        loop {
            let answer = client.chat(&plain("Hello")).await;
            if wanted(answer.status.as_u16()) {
                return answer;
            }
            tokio::time::sleep(POLL).await;
        }
    })
    .await
}

#[tokio::test]
async fn a_termination_signal_cuts_off_no_running_or_waiting_turn() {
    const TURNS: usize = 24;
    let gate = Gate::closed();
    let held = gate.clone();
    let upstream = Server::scripted(move |number, received| match number {
        0 => Reply::body(429, &[("retry-after-ms", "300")], "{}"),
        _ if received.json()["stream"] == true => Reply::events(&text_chunks("to the end")).after(&held),
        _ => answer::text("to the end").after(&held),
    })
    .await;
    let keys = format!("max_concurrent = 8\nmax_queued = {TURNS}\nqueue_milliseconds = 60000\n");
    let proxy = Proxy::start(config(&upstream.url("/v1")) + &keys).await;
    let whole = async |_| {
        let answer = proxy.client().chat(&plain("Hello")).await;
        assert_eq!(answer.message()["content"], "to the end");
    };
    let stream = async |_| {
        let mut stream = proxy.client().chat_stream(&streamed(with_tools("Hello"))).await;
        assert_eq!(Assembled::of_events(&stream.rest().await).choice().content, "to the end");
    };
    let turns = async { tokio::join!(join_all((0..TURNS / 2).map(whole)), join_all((0..TURNS / 2).map(stream))) };
    let _ = tokio::join!(turns, async {
        upstream.arrival_of(8).await;
        proxy.metric_reaches("upstream_queued", &[], 1.0).await;
        proxy.metric_reaches("turns_in_flight", &[], TURNS as f64).await;
        proxy.terminate();
        // The listener closes first.
        let address = proxy.client().url("").trim_start_matches("http://").to_owned();
        guarded("waiting for the listener to close", async {
            while tokio::net::TcpStream::connect(&address).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
        gate.open();
    });
    let stopped = proxy.ended().await;
    assert!(stopped.status.success(), "{}\n{}", stopped.status, stopped.log());
    assert_eq!(stopped.start_again().await.traces().await.len(), TURNS);
}

#[tokio::test]
async fn what_is_passed_through_goes_where_its_path_says() {
    let mut upstreams = Vec::new();
    for name in ["default", "rest", "speech"] {
        upstreams.push(Server::always(Reply::json(200, &json!({"object": "list", "data": [], "from": name}))).await);
    }
    let tables = format!(
        "[upstreams.rest]\nbase_url = \"{}\"\n[upstreams.speech]\nbase_url = \"{}\"\n\
         [pass_through]\nupstream = \"rest\"\npaths = {{ \"/audio\" = \"speech\", \"/models\" = \"scripted\" }}\n",
        upstreams[1].url("/v1"),
        upstreams[2].url("/v1")
    );
    let proxy = Proxy::start(config(&upstreams[0].url("/v1")) + &tables).await;
    for (path, name) in [("/v1/models", "default"), ("/v1/files?limit=1", "rest"), ("/v1/audio/voices", "speech")] {
        assert_eq!(proxy.client().get(path).await.ok()["from"], name, "{path}");
    }
    let refusal =
        Proxy::refusal(&(config(&upstreams[0].url("/v1")) + "[pass_through]\nupstream = \"nowhere\"\n")).await;
    assert!(refusal.contains("pass_through.upstream") && refusal.contains("nowhere"), "{refusal}");
}
