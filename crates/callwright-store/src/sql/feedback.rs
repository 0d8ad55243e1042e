//! SQL of feedback.

use super::revisions::Topic;
use super::{Database, Lock, Statement};
use crate::{FeedbackPage, FeedbackResult, FeedbackRow, Revision, StoreError};

const GIVE: &str = "\
    INSERT INTO feedback (trace, source, revision, at, document) VALUES ($1, $2, $3, $4, $5) \
    ON CONFLICT (trace, source) DO UPDATE SET revision = excluded.revision, at = excluded.at, document = excluded.document";

const ONE: &str = "SELECT revision, document FROM feedback WHERE trace = $1 AND source = $2";

const SINCE: &str = "SELECT revision, document FROM feedback WHERE revision > $1 ORDER BY revision LIMIT $2";

const ON_TRACE: &str = "SELECT revision, document FROM feedback WHERE trace = $1 ORDER BY source";

impl Database {
    /// See [`crate::Store::give_feedback`].
    pub(crate) async fn give(&self, row: &FeedbackRow) -> Result<FeedbackResult, StoreError> {
        let document = serde_json::to_string(row).map_err(|error| StoreError::Refused(error.to_string()))?;
        let mut transaction = self.begin(Lock::Rows).await?;
        // Taking a revision locks the topic until the commit.
        let revision = transaction.revisions(Topic::Feedback, 1).await?;
        let before: Option<(i64, String)> =
            transaction.fetch_optional(Statement::new(ONE).bind(&row.trace).bind(&row.source)).await?;
        if before
            .and_then(|(_, document)| parse(&document))
            .is_some_and(|before| before.at > row.at || is_same(&before, row))
        {
            transaction.commit().await?;
            return Ok(FeedbackResult::Repeated);
        }
        let give = Statement::new(GIVE)
            .bind(&row.trace)
            .bind(&row.source)
            .bind(revision)
            .bind(row.at.as_millisecond())
            .bind(document);
        transaction.execute(give).await?;
        transaction.commit().await?;
        Ok(FeedbackResult::New)
    }

    /// See [`crate::Store::feedback_since`].
    pub(crate) async fn given(&self, after: Revision, limit: u32) -> Result<FeedbackPage, StoreError> {
        let rows: Vec<(i64, String)> = self.fetch_all(Statement::new(SINCE).bind(after).bind(limit.max(1))).await?;
        let upto = rows.last().map_or(after, |(revision, _)| *revision);
        let rows = rows.iter().filter_map(|(revision, document)| Some((*revision, parse(document)?))).collect();
        Ok(FeedbackPage { rows, upto })
    }

    pub(crate) async fn feedback_on(&self, trace: &str) -> Result<Vec<FeedbackRow>, StoreError> {
        let rows: Vec<(i64, String)> = self.fetch_all(Statement::new(ON_TRACE).bind(trace)).await?;
        Ok(rows.iter().filter_map(|(_, document)| parse(document)).collect())
    }
}

fn parse(document: &str) -> Option<FeedbackRow> {
    serde_json::from_str(document)
        .map_err(|error| tracing::warn!(%error, "skipping stored feedback that cannot be parsed"))
        .ok()
}

fn is_same(before: &FeedbackRow, now: &FeedbackRow) -> bool {
    (before.verdict, &before.expected, &before.comment) == (now.verdict, &now.expected, &now.comment)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::FeedbackVerdict;
    use crate::contract::on_every_database;

    fn row(trace: &str, source: &str, verdict: FeedbackVerdict) -> FeedbackRow {
        let expected = Some(json!({"name": "book"}));
        FeedbackRow {
            trace: trace.to_owned(),
            source: source.to_owned(),
            verdict,
            expected,
            comment: Some("a\0b".to_owned()),
            at: Timestamp::from_millisecond(1_700_000_000_000).unwrap(),
        }
    }

    on_every_database! {
        async fn a_source_has_one_verdict_on_a_turn_the_latest(store: Database) {
            let wrong = row("a", "app", FeedbackVerdict::Wrong);
            assert_eq!(store.give(&wrong).await, Ok(FeedbackResult::New));
            assert_eq!(store.give(&FeedbackRow { at: Timestamp::MAX, ..wrong.clone() }).await, Ok(FeedbackResult::Repeated));
            assert_eq!(store.give(&row("a", "other", FeedbackVerdict::Right)).await, Ok(FeedbackResult::New));
            assert_eq!(store.give(&row("b", "app", FeedbackVerdict::Right)).await, Ok(FeedbackResult::New));
            let right = row("a", "app", FeedbackVerdict::Right);
            assert_eq!(store.give(&right).await, Ok(FeedbackResult::New));
            assert_eq!(store.feedback_on("a").await.unwrap(), [right, row("a", "other", FeedbackVerdict::Right)]);
            assert_eq!(store.feedback_on("c").await, Ok(Vec::new()));
        }

        async fn verdicts_are_read_in_the_order_in_which_they_came(store: Database) {
            for trace in ["c", "a", "b"] {
                store.give(&row(trace, "app", FeedbackVerdict::Right)).await.unwrap();
            }
            let traces = |since: &FeedbackPage| since.rows.iter().map(|(_, row)| row.trace.clone()).collect::<Vec<_>>();
            let first = store.given(0, 2).await.unwrap();
            assert_eq!(traces(&first), ["c", "a"]);
            // A changed verdict is returned again.
            store.give(&row("c", "app", FeedbackVerdict::Wrong)).await.unwrap();
            let rest = store.given(first.upto, 10).await.unwrap();
            assert_eq!(traces(&rest), ["b", "c"]);
            assert_eq!(store.latest().await.unwrap().feedback, rest.upto);
            let none = store.given(rest.upto, 10).await.unwrap();
            assert_eq!((none.rows, none.upto), (Vec::new(), rest.upto));
        }
    }
}
