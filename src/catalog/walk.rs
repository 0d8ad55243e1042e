//! The operations of a document, in its order.

use http::Method;

use super::document::{Document, Located};
use super::report::Skipped;

/// The methods that a Path Item may have (OpenAPI 3.0.4 and 3.1.1).
const METHODS: [Method; 8] = [
    Method::GET,
    Method::PUT,
    Method::POST,
    Method::DELETE,
    Method::OPTIONS,
    Method::HEAD,
    Method::PATCH,
    Method::TRACE,
];

/// An operation that was found, not yet read.
#[derive(Debug, Clone)]
pub(super) struct Found<'d> {
    pub(super) method: Method,
    /// The path, as written.
    pub(super) path: &'d str,
    pub(super) path_item: Located<'d>,
    pub(super) operation: Located<'d>,
}

impl Found<'_> {
    /// The name that the operation is reported under.
    pub(super) fn label(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// Every path and method of `document`, and what stands where an operation should but is none.
pub(super) fn operations(document: &Document) -> (Vec<Found<'_>>, Vec<Skipped>) {
    let mut walk = Walk { document, found: Vec::new(), skipped: Vec::new() };
    let Some(paths) = document.member("paths").filter(|paths| !paths.value.is_null()) else {
        return (walk.found, walk.skipped);
    };
    walk.paths(&paths);
    if paths.reference().is_some() {
        // The specification knows no `$ref` here; authors of documents of several files do.
        match document.follow(paths.clone()) {
            Ok(target) => walk.paths(&target),
            Err(error) => walk.skip("paths", format!("{}: {error}", paths.at)),
        }
    }
    (walk.found, walk.skipped)
}

struct Walk<'d> {
    document: &'d Document,
    found: Vec<Found<'d>>,
    skipped: Vec<Skipped>,
}

impl<'d> Walk<'d> {
    fn paths(&mut self, paths: &Located<'d>) {
        if !paths.value.is_object() {
            self.skip("paths", format!("{} is no object", paths.at));
        }
        for (path, item) in paths.members().filter(|(path, _)| !path.starts_with("x-") && *path != "$ref") {
            self.path(path, item);
        }
    }

    /// A path item may refer to another one and have operations of its own as well, which then hold.
    fn path(&mut self, path: &'d str, item: Located<'d>) {
        self.item(path, &item, |_| true);
        if item.reference().is_none() {
            return;
        }
        match self.document.follow(item.clone()) {
            Ok(target) => self.item(path, &target, |method| item.member(method).is_none()),
            Err(error) => self.skip(path, format!("path item {}: {error}", item.at)),
        }
    }

    fn item(&mut self, path: &'d str, path_item: &Located<'d>, wanted: impl Fn(&str) -> bool) {
        if !path_item.value.is_object() {
            return self.skip(path, format!("path item {} is no object", path_item.at));
        }
        for (key, operation) in path_item.members().filter(|(key, _)| wanted(key)) {
            let Some(method) = METHODS.into_iter().find(|method| method.as_str().eq_ignore_ascii_case(key.trim()))
            else {
                if is_operation(key, &operation) {
                    let reason = format!("{}: `{key}` is no method of an OpenAPI operation", operation.at);
                    self.skip(&format!("{} {path}", key.trim().to_ascii_uppercase()), reason);
                }
                continue;
            };
            if operation.value.is_object() {
                self.found.push(Found { method, path, path_item: path_item.clone(), operation });
            } else {
                self.skip(&format!("{method} {path}"), format!("{} is no object", operation.at));
            }
        }
    }

    fn skip(&mut self, operation: &str, reason: String) {
        self.skipped.push(Skipped { operation: operation.to_owned(), reason });
    }
}

/// Is what stands under `key` evidently meant as an operation?
fn is_operation(key: &str, value: &Located<'_>) -> bool {
    !key.starts_with("x-") && ["responses", "operationId"].iter().any(|member| value.member(member).is_some())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use serde_json::json;

    #[test]
    fn every_path_and_method_is_found_or_reported() {
        let root = json!({
            "openapi": "3.0.0",
            "paths": {
                "x-note": {"get": {}},
                "/a": {"get": {}, "POST": {}, "parameters": [], "x-more": {}},
                "/b": {"$ref": "#/paths/~1a", "get": {"summary": "own"}},
                "/c": {"$ref": "#/components/pathItems/c"},
                "/d": null,
                "/e": {"delete": "nothing"},
                "/f": {"get ": {}, "purge": {"responses": {}}, "x-purge": {"responses": {}}}
            }
        });
        let document = Document::new(root, Path::new("api.json")).unwrap();
        let (found, skipped) = operations(&document);
        let labels: Vec<String> = found.iter().map(Found::label).collect();
        assert_eq!(labels, ["GET /a", "POST /a", "GET /b", "POST /b", "GET /f"]);
        assert_eq!(found[2].operation.text("summary"), Some("own"));
        let skipped: Vec<&str> = skipped.iter().map(|skipped| skipped.operation.as_str()).collect();
        assert_eq!(skipped, ["/c", "/d", "DELETE /e", "PURGE /f"]);
    }

    #[test]
    fn paths_may_stand_elsewhere() {
        let root = json!({"openapi": "3.0.0", "paths": {"$ref": "#/x-paths"}, "x-paths": {"/a": {"get": {}}}});
        let document = Document::new(root, Path::new("api.json")).unwrap();
        let (found, skipped) = operations(&document);
        assert_eq!((found.len(), skipped), (1, vec![]));
    }
}
