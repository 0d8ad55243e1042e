//! Paths, macros and literals of a source text, read from its tokens, so that comments, strings and lifetimes cause no
//! false matches.

use std::collections::BTreeSet;
use std::fmt;

use proc_macro2::{Delimiter, Group, LexError, TokenStream, TokenTree};

/// Names that a source text uses outside of test code.
#[derive(Default)]
pub(crate) struct Scan {
    /// Paths of at least two segments, with `use` trees expanded.
    pub(crate) paths: Vec<Used>,
    /// Names of invoked macros.
    pub(crate) macros: Vec<Word>,
    /// Literals as written, without documentation.
    pub(crate) literals: Vec<Word>,
    /// Re-exports of `pub use` declarations, which do not count as uses.
    pub(crate) reexports: Vec<Reexport>,
    /// Modules in separate files that are compiled only for tests.
    pub(crate) test_modules: Vec<TestModule>,
}

/// A name that a module re-exports.
pub(crate) struct Reexport {
    pub(crate) name: String,
    pub(crate) path: Used,
}

/// A path as written: `["crate", "http", "Settings"]`. A leading `::` is an empty segment, a glob is `*`.
pub(crate) struct Used {
    segments: Vec<String>,
    /// Enclosing inline modules.
    inline: Vec<String>,
    pub(crate) line: usize,
}

/// A token and its line.
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// `#[cfg(test)] #[path = "file"] mod name;`
pub(crate) struct TestModule {
    pub(crate) name: String,
    pub(crate) file: Option<String>,
}

impl Used {
    /// Returns the part of the crate that the path names in a file of `module`. For a root import that hides it
    /// (`crate::*`, `crate::{self}`), returns the hiding text. Returns `None` for paths of libraries and for plain
    /// names.
    pub(crate) fn part(&self, module: &[String]) -> Option<String> {
        let mut rest = self.segments.iter().map(String::as_str);
        let mut base: Vec<&str> = module.iter().chain(&self.inline).map(String::as_str).collect();
        let mut next = rest.next()?;
        match next {
            "crate" => base.clear(),
            "self" | "super" => {}
            _ => return None,
        }
        while next == "super" || next == "self" || next == "crate" {
            if next == "super" {
                base.pop()?;
            }
            match rest.next() {
                Some(segment) => next = segment,
                // The module itself, such as the `self` of `use super::{self}`.
                None if base.is_empty() && self.segments.len() > 1 => return Some(next.to_owned()),
                None => return base.first().map(|part| (*part).to_owned()),
            }
        }
        Some(base.first().copied().unwrap_or(next).to_owned())
    }

    /// Returns the segments from the crate root, for a path that begins with `crate`, `self`, `super` or one of
    /// `children`, the modules inside `module`. Returns `None` for paths of libraries and for plain names.
    pub(crate) fn absolute(&self, module: &[String], children: &BTreeSet<String>) -> Option<Vec<String>> {
        let mut base: Vec<String> = module.iter().chain(&self.inline).cloned().collect();
        let mut rest = self.segments.as_slice();
        match rest.first()?.as_str() {
            "crate" => {
                base.clear();
                rest = &rest[1..];
            }
            "self" | "super" => {}
            first if self.inline.is_empty() && children.contains(first) => {}
            _ => return None,
        }
        while let Some(first @ ("super" | "self")) = rest.first().map(String::as_str) {
            if first == "super" {
                base.pop()?;
            }
            rest = &rest[1..];
        }
        base.extend(rest.iter().filter(|segment| *segment != "self").cloned());
        Some(base)
    }

    /// Returns the library that the path begins with, unless it begins with a keyword of the own crate.
    pub(crate) fn external(&self) -> Option<&str> {
        let first = self.segments.iter().find(|segment| !segment.is_empty())?;
        (!["crate", "self", "super", "Self"].contains(&first.as_str())).then_some(first)
    }

    pub(crate) fn starts_with(&self, prefix: &[&str]) -> bool {
        self.segments.iter().map(String::as_str).take(prefix.len()).eq(prefix.iter().copied())
    }

