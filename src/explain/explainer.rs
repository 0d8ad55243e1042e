//! The index of all operations' documentation, and its answer to a failed outcome.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::{Map, Value};

use super::Settings;
use super::codes::normal_form;
use super::failure::{FailureKind, is_failure, suspected_code};
use super::index::{Index, Named};
use super::query::query;
use super::ranking::{Claim, rank};
use super::verdict_words::calls_it_an_error;
use crate::domain::{DocText, Explanation, OperationRef, Outcome, Passage};

/// The documentation of one operation, before it is split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationDocs {
    /// The toolset's name.
    pub toolset: String,
    /// The tool's name within the toolset.
    pub tool: String,
    /// What the document says about the operation.
    pub texts: Vec<DocText>,
}

/// Finds the passages of documentation that explain failed outcomes.
#[derive(Debug)]
pub struct Explainer {
    toolsets: HashMap<String, ToolsetIndex>,
    settings: Settings,
}

/// The passages of one toolset: how rare a word is, is a matter of the whole API.
#[derive(Debug)]
struct ToolsetIndex {
    index: Index,
    operations: HashMap<String, Range<usize>>,
}

impl Explainer {
    /// Splits and indexes the documentation of all operations.
    pub fn build(docs: Vec<OperationDocs>, settings: &Settings) -> Self {
        let mut by_toolset: HashMap<String, Vec<OperationDocs>> = HashMap::new();
        for operation in docs {
            by_toolset.entry(operation.toolset.clone()).or_default().push(operation);
        }
        let toolsets = by_toolset.into_iter().map(|(name, docs)| (name, ToolsetIndex::build(docs, settings))).collect();
        Self { toolsets, settings: settings.clone() }
    }

    /// What the documentation says about a failed outcome: passages of the operation that name a code or parameter of the body, that
    /// describe the status, or that share enough words with the message; where there is none, passages of the same toolset that
    /// define the body's code. Empty where nothing reaches the floor, the operation is not known, or no API answered.
    pub fn explain(&self, operation: &OperationRef, outcome: &Outcome, arguments: &Map<String, Value>) -> Explanation {
        let Some((toolset, range)) = self.find(operation) else { return Explanation::default() };
        let query = query(outcome, arguments);
        let mut claims = rank(&toolset.index, range.clone(), &query, &self.settings);
        if claims.is_empty() {
            let elsewhere = rank(&toolset.index, 0..toolset.index.len(), &query, &self.settings);
            claims = elsewhere.into_iter().filter(|claim| claim.defines_code).collect();
        }
        Explanation { passages: self.shown(&toolset.index, &claims) }
    }

    /// Did an outcome fail? [`is_failure`] knows without documentation; a body that is a bare code failed if the operation's
    /// documentation, or else that of its toolset, calls that code an error.
    pub fn failure(&self, operation: &OperationRef, outcome: &Outcome) -> Option<FailureKind> {
        is_failure(outcome).or_else(|| {
            let code = suspected_code(outcome)?;
            self.names_an_error(operation, &normal_form(&code)?).then_some(FailureKind::NamedCode(code))
        })
    }

    fn names_an_error(&self, operation: &OperationRef, code: &str) -> bool {
        let Some((toolset, range)) = self.find(operation) else { return false };
        let verdicts = |range: Range<usize>| -> Vec<bool> {
            let named = toolset.index.named(code).filter(|named| named.defines && range.contains(&named.passage));
            named
                .filter_map(|Named { passage, .. }| toolset.index.passage(passage))
                .map(|entry| calls_it_an_error(entry, code))
                .collect()
        };
        let own = verdicts(range.clone());
        let said = if own.is_empty() { verdicts(0..toolset.index.len()) } else { own };
        !said.is_empty() && said.into_iter().all(|error| error)
    }

    fn find(&self, operation: &OperationRef) -> Option<(&ToolsetIndex, &Range<usize>)> {
        let toolset = self.toolsets.get(&operation.toolset)?;
        Some((toolset, toolset.operations.get(&operation.tool)?))
    }

    /// The best passages, without those that repeat what a better one says.
    fn shown(&self, index: &Index, claims: &[Claim]) -> Vec<Passage> {
        let mut shown: Vec<Passage> = Vec::new();
        for claim in claims {
            if shown.len() == self.settings.passages {
                break;
            }
            let Some(entry) = index.passage(claim.passage) else { continue };
            let repeated =
                shown.iter().any(|better| better.text.contains(&entry.text) || entry.text.contains(&better.text));
            if !repeated {
                shown.push(Passage { text: entry.text.clone(), source: entry.source.clone(), score: claim.score });
            }
        }
        shown
    }
}

