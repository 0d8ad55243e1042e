//! Documents of several files, valid and malicious.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use serde_json::json;
use tempfile::TempDir;
use url::Url;

use crate::{Fetch, FetchBounds, FetchedFile, Origin, Toolset, ToolsetSettings, load_document, load_from};

/// Creates a folder with these files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn load(folder: &TempDir, main: &str, settings: &ToolsetSettings) -> Toolset {
    load_document("api", &folder.path().join(main), settings).unwrap()
}

/// Returns the document `main` with one operation whose body is the schema `schema`.
fn with_body(schema: &str) -> String {
    format!(
        "openapi: 3.1.0\npaths:\n  /x:\n    post:\n      operationId: x\n      requestBody:\n        content:\n          \
         application/json:\n            schema: {schema}\n"
    )
}

fn reasons(toolset: &Toolset) -> Vec<&str> {
    toolset.report.operations_skipped.iter().map(|skipped| skipped.reason.as_str()).collect()
}

fn remarks(toolset: &Toolset) -> String {
    toolset.report.simplified.iter().map(|simplified| simplified.what.as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_document_of_several_files_is_one_toolset() {
    let folder = folder(&[
        (
            "api.yaml",
            "openapi: 3.0.0\npaths:\n  /pets:\n    $ref: paths/pets.yaml\n  /pets/{id}:\n    $ref: 'paths/pet.json#/byId'\n",
        ),
        (
            "paths/pets.yaml",
            "get:\n  operationId: list\n  parameters:\n  - $ref: ../parts/parameters.yaml#/Limit\n  responses:\n    200: {$ref: '../parts/responses.yml'}\n\
             post:\n  operationId: add\n  requestBody:\n    content:\n      application/json:\n        schema:\n          $ref: ../parts/schemas.yaml#/Pet\n",
        ),
        ("paths/pet.json", r#"{"byId": {"get": {"operationId": "show"}}}"#),
        (
            "parts/parameters.yaml",
            "Limit:\n  name: limit\n  in: query\n  schema:\n    $ref: '#/Small'\nSmall:\n  type: integer\n",
        ),
        ("parts/responses.yml", "description: All pets\ncontent:\n  application/json: {}\n"),
        (
            "parts/schemas.yaml",
            "Pet:\n  type: object\n  properties:\n    name: {type: string}\n    parent: {$ref: '#/Pet'}\n    home: {$ref: ../api.yaml#/x-home}\n",
        ),
    ]);
    let settings = ToolsetSettings { root: folder.path().display().to_string(), ..ToolsetSettings::default() };
    let toolset = load(&folder, "api.yaml", &settings);
    assert_eq!(reasons(&toolset), Vec::<&str>::new());
    let list = toolset.operation("list").unwrap();
    assert_eq!(list.tool.parameters["properties"]["limit"]["type"], "integer");
    let sources: Vec<&str> = list.documentation.iter().map(|text| text.source.as_str()).collect();
    assert_eq!(sources, ["parts/responses.yml#/description"]);
    let add = toolset.operation("add").unwrap();
    assert!(add.tool.parameters.to_string().contains("#/$defs/Pet"), "{}", add.tool.parameters);
    assert_eq!(toolset.operation("show").unwrap().label(), "GET /pets/{id}");
    let names: Vec<String> =
        toolset.other_files.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect();
    assert_eq!(names, ["parameters.yaml", "responses.yml", "schemas.yaml", "pet.json", "pets.yaml"]);
}

#[test]
fn schemas_with_the_same_pointer_in_two_files_are_distinct() {
    let tree = |kind: &str| {
        format!(
            "Node:\n  type: object\n  properties:\n    {kind}: {{type: string}}\n    next: {{$ref: '#/Node'}}\n    \
             a: {{}}\n    b: {{}}\n    c: {{}}\n    d: {{}}\n    e: {{}}\n    f: {{}}\n"
        )
    };
    let body = with_body("{properties: {one: {$ref: 'a.yaml#/Node'}, two: {$ref: 'b.yaml#/Node'}}}");
    let folder = folder(&[("api.yaml", &body), ("a.yaml", &tree("left")), ("b.yaml", &tree("right"))]);
    let toolset = load(&folder, "api.yaml", &ToolsetSettings::default());
    let definitions = &toolset.operations[0].tool.parameters["$defs"];
    assert!(definitions["Node"]["properties"]["left"].is_object(), "{definitions}");
    assert!(definitions["Node_2"]["properties"]["right"].is_object(), "{definitions}");
}

#[test]
fn messages_name_file_line_and_pointer() {
    let folder = folder(&[
        ("api.yaml", &with_body("{$ref: 'parts.json#/S'}")),
        ("parts.json", "{\n  \"S\": {\"properties\": {\n    \"a\": {\"$ref\": \"#/none\"},\n    \"b\": 3}}}"),
    ]);
    let toolset = load(&folder, "api.yaml", &ToolsetSettings::default());
    let remarks = remarks(&toolset);
    assert!(remarks.contains("parts.json:3 #/S/properties/a: $ref `#/none` has no target"), "{remarks}");
    assert!(remarks.contains("parts.json:4 #/S/properties/b: is not a schema"), "{remarks}");
}

#[test]
fn a_missing_file_affects_only_its_references() {
    let folder = folder(&[
        (
            "api.yaml",
            "openapi: 3.0.0\npaths:\n  /good: {get: {operationId: good}}\n  /none: {$ref: none.yaml}\n  /broken: {$ref: 'broken.yaml#/a'}\n  \
             /hollow: {$ref: 'hollow.yaml#/a'}\n  /far: {$ref: 'https://example.com/a.yaml'}\n",
        ),
        ("broken.yaml", "a: [1\nb: {"),
        ("hollow.yaml", "b: {}\n"),
    ]);
    let toolset = load(&folder, "api.yaml", &ToolsetSettings::default());
    assert!(toolset.operation("good").is_some());
    let reasons = reasons(&toolset);
    for (reason, part) in reasons.iter().zip([
        "api.yaml:4 #/paths/~1none: $ref `none.yaml` cannot be read",
        "$ref `broken.yaml#/a` cannot be parsed: invalid YAML",
        "$ref `hollow.yaml#/a` has no target",
        "is remote; set the toolset's `allow_remote_refs`",
    ]) {
        assert!(reason.contains(part), "{reason}");
    }
    assert_eq!(reasons.len(), 4);
    assert_eq!(toolset.other_files.len(), 2);
}

#[test]
fn references_that_go_in_circles_through_files_end() {
    let folder = folder(&[
        (
            "api.yaml",
            "openapi: 3.0.0\npaths:\n  /a: {$ref: 'b.yaml#/x'}\n  /self: {$ref: '../d/api.yaml#/paths/~1self'}\n",
        ),
        ("b.yaml", "x: {$ref: 'c.yaml#/x'}\n"),
        ("c.yaml", "x: {$ref: 'b.yaml#/x'}\n"),
    ]);
    let toolset = load(&folder, "api.yaml", &ToolsetSettings::default());
    assert_eq!(reasons(&toolset).len(), 2);
    assert!(reasons(&toolset)[0].contains("is circular"), "{:?}", reasons(&toolset));
}

#[test]
fn ids_and_anchors_of_schemas_are_resolved() {
    let schemas = "
components:
  schemas:
    Plain: {$ref: 'https://example.com/named.json#/properties/a'}
    Named:
      $id: https://example.com/named.json
      properties:
        a: {$anchor: first, type: integer}
        b: {$ref: '#/properties/a'}
        c: {$ref: '#first'}
        d: {$ref: '#/components/schemas/Other'}
        e: {$dynamicRef: '#node'}
        f: {$ref: 'parts.yaml#last'}
        g: {$ref: Short}
    Other: {type: boolean}
    Node: {$dynamicAnchor: node, type: array}
    Short: {$id: Short, type: 'null'}
";
    let api = with_body("{$ref: 'https://example.com/named.json'}") + schemas;
    let with_self = format!("$self: https://example.com/api\n{api}");
    for api in [api, with_self] {
        let folder = folder(&[("api.yaml", &api), ("parts.yaml", "S: {$anchor: last, type: number}\n")]);
        let toolset = load(&folder, "api.yaml", &ToolsetSettings::default());
        let properties = &toolset.operations[0].tool.parameters["$defs"]["Named"]["properties"];
        for (name, expected) in [
            ("a", "integer"),
            ("b", "integer"),
            ("c", "integer"),
            ("d", "boolean"),
            ("e", "array"),
            ("f", "number"),
            ("g", "null"),
        ] {
            assert_eq!(properties[name]["type"], expected, "{name} in {properties}; {}", remarks(&toolset));
        }
    }
}

#[test]
fn nothing_outside_of_the_root_is_read() {
    let folder = folder(&[
        ("secret.yaml", "a: {get: {description: canary}}\n"),
        ("api/key.pem", "canary"),
        ("api/callwright.toml", "[a]\nget = 'canary'\n"),
    ]);
    let outside = folder.path().join("secret.yaml").display().to_string();
    let links = [
        "../secret.yaml#/a".to_owned(),
        "../../../../../../../../etc/passwd".to_owned(),
        "file:///etc/passwd".to_owned(),
        "file:/etc/hosts.json".to_owned(),
        "/etc/passwd".to_owned(),
        "%2e%2e/secret.yaml#/a".to_owned(),
        "..%2fsecret.yaml#/a".to_owned(),
        "..\\secret.yaml#/a".to_owned(),
        "x/../../secret.yaml#/a".to_owned(),
        format!("{outside}#/a"),
        format!("file://{outside}#/a"),
        "key.pem".to_owned(),
        "callwright.toml#/a".to_owned(),
        ".".to_owned(),
        "\u{0}.yaml".to_owned(),
        "ftp://example.com/x.yaml".to_owned(),
        "x".repeat(10_000) + ".yaml",
    ];
    let paths: serde_json::Map<String, serde_json::Value> =
        links.iter().enumerate().map(|(number, link)| (format!("/{number}"), json!({"$ref": link}))).collect();
    fs::write(folder.path().join("api/api.json"), json!({"openapi": "3.0.0", "paths": paths}).to_string()).unwrap();
    let toolset = load(&folder, "api/api.json", &ToolsetSettings::default());
    let reasons = reasons(&toolset);
    assert_eq!(reasons.len(), links.len());
    for (link, reason) in links.iter().zip(&reasons) {
        assert!(!reason.contains("canary") && !reason.contains("has no target"), "{link}: {reason}");
    }
    assert_eq!(toolset.other_files, Vec::<std::path::PathBuf>::new());

    let settings = ToolsetSettings { root: folder.path().display().to_string(), ..ToolsetSettings::default() };
    let toolset = load(&folder, "api/api.json", &settings);
    assert!(toolset.report.operations_loaded >= 5, "{:?}", toolset.report);
}

#[cfg(unix)]
#[test]
fn symbolic_links_out_of_the_root_are_not_followed() {
    use std::os::unix::fs::symlink;
    let folder = folder(&[
        ("secret/a.yaml", "get: {description: canary}\n"),
        ("api/real.yaml", "get: {operationId: inside}\n"),
        (
            "api/api.yaml",
            "openapi: 3.0.0\npaths:\n  /a: {$ref: link.yaml}\n  /b: {$ref: folder/a.yaml}\n  /c: {$ref: alias.yaml}\n",
        ),
    ]);
    let api = folder.path().join("api");
    symlink("../secret/a.yaml", api.join("link.yaml")).unwrap();
    symlink("../secret", api.join("folder")).unwrap();
    symlink("real.yaml", api.join("alias.yaml")).unwrap();
    let toolset = load(&folder, "api/api.yaml", &ToolsetSettings::default());
    assert!(reasons(&toolset).iter().all(|reason| reason.contains("is outside")), "{:?}", reasons(&toolset));
    assert_eq!(toolset.report.operations_loaded, 1);
}

#[test]
fn files_and_bytes_are_bounded_over_all_files() {
    let many: String = (0..50).map(|number| format!("  /{number}: {{$ref: '{number}.yaml'}}\n")).collect();
    let names: Vec<String> = (0..50).map(|number| format!("{number}.yaml")).collect();
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "get: {}\n")).collect();
    let main = format!("openapi: 3.0.0\npaths:\n{many}");
    files.push(("api.yaml", &main));
    let folder = folder(&files);
    let mut settings = ToolsetSettings::default();
    settings.limits.files = 11;
    let toolset = load(&folder, "api.yaml", &settings);
    assert_eq!(toolset.report.operations_loaded, 10);
    assert!(reasons(&toolset)[0].contains("raise `limits.files`"), "{:?}", reasons(&toolset));
    settings.limits.files = 100;
    settings.limits.document_bytes = main.len() as u64 + 5 * 8 + 3;
    let toolset = load(&folder, "api.yaml", &settings);
    assert_eq!(toolset.report.operations_loaded, 5);
    assert!(reasons(&toolset)[0].contains("raise `limits.document_bytes`"), "{:?}", reasons(&toolset));
}

#[test]
fn ten_thousand_references_cost_no_more_than_they_are() {
    let paths: serde_json::Map<String, serde_json::Value> = (0..10_000)
        .map(|number| {
            (
                format!("/{number}"),
                json!({"$ref": format!("none{number}.yaml#/a"), "get": {"x": {"$ref": "b.yaml#/x"}}}),
            )
        })
        .collect();
    let folder = folder(&[("b.yaml", "x: 1\n")]);
    fs::write(folder.path().join("api.json"), json!({"openapi": "3.0.0", "paths": paths}).to_string()).unwrap();
    let toolset = load(&folder, "api.json", &ToolsetSettings::default());
    assert_eq!((toolset.report.operations_loaded, reasons(&toolset).len()), (10_000, 10_000));
}

/// Remote files by URL, and the requested URLs.
#[derive(Default)]
struct Remote {
    files: HashMap<&'static str, String>,
    requested: Mutex<Vec<String>>,
}

impl Fetch for Remote {
    fn fetch(&self, url: &Url, bounds: FetchBounds) -> Result<FetchedFile, String> {
        self.requested.lock().unwrap().push(url.to_string());
        let text = self.files.get(url.as_str()).ok_or("there is no such file")?;
        assert!(text.len() as u64 <= bounds.bytes);
        Ok(FetchedFile { url: url.clone(), bytes: text.clone().into_bytes(), etag: None, last_modified: None })
    }
}

#[test]
fn remote_documents_refer_to_remote_files_only_if_allowed() {
    let secret = folder(&[("secret.yaml", "a: {get: {description: canary}}\n")]);
    let local = Url::from_file_path(secret.path().join("secret.yaml")).unwrap();
    let main = format!(
        "openapi: 3.0.0\npaths:\n  /a: {{$ref: 'parts/a.yaml#/a'}}\n  /b: {{$ref: '{local}#/a'}}\n  /c: {{$ref: '{}#/a'}}\n",
        local.path()
    );
    let remote = Remote {
        files: HashMap::from([
            ("https://example.com/v1/api.yaml", main),
            ("https://example.com/v1/parts/a.yaml", "a: {get: {parameters: [{$ref: '../b.json#/p'}]}}\n".to_owned()),
            ("https://example.com/v1/b.json", r#"{"p": {"name": "p", "in": "query", "schema": {}}}"#.to_owned()),
        ]),
        ..Remote::default()
    };
    let url = Url::parse("https://example.com/v1/api.yaml").unwrap();
    let root = secret.path().display().to_string();
    let mut settings = ToolsetSettings { root, ..ToolsetSettings::default() };
    let toolset = load_from("api", Origin::Url(&url), &settings, &remote).unwrap();
    assert_eq!(toolset.report.operations_loaded, 0);
    assert_eq!(*remote.requested.lock().unwrap(), ["https://example.com/v1/api.yaml"]);

    settings.allow_remote_refs = true;
    let toolset = load_from("api", Origin::Url(&url), &settings, &remote).unwrap();
    assert_eq!(toolset.operations[0].label(), "GET /a");
    assert_eq!(toolset.operations.len(), 1);
    let reasons = reasons(&toolset);
    assert!(reasons[0].contains("refers from a remote document to `file:`"), "{reasons:?}");
    assert!(reasons[1].contains("there is no such file"), "{reasons:?}");

    let gone = Url::parse("https://example.com/none.yaml").unwrap();
    let error = load_from("api", Origin::Url(&gone), &settings, &remote).unwrap_err();
    assert_eq!(error.to_string(), "https://example.com/none.yaml: cannot be fetched: there is no such file");
}

#[test]
fn a_local_document_may_refer_to_remote_files_if_allowed() {
    let folder = folder(&[("api.yaml", "openapi: 3.0.0\npaths:\n  /a: {$ref: 'https://example.com/a.yaml'}\n")]);
    let remote =
        Remote { files: HashMap::from([("https://example.com/a.yaml", "get: {}\n".to_owned())]), ..Remote::default() };
    let settings = ToolsetSettings { allow_remote_refs: true, ..ToolsetSettings::default() };
    let path = folder.path().join("api.yaml");
    let toolset = load_from("api", Origin::Path(Path::new(&path)), &settings, &remote).unwrap();
    assert_eq!(toolset.report.operations_loaded, 1);
    assert_eq!(toolset.other_files.len(), 0);
}
