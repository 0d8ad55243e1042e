//! Tests of the tools that the plans of a turn can use.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::offer::Offer;
use super::producer_index::{IndexScope, IndexedTools, ProducerIndex};
use callwright_judge::scanner::Validators;
use callwright_openapi::{Catalog, Changes, Offline, ToolsetSettings};
use callwright_plan::producers::{Edges, Request};
use callwright_types::rules::{ExecuteRule, ExecuteRules, Permission, ToolGlobs};
use callwright_types::{Owner, Tool, ToolKind};

/// OpenAPI document of an API for one kind of thing (persons, rooms).
fn document(thing: &str) -> String {
    let schema =
        json!({"type": "object", "title": thing, "properties": {"id": {"type": "string"}, "name": {"type": "string"}}});
    let content =
        |schema: Value| json!({"200": {"description": "", "content": {"application/json": {"schema": schema}}}});
    let key = format!("{thing}_id");
    let parameter = json!([{"name": key, "in": "path", "required": true, "schema": {"type": "string"}}]);
    json!({"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {
        format!("/{thing}s"): {
            "get": {"operationId": format!("list_{thing}s"), "responses": content(json!({"type": "array", "items": schema}))},
            "post": {"operationId": format!("create_{thing}"), "responses": content(schema.clone())},
        },
        format!("/{thing}s/{{{key}}}"): {
            "get": {"operationId": format!("get_{thing}"), "parameters": parameter, "responses": content(schema)},
        },
    }})
    .to_string()
}

struct Fixture {
    folder: tempfile::TempDir,
    settings: BTreeMap<String, ToolsetSettings>,
    catalog: Catalog,
    producers: ProducerIndex,
}

fn fixture(edges: &str) -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str| {
        fs::write(folder.path().join(format!("{name}s.json")), document(name)).unwrap();
        let document = format!("{name}s.json");
        (format!("{name}s"), ToolsetSettings { document, ..ToolsetSettings::default() })
    };
    let settings: BTreeMap<_, _> = [of("person"), of("room")].into();
    let (catalog, _) = Catalog::load(&settings, folder.path(), &Offline).unwrap();
    let edges = Arc::new(Edges::parse(edges).unwrap());
    let producers = ProducerIndex::fill(&catalog, edges, None);
    Fixture { folder, settings, catalog, producers }
}

fn client_tool(name: &str, argument: &str) -> Value {
    json!({"name": name, "parameters": {"type": "object", "required": [argument], "properties": {argument: {"type": "string"}}}})
}

fn tools(list: &str) -> Vec<Tool> {
    let listed: Vec<Value> = serde_json::from_str(list).unwrap_or_default();
    let tool = |listed: Value| Tool {
        name: listed["name"].as_str().unwrap().to_owned(),
        description: String::new(),
        parameters: Arc::new(listed["parameters"].clone()),
        kind: if listed["kind"] == "custom" { ToolKind::Custom } else { ToolKind::Function },
        reads: None,
        owner: Owner::Client,
        namespace: None,
    };
    listed.into_iter().map(tool).collect()
}

/// Rules of a turn.
#[derive(Clone, Default)]
struct Rules {
    never: ToolGlobs,
    execute: ExecuteRules,
    narrowed: bool,
}

impl Fixture {
    fn indexed(&self, toolsets: &[&str], list: &str, rules: &Rules) -> Arc<IndexedTools> {
        let toolsets: Vec<String> = toolsets.iter().map(|name| (*name).to_owned()).collect();
        let Rules { never, execute, narrowed } = rules.clone();
        let scope = IndexScope { toolsets, never, execute, list: list.to_owned(), narrowed };
        let known = self.producers.known(&scope);
        known.unwrap_or_else(|| self.producers.build(&self.catalog, &scope, tools(list)))
    }
}

/// Returns the names of the tools that can supply an argument, best first.
fn suppliers(tools: &IndexedTools, tool: &str, argument: &str) -> Vec<String> {
    let producers = &tools.producers;
    let asked = producers.score(&Request::parse("whatever"), &[]);
    let found = producers.candidates(producers.position(tool).unwrap(), argument, &asked, 10);
    found.iter().map(|candidate| tools.tool(candidate.tool).unwrap().0.name.clone()).collect()
}

