//! Workflows of documents as procedures.

use serde_json::{Value, json};

use super::{ImportError, OperationName, draft, parse};
use crate::procedures::{ProcedureTool, Settings};
use callwright_types::ProcedureDraft;
use callwright_types::plan::Source;

const ARAZZO: &str = r#"
arazzo: 1.0.1
info: {title: Rooms, version: "1"}
sourceDescriptions: [{name: rooms, url: ./rooms.yaml, type: openapi}]
workflows:
  - workflowId: bookFreeRoom
    summary: Books a free meeting room.
    inputs: {type: object, properties: {day: {type: string}}}
    parameters: [{reference: $components.parameters.day}]
    steps:
      - stepId: list
        operationId: $sourceDescriptions.rooms.listRooms
        outputs: {room: $response.body#/rooms/0/id}
      - stepId: book
        operationPath: '{$sourceDescriptions.rooms.url}#/paths/~1rooms~1{room}~1bookings/post'
        parameters:
          - {name: room, in: path, value: $steps.list.outputs.room}
        requestBody: {payload: {kind: meeting, title: $inputs.title, secret: "123-45"}}
  - workflowId: nested
    steps:
      - {stepId: all, workflowId: bookFreeRoom}
components:
  parameters: {day: {name: day, in: query, value: $inputs.day}}
"#;

const RUNBOOK: &str = "\
# Rooms

How to book.

## Book a free room

1. Ask for the day. No call is needed.
2. List the rooms with `GET /rooms` for the `day`.
3. Book one with `bookRoom()`: `room = step 2 /rooms/0/id`, `kind = \"meeting\"`, `title`.

## Nothing

- `listRooms`
";

struct Tools {
    list: Value,
    book: Value,
}

impl Tools {
    fn new() -> Self {
        let text = json!({"type": "string"});
        Self {
            list: json!({"type": "object", "properties": {"day": text}, "required": ["day"]}),
            book: json!({"type": "object", "required": ["room", "day", "title"], "properties": {"room": text, "day": text,
                "title": {"type": "string", "description": "Title of the meeting."}, "secret": text,
                "kind": {"enum": ["meeting", "call"]}}}),
        }
    }

    fn find<'a>(&'a self, operation: &OperationName) -> Option<ProcedureTool<'a>> {
        let (name, parameters, changes_state) = match operation {
            OperationName::Id(id) if id == "listRooms" => ("listRooms", &self.list, false),
            OperationName::Path(method, path) if method == "GET" && path == "/rooms" => {
                ("listRooms", &self.list, false)
            }
            OperationName::Id(id) if id == "bookRoom" => ("bookRoom", &self.book, true),
            OperationName::Path(method, path) if method == "POST" && path == "/rooms/{room}/bookings" => {
                ("bookRoom", &self.book, true)
            }
            _ => return None,
        };
        let description = "Lists rooms by id.";
        Some(ProcedureTool {
            name,
            toolset: Some("rooms"),
            client: None,
            description,
            parameters,
            outputs: &[],
            links: &[],
            changes_state,
        })
    }

    fn draft(&self, text: &str, at: usize) -> Result<ProcedureDraft, ImportError> {
        let workflow = parse(text).unwrap().swap_remove(at).map_err(|(_, error)| error)?;
        draft(&workflow, &|operation| self.find(operation), &Settings::default())
    }
}

fn source<'a>(draft: &'a ProcedureDraft, step: &str, argument: &str) -> &'a Source {
    &draft.plan.node(step).unwrap().argument(argument).unwrap().source
}

#[test]
fn arazzo_workflow_becomes_a_procedure_without_its_values() {
    let tools = Tools::new();
    let draft = tools.draft(ARAZZO, 0).unwrap();
    assert_eq!(draft.output, "Books a free meeting room.");
    let called: Vec<&str> = draft.plan.nodes().iter().map(|node| node.tool.as_str()).collect();
    assert_eq!(called, ["listRooms", "bookRoom"]);
    let inputs: Vec<&str> = draft.input.iter().map(|input| input.name.as_str()).collect();
    assert_eq!(inputs, ["day", "title", "secret"], "the day of both steps is one input");
    assert!(matches!(source(&draft, "step2", "room"), Source::Output(room) if room.output.as_str() == "/rooms/0/id"));
    assert!(matches!(source(&draft, "step2", "kind"), Source::Value { value, .. } if value == "meeting"));
    let whole = serde_json::to_string(&draft).unwrap();
    assert!(!whole.contains("123-45"), "{whole}");
    assert_eq!(draft.toolsets, ["rooms"]);
}

#[test]
fn runbook_becomes_a_procedure() {
    let tools = Tools::new();
    let draft = tools.draft(RUNBOOK, 0).unwrap();
    assert_eq!(draft.output, "Book a free room");
    assert_eq!(draft.plan.nodes().len(), 2);
    assert!(matches!(source(&draft, "step2", "room"), Source::Output(room) if room.node == "step1"));
    let inputs: Vec<&str> = draft.input.iter().map(|input| input.name.as_str()).collect();
    assert_eq!(inputs.first(), Some(&"day"));
    assert!(inputs.contains(&"title"));
    assert_eq!(parse(RUNBOOK).unwrap().len(), 1, "a list without order is no workflow");
}

#[test]
fn import_errors_name_their_location() {
    let tools = Tools::new();
    let nested = tools.draft(ARAZZO, 1).unwrap_err();
    assert!(nested.to_string().contains("step `all` names no operation"), "{nested}");
    let unknown = tools.draft("# A\n\n1. `listRooms`\n2. `dropRooms`\n", 0).unwrap_err();
    assert_eq!(unknown.to_string(), "step `step2` names the operation `dropRooms`, which no toolset has");
    let alone = tools.draft("# A\n\n1. `listRooms`\n", 0).unwrap_err();
    assert_eq!(alone, ImportError::NoProcedure);
    assert_eq!(parse("Nothing here."), Err(ImportError::Empty));
    assert!(matches!(parse("arazzo: 1.0.1\nworkflows: [{steps: 3}]"), Err(ImportError::Syntax { line: 2, .. })));
    let many = format!("arazzo: 1.0.1\nworkflows:\n{}", "  - {workflowId: a}\n".repeat(501));
    assert_eq!(parse(&many), Err(ImportError::TooMany));
}

#[test]
fn hostile_documents_terminate() {
    for text in ["1. `a`\n".repeat(50_000), "# x\n".repeat(50_000), format!("1. {}", "`a` ".repeat(50_000))] {
        let _ = parse(&text);
    }
}
