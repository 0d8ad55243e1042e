//! HTML: tokens, character references, and the elements whose meaning the readers of pages and of descriptions share.
//!
//! No tree is built: tags may be missing, misnested or unknown (WHATWG HTML, section 13.2.5).

use std::borrow::Cow;
use std::collections::BTreeMap;

use html5gum::{DefaultEmitter, Tokenizer};

/// Number of leading bytes in which the mark of an HTML page is searched.
const MAX_MARK_BYTES: usize = 512;

/// Maximum length of a character reference between `&` and `;`, in bytes: `CounterClockwiseContourIntegral`.
const MAX_REFERENCE_BYTES: usize = 32;

/// A token of HTML, without comments and document types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HtmlToken {
    Start(HtmlTag),
    /// The name in an end tag, in lower case.
    End(String),
    /// Text with decoded character references.
    Text(String),
}

/// A start tag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HtmlTag {
    /// Name in lower case.
    pub name: String,
    attributes: BTreeMap<String, String>,
}

impl HtmlTag {
    /// Returns the value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).map(String::as_str)
    }

    /// Whether the element is marked as hidden.
    pub fn is_hidden(&self) -> bool {
        let value = |name| self.attribute(name).map(str::to_ascii_lowercase);
        let style: String = value("style").unwrap_or_default().split_whitespace().collect();
        value("hidden").is_some_and(|hidden| hidden != "until-found")
            || value("aria-hidden").is_some_and(|hidden| hidden == "true")
            || style.contains("display:none")
            || style.contains("visibility:hidden")
    }
}

