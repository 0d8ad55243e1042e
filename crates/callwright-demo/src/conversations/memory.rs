//! Conversations that use memory of earlier ones.

use super::{DemoConversation, all_ran, nothing_was_sent_back};

/// Conversations that succeed because of lessons from earlier ones.
pub(super) static CONVERSATIONS: [DemoConversation; 1] = [DemoConversation {
    title: "A mistake is not made twice",
    about: "The model once left out the date, was told so, and the call that came in its place worked. That was verified, so it became a \
            lesson, which now stands behind the user's question, and the call is right at once.",
    model: "office",
    question: "Which rooms seat 4 people on 2026-06-04?",
    replies: &[],
    streams_with: None,
    is_planned: false,
    remembers: true,
    promise: |traces| {
        let was_shown = |trace: &callwright_types::Trace| {
            trace.memory.as_ref().is_some_and(|memory| memory.lessons.iter().any(|lesson| !lesson.withheld))
        };
        traces.iter().any(was_shown) && nothing_was_sent_back(traces) && all_ran(traces, 1)
    },
}];
