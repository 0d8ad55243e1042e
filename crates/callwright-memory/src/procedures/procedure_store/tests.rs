use std::sync::Arc;

use jiff::Timestamp;

use super::{ProcedureQuery, ProcedureStore, StoredProcedure, ToolAvailability};
use crate::memory::MemoryChange;
use crate::procedures::Settings;
use crate::procedures::testing::{procedure, stored};
use callwright_search::embedding::Vector;
use callwright_types::memory::{Fingerprint, Retirement};
use callwright_types::{Procedure, Scope};

fn booking(group: &str) -> Arc<Procedure> {
    let arguments = [("find_person", "name", "?"), ("book_room", "person_id", "step1/id"), ("book_room", "day", "?")];
    procedure(group, "Books a meeting room", &arguments)
}

fn paying(group: &str) -> Arc<Procedure> {
    let arguments = [("list_invoices", "customer", "?"), ("pay_invoice", "invoice_id", "step1/invoices/0/id")];
    procedure(group, "Pays an invoice of a customer", &arguments)
}

fn found(store: &ProcedureStore, group: &str, text: &str, is_available: &ToolAvailability<'_>) -> Vec<String> {
    let query = ProcedureQuery { scope: &Scope::of_group(group), text, vector: None, is_available };
    store.recall(&query, 3).into_iter().map(|found| found.procedure.output.clone()).collect()
}

fn all(_: &str, _: Option<&Fingerprint>) -> bool {
    true
}

#[test]
fn procedures_are_found_by_words_of_their_result_and_steps() {
    let store = ProcedureStore::new([stored(&booking("a")), stored(&paying("a"))], Settings::default());
    assert_eq!(found(&store, "a", "Please book the room of Jack", &all), ["Books a meeting room"]);
    assert_eq!(found(&store, "a", "settle the invoices of our customer", &all), ["Pays an invoice of a customer"]);
    assert!(found(&store, "a", "what is the weather of a day with the and", &|_, _| false).is_empty());
    assert!(found(&store, "a", "the and of a", &all).is_empty());
}

#[test]
fn foreign_and_retired_ones_and_those_without_tools_are_absent() {
    let mut retired = Procedure::clone(&paying("a"));
    retired.retired = Some(Retirement { at: Timestamp::UNIX_EPOCH, reason: "it hurts".to_owned() });
    let store = ProcedureStore::new([stored(&booking("a")), stored(&Arc::new(retired))], Settings::default());
    assert!(found(&store, "b", "book a room", &all).is_empty());
    assert!(found(&store, "a", "pay an invoice", &all).is_empty());
    assert!(found(&store, "a", "book a room", &|tool, _| tool != "find_person").is_empty());
    assert_eq!((store.len(), store.retired(), store.in_scope(&Scope::of_group("a")).count()), (2, 1, 2));
}

#[test]
fn vectors_find_procedures_that_words_do_not() {
    let vector = |components: [f32; 2]| Vector::new(components.to_vec()).unwrap();
    let with = |procedure: Arc<Procedure>, components| StoredProcedure {
        procedure,
        vector: Some(Arc::new(vector(components))),
    };
    let store =
        ProcedureStore::new([with(booking("a"), [1.0, 0.0]), with(paying("a"), [0.0, 1.0])], Settings::default());
    let request = vector([0.9, 0.1]);
    let scope = Scope::of_group("a");
    let query =
        ProcedureQuery { scope: &scope, text: "Besprechungszimmer", vector: Some(&request), is_available: &all };
    let best = store.recall(&query, 1);
    assert_eq!(best[0].procedure.output, "Books a meeting room");
}

#[test]
fn incremental_changes_equal_a_new_store() {
    let (book, pay) = (booking("a"), paying("a"));
    let built = ProcedureStore::new([stored(&pay)], Settings::default());
    let changes = [
        MemoryChange::Stored(stored(&book)),
        MemoryChange::Stored(stored(&pay)),
        MemoryChange::Deleted(book.id.clone()),
    ];
    let changed = ProcedureStore::new([], Settings::default()).with(changes);
    for text in ["book a room", "pay an invoice"] {
        assert_eq!(found(&built, "a", text, &all), found(&changed, "a", text, &all));
    }
    let empty = changed.with([MemoryChange::Deleted(pay.id.clone()), MemoryChange::Deleted("nothing".to_owned())]);
    assert!(empty.is_empty() && empty.scopes().next().is_none());
}
