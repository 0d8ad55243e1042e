//! Secrets in files, as orchestrators mount them.

use std::fs::{self, File};
use std::io::Read;

use tokio::time::{Instant, timeout_at};

use super::unavailable::Unavailable;
use callwright_openapi::SecretSource;
use callwright_types::Secret;

/// Maximum size of a secret in bytes. Tokens with many claims have a few thousand bytes; servers commonly reject
/// larger header fields.
const MAX_BYTES: u64 = 16 * 1024;

/// Returns the secret of the scheme `name`, from its file if it is stored in one.
pub(super) async fn secret_of(source: &SecretSource, name: &str, deadline: Instant) -> Result<Secret, Unavailable> {
    match source {
        SecretSource::Given(secret) => Ok(secret.clone()),
        SecretSource::File { file } => read_secret(file, deadline).await.map_err(|why| {
            Unavailable::lasting(format!("the credential of `{name}` cannot be read from `{file}`: {why}"))
        }),
    }
}

/// Reads a secret without the white space around it, such as an editor's trailing line break. The file is read for
/// every use, so a replaced file takes effect with the next call.
///
/// # Errors
/// The reason why no secret can be read; never the contents of the file.
async fn read_secret(path: &str, deadline: Instant) -> Result<Secret, String> {
    let path = path.to_owned();
    match timeout_at(deadline, tokio::task::spawn_blocking(move || read_now(&path))).await {
        Ok(Ok(read)) => read,
        Ok(Err(_)) => Err("reading it was aborted".to_owned()),
        Err(_) => Err("it could not be read in time".to_owned()),
    }
}

/// Reads a secret as [`read_secret`] does, synchronously.
pub(super) fn read_now(path: &str) -> Result<Secret, String> {
    // Reading a pipe or a device would never end.
    if !fs::metadata(path).map_err(|error| error.to_string())?.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("it is larger than {MAX_BYTES} bytes, the maximum for a secret"));
    }
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
    match text.trim() {
        "" => Err("it is empty".to_owned()),
        secret => Ok(Secret::new(secret)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(contents: &[u8]) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        fs::write(&path, contents).unwrap();
        read_now(path.to_str().unwrap()).map(|secret| secret.expose().to_owned())
    }

    #[test]
    fn white_space_around_a_secret_is_no_part_of_it() {
        assert_eq!(reading(b"\n s3cret with space \r\n").unwrap(), "s3cret with space");
    }

    #[test]
    fn an_invalid_secret_file_is_reported_without_its_contents() {
        assert!(reading(b" \n").unwrap_err().contains("empty"));
        assert!(reading(b"canary\xff").unwrap_err().contains("UTF-8"));
        let large = reading(&b"canary ".repeat(4_000)).unwrap_err();
        assert!(large.contains("16384") && !large.contains("canary"), "{large}");
        let folder = tempfile::tempdir().unwrap();
        assert!(read_now(folder.path().to_str().unwrap()).unwrap_err().contains("not a regular file"));
        assert!(read_now(folder.path().join("none").to_str().unwrap()).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_device_without_end_is_not_read() {
        assert!(read_now("/dev/zero").unwrap_err().contains("not a regular file"));
    }
}
