//! Tests of an invented vendor's error catalogue in many layouts: in each, failures by code, by message and by a
//! paraphrase are explained by the right entry, and failures that it does not document are not explained.

use std::fmt::Write;

use futures_util::FutureExt;
use serde_json::{Map, Value, json};

use super::{Explainer, Settings};
use crate::documents::sections;
use callwright_types::outcome::ApiAnswer;
use callwright_types::{OperationRef, Outcome};

/// Error of the invented vendor of irrigation for greenhouses.
struct Entry {
    code: &'static str,
    message: &'static str,
    cause: &'static str,
    remedy: &'static str,
    /// What a later version of the API may report, without the code.
    paraphrase: &'static str,
}

const ENTRIES: [Entry; 7] = [
    Entry {
        code: "GH1101",
        message: "Valve is stuck",
        cause: "Limescale blocks the solenoid of the valve.",
        remedy: "Flush the manifold and send the command again.",
        paraphrase: "A solenoid is blocked by limescale",
    },
    Entry {
        code: "GH1102",
        message: "Tank level too low",
        cause: "The cistern holds less water than the schedule needs.",
        remedy: "Refill the cistern or shorten the schedule.",
        paraphrase: "Not enough water in the cistern for this schedule",
    },
    Entry {
        code: "GH1203",
        message: "Sensor not calibrated",
        cause: "The moisture probe was replaced and has no baseline.",
        remedy: "Record a baseline in dry and in wet soil.",
        paraphrase: "There is no baseline for that moisture probe",
    },
    Entry {
        code: "GH1204",
        message: "Frost lock is active",
        cause: "The outside temperature fell below two degrees.",
        remedy: "Wait until the thermometer shows three degrees.",
        paraphrase: "Locked because the thermometer shows frost",
    },
    Entry {
        code: "GH2301",
        message: "Fertilizer recipe unknown",
        cause: "No recipe with this identifier belongs to the tenant.",
        remedy: "List the recipes of the tenant and use one of their identifiers.",
        paraphrase: "The tenant owns no such recipe of fertilizer",
    },
    Entry {
        code: "GH2302",
        message: "Greenhouse is archived",
        cause: "An archived greenhouse takes no commands.",
        remedy: "Restore the greenhouse from the archive first.",
        paraphrase: "Commands to an archived glasshouse are refused",
    },
    Entry {
        code: "GH2403",
        message: "Season plan overlaps",
        cause: "Two season plans cover the same week of a bed.",
        remedy: "Move the beginning of the later plan.",
        paraphrase: "The same week of this bed is in two plans",
    },
];

/// Text of a catalogue: what precedes the entries, each entry, and what follows them.
fn catalogue(before: &str, each: impl Fn(&Entry) -> String, after: &str) -> String {
    let mut text = before.to_owned();
    for entry in &ENTRIES {
        text.push_str(&each(entry));
    }
    text + after
}

fn explainer(file: &str, text: &str) -> Explainer {
    let sections = sections(file, text.as_bytes(), &Settings::default()).0;
    Explainer::build(
        Vec::new(),
        sections.into_iter().map(|section| ("api".to_owned(), section)).collect(),
        &Settings::default(),
    )
}

fn explained(explainer: &Explainer, body: &Value) -> Vec<String> {
    let outcome = Outcome::Answered(ApiAnswer::new(400, body.to_string()));
    let operation = OperationRef { toolset: "api".into(), tool: String::new() };
    let explanation = explainer.explain(&operation, &outcome, &Map::new()).now_or_never().unwrap();
    explanation.passages.into_iter().map(|passage| passage.text).collect()
}

