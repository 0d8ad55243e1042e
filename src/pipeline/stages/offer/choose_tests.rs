//! Tests of the order of selected tools and of evictions.

use std::sync::Arc;

use serde_json::json;

use super::choose::ChoiceRules;
use super::conversation::ConversationStep;
use super::ranking::Ranker;
use crate::pipeline::tools::{Candidates, ChosenTools, Pool, Side, ToolsetIndex};
use callwright_types::rules::{ExecuteRules, OfferRules, ToolGlobs};
use callwright_types::{OfferReason, Owner, Tool, ToolKind};

const NAMES: [&str; 8] =
    ["listRooms", "bookRoom", "planRoute", "getWeather", "sendInvoice", "listCountries", "payInvoice", "cancelBooking"];

fn rules() -> OfferRules {
    OfferRules { whole: 3, k: 2, min: 1, gap: 0.2, ..OfferRules::default() }
}

fn pool(rules: &OfferRules, hidden: &[&str]) -> Pool {
    let tool = |name: &str| Tool {
        name: name.to_owned(),
        description: String::new(),
        parameters: Arc::new(json!({"type": "object"})),
        kind: ToolKind::Function,
        reads: None,
        owner: Owner::Client,
        namespace: None,
    };
    let tools = NAMES.map(tool);
    let listed: Vec<(usize, &Tool, &str)> =
        tools.iter().enumerate().map(|(place, tool)| (place, tool, NAMES[place])).collect();
    let candidates = Candidates::of_client(&listed, &ToolsetIndex::default());
    Pool::new(Side::Catalog, Arc::new(candidates), rules, &ExecuteRules::default(), hidden.iter().copied())
}

/// The needs of a step of a conversation.
#[derive(Default)]
struct Asked {
    user_messages: Vec<String>,
    called: Vec<String>,
    words: Vec<String>,
}

impl Asked {
    fn step(&self) -> ConversationStep<'_> {
        ConversationStep { user_messages: &self.user_messages, called: &self.called, words: &self.words }
    }
}

fn user_messages(text: &str) -> Asked {
    Asked { user_messages: vec![text.to_owned()], ..Asked::default() }
}

/// Processes the steps; returns the finally offered tools with the reasons.
fn chosen(rules: &OfferRules, steps: &[Asked], hidden: &[&str], room: usize) -> Vec<(&'static str, OfferReason)> {
    let (pools, mut chosen) = ([pool(rules, hidden)], ChosenTools::default());
    advance(&mut chosen, &pools, rules, steps, room);
    shown(&chosen)
}

fn advance(chosen: &mut ChosenTools, pools: &[Pool], offer: &OfferRules, steps: &[Asked], room: usize) {
    for step in steps {
        let by = ChoiceRules { offer, room, required: &[] };
        chosen.advance(pools, by, step.step(), &Ranker::default());
    }
}

fn shown(chosen: &ChosenTools) -> Vec<(&'static str, OfferReason)> {
    chosen.picks.iter().map(|pick| (NAMES[pick.tool.position as usize], pick.reason)).collect()
}

