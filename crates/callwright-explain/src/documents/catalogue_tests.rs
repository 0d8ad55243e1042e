//! Tests the catalogue of an invented vendor of parcel lockers in all layouts that vendors use. Each layout must give
//! one complete passage per code.

use serde_json::json;

use super::{Section, sections};
use crate::Settings;
use crate::passages::Piece;

struct Error {
    code: &'static str,
    message: &'static str,
    description: &'static str,
    cause: &'static str,
    solution: &'static str,
}

const ERRORS: [Error; 4] = [
    Error {
        code: "61003",
        message: "Locker door jammed",
        description: "The door of the compartment did not open within ten seconds.",
        cause: "Ice blocks the hinge",
        solution: "Send a technician and book another `locker_id`.",
    },
    Error {
        code: "61004",
        message: "Parcel too heavy",
        description: "The parcel weighs more than the compartment carries.",
        cause: "The field `weight` was given in grams",
        solution: "Give the weight in kilograms, at most 30.",
    },
    Error {
        code: "61017",
        message: "Depot closed",
        description: "No van leaves the depot on this day.",
        cause: "The date is a public holiday",
        solution: "Choose the next working day.",
    },
    Error {
        code: "7",
        message: "Badge unknown",
        description: "Nobody has registered the badge.",
        cause: "A typing error in the badge's number",
        solution: "Register it at the front desk first.",
    },
];

fn read(name: &str, text: &str) -> Vec<Section> {
    let (sections, error) = sections(name, text.as_bytes(), &Settings::default());
    assert!(error.is_none(), "{name}: {error:?}");
    sections
}

fn pieces(sections: &[Section]) -> Vec<Piece> {
    sections.iter().flat_map(|section| section.passages.clone()).collect()
}

/// Asserts that exactly one passage defines each code and that it contains all parts.
fn assert_all_passages_contain(layout: &str, name: &str, text: &str) {
    assert_passage_contains(layout, name, text, &ERRORS);
}

fn assert_passage_contains(layout: &str, name: &str, text: &str, errors: &[Error]) {
    let sections = read(name, text);
    let pieces = pieces(&sections);
    for error in errors {
        let defining: Vec<_> =
            pieces.iter().filter(|piece| piece.defines.iter().any(|code| code == error.code)).collect();
        let [piece] = defining.as_slice() else {
            panic!("{layout}: {} is defined by {defining:#?} of {pieces:#?}", error.code)
        };
        for part in [error.code, error.message, error.description, error.cause, error.solution] {
            assert!(piece.text.contains(part), "{layout}: {part} is not in {piece:#?}");
        }
        let others = errors.iter().filter(|other| other.code != error.code);
        others.for_each(|other| assert!(!piece.text.contains(other.description), "{layout}: {piece:#?}"));
        assert!(!piece.text.contains("https://"), "{layout}: an address is left in {piece:#?}");
    }
}

/// Joins one part for each error.
fn each(part: impl Fn(&Error) -> String) -> String {
    ERRORS.iter().map(part).collect::<Vec<_>>().join("\n")
}

#[test]
fn markdown_with_a_heading_for_each_code() {
    let text = each(|error| {
        let Error { code, message, description, cause, solution } = error;
        format!(
            "### {code}: {message}\n\n{description}\nSee [the guide](https://lockers.example/{code}).\n\n#### Possible causes\n\n- {cause}\n\n\
             #### Possible solutions\n\n- {solution}\n\n#### Log level\n\nERROR\n"
        )
    });
    assert_all_passages_contain(
        "headings",
        "errors.md",
        &format!("# Errors\n\nAll errors of the lockers.\n\n## API\n\n{text}"),
    );
    let bare = each(|error| {
        let Error { code, message, description, cause, solution } = error;
        format!(
            "## ERROR {code}\n\n**{message}**\n\n{description}\n\nPossible causes:\n* {cause}\n\nSolution: {solution}\n"
        )
    });
    assert_all_passages_contain("announced headings", "errors.md", &bare);
}

