//! The Responses and the Messages protocol: both are served like chat completions, in their own form.

mod api;
mod clean;
mod credentials;
mod deviations;
mod doubtful;
mod equality;
mod errors;
mod feedback;
mod long_streams;
mod messages_api;
mod messages_stream;
mod modes;
mod official_clients;
mod outcomes;
mod paths;
mod planned;
mod programs;
mod repairs;
mod responses_api;
mod responses_stream;
mod sse;
mod state;
mod tool_forms;
mod tool_kinds;
mod toolsets;
mod unknown_parameters;
