//! A document in memory: raw JSON, its version, and the resolution of `$ref`s.

mod lenient_reference;

use std::fmt;
use std::path::Path;

use percent_encoding::{PercentDecode, percent_decode_str};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::document::lenient_reference::resolve_leniently;
use crate::files::{DocumentFileSet, Loader};
use crate::parse::other_kind;
use crate::{Fetch, LoadError, Origin, SourceFile, ToolsetSettings, ValuePosition};
use callwright_common::json::{Pointer, scalar_text};
use callwright_common::schema::{SchemaNode, Subschema};

/// Maximum length of a chain of `$ref`s, which detects cycles, and maximum number of tokens of a pointer that is
/// resolved with tolerance. Real documents need up to three and ten.
const MAX_REFERENCE_HOPS: usize = 32;

/// An OpenAPI document: one file, or several files that refer to each other.
pub(crate) struct ApiDocument {
    pub(crate) files: DocumentFileSet,
    /// OpenAPI version, which determines the dialect of the schemas.
    pub(crate) version: Version,
}

/// Supported versions of OpenAPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Version {
    /// Swagger 2.0: schemas are a dialect of JSON Schema draft 4.
    V2_0,
    /// 3.0: schemas are a dialect of JSON Schema draft 5.
    V3_0,
    /// 3.1: schemas are JSON Schema 2020-12.
    V3_1,
    /// 3.2 and later 3.x versions, which extend it: schemas as in 3.1.
    V3_2,
}

/// A value of a document with its position.
#[derive(Debug, Clone)]
pub(crate) struct LocatedValue<'d> {
    pub(crate) value: &'d Value,
    pub(crate) at: ValuePosition<'d>,
    pub(crate) document: &'d ApiDocument,
}

/// Reason why a `$ref` cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum ReferenceError {
    #[error("$ref `{0}` {1}")]
    Unavailable(String, String),
    #[error("$ref `{0}` has no target in this document")]
    Missing(String),
    #[error("$ref `{0}` is circular")]
    Cycle(String),
}

impl ApiDocument {
    /// Loads the OpenAPI document at `origin` with all its files.
    ///
    /// # Errors
    ///
    /// Returns an error if the main file cannot be read, or is not an OpenAPI document of a supported version.
    pub(crate) fn load(origin: Origin<'_>, settings: &ToolsetSettings, fetch: &dyn Fetch) -> Result<Self, LoadError> {
        let mut loader = Loader::new(origin, settings, fetch);
        let main = loader.main(origin, fetch)?;
        let version = version(&main.root, &origin.to_path())?;
        Ok(Self { files: loader.complete(main), version })
    }

    /// Builds a document from the value `root` at `path`, and reads its other files.
    #[cfg(test)]
    pub(crate) fn new(root: Value, path: &Path) -> Result<Self, LoadError> {
        let version = version(&root, path)?;
        let settings = ToolsetSettings::default();
        let mut loader = Loader::new(Origin::Path(path), &settings, &crate::Offline);
        let main = loader.value(root, path);
        Ok(Self { files: loader.complete(main), version })
    }