fn names(tools: &IndexedTools) -> Vec<String> {
    (0..tools.producers.len()).filter_map(|at| Some(tools.tool(at)?.0.name.clone())).collect()
}

#[test]
fn a_turn_knows_its_callable_toolset_tools_and_the_clients_own() {
    let fixture = fixture("");
    let list = json!([client_tool("book", "room_id")]).to_string();
    let tools = fixture.indexed(&["rooms"], &list, &Rules::default());
    assert_eq!(names(&tools), ["list_rooms", "get_room", "book"], "creating is executed by no rule");
    assert_eq!(suppliers(&tools, "book", "room_id")[0], "list_rooms");
    let (tool, outputs) = tools.tool(tools.producers.position("list_rooms").unwrap()).unwrap();
    assert!(tool.owner.is_proxy() && outputs.iter().any(|output| output.pointer == "/0/id"));
    assert!(tools.producers.position("list_persons").is_none() && tools.tool(99).is_none());
}

#[test]
fn what_policy_denies_or_never_offers_supplies_nothing() {
    let fixture = fixture("");
    let rule = |permission, tools: &str| ExecuteRule { methods: Vec::new(), tools: vec![tools.to_owned()], permission };
    let rules = vec![rule(Permission::Deny, "rooms/list_*"), rule(Permission::Approve, "rooms/*")];
    let execute = ExecuteRules { rules, ..ExecuteRules::default() };
    let denied = fixture.indexed(&["rooms"], "", &Rules { execute, ..Rules::default() });
    assert_eq!(names(&denied), ["create_room", "get_room"]);
    assert!(suppliers(&denied, "get_room", "room_id").is_empty(), "a tool that changes something is not confirmed");

    let never = ToolGlobs::new(vec!["*/list_*".to_owned(), "own".to_owned()]).unwrap();
    let list = json!([client_tool("own", "room_id")]).to_string();
    let rules = Rules { never, ..Rules::default() };
    assert_eq!(names(&fixture.indexed(&["rooms"], &list, &rules)), ["get_room", "own"]);
    let rules = Rules { narrowed: true, ..rules };
    assert_eq!(names(&fixture.indexed(&["rooms"], &list, &rules)), ["get_room"], "it holds where the list is narrowed");
}

#[test]
fn client_tools_hide_their_namesakes_and_text_tools_are_omitted() {
    let fixture = fixture("");
    let text = json!({"name": "write", "kind": "custom", "parameters": null});
    let again = client_tool("get_room", "other");
    let list = json!([client_tool("get_room", "room_id"), text, again]).to_string();
    let tools = fixture.indexed(&["rooms"], &list, &Rules::default());
    assert_eq!(names(&tools), ["list_rooms", "get_room"]);
    assert_eq!(tools.tool(tools.producers.position("get_room").unwrap()).unwrap().0.owner, Owner::Client);
}

#[test]
fn a_turn_with_the_same_tools_and_rules_gets_the_same() {
    let fixture = fixture("");
    let list = json!([client_tool("book", "room_id")]).to_string();
    let rules = Rules::default();
    let first = fixture.indexed(&["rooms", "persons"], &list, &rules);
    assert!(Arc::ptr_eq(&first, &fixture.indexed(&["rooms", "persons"], &list, &rules)));
    assert!(!Arc::ptr_eq(&first, &fixture.indexed(&["rooms"], &list, &rules)));
    assert!(!Arc::ptr_eq(&first, &fixture.indexed(&["rooms", "persons"], "[]", &rules)));
    // A key has the same meaning in all toolsets and in the client's tools.
    let list = json!([client_tool("invite", "person_id")]).to_string();
    assert_eq!(
        suppliers(&fixture.indexed(&["rooms", "persons"], &list, &rules), "invite", "person_id")[0],
        "list_persons"
    );
}

