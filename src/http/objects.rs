//! Objects that the provider stores, such as files and responses. All keys share the provider's account: the request of a
//! key may name only its own objects, and those that its answers hand out become its own.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use futures_util::{StreamExt, stream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::keys::{self, Access, KnownKey, OwnedObject};
use callwright_telemetry::labels::KeyResult;
use callwright_types::Protocol;
use callwright_wire::{
    AnswerObjects, FinishedResponse, HandedOut, ObjectKind, ObjectList, ObjectPath, ObjectReader, ObjectReference,
    form_references, handed_out, is_kept, unknown_object,
};

use super::error::{self, Refusal};
use super::forwarded::WholeAnswer;
use super::state::ClientSide;
use super::{batch_input, json};

/// Maximum time that the end of an answer waits for the store. The write goes on after it.
const WRITE_TIME: Duration = Duration::from_secs(2);

/// Maximum size of an event whose objects are recorded.
const MAX_EVENT_BYTES: usize = 32 * 1024 * 1024;

/// Maximum number of the provider's pages that are read for one page of a key's own objects.
const MAX_PAGES: usize = 20;

/// Member that names the input file of a batch.
const INPUT_FILE: &str = "input_file_id";

/// Header field of requests of Anthropic's API, whose errors have another form.
const ANTHROPIC_VERSION: &str = "anthropic-version";

/// An object that a request names.
struct NamedObject<'a> {
    id: &'a str,
    kind: ObjectKind,
    /// Member of the body; `None` for the path.
    member: Option<&'static str>,
    is_needed: bool,
    /// Whether objects that all keys share are permitted.
    may_be_shared: bool,
}

impl<'a> From<&'a ObjectReference> for NamedObject<'a> {
    fn from(reference: &'a ObjectReference) -> Self {
        let ObjectReference { id, kind, member, is_needed } = reference;
        Self { id, kind: *kind, member: Some(member), is_needed: *is_needed, may_be_shared: true }
    }
}

/// Records the objects of the answer to an admitted request.
#[derive(Debug)]
pub(super) struct ObjectRecorder {
    access: Arc<Access>,
    known: Arc<KnownKey>,
    objects: AnswerObjects,
    /// Ids that the request named. An answer that repeats them does not hand them out.
    named: BTreeSet<String>,
}

/// Checks the objects that the request of a turn names. Returns the recorder of its answer, if that may have objects.
///
/// # Errors
/// The response to a request that names an object of another key.
pub(super) async fn of_turn(
    side: &ClientSide,
    caller: &keys::Caller,
    protocol: Protocol,
    body: &Bytes,
) -> Result<Option<ObjectRecorder>, Refusal> {
    let Some(known) = caller else { return Ok(None) };
    let references = referenced(side, known, body).await?;
    let named: Vec<NamedObject<'_>> = references.iter().map(Into::into).collect();
    check(side, known, protocol, &named).await?;
    let objects = AnswerObjects::of_turn(protocol, is_kept(protocol, body));
    let is_idle = objects.is_none(protocol, body);
    Ok((!is_idle).then(|| ObjectRecorder::new(side, known, objects, &named)))
}

/// A request of a key that is passed through.
#[derive(Debug, Clone, Copy)]
pub(super) struct PassedRequest<'a> {
    pub(super) method: &'a Method,
    /// Path below `/v1`.
    pub(super) path: &'a str,
    /// The path, if it is below a collection of objects.
    pub(super) object: Option<&'a ObjectPath<'a>>,
    pub(super) headers: &'a HeaderMap,
}

