//! Text form of procedures.

use std::fmt::Write as _;

use crate::cli::plain::text;
use callwright_types::memory::ProcedureInput;
use callwright_types::{Evidence, Procedure};

/// Maximum number of printed characters of a procedure's output.
const OUTPUT_CHARS: usize = 60;

/// Returns a table with one line per procedure.
pub(super) fn table(procedures: &[Procedure]) -> String {
    let mut table = String::new();
    if procedures.is_empty() {
        return "no procedures\n".to_owned();
    }
    let width = procedures.iter().map(|procedure| procedure.id.len()).max().unwrap_or_default();
    let _ = writeln!(table, "{:width$}  steps  evidence   uses  helped    hurt  gives", "id");
    for procedure in procedures {
        let gives: String = text(&procedure.output).chars().take(OUTPUT_CHARS).collect();
        let retired = if procedure.retired.is_some() { "  (retired)" } else { "" };
        let tally = procedure.tally;
        let _ = writeln!(
            table,
            "{:width$}  {:>5}  {:>8}  {:>5}  {:>6}  {:>6}  {gives}{retired}",
            text(&procedure.id),
            procedure.steps.len(),
            procedure.evidence.len(),
            tally.uses,
            tally.helped,
            tally.hurt,
        );
    }
    table
}

/// Returns all details of one procedure.
pub(super) fn whole(procedure: &Procedure) -> String {
    let mut shown = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(shown, "{name:9} {value}");
    };
    line("id", &text(&procedure.id));
    line("scope", &text(procedure.scope.as_str()));
    line("toolsets", &text(&procedure.toolsets.join(", ")));
    line("gives", &text(&procedure.output));
    for ProcedureInput { name, description } in &procedure.input {
        line("needs", &text(&if description.is_empty() { name.clone() } else { format!("{name}: {description}") }));
    }
    for (number, step) in (1..).zip(&procedure.steps) {
        line(&format!("step {number}"), &text(step));
    }
    for Evidence { kind, trace, source, at, .. } in &procedure.evidence {
        let place = trace.as_deref().or(source.as_deref()).unwrap_or_default();
        line("evidence", &format!("{} {at} {}", kind.label(), text(place)));
    }
    let tally = procedure.tally;
    let uses = format!("{} uses, {} helped, {} hurt", tally.uses, tally.helped, tally.hurt);
    line("tally", &format!("{uses}; withheld from {} turns, {} of them hurt", tally.withheld, tally.withheld_hurt));
    if let Some(retired) = &procedure.retired {
        line("retired", &format!("{} {}", retired.at, text(&retired.reason)));
    }
    line("learned", &format!("{}, changed {}", procedure.created_at, procedure.updated_at));
    shown
}
