//! Boards, rules and alerts of `dashboards/`, evaluated by a real Prometheus that scrapes a real proxy under load.

mod load;
mod queries;
use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use crate::support::prometheus::{Prometheus, program};
use crate::support::{GUARD, guarded};
use callwright_test_macros::requires;
use callwright_types::Verdict;
use load::Loaded;
use queries::Query;

/// Pause between two rounds of queries, in which Prometheus scrapes once.
const ROUND: Duration = Duration::from_secs(1);

/// Runs `promtool` on files of `dashboards/prometheus`.
fn promtool(arguments: &[&str]) {
    let mut command = Command::new(program("promtool"));
    let told = command.args(arguments).current_dir(queries::path("prometheus")).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
    assert!(told.status.success(), "{out}{err}");
}

/// Returns the rules, with alerts that fire immediately when their condition holds.
fn hasty_rules() -> [(&'static str, String); 2] {
    let alerts = queries::text("prometheus/alerts.yml");
    let hasty: Vec<&str> = alerts.lines().filter(|line| !line.trim_start().starts_with("for: ")).collect();
    [("rules.yml", queries::text("prometheus/rules.yml")), ("alerts.yml", hasty.join("\n"))]
}

/// Returns the queries without a numeric result.
async fn without_data<'a>(prometheus: &Prometheus, queries: &[&'a Query]) -> Vec<&'a Query> {
    let mut without = Vec::new();
    for query in queries {
        if !prometheus.query(&query.text).await.iter().any(|value| !value.is_nan()) {
            without.push(*query);
        }
    }
    without
}

#[requires(prometheus)]
#[tokio::test]
async fn a_loaded_proxy_has_data_for_all_queries_and_fires_alerts() {
    let loaded = Loaded::start().await;
    let prometheus = Prometheus::start(&loaded.proxy.operator().url(""), &hasty_rules()).await;
    let all: Vec<Query> = queries::of_boards().into_iter().chain(queries::of_rules()).collect();
    let mut without: Vec<&Query> = all.iter().collect();
    let begun = std::time::Instant::now();
    while !without.is_empty() {
        loaded.round().await;
        tokio::time::sleep(ROUND).await;
        without = without_data(&prometheus, &without).await;
        assert!(begun.elapsed() < GUARD, "no data:\n{without:#?}");
    }

    let known: BTreeSet<String> = prometheus.metric_names().await.into_iter().collect();
    for query in &all {
        for name in queries::metrics_of(&query.text) {
            assert!(known.contains(&name), "{}: there is no metric {name}: {}", query.place, query.text);
        }
    }

    loaded.break_policy();
    loaded.let_certificate_run_out();
    loaded.turn_a_policy_off().await;
    let provoked = [
        "CallwrightReloadFailed", "CallwrightCertificateExpires", "CallwrightSwitchedOff", "CallwrightUpstreamFails",
        "CallwrightUpstreamCircuitOpen", "CallwrightRequestsFail", "CallwrightCredentialRefused",
        "CallwrightCallsFaulty", "CallwrightToolFails", "CallwrightApprovalsWait", "CallwrightRateLimited",
        "CallwrightBudgetExhausted",
    ];
    fires(&prometheus, &loaded, &provoked).await;
    let firing = prometheus.firing().await;
    for quiet in ["CallwrightDown", "CallwrightStoreDown", "CallwrightTracesLost"] {
        assert!(!firing.iter().any(|name| name == quiet), "nothing of the kind was provoked: {firing:?}");
    }
    loaded.break_store().await;
    fires(&prometheus, &loaded, &["CallwrightStoreDown"]).await;
    loaded.proxy.stop().await;
    guarded("CallwrightDown", async {
        while !prometheus.firing().await.iter().any(|name| name == "CallwrightDown") {
            tokio::time::sleep(ROUND).await;
        }
    })
    .await;
}

/// Continues the load until these alerts fire.
async fn fires(prometheus: &Prometheus, loaded: &Loaded, alerts: &[&str]) {
    let begun = std::time::Instant::now();
    loop {
        let firing = prometheus.firing().await;
        let missing: Vec<_> = alerts.iter().filter(|alert| !firing.iter().any(|name| name == *alert)).collect();
        if missing.is_empty() {
            return;
        }
        assert!(begun.elapsed() < GUARD, "these do not fire: {missing:?}\n{}", loaded.proxy.log());
        loaded.round().await;
        tokio::time::sleep(ROUND).await;
    }
}

