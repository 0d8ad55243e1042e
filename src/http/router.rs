//! Routes of both listeners.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{any, get, post, put};
use tower_http::catch_panic::CatchPanicLayer;

use callwright_types::{Lesson, Procedure};

use super::request_guard::{GuardedRouter, RequestGuard};
use super::state::{ClientSide, OperatorSide};
use super::{admin, console, error, fallback, feedback, health, layers, models, pass_through, turns};

/// Builds the client listener's router, for OpenAI clients. Its paths have been normalised by `path.rs`.
pub fn client_router(state: ClientSide, guard: RequestGuard) -> GuardedRouter {
    let metrics = state.metrics.clone();
    let router = Router::new()
        .route("/v1/chat/completions", post(turns::completions).fallback(pass_through::pass))
        .route("/openai/deployments/{model}/chat/completions", post(turns::deployment))
        .route("/v1/responses", post(turns::responses).fallback(pass_through::pass))
        .route("/v1/messages", post(turns::messages).fallback(pass_through::pass))
        .route("/v1/models", get(models::list).fallback(pass_through::pass))
        .route("/v1/feedback", post(feedback::give))
        .route("/v1/{*path}", any(pass_through::pass))
        .fallback(fallback::no_such_client_route)
        .method_not_allowed_fallback(fallback::no_such_client_method)
        // The first layer is the outermost; as a tuple they cost one box per request.
        .layer((from_fn_with_state(metrics, layers::measure), CatchPanicLayer::custom(error::panicked)))
        .with_state(state);
    guard.before(router)
}

/// Builds the operator listener's router: health, metrics, administration. Routes above `layers::authorize_operator` require
/// the operator token.
pub fn operator_router(state: OperatorSide, guard: RequestGuard) -> GuardedRouter {
    let router = Router::new()
        .route("/metrics", get(health::metrics))
        .route("/admin/approvals", get(admin::approvals::list))
        .route("/admin/approvals/events", get(admin::approval_events::events))
        .route("/admin/approvals/{id}", get(admin::approvals::show))
        .route("/admin/approvals/{id}/approve", post(admin::approvals::decide::<true>))
        .route("/admin/approvals/{id}/deny", post(admin::approvals::decide::<false>))
        .route("/admin/switch", get(admin::switch::show).post(admin::switch::throw))
        .route("/admin/toolsets", get(admin::tools::toolsets))
        .route("/admin/toolsets/{toolset}", get(admin::tools::report))
        .route("/admin/tools", get(admin::tools::list))
        .route("/admin/tools/usage", get(admin::overview::tool_usage))
        .route("/admin/tools/{toolset}/{tool}", get(admin::tools::show))
        .route("/admin/tools/{toolset}/{tool}/representation", put(admin::tools::write).delete(admin::tools::take_back))
        .route("/admin/tools/{toolset}/{tool}/representation/preview", post(admin::tools::preview))
        .route("/admin/policies", get(admin::policies::list))
        .route("/admin/policies/explain", post(admin::policies::explain))
        .route("/admin/shadow", get(admin::shadow::show))
        .route("/admin/upstreams", get(admin::upstreams::list))
        .route("/admin/lessons", get(admin::memory::list::<Lesson>))
        .route("/admin/lessons/{id}", get(admin::memory::show::<Lesson>))
        .route("/admin/lessons/{id}/retire", post(admin::memory::retire::<Lesson>))
        .route("/admin/lessons/{id}/approve", post(admin::memory::approve::<Lesson>))
        .route("/admin/procedures", get(admin::memory::list::<Procedure>))
        .route("/admin/procedures/{id}", get(admin::memory::show::<Procedure>))
        .route("/admin/procedures/{id}/retire", post(admin::memory::retire::<Procedure>))
        .route("/admin/procedures/{id}/approve", post(admin::memory::approve::<Procedure>))
        .route("/admin/keys", get(admin::keys::list).post(admin::keys::create))
        .route("/admin/keys/{id}", get(admin::keys::show).patch(admin::keys::update))
        .route("/admin/keys/{id}/rotate", post(admin::keys::rotate))
        .route("/admin/keys/{id}/revoke", post(admin::keys::revoke))
        .route("/admin/overview", get(admin::overview::show))
        .route("/admin/sessions", get(admin::overview::sessions))
        .route("/admin/traces", get(admin::traces::list))
        .route("/admin/traces/{id}", get(admin::traces::show))
        .route("/admin/traces/{id}/mark", post(feedback::mark))
        .layer(DefaultBodyLimit::max(admin::MAX_BODY))
        // Routes above are for operators only; those below disclose nothing confidential.
        .route_layer(from_fn_with_state(state.token.clone(), layers::authorize_operator))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/", get(console::redirect))
        .route("/console", get(console::page))
        .route("/console/{file}", get(console::file))
        .fallback(fallback::no_such_operator_route)
        .method_not_allowed_fallback(fallback::no_such_method)
        .layer((from_fn(layers::forbid_caching), CatchPanicLayer::custom(error::panicked)))
        .with_state(state);
    guard.before(router)
}
