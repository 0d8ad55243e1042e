//! Static feedback for an answer that meant to call and holds no call that can be read (E1).

use minijinja::context;
use minijinja::value::Value;
use serde_json::Map;

use super::shown::{self, Shown};
use crate::scanner::Toolbook;
use callwright_types::Diagnosis;

/// Names of offered tools that are listed.
const MAX_LISTED: usize = 10;

/// What the template can say. Which facts the diagnosis has depends on how far the answer could be read: `reason` (why no call
/// can be recovered), `name` (the tool that is named), `near` (the text of the place), `notation`; none is needed.
pub(super) fn context(diagnosis: &Diagnosis, toolbook: &Toolbook) -> Value {
    let fact =
        |name: &str| diagnosis.facts.get(name).and_then(serde_json::Value::as_str).filter(|fact| !fact.is_empty());
    let name = fact("name");
    let tools: Vec<String> = match name {
        Some(name) => toolbook.nearest(name, MAX_LISTED).into_iter().map(|(near, _)| near.to_owned()).collect(),
        None => toolbook.tools().iter().take(MAX_LISTED).map(|tool| tool.name().to_owned()).collect(),
    };
    context! {
        code => diagnosis.code.code(),
        message => &diagnosis.message,
        reason => fact("reason"),
        near => fact("near"),
        notation => fact("notation"),
        name => name,
        tools => tools,
        offered => toolbook.tools().len(),
        example => example_of(name, toolbook).map(Shown::context),
    }
}

/// A call of the tool that was named, or of the only one there is.
fn example_of(name: Option<&str>, toolbook: &Toolbook) -> Option<Shown> {
    let tool = match (name, toolbook.tools()) {
        (Some(name), _) => toolbook.find(name),
        (None, [only]) => Some(only),
        (None, _) => None,
    }?;
    shown::call_of(tool, &Map::new(), &[])
}
