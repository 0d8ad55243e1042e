//! Traces and intents in a real database.

use jiff::Timestamp;
use serde_json::json;

use crate::contract::on_every_database;
use crate::samples::{in_memory, rows, trace, trace_calling};
use crate::{
    Ages, Beginning, IntentKey, IntentState, Intents, Settings, Store, StoreError, TraceFilter, TraceRow, Traces,
};
use callwright_types::{Trace, Verdict};

async fn fill(store: &Store, traces: impl IntoIterator<Item = Trace>) {
    store.append(&rows(traces)).await.unwrap();
}

async fn ids(store: &Store, filter: TraceFilter) -> Vec<String> {
    store.list(&filter).await.unwrap().traces.into_iter().map(|trace| trace.id).collect()
}

fn json_of(trace: &Trace) -> serde_json::Value {
    serde_json::to_value(trace).unwrap()
}

on_every_database! {
    async fn a_trace_is_returned_unchanged(store: Store) {
        let deep = (0..500).fold(json!("\u{0}\u{1}\"\\ 😀 '; DROP TABLE traces; --"), |inner, _| json!([inner]));
        let written = Trace {
            request: Some(deep),
            answer: Some(json!({"big": u64::MAX, "exact": 0.1, "z": 1, "a": null})),
            ..trace_calling("a", 1_700_000_000_123, &["f", "g"])
        };
        let expected = json_of(&written);
        fill(&store, [written]).await;
        // serde_json limits recursion to 128 levels: deeper bodies are refused without a crash.
        let error = store.get("a").await.unwrap_err();
        assert!(matches!(error, StoreError::Refused(_)), "{error}");
        let mut shallow = expected.clone();
        shallow["id"] = json!("b");
        shallow["request"] = json!("\u{0}\u{1}\"\\ 😀 '; DROP TABLE traces; --");
        store.append(&rows([serde_json::from_value(shallow.clone()).unwrap()])).await.unwrap();
        assert_eq!(json_of(&store.get("b").await.unwrap().unwrap()), shallow);
        assert!(store.get("c").await.unwrap().is_none());
    }

    async fn a_trace_written_twice_is_one_row_and_stays_as_it_was(store: Store) {
        fill(&store, [trace("a", 1), trace("b", 2), trace("a", 3)]).await;
        store.append(&rows([Trace { status: 500, ..trace_calling("a", 9, &["f"]) }])).await.unwrap();
        assert_eq!(ids(&store, TraceFilter::default()).await, ["b", "a"]);
        assert_eq!(store.get("a").await.unwrap().unwrap().status, 200);
    }

    async fn every_filter_holds_and_all_of_them_together(store: Store) {
        fill(&store, [
            Trace { verdict: Verdict::Faulty, ..trace("faulty", 1_000) },
            Trace { model: "o3".to_owned(), ..trace("model", 2_000) },
            Trace { session: Some("s".to_owned()), ..trace("session", 3_000) },
            Trace { policy: "strict".to_owned(), ..trace("policy", 4_000) },
            Trace { status: 502, ..trace("status", 5_000) },
            trace_calling("tool", 6_000, &["f", "f", "g"]),
        ])
        .await;
        let at = |millisecond| Some(Timestamp::from_millisecond(millisecond).unwrap());
        let text = |text: &str| Some(text.to_owned());
        let all = TraceFilter::default;
        assert_eq!(ids(&store, TraceFilter { verdict: Some(Verdict::Faulty), ..all() }).await, ["faulty"]);
        assert_eq!(ids(&store, TraceFilter { model: text("o3"), ..all() }).await, ["model"]);
        assert_eq!(ids(&store, TraceFilter { session: text("s"), ..all() }).await, ["session"]);
        assert_eq!(ids(&store, TraceFilter { policy: text("strict"), ..all() }).await, ["policy"]);
        assert_eq!(ids(&store, TraceFilter { status: Some(502), ..all() }).await, ["status"]);
        assert_eq!(ids(&store, TraceFilter { tool: text("f"), ..all() }).await, ["tool"]);
        assert_eq!(ids(&store, TraceFilter { tool: text("f' OR true --"), ..all() }).await, [""; 0]);
        assert_eq!(ids(&store, TraceFilter { since: at(3_000), until: at(5_000), ..all() }).await, ["policy", "session"]);
        let both = TraceFilter { model: text("gpt-5"), status: Some(502), since: at(5_001), ..all() };
        assert_eq!(ids(&store, both).await, [""; 0]);
    }

    async fn pages_have_every_trace_once_newest_first_as_new_ones_arrive(store: Store) {
        // Several traces have the same millisecond: their ids decide the order.
        let traces = (0..25).map(|number| trace_calling(&format!("{number:02}"), 1_000 + number / 4, &["f"]));
        fill(&store, traces).await;
        for tool in [None, Some("f".to_owned())] {
            let mut seen = Vec::new();
            let mut filter = TraceFilter { limit: Some(7), tool, ..TraceFilter::default() };
            loop {
                let page = store.list(&filter).await.unwrap();
                assert!(page.traces.len() <= 7);
                seen.extend(page.traces.into_iter().map(|trace| trace.id));
                store.append(&rows([trace_calling(&format!("new{}", seen.len()), 9_000, &["f"])])).await.unwrap();
                filter.cursor = page.next;
                if filter.cursor.is_none() {
                    break;
                }
            }
            seen.retain(|id| !id.starts_with("new"));
            assert_eq!(seen, (0..25).rev().map(|number| format!("{number:02}")).collect::<Vec<_>>());
        }
    }

    async fn a_summary_shows_the_columns(store: Store) {
        fill(&store, [Trace { session: Some("s".to_owned()), ..trace("a", 1_700_000_000_123) }]).await;
        let page = serde_json::to_value(store.list(&TraceFilter::default()).await.unwrap()).unwrap();
        let expected = json!({"id": "a", "started_at": "2023-11-14T22:13:20.123Z", "session": "s", "model": "gpt-5",
            "endpoint": "/v1/chat/completions", "upstream": "default", "policy": "default", "mode": "guard",
            "verdict": "text", "status": 200, "duration_ms": 1.5, "attempts": 0, "input_tokens": 0, "output_tokens": 0,
            "tools": [], "findings": []});
        assert_eq!(page, json!({"traces": [expected]}));
    }

    async fn an_invalid_cursor_is_refused(store: Store) {
        for cursor in ["", "x", "1", "x.y", "99999999999999999999.a"] {
            let filter = TraceFilter { cursor: Some(cursor.to_owned()), ..TraceFilter::default() };
            assert_eq!(store.list(&filter).await, Err(StoreError::BadCursor(cursor.to_owned())));
        }
    }

    async fn old_traces_and_intents_go_a_bounded_number_at_a_time(store: Store) {
        fill(&store, (0..10).map(|number| trace_calling(&number.to_string(), number, &["f"]))).await;
        let far = Timestamp::now() + jiff::SignedDuration::from_hours(1);
        let all = |before| Ages { before: Some(before), unknown_before: None };
        let before = Timestamp::from_millisecond(8).unwrap();
        assert_eq!(store.expire(all(before), 5).await, Ok(5));
        assert_eq!(store.expire(all(before), 5).await, Ok(3));
        assert_eq!(store.expire(all(before), 5).await, Ok(0));
        assert_eq!(ids(&store, TraceFilter { tool: Some("f".to_owned()), ..TraceFilter::default() }).await, ["9", "8"]);
        assert_eq!(begin(&store, "unknown", "t").await, IntentState::Fresh);
        assert_eq!(begin(&store, "known", "t").await, IntentState::Fresh);
        store.finish(&key("known"), "success", None).await.unwrap();
        assert_eq!(store.expire(Ages::default(), 5).await, Ok(0));
        assert_eq!(store.expire(all(far), 5).await, Ok(3), "two traces and the intent with a known outcome");
        assert_eq!(begin(&store, "known", "t").await, IntentState::Fresh);
        assert_eq!(begin(&store, "unknown", "t").await, UNKNOWN);
        assert_eq!(store.expire(Ages { before: None, unknown_before: Some(far) }, 5).await, Ok(2));
        assert_eq!(begin(&store, "unknown", "t").await, IntentState::Fresh);
    }
}

