//! Classification of tools by their names.

use crate::names;

/// Words in the names of tools that are made for repeated calls: they wait, watch, step on, or act again each time.
const REPEATABLE: [&str; 48] = [
    "wait", "sleep", "poll", "check", "status", "watch", "monitor", "refresh", "reload", "progress", "next",
    "previous", "prev", "back", "forward", "continue", "step", "scroll", "page", "press", "key", "click", "tap",
    "swipe", "type", "screenshot", "observe", "snapshot", "read", "tail", "pop", "dequeue", "receive", "listen",
    "roll", "random", "flip", "draw", "shuffle", "spin", "toss", "generate", "increment", "decrement", "now", "time",
    "toggle", "undo",
];

pub(super) fn is_made_to_be_repeated(name: &str) -> bool {
    names::words(name).iter().any(|word| REPEATABLE.contains(&word.as_str()))
}

/// Words in the names of tools that perform an action with each call, regardless of their result.
const ACTING: [&str; 34] = [
    "accelerate", "add", "advance", "append", "attack", "brake", "buy", "consume", "decrease", "deposit", "dig",
    "drop", "eat", "feed", "fire", "go", "increase", "insert", "jump", "move", "notify", "pay", "play", "push", "put",
    "rotate", "say", "send", "shift", "speak", "transfer", "turn", "walk", "withdraw",
];

/// Whether every call of the tool performs an action.
pub(super) fn acts(name: &str) -> bool {
    names::words(name).iter().any(|word| ACTING.contains(&word.as_str()))
}
