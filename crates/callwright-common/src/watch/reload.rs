//! Hot reload: a folder of files is watched, and what they say now takes the place of what they said.

use std::sync::Arc;

use arc_swap::ArcSwap;

use super::folder::{Folder, FolderDigest, FolderError, FolderFile, digest};
use super::{Trigger, WatchError, Watcher, watch};

/// Watches a folder and reads it into `current`, in a thread of this name, as `trigger` says, and only if the
/// files' contents are others than those of the digest `seen`, or of the last reload, good or bad. `make` makes of files, and of what is in force, what is
/// in force from then on; where it fails, or the files cannot be read, `current` stays as it is. `on_result` is told of every reload.
///
/// # Errors
/// [`WatchError`], where the system cannot watch the directory.
pub fn reload<T: Send + Sync + 'static, E: From<FolderError> + 'static>(
    folder: Folder,
    seen: FolderDigest,
    trigger: impl Into<Trigger>,
    name: &str,
    current: Arc<ArcSwap<T>>,
    make: impl Fn(Vec<FolderFile>, &T) -> Result<T, E> + Send + 'static,
    on_result: impl Fn(Result<(), &E>) + Send + 'static,
) -> Result<Watcher, WatchError> {
    let mut seen = Some(seen);
    let place = folder.path.clone();
    let on_change = move || {
        let made = match folder.read() {
            Ok(files) => {
                let digest = Some(digest(&files));
                if seen == digest {
                    return;
                }
                seen = digest;
                make(files, &current.load())
            }
            Err(error) => {
                seen = None;
                Err(error.into())
            }
        };
        match made {
            Ok(made) => {
                current.store(Arc::new(made));
                on_result(Ok(()));
            }
            Err(error) => on_result(Err(&error)),
        }
    };
    watch(&place, trigger, name, on_change)
}
