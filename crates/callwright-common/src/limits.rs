//! Bounds of texts, lists, buffers and caches that several parts of the proxy share.
//!
//! Such a bound only has to be far above real values and small enough for memory, a message or a prompt, so that one
//! value per kind suffices. A bound with a reason of its own, such as a measured one or one of a protocol, is declared
//! where it is used.

/// Maximum length of a name, in characters or bytes, that all providers of models accept of functions and arguments
/// (Anthropic's API requires `[a-zA-Z0-9_.-]{1,64}`). It also suits header values, metric labels and table columns.
pub const PROVIDER_NAME_LENGTH: usize = 64;

/// Maximum length of a name, in characters or bytes, that is stored, compared or learned. It is above the limits of
/// providers and above the length of real names, and bounds the quadratic time of a comparison.
pub const NAME_LENGTH: usize = 128;

/// Maximum number of characters of a name or a value that a message or a description repeats.
pub const WORD_CHARS: usize = 100;

/// Maximum number of characters of a short text: a quotation within a line of a message, a short description, or a
/// text that a client chooses, such as the name of a session.
pub const LINE_CHARS: usize = 200;

/// Maximum number of characters of an excerpt of an answer, a thought or a reason in a message or a record.
pub const EXCERPT_CHARS: usize = 300;

/// Maximum length of a value, in characters or bytes, that a model has to repeat exactly, such as a cursor. A longer
/// value is payload data.
pub const VALUE_LENGTH: usize = 1_000;

/// Maximum length of a long text, in characters or bytes, of which the beginning is read, stored or shown. Longer ones
/// are mostly pasted texts or data.
pub const TEXT_LENGTH: usize = 4_000;

/// Maximum number of characters of a question or an answer in a prompt.
pub const PROMPT_TEXT_CHARS: usize = 8_000;

/// Maximum number of entries that a message lists.
pub const LISTED: usize = 10;

/// Maximum number of rows of an overview for people.
pub const LISTED_ROWS: usize = 20;

/// Maximum number of names, hosts or reasons of one kind that are remembered or counted separately. Clients, models
/// and servers may invent any number of them.
pub const REMEMBERED: usize = 1_000;

/// Maximum number of attempts at a change that conflicts with concurrent changes, and at a transmission that fails.
pub const ATTEMPTS: u32 = 3;

/// Minimum length of a text, in characters or bytes, whose repetition is unlikely to be a coincidence: a word, a
/// version, or a run of digits.
pub const MIN_SIGNIFICANT_LENGTH: usize = 3;

/// Minimum length of a secret in bytes that is searched for in foreign texts; shorter texts occur by chance.
pub const MIN_SECRET_BYTES: usize = 8;

/// Size in bytes of a buffer of a connection, a stream or a log. Many of them may be full at the same time.
pub const BUFFER_BYTES: usize = 64 * 1024;

/// Maximum number of bytes of a usually short text that are read, kept or searched: the response of a service, the
/// result of a state-changing call, the beginning of a file whose form is recognised.
pub const SHORT_BODY_BYTES: usize = 64 * 1024;

/// Maximum size in bytes of a file that people write. Real files have a hundredth of it; a wrong path to a huge file is
/// reported instead of read.
pub const FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Maximum total size in bytes of the documents that are read at the same time, by the sizes of their first files. A
/// document in memory takes about ten times its size, so this bounds the memory of any run. A larger document is read
/// alone.
pub const DOCUMENT_BYTES_AT_ONCE: u64 = 24 << 20;

/// Maximum size of a compiled regular expression in bytes of memory: far more than a realistic pattern requires.
pub const COMPILED_PATTERN_BYTES: usize = 512 * 1024;

/// Size in bytes of a cache of digests, names or learned facts: several thousand entries. Eviction loses nothing that
/// is not learned or computed again.
pub const SMALL_CACHE_BYTES: u64 = 2 * 1024 * 1024;

/// Size in bytes of a cache of vectors, indexes or owners. The least recently used entries are computed or read again.
pub const CACHE_BYTES: u64 = 16 * 1024 * 1024;

/// Maximum nesting of the names in a schema or a response that are read; deeper ones describe the API rather than its
/// purpose.
pub const DESCRIBED_DEPTH: usize = 6;

/// Maximum nesting of a value whose members are searched for names, texts or known values.
pub const SEARCHED_DEPTH: usize = 12;

/// Maximum number of values of an answer or of a call's arguments that are examined one by one.
pub const EXAMINED_VALUES: usize = 2_000;

/// Maximum number of schemas that one pass over a document or a tool visits; it bounds nested alternatives.
pub const VISITED_SCHEMAS: usize = 20_000;

/// Maximum length in bytes of one tag or mark of a markup language; more is text that only looks like one.
pub const MARKUP_BYTES: usize = 1_000;

/// Maximum number of examples of a field, an argument or a finding that are kept or shown.
pub const EXAMPLES: usize = 3;

/// Maximum number of encodings of a value or a body that are removed: the maximum in a realistic chain of servers.
pub const ENCODINGS: usize = 3;

/// Number of texts per request to an embedding model. Their vectors are stored before the next request.
/// Results, which may have been paid for, are thus preserved if a later request fails or the process stops.
pub const EMBEDDED_TEXTS: usize = 256;