#[test]
fn markdown_with_the_code_behind_or_below_the_heading() {
    let behind = each(|error| {
        let Error { code, message, description, cause, solution } = error;
        format!("## {message} (error {code})\n\n{description}\n\n**Cause:** {cause}  \n**Solution:** {solution}\n")
    });
    assert_all_passages_contain("code behind the message", "errors.md", &behind);
    let below = each(|error| {
        let Error { code, message, description, cause, solution } = error;
        format!(
            "## {message}\n\n- **Code:** {code}\n- **Description:** {description}\n- **Cause:** {cause}\n- **Fix:** {solution}\n"
        )
    });
    assert_all_passages_contain("code below the heading", "errors.md", &format!("# Errors\n\n{below}"));
    let line = each(|error| {
        let Error { code, message, description, cause, solution } = error;
        format!("## {message}\n\nError code: `{code}`\n\n{description}\n\n{cause}.\n\n{solution}\n")
    });
    assert_all_passages_contain("code in a line below the heading", "errors.md", &format!("# Errors\n\n{line}"));
}

#[test]
fn markdown_tables() {
    let rows = each(|error| {
        let Error { code, message, description, cause, solution } = error;
        format!(
            "| {code} | {message} | {description} | {cause} | {solution} | [more](https://lockers.example/{code}) |"
        )
    });
    let text = format!(
        "## Errors\n\n| Code | Message | Description | Possible causes | What to do | Docs |\n|---|:-:|---|---|---|---|\n{rows}\n"
    );
    assert_all_passages_contain("table", "errors.md", &text);
    let rows = each(|error| {
        let Error { code, message, description, cause, solution } = error;
        format!("| {message} | `{code}` | 400 | {description}<br>{cause}<br/>{solution} |")
    });
    let text = format!("| Error | Code | HTTP status | Meaning |\n|---|---|---|---|\n{rows}\n\nMore text.");
    assert_all_passages_contain("table with the code in the middle", "errors.md", &text);
    let tables = each(|error| {
        let Error { code, message, description, cause, solution } = error;
        format!(
            "### {message}\n\n| | |\n|---|---|\n| **Code** | {code} |\n| **Description** | {description} |\n| Causes | {cause} |\n\
             | Solution | {solution} |\n"
        )
    });
    let tables = tables.replace("| | |\n|---|---|\n| **Code**", "| Property | Value |\n|---|---|\n| Code");
    let sections = read("errors.md", &tables);
    for error in &ERRORS {
        let piece = pieces(&sections).into_iter().find(|piece| piece.defines.iter().any(|code| code == error.code));
        let text = piece.map(|piece| piece.text).unwrap_or_default();
        assert!([error.description, error.cause, error.solution].iter().all(|part| text.contains(part)), "{text}");
    }
}

#[test]
fn markdown_lists() {
    let nested = each(|error| {
        let Error { code, message, description, cause, solution } = error;
        format!("- **{code}** - {message}\n  - {description}\n  - Cause: {cause}\n  - Solution: {solution}")
    });
    assert_all_passages_contain("nested list", "errors.md", &format!("Errors:\n\n{nested}\n"));
    let flat = each(|error| {
        let Error { code, message, description, cause, solution } = error;
        format!("* `{code}`: {message}. {description} {cause}. {solution}")
    });
    assert_all_passages_contain("flat list", "errors.md", &flat);
    let definitions = each(|error| {
        let Error { code, message, description, cause, solution } = error;
        format!("`{code}`\n: {message}. {description}\n\n: Cause: {cause}\n\n: {solution}\n")
    });
    assert_all_passages_contain("definition list", "errors.md", &definitions);
    let bold = each(|error| {
        let Error { code, message, description, cause, solution } = error;
        format!("**Error {code}: {message}**\n\n{description}\n\n*Cause*: {cause}\n\n*Solution*: {solution}\n")
    });
    assert_all_passages_contain("bold lines", "errors.md", &format!("# Errors\n\n{bold}"));
}

#[test]
fn a_file_for_each_code() {
    for error in &ERRORS {
        let Error { code, message, description, cause, solution } = error;
        let text = format!(
            "---\ntitle: \"{code}: {message}\"\nsidebar_label: x\n---\n# Error {code}: {message}\n\n{description}\n\n## Possible causes\n\n\
             {cause}\n\n## Possible solutions\n\n1. {solution}\n"
        );
        let sections = read("one.md", &text);
        let pieces = pieces(&sections);
        let whole = pieces.iter().filter(|piece| piece.text.contains(solution) && piece.text.contains(cause)).count();
        assert_eq!(whole, 1, "{pieces:#?}");
    }
}

