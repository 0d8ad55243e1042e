//! Strictness order of every rule as a table, and the property that the result is never looser than the base.

use globset::Glob;
use proptest::prelude::*;

use super::*;
use callwright_types::FaultCode;
use callwright_types::rules::{
    Action, ApprovalMode, ApprovalRules, ClientOffer, ClientTools, ExecuteRule, ExecuteRules, FaultActions, Mode,
    OnExhausted, Permission, PlanMode, ProceduresMode, ToolGlobs, UnknownParameters, UsageReport,
};

/// Applies `loose` and `strict` to one policy each, and expects the stricter one in both orders.
fn assert_stricter(rule: &str, loose: fn(&mut Policy), strict: fn(&mut Policy)) {
    let (mut one, mut other) = (Policy::default(), Policy::default());
    loose(&mut one);
    strict(&mut other);
    assert_ne!(one, other, "{rule}");
    for (base, requested) in [(&one, &other), (&other, &one)] {
        let both = tighten(base, requested);
        let expected = Policy { name: both.name.clone(), description: both.description.clone(), ..other.clone() };
        assert_eq!(both, expected, "{rule}");
    }
}

#[test]
fn the_stricter_value_of_each_rule_holds_whichever_policy_has_it() {
    assert_stricter("off < shadow", |it| it.mode = Mode::Off, |it| it.mode = Mode::Shadow);
    assert_stricter("shadow < guard", |it| it.mode = Mode::Shadow, |it| it.mode = Mode::Guard);
    assert_stricter("static", |it| it.limits.static_feedback = 3, |it| it.limits.static_feedback = 2);
    assert_stricter("dynamic", |it| it.limits.dynamic_feedback = 2, |it| it.limits.dynamic_feedback = 0);
    assert_stricter("requests", |it| it.limits.upstream_requests = 9, |it| it.limits.upstream_requests = 1);
    assert_stricter("no limit < tokens", |it| it.limits.tokens = 0, |it| it.limits.tokens = 5);
    assert_stricter("tokens", |it| it.limits.tokens = 6, |it| it.limits.tokens = 5);
    assert_stricter("seconds", |it| it.limits.seconds = 60, |it| it.limits.seconds = 59);
    assert_stricter("total seconds", |it| it.limits.total_seconds = 60, |it| it.limits.total_seconds = 59);
    assert_stricter("parallel", |it| it.limits.parallel_calls = 8, |it| it.limits.parallel_calls = 1);
    assert_stricter("executed", |it| it.limits.executed_calls = 100, |it| it.limits.executed_calls = 0);
    assert_stricter("plan depth", |it| it.limits.plan_depth = 5, |it| it.limits.plan_depth = 2);
    assert_stricter("plan calls", |it| it.limits.plan_calls = 16, |it| it.limits.plan_calls = 4);
    assert_stricter("plan requests", |it| it.limits.plan_requests = 40, |it| it.limits.plan_requests = 4);
    assert_stricter("plan tokens", |it| it.limits.plan_tokens = 200_000, |it| it.limits.plan_tokens = 2_000);
    assert_stricter("lessons", |it| it.recall.lessons = 3, |it| it.recall.lessons = 1);
    assert_stricter("learning", |it| it.recall.learn = true, |it| it.recall.learn = false);
    assert_stricter("reflection", |it| it.recall.reflect = true, |it| it.recall.reflect = false);
    assert_stricter("plan", |it| it.plan = PlanMode::Always, |it| it.plan = PlanMode::Auto);
    assert_stricter(
        "procedures",
        |it| it.procedures = ProceduresMode::Always,
        |it| it.procedures = ProceduresMode::Auto,
    );
    assert_stricter(
        "no procedures",
        |it| it.procedures = ProceduresMode::Auto,
        |it| it.procedures = ProceduresMode::Off,
    );
    assert_stricter("no plan", |it| it.plan = PlanMode::Auto, |it| it.plan = PlanMode::Off);
    assert_stricter("whole", |it| it.offer.whole = 40, |it| it.offer.whole = 10);
    assert_stricter("k", |it| it.offer.k = 16, |it| it.offer.k = 8);
    assert_stricter("min", |it| it.offer.min = 5, |it| it.offer.min = 1);
    assert_stricter("prerequisites", |it| it.offer.prerequisites = 2, |it| it.offer.prerequisites = 0);
    assert_stricter("gap", |it| it.offer.gap = 0.1, |it| it.offer.gap = 0.5);
    assert_stricter(
        "keep < narrow",
        |it| it.offer.client_tools = ClientOffer::Keep,
        |it| it.offer.client_tools = ClientOffer::Narrow,
    );
    assert_stricter("from", |it| it.offer.search_tools.from = 200, |it| it.offer.search_tools.from = 300);
    assert_stricter("from < never", |it| it.offer.search_tools.from = 200, |it| it.offer.search_tools.from = 0);
    assert_stricter("searches", |it| it.offer.search_tools.per_turn = 3, |it| it.offer.search_tools.per_turn = 0);
    assert_stricter("results", |it| it.offer.search_tools.results = 8, |it| it.offer.search_tools.results = 2);
    assert_stricter("first < all", |it| it.scan.report = Report::First, |it| it.scan.report = Report::All);
    assert_stricter(
        "allow < auto",
        |it| it.scan.unknown_parameters = UnknownParameters::Allow,
        |it| it.scan.unknown_parameters = UnknownParameters::Auto,
    );
    assert_stricter(
        "auto < drop",
        |it| it.scan.unknown_parameters = UnknownParameters::Auto,
        |it| it.scan.unknown_parameters = UnknownParameters::Drop,
    );
    assert_stricter(
        "drop < refuse",
        |it| it.scan.unknown_parameters = UnknownParameters::Drop,
        |it| it.scan.unknown_parameters = UnknownParameters::Refuse,
    );
    for [loose, strict] in
        [[Action::Off, Action::Advise], [Action::Advise, Action::Repair], [Action::Repair, Action::Feedback]]
    {
        for code in FaultCode::ALL {
            let [loose, strict] = [loose, strict].map(|action| {
                let faults = FaultActions::default().with(code, action);
                Policy { scan: ScanRules { faults, ..ScanRules::default() }, ..Policy::default() }
            });
            assert_eq!(tighten(&loose, &strict).scan, strict.scan);
            assert_eq!(tighten(&strict, &loose).scan, strict.scan);
        }
    }
    assert_stricter("meaning", |it| it.scan.semantic_similarity = 0.5, |it| it.scan.semantic_similarity = 0.6);
    assert_stricter("share", |it| it.scan.relevance.share = 0.5, |it| it.scan.relevance.share = 0.2);
    assert_stricter("coverage", |it| it.scan.relevance.coverage = 0.1, |it| it.scan.relevance.coverage = 0.9);
    assert_stricter("closeness", |it| it.scan.relevance.closeness = 0.1, |it| it.scan.relevance.closeness = 0.9);
    assert_stricter("window", |it| it.scan.repeat_window = 0, |it| it.scan.repeat_window = 9);
    assert_stricter("calls", |it| it.scan.circle.calls = 9, |it| it.scan.circle.calls = 2);
    assert_stricter("period", |it| it.scan.circle.period = 1, |it| it.scan.circle.period = 5);
    assert_stricter("similarity", |it| it.scan.similarity = 0.5, |it| it.scan.similarity = 0.6);
    assert_stricter("residue", |it| it.repair.residue = true, |it| it.repair.residue = false);
    assert_stricter("names", |it| it.repair.names = true, |it| it.repair.names = false);
    assert_stricter("values", |it| it.repair.values = true, |it| it.repair.values = false);
    assert_stricter("defaults", |it| it.repair.defaults = true, |it| it.repair.defaults = false);
    assert_stricter(
        "pass < strip",
        |it| it.on_exhausted = OnExhausted::Pass,
        |it| it.on_exhausted = OnExhausted::Strip,
    );
    assert_stricter(
        "strip < error",
        |it| it.on_exhausted = OnExhausted::Strip,
        |it| it.on_exhausted = OnExhausted::Error,
    );
    for [loose, strict] in [[ClientTools::Off, ClientTools::Advise], [ClientTools::Advise, ClientTools::On]] {
        let [loose, strict] = [loose, strict].map(|client_tools| {
            let explain = ExplainRules { client_tools, ..ExplainRules::default() };
            Policy { explain, ..Policy::default() }
        });
        assert_eq!(tighten(&loose, &strict).explain, strict.explain);
        assert_eq!(tighten(&strict, &loose).explain, strict.explain);
    }
    assert_stricter("bodies", |it| it.record.bodies = true, |it| it.record.bodies = false);
}