/// Asserts that codes, messages and most paraphrases are explained, and that unknown errors are not.
fn assert_explains(layout: &str, file: &str, text: &str) {
    let explainer = explainer(file, text);
    let mut paraphrases = 0;
    for entry in &ENTRIES {
        for body in [
            json!({"code": entry.code}),
            json!({"error": {"code": entry.code, "message": entry.message}}),
            json!({"message": entry.message}),
        ] {
            let found = explained(&explainer, &body);
            let first = found.first().cloned().unwrap_or_default();
            assert!(
                first.contains(entry.cause) && first.contains(entry.remedy),
                "{layout}: {body} has {found:#?}\n{text}"
            );
            let others = ENTRIES.iter().filter(|other| other.code != entry.code);
            for other in others {
                assert!(!first.contains(other.cause), "{layout}: {body} has {found:#?}");
            }
        }
        let found = explained(&explainer, &json!({"message": entry.paraphrase}));
        paraphrases += usize::from(found.first().is_some_and(|first| first.contains(entry.cause)));
    }
    assert!(paraphrases + 1 >= ENTRIES.len(), "{layout}: {paraphrases} paraphrases");
    for body in [
        json!({"code": "GH1109"}),
        json!({"code": "GH1109", "message": "Something went wrong"}),
        json!({"message": "Operation failed. Reference 7A-1102"}),
        json!({"message": "The orchestra has no second bassoon"}),
    ] {
        let found = explained(&explainer, &body);
        assert!(found.is_empty(), "{layout}: {body} has {found:#?}");
    }
}

#[test]
fn html_definition_lists_and_spanning_rows() {
    let list = catalogue(
        "<h1>Errors</h1><p>Each has a code.</p><dl>",
        |entry| {
            let Entry { code, message, cause, remedy, .. } = entry;
            format!("<dt>{code}</dt><dd><em>{message}</em></dd><dd>{cause}</dd><dd>{remedy}</dd>")
        },
        "</dl>",
    );
    assert_explains("definition list", "a.html", &list);
    let spans = catalogue(
        "<table><tr><th>Code</th><th>Part</th><th>Text</th></tr>",
        |entry| {
            let Entry { code, message, cause, remedy, .. } = entry;
            format!(
                "<tr><td rowspan=3>{code}</td><td>Message</td><td>{message}</td></tr><tr><td>Cause</td><td>{cause}</td></tr>\
                 <tr><td>Remedy</td><td>{remedy}</td></tr>"
            )
        },
        "</table>",
    );
    assert_explains("spanning rows", "a.html", &spans);
}

#[test]
fn restructured_text() {
    let definitions = catalogue(
        "Errors\n======\n\nThe errors of the API.\n\n.. code-block:: json\n\n   {\"code\": \"GH1101\"}\n\n",
        |entry| {
            let Entry { code, message, cause, remedy, .. } = entry;
            format!("``{code}``\n   {message}.\n   {cause}\n\n   {remedy}\n\n")
        },
        "",
    );
    assert_explains("definition list", "a.rst", &definitions);
    let rule = "======  ==========================  ==============================================================  =========\n";
    let simple = catalogue(
        &format!(
            "Errors\n======\n\n{rule}Code    Message                     Cause                                                           Remedy\n{rule}"
        ),
        |entry| {
            let Entry { code, message, cause, remedy, .. } = entry;
            format!("{code:<8}{message:<28}{cause:<64}{remedy}\n")
        },
        rule,
    );
    assert_explains("simple table", "a.rst", &simple);
    let border = format!("+{}+{}+\n", "-".repeat(10), "-".repeat(70));
    let grid = catalogue(
        &format!("Errors\n------\n\n{border}"),
        |entry| {
            let Entry { code, message, cause, remedy, .. } = entry;
            format!(
                "| {code:<9}| {message:<69}|\n| {:<9}| {:<69}|\n| {:<9}| {cause:<69}|\n| {:<9}| {remedy:<69}|\n{border}",
                "", "", "", ""
            )
        },
        "",
    );
    assert_explains("grid table", "a.rst", &grid);
    let list_table = catalogue(
        "Errors\n------\n\n.. list-table::\n   :header-rows: 1\n\n   * - Code\n     - Message\n     - Cause\n     - Remedy\n",
        |entry| {
            let Entry { code, message, cause, remedy, .. } = entry;
            format!("   * - ``{code}``\n     - {message}\n     - {cause}\n     - {remedy}\n")
        },
        "",
    );
    assert_explains("list table", "a.rst", &list_table);
}

