//! Tightening: combines two policies rule by rule, with the stricter of the two rules.
//!
//! | rule | from loose to strict |
//! |---|---|
//! | `mode` | `off`, `shadow`, `guard` |
//! | `limits.*` | the larger number, the smaller; for `tokens`, 0 (no limit) is the largest |
//! | `limits.message` | neither is stricter: the base's |
//! | `offer.whole`, `offer.k`, `offer.min`, `offer.prerequisites`, `offer.search_tools.per_turn`,
//! `offer.search_tools.results` | the larger number, the smaller (fewer tools are offered) |
//! | `offer.gap` | the lower share, the higher |
//! | `offer.never` | the union of both lists: these tools are not offered |
//! | `offer.client_tools` | `keep`, `narrow` |
//! | `offer.search_tools.from` | the lower number, the higher; 0 (never) is the highest |
//! | `offer.always`, `offer.sticky`, `offer.representations` | neither is stricter: the base's |
//! | `plan` | `always`, `ask`, `auto`, `off` (fewer model requests) |
//! | `procedures` | `always`, `auto`, `off` (fewer model requests) |
//! | `recall.lessons` | the larger number, the smaller (fewer lessons are added) |
//! | `recall.learn` | `true`, `false` (fewer data are stored) |
//! | `recall.reflect` | `true`, `false` (fewer data reach a model) |
//! | `recall.tell_none`, `recall.group` | neither is stricter: the base's |
//! | `scan.report` | `first`, `all` |
//! | `scan.faults.*` | `off`, `advise`, `repair`, `feedback` |
//! | `scan.unknown_parameters` | `allow`, `auto`, `drop`, `refuse` |
//! | `scan.similarity`, `scan.semantic_similarity` | the lower number, the higher (fewer guesses) |
//! | `scan.relevance.coverage`, `scan.relevance.closeness` | the lower number, the higher (fewer guesses) |
//! | `scan.relevance.share` | the higher number, the lower (fewer guesses) |
//! | `scan.repeat_window`, `scan.circle.period` | the lower number, the higher |
//! | `scan.circle.calls` | the higher number, the lower |
//! | `repair.rescue.*` | the stronger evidence; `unsure`: `text` over `auto` over `confirm` over `call`; `expressions`: `refuse` |
//! | `repair.*` | `true`, `false` (fewer changes without the model) |
//! | `on_exhausted` | `pass`, `strip`, `error` |
//! | `execute.rules` | for each call: `allow`, `approve`, `deny` ([`execute`]) |
//! | `execute.approval.mode` | `notice`, `wait` (an approval ends with its turn) |
//! | `execute.approval.*` | the larger number, the smaller |
//! | `explain.client_tools` | `off`, `advise`, `on` (stricter handling of failures) |
//! | `explain.failures` | a fact about an API, not a matter of strictness: the base's |
//! | `observe.check` | `off`, `model` (more outcomes are checked) |
//! | `observe.without` | a measurement, not a matter of strictness: the base's |
//! | `background` | `unguarded`, `auto`, `refuse` |
//! | `record.bodies` | `true`, `false` |
//! | `usage` | neither is stricter: the base's |
//!
//! Properties that are not rules (`priority`, `match`, `selectable`) are the base's; the name is `base+requested`.

mod execute;

use super::Policy;
use callwright_types::Limits;
use callwright_types::rules::{
    CircleRules, ExplainRules, ObserveRules, OfferRules, RecallRules, RecordRules, RelevanceRules, RepairRules, Report,
    RescueRules, ScanRules, SearchRules,
};

/// Returns the base policy, tightened wherever the requested one is stricter.
pub(super) fn tighten(base: &Policy, requested: &Policy) -> Policy {
    Policy {
        name: format!("{}+{}", base.name, requested.name),
        description: format!("{} As strict as `{}`.", base.description, requested.name).trim_start().to_owned(),
        priority: base.priority,
        matches: base.matches.clone(),
        selectable: base.selectable,
        mode: base.mode.max(requested.mode),
        limits: limits(&base.limits, &requested.limits),
        offer: offer(&base.offer, &requested.offer),
        plan: base.plan.max(requested.plan),
        procedures: base.procedures.max(requested.procedures),
        recall: RecallRules {
            lessons: base.recall.lessons.min(requested.recall.lessons),
            learn: base.recall.learn && requested.recall.learn,
            reflect: base.recall.reflect && requested.recall.reflect,
            ..base.recall.clone()
        },
        scan: scan(&base.scan, &requested.scan),
        repair: repair(&base.repair, &requested.repair),
        on_exhausted: base.on_exhausted.max(requested.on_exhausted),
        execute: execute::both(&base.execute, &requested.execute),
        explain: ExplainRules {
            client_tools: base.explain.client_tools.max(requested.explain.client_tools),
            failures: base.explain.failures.clone(),
        },
        observe: ObserveRules {
            check: base.observe.check.max(requested.observe.check),
            without: base.observe.without.clone(),
        },
        background: base.background.max(requested.background),
        record: RecordRules { bodies: base.record.bodies && requested.record.bodies },
        usage: base.usage,
    }
}

