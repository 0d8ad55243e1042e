//! Addresses and names that parts of files declare (JSON Schema 2020-12, sections 8.2 and 9.2; OpenAPI 3.2, `$self`),
//! and references by them.
//!
//! After all files are read, such references are rewritten once to plain ones (a file and a JSON Pointer). Later
//! resolution then does not need the enclosing resource. Authors who give an `$id` to a schema of a document
//! often still write references relative to the file. A reference without a literal target is therefore resolved
//! against the file.

use std::collections::HashMap;

use percent_encoding::percent_decode_str;
use serde_json::Value;
use url::Url;

use crate::SourceFile;
use crate::tool::text::is_among;
use callwright_common::json::Pointer;

#[derive(Debug, Clone)]
struct FilePart {
    file: usize,
    at: Pointer,
}

/// The named parts of all files. If two parts have the same name, the first one is used.
#[derive(Debug, Default)]
pub(super) struct ResourceNames {
    resources: HashMap<String, FilePart>,
    /// Parts by resource and name.
    anchors: HashMap<(String, String), FilePart>,
    /// Parts by file and name, for references with a wrong base.
    anchors_of_file: HashMap<(usize, String), FilePart>,
    /// Whether there is a `$dynamicRef` or `$recursiveRef`.
    pub(super) has_others: bool,
}

/// Rewrite of one reference.
struct ReferenceEdit {
    file: usize,
    holder: Pointer,
    keyword: &'static str,
    /// Link and file index of the target; `None` if the target is in the same file.
    link: Option<(String, usize)>,
    target: Pointer,
}

impl ResourceNames {
    /// Registers the address `url` of the part `at` of `file`.
    pub(super) fn resource(&mut self, url: &Url, file: usize, at: Pointer) {
        let part = FilePart { file, at };
        self.resources.entry(url.to_string()).or_insert(part);
    }

    /// Registers the anchor `name` of the part `at` of `file` in the resource `url`.
    pub(super) fn anchor(&mut self, url: &Url, name: &str, file: usize, at: Pointer) {
        let part = FilePart { file, at };
        self.anchors_of_file.entry((file, name.to_owned())).or_insert_with(|| part.clone());
        self.anchors.entry((url.to_string(), name.to_owned())).or_insert(part);
    }

    /// Whether `link`, relative to one of `bases`, refers to a named part of a file that was read, rather than to a
    /// file.
    pub(super) fn is_part(&self, bases: [&Url; 2], link: &str) -> bool {
        self.at(bases, link).is_some_and(|part| !part.at.is_root())
    }

    /// Rewrites all references that use names.
    pub(super) fn settle(&self, files: &mut [SourceFile]) {
        if !self.has_others && self.anchors.is_empty() && self.resources.len() == files.len() {
            return;
        }
        let mut edits = Vec::new();
        for (number, file) in files.iter().enumerate() {
            let Some(base) = file.address.base() else { continue };
            scan(&file.root, &base, &mut |finding| {
                if let ScanFinding::Reference(reference) = finding {
                    edits.extend(self.settled(&reference, number, &base, files));
                }
            });
        }
        for edit in edits {
            edit.apply(files);
        }
    }

    fn at(&self, bases: [&Url; 2], link: &str) -> Option<&FilePart> {
        bases.into_iter().find_map(|base| self.resources.get(without_fragment(base.join(link).ok()?).as_str()))
    }

    fn settled(
        &self,
        reference: &ScannedReference<'_>,
        number: usize,
        base: &Url,
        files: &[SourceFile],
    ) -> Option<ReferenceEdit> {
        let (link, fragment) = reference.text.split_once('#').unwrap_or((reference.text, ""));
        let fragment = percent_decode_str(fragment).decode_utf8().ok()?;
        let start = if link.is_empty() {
            FilePart { file: number, at: reference.base.resource.clone() }
        } else if let Some(part) = self.at([&reference.base.url, base], link) {
            part.clone()
        } else {
            let file = *files.get(number)?.links.get(link)?.as_ref().ok()?;
            FilePart { file, at: Pointer::root() }
        };
        let target = self.within(&start, &fragment, reference, link, files)?;
        let leads_elsewhere = target.file != number;
        let address = files.get(target.file)?.address.to_string();
        Some(ReferenceEdit {
            file: number,
            holder: reference.holder.clone(),
            keyword: reference.keyword,
            link: leads_elsewhere.then_some((address, target.file)),
            target: target.at,
        })
    }

