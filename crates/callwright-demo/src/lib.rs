//! A scripted model and sample APIs, for `callwright demo` and for tests.
//!
//! Owns its servers (hyper), the script and the transcript. Must not reach into the proxy: it talks HTTP like everyone else,
//! and knows of the other rooms only `domain`, whose trace it renders. It speaks OpenAI JSON without the `openai` room on
//! purpose: a stand-in for a model that shared the proxy's reader would share its mistakes.
//!
//! The way of a demo: [`start`] brings up the model and the APIs and hands out the configuration of a proxy between
//! them; the caller runs a proxy with it; [`play()`] holds the conversations through that proxy and prints what happened.

pub mod client;
mod client_tool;
mod conversations;
mod error;
mod flight_desk;
mod invitation;
mod meeting_rooms;
mod play;
mod route_planner;
mod said;
mod scripted_model;
pub mod server;
mod transcript;
mod world;

pub use error::DemoError;
pub use flight_desk::FlightDesk;
pub use invitation::invite;
pub use meeting_rooms::MeetingRooms;
pub use play::{Played, play};
pub use route_planner::RoutePlanner;
pub use scripted_model::ScriptedModel;
pub use server::Server;
pub use world::{DemoWorld, start};
