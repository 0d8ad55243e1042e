//! Normalisation of request paths before routing.
//!
//! Servers behind the proxy interpret a path in their own way: they decode it, collapse slashes, drop parameters, fold
//! case. If a path were passed through in another spelling of `/v1/chat/completions`, its turn would run unguarded.
//! Therefore each path is normalised (RFC 3986, section 6.2.2), spellings without legitimate use are refused, and only
//! the normal form is passed through.

use std::borrow::Cow;
use std::fmt::Write;

use percent_encoding::percent_decode_str;
use unicode_normalization::UnicodeNormalization;

/// Path of turns in chat completions.
pub(super) const CHAT: &str = "/v1/chat/completions";
/// Path of turns in the Responses protocol.
pub(super) const RESPONSES: &str = "/v1/responses";
/// Path of turns in the Messages protocol.
pub(super) const MESSAGES: &str = "/v1/messages";

/// Prefix of Azure's `v1` API, an alias of `/v1`.
const AZURE_V1: &str = "/openai/v1/";

/// Prefix of paths of Anthropic's clients whose base URL ends with `/v1`.
const DOUBLED_V1: &str = "/v1/v1/";

/// Normal paths below which a segment is the id of a model.
const MODELS: [&str; 2] = ["/v1/models", "/openai/v1/models"];

/// An encoded slash.
const SLASH: &str = "%2F";
const LOWER_CASE_SLASH: &str = "%2f";

/// Last segments of every path to chat completions.
const CHAT_SEGMENTS: [&str; 2] = ["chat", "completions"];

/// Reason why a path is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum PathFault {
    /// A `..` segment in any spelling.
    #[error("it has a `..` segment")]
    Parent,
    /// A slash or backslash inside a segment, in any spelling.
    #[error("it has an encoded slash or a backslash")]
    Separator,
    /// A control character, such as NUL.
    #[error("it has a control character")]
    Control,
    /// A `%` without two hexadecimal digits.
    #[error("it has a `%` without two hexadecimal digits; write `%25` for the sign itself")]
    Escape,
    /// A double percent-encoding, which servers that decode twice read as another path.
    #[error("it is percent-encoded twice")]
    DoubleEscape,
    /// Bytes that are not UTF-8.
    #[error("its percent-encoded bytes are not UTF-8")]
    Encoding,
}

/// Normalises a path: decodes unreserved characters, writes escapes in upper case, removes empty and `.` segments and
/// the trailing slash.
pub(super) fn normalise(path: &str) -> Result<Cow<'_, str>, PathFault> {
    if !path.starts_with('/') || is_normal(path) {
        return Ok(Cow::Borrowed(path));
    }
    let mut normal = String::with_capacity(path.len());
    for segment in path.split('/') {
        let segment = if MODELS.contains(&normal.as_str()) { model_id(segment)? } else { normalise_segment(segment)? };
        if !segment.is_empty() && segment != "." {
            normal.push('/');
            normal.push_str(&segment);
        }
    }
    if normal.is_empty() {
        normal.push('/');
    }
    Ok(Cow::Owned(normal))
}

/// Returns the normal form of the id of a model, in which clients encode slashes: `meta-llama%2FLlama-3`.
fn model_id(segment: &str) -> Result<String, PathFault> {
    // Only the letter of this escape has two cases.
    let parts: Vec<&str> = segment.split(SLASH).flat_map(|part| part.split(LOWER_CASE_SLASH)).collect();
    let normal: Vec<String> = parts.into_iter().map(normalise_segment).collect::<Result<_, _>>()?;
    if normal.len() > 1 && normal.iter().any(|part| part.is_empty() || part == ".") {
        return Err(PathFault::Separator);
    }
    Ok(normal.join(SLASH))
}

/// Whether a path is in normal form already. Most paths are, at the cost of one pass over their bytes.
fn is_normal(path: &str) -> bool {
    let bytes = path.as_bytes();
    let has_odd_segment = bytes.windows(2).any(|pair| matches!(pair, b"//" | b"/."));
    bytes.iter().all(|byte| matches!(byte, 0x21..=0x7e) && !matches!(byte, b'%' | b'\\'))
        && !has_odd_segment
        && (bytes.len() == 1 || !bytes.ends_with(b"/"))
}

