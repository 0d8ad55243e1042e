//! Hot reload of a watched folder of files.

use std::sync::Arc;

use arc_swap::ArcSwap;

use super::folder::{Folder, FolderDigest, FolderError, FolderFile, digest};
use super::{Trigger, WatchError, Watcher, watch};

/// Watches a folder and reloads it into `current`, in a thread with this name, when `trigger` fires. It skips the
/// reload if the files have the digest `seen` or that of the last reload, successful or not. `make` creates the new
/// value from the files and the current value. If it fails, or the files cannot be read, `current` is unchanged.
/// `on_result` is called for every reload.
///
/// # Errors
/// [`WatchError`], if the system cannot watch the directory.
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
