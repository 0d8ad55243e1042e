//! Queries of `dashboards/`: of all panels, variables and annotations of the boards, and of all rules.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// Values of Grafana's variables. Ranges are longer than the test, so that rates cover all samples.
const VARIABLES: [(&str, &str); 4] =
    [("$__rate_interval", "5m"), ("$__range", "5m"), ("$__interval", "1s"), ("$instance", ".*")];

/// A query and its location.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    pub(crate) place: String,
    pub(crate) text: String,
}

/// Returns `dashboards/PATH`.
pub(crate) fn path(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("dashboards").join(path)
}

pub(crate) fn text(of: &str) -> String {
    std::fs::read_to_string(path(of)).unwrap()
}

/// Returns file names and contents of the boards.
pub(crate) fn boards() -> Vec<(String, Value)> {
    let files = std::fs::read_dir(path("grafana/boards")).unwrap().map(|entry| entry.unwrap().path());
    let mut boards: Vec<(String, Value)> = files
        .map(|file| {
            let name = file.file_name().unwrap().to_str().unwrap().to_owned();
            (name, serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap())
        })
        .collect();
    boards.sort_by(|(one, _), (other, _)| one.cmp(other));
    boards
}

/// Returns the queries of all panels, variables and annotations of the boards, with Grafana's variables replaced.
pub(crate) fn of_boards() -> Vec<Query> {
    boards().iter().flat_map(|(file, board)| of_board(file, board)).collect()
}

fn of_board(file: &str, board: &Value) -> Vec<Query> {
    let panels = board["panels"].as_array().unwrap().iter();
    let mut queries: Vec<Query> = panels
        .flat_map(|panel| {
            let targets = panel["targets"].as_array().into_iter().flatten();
            targets.map(move |target| Query {
                place: format!("{file}: {}", panel["title"]),
                text: filled(target["expr"].as_str().unwrap()),
            })
        })
        .collect();
    // An annotation marks the times at which its query has a result, so its comparison returns 0 or 1 instead.
    let annotations = board["annotations"]["list"].as_array().unwrap().iter();
    queries.extend(annotations.filter(|annotation| annotation["builtIn"] != 1).map(|annotation| Query {
        place: format!("{file}: annotation {}", annotation["name"]),
        text: filled(annotation["target"]["expr"].as_str().unwrap()).replace(" > ", " > bool "),
    }));
    let variables = board["templating"]["list"].as_array().unwrap().iter();
    queries.extend(variables.filter(|variable| variable["type"] == "query").map(|variable| {
        let query = variable["query"]["query"].as_str().unwrap();
        // `label_values(METRIC, LABEL)` is Grafana syntax.
        let (metric, label) = query.strip_prefix("label_values(").and_then(|rest| rest.split_once(", ")).unwrap();
        let label = label.trim_end_matches(')');
        Query { place: format!("{file}: variable {}", variable["name"]), text: format!("{metric}{{{label}!=\"\"}}") }
    }));
    queries
}

fn filled(text: &str) -> String {
    let filled = VARIABLES.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value));
    assert!(!filled.contains('$'), "a variable that the test does not know: {filled}");
    filled
}

/// A rule file, as far as tests parse it.
#[derive(Debug, Deserialize)]
pub(crate) struct RuleFile {
    pub(crate) groups: Vec<Group>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Group {
    pub(crate) rules: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Rule {
    #[serde(default)]
    pub(crate) alert: String,
    #[serde(default)]
    pub(crate) record: String,
    pub(crate) expr: String,
    #[serde(default)]
    pub(crate) annotations: std::collections::BTreeMap<String, String>,
}

/// Returns the rules of `prometheus/FILE`.
pub(crate) fn rules(file: &str) -> Vec<Rule> {
    let parsed: RuleFile = serde_saphyr::from_str(&text(&format!("prometheus/{file}"))).unwrap();
    parsed.groups.into_iter().flat_map(|group| group.rules).collect()
}

/// Returns the queries of the rules. An alert that does not fire has no result, so its comparisons return 0 or 1
/// instead.
pub(crate) fn of_rules() -> Vec<Query> {
    let recorded = rules("rules.yml").into_iter().flat_map(|rule| {
        let recorded = Query { place: format!("rules.yml: {}", rule.record), text: rule.record.clone() };
        [Query { place: recorded.place.clone(), text: rule.expr }, recorded]
    });
    let alerts = rules("alerts.yml").into_iter().map(|rule| {
        let mut text = rule.expr;
        for comparison in [" > ", " < ", " == "] {
            text = text.replace(comparison, &format!("{comparison}bool "));
        }
        Query { place: format!("alerts.yml: {}", rule.alert), text }
    });
    recorded.chain(alerts).collect()
}

/// Returns the metric names in a query: those of the proxy, and those recorded by rules.
pub(crate) fn metrics_of(query: &str) -> Vec<String> {
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == ':';
    let words = query.split(|letter| !is_of_name(letter));
    words.filter(|word| word.starts_with("callwright_") || word.starts_with("callwright:")).map(str::to_owned).collect()
}
