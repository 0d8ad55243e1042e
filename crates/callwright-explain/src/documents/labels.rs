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
    /// Another part of an entry; the label is part of the text.
    Part,
    /// Any other role; the label is part of the text.
    Other,
}

/// Maximum number of words of a label; a longer text is a sentence.
pub(crate) const MAX_LABEL_WORDS: usize = 5;

/// Returns the role of a label.
pub(crate) fn role(label: &str) -> LabelRole {
    if label.split_whitespace().nth(MAX_LABEL_WORDS).is_some() {
        return LabelRole::Other;
    }
    let folded = letters(label);
    let is_status = folded.contains("status") || folded.contains("http");
    match folded.as_str() {
        "code" | "codes" | "errcode" | "errno" | "errornumber" | "errorid" | "closecode" | "resultcode"
        | "responsecode" | "returncode" | "number" => LabelRole::Code(0),
        code if code.ends_with("errorcode") => LabelRole::Code(0),
        "docs" | "doc" | "docsurl" | "documentation" | "documentationurl" | "moreinfo" | "moreinformation" | "url"
        | "uri" | "link" | "links" | "href" | "helpurl" | "helplink" | "loglevel" | "logtype" | "loglevels"
        | "lastupdated" | "updatedat" | "createdat" | "icon" | "seealso" | "sidebarlabel" | "sidebarposition"
        | "tableofcontents" | "onthispage" => LabelRole::Useless,
        "message" | "msg" | "errormessage" | "errmsg" | "title" | "summary" | "shortdescription" | "text"
        | "errortext" | "messagetext" | "errortitle" | "label" => LabelRole::Message,
        "description" | "desc" | "meaning" | "explanation" | "detail" | "details" | "longdescription"
        | "errordescription" | "definition" | "overview" | "what" | "secondarymessage" | "information" | "info"
        | "content" => LabelRole::Description,
        "cause" | "causes" | "possiblecauses" | "possiblecause" | "solution" | "solutions" | "possiblesolutions"
        | "possiblesolution" | "fix" | "resolution" | "remedy" | "action" | "note" | "notes" | "warning" | "tip"
        | "important" | "caution" | "example" | "examples" | "errors" | "parameters" | "response" | "request" => {
            LabelRole::Part
        }
        code if code.ends_with("code") && !is_status => LabelRole::Code(1),
        // A name that can serve as the code.
        "id" | "key" | "name" | "identifier" | "constant" | "enum" | "value" | "error" | "errorname" | "errortype"
        | "type" | "slug" | "exception" | "reason" | "parameter" | "field" | "property" | "argument" | "header" => {
            LabelRole::Code(2)
        }
        _ if is_status => LabelRole::Code(3),
        _ => LabelRole::Other,
    }
}

/// Whether the label only states that its value is a code, so that it can be omitted. `vendor_error_code` states more.
pub(crate) fn only_announces_code(label: &str) -> bool {
    let folded = letters(label);
    matches!(role(label), LabelRole::Code(0 | 2) | LabelRole::Message)
        && (folded == "errorcode" || !folded.ends_with("errorcode"))
}

/// Whether a word before a colon is a label and not a name that is being defined.
pub(crate) fn is_label(word: &str) -> bool {
    matches!(role(word), LabelRole::Description | LabelRole::Useless | LabelRole::Message | LabelRole::Part)
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
            ("Possible causes", LabelRole::Part),
            ("", LabelRole::Other),
        ];
        for (label, expected) in cases {
            assert_eq!(role(label), expected, "{label}");
        }
    }
}
