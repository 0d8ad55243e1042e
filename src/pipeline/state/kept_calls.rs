//! The correct calls of faulty answers, and the order of all calls of a turn.
//!
//! A corrected call takes the place of the call that it replaces, so the client gets the calls in the order in which
//! the model first made them. Agents run them sequentially.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Deref;

use serde_json::Value;

use callwright_judge::repair::JudgedCall;
use callwright_judge::scanner::CheckedCall;
use callwright_types::{Call, ids};

/// Accepted calls that are not yet answered and not requested again, and the places between them that wait for a
/// correction.
#[derive(Debug, Default)]
pub(crate) struct KeptCalls {
    calls: Vec<CheckedCall>,
    places: Vec<CallSlot>,
}

/// A place in the order of the turn's calls.
#[derive(Debug)]
enum CallSlot {
    /// Place of the kept call at this index.
    Kept(usize),
    /// Place of a faulty call of this tool.
    Open(String),
}

/// A call at a place after merging an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OrderedCall<'a> {
    /// A call kept before.
    Kept(&'a CheckedCall),
    /// A call of the answer.
    Made(&'a JudgedCall),
}

impl Deref for KeptCalls {
    type Target = [CheckedCall];

    /// Returns the kept calls in the order of their acceptance.
    fn deref(&self) -> &[CheckedCall] {
        &self.calls
    }
}

impl KeptCalls {
    /// Returns the kept calls and those of an answer in their common order, without repeated calls.
    pub(crate) fn in_order<'a>(&'a self, answer: &'a [JudgedCall]) -> Vec<OrderedCall<'a>> {
        self.arrangement(answer).into_iter().filter_map(|(_, placed)| placed).collect()
    }

    /// Keeps the correct calls of a faulty answer, without duplicates: a model may repeat an accepted call.
    pub(crate) fn keep_correct(&mut self, answer: &[JudgedCall]) {
        let mut distinct = DistinctCalls::default();
        let mut calls = Vec::with_capacity(self.calls.len() + answer.len());
        let mut places = Vec::with_capacity(self.places.len() + answer.len());
        for (open, placed) in self.arrangement(answer) {
            let checked = match placed {
                Some(OrderedCall::Kept(checked)) => checked,
                Some(OrderedCall::Made(JudgedCall { result: Ok(checked), .. })) => checked,
                Some(OrderedCall::Made(faulty)) => {
                    places.push(CallSlot::Open(faulty.repaired.name.clone()));
                    continue;
                }
                None => {
                    places.extend(open.map(|name| CallSlot::Open(name.to_owned())));
                    continue;
                }
            };
            if distinct.insert(checked) {
                places.push(CallSlot::Kept(calls.len()));
                calls.push(checked.clone());
            }
        }
        *self = Self { calls, places };
    }

    /// Returns all checked calls of an answer and the kept ones, without duplicates, in their common order.
    pub(crate) fn merged(&self, answer: &[JudgedCall]) -> Vec<CheckedCall> {
        let mut distinct = DistinctCalls::default();
        let mut merged: Vec<CheckedCall> = Vec::with_capacity(self.calls.len() + answer.len());
        for placed in self.in_order(answer) {
            let checked = match placed {
                OrderedCall::Kept(checked) | OrderedCall::Made(JudgedCall { result: Ok(checked), .. }) => checked,
                OrderedCall::Made(_) => continue,
            };
            if distinct.insert(checked) {
                merged.push(checked.clone());
            }
        }
        merged
    }

    /// Clears all calls after they were answered.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns for each place, in order, the tool of an open place, and the call at the place.
    fn arrangement<'a>(&'a self, answer: &'a [JudgedCall]) -> Vec<(Option<&'a str>, Option<OrderedCall<'a>>)> {
        // The usual turn has one answer.
        if self.places.is_empty() {
            return answer.iter().map(|call| (None, Some(OrderedCall::Made(call)))).collect();
        }
        let mut kept = DistinctCalls::default();
        for checked in &self.calls {
            kept.insert(checked);
        }
        let made = answer.iter().filter(|call| call.result.as_ref().map_or(true, |checked| !kept.contains(checked)));
        let made: Vec<&JudgedCall> = made.collect();
        let open: Vec<&str> = self.places.iter().filter_map(CallSlot::open).collect();
        let names: Vec<&str> = made.iter().map(|call| call.repaired.name.as_str()).collect();
        let mut fills: Vec<Option<OrderedCall<'a>>> = vec![None; open.len()];
        let mut further = Vec::new();
        for (call, place) in made.into_iter().zip(match_slots(&open, &names)) {
            match place.and_then(|place| fills.get_mut(place)) {
                Some(fill) => *fill = Some(OrderedCall::Made(call)),
                None => further.push((None, Some(OrderedCall::Made(call)))),
            }
        }
        let mut fills = fills.into_iter();
        let mut arrangement: Vec<_> = self
            .places
            .iter()
            .map(|place| match place {
                CallSlot::Kept(at) => (None, self.calls.get(*at).map(OrderedCall::Kept)),
                CallSlot::Open(name) => (Some(name.as_str()), fills.next().flatten()),
            })
            .collect();
        arrangement.extend(further);
        arrangement
    }
}

