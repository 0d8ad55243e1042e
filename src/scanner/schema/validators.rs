//! The cache of compiled schemas.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use moka::sync::Cache;
use serde_json::Value;

use super::{CompiledSchema, SharedSchema};
use crate::scanner::Settings;

/// Compiled JSON Schemas by their text, so that a schema is compiled once however many turns offer it.
///
/// Cheap to clone; clones share one cache.
#[derive(Debug, Clone)]
pub struct Validators {
    cache: Cache<String, SharedSchema>,
    max_schema_bytes: usize,
}

impl Validators {
    /// An empty cache.
    pub fn new(settings: &Settings) -> Self {
        let cache = Cache::builder()
            .max_capacity(settings.validator_cache_bytes)
            .weigher(|text: &String, _: &SharedSchema| u32::try_from(text.len()).unwrap_or(u32::MAX))
            .build();
        Self { cache, max_schema_bytes: settings.max_schema_bytes }
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

    /// How many compiled schemas are kept now, about.
    pub fn len(&self) -> u64 {
        self.cache.entry_count()
    }

    /// Is nothing kept yet?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
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
