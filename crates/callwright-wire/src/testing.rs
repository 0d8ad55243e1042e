//! Inputs of the property tests.

use proptest::prelude::*;
use serde_json::Value;

/// Configuration with a fixed seed.
pub(crate) fn config(cases: u32) -> ProptestConfig {
    let rng_seed = prop::test_runner::RngSeed::Fixed(31);
    ProptestConfig { rng_seed, failure_persistence: None, cases, ..ProptestConfig::default() }
}

/// The text of any JSON value, with white space, duplicate keys, escapes and several notations of numbers.
pub(crate) fn json_text() -> BoxedStrategy<String> {
    let leaf = prop_oneof![
        prop::sample::select(&["null", "true", "false", "0", "-1.50", "1E2", "\"\\u00e9\\\\\"", "[]", "{ }"][..])
            .prop_map(str::to_owned),
        any::<i32>().prop_map(|number| number.to_string()),
        "[ -~ü€𝄞\n\t]{0,20}".prop_map(|text| Value::from(text).to_string()),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| prop_oneof![list(inner.clone().boxed()), object(vec![("a", inner.boxed())])])
        .boxed()
}

/// The text of an array.
pub(crate) fn list(item: BoxedStrategy<String>) -> BoxedStrategy<String> {
    (prop::collection::vec(item, 0..4), white_space())
        .prop_map(|(items, space)| match items.as_slice() {
            // The readers of chunks recognise an empty list by its text.
            [] => "[]".to_owned(),
            items => format!("[{space}{}{space}]", items.join(&format!("{space},"))),
        })
        .boxed()
}

/// The text of an object with some of these members in any order, also repeated, and unknown ones.
pub(crate) fn object(members: Vec<(&'static str, BoxedStrategy<String>)>) -> BoxedStrategy<String> {
    let unknown = ("[a-zé]{2,5}", "-?[1-9][0-9]?(\\.[0-9]0)?").prop_map(|(key, number)| format!("\"x{key}\":{number}"));
    let known = members.into_iter().map(|(key, value)| {
        let written = prop_oneof![
            20 => Just(format!("\"{key}\"")),
            1 => Just(format!("\"\\u{:04x}{}\"", u32::from(key.as_bytes()[0]), &key[1..])),
        ];
        (written, white_space(), value).prop_map(|(key, space, value)| format!("{key}{space}:{space}{value}")).boxed()
    });
    let member = prop::strategy::Union::new(known.chain([unknown.boxed()]));
    (prop::collection::vec(member, 0..10), white_space())
        .prop_map(|(members, space)| format!("{{{space}{}{space}}}", members.join(&format!("{space},{space}"))))
        .boxed()
}

fn white_space() -> BoxedStrategy<&'static str> {
    prop::sample::select(&["", "", " ", "\n ", "\t\r\n"][..]).boxed()
}
