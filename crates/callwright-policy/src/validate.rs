//! Semantic validation of a parsed policy.

use std::ops::RangeInclusive;

use super::Policy;
use super::error::PolicyFault;
use super::failures::{MAX_RULES, failures};
use super::selector::{MatchSelector, glob};
use callwright_common::json::Pointer;
use callwright_common::limits::PROVIDER_NAME_LENGTH;
use callwright_types::rules::{ApprovalRules, ExecuteRule, OfferRules, RecallRules, ScanRules};
use callwright_types::{LimitMessage, Limits};

/// Number of rounds of feedback or history. More rounds only increase costs, because a model learns nothing more.
const ROUNDS: RangeInclusive<u64> = 0..=100;

/// Number of calls that make a circle: at least two. Period in rounds: longer ones are repeating plans.
const CIRCLE_CALLS: RangeInclusive<u64> = 2..=100;
const CIRCLE_PERIOD: RangeInclusive<u64> = 1..=10;
/// Number of upstream requests: at least the client's own.
const REQUESTS: RangeInclusive<u64> = 1..=1_000;
/// Number of lessons: models ignore longer lists.
const LESSONS: RangeInclusive<u64> = 0..=20;
/// Seconds, up to one day.
const SECONDS: RangeInclusive<u64> = 1..=86_400;
/// Validity of an approval in seconds, up to thirty days, because an approval is not meant to last forever.
const VALID: RangeInclusive<u64> = 1..=2_592_000;
/// Number of tools that a turn selects: no known provider accepts more than some hundreds.
const CHOSEN: RangeInclusive<u64> = 1..=1_000;
/// Number of tools that supply one key: a larger choice does not help the model.
const PREREQUISITES: RangeInclusive<u64> = 0..=5;
/// Number of results of one tool search: the model reads one line per tool.
const RESULTS: RangeInclusive<u64> = 1..=50;
/// Number of executed calls in a turn; 0 disables execution.
const EXECUTED_CALLS: RangeInclusive<u64> = 0..=10_000;
/// Number of calls of a plan and of its longest path: a larger plan cannot be checked.
const PLAN_CALLS: RangeInclusive<u64> = 1..=256;
const PLAN_DEPTH: RangeInclusive<u64> = 1..=32;
/// Token budget for plans: at least the tokens of one request.
const PLAN_TOKENS: RangeInclusive<u64> = 1_000..=1_000_000_000;
/// Number of concurrent calls: each uses a connection.
const PARALLEL: RangeInclusive<u64> = 1..=256;

/// Maximum number of bytes of a message to users.
const MAX_MESSAGE: usize = 2_000;

/// Returns the first mistake, or the compiled `match`.
pub(super) fn validate(policy: &Policy) -> Result<Option<MatchSelector>, PolicyFault> {
    let root = Pointer::root();
    name(&policy.name, root.child("name"))?;
    limits(&policy.limits, &root.child("limits"))?;
    offer(&policy.offer, &root.child("offer"))?;
    recall(&policy.recall, &root.child("recall"))?;
    scan(&policy.scan, &root.child("scan"))?;
    execute(&policy.execute.rules, &root.child("execute").child("rules"))?;
    approval(&policy.execute.approval, &root.child("execute").child("approval"))?;
    failures(&policy.explain.failures, &root.child("explain").child("failures"))?;
    policy.matches.as_ref().map(|matches| MatchSelector::compile(matches, &root.child("match"))).transpose()
}

fn name(name: &str, place: Pointer) -> Result<(), PolicyFault> {
    let is_valid = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if name.is_empty() || name.len() > PROVIDER_NAME_LENGTH || !is_valid {
        let message = format!("the name `{name}` must be 1 to {PROVIDER_NAME_LENGTH} letters, digits, `-`, `_` or `.`");
        return Err(PolicyFault::new(place, message));
    }
    Ok(())
}

fn offer(rules: &OfferRules, place: &Pointer) -> Result<(), PolicyFault> {
    share("gap", rules.gap, place)?;
    let min = ("min", u64::from(rules.min), 1..=u64::from(rules.k));
    let prerequisites = ("prerequisites", u64::from(rules.prerequisites), PREREQUISITES);
    within([("k", u64::from(rules.k), CHOSEN), min, prerequisites], place)?;
    let search = &rules.search_tools;
    let ranges = [("per_turn", u64::from(search.per_turn), ROUNDS), ("results", u64::from(search.results), RESULTS)];
    within(ranges, &place.child("search_tools"))
}

fn recall(rules: &RecallRules, place: &Pointer) -> Result<(), PolicyFault> {
    within([("lessons", u64::from(rules.lessons), LESSONS)], place)?;
    if rules.reflect && rules.group.is_empty() {
        let message = "`reflect` requires a `group`: only lessons that a group shares are abstracted from cases";
        return Err(PolicyFault::new(place.child("reflect"), message.to_owned()));
    }
    if rules.group.len() <= PROVIDER_NAME_LENGTH && !rules.group.chars().any(char::is_control) {
        return Ok(());
    }
    let message = format!("`group` must have at most {PROVIDER_NAME_LENGTH} bytes and no control characters");
    Err(PolicyFault::new(place.child("group"), message))
}