#[requires(prometheus)]
#[test]
fn promtool_accepts_the_rules_and_alerts_fire_where_due() {
    promtool(&["check", "rules", "rules.yml", "alerts.yml"]);
    promtool(&["test", "rules", "tests/alerts.yml"]);
}

#[test]
fn every_alert_is_tested_both_ways_and_has_its_runbook() {
    let tests = queries::text("prometheus/tests/alerts.yml");
    let runbooks = std::fs::read_to_string(queries::path("../docs/runbooks.md")).unwrap();
    let sections: Vec<&str> = runbooks.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let alerts = queries::rules("alerts.yml");
    for rule in &alerts {
        for kind in ["fires", "is silent"] {
            assert!(tests.contains(&format!("- name: {} {kind}\n", rule.alert)), "{} {kind}: no test", rule.alert);
        }
        assert!(rule.annotations.contains_key("summary"), "{}", rule.alert);
        // The address of the page is an external label of Prometheus.
        let page = "{{ with $externalLabels.callwright_runbooks }}{{ . }}{{ else }}docs/runbooks.md{{ end }}";
        let place = format!("{page}#{}", rule.alert.to_lowercase());
        assert_eq!(rule.annotations.get("runbook_url"), Some(&place));
    }
    let names: Vec<&str> = alerts.iter().map(|rule| rule.alert.as_str()).collect();
    assert_eq!(sections, names, "one section for each alert, in the order of the file");
}

#[test]
fn boards_can_be_told_apart_and_every_panel_says_what_it_shows() {
    let mut ids = BTreeSet::new();
    for (file, board) in queries::boards() {
        assert!(ids.insert(board["uid"].as_str().unwrap().to_owned()), "{file}: its uid is taken");
        assert!(board["title"].as_str().unwrap().starts_with("Callwright / "), "{file}");
        let mut panels = BTreeSet::new();
        for panel in board["panels"].as_array().unwrap() {
            assert!(panels.insert(panel["id"].as_u64().unwrap()), "{file}: the id of {} is taken", panel["title"]);
            if panel["type"] == "row" {
                continue;
            }
            assert!(
                panel["description"].as_str().is_some_and(|text| text.ends_with('.')),
                "{file}: {}",
                panel["title"]
            );
        }
    }
}

#[test]
fn stats_have_thresholds_and_verdicts_have_colours() {
    let verdicts = Verdict::ALL.map(Verdict::label);
    for (file, board) in queries::boards() {
        let panels = board["panels"].as_array().unwrap();
        assert!(panels.iter().any(|panel| panel["type"] == "row"), "{file}: no rows");
        for panel in panels {
            let (title, field) = (&panel["title"], &panel["fieldConfig"]);
            if panel["type"] == "stat" {
                let steps = field["defaults"]["thresholds"]["steps"].as_array();
                assert!(steps.is_some_and(|steps| !steps.is_empty()), "{file}: {title}: no thresholds");
            }
            let mut targets = panel["targets"].as_array().into_iter().flatten();
            if targets.any(|target| target["legendFormat"] == "{{verdict}}") {
                let overrides = field["overrides"].as_array().unwrap();
                for verdict in verdicts {
                    let is_coloured = overrides.iter().any(|one| one["matcher"]["options"] == verdict);
                    assert!(is_coloured, "{file}: {title}: no colour of {verdict}");
                }
            }
        }
    }
}

#[test]
fn every_board_marks_restarts_and_links_to_the_runbooks() {
    for (file, board) in queries::boards() {
        let annotations = board["annotations"]["list"].as_array().unwrap();
        for name in ["Reloads", "Failed reloads", "Restarts"] {
            assert!(annotations.iter().any(|annotation| annotation["name"] == name), "{file}: {name}");
        }
        let links = board["links"].as_array().unwrap();
        assert!(links.iter().any(|link| link["url"] == "${runbooks}"), "{file}");
        let variables = board["templating"]["list"].as_array().unwrap();
        let runbooks = variables.iter().find(|variable| variable["name"] == "runbooks").unwrap();
        assert!(runbooks["query"].as_str().unwrap().starts_with("https://"), "{file}: the address is absolute");
    }
}
