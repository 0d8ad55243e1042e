//! Explanations for tools that the client executes. The result is a text, and the client's own schema serves as
//! documentation.

use serde_json::{Map, Value};

use crate::Explainer;
use crate::index::Index;
use crate::query::query_of_message;
use callwright_types::{DocText, Explanation};

/// Tool that the client executes, as its request offers it.
#[derive(Debug, Clone, Copy)]
pub struct ClientTool<'a> {
    pub name: &'a str,
    /// Descriptions in the request: the tool's, and those of its parameters as `name: description`.
    pub texts: &'a [DocText],
    /// Toolsets whose documentation this client may see; `None` for all.
    pub toolsets: Option<&'a [String]>,
}

/// Explanation of a failure of a client's tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolExplanation {
    /// Passages of the documentation.
    pub explanation: Explanation,
    /// Whether a repeated query would give the same result. `false` if the embedder failed this time.
    pub is_final: bool,
}

impl Explainer {
    /// Explains the failure that a `tool` message reports. Searches the tool's own texts and the permitted
    /// documentation of toolsets that contain an operation of this name or have this name themselves. The result is
    /// empty if nothing reaches the minimum confidence. The caller decides whether the message reports a failure.
    pub async fn explain_tool(
        &self,
        tool: &ClientTool<'_>,
        arguments: &Map<String, Value>,
        message: &str,
    ) -> ToolExplanation {
        let query = query_of_message(message, arguments);
        let mut own = Index::builder(&self.settings);
        own.add_operation(tool.name, tool.texts);
        let own = own.build();
        let (mut matching, mut failed) = self.matching_passages(&own, tool.name, &query).await;
        for index in self.indexes_of_tool(tool.name, tool.toolsets).await {
            let (more, failed_here) = self.matching_passages(index, tool.name, &query).await;
            matching.extend(more);
            failed |= failed_here;
        }
        ToolExplanation { explanation: self.best_passages(matching), is_final: !failed }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;
    use serde_json::json;

    use super::*;
    use crate::{OperationDocs, Settings};
    use callwright_search::embedding::{EmbedError, Embedder, Vector};

    fn text(text: &str) -> DocText {
        DocText { text: text.into(), source: "here".into() }
    }

    fn explained(named_like: &str, message: &str) -> Vec<String> {
        explained_to(None, named_like, message)
    }

    fn explained_to(toolsets: Option<&[String]>, named_like: &str, message: &str) -> Vec<String> {
        let docs = OperationDocs {
            toolset: "flights".into(),
            tool: named_like.into(),
            texts: vec![text("`E_SEAT`: the seat is taken; ask for another row.")],
        };
        let explainer = Explainer::build(vec![docs], Vec::new(), &Settings::default());
        let texts =
            [text("Books a flight."), text("seat: Row and letter, such as 12A."), text("date: Day of departure.")];
        let arguments = json!({"seat": "12A", "date": "today"});
        let tool = ClientTool { name: "book", texts: &texts, toolsets };
        let explained = explainer.explain_tool(&tool, arguments.as_object().unwrap(), message).now_or_never().unwrap();
        assert!(explained.is_final);
        explained.explanation.passages.into_iter().map(|passage| passage.text).collect()
    }

    #[test]
    fn the_clients_schema_explains_the_parameter_in_the_message() {
        assert_eq!(explained("other", "Error: invalid value for `date`"), ["date: Day of departure."]);
    }

    #[test]
    fn documentation_for_the_tools_name_explains_its_code() {
        let passage = "`E_SEAT`: the seat is taken; ask for another row.";
        assert_eq!(explained("book", r#"{"error":{"code":"E_SEAT"}}"#)[0], passage);
        assert!(!explained("other", r#"{"error":{"code":"E_SEAT"}}"#).contains(&passage.to_owned()));
    }

    #[test]
    fn documentation_of_other_clients_toolsets_is_not_searched() {
        let message = r#"{"error":{"code":"E_SEAT"}}"#;
        assert_eq!(explained_to(Some(&["flights".to_owned()]), "book", message).len(), 1);
        assert!(explained_to(Some(&["hotels".to_owned()]), "book", message).is_empty());
    }

    /// Embeds documentation, but fails for queries.
    #[derive(Debug)]
    struct Away;

    impl Embedder for Away {
        fn id(&self) -> &'static str {
            "away"
        }

        fn dimensions(&self) -> usize {
            1
        }

        fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EmbedError>> {
            Box::pin(std::future::ready(Ok(vec![Vector::zero(1); texts.len()])))
        }

        fn embed_query(&self, _: String) -> BoxFuture<'_, Result<Vector, EmbedError>> {
            Box::pin(std::future::ready(Err(EmbedError { model: "away".into(), reason: "gone".into() })))
        }
    }

    #[test]
    fn passages_found_without_the_embedder_are_not_final() {
        let docs = OperationDocs {
            toolset: "flights".into(),
            tool: "book".into(),
            texts: vec![text("`E_SEAT`: the seat is taken; ask for another row.")],
        };
        let embedder: Arc<dyn Embedder> = Arc::new(Away);
        let settings = Settings::default();
        let mut explainer = Explainer::build(vec![docs], Vec::new(), &settings);
        explainer.embed_passages(&embedder).now_or_never().unwrap().unwrap();
        let tool = ClientTool { name: "book", texts: &[], toolsets: None };
        let is_final =
            |message: &str| explainer.explain_tool(&tool, &Map::new(), message).now_or_never().unwrap().is_final;
        assert!(!is_final("Error: the row is occupied"));
        assert!(is_final(r#"{"error":{"code":"E_SEAT"}}"#), "no query is embedded if a code is defined");
    }

    #[test]
    fn an_undocumented_failure_is_not_explained() {
        assert!(explained("book", "Error: the moon is full").is_empty());
    }
}
