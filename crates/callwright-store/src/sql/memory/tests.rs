//! Lessons and procedures share the table layout and code, so that most tests use lessons.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::*;
use crate::Ages;
use crate::contract::on_every_database;
use crate::settings::SWEEP_ROWS;
use callwright_types::memory::{Author, Evidence, EvidenceKind, Polarity, Retirement, Scope, UsageCounter};

fn at(millisecond: i64) -> Timestamp {
    Timestamp::from_millisecond(millisecond).unwrap()
}

fn evidence(trace: &str, session: &str, millisecond: i64) -> Evidence {
    Evidence {
        kind: EvidenceKind::Mended,
        trace: Some(trace.to_owned()),
        session: Some(session.to_owned()),
        source: None,
        at: at(millisecond),
    }
}

fn lesson(id: &str) -> Lesson {
    Lesson {
        id: id.to_owned(),
        scope: Scope::of_key("a"),
        toolset: Some("rooms".to_owned()),
        tools: vec!["book".to_owned(), "list".to_owned()],
        polarity: Polarity::Negative,
        key: "dates '; DROP TABLE lessons; --".to_owned(),
        value: "as ISO 8601 \u{0}".to_owned(),
        author: Author::Composed,
        composed: None,
        client: None,
        evidence: vec![evidence("t1", "s1", 1_000)],
        tally: UsageCounter::default(),
        retired: None,
        created_at: at(1_000),
        updated_at: at(1_000),
    }
}

fn procedure(id: &str) -> Procedure {
    let plan =
        serde_json::json!({"nodes": [{"label": "a", "tool": "find", "task": "", "arguments": []}], "finals": ["a"]});
    Procedure {
        id: id.to_owned(),
        scope: Scope::of_group("team"),
        toolsets: vec!["rooms".to_owned()],
        client_tools: Some(Vec::new()),
        input: Vec::new(),
        output: "a room".to_owned(),
        steps: vec!["find it".to_owned()],
        plan: serde_json::from_value(plan).unwrap(),
        evidence: vec![evidence("t1", "s1", 1_000)],
        tally: UsageCounter::default(),
        retired: None,
        created_at: at(1_000),
        updated_at: at(1_000),
    }
}

/// Revision that allows overwriting any version.
const ANY: Revision = Revision::MAX;

async fn changed(store: &Database, after: Revision) -> Changes<Lesson> {
    store.changed(after, 100).await.unwrap()
}

async fn listed(store: &Database, filter: MemoryFilter) -> Vec<String> {
    store.page::<Lesson>(&filter).await.unwrap().items.into_iter().map(|lesson| lesson.id).collect()
}

fn ids<M: Memorable>(items: &[M]) -> Vec<&str> {
    items.iter().map(Memorable::id).collect()
}

