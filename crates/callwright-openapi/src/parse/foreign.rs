//! Recognises common kinds of files that are not OpenAPI documents, for an error message that helps more than a
//! missing key.

use serde_json::Value;

/// Returns the kind of `text` if it is not JSON or YAML. `text` must not begin with whitespace.
pub(super) fn kind_of_text(text: &str) -> Option<&'static str> {
    Some(match text {
        "" => "it is empty",
        _ if begins(text, "<!doctype html") || begins(text, "<html") => {
            "it is an HTML page, not an OpenAPI document; look there for the address of the document itself, which is often linked as \
             `openapi.json` or `swagger.json`"
        }
        _ if begins(text, "<") => "it is XML or HTML, not an OpenAPI document; WSDL and WADL cannot be read",
        _ if begins(text, "#%RAML") => "it is a RAML document; convert it to OpenAPI first",
        _ if begins(text, "FORMAT: 1A") => "it is an API Blueprint; convert it to OpenAPI first",
        _ if begins(text, "version https://git-lfs.github.com/spec/") => {
            "it is a pointer of Git LFS, not the file itself; `git lfs pull` fetches that"
        }
        _ if is_graphql(text) => "it is a GraphQL schema; only HTTP APIs that OpenAPI describes can be called",
        _ if begins(text, "syntax = \"proto") => "it is a Protocol Buffers definition; convert it to OpenAPI first",
        _ => return None,
    })
}

fn begins(text: &str, words: &str) -> bool {
    text.get(..words.len()).is_some_and(|start| start.eq_ignore_ascii_case(words))
}

/// Detects GraphQL type definitions with braces, which no YAML mapping begins with.
fn is_graphql(text: &str) -> bool {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', '"']));
    let first = lines.map(|line| line.split_whitespace().collect::<Vec<_>>()).next();
    let keyword = ["schema", "type", "interface", "enum", "input", "scalar", "union", "directive", "extend"];
    match first.as_deref() {
        Some([first, rest @ ..]) => {
            keyword.contains(first) && (*first == "scalar" && rest.len() == 1 || rest.last() == Some(&"{"))
        }
        _ => false,
    }
}

/// Returns the kind of `root` if it is a known format other than OpenAPI.
pub(crate) fn other_kind(root: &Value) -> Option<&'static str> {
    let has = |key: &str| root.get(key).is_some();
    let text = |pointer: &str| root.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    Some(match root {
        _ if has("asyncapi") => "it is an AsyncAPI document, which describes messages; only HTTP APIs can be called",
        _ if has("arazzo") => {
            "it is an Arazzo document, which describes workflows; name the OpenAPI documents among its `sourceDescriptions`"
        }
        _ if has("overlay") => "it is an OpenAPI Overlay; apply it to its document and name the result",
        _ if has("swaggerVersion") => "it is a Swagger 1 document; convert it to OpenAPI 3 first",
        _ if text("/info/schema").contains("schema.getpostman.com") || root.pointer("/info/_postman_id").is_some() => {
            "it is a Postman collection; export or convert it as OpenAPI first"
        }
        _ if text("/_type") == "export" && has("resources") => "it is an Insomnia export; export it as OpenAPI instead",
        _ if has("__schema") || root.pointer("/data/__schema").is_some() => {
            "it is a GraphQL schema; only HTTP APIs that OpenAPI describes can be called"
        }
        _ if root.pointer("/log/entries").is_some() => "it is an HTTP archive (HAR), a record of requests",
        _ if text("/kind") == "discovery#restDescription" || has("discoveryVersion") => {
            "it is a Google API discovery document; convert it to OpenAPI first"
        }
        _ if has("smithy") => "it is a Smithy model; convert it to OpenAPI first",
        _ if has("apiVersion") && has("kind") => "it is a Kubernetes manifest",
        _ if text("/$schema").contains("json-schema.org") => {
            "it is a JSON Schema, which describes data but no operations"
        }
        _ if has("paths") => {
            "it has no member `openapi` with its version; write `openapi: 3.0.3` or its actual version"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn foreign_text_formats_are_named() {
        for (text, words) in [
            ("", "empty"),
            ("<!DOCTYPE html>\n<title>x</title>", "HTML page"),
            ("<HTML>", "HTML page"),
            ("<?xml version='1.0'?>", "XML"),
            ("#%RAML 1.0\ntitle: x", "RAML"),
            ("FORMAT: 1A\n# x", "API Blueprint"),
            ("version https://git-lfs.github.com/spec/v1\noid sha256:0", "git lfs pull"),
            ("# c\ntype Query {\n  a: Int\n}", "GraphQL"),
            ("scalar Date\n", "GraphQL"),
            ("syntax = \"proto3\";", "Protocol Buffers"),
        ] {
            assert!(kind_of_text(text).is_some_and(|kind| kind.contains(words)), "{text}");
        }
        for text in ["a: 1", "type: object", "{\"a\": 1}", "# c\nopenapi: 3.0.0", "schema: {", "ü"] {
            assert_eq!(kind_of_text(text), None, "{text}");
        }
    }

    #[test]
    fn foreign_binary_formats_are_named() {
        for (root, words) in [
            (json!({"asyncapi": "2.0.0"}), "AsyncAPI"),
            (json!({"arazzo": "1.0.0"}), "Arazzo"),
            (json!({"overlay": "1.0.0"}), "Overlay"),
            (json!({"swaggerVersion": "1.2", "apis": []}), "Swagger 1"),
            (json!({"info": {"schema": "https://schema.getpostman.com/json/collection/v2.1.0/"}}), "Postman"),
            (json!({"_type": "export", "resources": []}), "Insomnia"),
            (json!({"data": {"__schema": {}}}), "GraphQL"),
            (json!({"log": {"entries": []}}), "HAR"),
            (json!({"kind": "discovery#restDescription"}), "Google API discovery"),
            (json!({"smithy": "2.0"}), "Smithy"),
            (json!({"apiVersion": "v1", "kind": "Pod"}), "Kubernetes"),
            (json!({"$schema": "https://json-schema.org/draft/2020-12/schema"}), "JSON Schema"),
            (json!({"paths": {}}), "write `openapi: 3.0.3`"),
        ] {
            assert!(other_kind(&root).is_some_and(|kind| kind.contains(words)), "{root}");
        }
        assert_eq!(other_kind(&json!({"a": 1})), None);
        assert_eq!(other_kind(&json!([])), None);
    }
}
