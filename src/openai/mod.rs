//! The wire format of OpenAI's chat completions: requests, answers, server-sent events.
//!
//! The only room that knows OpenAI JSON. Owns reading and editing it without losing what it does not understand. Must not do I/O
//! or decide anything about a turn.
