//! Blocks → sections of passages: separates catalogue entries from prose.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::Piece;
use super::entry::entry;
use super::joiner::Joiner;
use crate::Settings;
use crate::documents::blocks::{BOLD_LINE, BlockKind, DocumentBlock, FLOW, LEAST_SERIES};
use crate::documents::heads::{self, PassageHead};
use crate::index::codes::{CodeLikelihood, is_integer};

/// Content below one heading of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Section {
    /// File name, or its path relative to the searched folder with `/` as separator.
    pub file: String,
    /// Enclosing headings, outermost first; empty before the first heading.
    pub path: Vec<String>,
    /// Passages in document order.
    pub(crate) passages: Vec<Piece>,
    /// Names of the tools whose operations the section belongs to, within the toolset. If empty, the section applies to
    /// the whole toolset or to the operations that its headings name. Sections of the same tools share this list.
    pub tools: Arc<[String]>,
}

impl Section {
    /// Formats file and headings for display: `errors.md > Gateway > Close codes`.
    pub fn source(&self) -> String {
        std::iter::once(&self.file).chain(&self.path).map(String::as_str).collect::<Vec<_>>().join(" > ")
    }
}

/// Block with the codes or names that it defines.
struct HeadedBlock {
    block: DocumentBlock,
    head: Option<PassageHead>,
}

impl HeadedBlock {
    fn new(mut block: DocumentBlock) -> Self {
        // A paragraph that contains only a code (`Error code: 21211`) is a heading.
        if block.depth == FLOW
            && let BlockKind::Prose(text) = &mut block.kind
            && heads::sentence_head(text).is_some_and(|head| head.is_only_code())
        {
            block = DocumentBlock { depth: BOLD_LINE, kind: BlockKind::Heading(std::mem::take(text)) };
        }
        Self { head: block.head(), block }
    }

    fn is_heading(&self) -> bool {
        matches!(self.block.kind, BlockKind::Heading(_))
    }
}

/// Splits blocks into sections at their headings. A block that defines a code, with everything that belongs to it, is
/// an *entry*: one passage that explains the code and its remedy. A block that heads a list of further codes is no
/// entry.
pub(crate) fn outline(blocks: Vec<DocumentBlock>, settings: &Settings) -> Vec<Section> {
    let mut blocks: Vec<HeadedBlock> = blocks.into_iter().map(HeadedBlock::new).collect();
    let titles = blocks.iter().filter(|block| block.is_heading()).filter_map(|block| block.head.as_ref());
    let titled: HashSet<String> = titles.flat_map(|head| &head.codes).cloned().collect();
    adopt(&mut blocks);
    join_siblings(&mut blocks);
    // Items and paragraphs do not define a code that has a heading of its own.
    for HeadedBlock { block, head } in &mut blocks {
        if matches!(block.kind, BlockKind::Item(_) | BlockKind::Prose(_)) {
            head.take_if(|head| head.codes.iter().all(|code| titled.contains(code)));
        }
    }
    join_series(&mut blocks);
    let joiner = Joiner::new(settings.passage_chars);
    let mut outliner = Outliner { settings, path: Vec::new(), done: Vec::new(), pending: None, joiner };
    let mut at = 0;
    while let Some(HeadedBlock { block, head }) = blocks.get(at) {
        let end = end_of(&blocks, at);
        let below = &blocks[at + 1..end];
        match head {
            Some(head) if is_entry(block, head, below) => {
                outliner.entry(block, head, below);
                at = end;
            }
            head => {
                outliner.plain(block, head.as_ref());
                at += 1;
            }
        }
    }
    outliner.end_section();
    outliner.done
}

/// Assigns the code in a line below (`Code: 21211`) to a heading without a code, if it is the only one.
fn adopt(blocks: &mut [HeadedBlock]) {
    for at in 0..blocks.len() {
        let title = &blocks[at];
        if !title.is_heading() || title.block.depth >= BOLD_LINE || title.head.is_some() {
            continue;
        }
        let below = &blocks[at + 1..end_of(blocks, at)];
        let codes = below.iter().filter_map(|block| block.head.as_ref());
        let mut codes = codes.filter(|head| head.is_only_code());
        if let (Some(first), None) = (codes.next(), codes.next()) {
            blocks[at].head = Some(PassageHead { alone: false, ..first.clone() });
        }
    }
}

/// Treats a heading that is a short number as a code if headings of the same level are codes (`7` beside `21211`).
fn join_siblings(blocks: &mut [HeadedBlock]) {
    let mut strong: HashMap<usize, usize> = HashMap::new();
    for HeadedBlock { block, head } in &*blocks {
        if head.as_ref().is_some_and(|head| head.strength == CodeLikelihood::Strong) {
            *strong.entry(block.depth).or_default() += 1;
        }
    }
    for HeadedBlock { block, head } in blocks {
        let BlockKind::Heading(title) = &block.kind else { continue };
        if head.is_none() && strong.get(&block.depth).is_some_and(|count| *count > 1) {
            *head = heads::number_head(title);
        }
    }
}

