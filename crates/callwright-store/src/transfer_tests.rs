//! Transfer between databases, and deletion.

use callwright_test_macros::requires;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::contract::{self, on_every_database};
use super::samples::{key as virtual_key, rows, trace, trace_calling};
use super::*;
use callwright_types::memory::{Author, Evidence, EvidenceKind, Polarity, Scope, ToolSample, UsageCounter};
use callwright_types::representation::{SharedClassifier, SharedRepresentation};
use callwright_types::rules::ApprovalMode;
use callwright_types::{Lesson, Trace};

fn lesson(id: &str, scope: Scope, evidence: &[(&str, &str, i64)]) -> Lesson {
    let at = |millisecond| Timestamp::from_millisecond(millisecond).unwrap();
    let one = |(trace, session, millisecond): &(&str, &str, i64)| Evidence {
        kind: EvidenceKind::Mended,
        trace: Some((*trace).to_owned()),
        session: Some((*session).to_owned()),
        source: None,
        at: at(*millisecond),
    };
    Lesson {
        id: id.to_owned(),
        scope,
        toolset: Some("bank".to_owned()),
        tools: vec!["f".to_owned()],
        polarity: Polarity::Negative,
        key: "dates".to_owned(),
        value: "as ISO 8601".to_owned(),
        author: Author::Composed,
        composed: None,
        client: None,
        evidence: evidence.iter().map(one).collect(),
        tally: UsageCounter::default(),
        retired: None,
        created_at: at(1),
        updated_at: at(1),
    }
}

fn evidence(trace: &str) -> Evidence {
    let at = Timestamp::from_millisecond(5).unwrap();
    Evidence { kind: EvidenceKind::Feedback, trace: Some(trace.to_owned()), session: None, source: None, at }
}

/// Representation with one pattern learned from these turns and one written by a person.
fn representation(id: &str, traces: &[&str]) -> SharedRepresentation {
    SharedRepresentation {
        id: id.to_owned(),
        toolset: Some("bank".to_owned()),
        tool: "pay".to_owned(),
        patterns: json!([{"description": "a", "weight": 1.100_000_023_841_858, "source": "learned x"}, {"description": "b"}]),
        ranking: None,
        classifier: None,
        evidence: traces.iter().map(|trace| evidence(trace)).collect(),
        updated_at: Timestamp::from_millisecond(5).unwrap(),
    }
}

fn sample(trace: &str, tenant: &str) -> ToolSample {
    ToolSample {
        id: format!("sam_{trace}"),
        scope: Scope::of_key(tenant),
        query: "pay my bill".to_owned(),
        tools: vec!["pay".to_owned()],
        evidence: vec![evidence(trace)],
        at: Timestamp::from_millisecond(5).unwrap(),
    }
}

fn verdict(trace: &str) -> FeedbackRow {
    let (source, verdict) = ("app".to_owned(), FeedbackVerdict::Wrong);
    let expected = Some(json!({"a": null}));
    FeedbackRow { trace: trace.to_owned(), source, verdict, expected, comment: None, at: Timestamp::UNIX_EPOCH }
}

fn question(session: &str, tenant: &str) -> Question {
    let owned = str::to_owned;
    Question {
        mode: ApprovalMode::Notice,
        patience: SignedDuration::from_hours(1),
        valid: SignedDuration::from_hours(1),
        tenant: owned(tenant),
        client: owned("key-1"),
        session: owned(session),
        trace: owned("t"),
        toolset: owned("rooms"),
        tool: owned("book"),
        operation: owned("POST /book"),
        method: owned("POST"),
        target: owned("http://rooms/book"),
        arguments: owned("{}"),
        digest: owned("d"),
        keep: true,
    }
}

fn trace_of(tenant: &str, session: &str, trace: Trace) -> Trace {
    Trace { tenant: tenant.to_owned(), session: Some(session.to_owned()), ..trace }
}