const UNKNOWN: IntentState = IntentState::UnknownBefore { idempotency_key: None };

fn key(arguments: &str) -> IntentKey {
    IntentKey { session: "s".to_owned(), operation: "crm/create".to_owned(), arguments_hash: arguments.to_owned() }
}

async fn begin(store: &Store, arguments: &str, turn: &str) -> IntentState {
    store.begin(&key(arguments), Beginning { turn, idempotency_key: None }).await.unwrap()
}

on_every_database! {
    async fn an_intent_is_fresh_once_and_unknown_until_it_is_finished(store: Store) {
        assert_eq!(begin(&store, "1", "t").await, IntentState::Fresh);
        assert_eq!(begin(&store, "1", "t").await, UNKNOWN);
        assert_eq!(begin(&store, "2", "t").await, IntentState::Fresh);
        store.finish(&key("1"), "success", None).await.unwrap();
        assert_eq!(begin(&store, "1", "t").await, IntentState::FinishedBefore { label: "success".to_owned() });
        // The call was begun again with that.
        assert_eq!(begin(&store, "1", "t").await, UNKNOWN);
        let other = IntentKey { session: "t".to_owned(), ..key("1") };
        let beginning = Beginning { turn: "t", idempotency_key: None };
        assert_eq!(store.begin(&other, beginning).await, Ok(IntentState::Fresh));
    }

    async fn an_answer_is_stored_for_other_turns_until_delivery(store: Store) {
        let undelivered = IntentState::UndeliveredBefore { answer: "created".to_owned() };
        let finished = IntentState::FinishedBefore { label: "success".to_owned() };
        begin(&store, "1", "first").await;
        store.finish(&key("1"), "success", Some("created")).await.unwrap();
        assert_eq!(begin(&store, "1", "second").await, undelivered);
        // The answer to the earlier turn no longer matters.
        store.mark_delivered("first").await.unwrap();
        assert_eq!(begin(&store, "1", "third").await, undelivered);
        store.mark_delivered("third").await.unwrap();
        assert_eq!(begin(&store, "1", "fourth").await, finished);
        // Within its own turn the model has the answer.
        store.finish(&key("1"), "success", Some("created")).await.unwrap();
        assert_eq!(begin(&store, "1", "fourth").await, finished);
    }

    async fn an_idempotency_key_is_stored_until_the_outcome(store: Store) {
        let with = |key| Beginning { turn: "t", idempotency_key: Some(key) };
        assert_eq!(store.unfinished_key(&key("1")).await, Ok(None));
        store.begin(&key("1"), with("k1")).await.unwrap();
        assert_eq!(store.unfinished_key(&key("1")).await, Ok(Some("k1".to_owned())));
        let before = IntentState::UnknownBefore { idempotency_key: Some("k1".to_owned()) };
        assert_eq!(store.begin(&key("1"), with("k2")).await, Ok(before));
        assert_eq!(store.unfinished_key(&key("1")).await, Ok(Some("k1".to_owned())));
        store.finish(&key("1"), "success", None).await.unwrap();
        assert_eq!(store.unfinished_key(&key("1")).await, Ok(None));
        store.begin(&key("1"), with("k3")).await.unwrap();
        assert_eq!(store.unfinished_key(&key("1")).await, Ok(Some("k3".to_owned())));
    }

    async fn of_many_that_begin_the_same_one_is_the_first(store: Store) {
        let tasks = (0..16).map(|_| {
            let store = store.clone();
            tokio::spawn(async move { begin(&store, "same", "t").await })
        });
        let begun = futures_util::future::join_all(tasks).await;
        assert_eq!(begun.into_iter().filter(|begun| *begun.as_ref().unwrap() == IntentState::Fresh).count(), 1);
    }
}