impl PassedRequest<'_> {
    /// Whether the body must be read before it is sent, because it may name objects.
    pub(super) fn names_objects(&self) -> bool {
        let is_upload = self.object.is_some_and(|path| {
            let is_part = path.kind == ObjectKind::Upload && path.id.is_some() && self.is_form();
            (path.kind == ObjectKind::File && path.is_collection && self.is_form()) || is_part
        });
        (self.object.is_some() && !is_upload) || (self.object.is_none() && json::is_json(self.headers))
    }

    fn creates_batch(&self) -> bool {
        self.method == Method::POST
            && self.object.is_some_and(|path| path.kind == ObjectKind::Batch && path.is_collection)
    }

    fn is_form(&self) -> bool {
        self.content_type().get(.."multipart/".len()).is_some_and(|kind| kind.eq_ignore_ascii_case("multipart/"))
    }

    fn content_type(&self) -> &str {
        self.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default()
    }

    /// Protocol of the turns at this path; `None` for other endpoints.
    fn turns(&self) -> Option<Protocol> {
        let is_turn = |protocol: &Protocol| self.method == Method::POST && self.path == protocol.path();
        Protocol::ALL.into_iter().find(is_turn)
    }

    fn protocol(&self) -> Protocol {
        let is_messages = self.headers.contains_key(ANTHROPIC_VERSION);
        if is_messages { Protocol::Messages } else { self.turns().unwrap_or(Protocol::Responses) }
    }

    /// Returns the objects of the answer; `None` if it has none, or none that becomes the key's own.
    fn answer_objects(&self, body: &[u8]) -> Option<AnswerObjects> {
        match (self.turns(), self.object) {
            (Some(protocol), _) => Some(AnswerObjects::of_turn(protocol, is_kept(protocol, body))),
            (None, Some(path)) if !path.is_content() => Some(AnswerObjects::of_path(path, self.method == Method::POST)),
            _ => None,
        }
    }
}

/// Checks the objects that the path and the body of a passed-through request name; `body` is absent if it is not read.
/// Returns the recorder of the answer, if that may have objects.
///
/// # Errors
/// The response to a request that names an object of another key, or whose body cannot be searched.
pub(super) async fn of_passed(
    side: &ClientSide,
    known: &Arc<KnownKey>,
    request: PassedRequest<'_>,
    body: Option<&Bytes>,
) -> Result<Option<ObjectRecorder>, Refusal> {
    let content = body.filter(|body| !body.is_empty());
    let references = match content {
        None => Vec::new(),
        Some(_) if request.headers.get(CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") => {
            let message = "an encoded request body is not supported here; send it without `content-encoding`";
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return Err(error::invalid_request(status, message, "unsupported_media_type").into());
        }
        Some(body) if request.is_form() => {
            form_references(request.content_type(), body).map_err(|fault| error::invalid_body(fault.to_string()))?
        }
        Some(body) => referenced(side, known, body).await?,
    };
    let mut named: Vec<NamedObject<'_>> = references.iter().map(Into::into).collect();
    let may_be_shared = matches!(*request.method, Method::GET | Method::HEAD);
    if let Some(path) = request.object {
        let in_path = |id, kind, is_needed| NamedObject { id, kind, member: None, is_needed, may_be_shared };
        named.extend(path.id.map(|id| in_path(id, path.kind, true)));
        // A part of an own object is the key's own; its id may be the client's.
        named.extend(path.parts().map(|id| in_path(id, path.part, false)));
    }
    let are_own = check(side, known, request.protocol(), &named).await?;
    if request.creates_batch() {
        for file in references.iter().filter(|reference| reference.member == INPUT_FILE) {
            let inner = batch_input::references(side, known, &file.id, request.headers).await?;
            let inner: Vec<NamedObject<'_>> = inner.iter().map(Into::into).collect();
            check(side, known, request.protocol(), &inner).await?;
        }
    }
    let objects = request.answer_objects(content.map_or(&[][..], |body| body));
    // What belongs to an object of unknown origin or to a shared one does not become the key's own.
    let objects = objects.filter(|_| are_own || request.object.is_none_or(|path| path.id.is_none()));
    Ok(objects.map(|objects| ObjectRecorder::new(side, known, objects, &named)))
}

/// Returns the objects that a JSON body names.
async fn referenced(side: &ClientSide, known: &KnownKey, body: &Bytes) -> Result<Vec<ObjectReference>, Refusal> {
    let references = side.pipeline.object_references(known, body).await;
    Ok(references.map_err(|fault| error::invalid_body(fault.to_string()))?)
}