    /// Whether the path names an item of another workspace crate or another part that is neither a module nor settings
    /// nor one of `items`.
    pub(crate) fn is_foreign_item_besides(&self, items: &[&str]) -> bool {
        let is_foreign = match self.segments.first().map(String::as_str) {
            Some("crate") => self.segments.get(1).is_some_and(|part| part != "config"),
            Some(first) => first.starts_with("callwright_") && first != "callwright_common",
            None => false,
        };
        let is_item = |name: &&String| name.starts_with(char::is_uppercase);
        let item = self.segments.iter().find(is_item);
        is_foreign && item.is_some_and(|item| !item.ends_with("Settings") && !items.contains(&item.as_str()))
    }
}

impl fmt::Display for Used {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.segments.join("::"))
    }
}

/// Scans a source text.
pub(crate) fn scan(text: &str) -> Result<Scan, LexError> {
    let tokens: TokenStream = text.parse()?;
    let mut scan = Scan::default();
    scan.walk(tokens, &[]);
    Ok(scan)
}

impl Scan {
    fn walk(&mut self, tokens: TokenStream, inline: &[String]) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut rest = tokens.as_slice();
        while let Some(first) = rest.first() {
            rest = match first {
                TokenTree::Punct(punct) if punct.as_char() == '#' => self.attribute(rest, inline),
                TokenTree::Ident(ident) if ident == "mod" => self.module(rest, inline),
                TokenTree::Ident(ident) if ident == "pub" => self.visible(rest, inline),
                TokenTree::Ident(_) => self.path(rest, &[], inline),
                TokenTree::Punct(_) if is_path_separator(rest) => self.path(rest, &[], inline),
                TokenTree::Group(group) => {
                    self.walk(group.stream(), inline);
                    &rest[1..]
                }
                TokenTree::Literal(literal) => {
                    let line = literal.span().start().line;
                    self.literals.push(Word { text: literal.to_string(), line });
                    &rest[1..]
                }
                TokenTree::Punct(_) => &rest[1..],
            };
        }
    }

    /// Parses `#[..]` and `#![..]`. Skips documentation, and skips `#[cfg(test)]` together with its item.
    fn attribute<'t>(&mut self, tokens: &'t [TokenTree], inline: &[String]) -> &'t [TokenTree] {
        let Some(group) = attribute_group(tokens) else { return &tokens[1..] };
        match Attribute::of(group) {
            Attribute::Test => return self.test_item(&tokens[2..]),
            Attribute::Documentation => {}
            Attribute::Other => self.walk(group.stream(), inline),
        }
        &tokens[2..]
    }

    /// Skips a test-only item to its `;` or past its braces.
    fn test_item<'t>(&mut self, mut tokens: &'t [TokenTree]) -> &'t [TokenTree] {
        let mut file = None;
        while let Some(group) = attribute_group(tokens) {
            let words = flat_words(group.stream());
            if words.first().is_some_and(|first| first == "path") {
                file = words.last().map(|literal| literal.trim_matches('"').to_owned());
            }
            tokens = &tokens[2..];
        }
        let (item, rest) = tokens.split_at(item_length(tokens));
        if let [.., TokenTree::Ident(keyword), TokenTree::Ident(name), TokenTree::Punct(_)] = item
            && keyword == "mod"
        {
            self.test_modules.push(TestModule { name: name.to_string(), file });
        }
        rest
    }

    /// Parses `mod name { .. }`, which counts for `super` inside it.
    fn module<'t>(&mut self, tokens: &'t [TokenTree], inline: &[String]) -> &'t [TokenTree] {
        if let [_, TokenTree::Ident(name), TokenTree::Group(body), rest @ ..] = tokens
            && body.delimiter() == Delimiter::Brace
        {
            let inner: Vec<String> = inline.iter().cloned().chain([name.to_string()]).collect();
            self.walk(body.stream(), &inner);
            return rest;
        }
        &tokens[1..]
    }

    /// Parses the re-exports of `pub use a::b;` and `pub(crate) use a::{b, c as d};`, or the visibility of another
    /// item.
    fn visible<'t>(&mut self, tokens: &'t [TokenTree], inline: &[String]) -> &'t [TokenTree] {
        let mut rest = &tokens[1..];
        if let Some(TokenTree::Group(group)) = rest.first()
            && group.delimiter() == Delimiter::Parenthesis
        {
            rest = &rest[1..];
        }
        match rest.first() {
            Some(TokenTree::Ident(ident)) if ident == "use" => {}
            _ => return rest,
        }
        let end = rest.iter().position(|token| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ';'));
        let (declaration, behind) = rest.split_at(end.unwrap_or(rest.len()));
        let mut own = Scan::default();
        own.path(&declaration[1..], &[], inline);
        let aliases = aliases(declaration);
        self.reexports.extend(own.paths.into_iter().map(|path| {
            let last = path.segments.iter().rev().find(|segment| *segment != "self").cloned().unwrap_or_default();
            let name = aliases.iter().find(|(original, _)| *original == last).map_or(last, |(_, alias)| alias.clone());
            Reexport { name, path }
        }));
        behind
    }

    /// Parses `a::b::c`, `a::{b, c::d}`, `::a::*` or `name!`.
    fn path<'t>(&mut self, tokens: &'t [TokenTree], prefix: &[String], inline: &[String]) -> &'t [TokenTree] {
        let line = tokens.first().map_or(0, |token| token.span().start().line);
        let mut segments = prefix.to_vec();
        let mut rest = tokens;
        if is_path_separator(rest) {
            segments.push(String::new());
            rest = &rest[2..];
        }
        loop {
            match rest.first() {
                Some(TokenTree::Ident(ident)) => segments.push(ident.to_string().trim_start_matches("r#").to_owned()),
                Some(TokenTree::Punct(punct)) if punct.as_char() == '*' && !segments.is_empty() => {
                    segments.push("*".into())
                }
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace && !segments.is_empty() => {
                    self.tree(group, &segments, inline);
                    return &rest[1..];
                }
                _ => break,
            }
            rest = &rest[1..];
            if !is_path_separator(rest) {
                break;
            }
            rest = &rest[2..];
        }
        if let [TokenTree::Punct(bang), TokenTree::Group(_), ..] = rest
            && bang.as_char() == '!'
        {
            self.macros.push(Word { text: segments.last().cloned().unwrap_or_default(), line });
        }
        if segments.len() > 1 {
            self.paths.push(Used { segments, inline: inline.to_vec(), line });
        }
        rest
    }

    /// Parses the inside of `prefix::{ .. }`.
    fn tree(&mut self, group: &Group, prefix: &[String], inline: &[String]) {
        let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
        let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',');
        for branch in tokens.split(is_comma).filter(|branch| !branch.is_empty()) {
            self.path(branch, prefix, inline);
        }
    }
}

