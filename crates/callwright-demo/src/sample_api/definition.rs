//! Definitions of the sample APIs: `apis.json`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::civil;
use serde::Deserialize;
use serde_json::{Map, Value};

pub(crate) static APIS: LazyLock<SampleApis> =
    LazyLock::new(|| serde_json::from_str(include_str!("apis.json")).expect("the definitions are valid"));

const TIME_FORMAT: &str = "%Y-%m-%dT%H:%M";

/// The APIs and their records.
#[derive(Debug, Deserialize)]
pub(crate) struct SampleApis {
    pub(crate) route_planner: ApiDefinition,
    pub(crate) meeting_rooms: ApiDefinition,
    pub(crate) flight_desk: ApiDefinition,
    records: BTreeMap<String, Vec<Value>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ApiDefinition {
    /// Header field with the credential, and the accepted value. It gives access only to a server on loopback that ends
    /// with the process.
    pub(crate) credential: (String, String),
    /// Credential in the proxy's configuration.
    pub(crate) secret: String,
    /// Member of an answer with the code.
    pub(super) code_member: String,
    /// Code of an answer without a failure, if there is one.
    #[serde(default)]
    pub(super) success: Option<String>,
    failures: BTreeMap<String, ApiFailure>,
    pub(super) operations: Vec<SampleOperation>,
}

/// Status and code of a refused request; the document explains the code.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(super) struct ApiFailure(pub(super) u16, pub(super) String);

/// One operation. Without a list, `compute` has its behaviour.
#[derive(Debug, Deserialize)]
pub(super) struct SampleOperation {
    /// Id in the document.
    pub(super) id: String,
    method: String,
    /// Path with the names of its parameters in braces.
    path: String,
    /// Status of an answer without a failure.
    pub(super) status: u16,
    #[serde(default)]
    pub(super) required: BTreeMap<String, FieldForm>,
    #[serde(default)]
    pub(super) optional: BTreeMap<String, FieldForm>,
    #[serde(default)]
    pub(super) list: Option<RecordList>,
}

/// Form of a field's value.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FieldForm {
    /// Text that is not blank.
    Text,
    /// Whole number.
    Number,
    /// Date such as `2026-06-02`.
    Date,
    /// Time such as `2026-06-02T10:00`.
    Time,
    /// Value of these members of a record of a table; otherwise the request fails in this way.
    Reference(String, Vec<String>, String),
}

/// List of the records of a table that have the given values. Case does not matter.
#[derive(Debug, Deserialize)]
pub(super) struct RecordList {
    pub(super) table: String,
    /// Fields that equal the member of the same name, which is omitted from the answer.
    #[serde(default)]
    pub(super) equal: Vec<String>,
    /// Field that is a part of this member.
    #[serde(default)]
    pub(super) contains: Option<(String, String)>,
}

/// Fields of a request, from its path, query and body.
pub(super) struct Fields(pub(super) Map<String, Value>);

impl Fields {
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// Returns a whole number, which a query contains as text.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok()))
    }

    /// Returns these fields, as far as they are present.
    pub(super) fn only(&self, names: &[&str]) -> Map<String, Value> {
        names.iter().filter_map(|name| Some(((*name).to_owned(), self.0.get(*name)?.clone()))).collect()
    }
}

pub(super) fn records(table: &str) -> &'static [Value] {
    APIS.records.get(table).map_or(&[], Vec::as_slice)
}

/// Parses a time.
pub(super) fn read_time(text: &str) -> Option<civil::DateTime> {
    civil::DateTime::strptime(TIME_FORMAT, text).ok()
}

impl ApiDefinition {
    pub(super) fn failure(&self, name: &str) -> ApiFailure {
        self.failures.get(name).cloned().unwrap_or_default()
    }
}

impl FieldForm {
    pub(super) fn accepts(&self, value: &Value) -> bool {
        let text = value.as_str();
        match self {
            Self::Text => text.is_some_and(|text| !text.trim().is_empty()),
            Self::Number => value.is_u64() || text.is_some_and(|text| text.parse::<u64>().is_ok()),
            Self::Date => text.is_some_and(|text| text.parse::<civil::Date>().is_ok()),
            Self::Time => text.is_some_and(|text| read_time(text).is_some()),
            Self::Reference(..) => text.is_some(),
        }
    }
}

impl SampleOperation {
    /// Returns the fields in the path of a request; `None` if the request is for another operation.
    pub(super) fn path_fields(&self, method: &str, path: &str) -> Option<Map<String, Value>> {
        if method != self.method || path.split('/').count() != self.path.split('/').count() {
            return None;
        }
        let mut fields = Map::new();
        for (segment, given) in self.path.split('/').zip(path.split('/')) {
            match segment.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
                Some(name) => drop(fields.insert(name.to_owned(), given.into())),
                None if segment != given => return None,
                None => {}
            }
        }
        Some(fields)
    }
}
