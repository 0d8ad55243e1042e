//! OpenTelemetry spans of turns at a collector: names, parents and attributes follow the GenAI semantic conventions,
//! user content is absent, and an unavailable collector does no harm.

use crate::support::collector::{Collector, Span, table, taken};
use crate::support::planning::{self, Task};
use crate::support::request::{plain, streamed};
use crate::support::rooms::{self, ask};
use crate::support::{POLL, Proxy, Reply, Server, answer, config, guarded, policy};
use serde_json::{Value, json};

const INTERNAL: i32 = 1;
const SERVER: i32 = 2;
const CLIENT: i32 = 3;

const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Mark in all texts that must not be in a span: texts of the user, the model and an API, and secrets.
const CANARY: &str = "canary";

fn named<'s>(spans: &'s [Span], name: &str) -> Vec<&'s Span> {
    spans.iter().filter(|span| span.name == name).collect()
}

fn only<'s>(spans: &'s [Span], name: &str) -> &'s Span {
    let [span] = named(spans, name)[..] else { panic!("not one {name}: {spans:#?}") };
    span
}

fn attributes<'s>(span: &'s Span, keys: &[&str]) -> Vec<&'s Value> {
    keys.iter().map(|key| &span.attributes[*key]).collect()
}

/// Checks that the spans of a turn form one tree within the time of the turn.
fn check_tree(spans: &[Span]) {
    let turn = spans.iter().find(|span| span.kind == SERVER).unwrap();
    for span in spans {
        assert_eq!(span.trace, turn.trace);
        assert!(span.start >= turn.start && span.end <= turn.end, "{span:#?}\nin {turn:#?}");
        let has_parent = spans.iter().any(|other| other.id == span.parent && other.id != span.id);
        assert!(has_parent || span.id == turn.id, "{span:#?}");
        let operation = span.attributes["gen_ai.operation.name"].as_str().unwrap();
        assert!(span.name.split(' ').next() == Some(operation), "{span:#?}");
        assert_eq!(span.is_error, span.attributes.get("error.type").is_some(), "{span:#?}");
    }
    let mut ids: Vec<&str> = spans.iter().map(|span| span.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), spans.len());
}

fn trace_of(answer: &crate::support::Answer) -> String {
    answer.header("x-callwright-trace").unwrap().to_owned()
}