    /// Returns remarks about the whole document: repairs of its texts, an unknown newer version, and missing paths.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let mut remarks: Vec<String> =
            self.files.remarks().map(|(file, remark)| format!("{} {remark}", file.name)).collect();
        let version = self.member("openapi").and_then(|version| scalar_text(version.value)).unwrap_or_default();
        if self.version == Version::V3_2 && !version.trim_start_matches(['v', 'V']).starts_with("3.2") {
            remarks.push(format!("OpenAPI {version} is newer than 3.2 and is parsed as 3.2"));
        }
        if self.member("paths").and_then(|paths| paths.value.as_object().map(Map::is_empty)).unwrap_or(true) {
            let has_webhooks = self.member("webhooks").is_some();
            let why = if has_webhooks { "; its webhooks are requests by the API and do not become tools" } else { "" };
            remarks.push(format!("the document has no path under `paths`, so no operation can be called{why}"));
        }
        remarks
    }

    /// Returns the root value of the document's main file.
    pub(crate) fn root(&self) -> LocatedValue<'_> {
        self.root_of(&self.files.main)
    }

    /// Returns the root values of all files.
    pub(crate) fn file_roots(&self) -> impl Iterator<Item = LocatedValue<'_>> {
        self.files.all().map(|file| self.root_of(file))
    }

    fn root_of<'d>(&'d self, file: &'d SourceFile) -> LocatedValue<'d> {
        LocatedValue { value: &file.root, at: ValuePosition::root(file), document: self }
    }

    /// Returns the member `key` of the document's root.
    pub(crate) fn member<'d>(&'d self, key: &str) -> Option<LocatedValue<'d>> {
        self.root().member(key)
    }

    /// Follows `$ref`s from `value`, and returns the target with its file, without its position.
    pub(crate) fn end_of<'d>(&'d self, value: &'d Value, file: &'d SourceFile) -> Option<(&'d Value, &'d SourceFile)> {
        let end = LocatedValue { value, at: ValuePosition::root(file), document: self }.follow().ok()?;
        Some((end.value, end.at.file()))
    }

    /// Resolves one `$ref` found in the file `from` (RFC 6901 section 6: a JSON Pointer as URI fragment). Falls back
    /// to tolerant resolution if the literal target does not exist.
    pub(crate) fn lookup<'d>(
        &'d self,
        reference: &str,
        from: &'d SourceFile,
    ) -> Result<LocatedValue<'d>, ReferenceError> {
        self.by_letter(reference, from).or_else(|error| match error {
            ReferenceError::Missing(_) => resolve_leniently(self, reference, from).ok_or(error),
            other => Err(other),
        })
    }

    /// Resolves one `$ref` literally.
    pub(crate) fn by_letter<'d>(
        &'d self,
        reference: &str,
        from: &'d SourceFile,
    ) -> Result<LocatedValue<'d>, ReferenceError> {
        let (file, pointer) = self.split(reference, from)?;
        let found = pointer.decode_utf8().ok().and_then(|pointer| {
            let at = ValuePosition::new(file, Pointer::from(pointer.as_ref()));
            Some(LocatedValue { value: file.root.pointer(&pointer)?, at, document: self })
        });
        found.ok_or_else(|| ReferenceError::Missing(reference.to_owned()))
    }

    /// Returns the file that a `$ref` refers to, and the fragment.
    pub(crate) fn split<'d, 'r>(
        &'d self,
        reference: &'r str,
        from: &'d SourceFile,
    ) -> Result<(&'d SourceFile, PercentDecode<'r>), ReferenceError> {
        let (link, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let file = self.files.linked(link, from);
        let file = file.map_err(|reason| ReferenceError::Unavailable(reference.to_owned(), reason))?;
        Ok((file, percent_decode_str(fragment)))
    }
}

