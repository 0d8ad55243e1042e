//! Tests of the decision whether a turn needs a plan.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{any_names_a_key, needs_plan};
use crate::generation::{PlanInputs, ToolList, Tools};
use crate::producers::{Edges, Producers, Request, ToolShape, documented_fields};
use callwright_judge::scanner::{Settings, Validators};
use callwright_types::{Message, Owner, Speaker, Tool, ToolKind};

/// Tools and earlier conversation of a test.
struct PlanCase {
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

/// Returns a case with tools for rooms, people and bookings.
fn meeting_case() -> PlanCase {
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
    PlanCase { tools, edges: "", before: Vec::new(), offered: None }
}

impl PlanCase {
    /// Returns tool, argument and producer of the reason for a plan.
    fn why(&self, request: &str) -> Option<[String; 3]> {
        let outputs: Vec<_> = self.tools.iter().map(|tool| documented_fields(&tool["output"])).collect();
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
        let producers = Producers::from_tools(&shapes).with_edges(&Edges::parse(self.edges).unwrap());
        let compiled = self.tools.iter().zip(&outputs).map(|(tool, outputs)| {
            let text = |member: &str| tool[member].as_str().unwrap().to_owned();
            let parameters = Arc::new(tool["parameters"].clone());
            let (name, description) = (text("name"), text("description"));
            (
                Arc::new(Tool {
                    name,
                    description,
                    parameters,
                    kind: ToolKind::Function,
                    reads: None,
                    owner: Owner::Client,
                    namespace: None,
                }),
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
        let scores = producers.score(&Request::parse(request), &[]);
        let inputs = PlanInputs {
            tools: &tools,
            producers: &producers,
            scores: &scores,
            offered: &offered,
            conversation: &conversation,
            memory: &[],
            outline: &[],
        };
        let why = needs_plan(&inputs)?;
        let name = |at: usize| shapes[at].name.to_owned();
        Some([name(why.tool), why.argument, name(why.producer.tool)])
    }

    fn needs(&self, request: &str) -> bool {
        self.why(request).is_some()
    }
}

const CALENDAR: &str = "Show me the calendar of the person Jack";

#[test]
fn a_missing_key_that_another_tool_returns_needs_a_plan() {
    assert_eq!(meeting_case().why(CALENDAR).unwrap(), ["get_calendar", "person_id", "find_people"]);
    assert!(
        meeting_case().needs("Show me the calendar of the person Jack on 2026-05-12 at 10:30, for 2 hours, below $300")
    );
}

#[test]
fn keys_behind_references_count_unless_their_values_are_listed() {
    let case = |id: Value| {
        let mut case = meeting_case();
        let parameters = &mut case.tools[1]["parameters"];
        parameters["properties"]["person_id"] = json!({"$ref": "#/$defs/person~1id"});
        parameters["$defs"] = json!({"person/id": {"allOf": [id]}});
        case
    };
    assert!(case(json!({"type": "string"})).needs(CALENDAR));
    assert!(!case(json!({"type": "string", "enum": ["me", "you"]})).needs(CALENDAR));
    assert!(!case(json!({"type": "boolean"})).needs(CALENDAR));
}

#[test]
fn simple_requests_need_no_plan() {
    for request in
        ["Which meeting rooms are there?", "What is the weather in Paris?", "Find people named Jack", "Hello!", ""]
    {
        assert!(!meeting_case().needs(request), "{request}");
    }
}

#[test]
fn a_key_given_by_any_speaker_needs_no_plan() {
    for given in
        ["48151", "person 7", "#7", "u_17", "8f14e45f-ceea-4a7f-b7c9-0d5c5b3a1f00", "\"jack\"", "'jack'", "id 12"]
    {
        assert!(!meeting_case().needs(&format!("Show me the calendar of the person {given}")), "{given}");
    }
    for speaker in [Speaker::Tool, Speaker::Model, Speaker::User, Speaker::Other] {
        let before = vec![(speaker, "{\"people\": [{\"person_id\": \"p17\", \"name\": \"Jack\"}]}")];
        assert!(!PlanCase { before, ..meeting_case() }.needs(CALENDAR));
    }
    let mut whole = meeting_case();
    whole.tools[1]["parameters"]["properties"]["person_id"] = json!({"type": "integer"});
    assert!(whole.needs("Show me the calendar of the person u_17"), "the conversation has no integer");
    assert!(!whole.needs("Show me the calendar of the person 1700"));
}

#[test]
fn arguments_without_a_lookup_need_no_plan() {
    let change = |schema: Value| {
        let mut case = meeting_case();
        case.tools[1]["parameters"]["properties"]["person_id"] = schema;
        case.needs(CALENDAR)
    };
    assert!(change(json!({})));
    for schema in
        [json!({"default": "me"}), json!({"enum": ["me", "you"]}), json!({"const": "me"}), json!({"type": "boolean"})]
    {
        assert!(!change(schema.clone()), "{schema}");
    }
    let mut optional = meeting_case();
    optional.tools[1]["parameters"]["required"] = json!([]);
    assert!(!optional.needs(CALENDAR));
    let mut by_name = meeting_case();
    by_name.tools[1] = tool("get_calendar", "Shows the calendar of a person.", &json!({"person_name": {}}), &json!({}));
    assert!(!by_name.needs(CALENDAR), "people give names");
}

#[test]
fn without_an_evident_producer_there_is_nothing_to_plan() {
    let mut without = meeting_case();
    without.tools.remove(0);
    assert!(!without.needs(CALENDAR));
    let mut writes = meeting_case();
    writes.tools[0]["name"] = json!("create_person");
    assert!(!writes.needs(CALENDAR), "a write is no lookup");
    let confirmed = "confirmed:\n- {from: create_person, to: get_calendar, argument: person_id}\n";
    assert!(PlanCase { edges: confirmed, ..writes }.needs(CALENDAR));
    let forbidden = "forbidden:\n- {from: find_people, to: get_calendar}\n";
    assert!(!PlanCase { edges: forbidden, ..meeting_case() }.needs(CALENDAR));
}

#[test]
fn a_tool_with_another_key_that_nothing_supplies_needs_no_plan() {
    let with_key = |tools: &mut Vec<Value>| {
        tools[1]["parameters"]["properties"]["tenant_id"] = json!({"type": "string"});
        tools[1]["parameters"]["required"] = json!(["person_id", "tenant_id"]);
    };
    let mut case = meeting_case();
    with_key(&mut case.tools);
    assert!(!case.needs(CALENDAR), "a plan could only guess the tenant");
    assert!(!case.needs(&format!("{CALENDAR} of the tenant t_9")), "and a key may be any key");
    let mut supplied = meeting_case();
    with_key(&mut supplied.tools);
    supplied.tools.push(tool("who_am_i", "Returns the tenant.", &json!({}), &json!({"tenant_id": {"type": "string"}})));
    assert_eq!(supplied.why(CALENDAR).unwrap()[1], "person_id");
}

#[test]
fn an_undocumented_tool_is_evident_by_its_name() {
    let mut unknown = meeting_case();
    unknown.tools.iter_mut().for_each(|tool| tool["output"] = Value::Null);
    unknown.tools[0]["name"] = json!("find_person");
    assert_eq!(unknown.why(CALENDAR).unwrap()[2], "find_person");
    unknown.tools[0]["name"] = json!("find_somebody");
    assert!(!unknown.needs(CALENDAR));
}

#[test]
fn tools_not_offered_or_not_clearly_requested_need_no_plan() {
    assert!(!PlanCase { offered: Some(vec!["find_people", "weather"]), ..meeting_case() }.needs(CALENDAR));
    let mut equals = meeting_case();
    let twin = tool("show_calendar", "Shows the calendar of a person.", &json!({"person_id": {}}), &json!({}));
    equals.tools[1]["name"] = json!("calendar");
    equals.tools.push(json!({"name": "calendar_2", "description": twin["description"], "parameters": twin["parameters"], "output": {}}));
    equals.tools[1]["name"] = json!("calendar_1");
    assert!(!equals.needs(CALENDAR), "two tools fit the request equally");
}

#[test]
fn a_conversation_of_any_length_is_read_within_bounds() {
    let long: &'static str = Box::leak("word ".repeat(100_000).into_boxed_str());
    assert!(
        !PlanCase { before: vec![(Speaker::User, long)], ..meeting_case() }.needs(CALENDAR),
        "a long conversation may contain a key"
    );
}

#[test]
fn undocumented_outputs_supply_a_key_only_by_the_tools_name() {
    let list = |tools: &[(&str, &str)]| {
        let tools = tools.iter().map(|(name, required)| {
            let parameters =
                json!({"type": "object", "required": [required], "properties": {*required: {"type": "string"}}});
            let tool = Tool {
                name: (*name).to_owned(),
                description: String::new(),
                parameters: Arc::new(parameters),
                kind: ToolKind::Function,
                reads: None,
                owner: Owner::Client,
                namespace: None,
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
