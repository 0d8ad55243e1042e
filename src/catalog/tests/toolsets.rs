//! Toolsets and the catalog.

use std::collections::BTreeMap;

use serde_json::json;

use super::super::{Catalog, LoadError, ToolsetSettings};
use super::toolset;
use crate::domain::{OperationRef, Owner};

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
    let catalog = Catalog::load(&toolsets, folder.path()).unwrap();
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
    let catalog = Catalog::load(&both, folder.path()).unwrap();
    for (toolset, offered) in [("my shop", "my_shop_getPet"), ("zoo", "zoo_getPet")] {
        let toolset = catalog.toolset(toolset).unwrap();
        let operation = toolset.operation("getPet").unwrap();
        assert_eq!(operation.tool.name, offered);
        assert_eq!(toolset.report.renamed.len(), 1);
        assert_eq!(toolset.report.renamed[0].to, offered);
    }
}

#[test]
fn a_document_that_cannot_be_loaded_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("old.yaml"), "swagger: '1.2'\npaths: {}\n").unwrap();
    std::fs::write(folder.path().join("other.yaml"), "name: a workflow\n").unwrap();
    for (file, words) in [
        ("none.yaml", "cannot be read"),
        ("old.yaml", "Swagger 1.2 is not yet supported"),
        ("other.yaml", "no OpenAPI document"),
    ] {
        let error = Catalog::load(&BTreeMap::from([("a".to_owned(), settings(file))]), folder.path()).unwrap_err();
        assert!(error.to_string().contains(words) && error.to_string().contains(file), "{error}");
    }
    let error = Catalog::load(&BTreeMap::from([("a".to_owned(), settings(""))]), folder.path()).unwrap_err();
    assert!(matches!(error, LoadError::NoDocument { .. }), "{error}");
}

#[test]
fn a_document_without_paths_is_an_empty_toolset() {
    assert_eq!(toolset(json!({"info": {"title": "t"}})).report.operations_loaded, 0);
    assert_eq!(toolset(json!({"paths": null})).report.operations_skipped, []);
}

#[test]
fn a_reload_reads_what_changed_keeps_the_rest_and_survives_what_is_broken() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("pets.yaml", PETS);
    write("zoo.yaml", PETS);
    let both = BTreeMap::from([("pets".to_owned(), settings("pets.yaml")), ("zoo".to_owned(), settings("zoo.yaml"))]);
    let first = Catalog::load(&both, folder.path()).unwrap();

    // Names that are no longer shared become plain again.
    write("zoo.yaml", &PETS.replace("getPet", "getAnimal"));
    let zoo = folder.path().join("zoo.yaml");
    let (second, errors) = first.reload(&both, folder.path(), &|file| file == zoo);
    assert!(errors.is_empty(), "{errors:?}");
    let offered = |catalog: &Catalog, toolset: &str| catalog.toolset(toolset).unwrap().operations[0].tool.name.clone();
    assert_eq!([offered(&first, "pets"), offered(&first, "zoo")], ["pets_getPet", "zoo_getPet"]);
    assert_eq!([offered(&second, "pets"), offered(&second, "zoo")], ["getPet", "getAnimal"]);
    assert_eq!(second.toolset("pets").unwrap().report.renamed, []);

    write("zoo.yaml", "openapi: [");
    let (third, errors) = second.reload(&both, folder.path(), &|file| file == zoo);
    assert_eq!(errors.len(), 1);
    assert!(errors[0].to_string().contains("zoo.yaml"), "{}", errors[0]);
    assert_eq!(offered(&third, "zoo"), "getAnimal");
    assert!(std::sync::Arc::ptr_eq(second.toolset("pets").unwrap(), third.toolset("pets").unwrap()));
}