impl ToolsetIndex {
    fn build(docs: Vec<OperationDocs>, settings: &Settings) -> Self {
        let mut operations = HashMap::new();
        let mut builder = Index::builder(settings);
        for operation in docs {
            let range = builder.add(&operation.texts);
            operations.insert(operation.tool, range);
        }
        Self { index: builder.build(), operations }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::outcome::ApiAnswer;

    const CODES: &str = "Answers hold only the code.\n\n| info_code | Meaning |\n|---|---|\n\
        | 20000 | Illegal parameters: the longitude precedes the latitude. |\n\
        | 20001 | A required parameter is missing. |\n| 10000 | Success. |\n";

    fn docs(tool: &str, texts: &[(&str, &str)]) -> OperationDocs {
        let texts =
            texts.iter().map(|(source, text)| DocText { text: (*text).into(), source: (*source).into() }).collect();
        OperationDocs { toolset: "maps".into(), tool: tool.into(), texts }
    }

    fn explainer() -> Explainer {
        let route = docs(
            "route",
            &[
                (
                    "d#/description",
                    "Returns routes, the quickest first. Such as `{\"info_code\": \"20000\"}` are errors.",
                ),
                ("d#/parameters/0", "origin (query, required): Point at which the route starts."),
                ("d#/parameters/1", "mode (query): Means of travel."),
                ("d#/responses/400/description", CODES),
                ("d#/responses/404/description", "No street is near the point."),
                ("d#/responses/500/description", "Internal Server Error"),
                ("d#/responses/200/description", "The routes that start at the origin."),
            ],
        );
        let geocode = docs(
            "geocode",
            &[("d#/x", "Finds places by name."), ("d#/y", "`E_QUOTA`: the quota of the day is used up.")],
        );
        Explainer::build(vec![route, geocode], &Settings::default())
    }

    fn operation(tool: &str) -> OperationRef {
        OperationRef { toolset: "maps".into(), tool: tool.into() }
    }

    fn answered(status: u16, body: &str) -> Outcome {
        Outcome::Answered(ApiAnswer {
            status,
            headers: Vec::new(),
            body: body.to_owned().into(),
            truncated: false,
            paging: Default::default(),
        })
    }

    fn explained(tool: &str, status: u16, body: &str) -> Vec<String> {
        let arguments = json!({"origin": "34.6,135.5", "mode": "driving"});
        let explanation =
            explainer().explain(&operation(tool), &answered(status, body), arguments.as_object().unwrap());
        explanation.passages.into_iter().map(|passage| passage.text).collect()
    }

    #[test]
    fn a_bare_code_is_explained_by_the_row_that_defines_it() {
        for status in [200, 400] {
            let passages = explained("route", status, r#"{"info_code":"20000"}"#);
            assert!(passages[0].contains("the longitude precedes the latitude"), "{status}: {passages:?}");
            assert!(passages[0].starts_with("info_code 20000: "), "the header is shown: {passages:?}");
        }
    }

    #[test]
    fn a_parameter_that_the_body_names_is_described() {
        let passages = explained("route", 422, r#"{"errors":[{"field":"mode","message":"is unknown"}]}"#);
        assert_eq!(passages, ["mode (query): Means of travel."]);
    }

    #[test]
    fn the_response_of_the_status_is_told() {
        assert_eq!(explained("route", 404, ""), ["No street is near the point."]);
    }

    #[test]
    fn nothing_is_claimed_below_the_floor() {
        assert!(explained("route", 500, "").is_empty(), "the description only repeats the status");
        assert!(explained("route", 418, r#"{"message":"I am a teapot of the day"}"#).is_empty());
        assert!(explained("nothing", 400, r#"{"info_code":"20000"}"#).is_empty());
    }

    #[test]
    fn a_code_of_the_toolset_explains_where_the_operation_is_silent() {
        assert_eq!(explained("route", 403, r#"{"error":"E_QUOTA"}"#), ["`E_QUOTA`: the quota of the day is used up."]);
    }

    #[test]
    fn passages_are_few_short_and_not_repeated() {
        let texts: Vec<_> = (0..9)
            .map(|_| ("d", "The widget frobnicates badly."))
            .chain([("d", "The widget is frobnicates.")])
            .collect();
        let settings = Settings { passages: 2, passage_chars: 20, ..Settings::default() };
        let explainer = Explainer::build(vec![docs("w", &texts)], &settings);
        let found = explainer.explain(&operation("w"), &answered(400, "E_X widget frobnicates"), &Map::new());
        assert!(found.passages.len() <= 2 && found.passages.iter().all(|passage| passage.text.chars().count() <= 20));
        assert!(found.passages.windows(2).all(|pair| pair[0].text != pair[1].text && pair[0].score >= pair[1].score));
    }

    #[test]
    fn a_bare_code_fails_only_where_the_documentation_says_so() {
        let explainer = explainer();
        let failure = |body: &str| explainer.failure(&operation("route"), &answered(200, body));
        assert_eq!(failure(r#"{"info_code":"20000"}"#), Some(FailureKind::NamedCode("20000".into())));
        assert_eq!(failure(r#"{"info_code":"10000"}"#), None, "documented as success");
        assert_eq!(failure(r#"{"info_code":"77777"}"#), None, "not documented");
        assert_eq!(failure(r#"{"info_code":"20000","routes":[]}"#), None, "beside a result");
    }

    #[test]
    fn what_no_api_answered_is_not_explained() {
        let outcome = Outcome::Unknown { reason: "20000".into() };
        assert!(!explainer().explain(&operation("route"), &outcome, &Map::new()).is_hit());
    }
}