#[test]
fn what_either_policy_never_offers_is_not_offered_and_the_rest_of_the_offer_is_the_bases() {
    let globs = |text: &str| ToolGlobs::new(vec![text.to_owned()]).unwrap();
    let offer = |never, always, sticky| {
        let offer = OfferRules { never: globs(never), always: globs(always), sticky, ..OfferRules::default() };
        Policy { offer, ..Policy::default() }
    };
    let both = tighten(&offer("crm/*", "a/*", false), &offer("hr/*", "b/*", true)).offer;
    assert!(both.never.name("crm/x") && both.never.name("hr/x") && !both.never.name("maps/x"));
    assert_eq!((both.always, both.sticky), (globs("a/*"), false));
}

#[test]
fn what_is_no_rule_stays_the_bases() {
    let failures = serde_json::from_str(r#"[{"status":[404],"outcome":"fine"}]"#).unwrap();
    let explain = ExplainRules { failures, ..ExplainRules::default() };
    let base = Policy {
        name: "base".into(),
        priority: 3,
        usage: UsageReport::Sum,
        explain: explain.clone(),
        ..Policy::default()
    };
    let requested = Policy { name: "asked".into(), priority: 9, selectable: true, ..Policy::default() };
    let both = tighten(&base, &requested);
    assert_eq!((both.name.as_str(), both.priority, both.usage), ("base+asked", 3, UsageReport::Sum));
    assert!(!both.selectable);
    assert_eq!(both.explain, explain);
}

fn rule(methods: &[&str], tools: &[&str], permission: Permission) -> ExecuteRule {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    ExecuteRule { methods: owned(methods), tools: owned(tools), permission }
}

fn execution(rules: Vec<ExecuteRule>) -> ExecuteRules {
    ExecuteRules { rules, ..ExecuteRules::default() }
}

/// Evaluates the rules by their definition.
fn decided(rules: &ExecuteRules, method: &str, tool: &str) -> Permission {
    let glob_fits = |glob: &String| Glob::new(glob).unwrap().compile_matcher().is_match(tool);
    let fits = |rule: &&ExecuteRule| {
        (rule.methods.is_empty() || rule.methods.iter().any(|known| known == method))
            && (rule.tools.is_empty() || rule.tools.iter().any(glob_fits))
    };
    match rules.rules.iter().find(fits) {
        Some(rule) => rule.permission,
        None if ["GET", "HEAD"].contains(&method) => Permission::Allow,
        None => Permission::Deny,
    }
}

fn runs(rules: &ExecuteRules, method: &str, tool: &str) -> bool {
    decided(rules, method, tool) == Permission::Allow
}

#[test]
fn a_policy_without_rules_of_execution_takes_writing_away_and_leaves_reading() {
    let allow =
        execution(vec![rule(&["POST"], &["crm/*"], Permission::Allow), rule(&[], &["billing/*"], Permission::Deny)]);
    for both in [execute::both(&allow, &ExecuteRules::default()), execute::both(&ExecuteRules::default(), &allow)] {
        assert!(!runs(&both, "POST", "crm/create"));
        assert!(runs(&both, "GET", "crm/read"));
        assert!(!runs(&both, "GET", "billing/read"));
    }
}

#[test]
fn what_both_policies_allow_still_runs() {
    let wide = execution(vec![rule(&["POST", "PUT"], &["crm/*"], Permission::Allow)]);
    let narrow = execution(vec![rule(&["POST"], &["crm/create_*", "hr/*"], Permission::Allow)]);
    let both = execute::both(&wide, &narrow);
    assert!(runs(&both, "POST", "crm/create_lead"));
    assert!(!runs(&both, "POST", "crm/drop"));
    assert!(!runs(&both, "PUT", "crm/create_lead"));
    assert!(!runs(&both, "POST", "hr/hire"));
}

#[test]
fn what_one_policy_allows_and_the_other_wants_approved_is_approved_and_a_denial_wins() {
    let allow = execution(vec![rule(&["POST"], &[], Permission::Allow)]);
    let approve = execution(vec![
        rule(&["POST"], &["crm/*"], Permission::Approve),
        rule(&["GET"], &["hr/*"], Permission::Approve),
        rule(&["POST"], &["billing/*"], Permission::Deny),
    ]);
    for both in [execute::both(&allow, &approve), execute::both(&approve, &allow)] {
        assert_eq!(decided(&both, "POST", "crm/create"), Permission::Approve);
        assert_eq!(decided(&both, "GET", "hr/read"), Permission::Approve);
        assert_eq!(decided(&both, "POST", "billing/pay"), Permission::Deny);
        assert_eq!(decided(&both, "GET", "crm/read"), Permission::Allow);
        assert_eq!(decided(&both, "PUT", "crm/create"), Permission::Deny);
    }
}

#[test]
fn the_stricter_way_of_asking_holds() {
    let with = |mode, timeout_seconds, valid_seconds| ExecuteRules {
        approval: ApprovalRules { mode, timeout_seconds, valid_seconds },
        ..ExecuteRules::default()
    };
    let (one, other) = (with(ApprovalMode::Notice, 5, 70), with(ApprovalMode::Wait, 6, 60));
    let stricter = ApprovalRules { mode: ApprovalMode::Wait, timeout_seconds: 5, valid_seconds: 60 };
    assert_eq!(execute::both(&one, &other).approval, stricter);
    assert_eq!(execute::both(&other, &one).approval, stricter);
}

fn globs() -> impl Strategy<Value = Vec<String>> {
    let glob = prop_oneof![
        "[ab]{1,2}/[xy]{1,2}",
        Just("*".to_owned()),
        "[ab]/\\*",
        "\\*/[xy]\\*",
        Just("a?/x".to_owned()),
        Just("{a,b}/x*".to_owned()),
        Just("[!a]/*".to_owned()),
        Just("a/[x-y]".to_owned()),
        Just("**/x".to_owned()),
    ];
    prop::collection::vec(glob, 0..3)
}

fn rules() -> impl Strategy<Value = ExecuteRules> {
    let methods = prop::sample::subsequence(vec!["GET", "POST", "DELETE"], 0..3)
        .prop_map(|methods| methods.into_iter().map(str::to_owned).collect::<Vec<_>>());
    let permission = prop_oneof![Just(Permission::Allow), Just(Permission::Approve), Just(Permission::Deny)];
    let rule = (methods, globs(), permission).prop_map(|(methods, tools, permission)| ExecuteRule {
        methods,
        tools,
        permission,
    });
    prop::collection::vec(rule, 0..5).prop_map(execution)
}

fn exact_rules() -> impl Strategy<Value = ExecuteRules> {
    let tool = |glob: String| if glob.contains(['?', '*', '[', '{']) { "a/x".to_owned() } else { glob };
    rules().prop_map(move |mut rules| {
        for rule in &mut rules.rules {
            rule.tools = std::mem::take(&mut rule.tools).into_iter().map(tool).collect();
        }
        rules
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, rng_seed: prop::test_runner::RngSeed::Fixed(11), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_call_may_do_no_more_than_both_sets_of_rules_let_it(
        base in rules(), requested in rules(), method in "GET|HEAD|POST|DELETE|PUT", tool in "[ab]{1,2}/[xy]{1,2}",
    ) {
        let both = execute::both(&base, &requested);
        let stricter = decided(&base, &method, &tool).max(decided(&requested, &method, &tool));
        prop_assert!(decided(&both, &method, &tool) >= stricter, "{both:?}");
    }

    #[test]
    fn without_globs_the_stricter_permission_holds(
        base in exact_rules(), requested in exact_rules(), method in "GET|HEAD|POST|DELETE|PUT", tool in "[ab]/[xy]",
    ) {
        let both = execute::both(&base, &requested);
        let stricter = decided(&base, &method, &tool).max(decided(&requested, &method, &tool));
        prop_assert_eq!(decided(&both, &method, &tool), stricter, "{:?}", both);
    }
}