fn share(key: &str, value: f64, place: &Pointer) -> Result<(), PolicyFault> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(PolicyFault::new(place.child(key), format!("`{key}` is {value}; it must be 0 to 1")))
}

fn scan(rules: &ScanRules, place: &Pointer) -> Result<(), PolicyFault> {
    let relevance = place.child("relevance");
    let shares = [
        (place, "similarity", rules.similarity),
        (place, "semantic_similarity", rules.semantic_similarity),
        (&relevance, "share", rules.relevance.share),
        (&relevance, "coverage", rules.relevance.coverage),
        (&relevance, "closeness", rules.relevance.closeness),
    ];
    for (place, key, value) in shares {
        share(key, value, place)?;
    }
    within([("repeat_window", u64::from(rules.repeat_window), ROUNDS)], place)?;
    let circle = [
        ("calls", u64::from(rules.circle.calls), CIRCLE_CALLS),
        ("period", u64::from(rules.circle.period), CIRCLE_PERIOD),
    ];
    within(circle, &place.child("circle"))
}

fn limits(limits: &Limits, place: &Pointer) -> Result<(), PolicyFault> {
    let ranges = [
        ("static_feedback", u64::from(limits.static_feedback), ROUNDS),
        ("dynamic_feedback", u64::from(limits.dynamic_feedback), ROUNDS),
        ("upstream_requests", u64::from(limits.upstream_requests), REQUESTS),
        ("seconds", limits.seconds, SECONDS),
        ("total_seconds", limits.total_seconds, 0..=*SECONDS.end()),
        ("parallel_calls", u64::from(limits.parallel_calls), PARALLEL),
        ("executed_calls", u64::from(limits.executed_calls), EXECUTED_CALLS),
        ("plan_depth", u64::from(limits.plan_depth), PLAN_DEPTH),
        ("plan_calls", u64::from(limits.plan_calls), PLAN_CALLS),
        ("plan_requests", u64::from(limits.plan_requests), REQUESTS),
        ("plan_tokens", limits.plan_tokens, PLAN_TOKENS),
    ];
    within(ranges, place)?;
    message(&limits.message, &place.child("message"))
}

fn message(message: &LimitMessage, place: &Pointer) -> Result<(), PolicyFault> {
    let LimitMessage { language, texts } = message;
    let below = place.child("texts");
    if texts.is_empty() || texts.len() > MAX_RULES {
        let message = format!("`texts` has {} languages; it must have 1 to {MAX_RULES}", texts.len());
        return Err(PolicyFault::new(below, message));
    }
    for (tag, text) in texts {
        if !is_language_tag(tag) {
            let message = format!("`{tag}` is not a language tag such as `en` or `pt-BR`");
            return Err(PolicyFault::new(below.child(tag), message));
        }
        let is_text = !text.trim().is_empty() && text.len() <= MAX_MESSAGE && !text.chars().any(is_forbidden);
        if !is_text {
            let message = format!("the text must have 1 to {MAX_MESSAGE} bytes and no control characters");
            return Err(PolicyFault::new(below.child(tag), message));
        }
    }
    if texts.contains_key(language) {
        return Ok(());
    }
    let known: Vec<&str> = texts.keys().map(String::as_str).collect();
    let message = format!("`texts` has no text in the language `{language}`; it has {}", known.join(", "));
    Err(PolicyFault::new(place.child("language"), message))
}

fn is_language_tag(tag: &str) -> bool {
    tag.len() <= PROVIDER_NAME_LENGTH
        && tag
            .split('-')
            .all(|part| (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

fn is_forbidden(letter: char) -> bool {
    letter.is_control() && letter != '\n'
}

fn approval(rules: &ApprovalRules, place: &Pointer) -> Result<(), PolicyFault> {
    within([("timeout_seconds", rules.timeout_seconds, SECONDS), ("valid_seconds", rules.valid_seconds, VALID)], place)
}

fn within(
    ranges: impl IntoIterator<Item = (&'static str, u64, RangeInclusive<u64>)>,
    place: &Pointer,
) -> Result<(), PolicyFault> {
    for (key, value, range) in ranges {
        if !range.contains(&value) {
            let message = format!("`{key}` is {value}; it must be {} to {}", range.start(), range.end());
            return Err(PolicyFault::new(place.child(key), message));
        }
    }
    Ok(())
}

fn execute(rules: &[ExecuteRule], place: &Pointer) -> Result<(), PolicyFault> {
    if rules.len() > MAX_RULES {
        let message = format!("{} rules of execution are too many; {MAX_RULES} are allowed", rules.len());
        return Err(PolicyFault::new(place.clone(), message));
    }
    for (index, rule) in rules.iter().enumerate() {
        let here = place.item(index);
        for (index, method) in rule.methods.iter().enumerate() {
            if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
                let message = format!("`{method}` is not a method in upper case, such as `POST`");
                return Err(PolicyFault::new(here.child("methods").item(index), message));
            }
        }
        for (index, tool) in rule.tools.iter().enumerate() {
            glob(tool, here.child("tools").item(index))?;
        }
    }
    Ok(())
}