fn normalise_segment(segment: &str) -> Result<String, PathFault> {
    let mut normal = String::with_capacity(segment.len());
    let mut decoded = Vec::with_capacity(segment.len());
    let mut bytes = segment.bytes();
    while let Some(byte) = bytes.next() {
        let is_escape = byte == b'%';
        let byte = if is_escape { escaped(bytes.next(), bytes.next()).ok_or(PathFault::Escape)? } else { byte };
        match byte {
            b'/' | b'\\' => return Err(PathFault::Separator),
            _ if byte.is_ascii_control() => return Err(PathFault::Control),
            _ if is_unreserved(byte) || !(is_escape || byte >= 0x80) => normal.push(char::from(byte)),
            // Writing to a string cannot fail.
            _ => drop(write!(normal, "%{byte:02X}")),
        }
        decoded.push(byte);
    }
    let decoded = String::from_utf8(decoded).map_err(|_| PathFault::Encoding)?;
    if decoded.chars().any(char::is_control) {
        return Err(PathFault::Control);
    }
    let plain = plain(&decoded);
    if plain.contains(['/', '\\']) {
        return Err(PathFault::Separator);
    }
    if plain.as_bytes().windows("%41".len()).any(is_escape) {
        return Err(PathFault::DoubleEscape);
    }
    let bare = without_parameters(&plain);
    if bare == ".." || (bare == "." && normal != ".") {
        return Err(PathFault::Parent);
    }
    Ok(normal)
}

fn escaped(high: Option<u8>, low: Option<u8>) -> Option<u8> {
    let (high, low) = (char::from(high?).to_digit(16)?, char::from(low?).to_digit(16)?);
    u8::try_from(high * 16 + low).ok()
}

fn is_escape(bytes: &[u8]) -> bool {
    matches!(bytes, [b'%', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit())
}

/// Whether a byte is unreserved (RFC 3986, section 2.3).
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Replaces compatibility characters, such as full-width letters, by their plain form (NFKC).
fn plain(text: &str) -> Cow<'_, str> {
    if text.is_ascii() { Cow::Borrowed(text) } else { Cow::Owned(text.nfkc().collect()) }
}

/// Returns a segment without its parameters (`;a=b`) and trailing white space, which some servers drop.
fn without_parameters(segment: &str) -> &str {
    segment.split(';').next().unwrap_or_default().trim_end()
}