/// Returns the pairs of `name as alias` in a declaration.
fn aliases(tokens: &[TokenTree]) -> Vec<(String, String)> {
    let words = flat_words(tokens.iter().cloned().collect());
    let pairs = words.windows(3).filter(|words| words[1] == "as");
    pairs.map(|words| (words[0].clone(), words[2].clone())).collect()
}

/// Returns the brackets of an attribute at the beginning of `tokens`.
/// Kind of an attribute.
pub(crate) enum Attribute {
    /// `cfg(test)`: its item is test code.
    Test,
    Documentation,
    Other,
}

impl Attribute {
    pub(crate) fn of(group: &Group) -> Self {
        let words = flat_words(group.stream());
        let names = |word: &str| words.iter().any(|found| found == word);
        match words.first().map(String::as_str) {
            Some("cfg") if names("test") && !names("not") => Self::Test,
            Some("doc") => Self::Documentation,
            _ => Self::Other,
        }
    }
}

/// Returns the number of tokens of an item, to its `;` or past its braces.
pub(crate) fn item_length(tokens: &[TokenTree]) -> usize {
    let is_end = |token: &TokenTree| match token {
        TokenTree::Punct(punct) => punct.as_char() == ';',
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        _ => false,
    };
    tokens.iter().position(is_end).map_or(tokens.len(), |end| end + 1)
}

/// Returns the group of `#[..]` or `#![..]`.
pub(crate) fn attribute_group(tokens: &[TokenTree]) -> Option<&Group> {
    match tokens {
        [TokenTree::Punct(hash), TokenTree::Group(group), ..]
            if hash.as_char() == '#' && group.delimiter() == Delimiter::Bracket =>
        {
            Some(group)
        }
        _ => None,
    }
}

fn is_path_separator(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [TokenTree::Punct(left), TokenTree::Punct(right), ..] if left.as_char() == ':' && right.as_char() == ':')
}

/// Returns all identifiers and literals at any nesting depth.
fn flat_words(tokens: TokenStream) -> Vec<String> {
    tokens
        .into_iter()
        .flat_map(|token| match token {
            TokenTree::Group(group) => flat_words(group.stream()),
            TokenTree::Punct(_) => Vec::new(),
            other => vec![other.to_string()],
        })
        .collect()
}
