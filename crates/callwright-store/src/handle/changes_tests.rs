//! Notification of one process about the changes of another.

use std::path::Path;
use std::time::Duration;

use tempfile::tempdir;

use crate::contract::{at_absent_postgres, at_postgres};
use crate::postgres_server::{self, Postgres};
use crate::samples::in_memory;
use crate::{FeedbackRow, FeedbackVerdict, Revisions, Settings, Store};
use callwright_test_macros::requires;

/// Timeout after which a change counts as lost. The promised latency is asserted only on an otherwise idle machine.
const GUARD: Duration = Duration::from_secs(60);

/// Poll interval so long that polling cannot be the cause of a notification.
const NEVER: u64 = 3_600_000;

fn row(trace: &str) -> FeedbackRow {
    let at = jiff::Timestamp::UNIX_EPOCH;
    let source = "app".to_owned();
    FeedbackRow { trace: trace.to_owned(), source, verdict: FeedbackVerdict::Right, expected: None, comment: None, at }
}

async fn reaches(store: &Store, feedback: i64) {
    let mut changes = store.changes();
    let waited = tokio::time::timeout(GUARD, changes.wait_for(|latest| latest.feedback >= feedback)).await;
    waited.expect("no notification of the change").unwrap();
}

#[tokio::test]
async fn a_process_is_notified_of_its_own_changes_at_once() {
    let store = Store::open(&Settings { poll_milliseconds: NEVER, ..in_memory() }, Path::new("")).await;
    store.give_feedback(&row("a")).await.unwrap();
    reaches(&store, 1).await;
    assert_eq!(*store.changes().borrow(), Revisions { feedback: 1, ..Revisions::default() });
}

#[tokio::test]
async fn two_processes_share_a_file() {
    let directory = tempdir().unwrap();
    let settings = Settings { url: "sqlite:a.sqlite3".into(), poll_milliseconds: 20, ..in_memory() };
    let (one, other) = (Store::open(&settings, directory.path()).await, Store::open(&settings, directory.path()).await);
    one.give_feedback(&row("a")).await.unwrap();
    reaches(&other, 1).await;
}

#[tokio::test]
async fn processes_that_open_a_new_file_at_once_share_it() {
    let directory = tempdir().unwrap();
    let settings = Settings { url: "sqlite:a.sqlite3".into(), ..in_memory() };
    let opened = (0..4).map(|_| {
        let (settings, directory) = (settings.clone(), directory.path().to_owned());
        tokio::spawn(async move { Store::open(&settings, &directory).await.health() })
    });
    for health in futures_util::future::join_all(opened).await {
        assert!(health.as_ref().unwrap().ok, "{health:?}");
    }
}

#[requires(postgres)]
#[tokio::test]
async fn replicas_are_notified_by_the_server() {
    let url = postgres_server::database();
    let settings = Settings { poll_milliseconds: NEVER, ..at_postgres(url) };
    let (one, other) = (Store::open(&settings, Path::new("")).await, Store::open(&settings, Path::new("")).await);
    // After the first notification the initial poll has completed; later changes can only arrive as notifications.
    for number in 1..4 {
        one.give_feedback(&row(&number.to_string())).await.unwrap();
        reaches(&other, number).await;
    }
}

#[requires(postgres)]
#[tokio::test]
async fn notifications_resume_after_a_restart_of_the_server() {
    let mut server = Postgres::start();
    for poll_milliseconds in [NEVER, 50] {
        let settings = Settings { poll_milliseconds, ..at_absent_postgres(server.database()) };
        let (one, other) = (Store::open(&settings, Path::new("")).await, Store::open(&settings, Path::new("")).await);
        one.give_feedback(&row("a")).await.unwrap();
        reaches(&other, 1).await;
        server.stop();
        assert!(one.give_feedback(&row("b")).await.unwrap_err().is_passing());
        server.start_again();
        while one.give_feedback(&row("b")).await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        reaches(&other, 2).await;
        one.give_feedback(&row("c")).await.unwrap();
        reaches(&other, 3).await;
        one.close().await;
        other.close().await;
    }
}
