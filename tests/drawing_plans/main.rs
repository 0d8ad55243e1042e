//! Drawing plans with somebody else in the model's place: oracles that know the plan, or answer at random.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and says what it measured"
)]

mod oracle;
mod random;
mod records;
mod redrawing;
mod rules;
mod script;

use std::collections::BTreeMap;

use callwright::domain::tokens::estimated;
use callwright::planner::drawing::DrawSettings;

use oracle::Oracle;
use records::{as_calls, canonical, shared};

/// Shares below which drawing has become worse.
const LEAST_EXACT: f64 = 0.97;
const LEAST_RIGHT_OR_ASKED: f64 = 0.90;

#[test]
fn an_oracle_that_knows_the_plan_draws_it_through_the_real_prompts() {
    let Some((records, toolsets)) = shared() else {
        println!("the shared plans are not there: nothing is measured");
        return;
    };
    let (mut exact, mut valid, mut invalid) = (0, 0, 0);
    let mut why: BTreeMap<&str, u32> = BTreeMap::new();
    let (mut nodes, mut requests, mut prompt, mut all_tools) = (0, 0, 0, 0);
    for record in &records {
        let toolset = &toolsets[&record.toolset];
        let faults = toolset.faults_of(record);
        if !faults.is_empty() {
            invalid += 1;
            for (kind, fault) in &faults {
                println!("invalid: {}: {kind}: {fault}", record.id);
            }
            let mut kinds: Vec<&str> = faults.into_iter().map(|(kind, _)| kind).collect();
            kinds.sort_unstable();
            kinds.dedup();
            kinds.into_iter().for_each(|kind| *why.entry(kind).or_default() += 1);
            continue;
        }
        valid += 1;
        let oracle = Oracle::of(record);
        let drawn = toolset.draw(&record.query, &oracle, &DrawSettings::default());
        let total = drawn.spent.total();
        let is_exact = drawn.result.as_ref().is_ok_and(|plan| canonical(&as_calls(plan)) == canonical(&record.gold));
        if is_exact {
            exact += 1;
            let completed =
                record.gold.iter().filter(|call| toolset.book.get(&call.name).unwrap().parameters().next().is_some());
            assert_eq!(
                total.requests,
                1 + completed.count() as u64,
                "{}: one selection and one completion a call",
                record.id
            );
            (nodes, requests, prompt) =
                (nodes + record.gold.len(), requests + total.requests, prompt + total.prompt_tokens);
            all_tools += estimated(&toolset.sent) + estimated(&record.query);
        } else {
            let failed = oracle.failed.lock().unwrap().join("; ");
            println!("not exact: {}: {failed} {:?} {:?}", record.id, drawn.notes, drawn.result);
        }
    }
    let share = f64::from(exact) / f64::from(valid);
    println!("{exact} of {valid} plans exact ({:.1} %), {invalid} of {} invalid", share * 100.0, records.len());
    println!("why (a record may have several reasons): {why:?}");
    println!(
        "per plan: {:.2} calls, {:.2} requests, {:.0} prompt tokens; all tools sent once: {:.0} tokens",
        nodes as f64 / f64::from(exact),
        requests as f64 / f64::from(exact),
        prompt as f64 / f64::from(exact),
        all_tools as f64 / f64::from(exact)
    );
    assert!(share >= LEAST_EXACT, "{share}");
}

#[test]
fn with_an_oracle_that_errs_the_plan_is_right_or_a_question_is_asked() {
    let Some((records, toolsets)) = shared() else {
        println!("the shared plans are not there: nothing is measured");
        return;
    };
    let (mut right, mut asked, mut without, mut all) = (0, 0, 0, 0);
    let mut kinds: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    let settings = DrawSettings::default();
    let valid: Vec<_> =
        records.iter().filter(|record| toolsets[&record.toolset].faults_of(record).is_empty()).collect();
    for seed in 0..3 {
        for (number, record) in valid.iter().enumerate() {
            let toolset = &toolsets[&record.toolset];
            all += 1;
            let oracle = Oracle::erring(record, seed << 32 | number as u64);
            let drawn = toolset.draw(&record.query, &oracle, &settings);
            assert!(drawn.spent.total().requests <= settings.requests);
            let is_right =
                drawn.result.as_ref().is_ok_and(|plan| canonical(&as_calls(plan)) == canonical(&record.gold));
            let is_asked = drawn.result.as_ref().is_ok_and(|plan| plan.missing().next().is_some());
            right += u32::from(is_right);
            asked += u32::from(!is_right && is_asked);
            without += u32::from(drawn.result.is_err());
            for kind in oracle.erred.lock().unwrap().iter() {
                let of_kind = kinds.entry(kind).or_default();
                of_kind.0 += 1;
                of_kind.1 += u32::from(!is_right && !is_asked);
            }
        }
    }
    for (kind, (times, lost)) in kinds {
        println!("{kind}: {times} times, {lost} of them in plans that are neither right nor ask");
    }
    let share = f64::from(right + asked) / f64::from(all);
    println!(
        "of {all} plans {right} right, {asked} ask a question: {:.1} %; of {without} requests no answer could be used",
        share * 100.0
    );
    assert!(share >= LEAST_RIGHT_OR_ASKED, "{share}");
}
