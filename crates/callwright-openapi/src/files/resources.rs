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

use super::scan::{ScanFinding, ScannedReference, scan};
use crate::SourceFile;
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
