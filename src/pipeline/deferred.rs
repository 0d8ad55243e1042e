//! Values that a background task computes, so that the proxy listens before they exist.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt, Shared};

/// A value that is computed once. Turns that need it earlier wait for it.
pub struct Deferred<T>(Shared<BoxFuture<'static, Arc<T>>>);

impl<T: Send + Sync + 'static> Deferred<T> {
    /// Creates a value that is computed already.
    pub fn ready(value: T) -> Self {
        let value = Arc::new(value);
        let deferred = Self(std::future::ready(value).boxed().shared());
        // `peek` requires one poll.
        let _ = deferred.0.clone().now_or_never();
        deferred
    }

    /// Computes a value on the blocking threads of the current runtime. Uses `fallback` if `compute` panics, because
    /// what is computed here only helps turns.
    pub fn spawn(
        compute: impl Future<Output = T> + Send + 'static,
        fallback: impl FnOnce() -> T + Send + 'static,
    ) -> Self {
        let runtime = tokio::runtime::Handle::current();
        let computed =
            tokio::task::spawn_blocking(move || runtime.block_on(AssertUnwindSafe(compute).catch_unwind()).ok());
        let value = async move {
            match computed.await.ok().flatten() {
                Some(value) => Arc::new(value),
                None => {
                    tracing::error!("preparing an index of the tools failed; it stays empty until the next reload");
                    Arc::new(fallback())
                }
            }
        };
        let deferred = Self(value.boxed().shared());
        // Drives the value, so that `peek` returns it even if no turn waits.
        tokio::spawn(deferred.0.clone());
        deferred
    }

    /// Returns the value, as soon as it is computed.
    pub async fn get(&self) -> Arc<T> {
        match self.0.peek() {
            Some(value) => Arc::clone(value),
            None => self.0.clone().await,
        }
    }

    /// Returns the value if it is computed already.
    pub fn peek(&self) -> Option<&Arc<T>> {
        self.0.peek()
    }
}

impl<T> Clone for Deferred<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> fmt::Debug for Deferred<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deferred").field("is_ready", &self.0.peek().is_some()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_value_is_computed_once_and_shared() {
        let (send, receive) = tokio::sync::oneshot::channel();
        let deferred = Deferred::spawn(async move { receive.await.unwrap_or(0) }, || 0);
        assert!(deferred.peek().is_none());
        send.send(7).unwrap();
        let (first, second) = tokio::join!(deferred.get(), deferred.get());
        assert!(*first == 7 && Arc::ptr_eq(&first, &second));
        assert_eq!(deferred.peek().map(|value| **value), Some(7));
        assert_eq!(*Deferred::ready(3).peek().unwrap().as_ref(), 3);
    }

    #[tokio::test]
    async fn a_panic_leaves_the_fallback() {
        let deferred: Deferred<u8> = Deferred::spawn(async { panic!("scripted") }, || 9);
        assert_eq!(*deferred.get().await, 9);
    }
}