impl<'d> LocatedValue<'d> {
    /// Returns the member `key` of this object.
    pub(crate) fn member(&self, key: &str) -> Option<LocatedValue<'d>> {
        self.get(key).map(|value| self.inner(value, self.at.child(key)))
    }

    /// Returns the value of the member `key`.
    pub(crate) fn get(&self, key: &str) -> Option<&'d Value> {
        self.value.get(key)
    }

    fn inner(&self, value: &'d Value, at: ValuePosition<'d>) -> Self {
        Self { value, at, document: self.document }
    }

    /// Returns the members of this object; empty if it is not an object.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&'d String, LocatedValue<'d>)> + use<'d> {
        let own = self.clone();
        let members = self.value.as_object().into_iter().flatten();
        members.map(move |(key, value)| (key, own.inner(value, own.at.child(key))))
    }

    /// Returns the items of this array; empty if it is not an array.
    pub(crate) fn items(&self) -> impl Iterator<Item = LocatedValue<'d>> + use<'d> {
        let own = self.clone();
        let items = self.value.as_array().into_iter().flatten().enumerate();
        items.map(move |(index, value)| own.inner(value, own.at.item(index)))
    }

    /// Returns the members of the member `key`.
    pub(crate) fn members_of(&self, key: &str) -> impl Iterator<Item = (&'d String, LocatedValue<'d>)> + use<'d> {
        self.member(key).map(|member| member.members()).into_iter().flatten()
    }

    /// Returns the items of the member `key`.
    pub(crate) fn items_of(&self, key: &str) -> impl Iterator<Item = LocatedValue<'d>> + use<'d> {
        self.member(key).map(|member| member.items()).into_iter().flatten()
    }

    /// Follows `$ref`s until the value is not a reference.
    pub(crate) fn follow(&self) -> Result<LocatedValue<'d>, ReferenceError> {
        let mut current = self.clone();
        for _ in 0..MAX_REFERENCE_HOPS {
            if current.reference().is_none() {
                return Ok(current);
            }
            current = current.target_of_reference()?;
        }
        Err(ReferenceError::Cycle(current.reference().unwrap_or_default().to_owned()))
    }

    /// Follows one `$ref`.
    pub(crate) fn target_of_reference(&self) -> Result<LocatedValue<'d>, ReferenceError> {
        self.document.lookup(self.reference().unwrap_or_default(), self.at.file())
    }

    /// Returns the string member `key`, trimmed; `None` if it is absent, blank or not a string.
    pub(crate) fn text(&self, key: &str) -> Option<&'d str> {
        self.get(key)?.as_str().map(str::trim).filter(|text| !text.is_empty())
    }

    /// Returns the boolean member `key`. Accepts strings too, which result from quotation marks and from `yes` and
    /// `no` of YAML 1.1.
    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        match self.get(key)? {
            Value::Bool(flag) => Some(*flag),
            Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "yes" => Some(true),
                "false" | "no" => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the `$ref` of a Reference Object.
    pub(crate) fn reference(&self) -> Option<&'d str> {
        self.get("$ref")?.as_str()
    }
}

impl<'d> SchemaNode<'d> for LocatedValue<'d> {
    fn schema(&self) -> &'d Value {
        self.value
    }

    fn inside(&self, inside: &Subschema<'d>) -> Self {
        let at = self.at.child(inside.keyword);
        let at = match (inside.name, inside.index) {
            (Some(name), _) => at.child(name),
            (None, Some(index)) => at.item(index),
            (None, None) => at,
        };
        self.inner(inside.schema, at)
    }

    fn target(&self, reference: &str) -> Option<Self> {
        self.document.lookup(reference, self.at.file()).ok()
    }
}

impl fmt::Debug for ApiDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.files.main.name)
    }
}