/// Maps aliases of a normal path to the routed path: `/openai/v1/...` (Azure's form of `/v1/...`), `/v1/v1/...` (a base
/// URL with `/v1` in a client that appends it), and the endpoints of turns without `/v1`.
pub(super) fn canonical(path: Cow<'_, str>) -> Cow<'_, str> {
    if let Some(mut rest) = path.strip_prefix(AZURE_V1).or_else(|| path.strip_prefix(DOUBLED_V1)) {
        // Azure's form of a base URL with `/v1` repeats it as well.
        while let Some(inner) = rest.strip_prefix("v1/") {
            rest = inner;
        }
        return Cow::Owned(format!("/v1/{rest}"));
    }
    match path.as_ref() {
        "/chat/completions" => Cow::Borrowed(CHAT),
        "/responses" => Cow::Borrowed(RESPONSES),
        "/messages" => Cow::Borrowed(MESSAGES),
        _ => path,
    }
}

/// Whether a path, in normal form or not, is below the endpoint of Messages, whose errors have another form.
pub(super) fn is_messages(path: &str) -> bool {
    let path = path.strip_prefix("/openai").unwrap_or(path);
    let rest = path.strip_prefix(MESSAGES).or_else(|| path.strip_prefix("/messages"));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a routed path is the endpoint of Responses, or below it.
pub(super) fn is_responses(path: &str) -> bool {
    path.strip_prefix(RESPONSES).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the endpoint of turns as which the receiving server could read a normal path without its own route: in another
/// case, with parameters, or, for chat completions, behind another prefix. `messages` and `responses` are also the last
/// segments of other endpoints.
pub(super) fn disguised_turn(path: &str) -> Option<&'static str> {
    if [CHAT, RESPONSES, MESSAGES].contains(&path) {
        return None;
    }
    let decoded = percent_decode_str(path).decode_utf8_lossy();
    let folded = plain(&decoded).to_lowercase();
    let bare = folded.split(['?', '#']).next().unwrap_or_default();
    let segments = bare.rsplit('/').map(|segment| {
        let segment = without_parameters(segment).trim_start();
        segment.trim_end_matches(|letter: char| letter == '.' || letter.is_whitespace())
    });
    let mut segments = segments.filter(|segment| !segment.is_empty());
    let (last, before, first) = (segments.next(), segments.next(), segments.next());
    match [first, before, last] {
        [_, before, last] if [before, last] == CHAT_SEGMENTS.map(Some) => Some(CHAT),
        [None, Some("v1"), Some("responses")] => Some(RESPONSES),
        [None, Some("v1"), Some("messages")] => Some(MESSAGES),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn routed(path: &str) -> Result<String, PathFault> {
        normalise(path).map(|path| canonical(path).into_owned())
    }

    #[test]
    fn spellings_of_one_path_have_one_form() {
        for spelling in [
            "/v1/chat/completions", "/v1/./chat/completions", "/v1//chat/completions", "//v1/chat/completions",
            "/v1/chat/%63ompletions", "/%76%31/chat/completions", "/v1/chat/completions/", "/v1/chat/completions//",
            "/v1/chat/completions/.", "/v1/%2e/chat/completions", "/chat/completions", "/openai/v1/chat/completions",
            "/openai//v1/./chat/%63ompletions/", "/v1/v1/chat/completions", "/openai/v1/v1/chat/completions",
            "/v1/v1/v1/chat/completions",
        ] {
            assert_eq!(routed(spelling).as_deref(), Ok(CHAT), "{spelling}");
        }
        for (path, normal) in [
            ("/", "/"),
            ("//", "/"),
            ("/.", "/"),
            ("*", "*"),
            ("", ""),
            ("/v1/files/a%20b", "/v1/files/a%20b"),
            ("/v1/files/%c3%a9%3a", "/v1/files/%C3%A9%3A"),
            ("/v1/files/é", "/v1/files/%C3%A9"),
            ("/v1/models/ft:gpt-4o:x::y", "/v1/models/ft:gpt-4o:x::y"),
            ("/v1/models/meta-llama%2fLlama-3", "/v1/models/meta-llama%2FLlama-3"),
            ("/v1/./models/a%2Fb%2Fc%3a", "/v1/models/a%2Fb%2Fc%3A"),
            ("/v1/files/.hidden", "/v1/files/.hidden"),
            ("/v1/files/...", "/v1/files/..."),
            ("/v1/files/100%25", "/v1/files/100%25"),
        ] {
            assert_eq!(normalise(path).as_deref(), Ok(normal), "{path}");
        }
    }

    #[test]
    fn what_leads_elsewhere_is_refused() {
        use PathFault::{Control, DoubleEscape, Encoding, Escape, Parent, Separator};
        for (path, fault) in [
            ("/v1/x/../chat/completions", Parent),
            ("/v1/models/a%2F..%2F..%2Fchat%2Fcompletions", Parent),
            ("/v1/models/a%2F%2e%2e%2fb", Parent),
            ("/v1/models/a%2F%2Fb", Separator),
            ("/v1/models/a%2F.%2Fb", Separator),
            ("/v1/models/a%252Fb", DoubleEscape),
            ("/v1/models/a%5Cb", Separator),
            ("/v1/files/a%2Fb", Separator),
            ("/v1/%2e%2e/admin", Parent),
            ("/v1/.%2E/admin", Parent),
            ("/v1/..;/admin", Parent),
            ("/v1/..;a=b/admin", Parent),
            ("/v1/.;a=b/admin", Parent),
            ("/v1/..%20/admin", Parent),
            ("/v1/%E2%80%A5/admin", Parent),
            ("/v1/．．/admin", Parent),
            ("/v1/..%2fadmin/keys", Separator),
            ("/v1/chat%2Fcompletions", Separator),
            ("/v1/chat%5ccompletions", Separator),
            ("/v1/chat\\completions", Separator),
            ("/v1/chat%EF%BC%8Fcompletions", Separator),
            ("/v1/chat/completions%00", Control),
            ("/v1/chat/completions%0d%0aX:1", Control),
            ("/v1/chat/completions%C2%85", Control),
            ("/v1/chat/completions%7f", Control),
            ("/v1/chat/%", Escape),
            ("/v1/chat/%6", Escape),
            ("/v1/chat/%zz", Escape),
            ("/v1/chat/%u0063ompletions", Escape),
            ("/v1/chat%252fcompletions", DoubleEscape),
            ("/v1/chat/%2563ompletions", DoubleEscape),
            ("/v1/%25%32%65%25%32%65/admin", DoubleEscape),
            ("/v1/%c0%ae%c0%ae/admin", Encoding),
            ("/v1/%ff", Encoding),
        ] {
            assert_eq!(normalise(path), Err(fault), "{path}");
        }
    }

    #[test]
    fn disguises_of_chat_completions_are_known() {
        for path in [
            "/v1/Chat/Completions", "/v1/chat/completions.", "/v1/chat/completions%20", "/v1/chat/completions;x=1",
            "/v1/chat;x/completions", "/v1/chat/completions%3Fa", "/v1/chat/completions%23a",
            "/v1/%EF%BD%83hat/completions", "/v1/v1/chat/completions", "/v1/engines/gpt/chat/completions",
        ] {
            assert!(disguised_turn(path).is_some(), "{path}");
        }
        for path in [CHAT, "/v1/chat/completions/chatcmpl-1", "/v1/completions", "/v1/chat", "/v1/embeddings", "/"] {
            assert!(disguised_turn(path).is_none(), "{path}");
        }
    }

    /// Writes a letter of a path in one of its spellings.
    fn spelled(letter: char, how: u8) -> String {
        let byte = u32::from(letter);
        match how % 8 {
            1 => format!("%{byte:02x}"),
            2 => format!("%{byte:02X}"),
            3 => format!("%25{byte:02x}"),
            4 => letter.to_uppercase().collect(),
            // The full-width form.
            5 if letter.is_ascii_graphic() => char::from_u32(byte + 0xfee0).map(String::from).unwrap_or_default(),
            _ => letter.to_string(),
        }
    }

    const NOISE: [&str; 20] = [
        "/", "//", "/./", "/.", "/../", "/x/../", "/%2e/", "/%2e%2e/", "/..;/", ";a=b", "%20", ".", "%00", "%2f",
        "%5c", "\\", "%3f", "%23", "%09", "/v1/",
    ];

    proptest! {
        /// Models the most lenient server: every path that such a server takes for chat completions is routed to the
        /// guard or refused.
        #[test]
        fn no_spelling_of_a_guarded_path_is_passed_through(
            base in prop::sample::select(vec![CHAT, "/chat/completions", "/openai/v1/chat/completions"]),
            how in prop::collection::vec(prop_oneof![6 => Just(0_u8), 1 => any::<u8>()], 40),
            noise in prop::collection::vec((0_usize..40, prop::sample::select(NOISE.to_vec())), 0..3),
        ) {
            let mut spelling = String::new();
            for (place, letter) in base.chars().enumerate() {
                noise.iter().filter(|(at, _)| *at == place).for_each(|(_, noise)| spelling.push_str(noise));
                spelling.push_str(&spelled(letter, how[place]));
            }
            noise.iter().filter(|(at, _)| *at >= base.len()).for_each(|(_, noise)| spelling.push_str(noise));
            if let Ok(path) = routed(&spelling) {
                let is_passed = path.starts_with("/v1/") && path != CHAT && disguised_turn(&path).is_none();
                prop_assert!(!is_passed || lenient(&path) != CHAT, "{} is passed through as {}", spelling, path);
                prop_assert_eq!(routed(&path), Ok(path.clone()), "the form is its own");
            }
        }

        #[test]
        fn any_text_has_a_form_or_a_fault(path in "/[ -~é．%/.]{0,40}") {
            if let Ok(normal) = normalise(&path) {
                prop_assert!(!normal.contains("//") && !normal.split('/').any(|segment| matches!(segment, "." | "..")));
                prop_assert!(normal.is_ascii());
            }
        }
    }

    /// Returns the path that a lenient server would route: it decodes repeatedly, folds case and width, drops
    /// parameters and resolves dots.
    fn lenient(path: &str) -> String {
        let mut text = path.to_owned();
        for _ in 0..4 {
            text = percent_decode_str(&text)
                .decode_utf8_lossy()
                .nfkc()
                .collect::<String>()
                .to_lowercase()
                .replace('\\', "/");
        }
        let text = text.split(['?', '#', '\0']).next().unwrap_or_default().to_owned();
        let mut segments: Vec<&str> = Vec::new();
        for segment in text.split('/') {
            match segment.split(';').next().unwrap_or_default().trim() {
                "" | "." => {}
                ".." => drop(segments.pop()),
                segment => segments.push(segment.trim_end_matches('.')),
            }
        }
        format!("/{}", segments.join("/"))
    }
}
