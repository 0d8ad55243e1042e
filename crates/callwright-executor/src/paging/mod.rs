//! Pagination: detects the next page of a response, its URL, and the arguments with which the same call requests it.
//!
//! The next page is announced by a `Link` field with the relation `next` (RFC 8288) or by a body member with a common
//! name (`body`). A link is followed within its own origin only. For the model it is translated into arguments of the
//! tool.

mod body;
mod link_field;

use url::Url;

use super::client::LinkedResponse;
use super::request::encode;
use body::NextPageMark;
use callwright_common::limits::VALUE_LENGTH;
use callwright_common::text::letters;
use callwright_openapi::{Location, Operation};
use callwright_types::outcome::NextPage;

/// Query parameter of an operation: the name of the argument, and the name on the wire.
pub(super) type Parameter = (String, String);

/// Next page that a response announces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AnnouncedPage {
    /// Data for the model.
    pub(super) page: NextPage,
    /// URL of the page, if it is on the same origin.
    pub(super) url: Option<Url>,
}

/// Returns the query parameters of an operation.
pub(super) fn parameters(operation: &Operation) -> Vec<Parameter> {
    let in_query = operation.bindings.iter().filter(|binding| binding.location == Location::Query);
    in_query.map(|binding| (binding.argument.clone(), binding.name.clone())).collect()
}

/// Returns the next page that a successful response announces.
pub(super) fn next(received: &LinkedResponse, parameters: &[Parameter]) -> Option<AnnouncedPage> {
    if let Some(link) = link_field::next(&received.links) {
        return linked(&received.url, &link, parameters);
    }
    match body::next(&received.answer.body)? {
        NextPageMark::Link(link) => linked(&received.url, &link, parameters),
        NextPageMark::Cursor { value, names } => {
            let (argument, wire_name) = parameters.iter().find(|(_, name)| names.contains(&letters(name).as_str()))?;
            let mut url = received.url.clone();
            set(&mut url, wire_name, &value);
            let arguments = if fits(&value) { vec![(argument.clone(), value)] } else { Vec::new() };
            Some(AnnouncedPage { page: NextPage { arguments }, url: Some(url) })
        }
    }
}

fn linked(current: &Url, link: &str, parameters: &[Parameter]) -> Option<AnnouncedPage> {
    let mut next = current.join(link).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    next.set_fragment(None);
    if next == *current {
        return None;
    }
    let arguments = arguments(current, &next, parameters).unwrap_or_default();
    let is_same = next.origin() == current.origin() && next.username().is_empty() && next.password().is_none();
    Some(AnnouncedPage { page: NextPage { arguments }, url: is_same.then_some(next) })
}

/// Returns the arguments by which the query of `next` differs from that of `current`; `None` if the tool's arguments
/// cannot express the difference.
fn arguments(current: &Url, next: &Url, parameters: &[Parameter]) -> Option<Vec<(String, String)>> {
    if next.path().trim_end_matches('/') != current.path().trim_end_matches('/') {
        return None;
    }
    let mut arguments: Vec<(String, String)> = Vec::new();
    for (name, value) in next.query_pairs() {
        if current.query_pairs().any(|pair| pair == (name.clone(), value.clone())) {
            continue;
        }
        let (argument, _) = parameters.iter().find(|(_, wire_name)| *wire_name == name)?;
        if !fits(&value) || arguments.iter().any(|(taken, _)| taken == argument) {
            return None;
        }
        arguments.push((argument.clone(), value.into_owned()));
    }
    Some(arguments)
}

fn fits(value: &str) -> bool {
    value.chars().nth(VALUE_LENGTH).is_none()
}

/// Sets one query parameter and keeps the others as they are written.
fn set(url: &mut Url, name: &str, value: &str) {
    let key = encode(name);
    let set = format!("{key}={}", encode(value));
    let mut pairs: Vec<&str> = url.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()).collect();
    pairs.retain(|pair| pair.split('=').next() != Some(key.as_str()));
    pairs.push(&set);
    let query = pairs.join("&");
    url.set_query(Some(&query));
}