#[test]
fn html_tables_lists_and_headings() {
    let rows = each(|error| {
        let Error { code, message, description, cause, solution } = error;
        format!(
            "<tr><td>{code}<td><a href='https://x.example'>{message}</a><td><p>{description}</p><ul><li>{cause}<li>{solution}</ul></tr>"
        )
    });
    let page = |body: &str| {
        format!(
            "<!doctype html><html><head><title>Errors</title><style>p {{ }}</style><script>var a = '<p>no</p>';</script></head>\
             <body><nav><a href=/>Home</a></nav><h1>Errors</h1><p>All of them.</p>{body}</body></html>"
        )
    };
    let header = "<thead><tr><th>Code</th><th>Message</th><th>Description</th></tr></thead>";
    assert_all_passages_contain(
        "HTML table",
        "errors.html",
        &page(&format!("<table>{header}<tbody>{rows}</tbody></table>")),
    );
    let unmarked = "<tr><td>Code<td>Message<td>Description</tr>";
    assert_all_passages_contain(
        "HTML table without th",
        "errors.html",
        &page(&format!("<table>{unmarked}{rows}</table>")),
    );
    let list = each(|error| {
        let Error { code, message, description, cause, solution } = error;
        format!(
            "<dt><code>{code}</code></dt><dd><p>{message}</p><p>{description}</p></dd><dd>{cause}</dd><dd>{solution}</dd>"
        )
    });
    assert_all_passages_contain("HTML definition list", "errors.html", &page(&format!("<dl>{list}</dl>")));
    let headings = each(|error| {
        let Error { code, message, description, cause, solution } = error;
        format!(
            "<section id=e{code}><h3>{code} &ndash; {message}</h3><p>{description}<h4>Possible causes</h4><ul><li>{cause}</ul>\
             <h4>Possible solutions</h4><ul><li>{solution}</ul></section>"
        )
    });
    assert_all_passages_contain("HTML headings", "errors.html", &page(&headings));
    let cards = each(|error| {
        let Error { code, message, description, cause, solution } = error;
        format!(
            "<li class=card><h3>{code}</h3><p><b>{message}</b></p><p>{description}</p><div>{cause}</div><div>{solution}</div></li>"
        )
    });
    assert_all_passages_contain("HTML cards", "errors.html", &page(&format!("<ul>{cards}</ul>")));
    let folded = each(|error| {
        let Error { code, message, description, cause, solution } = error;
        format!(
            "<details><summary>Error {code}: {message}</summary><div>{description}</div><p>{cause}</p><p>{solution}</p></details>"
        )
    });
    assert_all_passages_contain("HTML details", "errors.html", &page(&folded));
    assert_all_passages_contain(
        "HTML within Markdown",
        "errors.md",
        &format!("# Errors\n\n<table>\n{header}\n\n{rows}\n\n</table>\n"),
    );
}

#[test]
fn html_without_structure() {
    let boxes: Vec<String> = ERRORS
        .iter()
        .take(3)
        .map(|error| {
            let Error { code, message, description, cause, solution } = error;
            format!("<div class=r><div>{code}</div><div>{message}</div><div>{description}</div><div>{cause}</div><div>{solution}</div></div>")
        })
        .collect();
    assert_passage_contains("HTML boxes", "errors.html", &boxes.concat(), &ERRORS[..3]);
}

