//! Input file of a batch: each line has the body of a request, which may name objects.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use bytes::BytesMut;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::keys::KnownKey;
use callwright_upstream::Answer;
use callwright_wire::{MAX_REFERENCES, ObjectReference, UncheckedBody};

use super::error::{self, Refusal};
use super::forwarded::fetch;
use super::state::ClientSide;

/// Maximum time for reading one file. OpenAI permits 200 MB, which needs 2 MB/s.
const MAX_TIME: Duration = Duration::from_secs(100);

/// Limits the files that are read concurrently, because each needs the memory of one line.
static SEARCHES: Semaphore = Semaphore::const_new(2);

/// Returns the objects that the lines of a file at the provider name. The file is read when a batch uses it, because it
/// may have been uploaded in parts.
///
/// # Errors
/// The response for a file that cannot be read, or a line that cannot be searched.
pub(super) async fn references(
    side: &ClientSide,
    known: &KnownKey,
    id: &str,
    headers: &HeaderMap,
) -> Result<Vec<ObjectReference>, Refusal> {
    let search = async {
        let _permit = SEARCHES.acquire().await;
        let mut answer = content(side, id, headers.clone()).await?;
        let mut lines = Lines { side, known, pending: BytesMut::new(), number: 0, references: BTreeMap::new() };
        while let Some(piece) = answer.next().await {
            lines.piece(&piece?).await?;
        }
        lines.end().await
    };
    let result = timeout(MAX_TIME, search).await;
    result.unwrap_or_else(|_| Err(unreadable(&format!("not within {} s", MAX_TIME.as_secs()))))
}

async fn content(side: &ClientSide, id: &str, mut headers: HeaderMap) -> Result<Answer, Refusal> {
    headers.remove(CONTENT_TYPE);
    let path_and_query = format!("/files/{}/content", utf8_percent_encode(id, NON_ALPHANUMERIC));
    let answer = fetch(side, path_and_query, headers).await?;
    if !answer.status.is_success() {
        return Err(unreadable(&format!("the provider returned status {}", answer.status.as_u16())));
    }
    Ok(answer)
}

fn unreadable(reason: &str) -> Refusal {
    let message = format!("the batch's input file cannot be searched for objects of other keys: {reason}");
    error::invalid_request(StatusCode::BAD_GATEWAY, message, "unreadable_input_file").into()
}

/// Lines of a file that arrives in pieces.
struct Lines<'a> {
    side: &'a ClientSide,
    known: &'a KnownKey,
    /// Beginning of a line.
    pending: BytesMut,
    number: usize,
    references: BTreeMap<String, ObjectReference>,
}

impl Lines<'_> {
    async fn piece(&mut self, piece: &[u8]) -> Result<(), Refusal> {
        let mut searched = self.pending.len();
        self.pending.extend_from_slice(piece);
        while let Some(end) = self.pending.get(searched..).and_then(|rest| memchr::memchr(b'\n', rest)) {
            let line = self.pending.split_to(searched + end + 1);
            self.line(line.freeze()).await?;
            searched = 0;
        }
        if self.pending.len() > self.side.body_limit_bytes { Err(self.fault("it is too long")) } else { Ok(()) }
    }

    async fn end(mut self) -> Result<Vec<ObjectReference>, Refusal> {
        let last = self.pending.split();
        self.line(last.freeze()).await?;
        Ok(self.references.into_values().collect())
    }

    async fn line(&mut self, line: Bytes) -> Result<(), Refusal> {
        self.number += 1;
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let found = self.side.pipeline.object_references(self.known, &line).await;
        for reference in found.map_err(|fault| self.fault(&fault.to_string()))? {
            self.references.insert(reference.id.clone(), reference);
        }
        if self.references.len() > MAX_REFERENCES {
            return Err(self.fault(&UncheckedBody::TooMany.to_string()));
        }
        Ok(())
    }

    fn fault(&self, fault: &str) -> Refusal {
        error::invalid_body(format!("line {} of the batch's input file: {fault}", self.number)).into()
    }
}