/// Writes items of each kind, and more traces than one part of an export holds.
async fn fill(store: &Store) {
    let traces =
        (0..250).map(|number| trace_of("ada", "s1", trace_calling(&format!("{number:04}"), number, &["f", "g"])));
    store.append(&rows(traces)).await.unwrap();
    store.append(&rows([trace_of("bob", "s2", trace("b", 1_000))])).await.unwrap();
    let lessons = [
        lesson("les_1", Scope::of_key("ada"), &[("0001", "s1", 5)]),
        lesson("les_2", Scope::of_group("team"), &[("0002", "s1", 5), ("b", "s2", 2_000)]),
    ];
    store.lessons().put(&lessons, 0).await.unwrap();
    store
        .representations()
        .put(&[representation("rep_1", &["0003", "0004"]), representation("rep_2", &[])], 0)
        .await
        .unwrap();
    store.tool_samples().put(&[sample("0003", "ada"), sample("b", "bob")], 0).await.unwrap();
    store.put_key(&virtual_key("key_1", "lobby"), None).await.unwrap();
    let day = "2026-11-23".parse().unwrap();
    let used = UsageRow { subject: "key:key_1".to_owned(), day, requests: 1, tokens: 2, nanos: 3 };
    let report = UsageReport { number: 1, used: &[used], under_way: &[], after: 0, since: day };
    store.exchange_usage(report).await.unwrap();
    store.give_feedback(&verdict("0001")).await.unwrap();
    store.give_feedback(&verdict("b")).await.unwrap();
    store.request_approval(&question("s1", "ada"), 10).await.unwrap();
    for (session, arguments) in [("s1", "stored"), ("s1", "unknown"), ("s2", "unknown")] {
        let key = key(session, arguments);
        store.begin(&key, Beginning { turn: "t", idempotency_key: Some("k") }).await.unwrap();
        if arguments == "stored" {
            store.finish(&key, "success", None).await.unwrap();
        }
    }
    let (owned, document) = (str::to_owned, "{}".to_owned());
    let (tenant, turn, key) = (owned("ada"), owned("t"), owned("k"));
    store.keep_plan(&PlanRow { tenant: tenant.clone(), key, turn: turn.clone(), document }).await.unwrap();
    let (calls, context, history, document) = (owned("c"), owned("c"), owned("h"), owned("{}"));
    store.keep_part(&KeptRow { turn, tenant, calls, context, history, document }).await.unwrap();
}

fn key(session: &str, arguments: &str) -> IntentKey {
    IntentKey { session: session.to_owned(), operation: "o".to_owned(), arguments_hash: arguments.to_owned() }
}

/// Returns the full export as lines.
async fn exported(store: &Store) -> Vec<String> {
    let (mut lines, mut next) = (Vec::new(), Some(ExportPosition::default()));
    while let Some(position) = next {
        let part = store.export(position).await.unwrap();
        assert_eq!(part.problems, [""; 0]);
        lines.extend(part.items.iter().map(|item| serde_json::to_string(item).unwrap()));
        next = part.next;
    }
    lines
}

async fn imported(store: &Store, lines: &[String]) -> Vec<ImportResult> {
    let items = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    store.import(items).await.unwrap().into_iter().map(Result::unwrap).collect()
}

/// Normalises flags, which SQLite represents as numbers.
fn alike(lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| line.replace("\"keep\":1", "\"keep\":true")).collect()
}

/// Imports everything into another store and checks that its export is the same.
async fn moves_to(lines: &[String], other: Store) {
    assert!(imported(&other, lines).await.iter().all(|one| *one == ImportResult::Written));
    assert!(imported(&other, lines).await.iter().all(|one| *one == ImportResult::Unchanged), "again");
    assert_eq!(alike(&exported(&other).await), alike(lines));
    let by_tool = TraceFilter { tool: Some("g".to_owned()), ..TraceFilter::default() };
    assert_eq!(other.list(&by_tool).await.unwrap().traces.len(), 100, "a page of them");
    let again = Beginning { turn: "t", idempotency_key: None };
    let unknown = IntentState::UnknownBefore { idempotency_key: Some("k".to_owned()) };
    assert_eq!(other.begin(&key("s2", "unknown"), again).await, Ok(unknown), "nothing is sent twice");
}