    /// Returns the part that `fragment` refers to in the resource that begins at `start`.
    fn within(
        &self,
        start: &FilePart,
        fragment: &str,
        reference: &ScannedReference<'_>,
        link: &str,
        files: &[SourceFile],
    ) -> Option<FilePart> {
        if fragment.is_empty() {
            return Some(start.clone());
        }
        let file = files.get(start.file)?;
        if fragment.starts_with('/') {
            let inner = format!("{}{fragment}", start.at);
            let at = [inner.as_str(), fragment].into_iter().find(|at| file.root.pointer(at).is_some())?;
            return Some(FilePart { file: start.file, at: Pointer::from(at) });
        }
        let resource = reference.base.url.join(link).ok().map(without_fragment);
        let by_resource = resource.and_then(|url| self.anchors.get(&(url.to_string(), fragment.to_owned())));
        by_resource.or_else(|| self.anchors_of_file.get(&(start.file, fragment.to_owned()))).cloned()
    }
}

impl ReferenceEdit {
    fn apply(self, files: &mut [SourceFile]) {
        let Some(file) = files.get_mut(self.file) else { return };
        let Some(Value::Object(holder)) = file.root.pointer_mut(self.holder.as_str()) else { return };
        if self.keyword != "$ref" && holder.contains_key("$ref") {
            return;
        }
        let fragment = self.target.as_str().replace('%', "%25");
        let link = self.link.as_ref().map_or("", |(link, _)| link);
        holder.shift_remove(self.keyword);
        holder.insert("$ref".to_owned(), format!("{link}#{fragment}").into());
        if let Some((link, number)) = self.link {
            file.links.insert(link, Ok(number));
        }
    }
}

fn without_fragment(mut url: Url) -> Url {
    url.set_fragment(None);
    url
}

/// Keywords whose values are data, in which `$ref` and `$id` have no meaning.
const DATA: &str = "example default enum const value";

/// Keywords whose member names are chosen by the author, so that a member `example` is a property and not a keyword.
const NAMED: &str = "properties patternProperties dependentSchemas $defs definitions schemas parameters responses \
    requestBodies headers securitySchemes links callbacks pathItems paths webhooks examples";

/// A reference with its context.
pub(super) struct ScannedReference<'v> {
    /// The keyword: `$ref`, `$dynamicRef` or `$recursiveRef`.
    pub(super) keyword: &'static str,
    /// The reference as written.
    pub(super) text: &'v str,
    /// Pointer to the object that contains the reference.
    pub(super) holder: Pointer,
    pub(super) base: ReferenceBase,
}

/// An item reported by the traversal.
pub(super) enum ScanFinding<'v> {
    /// A reference to anything other than a JSON Pointer of the same resource.
    Reference(ScannedReference<'v>),
    /// A part with an address of its own (`$id`, at the root also `$self`).
    Resource(Url, Pointer),
    /// A part with a name within its resource (`$anchor`, `$dynamicAnchor`).
    Anchor(Url, &'v str, Pointer),
}

/// Traverses the file `root`, whose address is `base`.
pub(super) fn scan<'v>(root: &'v Value, base: &Url, report: &mut dyn FnMut(ScanFinding<'v>)) {
    let start = ReferenceBase { url: base.clone(), resource: Pointer::root() };
    let mut scanner = ReferenceScanner { path: Vec::new(), report };
    scanner.value(root, &start, true);
}

/// Base of the references in a part of the file.
#[derive(Clone)]
pub(super) struct ReferenceBase {
    /// The nearest enclosing `$id`, otherwise the URL of the file.
    pub(super) url: Url,
    /// Pointer to the start of that resource.
    pub(super) resource: Pointer,
}

enum PointerStep<'v> {
    Member(&'v str),
    Item(usize),
}

struct ReferenceScanner<'v, 'f> {
    path: Vec<PointerStep<'v>>,
    report: &'f mut dyn FnMut(ScanFinding<'v>),
}

