//! Explanations for tools that the client executes: what came back is a text, and the client's own schema is documentation too.

use serde_json::{Map, Value};

use super::Explainer;
use super::index::Index;
use super::query::query_of_message;
use crate::domain::{DocText, Explanation};

/// A tool that the client executes, as its request offers it.
#[derive(Debug, Clone, Copy)]
pub struct ClientTool<'a> {
    /// The tool's name.
    pub name: &'a str,
    /// What the request says about it: the tool's description, and those of its parameters as `name: description`.
    pub texts: &'a [DocText],
}

impl Explainer {
    /// What is known about the failure that a `tool` message reports. It is looked for in the tool's own texts, and in the documentation
    /// that the operator tied to a tool of this name: toolsets that have an operation of that name, or bear it themselves. Empty where
    /// nothing reaches the floor. Whether the message reports a failure is for the caller to know.
    pub async fn explain_tool(
        &self,
        tool: &ClientTool<'_>,
        arguments: &Map<String, Value>,
        message: &str,
    ) -> Explanation {
        let query = query_of_message(message, arguments);
        let mut own = Index::builder(self.settings());
        own.add_operation(tool.name, tool.texts);
        let own = own.build();
        let mut found = self.found(&own, tool.name, &query).await;
        for index in self.indexes_of_tool(tool.name) {
            found.extend(self.found(index, tool.name, &query).await);
        }
        self.shown(found)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use serde_json::json;

    use super::*;
    use crate::explain::{OperationDocs, Settings};

    fn text(text: &str) -> DocText {
        DocText { text: text.into(), source: "here".into() }
    }

    fn explained(tied_to: &str, message: &str) -> Vec<String> {
        let docs = OperationDocs {
            toolset: "flights".into(),
            tool: tied_to.into(),
            texts: vec![text("`E_SEAT`: the seat is taken; ask for another row.")],
        };
        let explainer = Explainer::build(vec![docs], &Settings::default());
        let texts =
            [text("Books a flight."), text("seat: Row and letter, such as 12A."), text("date: Day of departure.")];
        let arguments = json!({"seat": "12A", "date": "today"});
        let tool = ClientTool { name: "book", texts: &texts };
        let explanation =
            explainer.explain_tool(&tool, arguments.as_object().unwrap(), message).now_or_never().unwrap();
        explanation.passages.into_iter().map(|passage| passage.text).collect()
    }

    #[test]
    fn the_clients_own_schema_explains_the_parameter_that_the_message_names() {
        assert_eq!(explained("other", "Error: invalid value for `date`"), ["date: Day of departure."]);
    }

    #[test]
    fn documentation_that_is_tied_to_the_tools_name_explains_its_code() {
        let told = "`E_SEAT`: the seat is taken; ask for another row.";
        assert_eq!(explained("book", r#"{"error":{"code":"E_SEAT"}}"#)[0], told);
        assert!(!explained("other", r#"{"error":{"code":"E_SEAT"}}"#).contains(&told.to_owned()));
    }

    #[test]
    fn what_nothing_is_known_about_is_not_explained() {
        assert!(explained("book", "Error: the moon is full").is_empty());
    }
}