#[test]
fn asciidoc() {
    let lines = catalogue(
        "= Errors\n:toc:\n\n[source,json]\n----\n{\"code\": \"GH1101\"}\n----\n\n[cols=\"1,1,3\", options=\"header\"]\n|===\n| Code\n| Message\n| What to do\n\n",
        |entry| {
            let Entry { code, message, cause, remedy, .. } = entry;
            format!("| `{code}`\n| {message}\n| {cause}\n{remedy}\n\n")
        },
        "|===\n",
    );
    assert_explains("a cell on each line", "a.adoc", &lines);
    let rows = catalogue(
        "= Errors\n\n|===\n|Code |Message |Cause |Remedy\n\n",
        |entry| {
            let Entry { code, message, cause, remedy, .. } = entry;
            format!("|{code} |{message} a|{cause} |{remedy}\n")
        },
        "|===\n",
    );
    assert_explains("a row on each line", "a.adoc", &rows);
    let list = catalogue(
        "= Errors\n\n",
        |entry| {
            let Entry { code, message, cause, remedy, .. } = entry;
            format!(
                "[[{code}]]\n=== xref:errors/{code}.adoc[{code}]\n\nMessage:: {message}\nCause:: {cause}\nRemedy:: {remedy}\n\n"
            )
        },
        "",
    );
    assert_explains("headings with description lists", "a.adoc", &list);
    let csv = catalogue(
        "= Errors\n\n[%header,format=csv]\n|===\nCode,Message,Cause,Remedy\n",
        |entry| {
            let Entry { code, message, cause, remedy, .. } = entry;
            format!("{code},{message},\"{cause}\",\"{remedy}\"\n")
        },
        "|===\n",
    );
    assert_explains("a table of CSV", "a.adoc", &csv);
}

#[test]
fn data_files() {
    let yaml = catalogue(
        "title: Errors\nerrors:\n",
        |entry| {
            let Entry { code, message, cause, remedy, .. } = entry;
            format!("  - code: {code}\n    message: {message}\n    cause: >\n      {cause}\n    remedy: {remedy}\n")
        },
        "",
    );
    assert_explains("YAML list", "a.yaml", &yaml);
    let map = catalogue(
        "errors:\n",
        |entry| {
            let Entry { code, message, cause, remedy, .. } = entry;
            format!(
                "  {code}:\n    description: {message}. {cause}\n    resolution: {remedy}\n    link: {{text: More, url: /x}}\n"
            )
        },
        "",
    );
    assert_explains("YAML map", "a.yml", &map);
    let texts: Map<String, Value> = ENTRIES
        .iter()
        .map(|Entry { code, message, cause, remedy, .. }| {
            ((*code).to_owned(), json!(format!("{message}. {cause} {remedy}")))
        })
        .collect();
    assert_explains("JSON map of texts", "a.json", &json!({"info": {"name": "x"}, "codes": texts}).to_string());
    let rows = catalogue(
        "message;code;cause;remedy\n",
        |entry| {
            let Entry { code, message, cause, remedy, .. } = entry;
            format!("{message};{code};{cause};{remedy}\n")
        },
        "",
    );
    assert_explains("CSV", "a.csv", &rows);
}

