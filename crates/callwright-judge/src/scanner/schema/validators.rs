//! The cache of compiled schemas.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde_json::Value;

use super::{CompiledSchema, SharedSchema};
use crate::scanner::Settings;
use callwright_common::cache::{ByteCache, Usage};

/// Bytes of memory that a compiled schema takes for each byte of its text, and besides: measured on tools of agents, text included.
const COMPILED_BYTES_PER_BYTE: usize = 40;
const COMPILED_BYTES: usize = 2 * 1024;

/// Compiled JSON Schemas by their text, so that a schema is compiled once however many turns offer it.
///
/// Cheap to clone; clones share one cache.
#[derive(Debug, Clone)]
pub struct Validators {
    cache: ByteCache<String, SharedSchema>,
    max_schema_bytes: usize,
}

impl Validators {
    /// An empty cache.
    pub fn new(settings: &Settings) -> Self {
        let weigh = |text: &String, _: &SharedSchema| COMPILED_BYTES + text.len() * COMPILED_BYTES_PER_BYTE;
        Self {
            cache: ByteCache::new(settings.validator_cache_bytes, weigh),
            max_schema_bytes: settings.max_schema_bytes,
        }
    }

    /// The compiled form of `schema`: from the cache, or compiled now.
    pub(crate) fn get(&self, schema: &Value) -> SharedSchema {
        let text = schema.to_string();
        if text.len() > self.max_schema_bytes {
            let problem = format!(
                "the schema judges nothing: it has {} bytes, the limit is {}",
                text.len(),
                self.max_schema_bytes
            );
            // Kept under a key of its own length: the text would take the room of a hundred schemas.
            return self.cache.get_with(key_of(&text), || Arc::new(CompiledSchema::unread(problem)));
        }
        self.cache.get_with(text, || Arc::new(CompiledSchema::compile(schema)))
    }

    /// How much is cached.
    pub fn usage(&self) -> Usage {
        self.cache.usage()
    }
}

/// A key that is no JSON text.
fn key_of(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("unread {:016x}", hasher.finish())
}

impl Default for Validators {
    fn default() -> Self {
        Self::new(&Settings::default())
    }
}
