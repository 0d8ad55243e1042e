//! The command line: hands the arguments over to the library.

use std::process::ExitCode;

/// A turn allocates and frees many small buffers, often on different threads. The system's allocator spends a fifth of the
/// proxy's time on that under load.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    callwright::cli::run(std::env::args_os())
}