on_every_database! {
    async fn everything_moves_to_any_database_and_only_once(store: Store) {
        fill(&store).await;
        let lines = exported(&store).await;
        assert_eq!(lines.len(), 251 + 2 + 2 + 2 + 2 + 1 + 3 + 1 + 1 + 1 + 1);
        let directory = tempfile::tempdir().unwrap();
        moves_to(&lines, contract::in_a_file(&directory).await).await;
    }

    async fn newer_items_are_kept_on_import(store: Store) {
        let before = lesson("les_1", Scope::of_key("ada"), &[("t", "s", 1)]);
        let after = Lesson { value: "better".to_owned(), updated_at: Timestamp::from_millisecond(9).unwrap(), ..before.clone() };
        store.lessons().put(std::slice::from_ref(&after), 0).await.unwrap();
        let old = serde_json::to_string(&PortableItem::Lesson(before.clone())).unwrap();
        assert_eq!(imported(&store, std::slice::from_ref(&old)).await, [ImportResult::Unchanged]);
        assert_eq!(store.lessons().find("les_1").await.unwrap(), Some(after));
        // An import restores removed items.
        store.lessons().remove(&["les_1".to_owned()]).await.unwrap();
        assert_eq!(imported(&store, &[old]).await, [ImportResult::Written]);
        assert_eq!(store.lessons().find("les_1").await.unwrap(), Some(before));
    }

    async fn invalid_items_are_reported_and_the_rest_is_imported(store: Store) {
        let items = [
            r#"{"trace": {"id": 1}}"#,
            r#"{"row": {"table": "leases; DROP TABLE traces", "columns": {}}}"#,
            r#"{"row": {"table": "plans", "columns": {"tenant": 5}}}"#,
            r#"{"row": {"table": "plans", "columns": {"tenant": "a"}}}"#,
            r#"{"row": {"table": "plans", "columns": {"tenant": "a", "key": "k", "turn": "t", "expires_at": 1, "document": "{}"}}}"#,
        ];
        let items = items.map(|line| serde_json::from_str(line).unwrap()).into();
        let outcomes = store.import(items).await.unwrap();
        assert_eq!(outcomes.iter().map(Result::is_ok).collect::<Vec<_>>(), [false, false, false, false, true]);
        assert!(store.health().ok, "{:?}", store.health());
    }

    async fn a_client_is_forgotten_wholly_and_others_not_at_all(store: Store) {
        fill(&store).await;
        let deletion = Deletion { tenants: vec!["ada".to_owned()], ..Deletion::default() };
        let deleted = store.delete(&deletion).await.unwrap();
        let gone = |removed, changed| ForgetCounts { changed, removed };
        let expected = DeletionCounts {
            traces: 250,
            feedback: 1,
            turn_state: 3,
            lessons: gone(1, 1),
            procedures: gone(0, 0),
            representations: gone(0, 1),
            samples: gone(1, 0),
        };
        assert_eq!(deleted, expected);
        assert_eq!(store.delete(&deletion).await.unwrap(), DeletionCounts::default());
        let of_key = Deletion { tenants: vec!["key_1".to_owned()], ..Deletion::default() };
        assert_eq!(store.delete(&of_key).await.unwrap().turn_state, 1, "what a key used");
        assert!(exported(&store).await.iter().all(|line| !line.contains("ada")));
        assert_eq!(store.list(&TraceFilter::default()).await.unwrap().traces.len(), 1);
        let by_tool = TraceFilter { tool: Some("f".to_owned()), ..TraceFilter::default() };
        assert_eq!(store.list(&by_tool).await.unwrap().traces.len(), 0);
        assert_eq!(store.lessons().find("les_2").await.unwrap().unwrap().evidence.len(), 1);
        let left = store.representations().find("rep_1").await.unwrap().unwrap();
        assert_eq!((left.patterns, left.evidence), (json!([{"description": "b"}]), vec![]), "what a person wrote stays");
    }

    async fn shared_representations_change_for_all_and_can_be_removed(store: Store) {
        let (one, two) = (representation("rep_1", &[]), representation("rep_2", &["t"]));
        let classifier = SharedRepresentation {
            id: "rep_3".to_owned(),
            tool: String::new(),
            patterns: json!([]),
            classifier: Some(SharedClassifier { reference: json!({"weight": 2.5, "digest": "d"}), text: "{\n}".to_owned() }),
            ..representation("rep_3", &["u"])
        };
        store.representations().restore(&[one.clone(), two.clone(), classifier.clone()]).await.unwrap();
        let first = store.representations().changed(0, 10).await.unwrap();
        assert_eq!(first.changed, [one.clone(), two, classifier]);
        store.representations().remove(&["rep_2".to_owned()]).await.unwrap();
        let second = store.representations().changed(first.upto, 10).await.unwrap();
        assert_eq!((second.changed.len(), second.removed), (0, vec!["rep_2".to_owned()]));
        store.representations().restore(&[representation("rep_2", &[])]).await.unwrap();
        assert_eq!(store.representations().changed(second.upto, 10).await.unwrap().changed.len(), 1, "shared again");
        let by_tool = MemoryFilter { toolset: Some("bank".to_owned()), tool: Some("pay".to_owned()), ..MemoryFilter::default() };
        assert_eq!(store.representations().page(&by_tool).await.unwrap().items.len(), 2);
        let of_toolset = MemoryFilter { tool: None, ..by_tool };
        assert_eq!(store.representations().page(&of_toolset).await.unwrap().items.len(), 3, "a classifier has no tool");
        store.delete(&Deletion { before: Some(Timestamp::now()), ..Deletion::default() }).await.unwrap();
        assert_eq!(store.representations().find("rep_3").await.unwrap(), None, "its samples are forgotten");
        assert_eq!(store.tool_samples().changed(0, 10).await.unwrap().upto, 0, "each topic counts its own");
    }

    async fn a_session_is_forgotten_except_calls_of_unknown_outcome(store: Store) {
        fill(&store).await;
        let deletion = Deletion { sessions: vec!["s1".to_owned()], ..Deletion::default() };
        let deleted = store.delete(&deletion).await.unwrap();
        assert_eq!((deleted.traces, deleted.turn_state, deleted.lessons.removed), (250, 2, 1));
        let beginning = Beginning { turn: "t", idempotency_key: None };
        assert_eq!(store.begin(&key("s1", "stored"), beginning).await, Ok(IntentState::Fresh));
        assert_ne!(store.begin(&key("s1", "unknown"), beginning).await, Ok(IntentState::Fresh));
    }

    async fn everything_before_a_time_is_deleted(store: Store) {
        fill(&store).await;
        let deletion = Deletion { before: Some(Timestamp::from_millisecond(1_000).unwrap()), ..Deletion::default() };
        let deleted = store.delete(&deletion).await.unwrap();
        assert_eq!((deleted.traces, deleted.feedback, deleted.lessons), (250, 1, ForgetCounts { changed: 1, removed: 1 }));
    }
}

#[requires(postgres)]
#[tokio::test]
async fn everything_moves_from_sqlite_to_postgres_and_only_once() {
    let store: Store = contract::in_memory_store().await;
    fill(&store).await;
    moves_to(&exported(&store).await, contract::on_postgres().await).await;
}

#[requires(postgres)]
#[tokio::test]
async fn everything_moves_between_postgres_databases_and_only_once() {
    let store: Store = contract::on_postgres().await;
    fill(&store).await;
    moves_to(&exported(&store).await, contract::on_postgres().await).await;
}
