//! The Responses and the Messages protocol: both are served like chat completions, in their own form.

mod api;
mod clean;
mod equality;
mod errors;
mod feedback;
mod messages_api;
mod messages_stream;
mod official_clients;
mod paths;
mod repairs;
mod responses_api;
mod responses_stream;
mod sse;
mod tool_kinds;
mod toolsets;