#[test]
fn operator_settings_hold_for_all_tools_and_strangers_are_named() {
    let edges = "confirmed:\n- {from: list_persons, to: book, argument: room_id}\n\
                 forbidden:\n- {from: list_rooms, to: get_room}\n- {from: nobody, to: book}\n";
    let fixture = fixture(edges);
    assert_eq!(fixture.producers.strangers(), ["book", "nobody"]);
    let list = json!([client_tool("book", "room_id")]).to_string();
    let rules = Rules::default();
    let tools = fixture.indexed(&["rooms", "persons"], &list, &rules);
    assert_eq!(suppliers(&tools, "book", "room_id")[0], "list_persons");
    assert!(!suppliers(&tools, "get_room", "room_id").contains(&"list_rooms".to_owned()));
    let other = fixture.producers.with_edges(Arc::default());
    assert!(other.strangers().is_empty());
    let fixture = Fixture { producers: other, ..fixture };
    assert_eq!(suppliers(&fixture.indexed(&["rooms"], &list, &rules), "get_room", "room_id")[0], "list_rooms");
}

#[test]
fn new_turns_see_a_reload_and_running_ones_keep_their_tools() {
    let fixture = fixture("");
    let rules = Rules::default();
    let before = fixture.indexed(&["rooms"], "", &rules);
    let file = fixture.folder.path().join("rooms.json");
    fs::write(&file, document("hall")).unwrap();
    let changes = Changes::Files([fs::canonicalize(&file).unwrap()].into());
    let folder: &Path = fixture.folder.path();
    let (catalog, _) = fixture.catalog.reload(&fixture.settings, folder, &Offline, &changes).unwrap();
    let producers = ProducerIndex::fill(&catalog, Arc::default(), Some(&fixture.producers));
    let fixture = Fixture { catalog, producers, ..fixture };
    assert_eq!(names(&fixture.indexed(&["rooms"], "", &rules)), ["list_halls", "get_hall"]);
    assert_eq!(names(&before), ["list_rooms", "get_room"]);
}

#[tokio::test]
async fn many_operations_are_indexed_in_the_background_few_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let things: Vec<String> = ('a'..='z').map(|letter| format!("thing{letter}")).collect();
    let mut whole: Value = serde_json::from_str(&document("room")).unwrap();
    for thing in &things {
        let of_thing: Value = serde_json::from_str(&document(thing)).unwrap();
        let paths = of_thing["paths"].as_object().unwrap().clone();
        whole["paths"].as_object_mut().unwrap().extend(paths);
    }
    fs::write(folder.path().join("many.json"), whole.to_string()).unwrap();
    fs::write(folder.path().join("few.json"), document("person")).unwrap();
    let of = |name: &str| {
        (name.to_owned(), ToolsetSettings { document: format!("{name}.json"), ..ToolsetSettings::default() })
    };
    let settings: BTreeMap<_, _> = [of("many"), of("few")].into();
    let (catalog, _) = Catalog::load(&settings, folder.path(), &Offline).unwrap();
    let index = ProducerIndex::fill(&catalog, Arc::default(), None);
    let (catalog, index) = (Arc::new(catalog), Arc::new(index));

    let [many, few] = ["many", "few"].map(|name| {
        let Rules { never, execute, narrowed } = Rules::default();
        IndexScope { toolsets: vec![name.to_owned()], never, execute, list: String::new(), narrowed }
    });
    assert!(index.is_ready(&catalog, &few), "few operations are indexed by the turn itself");
    assert!(!index.is_ready(&catalog, &many), "a turn does not wait for many operations");
    index.build_in_background(&catalog, &many);
    index.build_in_background(&catalog, &many);
    while !index.is_ready(&catalog, &many) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(index.known(&many).is_none());
    let tools = index.build(&catalog, &many, Vec::new());
    assert_eq!(suppliers(&tools, "get_room", "room_id")[0], "list_rooms");
    assert!(index.known(&many).is_some());
}

#[test]
fn that_a_list_needs_no_supply_is_known_for_the_same_index_only() {
    let offer = Offer::of_client(tools("[]"), &Validators::default());
    let [first, second] = [fixture("").producers, fixture("").producers].map(Arc::new);
    assert!(!offer.is_without_supply(&first));
    offer.note_without_supply(&first);
    assert!(offer.is_without_supply(&first) && !offer.is_without_supply(&second));
    drop(first);
    assert!(!offer.is_without_supply(&second));
    offer.note_without_supply(&second);
    assert!(offer.is_without_supply(&second));
}