#[tokio::test]
async fn committed_data_survives_a_crash() {
    let directory = tempfile::tempdir().unwrap();
    let settings = Settings { url: "sqlite:a.sqlite3".into(), ..in_memory() };
    let store = Store::open(&settings, directory.path()).await;
    begin(&store, "1", "t").await;
    store.append(&rows([trace("a", 1)])).await.unwrap();
    // Files after a crash: no connection was closed.
    let crashed = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        let entry = entry.unwrap();
        if !entry.file_name().to_string_lossy().ends_with("-shm") {
            std::fs::copy(entry.path(), crashed.path().join(entry.file_name())).unwrap();
        }
    }
    let recovered = Store::open(&settings, crashed.path()).await;
    assert_eq!(begin(&recovered, "1", "t").await, UNKNOWN);
    assert_eq!(ids(&recovered, TraceFilter::default()).await, ["a"]);
}

#[cfg(unix)]
#[tokio::test]
async fn the_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let settings = Settings { url: "sqlite:a.sqlite3".into(), ..in_memory() };
    let store = Store::open(&settings, directory.path()).await;
    store.append(&rows([trace("a", 1)])).await.unwrap();
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", entry.path());
    }
}

on_every_database! {
    async fn a_row_that_breaks_a_rule_is_refused_and_its_batch_with_it(store: Store) {
        let mut bad: Vec<TraceRow> = rows([trace("a", 1), trace("b", 2)]);
        bad[1].duration_ms = f64::NAN; // JSON has no NaN: it becomes null, which the column refuses.
        let error = store.append(&bad).await.unwrap_err();
        assert!(matches!(error, StoreError::Refused(_)), "{error}");
        assert!(store.health().ok, "a refusal does not affect the health");
        assert!(ids(&store, TraceFilter::default()).await.is_empty());
    }
}
