//! SQL of embedding vectors.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use super::{Database, Lock, Statement, VALUES_PER_SELECT, database_record, now};
use crate::{StoreError, TextHash};

/// Time after which the use of a vector is recorded again: far less than the retention, and far more than the interval
/// between two uses while documentation is edited.
const TOUCHED: SignedDuration = SignedDuration::from_hours(1);

/// `written_at` is the time of writing or of the last recorded use; the retention depends on it.
const REMEMBER: &str = "INSERT INTO vectors (model, text, written_at, vector) VALUES ($1, $2, $3, $4) \
    ON CONFLICT (model, text) DO UPDATE SET written_at = excluded.written_at";

const KNOWN: &str = "SELECT text, vector, written_at FROM vectors WHERE model = ";

const TOUCH: &str = "UPDATE vectors SET written_at = $3 WHERE model = $1 AND text = $2";

database_record! {
    struct VectorRow {
        text: Vec<u8>,
        vector: Vec<u8>,
        written_at: i64,
    }
}

impl Database {
    /// See [`crate::Vectors::load`].
    pub(crate) async fn cached_vectors(
        &self,
        model: &str,
        texts: &[TextHash],
    ) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let mut cached: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
        let mut aged = Vec::new();
        let young = Timestamp::now().saturating_sub(TOUCHED).unwrap_or(Timestamp::MIN);
        for texts in texts.chunks(VALUES_PER_SELECT) {
            let mut query = Statement::beginning(KNOWN);
            query.push_bind(model).push(" AND text IN ").push_tuple(texts.iter().map(|text| &text[..]));
            for row in self.fetch_all::<VectorRow>(query).await? {
                if row.written_at < young.as_millisecond() {
                    aged.push(row.text.clone());
                }
                cached.insert(row.text, row.vector);
            }
        }
        // The result is valid even if this fails; the next write reports an unavailable store.
        let _ = self.touch(model, aged).await;
        // The list may contain a text more than once.
        Ok(texts.iter().map(|text| cached.get(&text[..]).cloned()).collect())
    }

    /// Records that vectors are in use.
    async fn touch(&self, model: &str, mut texts: Vec<Vec<u8>>) -> Result<(), StoreError> {
        if texts.is_empty() {
            return Ok(());
        }
        // All replicas lock the rows in the same order, which prevents deadlocks.
        texts.sort_unstable();
        let mut transaction = self.begin(Lock::Rows).await?;
        for text in &texts {
            transaction.execute(Statement::new(TOUCH).bind(model).bind(&text[..]).bind(now())).await?;
        }
        transaction.commit().await
    }

    /// See [`crate::Vectors::save`].
    pub(crate) async fn remember_vectors(
        &self,
        model: &str,
        vectors: &[(TextHash, Vec<u8>)],
    ) -> Result<(), StoreError> {
        let mut sorted: Vec<_> = vectors.iter().collect();
        sorted.sort_by_key(|(text, _)| *text);
        let mut transaction = self.begin(Lock::Rows).await?;
        for (text, vector) in sorted {
            let remember = Statement::new(REMEMBER).bind(model).bind(&text[..]).bind(now()).bind(&vector[..]);
            transaction.execute(remember).await?;
        }
        transaction.commit().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ages;
    use crate::contract::on_every_database;

    fn hash(number: u32) -> TextHash {
        let mut hash = [0; 32];
        hash[..4].copy_from_slice(&number.to_le_bytes());
        hash
    }

    on_every_database! {
        async fn a_model_finds_its_own_vectors_in_the_order_of_the_texts(store: Database) {
            let vectors: Vec<(TextHash, Vec<u8>)> = (0..1_200).map(|number| (hash(number), vec![number as u8])).collect();
            store.remember_vectors("a", &vectors).await.unwrap();
            store.remember_vectors("b", &[(hash(3), vec![99])]).await.unwrap();
            let texts: Vec<TextHash> = (0..1_300).rev().chain([7]).map(hash).collect();
            let cached = store.cached_vectors("a", &texts).await.unwrap();
            assert_eq!(cached.len(), 1_301);
            assert!(cached[..100].iter().all(Option::is_none));
            assert_eq!(cached[100], Some(vec![1_199_u32 as u8]));
            assert_eq!((&cached[1_299], &cached[1_300]), (&Some(vec![0]), &Some(vec![7])));
            assert_eq!(store.cached_vectors("b", &[hash(3), hash(4)]).await.unwrap(), [Some(vec![99]), None]);
        }

        async fn used_vectors_do_not_expire(store: Database) {
            let all: Vec<(TextHash, Vec<u8>)> = (0..3).map(|number| (hash(number), vec![1])).collect();
            store.remember_vectors("a", &all).await.unwrap();
            store.execute(Statement::new("UPDATE vectors SET written_at = 0")).await.unwrap();
            store.cached_vectors("a", &[hash(1)]).await.unwrap();
            store.remember_vectors("a", &[(hash(2), vec![9])]).await.unwrap();
            let before = Timestamp::now().saturating_sub(SignedDuration::from_hours(24)).unwrap();
            assert_eq!(store.expire(Ages { before: Some(before), unknown_before: None }, 10).await, Ok(1));
            let cached = store.cached_vectors("a", &[hash(0), hash(1), hash(2)]).await.unwrap();
            assert_eq!(cached, [None, Some(vec![1]), Some(vec![1])]);
        }

        async fn cached_vectors_are_kept_and_old_ones_expire(store: Database) {
            store.remember_vectors("a", &[(hash(1), vec![1])]).await.unwrap();
            store.remember_vectors("a", &[(hash(1), vec![2]), (hash(2), vec![2])]).await.unwrap();
            assert_eq!(store.cached_vectors("a", &[hash(1)]).await.unwrap(), [Some(vec![1])]);
            let ages = Ages { before: Some(Timestamp::MAX), unknown_before: None };
            assert_eq!(store.expire(ages, 10).await, Ok(2));
            assert_eq!(store.cached_vectors("a", &[hash(1)]).await.unwrap(), [None]);
        }
    }
}
