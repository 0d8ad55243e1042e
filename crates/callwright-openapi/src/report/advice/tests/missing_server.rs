//! Tests of `missing-server`.

use super::{advice_on, messages};
use serde_json::json;

#[test]
fn a_document_without_usable_servers_is_reported_once() {
    let paths = json!({"/a": {"get": {}, "post": {}}, "/b": {"get": {"servers": [{"url": "https://b.example"}]}}});
    let found = advice_on("missing-server", json!({"openapi": "3.0.0", "servers": [{"url": "/v1"}], "paths": paths}));
    assert_eq!(messages(&found), [("", "2 of 3 operations have no server that can be called")]);
    assert_eq!(found[0].at, "api.json #/servers");
    let swagger = advice_on("missing-server", json!({"swagger": "2.0", "paths": {"/a": {"get": {}}}}));
    assert_eq!(messages(&swagger), [("", "no operation has a server that can be called")]);
}

#[test]
fn servers_that_can_be_called_are_enough() {
    let document = json!({"openapi": "3.0.0", "servers": [{"url": "https://a.example"}], "paths": {"/a": {"get": {}}}});
    assert!(advice_on("missing-server", document).is_empty());
    assert!(
        advice_on("missing-server", json!({"openapi": "3.0.0", "paths": {}})).is_empty(),
        "nothing is to be called"
    );
}