#[test]
fn plain_text() {
    let properties = catalogue(
        "# Messages\n",
        |entry| {
            let Entry { code, message, cause, remedy, .. } = entry;
            format!("error.{code}.message={message}\nerror.{code}.cause={cause}\nerror.{code}.remedy={remedy}\n")
        },
        "",
    );
    assert_explains("properties", "a.txt", &properties);
    let constants = catalogue(
        "enum Fault {\n  OK = 0;\n\n",
        |entry| {
            let Entry { code, message, cause, remedy, .. } = entry;
            format!("  // {message}.\n  // {cause}\n  // {remedy}\n  {code}_FAULT = {code};\n\n")
        },
        "}\n",
    );
    let numbered = ENTRIES.iter().enumerate().fold(constants, |text, (at, entry)| {
        text.replace(&format!("{0}_FAULT = {0};", entry.code), &format!("{} = {};", entry.code, at + 1))
    });
    assert_explains("enumeration", "a.proto", &numbered);
    let labels = catalogue(
        "ERRORS\n======\n\n",
        |entry| {
            let Entry { code, message, cause, remedy, .. } = entry;
            format!("Error code: {code}\nMessage: {message}\nCause: {cause}\nSolution: {remedy}\n\n")
        },
        "",
    );
    assert_explains("label lines", "a.txt", &labels);
}

#[test]
fn markdown() {
    let nested = catalogue(
        "---\ntitle: Errors\n---\n\nimport X from \"x\";\n\n# Errors\n\n```json\n{\"code\": \"GH1101\", \"message\": \"x\"}\n```\n\n",
        |entry| {
            let Entry { code, message, cause, remedy, .. } = entry;
            format!("## {message}\n\n**Error code:** `{code}`\n\n### Cause\n\n{cause}\n\n### Solution\n\n{remedy}\n\n")
        },
        "",
    );
    assert_explains("nested headings", "a.mdx", &nested);
    let vertical = catalogue(
        "# Errors\n\n| | |\n|---|---|\n",
        |entry| {
            let Entry { code, message, cause, remedy, .. } = entry;
            format!(
                "| **Error** | `{code}` |\n| **Message** | {message} |\n| **Solution** | {cause} {remedy} |\n| | |\n"
            )
        },
        "",
    );
    assert_explains("vertical table", "a.md", &vertical);
    let groups = catalogue(
        "# Errors\n\nCode | Message | What to do\n--- | --- | ---\n**Commands (status 400)** |\n",
        |entry| {
            let Entry { code, message, cause, remedy, .. } = entry;
            format!("`{code}` | {message} | {cause}<br><br>{remedy}\n")
        },
        "**Other** |\n",
    );
    assert_explains("group rows", "a.md", &groups);
    let items = catalogue(
        "# Errors\n\n<Table>\n\n- CODE\n  - MESSAGE\n  - DESCRIPTION\n",
        |entry| {
            let Entry { code, message, cause, remedy, .. } = entry;
            format!("- {code}\n  - {message}\n  - {cause} {remedy}\n")
        },
        "\n</Table>\n",
    );
    assert_explains("nested lists for rows", "a.mdx", &items);
    let bullets = catalogue(
        "# Errors\n\n",
        |entry| {
            let Entry { code, message, cause, remedy, .. } = entry;
            format!("### {code} VALVE_{code}\n\n* {message}\n* {cause} {remedy}\n\n")
        },
        "",
    );
    assert_explains("headings with two names", "a.md", &bullets);
}

#[test]
fn rows_with_messages_as_keys() {
    let mut text =
        "# API\n\n## Water a bed\n\n|Error message|How to fix|\n|:---|:---|\n**BadRequest (status code 400)**|\n"
            .to_owned();
    for Entry { message, cause, remedy, .. } in &ENTRIES {
        let _ = writeln!(text, "`{message}`|{cause} {remedy}|");
    }
    let explainer = explainer("a.md", &text);
    for entry in &ENTRIES {
        let body = json!({"errors": [{"error": "BadRequest", "message": entry.message}], "status_code": 400});
        let found = explained(&explainer, &body);
        assert!(found.first().is_some_and(|first| first.contains(entry.remedy)), "{body} has {found:#?}");
    }
    assert!(
        explained(
            &explainer,
            &json!({"errors": [{"error": "BadRequest", "message": "Request could not be completed"}]})
        )
        .is_empty()
    );
}
