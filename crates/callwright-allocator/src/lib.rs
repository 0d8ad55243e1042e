//! Allocator of the programs: mimalloc, and the return of free memory to the system.
//!
//! Owns the only `unsafe` code of the workspace: one call of a C function without arguments that point anywhere. Must not
//! get further `unsafe` code.

/// The allocator, for `#[global_allocator]`. Every request allocates and frees many small JSON values: the system
/// allocator takes a tenth of a turn's time.
pub use mimalloc::MiMalloc as Allocator;

/// Returns the free memory of the current thread to the system.
///
/// mimalloc returns a thread's free pages when that thread frees further ones, so a thread that has become idle after a
/// peak keeps what it freed last. The call takes milliseconds where much memory is free, and pages that are needed again
/// must be taken from the system again: it is meant for the time after a peak.
pub fn return_free_memory() {
    // The first pass ends after it has freed pages that only contain free blocks; the second one returns them.
    for _ in 0..2 {
        // SAFETY: the function may be called at any time by any thread; it frees nothing that is in use, and neither takes
        // nor returns a pointer (mimalloc.h, `mi_collect`). `force` also returns pages whose delay has not passed.
        #[allow(unsafe_code)]
        unsafe {
            libmimalloc_sys::mi_collect(true);
        }
    }
}
