//! Serialisation of text as a server-sent event.

use bytes::{BufMut, Bytes, BytesMut};

/// Writes `data` as one event: a `data:` line for each of its lines, and a blank line (WHATWG HTML, section 9.2.6).
pub fn event(data: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(data.len() + 16);
    for line in data.split(|byte| *byte == b'\n') {
        out.put_slice(b"data: ");
        out.put_slice(line.strip_suffix(b"\r").unwrap_or(line));
        out.put_u8(b'\n');
    }
    out.put_u8(b'\n');
    out.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_the_data_is_a_line_of_the_event() {
        assert_eq!(event(b"{\"a\":\r\n1}").as_ref(), b"data: {\"a\":\ndata: 1}\n\n");
    }
}
