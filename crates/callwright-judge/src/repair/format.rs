//! E4.2: normalises the separators of a date whose schema has the format `date`.

use serde_json::Value;

use super::RepairProposal;
use crate::scanner::CompiledTool;
use crate::scanner::schema::{SchemaRule, Violation};
use callwright_types::RepairKind;

/// Proposes the date of `violation`'s value in the format `YYYY-MM-DD`. Accepts only dates that begin with the year,
/// because any other order is ambiguous between day and month.
pub(super) fn propose(violation: &Violation, arguments: &Value, tool: &CompiledTool) -> Option<RepairProposal> {
    let SchemaRule::Constraint("format", _) = &violation.rule else { return None };
    let is_date = tool.keyword_at(&violation.path, "format").and_then(Value::as_str) == Some("date");
    let value = arguments.pointer(violation.path.as_str()).filter(|_| is_date)?;
    let text = value.as_str()?;
    let separator = text.get(4..5).filter(|separator| ["/", "."].contains(separator))?;
    let parts: Vec<&str> = text.split(separator).collect();
    let digits = |part: &str, count: usize| part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit());
    let [year, month, day] = parts.as_slice() else { return None };
    let is_written_out = digits(year, 4) && digits(month, 2) && digits(day, 2);
    let date = Value::from(format!("{year}-{month}-{day}"));
    is_written_out.then(|| RepairProposal::set(RepairKind::FormatNormalised, &violation.path, value, date))
}

#[cfg(test)]
mod tests {
    use crate::repair::testing::{mended, unchanged};
    use crate::scanner::testing::TOOLS;
    use callwright_types::RepairKind;

    #[test]
    fn a_date_gets_the_separators_of_its_format() {
        for date in ["2026/11/23", "2026.11.23"] {
            let (text, kinds) = mended(TOOLS, "get_weather", &format!(r#"{{"city":"Oslo","from":"{date}"}}"#));
            assert_eq!(text, r#"{"city":"Oslo","from":"2026-11-23"}"#);
            assert_eq!(kinds, [RepairKind::FormatNormalised]);
        }
    }

    #[test]
    fn a_date_that_is_none_or_can_be_another_one_stays() {
        for date in ["23/11/2026", "2026/13/40", "2026/1/2", "2026/11.23", "2026/11/23 10:00", "tomorrow", "2026年11月"]
        {
            assert!(unchanged(TOOLS, "get_weather", &format!(r#"{{"city":"Oslo","from":"{date}"}}"#)), "{date}");
        }
    }
}