#[tokio::test]
async fn a_corrected_and_executed_turn_is_a_span_tree_in_the_trace() {
    let collector = Collector::start().await;
    let upstream = Server::scripted(rooms::forgetful).await;
    let api = Server::always(Reply::json(200, &json!({"rooms": ["blue"], "hint": CANARY}))).await;
    let config = rooms::config_of(&upstream, &api).replace("[executor]", "max_tools = 1\n[executor]")
        + "[experience]\nwithhold = 0.0\n"
        + &collector.table()
        + &format!("otlp_headers = {{ x-token = \"{CANARY}-token\" }}\n")
        + "otlp_resource = { \"deployment.environment.name\" = \"test\" }\n";
    let proxy = Proxy::start_with_files(config, &rooms::FILES).await;
    let fields = [("traceparent", TRACEPARENT), ("tracestate", "vendor=1"), ("x-callwright-session", "s1")];
    let answer = proxy.client().chat_with(&ask(&format!("Which rooms are free? {CANARY}")), &fields).await;
    assert_eq!(answer.header("x-callwright-attempts"), Some("3"), "wrong, mended, told");
    let spans = collector.of_turn(&trace_of(&answer)).await;
    check_tree(&{
        // The parent of the turn's span is the client's span.
        let mut own = spans.clone();
        own.iter_mut().filter(|span| span.kind == SERVER).for_each(|span| span.parent.clear());
        own
    });

    let turn = only(&spans, "chat helper");
    assert_eq!(
        (turn.kind, turn.trace.as_str(), turn.parent.as_str()),
        (SERVER, &TRACEPARENT[3..35], &TRACEPARENT[36..52])
    );
    let keys = ["gen_ai.provider.name", "gen_ai.request.model", "gen_ai.conversation.id", "http.response.status_code"];
    assert_eq!(attributes(turn, &keys), [&json!("openai"), &json!("helper"), &json!("s1"), &json!(200)]);
    let keys = ["gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "callwright.verdict", "callwright.mode"];
    assert_eq!(attributes(turn, &keys), [&json!(60), &json!(15), &json!("corrected"), &json!("guard")]);

    let attempts = named(&spans, "chat gpt-test");
    let purposes: Vec<&Value> = attempts.iter().map(|span| &span.attributes["callwright.purpose"]).collect();
    assert_eq!(purposes, ["first", "static_feedback", "tool_results"]);
    for (attempt, received) in attempts.iter().zip(upstream.received()) {
        assert_eq!((attempt.kind, &attempt.parent), (CLIENT, &turn.id));
        let told = received.header("traceparent").unwrap().to_owned();
        assert_eq!(told, format!("00-{}-{}-01", turn.trace, attempt.id), "the upstream knows which span asks it");
        assert_eq!(received.header("tracestate"), Some("vendor=1"));
        let address = upstream.url("").rsplit_once(':').unwrap().1.parse::<i64>().unwrap();
        let keys = ["server.address", "server.port", "callwright.upstream", "http.response.status_code"];
        assert_eq!(attributes(attempt, &keys), [&json!("127.0.0.1"), &json!(address), &json!("scripted"), &json!(200)]);
    }
    assert_eq!(attempts[0].attributes["callwright.diagnoses"], 1);

    let tool = only(&spans, "execute_tool listRooms");
    assert_eq!((tool.kind, &tool.parent), (INTERNAL, &turn.id));
    let keys = ["gen_ai.tool.name", "gen_ai.tool.type", "callwright.toolset", "callwright.operation"];
    assert_eq!(
        attributes(tool, &keys),
        [&json!("listRooms"), &json!("extension"), &json!("rooms"), &json!("GET /rooms")]
    );
    assert!(tool.start >= attempts[1].end && tool.end <= attempts[2].start, "{tool:#?}");
    assert_eq!(only(&spans, "retrieval").attributes["callwright.found"], 1);
    assert!(api.received().iter().all(|request| request.header("traceparent").is_none()));

    // The next turn searches for the lesson and finds it.
    proxy.metric_reaches("lessons", &[], 1.0).await;
    let answer = proxy.client().chat(&ask("Are there any rooms on floor 5?")).await;
    let spans = collector.of_turn(&trace_of(&answer)).await;
    check_tree(&spans);
    assert_eq!(spans[0].trace, trace_of(&answer), "a trace of its own has the id of the turn");
    let search = only(&spans, "search_memory");
    assert_eq!(attributes(search, &["gen_ai.memory.store.id", "callwright.found"]), [&json!("lessons"), &json!(1)]);

    let sent = format!("{:?}", collector.spans());
    for secret in [CANARY, rooms::KEY, "sk-client", "blue", "floor\\\""] {
        assert!(!sent.contains(secret), "{secret}: {sent}");
    }
    let token = format!("{CANARY}-token");
    assert!(collector.server().received().iter().all(|request| request.header("x-token") == Some(&token)));
    let metrics = proxy.metrics().await;
    assert_eq!(metrics.sum("spans_total", &[("result", "exported")]), collector.spans().len() as f64);
    proxy.stop().await;
}

#[tokio::test]
async fn planning_is_a_span_with_the_requests_that_it_made() {
    let collector = Collector::start().await;
    let task = |_: &Value| Task {
        goals: vec![("get_weather", "the weather")],
        values: vec![("get_weather", "city", json!("Paris"), "Paris")],
        ..Task::default()
    };
    let upstream = planning::upstream(task, |_, _| answer::text("done")).await;
    let config = config(&upstream.url("/v1")) + &collector.table() + &policy::table("planned");
    let rules = policy::file("planned", "plan: always");
    let proxy = Proxy::start_with_files(config, &[("policies/planned.yaml", &rules)]).await;
    let mut request = plain("How is the weather in Paris?");
    request["tools"] = json!([crate::support::request::weather_tool()]);
    let answer = proxy.client().chat(&request).await;
    let spans = collector.of_turn(&trace_of(&answer)).await;
    check_tree(&spans);
    let plan = only(&spans, "plan");
    assert_eq!((plan.kind, &plan.attributes["callwright.found"]), (INTERNAL, &json!(1)), "{plan:#?}");
    let asked: Vec<&Span> = spans.iter().filter(|span| span.attributes["callwright.purpose"] == "plan").collect();
    assert_eq!(asked.len(), planning::split(&upstream).0.len());
    assert!(!asked.is_empty() && asked.iter().all(|span| span.parent == plan.id && span.name == "chat gpt-test"));
    proxy.stop().await;
}

#[tokio::test]
async fn streams_failures_and_clients_that_leave_are_told() {
    let collector = Collector::start().await;
    let upstream = Server::scripted(|number, _| match number {
        0 => Reply::events(&answer::text_chunks("It rains.")),
        1 => Reply::json(400, &json!({"error": {"message": CANARY, "type": "invalid_request_error"}})),
        2 => Reply::reset(),
        _ => Reply::silence(),
    })
    .await;
    let proxy = Proxy::start(config(&upstream.url("/v1")) + "retries = 0\n" + &collector.table()).await;
    let mut stream = proxy.client().chat_stream(&streamed(plain("Hello"))).await;
    let id = stream.header("x-callwright-trace").unwrap().to_owned();
    stream.assemble().await;
    let spans = collector.of_turn(&id).await;
    check_tree(&spans);
    let (turn, attempt) = (
        spans.iter().find(|span| span.kind == SERVER).unwrap(),
        spans.iter().find(|span| span.kind == CLIENT).unwrap(),
    );
    assert_eq!(turn.attributes["gen_ai.request.stream"], true);
    assert!(attempt.attributes["gen_ai.response.time_to_first_chunk"].as_f64().unwrap() > 0.0, "{attempt:#?}");

    for (of_attempt, of_turn) in [("400", None), ("reset", Some("502"))] {
        let answer = proxy.client().chat(&plain("Hello")).await;
        let spans = collector.of_turn(&trace_of(&answer)).await;
        check_tree(&spans);
        let error = |kind: i32| spans.iter().find(|span| span.kind == kind).unwrap().attributes["error.type"].as_str();
        assert_eq!((error(CLIENT), error(SERVER)), (Some(of_attempt), of_turn));
    }
    let gone = proxy.client().begin_chat(&plain("Hello")).await;
    upstream.arrival_of(4).await;
    gone.leave().await;
    guarded("the span of a turn whose client left", async {
        while !collector.spans().iter().any(|span| span.attributes["error.type"] == "cancelled" && span.kind == SERVER)
        {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
    assert!(!format!("{:?}", collector.spans()).contains(CANARY));
    proxy.stop().await;
}

#[tokio::test]
async fn trace_headers_pass_without_a_collector_and_unsampled() {
    let upstream = Server::always(answer::text("hi")).await;
    let seen = || upstream.last_request().header("traceparent").map(str::to_owned);
    let fields = [("traceparent", TRACEPARENT), ("tracestate", "vendor=1")];
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    proxy.client().chat_with(&plain("Hello"), &fields).await.ok();
    assert_eq!(seen().as_deref(), Some(TRACEPARENT), "it goes through as it came");
    proxy.client().chat(&plain("Hello")).await.ok();
    assert_eq!(seen(), None);
    proxy.stop().await;

    let collector = Collector::start().await;
    let settings = collector.table() + "otlp_sample_ratio = 0.0\n";
    let proxy = Proxy::start(config(&upstream.url("/v1")) + &settings).await;
    let own =
        proxy.client().chat_with(&plain("Hello"), &[("tracestate", "vendor=1"), ("traceparent", "nonsense")]).await;
    let told = seen().unwrap();
    assert!(told.starts_with(&format!("00-{}-", trace_of(&own))) && told.ends_with("-00"), "{told}");
    assert_eq!(upstream.last_request().header("tracestate"), None, "it belongs to no trace");
    let sampled = proxy.client().chat_with(&plain("Hello"), &fields).await;
    let spans = collector.of_turn(&trace_of(&sampled)).await;
    assert_eq!(spans.len(), 2, "the client decides for its own");
    assert!(collector.spans().iter().all(|span| span.trace == spans[0].trace));
    proxy.stop().await;
}

#[tokio::test]
async fn a_collector_that_is_away_or_silent_harms_nobody() {
    let upstream = Server::always(answer::text("hi")).await;
    let silent = Server::always(Reply::silence()).await;
    for endpoint in [format!("http://{}", Server::refusing()), silent.url("")] {
        let settings = table(&endpoint) + "otlp_queue_spans = 10\notlp_batch_spans = 2\notlp_timeout_seconds = 1\n";
        let proxy = Proxy::start(config(&upstream.url("/v1")) + &settings).await;
        for _ in 0..20 {
            assert_eq!(proxy.client().chat(&plain("Hello")).await.message()["content"], "hi");
        }
        proxy.metric_reaches("spans_total", &[("result", "dropped")], 2.0).await;
        let stopped = proxy.stop().await;
        assert!(!stopped.log().contains("ERROR"), "{}", stopped.log());
    }
}

#[tokio::test]
async fn spans_are_sent_again_on_request_and_rejected_ones_counted() {
    use opentelemetry_proto::tonic::collector::trace::v1::{ExportTracePartialSuccess, ExportTraceServiceResponse};
    use prost::Message;

    let upstream = Server::always(answer::text("hi")).await;
    let partial = ExportTracePartialSuccess { rejected_spans: 1, error_message: "too old".to_owned() };
    let partial = ExportTraceServiceResponse { partial_success: Some(partial) }.encode_to_vec();
    let collector = Collector::scripted(move |number, _| match number {
        0 => Reply::body(503, &[("retry-after", "0")], ""),
        1 => Reply::body(200, &[("content-type", "application/x-protobuf")], partial.clone()),
        2 => Reply::body(400, &[], ""),
        _ => taken(),
    })
    .await;
    let settings = collector.table() + "otlp_batch_spans = 2\n";
    let proxy = Proxy::start(config(&upstream.url("/v1")) + &settings).await;
    let counted =
        async |result: &str, count: f64| proxy.metric_reaches("spans_total", &[("result", result)], count).await;
    proxy.client().chat(&plain("one")).await.ok();
    counted("exported", 1.0).await;
    counted("failed", 1.0).await;
    let [first, again] = &collector.server().received()[..] else { panic!("{}", proxy.log()) };
    assert_eq!(first.body, again.body);
    proxy.client().chat(&plain("two")).await.ok();
    counted("failed", 3.0).await;
    proxy.client().chat(&plain("three")).await.ok();
    counted("exported", 3.0).await;
    let log = proxy.log();
    assert!(
        log.contains("too old") && log.contains("accepts no spans") && log.contains("accepts spans again"),
        "{log}"
    );
    proxy.stop().await;
}

#[tokio::test]
async fn what_is_queued_is_sent_before_the_end() {
    let (upstream, collector) = (Server::always(answer::text("hi")).await, Collector::start().await);
    let settings = format!(
        "[telemetry]\notlp_endpoint = \"{}/v1/traces\"\notlp_batch_milliseconds = 3600000\n",
        collector.server().url("")
    );
    let proxy = Proxy::start(config(&upstream.url("/v1")) + &settings).await;
    let answer = proxy.client().chat(&plain("Hello")).await;
    proxy.stop().await;
    let spans = collector.spans();
    assert_eq!(spans.len(), 2);
    assert_eq!(spans[0].attributes["callwright.trace.id"], json!(trace_of(&answer)));
}

#[tokio::test]
async fn unusable_span_settings_prevent_the_start() {
    let upstream = Server::always(answer::text("hi")).await;
    let config =
        |line: &str| config(&upstream.url("/v1")) + "[telemetry]\notlp_endpoint = \"http://127.0.0.1:1\"\n" + line;
    let refusal = Proxy::refusal(&config("otlp_sample_ratio = 2.0\n")).await;
    assert!(refusal.contains("`telemetry.otlp_sample_ratio`: is 2; it must be 0 to 1"), "{refusal}");
    let refusal = Proxy::refusal(&config("otlp_headers = { a = \"canary\\n\" }\n")).await;
    assert!(refusal.contains("`telemetry.otlp_headers`") && !refusal.contains("canary"), "{refusal}");
}
