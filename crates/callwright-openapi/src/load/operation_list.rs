//! Collects the operations of a document in order.

use http::Method;

use crate::{ApiDocument, LocatedValue, SkippedOperation, Version};

/// The methods of a Path Item Object (OpenAPI 3.0.4 and 3.1.1); the last one from 3.2 on.
const METHODS: [&str; 9] = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE", QUERY];

/// The method QUERY, a safe method with a body.
const QUERY: &str = "QUERY";

/// Members for operations with other methods: of OpenAPI 3.2, and the equivalent extension in earlier documents.
const FURTHER: [&str; 2] = ["additionalOperations", "x-oai-additionalOperations"];

/// An operation as written in the document.
#[derive(Debug, Clone)]
pub(crate) struct DocumentOperation<'d> {
    pub(crate) method: Method,
    /// The path as written.
    pub(crate) path: &'d str,
    /// The path item that has the operation.
    pub(crate) path_item: LocatedValue<'d>,
    /// All path items that apply: a `$ref` may have parameters beside it. Later ones take precedence.
    pub(crate) path_items: Vec<LocatedValue<'d>>,
    pub(crate) operation: LocatedValue<'d>,
}

impl DocumentOperation<'_> {
    /// Returns method and path, by which reports identify the operation.
    pub(crate) fn label(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// Returns the operations of `document`, and the entries that cannot be operations.
pub(crate) fn operations(document: &ApiDocument) -> (Vec<DocumentOperation<'_>>, Vec<SkippedOperation>) {
    let mut collector = OperationCollector { document, found: Vec::new(), skipped: Vec::new() };
    let Some(paths) = document.member("paths").filter(|paths| !paths.value.is_null()) else {
        return (collector.found, collector.skipped);
    };
    collector.paths(&paths);
    if paths.reference().is_some() {
        // The specification does not allow `$ref` here, but authors of multi-file documents use it.
        match paths.follow() {
            Ok(target) => collector.paths(&target),
            Err(error) => collector.skip("paths", format!("{}: {error}", paths.at)),
        }
    }
    (collector.found, collector.skipped)
}

/// The path item that has an operation, and its context.
#[derive(Clone, Copy)]
struct ItemHolder<'i, 'd> {
    path: &'d str,
    path_item: &'i LocatedValue<'d>,
    path_items: &'i [LocatedValue<'d>],
}

struct OperationCollector<'d> {
    document: &'d ApiDocument,
    found: Vec<DocumentOperation<'d>>,
    skipped: Vec<SkippedOperation>,
}

impl<'d> OperationCollector<'d> {
    fn paths(&mut self, paths: &LocatedValue<'d>) {
        if !paths.value.is_object() {
            self.skip("paths", format!("{} is not an object", paths.at));
        }
        for (path, item) in paths.members().filter(|(path, _)| !path.starts_with("x-") && *path != "$ref") {
            self.path(path, item);
        }
    }

    /// Adds the operations of a path item. It may refer to another path item and also have operations of its own,
    /// which take precedence.
    fn path(&mut self, path: &'d str, item: LocatedValue<'d>) {
        let mut chain = vec![item.clone()];
        let mut broken = None;
        while let Some(last) = chain.last().filter(|last| last.reference().is_some()).cloned() {
            // The chain as a whole must end.
            let target = last.follow().and_then(|_| last.target_of_reference());
            match target {
                Ok(target) => chain.push(target),
                Err(error) => {
                    broken = Some(error);
                    break;
                }
            }
        }
        let path_items: Vec<LocatedValue<'d>> = chain.into_iter().rev().collect();
        for (index, path_item) in path_items.iter().enumerate().rev() {
            let nearer = path_items.get(index + 1..).unwrap_or_default();
            self.item(ItemHolder { path, path_item, path_items: &path_items }, nearer);
        }
        if let Some(error) = broken {
            self.skip(path, format!("path item {}: {error}", item.at));
        }
    }

    /// Adds the operations of one path item that the `nearer` ones do not have.
    fn item(&mut self, holder: ItemHolder<'_, 'd>, nearer: &[LocatedValue<'d>]) {
        let ItemHolder { path, path_item, .. } = holder;
        if !path_item.value.is_object() {
            return self.skip(path, format!("path item {} is not an object", path_item.at));
        }
        for (key, operation) in path_item.members() {
            if nearer.iter().any(|item| item.get(key).is_some()) {
                continue;
            }
            if FURTHER.contains(&key.as_str()) {
                self.further(holder, &operation);
            } else if let Some(method) = self.method(key.trim()) {
                self.operation(method, holder, operation);
            } else if is_operation(key, &operation) {
                let reason = format!("{}: `{key}` is not a method of an OpenAPI operation", operation.at);
                self.skip(&format!("{} {path}", key.trim().to_ascii_uppercase()), reason);
            }
        }
    }

    /// Returns the method for a key of a path item.
    fn method(&self, key: &str) -> Option<&'static str> {
        let method = METHODS.into_iter().find(|method| method.eq_ignore_ascii_case(key))?;
        (method != QUERY || self.document.version >= Version::V3_2).then_some(method)
    }

