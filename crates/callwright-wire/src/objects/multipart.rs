//! Objects that a form names (`multipart/form-data`, RFC 7578).

use memchr::memmem;

use super::references::form_reference;
use super::{ObjectReference, UncheckedBody};

/// Returns the objects that the members of a form name. Files are not searched.
///
/// # Errors
/// [`UncheckedBody::Malformed`] for a form whose parts cannot be found.
pub fn form_references(content_type: &str, body: &[u8]) -> Result<Vec<ObjectReference>, UncheckedBody> {
    let boundary = parameter(content_type, "boundary").filter(|boundary| !boundary.is_empty());
    let delimiter = format!("--{}", boundary.ok_or(UncheckedBody::Malformed)?);
    // A delimiter is at the beginning of a line (RFC 2046, section 5.1.1).
    let mut starts = memmem::find_iter(body, delimiter.as_bytes())
        .filter(|start| *start == 0 || body.get(start - 1) == Some(&b'\n'))
        .peekable();
    if starts.peek().is_none() {
        return Err(UncheckedBody::Malformed);
    }
    let mut references = Vec::new();
    while let Some(start) = starts.next() {
        let end = starts.peek().copied().unwrap_or(body.len());
        let part = body.get(start + delimiter.len()..end).unwrap_or_default();
        if part.starts_with(b"--") {
            // A server that reads on would find members that were not searched.
            if starts.peek().is_some() {
                return Err(UncheckedBody::Malformed);
            }
            break;
        }
        let (header, value) = divided(part).ok_or(UncheckedBody::Malformed)?;
        // An encoded name could be read as another one.
        if parameter(header, "name*").is_some() {
            return Err(UncheckedBody::Malformed);
        }
        let Some(name) = parameter(header, "name").filter(|_| parameter(header, "filename").is_none()) else {
            continue;
        };
        let value = std::str::from_utf8(value).unwrap_or_default().trim();
        references.extend(form_reference(&name, value));
    }
    Ok(references)
}

/// Divides a part into its header and its value.
fn divided(part: &[u8]) -> Option<(&str, &[u8])> {
    let (at, length) = [&b"\r\n\r\n"[..], b"\n\n"]
        .into_iter()
        .filter_map(|blank| memmem::find(part, blank).map(|at| (at, blank.len())))
        .min()?;
    Some((std::str::from_utf8(part.get(..at)?).ok()?, part.get(at + length..)?))
}

/// Returns a parameter of a header field.
fn parameter(header: &str, name: &str) -> Option<String> {
    header.split([';', '\n']).find_map(|parameter| {
        let (key, value) = parameter.split_once('=')?;
        key.trim().eq_ignore_ascii_case(name).then(|| value.trim().trim_matches('"').to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &str = "multipart/form-data; boundary=\"x\"";

    fn ids(body: &str) -> Result<Vec<String>, UncheckedBody> {
        let references = form_references(TYPE, body.as_bytes())?;
        Ok(references.into_iter().map(|reference| reference.id).collect())
    }

    #[test]
    fn no_member_hides_behind_a_delimiter_that_is_none() {
        let part = "--x\r\nContent-Disposition: form-data; name=\"file_id\"\r\n\r\nfile-1\r\n";
        let hidden =
            |text: &str| format!("--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n{text}\r\n{part}--x--\r\n");
        assert_eq!(ids(&hidden("text --x-- text")), Ok(vec!["file-1".to_owned()]));
        assert_eq!(ids(&hidden("text\r\n--x--")), Err(UncheckedBody::Malformed));
    }

    #[test]
    fn members_are_searched_and_files_are_not() {
        let body = "--x\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nassistants\r\n\
            --x\r\ncontent-disposition: form-data; name=file_id\r\n\r\nfile-1\r\n\
            --x\r\nContent-Disposition: form-data; name=\"file_ids[]\"\r\n\r\nfile-2\r\n\
            --x\r\nContent-Disposition: form-data; name=\"file_id\"; filename=\"a\"\r\n\r\nfile-3\r\n--x--\r\n";
        assert_eq!(ids(body), Ok(vec!["file-1".to_owned(), "file-2".to_owned()]));
    }

    #[test]
    fn a_form_that_cannot_be_read_is_refused() {
        assert_eq!(form_references("multipart/form-data", b""), Err(UncheckedBody::Malformed));
        let encoded = "--x\r\nContent-Disposition: form-data; name*=utf-8''file%5Fid\r\n\r\nfile-1\r\n--x--\r\n";
        assert_eq!(ids(encoded), Err(UncheckedBody::Malformed));
        assert_eq!(ids("--x\r\nno end of the header"), Err(UncheckedBody::Malformed));
    }
}
