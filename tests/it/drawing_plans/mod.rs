//! Drawing plans without a model: oracles answer from the reference plan or at random.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and says what it measured"
)]

mod bad_catalogs;
mod keys;
mod oracle;
mod random;
mod records;
mod redrawing;
mod rules;
mod script;
mod templates;

use std::collections::{BTreeMap, BTreeSet};

use callwright_common::tokens::estimated;
use callwright_plan::generation::{Completion, GenerationSettings};

use callwright_test_macros::requires;
use oracle::Oracle;
use records::{MISFIT, Record, Toolset, UNPROMISED, as_calls, canonical, shared};

/// Minimum shares; a lower value is a regression.
const LEAST_EXACT: f64 = 0.96;
const LEAST_RIGHT_OR_ASKED: f64 = 0.90;

/// Results for the plans of several records.
#[derive(Debug, Default)]
struct Tally {
    records: u32,
    exact: u32,
    calls: usize,
    requests: u64,
    prompt_tokens: u64,
    all_tools: usize,
}

impl Tally {
    fn draw(&mut self, record: &Record, toolset: &Toolset, oracle: &Oracle, settings: &GenerationSettings) {
        self.records += 1;
        let drawn = toolset.draw(&record.query, oracle, settings);
        let total = drawn.cost.total();
        let is_exact = drawn.result.as_ref().is_ok_and(|plan| canonical(&as_calls(plan)) == canonical(&record.gold));
        if !is_exact {
            let failed = oracle.failed.lock().unwrap().join("; ");
            println!("not exact: {}: {failed} {:?} {:?}", record.id, drawn.notes, drawn.result);
            return;
        }
        self.exact += 1;
        self.calls += record.gold.len();
        self.requests += total.requests;
        self.prompt_tokens += total.prompt_tokens;
        self.all_tools += estimated(&toolset.sent) + estimated(&record.query);
    }

    fn share(&self) -> f64 {
        f64::from(self.exact) / f64::from(self.records)
    }

    fn of_exact(&self, sum: u64) -> f64 {
        sum as f64 / f64::from(self.exact)
    }
}

#[requires("data/plans")]
#[test]
fn an_oracle_with_the_plan_draws_it_through_the_real_prompts() {
    let (records, toolsets) = shared();
    let settings = GenerationSettings::default();
    let (mut valid, mut unpromised) = (Tally::default(), Tally::default());
    let (mut invalid, mut misfits, mut why) = (Vec::new(), 0, BTreeMap::<&str, u32>::new());
    for record in &records {
        let toolset = &toolsets[&record.toolset];
        let record = toolset.fitted(record);
        let faults = toolset.faults_of(&record);
        faults.iter().for_each(|(kind, fault)| println!("invalid: {}: {kind}: {fault}", record.id));
        let kinds: BTreeSet<&str> = faults.iter().map(|(kind, _)| *kind).collect();
        kinds.iter().for_each(|kind| *why.entry(*kind).or_default() += 1);
        if kinds.is_empty() {
            let before = valid.requests;
            valid.draw(&record, toolset, &Oracle::of(&record), &settings);
            let completed =
                record.gold.iter().filter(|call| toolset.book.get(&call.name).unwrap().parameters().next().is_some());
            let expected = 1 + completed.count() as u64;
            assert!(
                [0, expected].contains(&(valid.requests - before)),
                "{}: one selection and one completion a call",
                record.id
            );
        } else if kinds.iter().all(|kind| *kind == UNPROMISED) {
            // No prompt contains such an output. This oracle selects it anyway, receives one correction, and repeats
            // it.
            unpromised.draw(&record, toolset, &Oracle::insisting(&record), &settings);
            invalid.push(record.id);
        } else {
            misfits += u32::from(kinds.iter().all(|kind| [MISFIT, UNPROMISED].contains(kind)));
            invalid.push(record.id);
        }
    }
    println!("invalid records: {}", invalid.join(" "));
    println!("why (a record may have several reasons): {why:?}");
    let told = |name: &str, tally: &Tally| {
        println!("{name}: {} of {} plans exact ({:.1} %)", tally.exact, tally.records, tally.share() * 100.0);
    };
    told("valid", &valid);
    told("valid but for outputs that are not promised, by an oracle that insists", &unpromised);
    println!(
        "in all {} of {} whose inputs fit; {misfits} more have the right names and all that is required; {} records",
        valid.exact + unpromised.exact,
        valid.records + unpromised.records,
        records.len()
    );
    println!(
        "per exact plan: {:.2} calls, {:.2} requests, {:.0} prompt tokens; all tools sent once: {:.0} tokens",
        valid.of_exact(valid.calls as u64),
        valid.of_exact(valid.requests),
        valid.of_exact(valid.prompt_tokens),
        valid.of_exact(valid.all_tools as u64)
    );
    assert!(valid.share() >= LEAST_EXACT, "{valid:?}");
    let all = Tally {
        records: valid.records + unpromised.records,
        exact: valid.exact + unpromised.exact,
        ..Tally::default()
    };
    assert!(all.share() >= LEAST_EXACT, "{valid:?} {unpromised:?}");
}

#[requires("data/plans")]
#[test]
fn the_oracle_draws_plans_by_more_questions_too() {
    let (records, toolsets) = shared();
    for completion in [Completion::All, Completion::OneByOne, Completion::ThreeSteps] {
        let settings =
            GenerationSettings { completion, requests: 200, tokens: 2_000_000, ..GenerationSettings::default() };
        let mut tally = Tally::default();
        for record in &records {
            let toolset = &toolsets[&record.toolset];
            let record = toolset.fitted(record);
            if toolset.faults_of(&record).is_empty() {
                let oracle = Oracle::of(&record).asked(completion);
                tally.draw(&record, toolset, &oracle, &settings);
            }
        }
        println!(
            "{completion:?}: {} of {} exact; per exact plan {:.2} requests, {:.0} prompt tokens",
            tally.exact,
            tally.records,
            tally.of_exact(tally.requests),
            tally.of_exact(tally.prompt_tokens)
        );
        assert!(tally.share() >= LEAST_EXACT, "{completion:?}: {tally:?}");
    }
}

#[requires("data/plans")]
#[test]
fn an_erring_oracle_gives_the_right_plan_or_a_question() {
    let (records, toolsets) = shared();
    let (mut right, mut asked, mut without, mut all) = (0, 0, 0, 0);
    let mut kinds: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    let settings = GenerationSettings::default();
    let fitted = records.iter().map(|record| toolsets[&record.toolset].fitted(record));
    let valid: Vec<Record> = fitted.filter(|record| toolsets[&record.toolset].faults_of(record).is_empty()).collect();
    for seed in 0..3 {
        for (number, record) in valid.iter().enumerate() {
            let toolset = &toolsets[&record.toolset];
            all += 1;
            let oracle = Oracle::erring(record, seed << 32 | number as u64);
            let drawn = toolset.draw(&record.query, &oracle, &settings);
            assert!(drawn.cost.total().requests <= settings.requests);
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