on_every_database! {
    async fn stored_items_are_returned_unchanged(store: Database) {
        let (lesson, procedure) = (lesson("les_1"), procedure("pro_1"));
        store.put(std::slice::from_ref(&lesson), 0).await.unwrap();
        store.put(std::slice::from_ref(&procedure), 0).await.unwrap();
        assert_eq!(store.find("les_1").await.unwrap(), Some(lesson.clone()));
        assert_eq!(store.find("pro_1").await.unwrap(), Some(procedure));
        assert_eq!(store.find::<Procedure>("les_1").await.unwrap(), None);
        let changed = changed(&store, 0).await;
        assert_eq!((changed.changed, changed.removed, changed.more), (vec![lesson], Vec::new(), false));
        let latest = store.latest().await.unwrap();
        assert_eq!((latest.lessons, latest.procedures, latest.feedback), (changed.upto, 1, 0));
    }

    async fn changes_and_removals_are_returned_once_in_order(store: Database) {
        let lessons: Vec<Lesson> = ["les_3", "les_1", "les_2"].map(lesson).into();
        store.put(&lessons, ANY).await.unwrap();
        let first: Changes<Lesson> = store.changed(0, 2).await.unwrap();
        assert_eq!((ids(&first.changed), first.more), (vec!["les_3", "les_1"], true));
        store.put(&[lesson("les_3")], ANY).await.unwrap();
        assert_eq!(store.remove::<Lesson>(&["les_2".to_owned(), "les_9".to_owned()]).await, Ok(1));
        assert_eq!(store.remove::<Lesson>(&["les_2".to_owned()]).await, Ok(0));
        let rest = changed(&store, first.upto).await;
        assert_eq!((ids(&rest.changed), rest.removed), (vec!["les_3"], vec!["les_2".to_owned()]));
        let none = changed(&store, rest.upto).await;
        assert_eq!((none.changed.len(), none.removed.len(), none.upto), (0, 0, rest.upto));
    }

    async fn who_has_not_seen_a_change_cannot_undo_it(store: Database) {
        let put = store.put(&[lesson("les_1"), lesson("les_2"), lesson("les_3")], 0).await.unwrap();
        let better = Lesson { value: "better".to_owned(), ..lesson("les_1") };
        assert_eq!(store.put(std::slice::from_ref(&better), put.revision).await.unwrap().outdated, [""; 0]);
        store.remove::<Lesson>(&["les_2".to_owned()]).await.unwrap();
        let late = store.put(&[lesson("les_1"), lesson("les_2"), lesson("les_3")], put.revision).await.unwrap();
        assert_eq!(late.outdated, ["les_1", "les_2"]);
        assert_eq!(store.find("les_1").await.unwrap(), Some(better));
        assert_eq!(store.put(&[lesson("les_2")], ANY).await.unwrap().outdated, ["les_2"], "what was removed stays so");
        store.restore(&[lesson("les_2")]).await.unwrap();
        assert_eq!(store.find("les_2").await.unwrap(), Some(lesson("les_2")));
    }

    async fn of_several_with_one_id_the_last_is_kept(store: Database) {
        let last = Lesson { value: "last".to_owned(), ..lesson("les_1") };
        let put = store.put(&[lesson("les_1"), lesson("les_2"), last.clone()], 0).await.unwrap();
        assert_eq!(put.outdated, [""; 0]);
        assert_eq!(store.find("les_1").await.unwrap(), Some(last));
        assert_eq!(store.put::<Lesson>(&[], 0).await.unwrap(), PutResult::default());
    }

    async fn every_filter_holds_and_pages_hold_each_once(store: Database) {
        let retired = Some(Retirement { at: at(5), reason: "it hurts".to_owned() });
        let lessons = [
            lesson("les_1"),
            Lesson { scope: Scope::of_key("b"), ..lesson("les_2") },
            Lesson { toolset: Some("other".to_owned()), tools: vec!["boo".to_owned()], ..lesson("les_3") },
            Lesson { retired, ..lesson("les_4") },
            lesson("les_5"),
        ];
        store.put(&lessons, ANY).await.unwrap();
        store.remove::<Lesson>(&["les_5".to_owned()]).await.unwrap();
        let all = MemoryFilter::default;
        assert_eq!(listed(&store, all()).await, ["les_1", "les_2", "les_3", "les_4"]);
        assert_eq!(listed(&store, MemoryFilter { scope: Some(Scope::of_key("b")), ..all() }).await, ["les_2"]);
        let text = |text: &str| Some(text.to_owned());
        let of_toolset = listed(&store, MemoryFilter { toolset: text("rooms"), ..all() }).await;
        assert_eq!(of_toolset, ["les_1", "les_2", "les_4"]);
        assert_eq!(listed(&store, MemoryFilter { tool: text("boo"), ..all() }).await, ["les_3"]);
        assert_eq!(listed(&store, MemoryFilter { status: Some(MemoryStatus::Retired), ..all() }).await, ["les_4"]);
        let both = MemoryFilter { tool: text("book"), status: Some(MemoryStatus::Active), ..all() };
        assert_eq!(listed(&store, both).await, ["les_1", "les_2"]);
        let page = store.page::<Lesson>(&MemoryFilter { limit: Some(3), ..all() }).await.unwrap();
        assert_eq!((ids(&page.items), page.next.as_deref()), (vec!["les_1", "les_2", "les_3"], Some("les_3")));
        assert_eq!(listed(&store, MemoryFilter { after: page.next, ..all() }).await, ["les_4"]);
        store.put(&[procedure("pro_1")], ANY).await.unwrap();
        let found = store.page::<Procedure>(&MemoryFilter { tool: text("find"), ..all() }).await.unwrap();
        assert_eq!((ids(&found.items), found.next), (vec!["pro_1"], None));
    }

    async fn forgotten_evidence_is_removed_everywhere(store: Database) {
        let both = vec![evidence("t1", "s1", 1_000), evidence("t2", "s2", 2_000)];
        let lessons = [
            lesson("les_1"),
            Lesson { evidence: both.clone(), ..lesson("les_2") },
            Lesson { evidence: vec![evidence("t3", "s3", 3_000)], ..lesson("les_3") },
        ];
        for forgotten in [
            ForgetSelection::Session("s1".to_owned()),
            ForgetSelection::Traces(["t1".to_owned(), "t9".to_owned()].into()),
            ForgetSelection::Before(at(2_000)),
        ] {
            store.restore(&lessons).await.unwrap();
            let before = store.latest().await.unwrap().lessons;
            assert_eq!(store.forget::<Lesson>(&forgotten).await, Ok(ForgetCounts { changed: 1, removed: 1 }), "{forgotten:?}");
            assert_eq!(store.forget::<Lesson>(&forgotten).await, Ok(ForgetCounts::default()));
            assert_eq!(store.find::<Lesson>("les_1").await.unwrap(), None);
            let left = store.find::<Lesson>("les_2").await.unwrap().unwrap();
            assert_eq!(left.evidence, both[1..], "{forgotten:?}");
            let changes = changed(&store, before).await;
            assert_eq!((ids(&changes.changed), changes.removed), (vec!["les_2"], vec!["les_1".to_owned()]));
        }
        store.put(&[procedure("pro_1")], ANY).await.unwrap();
        let team = ForgetSelection::Scope(Scope::of_group("team"));
        assert_eq!(store.forget::<Lesson>(&team).await, Ok(ForgetCounts::default()));
        assert_eq!(store.forget::<Procedure>(&team).await, Ok(ForgetCounts { changed: 0, removed: 1 }));
    }

    async fn forgetting_exceeds_one_batch(store: Database) {
        let lessons: Vec<Lesson> = (0..SWEEP_ROWS + 1).map(|number| lesson(&format!("les_{number}"))).collect();
        store.put(&lessons, ANY).await.unwrap();
        let forgot = store.forget::<Lesson>(&ForgetSelection::Session("s1".to_owned())).await.unwrap();
        assert_eq!(forgot, ForgetCounts { changed: 0, removed: u64::from(SWEEP_ROWS) + 1 });
    }

    async fn only_a_tombstone_remains_of_removed_items(store: Database) {
        store.put(&[lesson("les_1"), lesson("les_2")], ANY).await.unwrap();
        store.remove::<Lesson>(&["les_1".to_owned()]).await.unwrap();
        let row = "SELECT COUNT(*) FROM lessons WHERE document IS NULL AND tools = '[]' AND traces = '[]' AND sessions = '[]'";
        assert_eq!(store.count(Statement::new(row)).await, Ok(1));
        let before = |time| Ages { before: Some(time), unknown_before: None };
        assert_eq!(store.expire(before(at(1_001)), 10).await, Ok(0), "it was removed just now");
        assert_eq!(store.expire(before(Timestamp::MAX), 10).await, Ok(1));
        assert_eq!(store.count(Statement::new("SELECT COUNT(*) FROM lessons")).await, Ok(1));
    }

    async fn one_that_cannot_be_read_keeps_no_other_from_being_read(store: Database) {
        store.put(&[lesson("les_1"), lesson("les_2")], ANY).await.unwrap();
        store.execute(Statement::new("UPDATE lessons SET document = '{' WHERE id = 'les_1'")).await.unwrap();
        let changes = changed(&store, 0).await;
        assert_eq!((ids(&changes.changed), changes.upto), (vec!["les_2"], 2));
        let error = store.find::<Lesson>("les_1").await.unwrap_err();
        assert!(matches!(&error, StoreError::Refused(message) if message.contains("les_1")), "{error}");
        let forgot = store.forget::<Lesson>(&ForgetSelection::Session("s1".to_owned())).await.unwrap();
        assert_eq!(forgot, ForgetCounts { changed: 0, removed: 2 });
    }

    /// Tests concurrent writers: a reader that has seen a revision has seen all earlier ones.
    async fn revisions_are_seen_in_their_order(store: Database) {
        let writers = (0..4).map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                for number in 0..25 {
                    let lesson = [lesson(&format!("les_{writer}_{number}"))];
                    // A write may time out on a busy disk; none of it is stored then.
                    while let Err(error) = store.put(&lesson, ANY).await {
                        assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
                    }
                }
            })
        });
        let writing = futures_util::future::join_all(writers);
        let reading = async {
            let (mut seen, mut upto) = (BTreeSet::new(), 0);
            while seen.len() < 100 {
                let changes: Changes<Lesson> = store.changed(upto, 7).await.unwrap();
                upto = changes.upto;
                seen.extend(changes.changed.into_iter().map(|lesson| lesson.id));
                tokio::task::yield_now().await;
            }
            seen
        };
        let (_, seen) = tokio::time::timeout(std::time::Duration::from_secs(60), async { tokio::join!(writing, reading) })
            .await
            .expect("a change was missed");
        assert_eq!(seen.len(), 100);
    }
}