/// Returns the tokens of a text. The contents of scripts and styles are text.
pub fn tokens(text: &str) -> impl Iterator<Item = HtmlToken> {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    Tokenizer::new_with_emitter(text, emitter).flatten().filter_map(|token| match token {
        html5gum::Token::StartTag(tag) => {
            let attributes = tag.attributes.iter().map(|(name, value)| (lossy(name), lossy(value))).collect();
            Some(HtmlToken::Start(HtmlTag { name: lossy(&tag.name), attributes }))
        }
        html5gum::Token::EndTag(tag) => Some(HtmlToken::End(lossy(&tag.name))),
        html5gum::Token::String(text) => Some(HtmlToken::Text(lossy(&text))),
        _ => None,
    })
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Decodes the character reference at the beginning of `text`, which must end with `;`. Returns the characters and the
/// text after it. References to control characters are not decoded.
pub fn reference(text: &str) -> Option<(String, &str)> {
    let inner = text.strip_prefix('&')?;
    let letters = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'#';
    let length = inner.bytes().take(MAX_REFERENCE_BYTES).take_while(letters).count();
    let rest = inner.get(length..)?.strip_prefix(';')?;
    let whole = text.get(..length + 2)?;
    let decoded: String = Tokenizer::new(whole)
        .flatten()
        .filter_map(|token| match token {
            html5gum::Token::String(text) => Some(lossy(&text)),
            _ => None,
        })
        .collect();
    let is_decoded = decoded == ";" || !decoded.ends_with(';');
    let is_text = !decoded.is_empty() && !decoded.contains(|letter: char| letter.is_control() || letter == '\u{FFFD}');
    (is_decoded && is_text).then_some((decoded, rest))
}

/// Returns `text` with decoded character references.
pub fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, _)) = rest.split_once('&') {
        out.push_str(before);
        rest = rest.get(before.len()..).unwrap_or_default();
        match reference(rest) {
            Some((decoded, after)) => {
                out.push_str(&decoded);
                rest = after;
            }
            None => {
                out.push('&');
                rest = rest.get(1..).unwrap_or_default();
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Whether a text begins like an HTML document.
pub fn is_page(text: &[u8]) -> bool {
    let start = String::from_utf8_lossy(text.get(..MAX_MARK_BYTES).unwrap_or(text)).to_ascii_lowercase();
    start.starts_with("<!doctype html") || start.contains("<html")
}

/// Returns the text of the first `title`, or else of the first `h1`.
pub fn title(text: &str) -> Option<String> {
    ["title", "h1"].iter().find_map(|name| {
        let (mut title, mut inside) = (String::new(), false);
        for token in tokens(text) {
            match token {
                HtmlToken::Start(tag) if tag.name == *name => inside = true,
                HtmlToken::Start(tag) if inside && is_block(&tag.name) => break,
                HtmlToken::End(ended) if inside && ended == *name => break,
                HtmlToken::Text(text) if inside => title.push_str(&text),
                _ => {}
            }
        }
        let title = title.trim();
        (!title.is_empty()).then(|| title.to_owned())
    })
}

/// Returns the level of `h1` to `h6`.
pub fn heading(name: &str) -> Option<usize> {
    match name.as_bytes() {
        [b'h', level @ b'1'..=b'6'] => Some(usize::from(level - b'0')),
        _ => None,
    }
}

/// Elements that start and end a paragraph (section 15.3), besides headings.
const BLOCKS: &str = "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset \
    figcaption figure footer form header hgroup hr html legend li main menu ol p pre search section summary table \
    tbody td tfoot th thead tr ul";

/// Elements without content (section 13.1.2).
const VOID: &str = "area base br col embed hr img input link meta source track wbr";

/// Whether an element starts and ends a paragraph.
pub fn is_block(name: &str) -> bool {
    BLOCKS.split(' ').any(|block| block == name) || heading(name).is_some()
}

/// Whether an element has no content.
pub fn is_void(name: &str) -> bool {
    VOID.split(' ').any(|void| void == name)
}

/// Whether the start of `next` implies the end of `open` (omitted end tag, section 13.1.2.4).
pub fn ends_before(open: &str, next: &str) -> bool {
    match open {
        "p" => is_block(next),
        "li" => next == "li",
        "dt" | "dd" => matches!(next, "dt" | "dd"),
        "thead" | "tbody" => matches!(next, "tbody" | "tfoot"),
        "tr" => matches!(next, "tr" | "tbody" | "tfoot"),
        "td" | "th" => matches!(next, "td" | "th" | "tr" | "tbody" | "tfoot"),
        "option" => matches!(next, "option" | "optgroup"),
        _ => false,
    }
}

/// Whether the end of `parent` implies the end of `open` (omitted end tag).
pub fn ends_with(open: &str, parent: &str) -> bool {
    match open {
        "p" => is_block(parent),
        "li" => matches!(parent, "ul" | "ol" | "menu"),
        "dt" | "dd" => parent == "dl",
        "thead" | "tbody" => parent == "table",
        "tr" => matches!(parent, "thead" | "tbody" | "tfoot" | "table"),
        "td" | "th" => matches!(parent, "tr" | "thead" | "tbody" | "tfoot" | "table"),
        "option" => matches!(parent, "optgroup" | "select" | "datalist"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_classified_by_name() {
        assert!(["p", "tr", "ul", "h3"].into_iter().all(is_block));
        assert!(!["br", "span", "id", "", "dd details"].into_iter().any(is_block));
        assert!(is_void("br") && is_void("wbr") && !is_void("p"));
    }

    #[test]
    fn references_are_decoded_whole() {
        let cases = [
            ("a &lt; b &amp;&amp; c", "a < b && c"),
            ("&rarr;&#46;&#x41;&NotEqualTilde;", "→.A≂̸"),
            ("AT&T; &unknown; &notit; &copy 1", "AT&T; &unknown; &notit; &copy 1"),
            ("&#0;&#7;&#xD800;&", "&#0;&#7;&#xD800;&"),
            ("&semi;", ";"),
        ];
        for (text, decoded) in cases {
            assert_eq!(unescaped(text), decoded, "{text}");
        }
    }

    #[test]
    fn titles_are_read_before_headings() {
        let page = "<!doctype html><title>Not <b> Found</title><body><h1>Other</h1>";
        assert!(is_page(page.as_bytes()));
        assert_eq!(title(page).unwrap(), "Not <b> Found");
        assert_eq!(title("<html><title></title><h1 class=x>Bad <i>gateway</i></h1><p>x").unwrap(), "Bad gateway");
        assert_eq!(title("<html><h1>Error<p>more"), Some("Error".to_owned()));
        assert_eq!(title("<html><p>x"), None);
        assert!(!is_page(b"<p>x</p>"));
    }

    #[test]
    fn hidden_elements_are_recognised() {
        let hidden = |html: &str| matches!(tokens(html).next(), Some(HtmlToken::Start(tag)) if tag.is_hidden());
        for html in ["<p hidden>", "<p style='display: none'>", "<p ARIA-HIDDEN=TRUE>", "<p style=visibility:hidden>"] {
            assert!(hidden(html), "{html}");
        }
        assert!(!hidden("<p hidden=until-found>") && !hidden("<p style='color: red'>"));
    }
}