impl CallSlot {
    fn open(&self) -> Option<&str> {
        match self {
            Self::Open(name) => Some(name),
            Self::Kept(_) => None,
        }
    }
}

/// Replaces a taken id: two attempts may use the same id for different calls.
pub(crate) fn with_fresh_id(mut call: Call, is_taken: impl Fn(&str) -> bool) -> Call {
    if is_taken(&call.id) {
        call.id = ids::call_id();
    }
    call
}

/// A set of calls by tool and arguments. One answer may have thousands of calls, so lookups use a hash.
#[derive(Default)]
struct DistinctCalls(HashSet<(String, String)>);

impl DistinctCalls {
    /// Adds a call; returns `false` if an equal call is present.
    fn insert(&mut self, call: &CheckedCall) -> bool {
        identity(call).is_none_or(|identity| self.0.insert(identity))
    }

    fn contains(&self, call: &CheckedCall) -> bool {
        identity(call).is_some_and(|identity| self.0.contains(&identity))
    }
}

/// Returns the tool and the arguments, in the order of their names; `None` for free text, which is never equal.
fn identity(call: &CheckedCall) -> Option<(String, String)> {
    let mut arguments = Value::Object(call.arguments().clone());
    arguments.sort_all_objects();
    (!call.is_free_text()).then(|| (call.call().name.clone(), arguments.to_string()))
}

