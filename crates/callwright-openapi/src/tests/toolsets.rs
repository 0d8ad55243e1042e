//! Tests of toolsets and the catalog.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::json;

use super::toolset;
use crate::{Catalog, Changes, LoadError, Offline, ToolsetSettings};
use callwright_types::{OperationRef, Owner};

const PETS: &str = "openapi: 3.0.0\ninfo: {title: Pets, description: All pets}\nservers: [{url: 'https://pets.example.com/v1'}]\n\
    paths:\n  /pets/{id}:\n    get:\n      operationId: getPet\n      responses: {200: {description: ok, content: {application/json: {}}}}\n";

fn settings(document: &str) -> ToolsetSettings {
    ToolsetSettings { document: document.to_owned(), ..ToolsetSettings::default() }
}

#[test]
fn the_catalog_finds_an_operation_by_toolset_and_tool() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("pets.yaml"), PETS).unwrap();
    let toolsets = BTreeMap::from([("pets".to_owned(), settings("pets.yaml"))]);
    let catalog = Catalog::load(&toolsets, folder.path(), &Offline).unwrap().0;
    let reference = OperationRef { toolset: "pets".to_owned(), tool: "getPet".to_owned() };
    let operation = catalog.operation(&reference).unwrap();
    assert_eq!(operation.label(), "GET /pets/{id}");
    assert_eq!(operation.tool.owner, Owner::Proxy(reference));
    assert_eq!(operation.tool.description, "GET /pets/{id}");
    assert_eq!(operation.produces, ["application/json"]);
    assert_eq!(operation.servers[0].as_str(), "https://pets.example.com/v1");
    assert!(catalog.operation(&OperationRef { toolset: "pets".to_owned(), tool: "none".to_owned() }).is_none());

    let toolset = catalog.toolset("pets").unwrap();
    assert_eq!(toolset.title, "Pets");
    let texts: Vec<&str> = toolset.documentation_of(operation).map(|text| text.source.as_str()).collect();
    assert_eq!(texts, ["pets.yaml#/paths/~1pets~1{id}/get/responses/200/description", "pets.yaml#/info/description"]);
    assert!(Catalog::empty().toolset("pets").is_none());
}

#[test]
fn tools_of_two_toolsets_never_share_a_name() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("pets.yaml"), PETS).unwrap();
    let both =
        BTreeMap::from([("my shop".to_owned(), settings("pets.yaml")), ("zoo".to_owned(), settings("pets.yaml"))]);
    let catalog = Catalog::load(&both, folder.path(), &Offline).unwrap().0;
    for (toolset, offered) in [("my shop", "my_shop_getPet"), ("zoo", "zoo_getPet")] {
        let toolset = catalog.toolset(toolset).unwrap();
        let operation = toolset.operation("getPet").unwrap();
        assert_eq!(operation.tool.name, offered);
        assert_eq!(toolset.report.renamed.len(), 1);
        assert_eq!(toolset.report.renamed[0].to, offered);
    }
}

#[test]
fn an_unloadable_document_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("old.yaml"), "swagger: '1.2'\npaths: {}\n").unwrap();
    std::fs::write(folder.path().join("other.yaml"), "name: a workflow\n").unwrap();
    for (file, words) in [
        ("none.yaml", "cannot be read"),
        ("old.yaml", "Swagger 1.2 is not supported"),
        ("other.yaml", "not an OpenAPI document"),
    ] {
        let error =
            Catalog::load(&BTreeMap::from([("a".to_owned(), settings(file))]), folder.path(), &Offline).unwrap_err();
        assert!(error.to_string().contains(words) && error.to_string().contains(file), "{error}");
    }
    let error = Catalog::load(&BTreeMap::from([("a".to_owned(), settings(""))]), folder.path(), &Offline).unwrap_err();
    assert!(matches!(error, LoadError::Other(_)), "{error}");
}

#[test]
fn a_document_without_paths_is_an_empty_toolset() {
    assert_eq!(toolset(json!({"info": {"title": "t"}})).report.operations_loaded, 0);
    assert_eq!(toolset(json!({"paths": null})).report.operations_skipped, []);
}

