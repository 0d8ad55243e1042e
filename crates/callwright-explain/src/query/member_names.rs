//! Classifies the members of an error body by their names.
//!
//! The lists are broader than those that recognise a failure: a value taken for a code here is used only if the
//! documentation defines it.

use crate::word_list::WordList;
use callwright_common::text::letters;

/// Meaning of a member's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    Code,
    Kind,
    /// HTTP status, or a code.
    Status,
    Parameter,
    Link,
    /// Value that differs between failures of the same kind: ids, times, hosts.
    Noise,
    /// Words.
    Text,
}

/// Suffixes of names of codes (folded).
const CODES: [&str; 7] = ["code", "errno", "errornumber", "errnum", "errorid", "errid", "errorno"];

/// Prefixes of codes that are not error codes (folded).
const OTHER_CODES: [&str; 11] =
    ["country", "zip", "post", "postal", "area", "lang", "language", "promo", "currency", "bar", "qr"];

/// Parts of names of values that differ between failures of the same kind (folded).
const NOISE: WordList = WordList(
    "requestid traceid spanid correlationid logid eventid timestamp datetime hostname useragent transactionid rayid",
);

/// Returns the meaning of a member by its name.
pub(crate) fn meaning(name: &str) -> Meaning {
    let name = letters(name);
    match name.as_str() {
        "status" | "statuscode" | "httpstatus" | "httpstatuscode" | "httpcode" => Meaning::Status,
        "error" | "type" | "reason" | "errortype" | "kind" | "info" | "exception" | "fault" | "errorname"
        | "exceptiontype" => Meaning::Kind,
        "param" | "parameter" | "field" | "property" | "loc" | "location" | "path" | "pointer" | "argument"
        | "attribute" | "source" => Meaning::Parameter,
        "time" | "date" | "host" | "server" | "version" | "stack" | "stacktrace" | "trace" | "nonce" => Meaning::Noise,
        "moreinfo" | "link" | "href" | "helplink" | "errorlink" => Meaning::Link,
        _ if name.strip_suffix("code").is_some_and(|kind| OTHER_CODES.iter().any(|other| kind.ends_with(other))) => {
            Meaning::Text
        }
        _ if CODES.iter().any(|code| name.ends_with(code)) => Meaning::Code,
        _ if name.ends_with("url") || name.ends_with("uri") => Meaning::Link,
        _ if NOISE.words().any(|part| name.contains(part)) => Meaning::Noise,
        _ => Meaning::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_classified_by_their_names() {
        let cases = [
            ("code", Meaning::Code),
            ("error_subcode", Meaning::Code),
            ("infoCode", Meaning::Code),
            ("errno", Meaning::Code),
            ("country_code", Meaning::Text),
            ("statusCode", Meaning::Status),
            ("__type", Meaning::Kind),
            ("x-request-id", Meaning::Noise),
            ("documentation_url", Meaning::Link),
            ("loc", Meaning::Parameter),
            ("message", Meaning::Text),
            ("", Meaning::Text),
        ];
        for (name, expected) in cases {
            assert_eq!(meaning(name), expected, "{name}");
        }
    }
}
