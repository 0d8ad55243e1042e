//! Tests of the decision whether a turn needs a plan.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{any_names_a_key, needs_plan};
use crate::planner::drawing::{Occasion, ToolList, Tools};
use crate::planner::producers::{Edges, Producers, Request, ToolShape, told_fields};
use callwright_judge::scanner::{Settings, Validators};
use callwright_types::{Message, Owner, Speaker, Tool};

/// Tools and earlier conversation of a test.
struct Scene {
    tools: Vec<Value>,
    edges: &'static str,
    before: Vec<(Speaker, &'static str)>,
    offered: Option<Vec<&'static str>>,
}

fn tool(name: &str, description: &str, parameters: &Value, output: &Value) -> Value {
    let required: Vec<&String> = parameters.as_object().unwrap().keys().collect();
    let parameters = json!({"type": "object", "properties": parameters, "required": required});
    json!({"name": name, "description": description, "parameters": parameters, "output": output})
}

/// Returns a scene with tools for rooms, people and bookings.
fn scene() -> Scene {
    let text = json!({"type": "string"});
    let person = json!({"person_id": text, "name": text});
    let people = json!({"type": "object", "properties": {"people": {"type": "array", "items": {"type": "object", "properties": person}}}});
    let tools = vec![
        tool("find_people", "Finds people by their names.", &json!({"name": text}), &people),
        tool(
            "get_calendar",
            "Shows the calendar of a person.",
            &json!({"person_id": text}),
            &json!({"events": {"type": "array"}}),
        ),
        tool("list_rooms", "Lists the meeting rooms.", &json!({}), &json!({"rooms": {"type": "array"}})),
        tool("weather", "The weather of a city.", &json!({"city": text}), &json!({"degrees": {"type": "number"}})),
    ];
    Scene { tools, edges: "", before: Vec::new(), offered: None }
}

impl Scene {
    /// Returns tool, argument and producer of the reason for a plan.
    fn why(&self, request: &str) -> Option<[String; 3]> {
        let outputs: Vec<_> = self.tools.iter().map(|tool| told_fields(&tool["output"])).collect();
        let shapes: Vec<ToolShape<'_>> = self
            .tools
            .iter()
            .zip(&outputs)
            .map(|(tool, outputs)| ToolShape {
                name: tool["name"].as_str().unwrap(),
                description: tool["description"].as_str().unwrap(),
                parameters: &tool["parameters"],
                outputs,
                http: None,
                links: &[],
            })
            .collect();
        let producers = Producers::of(&shapes).with_edges(&Edges::parse(self.edges).unwrap());
        let compiled = self.tools.iter().zip(&outputs).map(|(tool, outputs)| {
            let text = |member: &str| tool[member].as_str().unwrap().to_owned();
            let parameters = Arc::new(tool["parameters"].clone());
            let (name, description) = (text("name"), text("description"));
            (
                Arc::new(Tool { name, description, parameters, free_text: false, reads: None, owner: Owner::Client }),
                outputs.clone(),
            )
        });
        let tools = ToolList::compile(compiled.collect(), &Validators::new(&Settings::default()));
        let message = |speaker, text: &str| Message {
            speaker,
            text: text.to_owned(),
            calls: Vec::new(),
            answers: None,
            name: None,
        };
        let before = self.before.iter().map(|(speaker, text)| message(*speaker, text));
        let conversation: Vec<Message> = before.chain([message(Speaker::User, request)]).collect();
        let offered: Vec<usize> = match &self.offered {
            Some(names) => names.iter().map(|name| producers.position(name).unwrap()).collect(),
            None => (0..self.tools.len()).collect(),
        };
        let asked = producers.ask(&Request::read(request), &[]);
        let occasion = Occasion {
            tools: &tools,
            producers: &producers,
            asked: &asked,
            offered: &offered,
            conversation: &conversation,
            memory: &[],
            outline: &[],
        };
        let why = needs_plan(&occasion)?;
        let name = |at: usize| shapes[at].name.to_owned();
        Some([name(why.tool), why.argument, name(why.producer.tool)])
    }

