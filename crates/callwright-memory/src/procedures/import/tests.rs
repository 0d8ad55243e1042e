//! Workflows of runbooks as procedures.

use serde_json::{Value, json};

use super::{ImportError, OperationName, draft, parse};
use crate::procedures::{ProcedureTool, Settings};
use callwright_types::ProcedureDraft;
use callwright_types::plan::Source;

const RUNBOOK: &str = "\
# Rooms

How to book.

## Book a free room

1. Ask for the day. No call is needed.
2. List the rooms with `GET /rooms` for the `day`.
3. Book one with `bookRoom()`: `room = step 2 /rooms/0/id`, `kind = \"meeting\"`, `title`.

## Book at once

1. `listRooms` for the `day`
2. `bookRoom` with `room = step 1 /rooms/0/id`, `secret = \"123-45\"`

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
        let workflow = parse(text).unwrap().swap_remove(at);
        draft(&workflow, &|operation| self.find(operation), &Settings::default())
    }
}

fn source<'a>(draft: &'a ProcedureDraft, step: &str, argument: &str) -> &'a Source {
    &draft.plan.node(step).unwrap().argument(argument).unwrap().source
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
    assert!(matches!(source(&draft, "step2", "kind"), Source::Value { value, .. } if value == "meeting"));
    assert_eq!(draft.toolsets, ["rooms"]);
    assert_eq!(parse(RUNBOOK).unwrap().len(), 2, "a list without order is no workflow");
}

#[test]
fn a_procedure_has_no_values_of_its_runbook() {
    let draft = Tools::new().draft(RUNBOOK, 1).unwrap();
    let inputs: Vec<&str> = draft.input.iter().map(|input| input.name.as_str()).collect();
    assert_eq!(inputs, ["day", "secret", "title"], "the day of both steps is one input");
    let whole = serde_json::to_string(&draft).unwrap();
    assert!(!whole.contains("123-45"), "{whole}");
}

#[test]
fn import_errors_name_their_location() {
    let tools = Tools::new();
    let unknown = tools.draft("# A\n\n1. `listRooms`\n2. `dropRooms`\n", 0).unwrap_err();
    assert_eq!(unknown.to_string(), "step `step2` names the operation `dropRooms`, which no toolset has");
    let alone = tools.draft("# A\n\n1. `listRooms`\n", 0).unwrap_err();
    assert_eq!(alone, ImportError::NoProcedure);
    assert_eq!(parse("Nothing here."), Err(ImportError::Empty));
    let many = "# A\n\n1. `listRooms`\n\n".repeat(501);
    assert_eq!(parse(&many), Err(ImportError::TooMany));
}

#[test]
fn hostile_documents_terminate() {
    for text in ["1. `a`\n".repeat(50_000), "# x\n".repeat(50_000), format!("1. {}", "`a` ".repeat(50_000))] {
        let _ = parse(&text);
    }
}
