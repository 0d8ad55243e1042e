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

async fn request(store: &Store, question: &Question) -> ApprovalNote {
    match store.request_approval(question, MANY).await.unwrap() {
        QueueResult::Queued(note) | QueueResult::Existing(note) => note,
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
    async fn the_same_call_has_one_entry_and_others_have_their_own(store: Store) {
        let first = request(&store, &notice("a")).await;
        assert_eq!(request(&store, &notice("a")).await, first);
        let others = [
            notice("b"),
            Question { session: "other".to_owned(), ..notice("a") },
            Question { tenant: "other".to_owned(), ..notice("a") },
            question(ApprovalMode::Wait, "a"),
            question(ApprovalMode::Wait, "a"),
        ];
        for other in &others {
            assert_ne!(request(&store, other).await.id, first.id, "{other:?}");
        }
        assert_eq!(store.pending_approvals().await, Ok(6));
    }

    async fn an_approval_is_used_once_and_only_for_its_own_call(store: Store) {
        let note = request(&store, &notice("a")).await;
        assert_eq!(store.use_approval(&note.id, "a").await, Ok(false), "it is not approved");
        let DecisionResult::Now(approval) = store.decide_approval(&note.id, &ruling(true)).await.unwrap() else { panic!() };
        assert_eq!(approval.arguments, Some(serde_json::json!({"room": "Amber"})), "it is still to be run");
        let again = request(&store, &notice("a")).await;
        assert_eq!((again.id.as_str(), again.status), (note.id.as_str(), ApprovalStatus::Approved));
        assert_eq!(again.decided_by.as_deref(), Some("Ada"));
        assert_eq!(store.use_approval(&note.id, "b").await, Ok(false));
        assert_eq!(store.use_approval(&note.id, "a").await, Ok(true));
        assert_eq!(store.use_approval(&note.id, "a").await, Ok(false));
        assert_ne!(request(&store, &notice("a")).await.id, note.id, "a further run is another question");
    }

    async fn an_approval_of_an_ended_turn_applies_to_the_next(store: Store) {
        let note = request(&store, &question(ApprovalMode::Wait, "a")).await;
        store.decide_approval(&note.id, &ruling(true)).await.unwrap();
        assert_eq!(request(&store, &question(ApprovalMode::Wait, "a")).await.id, note.id);
    }

    async fn the_first_of_two_decisions_is_valid(store: Store) {
        let note = request(&store, &notice("a")).await;
        let (approve, deny) = (ruling(true), ruling(false));
        let (one, other) = tokio::join!(store.decide_approval(&note.id, &approve), store.decide_approval(&note.id, &deny));
        let decided = [one.unwrap(), other.unwrap()];
        assert_eq!(decided.iter().filter(|decided| matches!(decided, DecisionResult::Now(_))).count(), 1);
        assert_eq!(decided.iter().filter(|decided| matches!(decided, DecisionResult::Before(_))).count(), 1);
        assert_eq!(store.decide_approval("apr_none", &ruling(true)).await, Ok(DecisionResult::Unknown));
    }

    async fn a_denial_holds_and_leaves_nothing_of_the_call(store: Store) {
        let note = request(&store, &notice("a")).await;
        store.decide_approval(&note.id, &ruling(false)).await.unwrap();
        let again = request(&store, &notice("a")).await;
        assert_eq!((again.status, again.comment.as_deref()), (ApprovalStatus::Denied, Some("because")));
        let whole = store.approval(&note.id).await.unwrap().unwrap();
        assert_eq!((whole.arguments, whole.summary.target), (None, None));
        let kept = request(&store, &Question { keep: true, ..notice("b") }).await;
        store.decide_approval(&kept.id, &ruling(false)).await.unwrap();
        assert!(store.approval(&kept.id).await.unwrap().unwrap().arguments.is_some());
    }

    async fn closed_entries_are_neither_decided_nor_reused(store: Store) {
        let late = request(&store, &overdue(notice("a"))).await;
        assert!(matches!(store.decide_approval(&late.id, &ruling(true)).await, Ok(DecisionResult::TooLate(_))));
        assert_ne!(request(&store, &notice("a")).await.id, late.id);
        assert_eq!(store.expire_approvals(MANY).await, Ok(1));
        assert_eq!(status(&store, &late.id).await, ApprovalStatus::Expired);
        assert_eq!(store.expire_approvals(MANY).await, Ok(0));

        let unused = request(&store, &Question { valid: SignedDuration::ZERO, ..notice("b") }).await;
        store.decide_approval(&unused.id, &ruling(true)).await.unwrap();
        assert_eq!(store.expire_approvals(MANY).await, Ok(0), "it was decided");
        assert_eq!(status(&store, &unused.id).await, ApprovalStatus::Expired);
        assert_eq!(store.use_approval(&unused.id, "b").await, Ok(false));
    }

    async fn only_pending_entries_are_closed(store: Store) {
        let (one, other) = (request(&store, &notice("a")).await, request(&store, &notice("b")).await);
        let close = async |id| Store::close_approval(&store, id, ApprovalStatus::Withdrawn).await.unwrap();
        let closed = close(&one.id).await.unwrap();
        assert_eq!((closed.now, closed.note.status), (true, ApprovalStatus::Withdrawn));
        assert!(!close(&one.id).await.unwrap().now);
        assert!(matches!(store.decide_approval(&one.id, &ruling(true)).await, Ok(DecisionResult::TooLate(_))));
        store.decide_approval(&other.id, &ruling(true)).await.unwrap();
        assert_eq!(close(&other.id).await.unwrap().note.status, ApprovalStatus::Approved);
        assert_eq!(close("apr_none").await, None);
    }

    async fn the_queue_is_bounded(store: Store) {
        assert!(matches!(store.request_approval(&notice("a"), 1).await, Ok(QueueResult::Queued(_))));
        assert_eq!(store.request_approval(&notice("b"), 1).await, Ok(QueueResult::Full));
        assert!(matches!(store.request_approval(&notice("a"), 1).await, Ok(QueueResult::Existing(_))), "that one is in it");
    }

    async fn pages_are_newest_first_and_by_status(store: Store) {
        let mut ids = Vec::new();
        for digest in ["a", "b", "c"] {
            ids.push(request(&store, &notice(digest)).await.id);
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
        let id = request(&store, &notice("a")).await.id;
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
async fn reopening_a_file_expires_entries_of_waiting_turns_only() {
    let directory = tempfile::tempdir().unwrap();
    let before: Store = in_a_file(&directory).await;
    let waiting = request(&before, &question(ApprovalMode::Wait, "a")).await;
    let approved = request(&before, &question(ApprovalMode::Wait, "b")).await;
    before.decide_approval(&approved.id, &ruling(true)).await.unwrap();
    let noticed = request(&before, &notice("c")).await;
    let after: Store = in_a_file(&directory).await;
    assert_eq!(status(&after, &waiting.id).await, ApprovalStatus::Expired);
    assert_eq!(status(&after, &approved.id).await, ApprovalStatus::Approved);
    assert_eq!(status(&after, &noticed.id).await, ApprovalStatus::Pending);
}

#[requires(postgres)]
#[tokio::test]
async fn entries_of_other_replicas_stay_while_those_run() {
    let url = postgres_server::database();
    let settings = at_postgres(url);
    let replica = async || Store::open(&settings, Path::new("")).await;
    let (one, other) = (replica().await, replica().await);
    let of_one = request(&one, &question(ApprovalMode::Wait, "a")).await;
    let of_other = request(&other, &question(ApprovalMode::Wait, "b")).await;
    one.close().await;
    let third = replica().await;
    assert_eq!(status(&third, &of_one.id).await, ApprovalStatus::Expired);
    assert_eq!(status(&third, &of_other.id).await, ApprovalStatus::Pending);
    // State after a replica was killed and its lease expired.
    third.database().unwrap().execute(Statement::new("UPDATE leases SET expires_at = 0")).await.unwrap();
    assert_eq!(other.expire_approvals(MANY).await, Ok(0), "a running replica keeps its entries");
    assert_eq!(third.expire_approvals(MANY).await, Ok(1));
    assert_eq!(status(&third, &of_other.id).await, ApprovalStatus::Expired);
}

#[requires(postgres)]
#[tokio::test]
async fn concurrent_requests_of_replicas_respect_the_queue_limit() {
    let url = postgres_server::database();
    let settings = at_postgres(url);
    let replicas = [Store::open(&settings, Path::new("")).await, Store::open(&settings, Path::new("")).await];
    let requests = (0..20).map(|number| {
        let replica = replicas[number % 2].clone();
        tokio::spawn(async move { replica.request_approval(&notice(&number.to_string()), 5).await.unwrap() })
    });
    let results = futures_util::future::join_all(requests).await;
    let queued = results
        .iter()
        .filter(|result| matches!(result.as_ref().unwrap(), QueueResult::Queued(_) | QueueResult::Existing(_)))
        .count();
    assert_eq!(queued, 5);
    // The same call has one entry, whichever turn requests it.
    let same = (0..10).map(|number| {
        let replica = replicas[number % 2].clone();
        tokio::spawn(async move { request(&replica, &notice("same")).await.id })
    });
    let same = futures_util::future::join_all(same).await;
    assert!(same.iter().all(|id| id.as_ref().unwrap() == same[0].as_ref().unwrap()));
}