fn names(offered: Vec<(&'static str, OfferReason)>) -> Vec<&'static str> {
    offered.into_iter().map(|(name, _)| name).collect()
}

fn globs(text: &str) -> ToolGlobs {
    ToolGlobs::new(vec![text.to_owned()]).unwrap()
}

#[test]
fn few_tools_are_offered_whole() {
    let rules = OfferRules { whole: 8, ..rules() };
    let all = chosen(&rules, &[user_messages("hi")], &[], 100);
    assert!(all.iter().all(|(_, reason)| *reason == OfferReason::Whole));
    assert_eq!(names(all), NAMES);
    assert_eq!(chosen(&rules, &[user_messages("hi")], &["bookRoom"], 100).len(), 7);
    assert_eq!(chosen(&rules, &[user_messages("hi")], &[], 0), []);
}

#[test]
fn what_serves_the_user_is_chosen_up_to_the_gap_and_the_number() {
    use OfferReason::{Filled, Ranked};
    assert_eq!(chosen(&rules(), &[user_messages("the weather?")], &[], 100), [("getWeather", Ranked)]);
    let invoices = [("sendInvoice", Ranked), ("payInvoice", Ranked)];
    assert_eq!(chosen(&rules(), &[user_messages("an invoice, a room")], &["listRooms", "bookRoom"], 100), invoices);
    let strict = OfferRules { gap: 1.0, ..rules() };
    assert_eq!(names(chosen(&strict, &[user_messages("send the invoice")], &[], 100)), ["sendInvoice"]);
    let three = OfferRules { k: 3, min: 3, gap: 1.0, ..rules() };
    let expected = [("listRooms", Filled), ("sendInvoice", Ranked), ("payInvoice", Filled)];
    assert_eq!(chosen(&three, &[user_messages("send the invoice")], &[], 100), expected);
    assert_eq!(chosen(&rules(), &[user_messages("hm")], &[], 100), [("listRooms", Filled)]);
}

#[test]
fn what_was_offered_stays_and_what_is_new_is_appended() {
    let steps = [user_messages("the weather?"), user_messages("plan a route"), user_messages("the weather again")];
    let (rules, mut chosen) = (rules(), ChosenTools::default());
    let pools = [pool(&rules, &[])];
    let mut before: Vec<&str> = Vec::new();
    for step in steps {
        advance(&mut chosen, &pools, &rules, &[step], 100);
        let now = names(shown(&chosen));
        assert!(now.starts_with(&before), "{before:?} {now:?}");
        before = now;
    }
    assert_eq!(shown(&chosen), [("getWeather", OfferReason::Sticky), ("planRoute", OfferReason::Sticky)]);
    assert!(chosen.picks[0].share.is_some() && chosen.picks[1].share.is_none(), "only one of them serves this");
}

#[test]
fn names_calls_and_rules_come_before_what_is_found() {
    use OfferReason::{Always, Called, Named, Ranked, Required};
    let rules = OfferRules { always: globs("cancel*"), never: globs("listRooms"), ..rules() };
    let step = Asked {
        user_messages: vec!["the weather? list rooms".to_owned()],
        called: vec!["planRoute".to_owned()],
        words: vec!["bookRoom".to_owned(), "unknown".to_owned(), "listRooms".to_owned()],
    };
    let (pools, mut chosen) = ([pool(&rules, &[])], ChosenTools::default());
    let required = ["payInvoice".to_owned()];
    let by = ChoiceRules { offer: &rules, room: 100, required: &required };
    chosen.advance(&pools, by, step.step(), &Ranker::default());
    let offered = shown(&chosen);
    for expected in [
        ("bookRoom", Named),
        ("planRoute", Called),
        ("getWeather", Ranked),
        ("payInvoice", Required),
        ("cancelBooking", Always),
    ] {
        assert!(offered.contains(&expected), "{expected:?} {offered:?}");
    }
    assert!(!names(offered).contains(&"listRooms"), "never wins");
}

#[test]
fn the_least_recently_used_makes_room_at_the_limit() {
    let rules = rules();
    let (pools, mut chosen) = ([pool(&rules, &[])], ChosenTools::default());
    let mut offered = Vec::new();
    for (text, evicted) in [
        ("weather", false),
        ("plan the route", false),
        ("countries", false),
        ("cancel the booking", false),
        ("send the invoice, pay it", true),
    ] {
        chosen.evicted = false;
        advance(&mut chosen, &pools, &rules, &[user_messages(text)], 4);
        assert_eq!(chosen.evicted, evicted, "{text}");
        offered = names(shown(&chosen));
    }
    // Three quarters of the limit of four.
    assert_eq!(offered, ["cancelBooking", "sendInvoice", "payInvoice"]);
}

#[test]
fn at_the_limit_what_was_called_stays() {
    let rules = rules();
    let (pools, mut chosen) = ([pool(&rules, &[])], ChosenTools::default());
    let first = Asked { called: vec!["getWeather".to_owned()], ..user_messages("weather") };
    advance(&mut chosen, &pools, &rules, &[first, user_messages("countries"), user_messages("plan a route")], 2);
    assert_eq!(shown(&chosen), [("getWeather", OfferReason::Called), ("planRoute", OfferReason::Ranked)]);
}

#[test]
fn new_tools_during_the_turn_are_appended_within_the_room() {
    let rules = rules();
    let (pools, mut chosen) = ([pool(&rules, &[])], ChosenTools::default());
    advance(&mut chosen, &pools, &rules, &[user_messages("countries"), user_messages("weather")], 100);
    let asked = pools[0].meant("BOOK_ROOM").unwrap();
    chosen.add(&[asked], OfferReason::Asked, 100);
    assert_eq!(shown(&chosen).last(), Some(&("bookRoom", OfferReason::Asked)));
    let called = pools[0].meant("listCountries").unwrap();
    chosen.add(&[called], OfferReason::Called, 100);
    assert_eq!(chosen.picks.len(), 3);
    chosen.add(&[pools[0].meant("payInvoice").unwrap()], OfferReason::Asked, 3);
    assert_eq!(names(shown(&chosen)), ["listCountries", "bookRoom", "payInvoice"]);
    assert_eq!(pools[0].meant("unheard"), None);
}
