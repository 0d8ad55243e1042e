//! Size of the product, against the ceilings of `bench/size.toml`. They only fall: a part that adds removes as much.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use proc_macro2::{TokenStream, TokenTree};
use serde::Deserialize;
use serde_json::Value;

use super::paths::{Attribute, attribute_group, item_length};
use super::sources::{root_file, sources};
use crate::support::verb::Folder;

/// A ceiling may exceed its figure by this part, so that a change of a few lines needs no new ceiling.
const SLACK_PERCENT: usize = 1;

/// Types of numeric constants.
const NUMBERS: [&str; 14] =
    ["f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize"];

/// Figures of a crate, without tests.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct CrateSize {
    /// Lines that are neither blank nor comments.
    lines: usize,
    /// Tokens of the language. A pair of delimiters counts as two.
    tokens: usize,
    /// Numeric constants.
    constants: usize,
}

/// Figures of the surfaces that users see.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Surfaces {
    /// Keys of the configuration.
    configuration_keys: usize,
    /// Keys of a policy.
    policy_keys: usize,
    /// Flags of all verbs; one that several verbs have counts for each.
    flags: usize,
}

/// `bench/size.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ceilings {
    surfaces: Surfaces,
    crates: BTreeMap<String, CrateSize>,
}

/// A figure and its ceiling.
struct Measured {
    name: String,
    figure: usize,
    ceiling: usize,
}

#[test]
fn the_product_fits_under_its_ceilings() {
    let ceilings: Ceilings = toml::from_str(&root_file("bench/size.toml")).unwrap();
    let mut measured = Vec::new();
    let sizes = crate_sizes();
    for package in sizes.keys().chain(ceilings.crates.keys()).collect::<BTreeSet<_>>() {
        let size = sizes.get(package).copied().unwrap_or_default();
        let ceiling = ceilings.crates.get(package).copied().unwrap_or_default();
        for (what, figure, ceiling) in [
            ("lines", size.lines, ceiling.lines),
            ("tokens", size.tokens, ceiling.tokens),
            ("constants", size.constants, ceiling.constants),
        ] {
            measured.push(Measured { name: format!("{package}: {what}"), figure, ceiling });
        }
    }
    let (figures, ceilings) = (surfaces(), ceilings.surfaces);
    for (name, figure, ceiling) in [
        ("configuration keys", figures.configuration_keys, ceilings.configuration_keys),
        ("policy keys", figures.policy_keys, ceilings.policy_keys),
        ("flags", figures.flags, ceilings.flags),
    ] {
        measured.push(Measured { name: name.to_owned(), figure, ceiling });
    }
    let mut wrong = String::new();
    for Measured { name, figure, ceiling } in &measured {
        anstream::println!("{name}: {figure} of {ceiling}");
        if figure > ceiling {
            writeln!(wrong, "{name}: {figure}, above the ceiling of {ceiling}").unwrap();
        } else if figure + figure * SLACK_PERCENT / 100 + 1 < *ceiling {
            writeln!(wrong, "{name}: {figure}; lower the ceiling of {ceiling}").unwrap();
        }
    }
    for what in ["lines", "tokens", "constants"] {
        let all: usize = measured.iter().filter(|one| one.name.ends_with(what)).map(|one| one.figure).sum();
        anstream::println!("all crates: {all} {what}");
    }
    assert!(wrong.is_empty(), "bench/size.toml:\n{wrong}");
}

fn crate_sizes() -> BTreeMap<String, CrateSize> {
    let mut sizes: BTreeMap<String, CrateSize> = BTreeMap::new();
    for source in sources() {
        let mut counter = Counter::default();
        counter.count(source.text.parse().unwrap());
        let size = sizes.entry(source.package.clone()).or_default();
        size.lines += counter.lines.len();
        size.tokens += counter.tokens;
        size.constants += counter.constants;
    }
    sizes
}

/// Figures of one source text.
#[derive(Default)]
struct Counter {
    lines: BTreeSet<usize>,
    tokens: usize,
    constants: usize,
}

impl Counter {
    fn count(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut rest = tokens.as_slice();
        while let Some(first) = rest.first() {
            if let Some(group) = attribute_group(rest) {
                match Attribute::of(group) {
                    Attribute::Test => {
                        rest = past_item(&rest[2..]);
                        continue;
                    }
                    Attribute::Documentation => {
                        rest = &rest[2..];
                        continue;
                    }
                    Attribute::Other => {}
                }
            }
            if let [TokenTree::Ident(keyword), TokenTree::Ident(_), TokenTree::Punct(_), TokenTree::Ident(kind), ..] =
                rest
                && keyword == "const"
                && NUMBERS.iter().any(|number| kind == number)
            {
                self.constants += 1;
            }
            match first {
                TokenTree::Group(group) => {
                    self.lines.extend([group.span_open().start().line, group.span_close().start().line]);
                    self.tokens += 2;
                    self.count(group.stream());
                }
                _ => {
                    self.lines.extend(first.span().start().line..=first.span().end().line);
                    self.tokens += 1;
                }
            }
            rest = &rest[1..];
        }
    }
}

/// Returns the tokens behind an item with further attributes.
fn past_item(mut tokens: &[TokenTree]) -> &[TokenTree] {
    while attribute_group(tokens).is_some() {
        tokens = &tokens[2..];
    }
    &tokens[item_length(tokens)..]
}

fn surfaces() -> Surfaces {
    let schema = |path: &str| serde_json::from_str::<Value>(&root_file(path)).unwrap();
    let (configuration, policy) = (schema("config/callwright.schema.json"), schema("policies/policy.schema.json"));
    Surfaces {
        configuration_keys: keys(&configuration, &configuration),
        policy_keys: keys(&policy, &policy),
        flags: flags(),
    }
}

/// Returns the number of keys of a schema that have no keys below them. A key in a table of named entries counts once.
fn keys(schema: &Value, root: &Value) -> usize {
    if let Some(reference) = schema["$ref"].as_str() {
        return keys(root.pointer(reference.trim_start_matches('#')).unwrap(), root);
    }
    let below: Vec<&Value> = if let Some(properties) = schema["properties"].as_object() {
        properties.values().collect()
    } else if schema["additionalProperties"].is_object() {
        vec![&schema["additionalProperties"]]
    } else {
        let choices = ["anyOf", "oneOf", "allOf"].into_iter().find_map(|keyword| schema[keyword].as_array());
        return choices.into_iter().flatten().map(|choice| keys(choice, root)).max().unwrap_or(1);
    };
    below.into_iter().map(|schema| keys(schema, root)).sum()
}

/// Returns the number of flags in the manual pages of all verbs.
fn flags() -> usize {
    let folder = Folder::with(&[]);
    assert_eq!(folder.run(&["man", "--out", "pages"], b"").status, Some(0));
    let pages = std::fs::read_dir(folder.path("pages")).unwrap();
    let texts = pages.map(|page| std::fs::read_to_string(page.unwrap().path()).unwrap());
    texts.map(|text| text.lines().filter(|line| is_flag(line)).count()).sum()
}

/// Whether a line of a manual page is the head of a flag other than those that every verb has.
fn is_flag(line: &str) -> bool {
    let is_common = |name: &str| ["help", "version"].iter().any(|common| name.starts_with(common));
    let name = line.split("\\-\\-").nth(1);
    line.starts_with("\\fB\\-") && name.is_some_and(|name| !is_common(name))
}
