//! Determines the value of the parameter for the version of the API.
//!
//! The value is `info.version` where the document makes that evident, otherwise the documented default of a required
//! parameter. The conventions are those of Microsoft's REST guidelines: `api-version` is required in every request, and
//! `info.version` has its value, a date or `major.minor`.

use std::str::FromStr as _;

use serde_json::{Number, Value};

use super::survey::ParameterSurvey;
use crate::{ApiDocument, LocatedValue, Location, OperationParameter};
use callwright_common::json::scalar_text;
use callwright_common::limits::MIN_SIGNIFICANT_LENGTH;
use callwright_common::text::{is_digits, name_words};

/// Words of the parameter's name, in any notation.
const NAMES: [&str; 3] = ["api_version", "x_api_version", "x_ms_version"];

/// The name that Microsoft's REST guidelines define.
const GUIDELINE_NAME: &str = "api-version";

/// The version of a document.
pub(crate) struct ApiVersion {
    info: Option<String>,
}

impl ApiVersion {
    pub(crate) fn new(document: &ApiDocument) -> Self {
        let version = document.member("info").and_then(|info| scalar_text(info.value.get("version")?));
        Self { info: version.map(|version| version.trim().to_owned()).filter(|version| !version.is_empty()) }
    }

    /// Returns the value for `parameter` and the reason; `None` if it is another parameter or nothing is evident.
    pub(super) fn value(
        &self,
        parameter: &OperationParameter<'_>,
        survey: &ParameterSurvey,
    ) -> Option<(Value, &'static str)> {
        if !NAMES.contains(&name_words(&parameter.name).join("_").as_str()) {
            return None;
        }
        let schema = parameter.schema.clone().and_then(|schema| schema.follow().ok());
        if let Some(version) = self.info.as_deref().filter(|version| accepts(schema.as_ref(), version))
            && self.is_convention(parameter, schema.as_ref(), survey)
        {
            return Some((typed(version, schema.as_ref()), "the version of the API, from `info.version`"));
        }
        let default = schema?.value.get("default").filter(|value| !value.is_null() && scalar_text(value).is_some());
        let default = default.filter(|_| parameter.required)?;
        Some((default.clone(), "the version of the API, from the parameter's default"))
    }

    /// Whether the document makes evident that `info.version` is the parameter's value.
    fn is_convention(
        &self,
        parameter: &OperationParameter<'_>,
        schema: Option<&LocatedValue<'_>>,
        survey: &ParameterSurvey,
    ) -> bool {
        let Some(version) = &self.info else { return false };
        if is_quoted(parameter, schema, version) {
            return true;
        }
        let has_default = schema.is_some_and(|schema| schema.value.get("default").is_some());
        if !parameter.required || has_default {
            return false;
        }
        let is_guideline = parameter.name.eq_ignore_ascii_case(GUIDELINE_NAME)
            && parameter.location == Location::Query
            && survey.is_everywhere(&parameter.name, parameter.location);
        is_dated(version) || is_guideline && is_major_minor(version)
    }
}

/// Whether the parameter's description, example, default or allowed values contain the version.
fn is_quoted(parameter: &OperationParameter<'_>, schema: Option<&LocatedValue<'_>>, version: &str) -> bool {
    let holders = [Some(&parameter.at), schema];
    for holder in holders.into_iter().flatten() {
        for key in ["example", "default", "x-example"] {
            if holder.value.get(key).and_then(scalar_text).is_some_and(|text| text == version) {
                return true;
            }
        }
        let values = holder.value.get("enum").and_then(Value::as_array);
        if values.into_iter().flatten().filter_map(scalar_text).any(|text| text == version) {
            return true;
        }
    }
    let words = parameter.description.unwrap_or_default();
    let is_long = version.chars().count() >= MIN_SIGNIFICANT_LENGTH;
    is_long && words.split(|letter: char| !is_of_version(letter)).any(|word| word.trim_matches('.') == version)
}

fn is_of_version(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '.' || letter == '-'
}

/// Whether the schema has no constraint, or lists the version.
fn accepts(schema: Option<&LocatedValue<'_>>, version: &str) -> bool {
    let Some(schema) = schema else { return true };
    if let Some(values) = schema.value.get("enum").and_then(Value::as_array) {
        return values.iter().filter_map(scalar_text).any(|text| text == version);
    }
    let length = version.chars().count() as u64;
    let fits_length = schema.value.get("minLength").and_then(Value::as_u64).is_none_or(|least| least <= length)
        && schema.value.get("maxLength").and_then(Value::as_u64).is_none_or(|most| most >= length);
    let fits_pattern = schema.text("pattern").is_none_or(|pattern| {
        regex::RegexBuilder::new(pattern).size_limit(1 << 16).build().is_ok_and(|regex| regex.is_match(version))
    });
    fits_length && fits_pattern && matches!(schema.text("type"), None | Some("string" | "number"))
}

fn typed(version: &str, schema: Option<&LocatedValue<'_>>) -> Value {
    let is_number = schema.is_some_and(|schema| schema.text("type") == Some("number"));
    let number = Number::from_str(version).ok().filter(|_| is_number);
    number.map_or_else(|| version.into(), Value::Number)
}

/// Whether the version begins with a date, as in `2024-05-01-preview`.
fn is_dated(version: &str) -> bool {
    let shape: String = version.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
    shape.starts_with("0000-00-00") && version.chars().all(is_of_version)
}

/// Whether the version is `major` or `major.minor`, with an optional suffix such as `-preview`. A version of three
/// numbers is usually that of the document.
fn is_major_minor(version: &str) -> bool {
    let (numbers, suffix) = version.split_once('-').unwrap_or((version, ""));
    let is_suffix = suffix.chars().all(is_of_version);
    let parts: Vec<&str> = numbers.split('.').collect();
    let are_numbers = parts.iter().all(|part| is_digits(part));
    is_suffix && are_numbers && parts.len() <= 2
}
