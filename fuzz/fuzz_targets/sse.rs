//! Parses arbitrary bytes as an event stream in arbitrary chunks: the events do not depend on the chunks, and the
//! assembled response has a different id for each call and survives a round trip of serialisation.
//!
//! Input: one byte that selects the chunk sizes, then the stream.
#![no_main]

use std::collections::HashSet;

use bytes::Bytes;
use callwright_types::Call;
use callwright_wire::{Assembler, Choice, Completion, SseError, SseEvent, SseReader};
use libfuzzer_sys::fuzz_target;

/// Maximum size of an event in bytes; small, so that the limit is reached.
const MAX_EVENT_BYTES: usize = 4096;

/// Maximum size of a response in bytes.
const MAX_BYTES: usize = 1 << 16;

type Read = (Vec<SseEvent>, Option<SseError>);

fuzz_target!(|input: &[u8]| {
    let Some((&seed, stream)) = input.split_first() else { return };
    let whole = read(std::iter::once(stream));
    let single = read(stream.chunks(1));
    assert_eq!(whole, single, "byte by byte");
    assert_eq!(whole, read(chunks(stream, seed)), "in chunks");
    assemble(&whole.0);
});

/// Splits `stream` into chunks of sizes that `seed` selects, some of them empty.
fn chunks(stream: &[u8], seed: u8) -> impl Iterator<Item = &[u8]> {
    let (mut rest, mut state) = (stream, u32::from(seed) | 1);
    std::iter::from_fn(move || {
        // Marsaglia's xorshift: sizes only need to be irregular.
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        let size = (state % 24) as usize;
        let (chunk, behind) = rest.split_at(size.min(rest.len()));
        let more = !rest.is_empty();
        rest = behind;
        more.then_some(chunk)
    })
}

fn read<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> Read {
    let mut reader = SseReader::new(MAX_EVENT_BYTES);
    let mut events = Vec::new();
    for chunk in chunks {
        match reader.push(Bytes::copy_from_slice(chunk)) {
            Ok(more) => events.extend(more),
            Err(error) => return (events, Some(error)),
        }
    }
    match reader.finish() {
        Ok(last) => events.extend(last),
        Err(error) => return (events, Some(error)),
    }
    (events, None)
}

fn assemble(events: &[SseEvent]) {
    let mut assembler = Assembler::new(MAX_BYTES);
    for event in events {
        // Unparsable events are the sender's fault; later events may still be valid.
        let _ = assembler.take(event);
    }
    let conformant = assembler.is_conformant();
    let _ = (assembler.is_finished(), conformant, assembler.head());
    let completion = assembler.into_completion();
    let read_again = Completion::parse(callwright_types::Protocol::Chat, completion.to_bytes()).expect("an assembled response can be parsed");
    assert_eq!(completion.choices().len(), read_again.choices().len());
    for (choice, again) in completion.choices().iter().zip(read_again.choices()) {
        assert_eq!(choice.message.is_well_formed(), again.message.is_well_formed());
        assert_eq!(calls(choice), calls(again));
        assert_eq!(choice.message.text(), again.message.text());
        let ids: HashSet<&str> = choice.message.calls().iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids.len(), choice.message.calls().len(), "each call has its own id");
    }
}

/// Returns names, arguments and ids as on the wire. A legacy call has no id and a malformed one may have none; these
/// get a new id at each parse.
fn calls(choice: &Choice) -> Vec<(Option<String>, String, String)> {
    let has_ids = choice.message.is_well_formed() && !choice.message.is_legacy();
    let told = |call: &Call| (has_ids.then(|| call.id.clone()), call.name.clone(), call.arguments.clone());
    choice.message.calls().iter().map(told).collect()
}
