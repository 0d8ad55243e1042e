//! Panic isolation: a bug that one document triggers must not prevent the reports on the others.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};

thread_local! {
    /// Message and location of this thread's last panic.
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Stores panic messages for the document's report instead of printing them. A message may contain text of the
/// document, which must not reach the terminal unescaped.
pub(super) fn listen() {
    panic::set_hook(Box::new(|panic| {
        let panic_message = panic.to_string();
        LAST.with(|last| *last.borrow_mut() = Some(panic_message));
    }));
}

/// Runs `work`; a panic becomes an error with its message and location.
pub(super) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // No state that `work` may leave inconsistent is used afterwards.
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let panic_message = LAST.with(|last| last.borrow_mut().take()).unwrap_or_else(|| message(payload.as_ref()));
        format!("this is a fault of callwright, not of the document; please report it: {panic_message}")
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
