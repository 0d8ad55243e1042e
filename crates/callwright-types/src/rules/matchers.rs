//! Matchers of rules. They are compiled when a file is parsed, so that errors have a location and turns pay no cost.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use callwright_common::limits::COMPILED_PATTERN_BYTES;
use globset::{Glob, GlobSet, GlobSetBuilder};
use regex::{Regex, RegexBuilder};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A regular expression with matching time linear in the text (syntax of the crate `regex`: no look-around, no
/// back-references).
#[derive(Clone)]
pub struct LinearRegex(Regex);

impl LinearRegex {
    /// Compiles an expression.
    ///
    /// # Errors
    /// A human-readable description of the fault in the expression.
    pub fn new(expression: &str) -> Result<Self, String> {
        RegexBuilder::new(expression).size_limit(COMPILED_PATTERN_BYTES).build().map(Self).map_err(
            |error| match error {
                regex::Error::CompiledTooBig(_) => {
                    format!(
                        "the expression needs more than {COMPILED_PATTERN_BYTES} bytes when compiled; make it simpler"
                    )
                }
                // The library's message marks the location on several lines; its last line is the description.
                other => {
                    let text = other.to_string();
                    let last = text.lines().next_back().unwrap_or_default().trim();
                    format!("not a regular expression: {}", last.strip_prefix("error: ").unwrap_or(last))
                }
            },
        )
    }

    /// Whether the expression matches anywhere in the text.
    pub fn is_found_in(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// Returns the expression's text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl PartialEq for LinearRegex {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl fmt::Debug for LinearRegex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LinearRegex({:?})", self.as_str())
    }
}

impl Serialize for LinearRegex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl JsonSchema for LinearRegex {
    fn schema_name() -> Cow<'static, str> {
        "LinearRegex".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

impl<'de> Deserialize<'de> for LinearRegex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Globs on tool names and similar names (`*`, `?`, `[ab]`, `{a,b}`; `*` also matches `/`), one of which must match. An
/// empty list matches any name.
#[derive(Debug, Clone, Default)]
pub struct ToolGlobs {
    texts: Vec<String>,
    compiled: Arc<GlobSet>,
}

impl ToolGlobs {
    /// Compiles globs.
    ///
    /// # Errors
    /// A description of the first invalid glob.
    pub fn new(texts: Vec<String>) -> Result<Self, String> {
        let mut set = GlobSetBuilder::new();
        for text in &texts {
            set.add(Glob::new(text).map_err(|error| error.to_string())?);
        }
        Ok(Self { compiled: Arc::new(set.build().map_err(|error| error.to_string())?), texts })
    }

    /// Whether a glob matches the name, or there is no glob.
    pub fn fit(&self, tool: &str) -> bool {
        self.texts.is_empty() || self.name(tool)
    }

    /// Whether a glob matches the name; false if there is no glob.
    pub fn name(&self, tool: &str) -> bool {
        self.compiled.is_match(tool)
    }

    /// Returns the globs as written.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Whether there is no glob.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}

impl PartialEq for ToolGlobs {
    fn eq(&self, other: &Self) -> bool {
        self.texts == other.texts
    }
}

impl Eq for ToolGlobs {}

impl Hash for ToolGlobs {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.texts.hash(state);
    }
}

impl Serialize for ToolGlobs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.texts.serialize(serializer)
    }
}

impl JsonSchema for ToolGlobs {
    fn schema_name() -> Cow<'static, str> {
        "ToolGlobs".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        <Vec<String>>::json_schema(generator)
    }
}

impl<'de> Deserialize<'de> for ToolGlobs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(Vec::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_says_what_is_wrong_with_it_in_one_line() {
        for (expression, expected) in [
            ("(a", "not a regular expression: unclosed group"),
            ("(?=a)", "look-around"),
            (r"(a)\1", "backreferences are not supported"),
            ("(a{900}){900}", "bytes when compiled"),
        ] {
            let error = LinearRegex::new(expression).unwrap_err();
            assert!(error.contains(expected) && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn one_glob_is_enough_and_none_fits_all() {
        let globs = |texts: &[&str]| ToolGlobs::new(texts.iter().map(|text| (*text).to_owned()).collect());
        let some = globs(&["crm/*", "geo?ode"]).unwrap();
        assert!(some.fit("crm/list/all") && some.fit("geocode") && !some.fit("maps/route"));
        assert!(globs(&[]).unwrap().fit("anything") && !globs(&[]).unwrap().name("anything"));
        assert!(globs(&["a["]).is_err());
    }
}
