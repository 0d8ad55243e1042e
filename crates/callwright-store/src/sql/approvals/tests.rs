//! Approval queue: ownership of entries, and changes that happen exactly once.

use std::path::Path;

use jiff::SignedDuration;

use super::*;
use crate::contract::{at_postgres, in_a_file, on_every_database};
use crate::{Store, postgres_server};
use callwright_test_macros::requires;
use callwright_types::rules::ApprovalMode;

const MANY: u32 = 100;

fn question(mode: ApprovalMode, digest: &str) -> Question {
    let owned = str::to_owned;
    Question {
        mode,
        patience: SignedDuration::from_hours(1),
        valid: SignedDuration::from_hours(1),
        tenant: owned("tenant"),
        client: owned("key-1"),
        session: owned("s"),
        trace: owned("t"),
        toolset: owned("rooms"),
        tool: owned("book"),
        operation: owned("POST /book"),
        method: owned("POST"),
        target: owned("http://rooms/book"),
        arguments: owned(r#"{"room":"Amber"}"#),
        digest: owned(digest),
        keep: false,
    }
}

fn notice(digest: &str) -> Question {
    question(ApprovalMode::Notice, digest)
}

fn overdue(question: Question) -> Question {
    Question { patience: SignedDuration::ZERO, ..question }
}

async fn ask(store: &Store, question: &Question) -> ApprovalNote {
    match store.request_approval(question, MANY).await.unwrap() {
        QueueResult::Queued(note) | QueueResult::Known(note) => note,
        QueueResult::Full => panic!("full"),
    }
}

fn ruling(approved: bool) -> Ruling {
    Ruling { approved, by: Some("Ada".to_owned()), comment: Some("because".to_owned()) }
}

async fn status(store: &Store, id: &str) -> ApprovalStatus {
    store.approval_note(id).await.unwrap().unwrap().status
}

on_every_database! {
    async fn the_same_call_is_asked_for_once_and_another_or_anothers_anew(store: Store) {
        let first = ask(&store, &notice("a")).await;
        assert_eq!(ask(&store, &notice("a")).await, first);
        let others = [
            notice("b"),
            Question { session: "other".to_owned(), ..notice("a") },
            Question { tenant: "other".to_owned(), ..notice("a") },
            question(ApprovalMode::Wait, "a"),
            question(ApprovalMode::Wait, "a"),
        ];
        for other in &others {
            assert_ne!(ask(&store, other).await.id, first.id, "{other:?}");
        }
        assert_eq!(store.pending_approvals().await, Ok(6));
    }

    async fn an_approval_is_used_once_for_its_own_call_alone(store: Store) {
        let asked = ask(&store, &notice("a")).await;
        assert_eq!(store.use_approval(&asked.id, "a").await, Ok(false), "nobody has approved it");
        let Decided::Now(approval) = store.decide_approval(&asked.id, &ruling(true)).await.unwrap() else { panic!() };
        assert_eq!(approval.arguments, Some(serde_json::json!({"room": "Amber"})), "it is still to be run");
        let again = ask(&store, &notice("a")).await;
        assert_eq!((again.id.as_str(), again.status), (asked.id.as_str(), ApprovalStatus::Approved));
        assert_eq!(again.decided_by.as_deref(), Some("Ada"));
        assert_eq!(store.use_approval(&asked.id, "b").await, Ok(false));
        assert_eq!(store.use_approval(&asked.id, "a").await, Ok(true));
        assert_eq!(store.use_approval(&asked.id, "a").await, Ok(false));
        assert_ne!(ask(&store, &notice("a")).await.id, asked.id, "a further run is another question");
    }

    async fn what_was_approved_for_a_turn_that_is_gone_is_taken_up_by_the_next(store: Store) {
        let asked = ask(&store, &question(ApprovalMode::Wait, "a")).await;
        store.decide_approval(&asked.id, &ruling(true)).await.unwrap();
        assert_eq!(ask(&store, &question(ApprovalMode::Wait, "a")).await.id, asked.id);
    }

    async fn of_two_decisions_the_first_stands(store: Store) {
        let asked = ask(&store, &notice("a")).await;
        let (approve, deny) = (ruling(true), ruling(false));
        let (one, other) = tokio::join!(store.decide_approval(&asked.id, &approve), store.decide_approval(&asked.id, &deny));
        let decided = [one.unwrap(), other.unwrap()];
        assert_eq!(decided.iter().filter(|decided| matches!(decided, Decided::Now(_))).count(), 1);
        assert_eq!(decided.iter().filter(|decided| matches!(decided, Decided::Before(_))).count(), 1);
        assert_eq!(store.decide_approval("apr_none", &ruling(true)).await, Ok(Decided::Unknown));
    }

    async fn a_denial_holds_and_leaves_nothing_of_the_call(store: Store) {
        let asked = ask(&store, &notice("a")).await;
        store.decide_approval(&asked.id, &ruling(false)).await.unwrap();
        let again = ask(&store, &notice("a")).await;
        assert_eq!((again.status, again.comment.as_deref()), (ApprovalStatus::Denied, Some("because")));
        let whole = store.approval(&asked.id).await.unwrap().unwrap();
        assert_eq!((whole.arguments, whole.summary.target), (None, None));
        let kept = ask(&store, &Question { keep: true, ..notice("b") }).await;
        store.decide_approval(&kept.id, &ruling(false)).await.unwrap();
        assert!(store.approval(&kept.id).await.unwrap().unwrap().arguments.is_some());
    }

    async fn what_is_over_can_be_neither_decided_nor_taken_up(store: Store) {
        let late = ask(&store, &overdue(notice("a"))).await;
        assert!(matches!(store.decide_approval(&late.id, &ruling(true)).await, Ok(Decided::TooLate(_))));
        assert_ne!(ask(&store, &notice("a")).await.id, late.id);
        assert_eq!(store.expire_approvals(MANY).await, Ok(1));
        assert_eq!(status(&store, &late.id).await, ApprovalStatus::Expired);
        assert_eq!(store.expire_approvals(MANY).await, Ok(0));

        let unused = ask(&store, &Question { valid: SignedDuration::ZERO, ..notice("b") }).await;
        store.decide_approval(&unused.id, &ruling(true)).await.unwrap();
        assert_eq!(store.expire_approvals(MANY).await, Ok(0), "it was decided");
        assert_eq!(status(&store, &unused.id).await, ApprovalStatus::Expired);
        assert_eq!(store.use_approval(&unused.id, "b").await, Ok(false));
    }

    async fn closing_changes_only_what_is_pending(store: Store) {
        let (one, other) = (ask(&store, &notice("a")).await, ask(&store, &notice("b")).await);
        let close = async |id| Store::close_approval(&store, id, ApprovalStatus::Withdrawn).await.unwrap();
        let closed = close(&one.id).await.unwrap();
        assert_eq!((closed.now, closed.note.status), (true, ApprovalStatus::Withdrawn));
        assert!(!close(&one.id).await.unwrap().now);
        assert!(matches!(store.decide_approval(&one.id, &ruling(true)).await, Ok(Decided::TooLate(_))));
        store.decide_approval(&other.id, &ruling(true)).await.unwrap();
        assert_eq!(close(&other.id).await.unwrap().note.status, ApprovalStatus::Approved);
        assert_eq!(close("apr_none").await, None);
    }

    async fn the_queue_is_bounded(store: Store) {
        assert!(matches!(store.request_approval(&notice("a"), 1).await, Ok(QueueResult::Queued(_))));
        assert_eq!(store.request_approval(&notice("b"), 1).await, Ok(QueueResult::Full));
        assert!(matches!(store.request_approval(&notice("a"), 1).await, Ok(QueueResult::Known(_))), "that one is in it");
    }

    async fn pages_are_newest_first_and_by_status(store: Store) {
        let mut ids = Vec::new();
        for digest in ["a", "b", "c"] {
            ids.push(ask(&store, &notice(digest)).await.id);
        }
        ids.sort();
        ids.reverse();
        store.decide_approval(&ids[1], &ruling(false)).await.unwrap();
        let page = async |status, limit, before: Option<String>| {
            let page = store.approvals(&ApprovalFilter { status, limit, before, ..ApprovalFilter::default() }).await.unwrap();
            let ids: Vec<String> = page.approvals.into_iter().map(|approval| approval.note.id).collect();
            (ids, page.next)
        };
        let (first, next) = page(None, Some(2), None).await;
        assert_eq!((first.as_slice(), next.as_ref()), (&ids[..2], Some(&ids[1])));
        assert_eq!(page(None, Some(2), next).await, (ids[2..].to_vec(), None));
        let (pending, _) = page(Some(ApprovalStatus::Pending), None, None).await;
        assert_eq!(pending, [ids[0].clone(), ids[2].clone()]);
    }

    async fn a_list_has_the_entries_of_a_time_range(store: Store) {
        let id = ask(&store, &notice("a")).await.id;
        let created = store.approval(&id).await.unwrap().unwrap().summary.created_at;
        let later = created + SignedDuration::from_millis(1);
        for (since, until, expected) in [
            (None, None, 1),
            (Some(created), Some(later), 1),
            (Some(later), None, 0),
            (None, Some(created), 0),
        ] {
            let filter = ApprovalFilter { since, until, ..ApprovalFilter::default() };
            assert_eq!(store.approvals(&filter).await.unwrap().approvals.len(), expected, "{since:?} {until:?}");
        }
    }
}

#[tokio::test]
async fn at_the_next_opening_of_a_file_what_turns_waited_for_is_over_and_the_rest_stays() {
    let directory = tempfile::tempdir().unwrap();
    let before: Store = in_a_file(&directory).await;
    let waiting = ask(&before, &question(ApprovalMode::Wait, "a")).await;
    let approved = ask(&before, &question(ApprovalMode::Wait, "b")).await;
    before.decide_approval(&approved.id, &ruling(true)).await.unwrap();
    let noticed = ask(&before, &notice("c")).await;
    let after: Store = in_a_file(&directory).await;
    assert_eq!(status(&after, &waiting.id).await, ApprovalStatus::Expired);
    assert_eq!(status(&after, &approved.id).await, ApprovalStatus::Approved);
    assert_eq!(status(&after, &noticed.id).await, ApprovalStatus::Pending);
}

#[requires(postgres)]
#[tokio::test]
async fn what_turns_of_other_replicas_wait_for_goes_on_as_long_as_they_live() {
    let url = postgres_server::database();
    let settings = at_postgres(url);
    let replica = async || Store::open(&settings, Path::new("")).await;
    let (one, other) = (replica().await, replica().await);
    let of_one = ask(&one, &question(ApprovalMode::Wait, "a")).await;
    let of_other = ask(&other, &question(ApprovalMode::Wait, "b")).await;
    one.close().await;
    let third = replica().await;
    assert_eq!(status(&third, &of_one.id).await, ApprovalStatus::Expired);
    assert_eq!(status(&third, &of_other.id).await, ApprovalStatus::Pending);
    // State after a replica was killed and its lease expired.
    third.database().unwrap().execute(Statement::new("UPDATE leases SET expires_at = 0")).await.unwrap();
    assert_eq!(other.expire_approvals(MANY).await, Ok(0), "it knows that it lives");
    assert_eq!(third.expire_approvals(MANY).await, Ok(1));
    assert_eq!(status(&third, &of_other.id).await, ApprovalStatus::Expired);
}

#[requires(postgres)]
#[tokio::test]
async fn replicas_that_ask_at_once_keep_to_the_bound_of_the_queue() {
    let url = postgres_server::database();
    let settings = at_postgres(url);
    let replicas = [Store::open(&settings, Path::new("")).await, Store::open(&settings, Path::new("")).await];
    let asked = (0..20).map(|number| {
        let replica = replicas[number % 2].clone();
        tokio::spawn(async move { replica.request_approval(&notice(&number.to_string()), 5).await.unwrap() })
    });
    let asked = futures_util::future::join_all(asked).await;
    let queued = asked
        .iter()
        .filter(|asked| matches!(asked.as_ref().unwrap(), QueueResult::Queued(_) | QueueResult::Known(_)))
        .count();
    assert_eq!(queued, 5);
    // The same call has one entry, whichever turn requests it.
    let same = (0..10).map(|number| {
        let replica = replicas[number % 2].clone();
        tokio::spawn(async move { ask(&replica, &notice("same")).await.id })
    });
    let same = futures_util::future::join_all(same).await;
    assert!(same.iter().all(|id| id.as_ref().unwrap() == same[0].as_ref().unwrap()));
}
