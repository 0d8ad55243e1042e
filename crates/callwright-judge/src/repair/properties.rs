//! Property tests of all repairs, for any schema and any arguments.

use proptest::prelude::*;

use crate::generated::{call_of, config, misspelt, schema_and_arguments, tool_set, wild_json};
use crate::repair::{judge, repair_call};
use callwright_scanner::{Context, scan};
use callwright_types::rules::{RepairRules, ScanRules, UnknownParameters};

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn a_right_call_is_never_changed((schema, arguments) in schema_and_arguments()) {
        let call = call_of(&arguments);
        let repaired = repair_call(&call, 3, &tool_set(&schema), &ScanRules::default(), &RepairRules::default());
        prop_assert_eq!(repaired.call, call);
        prop_assert!(repaired.repairs.is_empty());
    }

    #[test]
    fn mending_twice_changes_nothing_more((schema, arguments) in schema_and_arguments(), choices in prop::collection::vec(0u8..12, 0..20)) {
        let book = tool_set(&schema);
        for unknown_parameters in [UnknownParameters::Refuse, UnknownParameters::Drop] {
            let rules = ScanRules { unknown_parameters, ..ScanRules::default() };
            let call = call_of(&misspelt(&arguments, &mut choices.iter().copied()));
            let once = repair_call(&call, 0, &book, &rules, &RepairRules::default());
            let twice = repair_call(&once.call, 0, &book, &rules, &RepairRules::default());
            prop_assert_eq!(&twice.call, &once.call, "{}", schema);
            prop_assert!(twice.repairs.is_empty());
            prop_assert_eq!(once.repairs.is_empty(), once.call == call);
        }
    }

    #[test]
    fn a_mended_call_that_scans_clean_is_valid((schema, arguments) in schema_and_arguments(), choices in prop::collection::vec(0u8..12, 0..20)) {
        let book = tool_set(&schema);
        let call = call_of(&misspelt(&arguments, &mut choices.into_iter()));
        let repaired = repair_call(&call, 0, &book, &ScanRules::default(), &RepairRules::default());
        if let Ok(checked) = scan(&repaired.call, 0, &book, &ScanRules::default()) {
            let strict = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
            let value = serde_json::Value::Object(checked.arguments().clone());
            prop_assert!(strict.is_valid(&value), "{schema} {value}");
        }
    }

    #[test]
    fn judging_is_mending_and_then_scanning((schema, arguments) in schema_and_arguments(), choices in prop::collection::vec(0u8..12, 0..20)) {
        let book = tool_set(&schema);
        for unknown_parameters in [UnknownParameters::Allow, UnknownParameters::Auto, UnknownParameters::Refuse, UnknownParameters::Drop] {
            let rules = ScanRules { unknown_parameters, ..ScanRules::default() };
            let call = call_of(&misspelt(&arguments, &mut choices.iter().copied()));
            let (judged, scanned) = judge(&call, 0, &book, &rules, &RepairRules::default(), &Context::default());
            let repaired = repair_call(&call, 0, &book, &rules, &RepairRules::default());
            prop_assert_eq!(scanned.result.err(), scan(&repaired.call, 0, &book, &rules).err());
            prop_assert_eq!(judged, repaired);
        }
    }

    #[test]
    fn repairs_never_add_a_fault((schema, arguments) in schema_and_arguments(), choices in prop::collection::vec(0u8..12, 0..20)) {
        let book = tool_set(&schema);
        let rules = ScanRules { report: callwright_types::rules::Report::All, ..ScanRules::default() };
        let call = call_of(&misspelt(&arguments, &mut choices.into_iter()));
        let repaired = repair_call(&call, 0, &book, &rules, &RepairRules::default());
        let count = |call| scan(call, 0, &book, &rules).err().map_or(0, |found| found.len());
        if !repaired.repairs.is_empty() && repaired.repairs.iter().all(|repair| repair.kind != callwright_types::RepairKind::ParameterRenamed) {
            prop_assert!(count(&repaired.call) < count(&call), "{schema} {} {}", call.arguments, repaired.call.arguments);
        }
    }

    #[test]
    fn any_schema_and_any_arguments_give_a_result(schema in wild_json(), arguments in wild_json()) {
        let book = tool_set(&schema);
        let rules = ScanRules { unknown_parameters: UnknownParameters::Drop, ..ScanRules::default() };
        let once = repair_call(&call_of(&arguments), 0, &book, &rules, &RepairRules::default());
        let twice = repair_call(&once.call, 0, &book, &rules, &RepairRules::default());
        prop_assert_eq!(twice.call, once.call, "{}", schema);
    }
}
