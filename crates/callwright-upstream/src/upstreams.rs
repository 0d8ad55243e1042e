//! All configured upstreams.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{BuildError, Settings, Upstream};

/// The upstreams by name, including a default one.
#[derive(Debug, Clone)]
pub struct Upstreams {
    by_name: BTreeMap<String, Arc<Upstream>>,
    default: Arc<Upstream>,
}

impl Upstreams {
    /// Builds a client for each entry.
    ///
    /// # Errors
    /// If a setting is invalid or the default is missing.
    pub fn build(settings: &BTreeMap<String, Settings>, default: &str) -> Result<Self, BuildError> {
        let mut by_name = BTreeMap::new();
        for (name, settings) in settings {
            by_name.insert(name.clone(), Arc::new(Upstream::build(name, settings, name == default)?));
        }
        let default = match by_name.get(default) {
            Some(upstream) => Arc::clone(upstream),
            None => return Err(BuildError::NoDefault { name: default.to_owned() }),
        };
        Ok(Self { by_name, default })
    }

    /// Returns the upstream with this name.
    pub fn get(&self, name: &str) -> Option<&Arc<Upstream>> {
        self.by_name.get(name)
    }

    /// Returns the upstream of turns that name none.
    pub fn default_upstream(&self) -> &Arc<Upstream> {
        &self.default
    }

    /// Returns all upstreams in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Upstream>> {
        self.by_name.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upstreams_are_found_by_name_and_one_is_the_default() {
        let settings = [("a", "http://a/v1"), ("b", "http://b/v1")].map(|(name, base_url)| {
            (name.to_owned(), Settings { base_url: base_url.to_owned(), ..Settings::default() })
        });
        let upstreams = Upstreams::build(&settings.into(), "b").unwrap();
        assert_eq!(upstreams.default_upstream().name(), "b");
        assert_eq!(upstreams.get("a").map(|upstream| upstream.settings().base_url.as_str()), Some("http://a/v1"));
        assert!(upstreams.get("c").is_none());
        assert_eq!(upstreams.iter().count(), 2);
    }

    #[test]
    fn an_unconfigured_default_is_an_error_with_the_fix() {
        let error = Upstreams::build(&BTreeMap::new(), "main").unwrap_err().to_string();
        assert!(error.contains("[upstreams.main]"), "{error}");
    }
}
