//! Causes of errors.

use std::error::Error;

/// Returns the text of the innermost cause; `None` if the error has no cause. The errors around it often repeat data
/// that must not be shown, such as a URL with a key.
pub fn root_cause(error: &dyn Error) -> Option<String> {
    let mut cause = error.source()?;
    while let Some(source) = cause.source() {
        cause = source;
    }
    Some(cause.to_string())
}

/// Returns the innermost cause of an error of an HTTP client, whose outer errors repeat the URL.
pub fn request_failure(error: &dyn Error) -> String {
    root_cause(error).unwrap_or_else(|| "the request failed".to_owned())
}

#[cfg(test)]
mod tests {
    use std::num::ParseIntError;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("inner")]
    struct Inner(#[source] ParseIntError);

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] Inner);

    #[test]
    fn the_innermost_cause_is_found() {
        let cause = "x".parse::<u8>().unwrap_err();
        assert_eq!((root_cause(&cause), request_failure(&cause).as_str()), (None, "the request failed"));
        assert_eq!(root_cause(&Outer(Inner(cause.clone()))), Some(cause.to_string()));
    }
}