    fn needs(&self, request: &str) -> bool {
        self.why(request).is_some()
    }
}

const CALENDAR: &str = "Show me the calendar of the person Jack";

#[test]
fn a_key_that_nobody_gave_and_that_another_tool_answers_with_needs_a_plan() {
    assert_eq!(scene().why(CALENDAR).unwrap(), ["get_calendar", "person_id", "find_people"]);
    assert!(scene().needs("Show me the calendar of the person Jack on 2026-05-12 at 10:30, for 2 hours, below $300"));
}

#[test]
fn simple_requests_need_none() {
    for request in
        ["Which meeting rooms are there?", "What is the weather in Paris?", "Find people named Jack", "Hello!", ""]
    {
        assert!(!scene().needs(request), "{request}");
    }
}

#[test]
fn a_key_that_was_given_needs_none_whoever_gave_it() {
    for given in
        ["48151", "person 7", "#7", "u_17", "8f14e45f-ceea-4a7f-b7c9-0d5c5b3a1f00", "\"jack\"", "'jack'", "id 12"]
    {
        assert!(!scene().needs(&format!("Show me the calendar of the person {given}")), "{given}");
    }
    for speaker in [Speaker::Tool, Speaker::Model, Speaker::User, Speaker::Other] {
        let before = vec![(speaker, "{\"people\": [{\"person_id\": \"p17\", \"name\": \"Jack\"}]}")];
        assert!(!Scene { before, ..scene() }.needs(CALENDAR));
    }
    let mut whole = scene();
    whole.tools[1]["parameters"]["properties"]["person_id"] = json!({"type": "integer"});
    assert!(whole.needs("Show me the calendar of the person u_17"), "no whole number was said");
    assert!(!whole.needs("Show me the calendar of the person 1700"));
}

#[test]
fn arguments_that_need_not_be_looked_up_need_none() {
    let change = |schema: Value| {
        let mut scene = scene();
        scene.tools[1]["parameters"]["properties"]["person_id"] = schema;
        scene.needs(CALENDAR)
    };
    assert!(change(json!({})));
    for schema in
        [json!({"default": "me"}), json!({"enum": ["me", "you"]}), json!({"const": "me"}), json!({"type": "boolean"})]
    {
        assert!(!change(schema.clone()), "{schema}");
    }
    let mut optional = scene();
    optional.tools[1]["parameters"]["required"] = json!([]);
    assert!(!optional.needs(CALENDAR));
    let mut known = scene();
    known.tools[1] = tool("get_calendar", "Shows the calendar of a person.", &json!({"person_name": {}}), &json!({}));
    assert!(!known.needs(CALENDAR), "names are said by people");
}

#[test]
fn without_an_evident_producer_there_is_nothing_to_plan() {
    let mut without = scene();
    without.tools.remove(0);
    assert!(!without.needs(CALENDAR));
    let mut writes = scene();
    writes.tools[0]["name"] = json!("create_person");
    assert!(!writes.needs(CALENDAR), "nothing is changed for the sake of a key");
    let confirmed = "confirmed:\n- {from: create_person, to: get_calendar, argument: person_id}\n";
    assert!(Scene { edges: confirmed, ..writes }.needs(CALENDAR));
    let forbidden = "forbidden:\n- {from: find_people, to: get_calendar}\n";
    assert!(!Scene { edges: forbidden, ..scene() }.needs(CALENDAR));
}

#[test]
fn a_tool_of_which_nobody_knows_what_it_answers_is_evident_by_its_name_alone() {
    let mut unknown = scene();
    unknown.tools.iter_mut().for_each(|tool| tool["output"] = Value::Null);
    unknown.tools[0]["name"] = json!("find_person");
    assert_eq!(unknown.why(CALENDAR).unwrap()[2], "find_person");
    unknown.tools[0]["name"] = json!("find_somebody");
    assert!(!unknown.needs(CALENDAR));
}

#[test]
fn what_is_not_offered_or_not_evidently_asked_for_needs_none() {
    assert!(!Scene { offered: Some(vec!["find_people", "weather"]), ..scene() }.needs(CALENDAR));
    let mut equals = scene();
    let twin = tool("show_calendar", "Shows the calendar of a person.", &json!({"person_id": {}}), &json!({}));
    equals.tools[1]["name"] = json!("calendar");
    equals.tools.push(json!({"name": "calendar_2", "description": twin["description"], "parameters": twin["parameters"], "output": {}}));
    equals.tools[1]["name"] = json!("calendar_1");
    assert!(!equals.needs(CALENDAR), "two tools are asked for as much");
}

#[test]
fn a_conversation_of_any_length_is_read_within_bounds() {
    let long: &'static str = Box::leak("word ".repeat(100_000).into_boxed_str());
    assert!(
        !Scene { before: vec![(Speaker::User, long)], ..scene() }.needs(CALENDAR),
        "in so many words there may be a key"
    );
}

#[test]
fn without_documented_outputs_only_a_tool_that_is_named_after_a_key_can_supply_it() {
    let list = |tools: &[(&str, &str)]| {
        let tools = tools.iter().map(|(name, required)| {
            let parameters =
                json!({"type": "object", "required": [required], "properties": {*required: {"type": "string"}}});
            let tool = Tool {
                name: (*name).to_owned(),
                description: String::new(),
                parameters: Arc::new(parameters),
                free_text: false,
                reads: None,
                owner: Owner::Client,
            };
            (Arc::new(tool), Vec::new())
        });
        let list = ToolList::compile(tools.collect(), &Validators::new(&Settings::default()));
        (0..2).filter_map(|position| list.tool(position)).collect::<Vec<_>>()
    };
    assert!(any_names_a_key(&list(&[("find_person", "name"), ("get_calendar", "person_id")])));
    assert!(!any_names_a_key(&list(&[("delete_person", "name"), ("get_calendar", "person_id")])), "it writes");
    assert!(!any_names_a_key(&list(&[("find_room", "name"), ("get_calendar", "person_id")])), "another thing");
    assert!(!any_names_a_key(&list(&[("find_person", "name"), ("get_calendar", "day")])), "no key");
    assert!(!any_names_a_key(&list(&[("look_up_1", "id"), ("look_up_2", "id")])), "no thing");
}
