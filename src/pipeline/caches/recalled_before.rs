//! Cache of the lessons that were appended to user messages.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use callwright_common::cache::{ByteCache, Usage};
use callwright_common::digest::{add_part, hex};
use callwright_types::Lesson;
use callwright_types::memory::Recalled;

/// Lessons by user message. A message keeps its lessons, so the sent conversation does not change and prompt caches
/// stay valid. The cache is bounded and lost with the process.
#[derive(Debug, Clone)]
pub(crate) struct RecalledBefore {
    messages: ByteCache<String, Arc<RecalledNotes>>,
}

/// The lessons of a message. Contains no text of a request: the wording about a client's own tools is created from each
/// request's own schemas, so it cannot leak to another request with an equal message.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RecalledNotes {
    /// The shown lessons, best first.
    pub(crate) shown: Vec<Arc<Lesson>>,
    /// Whether the model is informed if there is no lesson.
    pub(crate) tell_none: bool,
    /// The lessons found, including those withheld.
    pub(crate) lessons: Vec<Recalled>,
}

impl RecalledNotes {
    fn weight(&self) -> usize {
        let lessons = self.lessons.iter().map(|lesson| lesson.id.len() + size_of::<Recalled>());
        let shown = self.shown.iter().map(|lesson| lesson.key.len() + lesson.value.len() + size_of::<Lesson>());
        lessons.sum::<usize>() + shown.sum::<usize>()
    }
}

impl RecalledBefore {
    /// Creates an empty cache of at most this many bytes; the latest messages stay.
    pub(crate) fn new(bytes: u64) -> Self {
        Self { messages: ByteCache::new(bytes, |key, shown| key.len() + shown.weight()) }
    }

    /// Returns the cached lessons of a message.
    pub(crate) fn of(&self, key: &str) -> Option<Arc<RecalledNotes>> {
        self.messages.get(key)
    }

    /// Stores the lessons of a message.
    pub(crate) fn remember(&self, key: String, shown: Arc<RecalledNotes>) {
        self.messages.insert(key, shown);
    }

    /// Whether the cache is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns the cache usage.
    pub(crate) fn usage(&self) -> Usage {
        self.messages.usage()
    }
}

/// Returns the key of a message: its scope, the session, its index among the user's messages, and its text. Without a
/// session, equal messages at equal places share an entry.
pub(crate) fn message_key(scope: &str, session: Option<&str>, ordinal: usize, text: &str) -> String {
    let mut hash = Sha256::new();
    for part in [scope, session.unwrap_or_default(), &ordinal.to_string(), text] {
        add_part(&mut hash, part.as_bytes());
    }
    hex(&hash.finalize())
}
