//! Classifies table columns and object members by their names, which are similar across error catalogues.

use callwright_common::text::letters;

/// Role of a labelled value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LabelRole {
    /// Code that the record defines; a smaller number is a more certain match.
    Code(u8),
    /// Short name of the error.
    Message,
    /// Explanation whose label adds no information.
    Description,
    /// Irrelevant to the call: links, log levels, dates.
    Useless,
    /// Any other role; the label is part of the text.
    Other,
}

/// Maximum number of words of a label; a longer text is a sentence.
const MAX_LABEL_WORDS: usize = 5;

/// Returns the role of a label.
pub(crate) fn role(label: &str) -> LabelRole {
    if label.split_whitespace().nth(MAX_LABEL_WORDS).is_some() {
        return LabelRole::Other;
    }
    let folded = letters(label);
    let is = |list: &[&str]| list.contains(&folded.as_str());
    if is(&CODES) || folded.ends_with("errorcode") {
        LabelRole::Code(0)
    } else if is(&USELESS) {
        LabelRole::Useless
    } else if is(&MESSAGES) {
        LabelRole::Message
    } else if is(&DESCRIPTIONS) {
        LabelRole::Description
    } else if folded.ends_with("code") && !is_status(&folded) {
        LabelRole::Code(1)
    } else if is(&NAMES) {
        LabelRole::Code(2)
    } else if is_status(&folded) {
        LabelRole::Code(3)
    } else {
        LabelRole::Other
    }
}

/// Whether the label only states that its value is a code, so that it can be omitted.
pub(crate) fn only_announces_code(label: &str) -> bool {
    let folded = letters(label);
    CODES.contains(&folded.as_str()) || NAMES.contains(&folded.as_str()) || MESSAGES.contains(&folded.as_str())
}

/// Whether a word before a colon is a label and not a name that is being defined.
pub(crate) fn is_label(word: &str) -> bool {
    let folded = letters(word);
    let has_label_role =
        matches!(role(word), LabelRole::Description | LabelRole::Useless) || MESSAGES.contains(&folded.as_str());
    has_label_role || PARTS.contains(&folded.as_str())
}

/// Labels of the code itself (folded).
const CODES: [&str; 12] = [
    "code",
    "codes",
    "errorcode",
    "errcode",
    "errno",
    "errornumber",
    "errorid",
    "closecode",
    "resultcode",
    "responsecode",
    "returncode",
    "number",
];

/// Labels of a name that can serve as the code (folded).
const NAMES: [&str; 19] = [
    "id",
    "key",
    "name",
    "identifier",
    "constant",
    "enum",
    "value",
    "error",
    "errorname",
    "errortype",
    "type",
    "slug",
    "exception",
    "reason",
    "parameter",
    "field",
    "property",
    "argument",
    "header",
];

/// Labels of the error's short name (folded).
const MESSAGES: [&str; 12] = [
    "message",
    "msg",
    "errormessage",
    "errmsg",
    "title",
    "summary",
    "shortdescription",
    "text",
    "errortext",
    "messagetext",
    "errortitle",
    "label",
];

/// Labels of an explanation that add no information (folded).
const DESCRIPTIONS: [&str; 15] = [
    "description",
    "desc",
    "meaning",
    "explanation",
    "detail",
    "details",
    "longdescription",
    "errordescription",
    "definition",
    "overview",
    "what",
    "secondarymessage",
    "information",
    "info",
    "content",
];

/// Labels of values that do not help to fix a call (folded).
const USELESS: [&str; 26] = [
    "docs",
    "doc",
    "docsurl",
    "documentation",
    "documentationurl",
    "moreinfo",
    "moreinformation",
    "url",
    "uri",
    "link",
    "links",
    "href",
    "helpurl",
    "helplink",
    "loglevel",
    "logtype",
    "loglevels",
    "lastupdated",
    "updatedat",
    "createdat",
    "icon",
    "seealso",
    "sidebarlabel",
    "sidebarposition",
    "tableofcontents",
    "onthispage",
];

/// Further labels of an entry's parts (folded).
const PARTS: [&str; 24] = [
    "cause",
    "causes",
    "possiblecauses",
    "possiblecause",
    "solution",
    "solutions",
    "possiblesolutions",
    "possiblesolution",
    "fix",
    "resolution",
    "remedy",
    "action",
    "note",
    "notes",
    "warning",
    "tip",
    "important",
    "caution",
    "example",
    "examples",
    "errors",
    "parameters",
    "response",
    "request",
];

fn is_status(folded: &str) -> bool {
    folded.contains("status") || folded.contains("http")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_roles_however_they_are_written() {
        let cases = [
            ("Code", LabelRole::Code(0)),
            ("error_code", LabelRole::Code(0)),
            ("Vendor Error Code", LabelRole::Code(0)),
            ("info_code", LabelRole::Code(1)),
            ("Name", LabelRole::Code(2)),
            ("HTTP status code", LabelRole::Code(3)),
            ("Error message", LabelRole::Message),
            ("Meaning", LabelRole::Description),
            ("log_level", LabelRole::Useless),
            ("moreInfo", LabelRole::Useless),
            ("Possible causes", LabelRole::Other),
            ("", LabelRole::Other),
        ];
        for (label, expected) in cases {
            assert_eq!(role(label), expected, "{label}");
        }
    }
}