fn limits(base: &Limits, requested: &Limits) -> Limits {
    Limits {
        static_feedback: base.static_feedback.min(requested.static_feedback),
        dynamic_feedback: base.dynamic_feedback.min(requested.dynamic_feedback),
        upstream_requests: base.upstream_requests.min(requested.upstream_requests),
        tokens: lower_limit(base.tokens, requested.tokens),
        seconds: base.seconds.min(requested.seconds),
        total_seconds: lower_limit(base.total_seconds, requested.total_seconds),
        parallel_calls: base.parallel_calls.min(requested.parallel_calls),
        executed_calls: base.executed_calls.min(requested.executed_calls),
        plan_depth: base.plan_depth.min(requested.plan_depth),
        plan_calls: base.plan_calls.min(requested.plan_calls),
        plan_requests: base.plan_requests.min(requested.plan_requests),
        plan_tokens: base.plan_tokens.min(requested.plan_tokens),
        message: base.message.clone(),
    }
}

fn offer(base: &OfferRules, requested: &OfferRules) -> OfferRules {
    let (search, other) = (&base.search_tools, &requested.search_tools);
    let k = base.k.min(requested.k);
    OfferRules {
        whole: base.whole.min(requested.whole),
        k,
        // The minimum of each policy is at most its own `k`, but `k` may come from the other policy.
        min: base.min.min(requested.min).min(k),
        gap: base.gap.max(requested.gap),
        prerequisites: base.prerequisites.min(requested.prerequisites),
        always: base.always.clone(),
        never: base.never.and(&requested.never),
        sticky: base.sticky,
        client_tools: base.client_tools.max(requested.client_tools),
        search_tools: SearchRules {
            from: later(search.from, other.from),
            per_turn: search.per_turn.min(other.per_turn),
            results: search.results.min(other.results),
        },
        representations: base.representations,
    }
}

/// Returns the larger number, where 0 means never.
fn later(one: u32, other: u32) -> u32 {
    if one == 0 || other == 0 { 0 } else { one.max(other) }
}

/// Returns the smaller limit, where 0 means no limit.
fn lower_limit(one: u64, other: u64) -> u64 {
    match (one, other) {
        (0, limit) | (limit, 0) => limit,
        (one, other) => one.min(other),
    }
}

fn scan(base: &ScanRules, requested: &ScanRules) -> ScanRules {
    let reports_all = [base.report, requested.report].contains(&Report::All);
    ScanRules {
        report: if reports_all { Report::All } else { Report::First },
        faults: base.faults.stricter(&requested.faults),
        unknown_parameters: base.unknown_parameters.max(requested.unknown_parameters),
        similarity: base.similarity.max(requested.similarity),
        semantic_similarity: base.semantic_similarity.max(requested.semantic_similarity),
        relevance: RelevanceRules {
            share: base.relevance.share.min(requested.relevance.share),
            coverage: base.relevance.coverage.max(requested.relevance.coverage),
            closeness: base.relevance.closeness.max(requested.relevance.closeness),
        },
        repeat_window: base.repeat_window.max(requested.repeat_window),
        circle: CircleRules {
            calls: base.circle.calls.min(requested.circle.calls),
            period: base.circle.period.max(requested.circle.period),
        },
    }
}

fn repair(base: &RepairRules, requested: &RepairRules) -> RepairRules {
    RepairRules {
        rescue: RescueRules {
            text: base.rescue.text.min(requested.rescue.text),
            native: base.rescue.native.min(requested.rescue.native),
            unsure: base.rescue.unsure.stricter(requested.rescue.unsure),
            expressions: base.rescue.expressions.max(requested.rescue.expressions),
        },
        residue: base.residue && requested.residue,
        names: base.names && requested.names,
        values: base.values && requested.values,
        defaults: base.defaults && requested.defaults,
    }
}

#[cfg(test)]
mod tests;