fn version(root: &Value, path: &Path) -> Result<Version, LoadError> {
    let unsupported =
        |version| LoadError::content(path, format!("{version} is not supported; use Swagger 2.0 or OpenAPI 3"));
    let other = |reason| LoadError::content(path, format!("not an OpenAPI document: {reason}"));
    if !root.is_object() {
        return Err(other("its outermost value is not an object"));
    }
    // YAML parses an unquoted `3.0` as a number.
    if let Some(swagger) = root.get("swagger").and_then(scalar_text) {
        let is_known = swagger.trim() == "2" || swagger.trim().starts_with("2.");
        return if is_known { Ok(Version::V2_0) } else { Err(unsupported(format!("Swagger {swagger}"))) };
    }
    let Some(text) = root.get("openapi").and_then(scalar_text) else {
        return Err(other(other_kind(root).unwrap_or("it has no member `openapi`")));
    };
    let mut parts = text.trim().trim_start_matches(['v', 'V']).split('.');
    match (parts.next(), parts.next()) {
        (Some("3"), None | Some("0")) => Ok(Version::V3_0),
        (Some("3"), Some("1")) => Ok(Version::V3_1),
        (Some("3"), Some(minor)) if minor.parse::<u32>().is_ok() => Ok(Version::V3_2),
        _ => Err(unsupported(format!("OpenAPI {text}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document(mut root: Value) -> ApiDocument {
        root["openapi"] = json!("3.0.3");
        ApiDocument::new(root, Path::new("folder/api.json")).unwrap()
    }

    #[test]
    fn references_with_escapes_and_percent_signs_are_resolved() {
        let document = document(json!({"paths": {"/a/{b}": {"get": 1}}, "x~y": 2}));
        let at = |reference| document.lookup(reference, document.root().at.file()).map(|target| target.value);
        assert_eq!(at("#/paths/~1a~1%7Bb%7D/get").unwrap(), &json!(1));
        assert_eq!(at("#/x~0y").unwrap(), &json!(2));
        assert_eq!(at("#").unwrap(), document.root().value);
    }

    #[test]
    fn chains_are_followed_and_cycles_end_with_an_error() {
        let document = document(json!({
            "a": {"$ref": "#/b"}, "b": {"$ref": "#/c"}, "c": {"type": "string"},
            "x": {"$ref": "#/y"}, "y": {"$ref": "#/x"}
        }));
        let end = document.member("a").unwrap().follow().unwrap();
        assert_eq!(end.at.pointer().as_str(), "/c");
        assert!(matches!(document.member("x").unwrap().follow(), Err(ReferenceError::Cycle(_))));
    }

    #[test]
    fn unresolvable_references_have_a_reason() {
        let document = document(json!({}));
        let lookup = |reference| document.lookup(reference, document.root().at.file());
        assert!(matches!(lookup("#/none"), Err(ReferenceError::Missing(_))));
        assert!(matches!(lookup("other.yaml#/a"), Err(ReferenceError::Unavailable(..))));
        assert!(matches!(lookup("#%ff"), Err(ReferenceError::Missing(_))));
    }

    #[test]
    fn versions_are_read_as_text_and_as_yaml_numbers() {
        let of = |root: Value| ApiDocument::new(root, Path::new("x.yaml")).map(|document| document.version);
        assert_eq!(of(json!({"openapi": "3.0.3"})).unwrap(), Version::V3_0);
        assert_eq!(of(json!({"openapi": 3.0})).unwrap(), Version::V3_0);
        assert_eq!(of(json!({"openapi": 3})).unwrap(), Version::V3_0);
        assert_eq!(of(json!({"openapi": "3.1.0"})).unwrap(), Version::V3_1);
        let message = |root| of(root).unwrap_err().to_string();
        assert_eq!(of(json!({"swagger": "2.0"})).unwrap(), Version::V2_0);
        assert_eq!(of(json!({"swagger": 2})).unwrap(), Version::V2_0);
        assert!(message(json!({"swagger": "1.2"})).contains("Swagger 1.2 is not supported"));
        assert_eq!(of(json!({"openapi": "3.2.0"})).unwrap(), Version::V3_2);
        assert_eq!(of(json!({"openapi": 3.2})).unwrap(), Version::V3_2);
        assert_eq!(of(json!({"openapi": "3.14.0"})).unwrap(), Version::V3_2);
        assert_eq!(of(json!({"openapi": "v3.0.1"})).unwrap(), Version::V3_0);
        assert!(message(json!({"openapi": "4.0.0"})).contains("OpenAPI 4.0.0 is not supported"));
        assert!(message(json!({"openapi": "3.x"})).contains("OpenAPI 3.x is not supported"));
        assert!(message(json!({"title": "x"})).contains("no member `openapi`"));
        assert!(message(json!([])).contains("not an object"));
    }

    #[test]
    fn unusual_documents_are_remarked() {
        let remarks = |root: Value| ApiDocument::new(root, Path::new("x.yaml")).unwrap().remarks().join("; ");
        let paths = json!({"/a": {}});
        assert_eq!(remarks(json!({"openapi": "3.2.0", "paths": paths})), "");
        let newer = "OpenAPI 3.14.1 is newer than 3.2 and is parsed as 3.2";
        assert_eq!(remarks(json!({"openapi": "3.14.1", "paths": paths})), newer);
        for root in [json!({"openapi": "3.1.0"}), json!({"openapi": "3.1.0", "paths": null})] {
            assert_eq!(remarks(root), "the document has no path under `paths`, so no operation can be called");
        }
        let webhooks = json!({"openapi": "3.1.0", "paths": {}, "webhooks": {"new": {"post": {}}}});
        assert!(remarks(webhooks).ends_with("its webhooks are requests by the API and do not become tools"));
    }
}