/// Checks that a key may use these objects. Returns whether those of the path are its own.
async fn check(
    side: &ClientSide,
    known: &KnownKey,
    protocol: Protocol,
    named: &[NamedObject<'_>],
) -> Result<bool, Refusal> {
    let owners = side.access.objects();
    let relations = owners.relations(known, named.iter().map(|object| object.id)).await?;
    let mut are_own = true;
    for object in named {
        let Some(relation) = relations.get(object.id) else { continue };
        let is_hidden = *relation == keys::Ownership::Shared && !object.may_be_shared;
        if is_hidden || !owners.admits(*relation, object.is_needed) {
            side.metrics.key_requests.inc(&known.key().group, KeyResult::RefusedObject);
            let (status, unknown) = unknown_object(protocol, object.kind, object.id, object.member);
            return Err(error::in_form(protocol, error::response(status, &unknown)).into());
        }
        are_own &= object.member.is_some() || !object.is_needed || *relation == keys::Ownership::Own;
    }
    Ok(are_own)
}

impl ObjectRecorder {
    fn new(side: &ClientSide, known: &Arc<KnownKey>, objects: AnswerObjects, named: &[NamedObject<'_>]) -> Self {
        let named = named.iter().map(|object| object.id.to_owned()).collect();
        Self { access: Arc::clone(&side.access), known: Arc::clone(known), objects, named }
    }

    /// Records the objects of a complete answer.
    pub(super) async fn record(&self, status: StatusCode, body: &[u8]) {
        if status.is_success() {
            let objects = self.fresh(handed_out(body, self.objects));
            if let Some(write) = self.write(objects) {
                finish([write]).await;
            }
        }
    }

    fn fresh(&self, objects: Vec<HandedOut>) -> Vec<OwnedObject> {
        let fresh = objects.into_iter().filter(|object| !self.named.contains(&object.id));
        fresh.map(|HandedOut { id, kind }| OwnedObject { id, expires: kind.is_passing() }).collect()
    }

    /// Begins to store objects, in a task of its own: the client may disconnect, and the answer does not wait.
    fn write(&self, objects: Vec<OwnedObject>) -> Option<JoinHandle<()>> {
        let (access, known) = (Arc::clone(&self.access), Arc::clone(&self.known));
        let is_empty = objects.is_empty();
        let write = async move { access.objects().record(&known, objects).await };
        (!is_empty).then(|| tokio::spawn(write))
    }

    /// Returns a streamed body whose objects are recorded: each is written when its event arrives, and the last event waits
    /// for the store.
    pub(super) fn recorded(self, body: Body) -> Body {
        let reader = ObjectReader::new(self.objects, MAX_EVENT_BYTES);
        let recording = Recording { body: body.into_data_stream(), recorder: self, reader, writes: Vec::new() };
        Body::from_stream(stream::unfold(recording, |mut recording| async move {
            let piece = recording.next().await?;
            Some((piece, recording))
        }))
    }

    /// Records the objects of a complete passed-through answer, and counts a response in the background that has ended.
    pub(super) async fn complete(&self, status: StatusCode, body: &[u8]) {
        self.record(status, body).await;
        if let Some(finished) = FinishedResponse::parse(body) {
            self.settle(finished).await;
        }
    }

    /// Counts a response in the background that the client fetched, once.
    async fn settle(&self, finished: FinishedResponse) {
        if self.named.contains(&finished.id) {
            self.access.settle(&finished.id, finished.usage).await;
        }
    }

    /// Removes the owner of an object that the provider deleted.
    pub(super) async fn forget(&self, path: &ObjectPath<'_>) {
        if let Some(id) = path.id.filter(|_| path.rest.is_empty()) {
            self.access.objects().forget(id).await;
        }
    }
}

/// Waits for writes, but not longer than [`WRITE_TIME`].
async fn finish(writes: impl IntoIterator<Item = JoinHandle<()>>) {
    let writes = async {
        for write in writes {
            // A write that panicked has been reported.
            let _ = write.await;
        }
    };
    let _ = timeout(WRITE_TIME, writes).await;
}

/// A stream whose objects are recorded.
struct Recording {
    body: BodyDataStream,
    recorder: ObjectRecorder,
    reader: ObjectReader,
    writes: Vec<JoinHandle<()>>,
}

impl Recording {
    async fn next(&mut self) -> Option<Result<Bytes, axum::Error>> {
        let piece = self.body.next().await;
        let Some(Ok(bytes)) = &piece else {
            finish(self.writes.drain(..)).await;
            return piece;
        };
        let read = self.reader.read(bytes.clone());
        if let Some(finished) = read.finished {
            self.recorder.settle(finished).await;
        }
        let objects = self.recorder.fresh(read.objects);
        // The later events of an answer repeat its objects.
        self.recorder.named.extend(objects.iter().map(|object| object.id.clone()));
        self.writes.extend(self.recorder.write(objects));
        if read.is_last {
            finish(self.writes.drain(..)).await;
        }
        piece
    }
}

/// Returns the list at a collection's path with the key's own objects only. Reads further pages of the provider until the
/// page has as many entries as the provider's.
///
/// # Errors
/// The response for a failure of the upstream or of the store.
pub(super) async fn list(
    side: &ClientSide,
    known: &Arc<KnownKey>,
    path_and_query: &str,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
    let (mut answer, list) = page(side, known, path_and_query.to_owned(), headers.clone()).await?;
    let Some((mut list, limit)) = list else { return Ok(answer.into_response()) };
    let is_backward = parameters(query).any(|(name, _)| name.starts_with("before"));
    for _ in 1..MAX_PAGES {
        let Some(cursor) = list.next().filter(|_| list.len() < limit && !is_backward) else { break };
        let further = format!("{path}?{}", continued(query, cursor));
        let (_, Some((next, _))) = page(side, known, further, headers.clone()).await? else { break };
        list.append(next);
    }
    answer.body = list.into_bytes(limit);
    if let Some(path) = ObjectPath::parse(path) {
        let recorder = ObjectRecorder::new(side, known, AnswerObjects::of_path(&path, false), &[]);
        recorder.record(answer.status, &answer.body).await;
    }
    Ok(answer.into_response())
}

/// Requests a page of a list. Also returns its entries that the key may use, and the number of all; `None` for an error of
/// the provider.
async fn page(
    side: &ClientSide,
    known: &KnownKey,
    path_and_query: String,
    headers: HeaderMap,
) -> Result<(WholeAnswer, Option<(ObjectList, usize)>), Refusal> {
    let answer = WholeAnswer::of_list(side, path_and_query, headers).await?;
    if !answer.status.is_success() {
        return Ok((answer, None));
    }
    // A list that cannot be read may have objects of other keys.
    let mut list = ObjectList::parse(&answer.body).ok_or_else(|| {
        let message = "the provider's list cannot be read, so that it is not known which entries the key may see";
        error::invalid_request(StatusCode::BAD_GATEWAY, message, "unreadable_list")
    })?;
    let all = list.len();
    let owners = side.access.objects();
    let ids: Vec<String> = list.ids().map(str::to_owned).collect();
    let relations = owners.relations(known, ids.iter().map(String::as_str)).await?;
    list.retain(|id| relations.get(id).is_some_and(|relation| owners.admits(*relation, true)));
    Ok((answer, Some((list, all))))
}

/// Returns a query that continues the list behind an entry.
fn continued(query: &str, (member, last): (&'static str, &str)) -> String {
    let mut continued = url::form_urlencoded::Serializer::new(String::new());
    continued.extend_pairs(parameters(query).filter(|(name, _)| name != member));
    continued.append_pair(member, last).finish()
}

fn parameters(query: &str) -> url::form_urlencoded::Parse<'_> {
    url::form_urlencoded::parse(query.as_bytes())
}