#[test]
fn a_reload_replaces_changed_documents_and_keeps_broken_ones() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("pets.yaml", PETS);
    write("zoo.yaml", PETS);
    let both = BTreeMap::from([("pets".to_owned(), settings("pets.yaml")), ("zoo".to_owned(), settings("zoo.yaml"))]);
    let first = Catalog::load(&both, folder.path(), &Offline).unwrap().0;

    // Names that are no longer shared lose their prefix.
    write("zoo.yaml", &PETS.replace("getPet", "getAnimal"));
    let zoo = folder.path().join("zoo.yaml");
    let changes = Changes::Files(BTreeSet::from([zoo]));
    let (second, errors) = first.reload(&both, folder.path(), &Offline, &changes).unwrap();
    assert!(second.reload(&both, folder.path(), &Offline, &Changes::Files(BTreeSet::new())).is_none());
    assert!(errors.is_empty(), "{errors:?}");
    let offered = |catalog: &Catalog, toolset: &str| catalog.toolset(toolset).unwrap().operations[0].tool.name.clone();
    assert_eq!([offered(&first, "pets"), offered(&first, "zoo")], ["pets_getPet", "zoo_getPet"]);
    assert_eq!([offered(&second, "pets"), offered(&second, "zoo")], ["getPet", "getAnimal"]);
    assert_eq!(second.toolset("pets").unwrap().report.renamed, []);

    write("zoo.yaml", "openapi: [");
    let (third, errors) = second.reload(&both, folder.path(), &Offline, &changes).unwrap();
    assert_eq!(errors.len(), 1);
    assert!(errors[0].to_string().contains("zoo.yaml"), "{}", errors[0]);
    assert_eq!(offered(&third, "zoo"), "getAnimal");
    assert!(std::sync::Arc::ptr_eq(second.toolset("pets").unwrap(), third.toolset("pets").unwrap()));
}