impl<'v> ReferenceScanner<'v, '_> {
    /// Recursion is bounded by the maximum nesting of a parsed text. `has_keywords`: whether the keys of an object are
    /// keywords, not names.
    fn value(&mut self, value: &'v Value, scope: &ReferenceBase, has_keywords: bool) {
        match value {
            Value::Object(members) => {
                let own = if has_keywords { self.keywords(value, scope) } else { None };
                let scope = own.as_ref().unwrap_or(scope);
                for (key, member) in members {
                    if !has_members(member) || has_keywords && is_data(key, member) {
                        continue;
                    }
                    let is_named = has_keywords && is_among(NAMED, key);
                    self.path.push(PointerStep::Member(key));
                    self.value(member, scope, !is_named);
                    self.path.pop();
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate().filter(|(_, item)| has_members(item)) {
                    self.path.push(PointerStep::Item(index));
                    self.value(item, scope, true);
                    self.path.pop();
                }
            }
            _ => {}
        }
    }

    /// Returns the scope of an object with `$id`.
    fn keywords(&mut self, object: &'v Value, scope: &ReferenceBase) -> Option<ReferenceBase> {
        // Most objects have none of the keywords, all of which begin with `$`.
        if !object.as_object()?.keys().any(|key| key.starts_with('$')) {
            return None;
        }
        let text = |keyword: &str| object.get(keyword).and_then(Value::as_str);
        let id = text("$id").or_else(|| if self.path.is_empty() { text("$self") } else { None });
        let own = id.and_then(|id| scope.url.join(id).ok()).map(|mut url| {
            url.set_fragment(None);
            ReferenceBase { url, resource: self.pointer() }
        });
        if let Some(own) = &own {
            (self.report)(ScanFinding::Resource(own.url.clone(), own.resource.clone()));
        }
        let scope = own.as_ref().unwrap_or(scope);
        for name in ["$anchor", "$dynamicAnchor"].into_iter().filter_map(text) {
            let pointer = self.pointer();
            (self.report)(ScanFinding::Anchor(scope.url.clone(), name, pointer));
        }
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let Some(text) = text(keyword) else { continue };
            let is_plain = keyword == "$ref" && scope.resource.is_root() && (text.starts_with("#/") || text == "#");
            if !is_plain {
                let (base, holder) = (scope.clone(), self.pointer());
                (self.report)(ScanFinding::Reference(ScannedReference { keyword, text, holder, base }));
            }
        }
        own
    }

    fn pointer(&self) -> Pointer {
        self.path.iter().fold(Pointer::root(), |pointer, step| match step {
            PointerStep::Member(key) => pointer.child(key),
            PointerStep::Item(index) => pointer.item(*index),
        })
    }
}

/// Whether the value of `keyword` is data. An array of `examples` contains values; an object contains Example
/// Objects.
fn is_data(keyword: &str, value: &Value) -> bool {
    is_among(DATA, keyword) || keyword == "examples" && value.is_array()
}

fn has_members(value: &Value) -> bool {
    value.is_object() || value.is_array()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn references_are_found_with_their_base_and_data_is_skipped() {
        let root = json!({
            "paths": {"/a": {"$ref": "paths.yaml#/a"}, "example": {"$ref": "example.yaml"}},
            "components": {"schemas": {
                "Own": {"$ref": "#/components/schemas/Other"},
                "Other": {
                    "$id": "https://x.example/other.json", "$anchor": "top",
                    "properties": {"default": {"$ref": "#/here"}, "$ref": {"type": "string"}},
                    "default": {"$ref": "data.yaml", "$id": "data"}
                }
            }},
            "examples": {"a": {"$ref": "shown.yaml", "value": {"$ref": "no.yaml"}}}
        });
        let mut findings = Vec::new();
        scan(&root, &Url::parse("file:///d/api.yaml").unwrap(), &mut |finding| {
            findings.push(match finding {
                ScanFinding::Reference(it) => {
                    format!("{} at {} in {} from {}", it.text, it.holder, it.base.resource, it.base.url)
                }
                ScanFinding::Resource(url, at) => format!("{url} is {at}"),
                ScanFinding::Anchor(url, name, at) => format!("{url}#{name} is {at}"),
            });
        });
        assert_eq!(
            findings,
            [
                "paths.yaml#/a at /paths/~1a in  from file:///d/api.yaml",
                "example.yaml at /paths/example in  from file:///d/api.yaml",
                "https://x.example/other.json is /components/schemas/Other",
                "https://x.example/other.json#top is /components/schemas/Other",
                "#/here at /components/schemas/Other/properties/default in /components/schemas/Other from https://x.example/other.json",
                "shown.yaml at /examples/a in  from file:///d/api.yaml",
            ]
        );
    }
}
