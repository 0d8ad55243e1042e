//! Secrets: values that must never be shown.

use std::collections::BTreeSet;
use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

/// A key, token or password. It prints and serialises as `***`; only [`Secret::expose`] returns its value.
#[derive(Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(description = "A key, token or password.")]
pub struct Secret(String);

impl Secret {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// Returns the value for sending it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether no value is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Characters besides letters and digits that URLs leave as they are (RFC 3986, section 2.3).
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// HTML references to the double quote and to the apostrophe, as common escape functions write them; some leave one as
/// it is.
const QUOTES: [&str; 3] = ["\"", "&quot;", "&#34;"];
const APOSTROPHES: [&str; 5] = ["'", "&#39;", "&#x27;", "&#039;", "&apos;"];

/// Returns every form in which a text may repeat the secret `value`: as it is, in a JSON string, in a URL, and in HTML.
pub fn written_forms(value: &str) -> BTreeSet<String> {
    let json = serde_json::Value::from(value).to_string();
    let json = json.get(1..json.len() - 1).unwrap_or_default();
    let mut forms: BTreeSet<String> = [value, json].map(str::to_owned).into();
    forms.insert(json.replace('/', "\\/"));
    forms.extend([NON_ALPHANUMERIC, UNRESERVED].map(|set| utf8_percent_encode(value, set).to_string()));
    let html = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    for quote in QUOTES {
        let html = html.replace('"', quote);
        forms.extend(APOSTROPHES.map(|apostrophe| html.replace('\'', apostrophe)));
    }
    forms
}

impl From<String> for Secret {
    fn from(value: String) -> Self {
        Self(value)
    }
}

impl From<&str> for Secret {
    fn from(value: &str) -> Self {
        Self(value.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "(unset)" } else { "***" })
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(if self.is_empty() { "" } else { "***" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_known_in_every_form() {
        let forms = written_forms("a&<\"'/~é");
        for form in [
            "a&<\"'/~é", r#"a&<\"'/~é"#, r#"a&<\"'\/~é"#, "a%26%3C%22%27%2F~%C3%A9", "a&amp;&lt;&quot;&#039;/~é",
            "a&amp;&lt;&#34;&#39;/~é", "a&amp;&lt;\"'/~é",
        ] {
            assert!(forms.contains(form), "{form}: {forms:?}");
        }
        assert_eq!(written_forms("plain").len(), 1);
    }

    #[test]
    fn a_secret_is_shown_nowhere() {
        let secret = Secret::new("sk-canary");
        assert!(!format!("{secret:?}").contains("canary"));
        assert!(!serde_json::to_string(&secret).unwrap().contains("canary"));
        assert_eq!(secret.expose(), "sk-canary");
    }
}
