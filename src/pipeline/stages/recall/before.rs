//! What was shown behind which message of a user before.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use callwright_common::cache::{ByteCache, Usage};
use callwright_common::digest::{add_part, hex};
use callwright_types::Lesson;
use callwright_types::memory::Recalled;

/// What messages of users were shown of memory. A message keeps it, so that the conversation as it was sent before stays as it is, and
/// providers find it in their prompt caches. A hint: it is lost with the process, and bounded.
#[derive(Debug, Clone)]
pub(crate) struct RecalledBefore {
    messages: ByteCache<String, Arc<Shown>>,
}

/// What a message was shown. It holds no text of a request: what a lesson says of a client's own tools is made of each request's own schemas, so
/// that none of them reaches another request with an equal message.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Shown {
    /// The lessons behind the message, best first.
    pub(super) shown: Vec<Arc<Lesson>>,
    /// Whether the model is told where there is none.
    pub(super) tell_none: bool,
    /// The lessons that were found, those that were withheld among them.
    pub(super) lessons: Vec<Recalled>,
}

impl Shown {
    fn weight(&self) -> usize {
        let lessons = self.lessons.iter().map(|lesson| lesson.id.len() + size_of::<Recalled>());
        let shown = self.shown.iter().map(|lesson| lesson.key.len() + lesson.value.len() + size_of::<Lesson>());
        lessons.sum::<usize>() + shown.sum::<usize>()
    }
}

impl RecalledBefore {
    /// Nothing shown yet; at most so many bytes are remembered, of messages that came last.
    pub(crate) fn new(bytes: u64) -> Self {
        Self { messages: ByteCache::new(bytes, |key, shown| key.len() + shown.weight()) }
    }

    /// What a message was shown, where it is remembered.
    pub(super) fn of(&self, key: &str) -> Option<Arc<Shown>> {
        self.messages.get(key)
    }

    /// Takes note of what a message is shown.
    pub(super) fn remember(&self, key: String, shown: Arc<Shown>) {
        self.messages.insert(key, shown);
    }

    /// Is nothing remembered?
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// How much is remembered.
    pub(crate) fn usage(&self) -> Usage {
        self.messages.usage()
    }
}

/// How a message is known again: by whose it is, the session, its place among the user's messages, and its text. Without a session, equal
/// messages at equal places have the same.
pub(crate) fn key(scope: &str, session: Option<&str>, ordinal: usize, text: &str) -> String {
    let mut hash = Sha256::new();
    for part in [scope, session.unwrap_or_default(), &ordinal.to_string(), text] {
        add_part(&mut hash, part.as_bytes());
    }
    hex(&hash.finalize())
}