fn folder_of(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

fn names(catalog: &Catalog) -> Vec<&str> {
    catalog.toolsets_of("all").map(|toolset| toolset.name.as_str()).collect()
}

#[test]
fn every_document_of_a_folder_is_a_toolset_fragments_are_not() {
    let folder = folder_of(&[
        ("specs/pets.yaml", PETS),
        ("specs/deep/er/zoo.json", r#"{"swagger": "2.0", "paths": {"/z": {"get": {}}}}"#),
        ("specs/main.yaml", "openapi: 3.0.0\npaths:\n  /a: {$ref: 'whole.yaml#/paths/~1a'}\n  /b: {$ref: part.yaml}\n"),
        ("specs/whole.yaml", "openapi: 3.0.0\npaths:\n  /a: {get: {operationId: a}}\n"),
        ("specs/part.yaml", "get: {parameters: [{$ref: 'shared.yaml#/components/parameters/P'}]}\n"),
        ("specs/shared.yaml", "openapi: 3.0.0\ncomponents: {parameters: {P: {name: p, in: query, schema: {}}}}\n"),
        ("specs/user.yaml", "openapi: 3.0.0\npaths: {/u: {get: {parameters: [{$ref: 'pets.yaml#/x-p'}]}}}\n"),
        ("specs/x.yaml", "openapi: 3.0.0\npaths: {/x: {get: {}}, /y: {$ref: 'y.yaml#/paths/~1y'}}\n"),
        ("specs/y.yaml", "openapi: 3.0.0\npaths: {/y: {get: {}}, /x: {$ref: 'x.yaml#/paths/~1x'}}\n"),
        ("specs/broken.yaml", "openapi: 3.0.0\npaths: [\n"),
        ("specs/values.yaml", "name: no document\n"),
    ]);
    let toolsets = BTreeMap::from([("all".to_owned(), settings("specs/"))]);
    let (catalog, errors) = Catalog::load(&toolsets, folder.path(), &Offline).unwrap();
    let expected = ["deep/er/zoo.json", "main.yaml", "pets.yaml", "user.yaml", "x.yaml", "y.yaml"];
    assert_eq!(names(&catalog), expected.map(|way| format!("all/{way}")));
    assert_eq!(errors.len(), 1);
    assert!(errors[0].to_string().contains("broken.yaml"), "{}", errors[0]);
    let main = catalog.toolset("all/main.yaml").unwrap();
    assert_eq!((main.report.operations_loaded, main.entry.as_str()), (2, "all"));
    let files: Vec<&Path> =
        catalog.files().map(|file| file.strip_prefix(folder.path().join("specs")).unwrap()).collect();
    assert!(files.contains(&Path::new("part.yaml")) && files.contains(&Path::new("broken.yaml")), "{files:?}");
    assert_eq!(catalog.folders().count(), 3);
}

#[test]
fn documents_of_a_folder_come_change_and_go() {
    let folder = folder_of(&[("specs/pets.yaml", PETS), ("specs/deep/old.yaml", PETS)]);
    let toolsets = BTreeMap::from([("all".to_owned(), settings("specs"))]);
    let load = |before: &Catalog, files: &[&str]| {
        let files = files.iter().map(|file| folder.path().join("specs").join(file)).collect();
        before.reload(&toolsets, folder.path(), &Offline, &Changes::Files(files))
    };
    let first = Catalog::load(&toolsets, folder.path(), &Offline).unwrap().0;
    assert!(load(&first, &[]).is_none());

    std::fs::write(folder.path().join("specs/deep/new.yaml"), PETS).unwrap();
    let (second, errors) = load(&first, &[]).unwrap();
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(names(&second), ["all/deep/new.yaml", "all/deep/old.yaml", "all/pets.yaml"]);

    // A broken document keeps its previous version; a deleted one is removed.
    std::fs::write(folder.path().join("specs/pets.yaml"), "openapi: 3.0.0\npaths: [").unwrap();
    std::fs::remove_file(folder.path().join("specs/deep/old.yaml")).unwrap();
    let (third, errors) = load(&second, &["pets.yaml", "deep/old.yaml"]).unwrap();
    assert_eq!(errors.len(), 1);
    assert_eq!(names(&third), ["all/deep/new.yaml", "all/pets.yaml"]);
    assert_eq!(third.toolset("all/pets.yaml").unwrap().report.operations_loaded, 1);

    std::fs::remove_dir_all(folder.path().join("specs")).unwrap();
    let (fourth, errors) = load(&third, &["pets.yaml"]).unwrap();
    assert!(errors[0].to_string().contains("cannot be read"), "{errors:?}");
    assert_eq!(names(&fourth), names(&third));
}

#[test]
fn folder_credentials_go_to_documents_that_have_their_scheme() {
    let keyed = "swagger: '2.0'\npaths: {}\nsecurityDefinitions: {key: {type: apiKey, in: header, name: x-key}}\n";
    let folder = folder_of(&[("specs/keyed.yaml", keyed), ("specs/pets.yaml", PETS)]);
    let load = |scheme: &str| {
        let credentials = toml::from_str(&format!("{scheme} = 'secret'")).unwrap();
        let settings = ToolsetSettings { credentials, ..settings("specs") };
        Catalog::load(&BTreeMap::from([("all".to_owned(), settings)]), folder.path(), &Offline)
    };
    let catalog = load("key").unwrap().0;
    let has = |name: &str| catalog.toolset(name).unwrap().credentials.contains_key("key");
    assert_eq!([has("all/keyed.yaml"), has("all/pets.yaml")], [true, false]);
    let error = load("other").unwrap_err().to_string();
    assert!(error.contains("`other`") && error.contains("defines key"), "{error}");
}

#[test]
fn empty_folders_and_unusable_urls_are_errors_with_a_remedy() {
    let folder = folder_of(&[("specs/values.yaml", "name: none\n"), ("bad/a.yaml", "openapi: [")]);
    for (document, words) in [
        ("specs", "no OpenAPI document in"),
        ("bad", "no OpenAPI document in"),
        ("ftp://example.com/api.yaml", "is a `ftp:` URL; give an http or https URL"),
        ("https://me:secret@example.com/api.yaml", "remove them"),
        ("https://", "is not a valid URL"),
        ("https://example.com/api.yaml?key=secret", "https://example.com/api.yaml?...: cannot be fetched"),
    ] {
        let toolsets = BTreeMap::from([("all".to_owned(), settings(document))]);
        let error = Catalog::load(&toolsets, folder.path(), &Offline).unwrap_err().to_string();
        assert!(error.contains(words) && !error.contains("secret"), "{document}: {error}");
    }
}
