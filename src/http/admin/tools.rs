//! `GET /admin/toolsets`, `GET /admin/toolsets/{toolset}`, `GET /admin/tools`, `GET /admin/tools/{toolset}/{tool}`: load
//! reports of documents, and tools as models see them. `PUT`, `DELETE` and `POST .../preview` of
//! `/admin/tools/{toolset}/{tool}/representation` edit a tool's representation.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::http::error::{self, Refusal};
use crate::http::json::{Answer, Json, ParsedQuery, Sent, SentBody};
use crate::http::state::OperatorSide;
use crate::pipeline::{Editing, Inspection, ToolShown};
use callwright_store::MAX_PAGE;

/// Query of a list of tools.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::http) struct ToolsQuery {
    /// Only tools of this toolset.
    toolset: Option<String>,
    /// Only tools with this text in their name or operation.
    name: String,
    /// Number of tools per page.
    limit: Option<usize>,
    /// Number of tools to skip: `next` of the previous page.
    after: usize,
}

pub(in crate::http) async fn toolsets(State(side): State<OperatorSide>) -> Json<impl Serialize> {
    Json(json!({"toolsets": side.pipeline.inspect().toolsets()}))
}

/// Returns the load report of a toolset's document.
pub(in crate::http) async fn report(
    State(side): State<OperatorSide>,
    Path(toolset): Path<String>,
) -> Result<Response, Refusal> {
    let inspection = side.pipeline.inspect();
    let report = inspection.report(&toolset);
    let report = report.ok_or_else(|| error::not_found(format!("there is no toolset `{toolset}`")))?;
    Ok(Json(report).into_response())
}

/// Returns a page of tools, by toolset, in the order of their documents.
pub(in crate::http) async fn list(
    State(side): State<OperatorSide>,
    ParsedQuery(ToolsQuery { toolset, name, limit, after }): ParsedQuery<ToolsQuery>,
) -> Json<impl Serialize> {
    let limit = limit.unwrap_or(100).clamp(1, MAX_PAGE as usize);
    let (tools, total) = side.pipeline.inspect().tools(toolset.as_deref(), &name, after, limit);
    let next = after.saturating_add(tools.len());
    let mut page = json!({"tools": tools, "total": total});
    if next < total && !tools.is_empty() {
        page["next"] = json!(next.to_string());
    }
    Json(page)
}

/// A tool, and the source of its representation.
#[derive(Serialize)]
struct ToolDetails {
    #[serde(flatten)]
    tool: ToolShown,
    /// Time at which the shared representation was written; `None` if there is no shared one.
    #[serde(skip_serializing_if = "Option::is_none")]
    shared_at: Option<Timestamp>,
}

/// Toolset and tool, as the path names them.
type ToolPath = Path<(String, String)>;

/// Returns one tool in full.
pub(in crate::http) async fn show(
    State(side): State<OperatorSide>,
    Path((toolset, tool)): ToolPath,
) -> Answer<impl Serialize> {
    let inspection = side.pipeline.inspect();
    let id = Inspection::shared_id(&toolset, &tool);
    let unknown = unknown(&toolset, &tool);
    // The search traverses the whole catalog and must not block the runtime.
    let found = tokio::task::spawn_blocking(move || inspection.tool(&toolset, &tool)).await;
    let found = found.map_err(|error| error::internal(format!("inspecting the tool failed: {error}")))?;
    let tool = found.ok_or(unknown)?;
    // The rest of the response is useful without the store.
    let shared = side.store.representations().find(&id).await.ok().flatten();
    Ok(Json(ToolDetails { tool, shared_at: shared.map(|shared| shared.updated_at) }))
}

/// Returns what models would see with these patterns; changes nothing.
pub(in crate::http) async fn preview(
    State(side): State<OperatorSide>,
    Path((toolset, tool)): ToolPath,
    Sent(body): Sent<PatternsBody>,
) -> Answer<impl Serialize> {
    let Editing { shown, .. } = edited(&side, &toolset, &tool, body)?;
    Ok(Json(json!({"shown": shown})))
}

/// Stores patterns that take precedence over those of files, on all replicas.
pub(in crate::http) async fn write(
    State(side): State<OperatorSide>,
    Path((toolset, tool)): ToolPath,
    Sent(body): Sent<PatternsBody>,
) -> Answer<impl Serialize> {
    let Editing { mut shared, shown } = edited(&side, &toolset, &tool, body)?;
    let representations = side.store.representations();
    // The toolset's ranking was learned together with patterns and is not edited here.
    shared.ranking = representations.find(&shared.id).await?.and_then(|before| before.ranking);
    representations.restore(std::slice::from_ref(&shared)).await?;
    Ok(Json(json!({"shown": shown, "shared_at": shared.updated_at})))
}

/// Removes the shared representation of a tool; that of files applies again.
pub(in crate::http) async fn take_back(
    State(side): State<OperatorSide>,
    Path((toolset, tool)): ToolPath,
) -> Answer<impl Serialize> {
    match side.store.representations().remove(&[Inspection::shared_id(&toolset, &tool)]).await? {
        0 => {
            let message = format!("the tool `{tool}` of the toolset `{toolset}` has no shared representation");
            Err(error::not_found(message).into())
        }
        _ => Ok(Json(json!({"removed": true}))),
    }
}

/// Body of an edited representation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct PatternsBody {
    /// Patterns as in a representation file; an empty list removes those of files.
    patterns: Value,
}

impl SentBody for PatternsBody {
    const NAME: &'static str = "a representation";
    const FORM: &'static str = "the body must be an object with `patterns`, a list";
}

fn edited(side: &OperatorSide, toolset: &str, tool: &str, body: PatternsBody) -> Result<Editing, Refusal> {
    let edited = side.pipeline.inspect().edit(toolset, tool, body.patterns, Timestamp::now());
    let edited = edited.ok_or_else(|| unknown(toolset, tool))?;
    Ok(edited.map_err(|error| error::invalid_body(error.to_string()))?)
}

fn unknown(toolset: &str, tool: &str) -> Response {
    error::not_found(format!("there is no tool `{tool}` in a toolset `{toolset}`"))
}
