//! File arguments: a plain text, or a `data:` URL.

use data_url::DataUrl;
use percent_encoding::percent_decode_str;

use crate::media_type::essence;
use crate::refusal::invalid;
use callwright_types::Refusal;

/// Maximum length in bytes of the head of a `data:` URL: media type, parameters, `;base64`.
const MAX_HEAD_BYTES: usize = 512;

/// Content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileArgument {
    /// Media type; `None` for a text of unknown type.
    pub(super) media_type: Option<String>,
    /// File name in the URL.
    pub(super) name: Option<String>,
    pub(super) bytes: Vec<u8>,
}

/// Decodes a file argument: the content of a `data:` URL (RFC 2397; its parameter `name` or `filename` is the file
/// name), or else the text itself. A text that merely begins with `data:` is not such a URL.
///
/// # Errors
/// Fails if the content of the URL is not valid base64, or is cut by a `#`.
pub(super) fn parse(argument: &str, text: &str) -> Result<FileArgument, Refusal> {
    let Some(head) = head(text) else {
        return Ok(FileArgument { media_type: None, name: None, bytes: text.as_bytes().to_vec() });
    };
    let url =
        DataUrl::process(text).map_err(|_| invalid(format!("the data URL of the argument `{argument}` is invalid")))?;
    let (bytes, fragment) = url
        .decode_to_vec()
        .map_err(|_| invalid(format!("the data URL of the argument `{argument}` is not valid base64")))?;
    if fragment.is_some() {
        let advice = "write `%23`, or use base64";
        return Err(invalid(format!(
            "the data URL of the argument `{argument}` has a `#`, which would end it: {advice}"
        )));
    }
    let mime = url.mime_type();
    let name = ["name", "filename"].iter().find_map(|key| mime.get_parameter(*key));
    let name = name.map(|name| percent_decode_str(name).decode_utf8_lossy().into_owned());
    let parameters: String = mime
        .parameters
        .iter()
        .filter(|(key, _)| !matches!(key.as_str(), "name" | "filename"))
        .map(|(key, value)| format!(";{key}={value}"))
        .collect();
    let has_type = head.split(';').next().is_some_and(|first| first.contains('/'));
    let media_type = has_type.then(|| format!("{}/{}{parameters}", mime.type_, mime.subtype));
    Ok(FileArgument { media_type, name: name.filter(|name| !name.trim().is_empty()), bytes })
}

/// Returns the text between `data:` and the comma if `text` is a `data:` URL: media type, parameters, `base64`, and
/// nothing else.
fn head(text: &str) -> Option<&str> {
    let (scheme, behind) = text.split_at_checked("data:".len())?;
    if !scheme.eq_ignore_ascii_case("data:") {
        return None;
    }
    let (head, _) = behind.split_once(',')?;
    let mut parts = head.split(';');
    let first = parts.next().unwrap_or_default();
    let is_media_type = first.split('/').count() == 2 && first.split('/').all(is_token);
    let has_parameters = parts.all(|part| part.eq_ignore_ascii_case("base64") || part.contains('='));
    let is_head = (first.is_empty() || is_media_type) && has_parameters && head.len() <= MAX_HEAD_BYTES;
    is_head.then_some(head)
}

fn is_token(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',')
}

/// Returns a name for a file that has none: the name of its member with the file extension of its media type, because
/// many servers only check the extension.
pub(super) fn name_for(member: &str, media_type: Option<&str>) -> String {
    let Some(ending) = media_type.and_then(ending) else { return member.to_owned() };
    format!("{member}.{ending}")
}

fn ending(media_type: &str) -> Option<String> {
    let essence = essence(media_type);
    let (_, subtype) = essence.split_once('/')?;
    let word = subtype.split('+').next().unwrap_or_default();
    let ending = match word {
        "plain" => "txt",
        "jpeg" => "jpg",
        "markdown" => "md",
        "javascript" => "js",
        other => other,
    };
    let is_ending = (2..=4).contains(&ending.len()) && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_ending.then(|| ending.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> (Option<String>, Option<String>, Vec<u8>) {
        let FileArgument { media_type, name, bytes } = parse("file", text).unwrap();
        (media_type, name, bytes)
    }

    #[test]
    fn data_urls_give_type_name_and_bytes() {
        let some = |text: &str| Some(text.to_owned());
        let cases = [
            ("data:image/png;base64,iVBORw==", some("image/png"), None, b"\x89PNG".to_vec()),
            ("DATA:image/png;name=cat%20photo.png;base64,AA==", some("image/png"), some("cat photo.png"), vec![0]),
            (
                "data:text/csv;charset=utf-8;filename=a.csv,a%2Cb%0A1,2",
                some("text/csv;charset=utf-8"),
                some("a.csv"),
                b"a,b\n1,2".to_vec(),
            ),
            ("data:,plain", None, None, b"plain".to_vec()),
            ("data:;base64,AP8=", None, None, vec![0, 255]),
        ];
        for (text, media_type, name, bytes) in cases {
            assert_eq!(file(text), (media_type, name, bytes), "{text}");
        }
    }

    #[test]
    fn any_other_text_is_the_content() {
        for text in [
            "", "hello", "data", "data:", "data: 1, 2", "data:a b/c,d", "data: x=1,y", "date:,x", "data:text,x",
            "dätä:,x",
        ] {
            assert_eq!(file(text), (None, None, text.as_bytes().to_vec()), "{text}");
        }
    }

    #[test]
    fn values_that_would_be_lost_are_refused() {
        for text in ["data:image/png;base64,%%%", "data:image/png;base64,A", "data:text/plain,a#b"] {
            assert!(parse("file", text).unwrap_err().message.contains("`file`"), "{text}");
        }
    }

    #[test]
    fn files_without_a_name_are_named_after_their_member_and_type() {
        let cases = [
            (Some("image/jpeg"), "photo.jpg"),
            (Some("text/plain; charset=utf-8"), "photo.txt"),
            (Some("image/svg+xml"), "photo.svg"),
            (Some("application/octet-stream"), "photo"),
            (None, "photo"),
        ];
        for (media_type, name) in cases {
            assert_eq!(name_for("photo", media_type), name);
        }
    }
}