/// Assigns an open place to each call: the first free place of the same tool; else, in order, a place that no call of
/// its tool takes; else none. `open` contains the tools of the places, `calls` those of the calls.
fn match_slots(open: &[&str], calls: &[&str]) -> Vec<Option<usize>> {
    let mut of_tool: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for (place, name) in open.iter().enumerate() {
        of_tool.entry(name).or_default().push_back(place);
    }
    let mut places: Vec<Option<usize>> =
        calls.iter().map(|name| of_tool.get_mut(name).and_then(VecDeque::pop_front)).collect();
    let mut free: Vec<usize> = of_tool.into_values().flatten().collect();
    free.sort_unstable();
    let unmatched = places.iter_mut().filter(|place| place.is_none());
    unmatched.zip(free).for_each(|(place, next)| *place = Some(next));
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use callwright_judge::repair::rescue::Situation;
    use callwright_judge::repair::{Spoken, judge_message};
    use callwright_judge::scanner::Context;
    use callwright_judge::scanner::testing::{TOOLS, call, tool_set};
    use callwright_types::rules::{Evidence, RepairRules, ScanRules};

    /// Validates the calls of an answer: tools of the scanner's tests with their arguments.
    fn answer(calls: &[(&str, &str)]) -> Vec<JudgedCall> {
        let calls: Vec<_> = calls.iter().map(|(name, arguments)| call(name, arguments)).collect();
        let spoken = Spoken { text: None, calls: &calls, situation: Situation::with(Evidence::Off) };
        let (scan, repair) = (ScanRules::default(), RepairRules::default());
        judge_message(&spoken, &tool_set(TOOLS), &scan, &repair, &Context::default()).calls
    }

    fn in_order(kept: &KeptCalls, answer: &[JudgedCall]) -> Vec<String> {
        let written = |placed: &OrderedCall<'_>| match placed {
            OrderedCall::Kept(checked) => checked.call().arguments.clone(),
            OrderedCall::Made(judged) => judged.made.arguments.clone(),
        };
        kept.in_order(answer).iter().map(written).collect()
    }

    const OSLO: &str = r#"{"city":"Oslo"}"#;
    const ROME: &str = r#"{"city":"Rome"}"#;
    const BERN: &str = r#"{"city":"Bern"}"#;
    const BAD: &str = r#"{"zzz":1}"#;
    const ORDER: &str = r#"{"order_id":7,"reason":"late"}"#;

    #[test]
    fn a_corrected_call_takes_the_place_of_the_one_that_it_replaces() {
        let mut kept = KeptCalls::default();
        kept.keep_correct(&answer(&[("get_weather", BAD), ("get_weather", OSLO), ("get_weather", BAD)]));
        assert_eq!(kept.len(), 1);
        let corrected = answer(&[("get_weather", ROME), ("get_weather", BERN)]);
        assert_eq!(in_order(&kept, &corrected), [ROME, OSLO, BERN]);
        let repeated = answer(&[("get_weather", ROME), ("get_weather", OSLO), ("get_weather", BERN)]);
        assert_eq!(in_order(&kept, &repeated), [ROME, OSLO, BERN], "what is repeated is there once");
    }

    #[test]
    fn places_stay_open_until_they_are_filled() {
        let mut kept = KeptCalls::default();
        kept.keep_correct(&answer(&[("get_weather", BAD), ("get_weather", OSLO), ("get_weather", BAD)]));
        kept.keep_correct(&answer(&[("get_weather", ROME)]));
        assert_eq!(in_order(&kept, &[]), [ROME, OSLO]);
        assert_eq!(in_order(&kept, &answer(&[("get_weather", BERN)])), [ROME, OSLO, BERN]);
        kept.clear();
        assert!(kept.is_empty() && in_order(&kept, &[]).is_empty());
    }

    #[test]
    fn a_misnamed_tool_is_matched_by_position_after_named_ones() {
        let mut kept = KeptCalls::default();
        kept.keep_correct(&answer(&[("wether", "{}"), ("get_weather", OSLO), ("orders.cancel", "{}")]));
        let corrected = answer(&[("orders.cancel", ORDER), ("get_weather", ROME)]);
        assert_eq!(in_order(&kept, &corrected), [ROME, OSLO, ORDER]);
    }

    #[test]
    fn further_calls_come_last_and_the_first_answer_keeps_its_order() {
        let mut kept = KeptCalls::default();
        let first = answer(&[("get_weather", BERN), ("get_weather", BAD), ("get_weather", OSLO)]);
        assert_eq!(in_order(&kept, &first), [BERN, BAD, OSLO]);
        kept.keep_correct(&first);
        let more = answer(&[("get_weather", ROME), ("orders.cancel", ORDER)]);
        assert_eq!(in_order(&kept, &more), [BERN, ROME, OSLO, ORDER]);
    }

    fn tools() -> impl Strategy<Value = Vec<&'static str>> {
        prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "d"]), 0..12)
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(1), cases: 2_000, ..ProptestConfig::default() })]

        /// No place is assigned twice, as many calls as possible get a place, and calls of the same tool come first and
        /// stay in order.
        #[test]
        fn calls_are_matched_with_places(open in tools(), calls in tools()) {
            let places = match_slots(&open, &calls);
            prop_assert_eq!(places.len(), calls.len());
            let taken: Vec<usize> = places.iter().flatten().copied().collect();
            prop_assert_eq!(taken.iter().collect::<HashSet<_>>().len(), taken.len());
            prop_assert!(taken.iter().all(|place| *place < open.len()));
            prop_assert_eq!(taken.len(), open.len().min(calls.len()));
            for tool in ["a", "b", "c", "d"] {
                let count = |names: &[&str]| names.iter().filter(|name| **name == tool).count();
                let same: Vec<usize> = places.iter().zip(&calls)
                    .filter_map(|(place, call)| place.filter(|place| *call == tool && open[*place] == tool))
                    .collect();
                prop_assert_eq!(same.len(), count(&open).min(count(&calls)), "{}", tool);
                prop_assert!(same.is_sorted());
            }
            let others = places.iter().zip(&calls).filter_map(|(place, call)| place.filter(|place| open[*place] != *call));
            prop_assert!(others.is_sorted());
        }

        /// An answer that corrects every call keeps the order of the previous answer.
        #[test]
        fn the_same_tools_are_matched_one_to_one(open in tools()) {
            prop_assert_eq!(match_slots(&open, &open), (0..open.len()).map(Some).collect::<Vec<_>>());
        }
    }
}