#[test]
fn json_lists_and_maps() {
    let object = |error: &Error| {
        json!({
            "message": error.message, "docs": format!("https://lockers.example/{}", error.code), "log_level": "ERROR",
            "code": error.code.parse::<u32>().unwrap(), "description": error.description, "product": null,
            "possible_causes": [error.cause], "possible_solutions": [error.solution],
        })
    };
    let list: Vec<_> = ERRORS.iter().map(object).collect();
    assert_all_passages_contain("JSON list", "errors.json", &json!(list).to_string());
    assert_all_passages_contain(
        "JSON list within",
        "errors.json",
        &json!({"version": 2, "data": {"errors": list}}).to_string(),
    );
    assert_all_passages_contain("JSON Lines", "errors.jsonl", &each(|error| object(error).to_string()));
    let other: Vec<_> = ERRORS
        .iter()
        .map(|error| {
            json!({"errorId": error.code, "title": error.message, "details": {"text": error.description},
                   "resolutions": [{"cause": error.cause, "action": error.solution}]})
        })
        .collect();
    assert_all_passages_contain(
        "JSON with other names",
        "errors.json",
        &json!([{"group": "Lockers", "items": other}]).to_string(),
    );
    let keyed: serde_json::Map<_, _> = ERRORS
        .iter()
        .map(|error| {
            let text = format!("{} {}. {}", error.description, error.cause, error.solution);
            (error.code.to_owned(), json!({"name": error.message, "explanation": text}))
        })
        .collect();
    assert_all_passages_contain("JSON map", "errors.json", &json!(keyed).to_string());
    assert_all_passages_contain(
        "JSON map within",
        "errors.json",
        &json!({"info": {"title": "Lockers"}, "errors": keyed}).to_string(),
    );
    let grouped = json!({"lockers": {"61003": keyed["61003"], "61004": keyed["61004"]}, "depots": {"61017": keyed["61017"], "7": keyed["7"]}});
    assert_all_passages_contain("JSON maps in groups", "errors.json", &grouped.to_string());
    let texts: serde_json::Map<_, _> = ERRORS
        .iter()
        .map(|error| {
            let text = format!("{}: {} {}. {}", error.message, error.description, error.cause, error.solution);
            (error.code.to_owned(), json!(text))
        })
        .collect();
    assert_all_passages_contain("JSON map of texts", "errors.json", &json!(texts).to_string());
    let rows: Vec<_> = ERRORS
        .iter()
        .map(|error| json!([error.code, error.message, error.description, error.cause, error.solution]))
        .collect();
    assert_all_passages_contain("JSON rows", "errors.json", &json!(rows).to_string());
}

#[test]
fn csv_with_any_delimiter_with_and_without_header() {
    for delimiter in [",", ";", "\t"] {
        let row = |cells: [&str; 5]| cells.map(|cell| format!("\"{cell}\"")).join(delimiter);
        let rows = each(|error| row([error.message, error.code, error.description, error.cause, error.solution]));
        let header = row(["Message", "Error code", "Description", "Cause", "Solution"]);
        assert_all_passages_contain("CSV", "errors.csv", &format!("{header}\r\n{rows}"));
        assert_all_passages_contain("CSV without header", "errors.csv", &rows);
    }
}

#[test]
fn plain_text() {
    let indented = each(|error| {
        let Error { code, message, description, cause, solution } = error;
        format!("{code}: {message}\n    {description}\n    Cause: {cause}\n    {solution}\n")
    });
    assert_all_passages_contain("indented text", "errors.txt", &format!("Errors\n======\n\n{indented}"));
    let columns = each(|error| [error.code, error.message, error.description, error.cause, error.solution].join("\t"));
    let sections = read("errors.txt", &columns);
    assert_eq!(pieces(&sections).len(), ERRORS.len(), "{sections:#?}");
    let labelled = each(|error| {
        let Error { code, message, description, cause, solution } = error;
        format!(
            "Error code: {code}\nMessage: {message}\nDescription: {description}\nCause: {cause}\nSolution: {solution}\n"
        )
    });
    assert_all_passages_contain("labelled lines", "errors.txt", &labelled);
}

#[test]
fn lists_and_paragraphs_may_begin_with_codes_without_a_mark() {
    let all = |begin: &str, end: &str| {
        each(|error| {
            let Error { code, message, description, cause, solution } = error;
            format!("{begin}{code}{end} {message}. {description} {cause} {solution}\n\n")
        })
    };
    assert_all_passages_contain("list", "errors.md", &format!("# Errors\n\n{}", all("- **", "**")));
    assert_all_passages_contain(
        "paragraphs",
        "errors.md",
        &format!("# Errors\n\nThese are all errors.\n\n{}", all("", "")),
    );
    assert_all_passages_contain("HTML paragraphs", "errors.html", &all("<p><b>", "</b>").replace("\n\n", "</p>"));
}

#[test]
fn a_few_numbers_at_the_head_of_lines_are_no_codes() {
    let sections = read("limits.md", "- 10000 requests a day\n- 1000 requests an hour\n- 100 requests a minute\n");
    assert!(pieces(&sections).iter().all(|piece| piece.defines.is_empty()), "{sections:#?}");
}