/// Treats list items or paragraphs of one section and depth as definitions if at least half of them start with codes.
fn join_series(blocks: &mut [HeadedBlock]) {
    let mut series: BTreeMap<(usize, usize, bool), Vec<usize>> = BTreeMap::new();
    let mut section = 0;
    for (at, HeadedBlock { block, .. }) in blocks.iter().enumerate() {
        match block.kind {
            BlockKind::Heading(_) => section = at,
            BlockKind::Item(_) => series.entry((section, block.depth, true)).or_default().push(at),
            BlockKind::Prose(_) => series.entry((section, block.depth, false)).or_default().push(at),
            BlockKind::Row(_) | BlockKind::Code(_) => {}
        }
    }
    for members in series.into_values() {
        let begins = |at: &usize| match &blocks[*at].block.kind {
            BlockKind::Item(text) | BlockKind::Prose(text) => heads::series_head(text).map(|head| (*at, head)),
            _ => None,
        };
        let found: Vec<(usize, PassageHead)> = members.iter().filter_map(begins).collect();
        let evident = found.iter().map(|(_, head)| head).filter(|head| head.strength == CodeLikelihood::Strong);
        let codes: BTreeSet<&[String]> = evident.map(|head| head.codes.as_slice()).collect();
        if codes.len() < LEAST_SERIES || 2 * found.len() < members.len() {
            continue;
        }
        for (at, head) in found {
            let HeadedBlock { block, head: own } = &mut blocks[at];
            own.get_or_insert(head);
            if let BlockKind::Prose(text) = &mut block.kind {
                block.kind = BlockKind::Item(std::mem::take(text));
            }
        }
    }
}

/// Returns the end of the blocks that belong to the block at `at`.
fn end_of(blocks: &[HeadedBlock], at: usize) -> usize {
    let deeper = blocks[at + 1..].iter().take_while(|below| below.block.depth > blocks[at].block.depth);
    at + 1 + deeper.count()
}

/// Whether a block and the blocks below it form one entry. This is not the case if the blocks below define a list of
/// codes at least as likely as its own.
fn is_entry(block: &DocumentBlock, head: &PassageHead, below: &[HeadedBlock]) -> bool {
    if matches!(block.kind, BlockKind::Prose(_))
        || head.strength == CodeLikelihood::Name && matches!(block.kind, BlockKind::Heading(_))
    {
        return false;
    }
    // Below an HTTP status there may be the codes of all errors that have it.
    let least = if is_status(head) { head.strength.min(CodeLikelihood::Weak) } else { head.strength };
    let others = below.iter().filter_map(|below| below.head.as_ref());
    others.filter(|other| other.strength >= least && other.codes != head.codes).nth(1).is_none()
}

/// Whether a head is an HTTP status of a failure.
fn is_status(head: &PassageHead) -> bool {
    head.codes.iter().all(|code| code.len() == 3 && code.starts_with(['4', '5']) && is_integer(code))
}

struct Outliner<'a> {
    settings: &'a Settings,
    /// Enclosing headings of the next block, with their depths.
    path: Vec<(usize, String)>,
    done: Vec<Section>,
    joiner: Joiner,
    /// Heading that starts the next passage, if that is prose.
    pending: Option<PendingHeading>,
}

struct PendingHeading {
    depth: usize,
    title: String,
    head: Option<PassageHead>,
}

impl PendingHeading {
    /// Whether the heading is needed only in the path of the content below.
    fn is_context(&self) -> bool {
        self.depth < BOLD_LINE && self.head.as_ref().is_none_or(|head| head.strength == CodeLikelihood::Name)
    }
}

impl Outliner<'_> {
    fn entry(&mut self, block: &DocumentBlock, head: &PassageHead, below: &[HeadedBlock]) {
        if matches!(block.kind, BlockKind::Heading(_)) {
            self.leave(block.depth);
        }
        self.pending.take_if(|pending| pending.is_context());
        self.begin();
        self.joiner.flush();
        let below = below.iter().map(|below| &below.block);
        self.joiner.done.extend(entry(block, head, below, self.settings.entry_chars));
    }

    fn plain(&mut self, block: &DocumentBlock, head: Option<&PassageHead>) {
        if let BlockKind::Heading(title) = &block.kind {
            self.leave(block.depth);
            self.path.push((block.depth, title.clone()));
            self.pending = Some(PendingHeading { depth: block.depth, title: title.clone(), head: head.cloned() });
            return;
        }
        self.begin();
        match &block.kind {
            BlockKind::Item(text) | BlockKind::Prose(text) => self.joiner.add_prose(text),
            // A sample explains nothing, and a heading was handled above.
            BlockKind::Heading(_) | BlockKind::Code(_) => {}
            BlockKind::Row(record) => {
                self.joiner.flush();
                self.joiner.add(&record.lines().join("\n"), &[]);
                self.joiner.flush();
            }
        }
    }

    /// Starts a passage with the pending heading.
    fn begin(&mut self) {
        if let Some(PendingHeading { title, head, .. }) = self.pending.take() {
            self.joiner.flush();
            self.joiner.add(&title, head.as_ref().map_or(&[], |head| &head.codes));
        }
    }

    /// Ends the section and all headings that do not enclose one of `depth`.
    fn leave(&mut self, depth: usize) {
        self.pending.take_if(|pending| pending.depth < depth && pending.is_context());
        self.end_section();
        self.path.retain(|(above, _)| *above < depth);
    }

    fn end_section(&mut self) {
        self.begin();
        self.joiner.flush();
        let passages = std::mem::take(&mut self.joiner.done);
        if passages.is_empty() {
            return;
        }
        // A bold line is a heading for its paragraphs, but too minor for the section path.
        let path = self.path.iter().filter(|(depth, _)| *depth < BOLD_LINE).map(|(_, title)| title.clone()).collect();
        match self.done.last_mut() {
            Some(last) if last.path == path => last.passages.extend(passages),
            _ => self.done.push(Section { path, passages, ..Section::default() }),
        }
    }
}