#[cfg(test)]
mod tests {
    use super::*;
    use callwright_types::outcome::ApiAnswer;

    const CURRENT: &str = "https://api.example.com/v1/rooms?limit=5&q=a%20b";

    fn announced(links: &[&str], body: &str, parameters: &[&str]) -> Option<(Vec<String>, Option<String>)> {
        let answer = ApiAnswer::new(200, body.to_owned());
        let links = links.iter().map(|link| (*link).to_owned()).collect();
        let parameters: Vec<Parameter> =
            parameters.iter().map(|name| (format!("{name}_argument"), (*name).to_owned())).collect();
        let found =
            next(&LinkedResponse { answer, url: CURRENT.parse().unwrap(), links, is_see_other: false }, &parameters)?;
        let arguments = found.page.arguments.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        Some((arguments, found.url.map(String::from)))
    }

    fn page(arguments: &[&str], url: Option<&str>) -> Option<(Vec<String>, Option<String>)> {
        Some((arguments.iter().map(|text| (*text).to_owned()).collect(), url.map(str::to_owned)))
    }

    #[test]
    fn a_link_is_announced_as_the_arguments_that_differ() {
        let second = "https://api.example.com/v1/rooms?limit=5&q=a+b&page=2";
        let field = format!("<{second}>; rel=\"next\"");
        assert_eq!(announced(&[&field], "", &["limit", "q", "page"]), page(&["page_argument=2"], Some(second)));
        assert_eq!(announced(&[&field], "", &["limit"]), page(&[], Some(second)), "no argument selects the page");
        let body = r#"{"next": "?limit=5&q=a%20b&page=3", "rooms": []}"#;
        let third = "https://api.example.com/v1/rooms?limit=5&q=a%20b&page=3";
        assert_eq!(announced(&[], body, &["page"]), page(&["page_argument=3"], Some(third)));
        let elsewhere = r#"<https://api.example.com/v1/other?page=2>; rel=next"#;
        let url = "https://api.example.com/v1/other?page=2";
        assert_eq!(announced(&[elsewhere], "", &["page"]), page(&[], Some(url)));
    }

    #[test]
    fn a_link_to_another_origin_is_announced_but_not_followed() {
        for other in [
            "http://api.example.com/v1/rooms?page=2",
            "https://evil.example/v1/rooms?page=2",
            "https://api.example.com:444/v1/rooms?page=2",
            "//evil.example/v1/rooms?page=2",
            "https://u:p@api.example.com/v1/rooms?page=2",
        ] {
            let field = format!("<{other}>; rel=next");
            assert_eq!(announced(&[&field], "", &["page"]), page(&["page_argument=2"], None), "{other}");
        }
        assert_eq!(announced(&["<file:///etc/passwd>; rel=next"], "", &[]), None);
        assert_eq!(announced(&[&format!("<{CURRENT}>; rel=next")], "", &[]), None, "the same page again");
    }

    #[test]
    fn a_cursor_is_set_where_the_operation_has_a_parameter_for_it() {
        let body = r#"{"items": [1], "nextPageToken": "a/b="}"#;
        let url = "https://api.example.com/v1/rooms?limit=5&q=a%20b&pageToken=a%2Fb%3D";
        assert_eq!(announced(&[], body, &["pageToken"]), page(&["pageToken_argument=a/b="], Some(url)));
        assert_eq!(announced(&[], body, &["page_size"]), None);
        let replaced = "https://api.example.com/v1/rooms?q=a%20b&limit=7";
        let mut current: Url = CURRENT.parse().unwrap();
        set(&mut current, "limit", "7");
        assert_eq!(current.as_str(), replaced);
    }

    #[test]
    fn an_over_long_value_is_not_announced() {
        let long = "x".repeat(2_000);
        let field = format!("<?page={long}>; rel=next");
        assert_eq!(announced(&[&field], "", &["page"]).unwrap().0, Vec::<String>::new());
    }
}
