//! Body members that announce a next page. No standard defines them; the lists contain the common ones.

use serde_json::Value;

/// Paths of the next page's link: a string, or an object with `href` or `url`. From OData, HAL, JSON:API and common
/// practice.
const LINKS: [&[&str]; 20] = [
    &["next"],
    &["next_url"],
    &["nextUrl"],
    &["next_link"],
    &["nextLink"],
    &["next_page_url"],
    &["nextPageUrl"],
    &["next_page"],
    &["nextPage"],
    &["@odata.nextLink"],
    &["odata.nextLink"],
    &["links", "next"],
    &["_links", "next"],
    &["paging", "next"],
    &["pagination", "next"],
    &["pagination", "next_url"],
    &["pagination", "links", "next"],
    &["meta", "next"],
    &["meta", "next_page_url"],
    &["meta", "pagination", "links", "next"],
];

/// Parameters for a cursor, without case and separators.
const CURSOR: &[&str] = &["cursor", "nextcursor", "pagecursor", "startcursor", "after", "startingafter"];
/// Parameters for a page token.
const TOKEN: &[&str] =
    &["pagetoken", "nextpagetoken", "nexttoken", "paginationtoken", "continuationtoken", "continuation"];
/// Parameters for a page number.
const NUMBER: &[&str] = &["page", "pagenumber", "pageno", "pagenum"];
/// Parameters for the number of items before a page.
const OFFSET: &[&str] = &["offset", "start", "skip", "startat", "startindex"];
/// All of these: the name of the member does not identify the kind.
const ANY: &[&str] = &["cursor", "after", "pagetoken", "nexttoken", "page", "offset"];

/// Paths of the cursor, token or number of the next page, and the parameters that take it.
const CURSORS: [(&[&str], &[&str]); 25] = [
    (&["next_cursor"], CURSOR),
    (&["nextCursor"], CURSOR),
    (&["response_metadata", "next_cursor"], CURSOR),
    (&["meta", "next_cursor"], CURSOR),
    (&["meta", "nextCursor"], CURSOR),
    (&["meta", "cursor", "next"], CURSOR),
    (&["pagination", "next_cursor"], CURSOR),
    (&["pagination", "nextCursor"], CURSOR),
    (&["paging", "cursors", "after"], CURSOR),
    (&["paging", "next", "after"], CURSOR),
    (&["pageInfo", "endCursor"], CURSOR),
    (&["page_info", "end_cursor"], CURSOR),
    (&["next_page_token"], TOKEN),
    (&["nextPageToken"], TOKEN),
    (&["next_token"], TOKEN),
    (&["nextToken"], TOKEN),
    (&["NextToken"], TOKEN),
    (&["meta", "next_token"], TOKEN),
    (&["continuationToken"], TOKEN),
    (&["continuation_token"], TOKEN),
    (&["next_page"], NUMBER),
    (&["meta", "next_page"], NUMBER),
    (&["pagination", "next_page"], NUMBER),
    (&["next_offset"], OFFSET),
    (&["next"], ANY),
];

/// Members that are `false` if there is no next page, at the top level or next to the cursor.
const HAS_MORE: [&str; 8] =
    ["has_more", "hasMore", "has_next", "hasNext", "has_next_page", "hasNextPage", "has_more_items", "more"];

/// Reference to the next page in a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NextPageMark {
    /// URL, absolute or relative.
    Link(String),
    /// Value for a parameter with one of these names (without case and separators).
    Cursor { value: String, names: &'static [&'static str] },
}

/// Returns the first mark of a body that is a page: an object that contains a list.
pub(super) fn next(body: &[u8]) -> Option<NextPageMark> {
    let body: Value = serde_json::from_slice(body).ok()?;
    if !holds_a_list(&body) || reports_failure(&body) {
        return None;
    }
    let link = LINKS.iter().find_map(|path| link_in(at(&body, path)?));
    link.map(NextPageMark::Link).or_else(|| CURSORS.iter().find_map(|(path, names)| cursor(&body, path, names)))
}

fn holds_a_list(body: &Value) -> bool {
    has_list(body) || body.as_object().is_some_and(|members| members.values().any(has_list))
}

fn has_list(value: &Value) -> bool {
    value.as_object().is_some_and(|members| members.values().any(Value::is_array))
}

fn link_in(value: &Value) -> Option<String> {
    let text = match value {
        Value::Object(members) => members.get("href").or_else(|| members.get("url"))?.as_str()?,
        other => other.as_str()?,
    };
    let is_link = ["http://", "https://", "/", "?"].iter().any(|start| text.starts_with(start));
    is_link.then(|| text.to_owned())
}

fn cursor(body: &Value, path: &[&str], names: &'static [&'static str]) -> Option<NextPageMark> {
    let (_, above) = path.split_last()?;
    if at(body, above).is_some_and(reports_failure) {
        return None;
    }
    let value = match at(body, path)? {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_u64() => number.to_string(),
        _ => return None,
    };
    (!value.is_empty()).then_some(NextPageMark::Cursor { value, names })
}

fn reports_failure(object: &Value) -> bool {
    HAS_MORE.iter().any(|name| object.get(name) == Some(&Value::Bool(false)))
}

fn at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(mut body: Value) -> Option<String> {
        body["data"] = json!([1]);
        Some(match next(body.to_string().as_bytes())? {
            NextPageMark::Link(link) => link,
            NextPageMark::Cursor { value, names } => format!("{}: {value}", names[0]),
        })
    }

    #[test]
    fn every_usual_location_of_a_link_is_recognised() {
        for path in LINKS {
            let nest = |leaf: Value| path.iter().rev().fold(leaf, |inner, name| json!({*name: inner}));
            assert_eq!(found(nest(json!("/r?page=2"))).as_deref(), Some("/r?page=2"), "{path:?}");
            assert_eq!(
                found(nest(json!({"href": "https://a.example.com/2"}))).as_deref(),
                Some("https://a.example.com/2")
            );
            for none in [json!(null), json!(""), json!(false), json!({}), json!([])] {
                assert_eq!(found(nest(none.clone())), None, "{path:?} {none}");
            }
        }
    }

    #[test]
    fn every_usual_location_of_a_cursor_is_recognised() {
        for (path, names) in CURSORS {
            let nest = |leaf: Value| path.iter().rev().fold(leaf, |inner, name| json!({*name: inner}));
            assert_eq!(found(nest(json!("c"))), Some(format!("{}: c", names[0])), "{path:?}");
            assert_eq!(found(nest(json!(7))), Some(format!("{}: 7", names[0])), "{path:?}");
            assert_eq!(found(nest(json!(null))), None, "{path:?}");
        }
    }

    #[test]
    fn a_body_without_further_pages_announces_none() {
        assert_eq!(found(json!({"has_more": false, "next_cursor": "c"})), None);
        assert_eq!(found(json!({"pageInfo": {"hasNextPage": false, "endCursor": "c"}})), None);
        assert!(found(json!({"pageInfo": {"hasNextPage": true, "endCursor": "c"}})).is_some());
    }

    #[test]
    fn other_bodies_announce_no_page() {
        for body in [r#"{"title": "an article", "next": "/articles/2"}"#, "[1]", "\"/next\"", "<html>", ""] {
            assert_eq!(next(body.as_bytes()), None, "{body}");
        }
    }
}
