//! Scan, repair where that is needed, and scan again.

use super::{Mended, mend};
use crate::domain::rules::{RepairRules, ScanRules};
use crate::domain::{Call, Diagnosis};
use crate::scanner::{CheckedCall, Toolbook, scan};

/// Mends the call at `index` of an answer and scans what came of it: the same as [`mend`] and then [`scan`], but a call
/// that is right as it came, which is what nearly all calls are, is read only once.
///
/// # Errors
/// The second value holds the faults that are left after repair.
pub fn judge(
    call: &Call,
    index: usize,
    toolbook: &Toolbook,
    scan_rules: &ScanRules,
    repair_rules: &RepairRules,
) -> (Mended, Result<CheckedCall, Vec<Diagnosis>>) {
    let untouched = || Mended { call: call.clone(), repairs: Vec::new() };
    let found = match scan(call, index, toolbook, scan_rules) {
        Ok(checked) => return (untouched(), Ok(checked)),
        Err(found) => found,
    };
    let mended = mend(call, index, toolbook, scan_rules, repair_rules);
    if mended.repairs.is_empty() {
        return (mended, Err(found));
    }
    let judged = scan(&mended.call, index, toolbook, scan_rules);
    (mended, judged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::FaultCode;
    use crate::scanner::testing::{TOOLS, call, toolbook};

    #[test]
    fn right_mended_and_faulty_calls_are_told_apart() {
        let book = toolbook(TOOLS);
        let judged = |text| judge(&call("get_weather", text), 2, &book, &ScanRules::default(), &RepairRules::default());
        let (mended, result) = judged(r#"{ "city":"Oslo" }"#);
        assert!(mended.repairs.is_empty() && result.is_ok());
        let (mended, result) = judged(r#"{"city":"Oslo","num_days":"2"}"#);
        assert_eq!((mended.repairs[0].call, result.unwrap().arguments()["num_days"].as_i64()), (2, Some(2)));
        let (mended, result) = judged(r#"{"City":"Oslo","num_days":"many"}"#);
        assert_eq!((mended.repairs.len(), result.unwrap_err()[0].code), (1, FaultCode::TypeMismatch));
    }
}
