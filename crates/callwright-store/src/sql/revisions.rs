//! SQL of the revisions of topics.

use std::collections::HashMap;

use super::{Database, DatabaseTransaction, Statement};
use crate::postgres::CHANNEL;
use crate::{Revision, Revisions, StoreError};

/// Topic with its own sequence of revisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic {
    Traces,
    Lessons,
    Procedures,
    Feedback,
    Representations,
    Samples,
    Keys,
    KeyUsage,
}

impl Topic {
    /// Whether replicas are notified of changes immediately. Every turn writes a trace and no process waits for traces;
    /// key usage is polled.
    const fn has_notification(self) -> bool {
        !matches!(self, Self::Traces | Self::KeyUsage)
    }

    /// Returns the name of the topic in the table of revisions, and of its own table.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Traces => "traces",
            Self::Lessons => "lessons",
            Self::Procedures => "procedures",
            Self::Feedback => "feedback",
            Self::Representations => "representations",
            Self::Samples => "samples",
            Self::Keys => "virtual_keys",
            Self::KeyUsage => "key_usage",
        }
    }
}

const TAKE: &str = "UPDATE revisions SET revision = revision + $2 WHERE topic = $1 RETURNING revision";

/// Sends a notification to all replicas on commit.
const NOTIFY: &str = "SELECT 1::BIGINT FROM (SELECT pg_notify($1, '')) AS notified";

const ALL: &str = "SELECT topic, revision FROM revisions";

impl DatabaseTransaction {
    /// Takes the next `count` revisions of a topic and returns the first. Other writers of the topic wait until the
    /// transaction ends, so that revisions become visible in order. A count of `0` takes none and locks nothing.
    pub(super) async fn revisions(&mut self, topic: Topic, count: usize) -> Result<Revision, StoreError> {
        let count = Revision::try_from(count).unwrap_or(Revision::MAX);
        if count == 0 {
            return Ok(0);
        }
        let row: Option<(i64,)> = self.fetch_optional(Statement::new(TAKE).bind(topic.name()).bind(count)).await?;
        if let (Self::Postgres(_), true) = (&*self, topic.has_notification()) {
            self.fetch_optional::<(i64,)>(Statement::new(NOTIFY).bind(CHANNEL)).await?;
        }
        row.map(|(last,)| last - count + 1)
            .ok_or_else(|| StoreError::Unavailable(format!("the table of revisions has no row `{}`", topic.name())))
    }
}

impl Database {
    /// Returns the latest revision of each topic.
    pub(crate) async fn latest(&self) -> Result<Revisions, StoreError> {
        let rows: HashMap<String, i64> = self.fetch_all(Statement::new(ALL)).await?.into_iter().collect();
        Ok(Revisions {
            traces: revision(&rows, Topic::Traces),
            lessons: revision(&rows, Topic::Lessons),
            procedures: revision(&rows, Topic::Procedures),
            feedback: revision(&rows, Topic::Feedback),
            representations: revision(&rows, Topic::Representations),
            samples: revision(&rows, Topic::Samples),
            keys: revision(&rows, Topic::Keys),
        })
    }
}

/// Returns the latest revision of a topic; 0 if it has none.
fn revision(rows: &HashMap<String, i64>, topic: Topic) -> Revision {
    rows.get(topic.name()).copied().unwrap_or_default()
}