    /// Adds operations whose methods have no key of their own (OpenAPI 3.2, Path Item Object). The method is sent as
    /// written.
    fn further(&mut self, holder: ItemHolder<'_, 'd>, operations: &LocatedValue<'d>) {
        let ItemHolder { path, path_item, .. } = holder;
        for (method, operation) in operations.members() {
            let own = METHODS.into_iter().find(|own| own.eq_ignore_ascii_case(method));
            if own.is_some_and(|own| path_item.value.get(own.to_ascii_lowercase()).is_some()) {
                let reason = format!("{} is a duplicate: the path has an operation with this method", operation.at);
                self.skip(&format!("{method} {path}"), reason);
            } else if method.eq_ignore_ascii_case("CONNECT") {
                self.skip(
                    &format!("{method} {path}"),
                    format!("{}: CONNECT is not supported, because it requests a tunnel", operation.at),
                );
            } else {
                self.operation(method, holder, operation);
            }
        }
    }

    fn operation(&mut self, method: &str, holder: ItemHolder<'_, 'd>, operation: LocatedValue<'d>) {
        let ItemHolder { path, path_item, path_items } = holder;
        let label = format!("{method} {path}");
        match method.parse() {
            _ if !operation.value.is_object() => self.skip(&label, format!("{} is not an object", operation.at)),
            Ok(method) => self.found.push(DocumentOperation {
                method,
                path,
                path_item: path_item.clone(),
                path_items: path_items.to_vec(),
                operation,
            }),
            Err(_) => self.skip(&label, format!("{}: `{method}` is not a valid method name", operation.at)),
        }
    }

    fn skip(&mut self, operation: &str, reason: String) {
        self.skipped.push(SkippedOperation { operation: operation.to_owned(), reason });
    }
}

/// Whether the value of `key` is apparently intended as an operation.
fn is_operation(key: &str, value: &LocatedValue<'_>) -> bool {
    !key.starts_with("x-") && ["responses", "operationId"].iter().any(|member| value.member(member).is_some())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use serde_json::json;

    #[test]
    fn every_path_and_method_is_collected_or_reported() {
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
        let document = ApiDocument::new(root, Path::new("api.json")).unwrap();
        let (found, skipped) = operations(&document);
        let labels: Vec<String> = found.iter().map(DocumentOperation::label).collect();
        assert_eq!(labels, ["GET /a", "POST /a", "GET /b", "POST /b", "GET /f"]);
        assert_eq!(found[2].operation.text("summary"), Some("own"));
        let skipped: Vec<&str> = skipped.iter().map(|skipped| skipped.operation.as_str()).collect();
        assert_eq!(skipped, ["/c", "/d", "DELETE /e", "PURGE /f"]);
    }

    #[test]
    fn every_path_item_in_a_chain_of_references_applies() {
        let root = json!({
            "openapi": "3.1.0",
            "paths": {"/a": {"$ref": "#/x/b", "summary": "a"}, "/loop": {"$ref": "#/x/loop"}},
            "x": {"b": {"$ref": "#/x/c", "put": {}}, "c": {"get": {}, "put": {"summary": "hidden"}},
                "loop": {"$ref": "#/x/loop"}}
        });
        let document = ApiDocument::new(root, Path::new("api.json")).unwrap();
        let (found, skipped) = operations(&document);
        let labels: Vec<String> = found.iter().map(DocumentOperation::label).collect();
        assert_eq!(labels, ["PUT /a", "GET /a"]);
        for operation in &found {
            let pointers: Vec<&str> = operation.path_items.iter().map(|item| item.at.pointer().as_str()).collect();
            assert_eq!(pointers, ["/x/c", "/x/b", "/paths/~1a"]);
        }
        assert_eq!(skipped.len(), 1);
    }

    #[test]
    fn paths_may_be_a_reference() {
        let root = json!({"openapi": "3.0.0", "paths": {"$ref": "#/x-paths"}, "x-paths": {"/a": {"get": {}}}});
        let document = ApiDocument::new(root, Path::new("api.json")).unwrap();
        let (found, skipped) = operations(&document);
        assert_eq!((found.len(), skipped), (1, vec![]));
    }

    #[test]
    fn methods_of_openapi_3_2_are_collected_from_such_documents() {
        let labels_of = |version: &str, item: serde_json::Value| {
            let root = json!({"openapi": version, "paths": {"/a": item}});
            let document = ApiDocument::new(root, Path::new("api.json")).unwrap();
            let (found, skipped) = operations(&document);
            let labels: Vec<String> = found.iter().map(DocumentOperation::label).collect();
            (labels.join(", "), skipped.into_iter().map(|skipped| skipped.operation).collect::<Vec<_>>().join(", "))
        };
        let expected = |found: &str, skipped: &str| (found.to_owned(), skipped.to_owned());
        let query = json!({"query": {}, "get": {}});
        assert_eq!(labels_of("3.2.0", query.clone()), expected("QUERY /a, GET /a", ""));
        assert_eq!(labels_of("3.1.0", query), expected("GET /a", ""));
        let further = json!({"get": {}, "additionalOperations":
            {"LINK": {}, "copy": {}, "GET": {}, "CONNECT": {}, "no method": {}, "PURGE": 1}});
        assert_eq!(
            labels_of("3.2.0", further),
            expected("GET /a, LINK /a, copy /a", "GET /a, CONNECT /a, no method /a, PURGE /a")
        );
        assert_eq!(labels_of("3.1.1", json!({"x-oai-additionalOperations": {"QUERY": {}}})), expected("QUERY /a", ""));
    }
}
