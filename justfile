# Recipes for development (https://just.systems). `just` lists them. No recipe is required: CONTRIBUTING.md has the
# commands, and `.ci/run` is the check before a merge.

# List the recipes.
default:
    @{{ just_executable() }} --list

# Format all Rust sources.
fmt:
    cargo fmt --all

# Check formatting, clippy and rustdoc with the commands of `.ci/run`.
lint:
    cargo fmt --all --check
    cargo clippy --locked --all-targets -- -D warnings
    RUSTDOCFLAGS=-Dwarnings cargo doc --locked --no-deps --document-private-items

# Run the tests. Arguments select some: `just test --test it keys::`.
test *arguments:
    cargo test --locked {{ arguments }}

# Run the tests that kill the proxy, with the numbers of kills of the published figures.
test-slow:
    CALLWRIGHT_KILLS=200 cargo test --locked --test slow killed_processes:: -- --nocapture
    CALLWRIGHT_KILLS=100 cargo test --locked --test slow killed_traces:: -- --nocapture

# Fuzz one target (document, request, sse, rescue, scan). Requires nightly Rust and cargo-fuzz.
fuzz target seconds="600":
    fuzz/seeds.py
    cargo +nightly fuzz run {{ target }} -- -dict=fuzz/dictionaries/{{ target }}.dict -max_len=16384 -timeout=10 -max_total_time={{ seconds }}

# Measure judging without a network. `just bench --quick` gives a first impression.
bench *arguments:
    cargo bench --locked -p callwright-judge --bench judge -- {{ arguments }}
    cargo bench --locked -p callwright-judge --bench rescue -- {{ arguments }}

# Measure the proxy beside nginx, a bare proxy and other gateways. `just compare --quick` shows whether it works.
compare *arguments:
    bench/run {{ arguments }}

# Run the demo: no key, no network, no file. Arguments are those of `callwright demo`.
demo *arguments:
    cargo run --locked -- demo {{ arguments }}

# Draw the picture of the README from the output of the demo.
picture:
    cargo build --locked --bin callwright
    docs/images/demo.py target/debug/callwright

# Check the documentation and build the book into target/book/html. Requires mdBook.
book:
    docs/book.py build

# Build the packages and try each one: versions, chart, wheel, npm, deb.
package *arguments:
    packaging/test {{ arguments }}

# Run all checks that a change must pass before it is merged.
ci:
    .ci/run

# Build the API documentation of all crates, including private items, into target/doc.
docs:
    cargo doc --locked --no-deps --document-private-items
