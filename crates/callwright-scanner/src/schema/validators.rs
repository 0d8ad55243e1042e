//! Cache of compiled schemas.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde_json::Value;

use super::{CompiledSchema, SharedSchema};
use crate::Settings;
use callwright_common::cache::{ByteCache, Usage};

/// Memory of a compiled schema per byte of its text, and in addition a constant amount. Measured on tools of agents,
/// text included.
const COMPILED_BYTES_PER_BYTE: usize = 40;
const COMPILED_BYTES: usize = 2 * 1024;

/// Cache of compiled JSON Schemas by their text. A schema is compiled once, even if many requests offer it.
///
/// Cheap to clone; clones share one cache.
#[derive(Debug, Clone)]
pub struct Validators {
    cache: ByteCache<String, SharedSchema>,
    max_schema_bytes: usize,
}

impl Validators {
    /// Creates an empty cache.
    pub fn new(settings: &Settings) -> Self {
        let cache = ByteCache::new(settings.validator_cache_bytes, |text: &String, _: &SharedSchema| {
            COMPILED_BYTES + text.len() * COMPILED_BYTES_PER_BYTE
        });
        Self { cache, max_schema_bytes: settings.max_schema_bytes }
    }

    /// Returns the compiled form of `schema`, compiling it if it is not in the cache.
    pub fn get(&self, schema: &Value) -> SharedSchema {
        let text = schema.to_string();
        if text.len() > self.max_schema_bytes {
            let problem = format!(
                "the schema is not used for validation: it has {} bytes, the limit is {}",
                text.len(),
                self.max_schema_bytes
            );
            // Cached under a short key: the text would take the memory of a hundred schemas.
            return self.cache.get_with(key_of(&text), || Arc::new(CompiledSchema::unread(problem)));
        }
        self.cache.get_with(text, || Arc::new(CompiledSchema::compile(schema)))
    }

    /// Returns the cache usage.
    pub fn usage(&self) -> Usage {
        self.cache.usage()
    }
}

/// Returns a hash key that cannot equal a JSON text.
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
