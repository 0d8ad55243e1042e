//! A fault of our own in one document must not cost the reports on the others.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};

thread_local! {
    /// What the last panic of this thread said, and where.
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps what panics say for the report of the document, instead of printing it: it may have text of the document, which must not reach
/// a terminal as it is.
pub(super) fn listen() {
    panic::set_hook(Box::new(|panic| {
        let said = panic.to_string();
        LAST.with(|last| *last.borrow_mut() = Some(said));
    }));
}

/// Does `work`; an error says where it panicked.
pub(super) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // Nothing that `work` left half done is looked at afterwards.
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let said = LAST.with(|last| last.borrow_mut().take()).unwrap_or_else(|| message(payload.as_ref()));
        format!("this is a fault of callwright, not of the document; please report it: {said}")
    })
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_fault_with_what_it_said() {
        assert_eq!(guarded(|| 5), Ok(5));
        let fault = guarded(|| -> u8 { panic!("at {}", 7) }).unwrap_err();
        assert!(fault.contains("fault of callwright") && fault.ends_with("at 7"), "{fault}");
        assert!(guarded(|| panic!("plain")).unwrap_err().ends_with("plain"));
    }
}
