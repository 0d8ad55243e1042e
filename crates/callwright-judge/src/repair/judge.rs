//! Scans a call, repairs it if needed, and scans the result.

use super::{Mended, mend_in};
use crate::scanner::{Context, Scan, ToolSet, scan_in};
use callwright_types::Call;
use callwright_types::rules::{RepairRules, ScanRules};

/// Repairs the call at `index` of an answer and scans the result. A call without faults, which is the common case, is
/// scanned only once.
pub fn judge(
    call: &Call,
    index: usize,
    tool_set: &ToolSet,
    scan_rules: &ScanRules,
    repair_rules: &RepairRules,
    context: &Context<'_>,
) -> (Mended, Scan) {
    let scanned = scan_in(call, index, tool_set, scan_rules, context);
    let can_be_mended = scanned.advice.iter().any(|diagnosis| scan_rules.faults.of(diagnosis.code).mends());
    if scanned.result.is_ok() && !can_be_mended {
        return (Mended { call: call.clone(), repairs: Vec::new() }, scanned);
    }
    let mended = mend_in(call, index, tool_set, scan_rules, repair_rules, context);
    if mended.repairs.is_empty() {
        return (mended, scanned);
    }
    let scanned = scan_in(&mended.call, index, tool_set, scan_rules, context);
    (mended, scanned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scanner::testing::{TOOLS, call, tool_set};
    use callwright_types::FaultCode;

    #[test]
    fn right_mended_and_faulty_calls_are_told_apart() {
        let book = tool_set(TOOLS);
        let judged = |text| {
            let (scan, repair) = (ScanRules::default(), RepairRules::default());
            let (mended, scanned) = judge(&call("get_weather", text), 2, &book, &scan, &repair, &Context::default());
            (mended, scanned.result)
        };
        let (mended, result) = judged(r#"{ "city":"Oslo" }"#);
        assert!(mended.repairs.is_empty() && result.is_ok());
        let (mended, result) = judged(r#"{"city":"Oslo","num_days":"2"}"#);
        assert_eq!((mended.repairs[0].call, result.unwrap().arguments()["num_days"].as_i64()), (2, Some(2)));
        let (mended, result) = judged(r#"{"City":"Oslo","num_days":"many"}"#);
        assert_eq!((mended.repairs.len(), result.unwrap_err()[0].code), (1, FaultCode::TypeMismatch));
    }
}
