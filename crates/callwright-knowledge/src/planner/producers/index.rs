//! The producers of all arguments of all tools.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::affinity::{Taker, is_possible, of_answer, of_field, of_tool};
use super::asked::{AskedSegment, Asking};
use super::candidate::{Candidate, Evidence, Tally};
use super::edges::Edges;
use super::profile::Profile;
use super::request::Request;
use super::segment::Segment;
use super::shape::ToolShape;
use super::tool::{Known, Output};
use callwright_search::embedding::Vector;
use callwright_search::retrieval::Term;

/// Tools that are looked at because the request asks for them: of the argument's own toolset, and of all others together.
const ASKED: usize = 24;
const ASKED_ELSEWHERE: usize = 12;

/// What a request says counts twice: it is about this argument, and all else about any.
const ASKED_WEIGHT: f32 = 2.0;

/// Tools that are known for one key; what more have tells none from another.
const MOST_ELSEWHERE: usize = 16;

/// What an operator's word weighs: more than all else together can.
const CONFIRMED: f32 = 100.0;

/// What weighs that a caller says of a tool that it is used.
const USED: f32 = 3.0;

/// What can supply which argument, over all toolsets: immutable, and cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Producers {
    pub(super) parts: Arc<[Part]>,
    word: Arc<OperatorsWord>,
    /// The tools whose answers have the key of a thing, for where there are several toolsets: names of keys, unlike other names, mean the
    /// same in all of them.
    keys: Arc<Keys>,
    /// Tools that may not be called.
    barred: Vec<Arc<HashSet<usize>>>,
}

type Keys = HashMap<Term, Vec<usize>>;

/// A tool, and where in its answer a value stands, where that is told.
type Source = (usize, Option<Box<str>>);

/// What an operator's file says, with the tools' positions.
#[derive(Debug, Default)]
struct OperatorsWord {
    /// By the tool and argument that it is for: from which tool, and where in its answer.
    confirmed: HashMap<(usize, Box<str>), Vec<Source>>,
    /// From which tool to which; an argument, or all of them.
    forbidden: HashSet<(usize, usize, Option<Box<str>>)>,
}

#[derive(Debug, Clone)]
pub(super) struct Part {
    /// The position of its first tool.
    pub(super) first: usize,
    segment: Arc<Segment>,
}

/// A request, read once for all arguments that it may need.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    pub(super) segments: Vec<AskedSegment>,
    /// The positions of the tools that it asks for most, best first.
    best: Vec<usize>,
    /// Those that are said to be used, in ascending order.
    used: Vec<usize>,
}

impl Producers {
    /// The producers among one toolset's tools.
    pub fn of(tools: &[ToolShape<'_>]) -> Self {
        Self::new([Arc::new(Segment::build(tools))])
    }

    /// The producers of several toolsets; a tool's position counts through all of them in their order.
    pub fn new(segments: impl IntoIterator<Item = Arc<Segment>>) -> Self {
        let mut first = 0;
        let part = |segment: Arc<Segment>| {
            let part = Part { first, segment };
            first += part.segment.len();
            part
        };
        let parts: Arc<[Part]> = segments.into_iter().map(part).collect();
        let mut keys = Keys::new();
        parts.iter().for_each(|part| part.add_keys(&mut keys));
        Self { parts, word: Arc::default(), keys: Arc::new(keys), barred: Vec::new() }
    }

    /// The same with one more toolset behind the others, which costs next to nothing where nobody knows what its tools answer with. What
    /// an operator says has to be said anew.
    #[must_use]
    pub fn and(&self, segment: Arc<Segment>) -> Self {
        let part = Part { first: self.len(), segment };
        let mut keys = Arc::clone(&self.keys);
        if part.segment.keys().next().is_some() {
            part.add_keys(Arc::make_mut(&mut keys));
        }
        let parts = self.parts.iter().cloned().chain([part]).collect();
        Self { parts, word: Arc::default(), keys, barred: self.barred.clone() }
    }

    /// The same without tools that may not be called: they supply nothing, and no name means them.
    #[must_use]
    pub fn without(mut self, positions: HashSet<usize>) -> Self {
        if !positions.is_empty() {
            self.barred.push(Arc::new(positions));
        }
        self
    }

    /// Is it known of any of them what it means? Then a request's vectors are of use.
    pub fn has_vectors(&self) -> bool {
        self.parts.iter().any(|part| part.segment.has_vectors())
    }

    /// May the tool at a position not be called?
    pub fn is_barred(&self, position: usize) -> bool {
        self.barred.iter().any(|barred| barred.contains(&position))
    }

    /// The same, by an operator's word. What names tools that are not here says nothing.
    #[must_use]
    pub fn with_edges(mut self, edges: &Edges) -> Self {
        let mut word = OperatorsWord::default();
        for edge in &edges.confirmed {
            let (Some(argument), Some(from), Some(to)) =
                (edge.argument.as_deref(), self.position(&edge.from), self.position(&edge.to))
            else {
                continue;
            };
            let output = edge.output.as_deref().map(Box::from);
            word.confirmed.entry((to, argument.into())).or_default().push((from, output));
        }
        for edge in &edges.forbidden {
            if let (Some(from), Some(to)) = (self.position(&edge.from), self.position(&edge.to)) {
                word.forbidden.insert((from, to, edge.argument.as_deref().map(Box::from)));
            }
        }
        self.word = Arc::new(word);
        self
    }

    /// The position of the tool of this name; of several the first.
    pub fn position(&self, name: &str) -> Option<usize> {
        let mut positions = self.parts.iter().filter_map(|part| Some(part.first + part.segment.position(name)?));
        positions.find(|position| !self.is_barred(*position))
    }

    /// The names in an operator's file of tools that are not here, each once.
    pub fn unknown<'a>(&self, edges: &'a Edges) -> BTreeSet<&'a str> {
        let names = edges.confirmed.iter().chain(&edges.forbidden).flat_map(|edge| [&edge.from, &edge.to]);
        names.map(String::as_str).filter(|name| self.position(name).is_none()).collect()
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.parts.last().map_or(0, |part| part.first + part.segment.len())
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads a request: which tools it asks for, and in which order. `vectors` are those of [`Request::texts`], by the embedder that made
    /// the tools'; without any, words alone are compared.
    pub fn ask(&self, request: &Request, vectors: &[Vector]) -> Asked {
        let segments: Vec<AskedSegment> =
            self.parts.iter().map(|part| AskedSegment::of(&part.segment, request, vectors, ASKED)).collect();
        let mut best: Vec<(f32, usize)> = Vec::new();
        for (part, asked) in self.parts.iter().zip(&segments) {
            let score = |tool: &u32| {
                let asking = asked.of_tool(*tool)?;
                Some((asking.fit + asking.lead, part.first + *tool as usize))
            };
            best.extend(asked.best().iter().filter_map(score));
        }
        best.sort_unstable_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        best.truncate(ASKED_ELSEWHERE);
        Asked { segments, best: best.into_iter().map(|(_, tool)| tool).collect(), used: Vec::new() }
    }

    /// The arguments of a tool, in the order of its schema.
    pub fn arguments(&self, tool: usize) -> impl Iterator<Item = &str> {
        let known = self.part_of(tool).and_then(|(_, part)| part.segment.tool(tool - part.first));
        known.into_iter().flat_map(|known| &known.inputs).map(|input| &*input.name)
    }

    /// The tools whose answers can supply an argument, best first; each tool once, with the field that supplies it best. None for a tool
    /// or argument that is not known. Equal candidates keep the order of the tools.
    pub fn candidates(&self, tool: usize, argument: &str, asked: &Asked, at_most: usize) -> Vec<Candidate> {
        let Some(search) = Search::new(self, tool, argument, asked) else { return Vec::new() };
        let mut found: Vec<(f32, usize, Option<usize>)> =
            search.places().into_iter().filter_map(|maker| search.best_field(maker)).collect();
        found.sort_unstable_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        found.truncate(at_most);
        found.into_iter().filter_map(|(_, maker, field)| search.candidate(maker, field)).collect()
    }

    fn part_of(&self, tool: usize) -> Option<(usize, &Part)> {
        let at = self.parts.partition_point(|part| part.first <= tool).checked_sub(1)?;
        let part = self.parts.get(at)?;
        (tool < part.first + part.segment.len()).then_some((at, part))
    }
}

impl Part {
    fn add_keys(&self, keys: &mut Keys) {
        for (key, tool) in self.segment.keys() {
            let tools = keys.entry(key).or_default();
            if tools.len() < MOST_ELSEWHERE {
                tools.push(self.first + tool as usize);
            }
        }
    }
}

impl Asked {
    /// Says which tools are used, where that is known: these alone come first.
    #[must_use]
    pub fn using(mut self, tools: impl IntoIterator<Item = usize>) -> Self {
        self.used = tools.into_iter().collect();
        self.used.sort_unstable();
        self.used.dedup();
        self
    }
}

/// The search for one argument's producers.
struct Search<'a> {
    producers: &'a Producers,
    asked: &'a Asked,
    position: usize,
    part: &'a Part,
    taker: Taker<'a>,
    /// What the request asks for in its toolset.
    own: Option<&'a AskedSegment>,
    /// What asks for the tool that takes the argument.
    asking: Option<&'a Asking>,
    /// From which tools it comes by an operator's word, and where in their answers.
    confirmed: &'a [Source],
}

impl<'a> Search<'a> {
    fn new(producers: &'a Producers, tool: usize, argument: &str, asked: &'a Asked) -> Option<Self> {
        let (at, part) = producers.part_of(tool)?;
        let known = part.segment.tool(tool - part.first)?;
        let input = known.input(argument)?;
        let profile = part.segment.profile(input.profile)?;
        let taker = Taker { segment: &part.segment, tool: known, input, profile };
        let of_tool = u32::try_from(tool - part.first).ok()?;
        let own = asked.segments.get(at);
        let asking = own.and_then(|asked| asked.of_tool(of_tool));
        let confirmed = producers.word.confirmed.get(&(tool, argument.into())).map_or(&[] as &[_], Vec::as_slice);
        Some(Self { producers, asked, position: tool, part, taker, own, asking, confirmed })
    }

    /// The tools that are looked at, in ascending order.
    fn places(&self) -> Vec<usize> {
        let likely = self.part.segment.likely(self.taker.input).iter().map(|at| self.part.first + *at as usize);
        let own = self.own.into_iter().flat_map(AskedSegment::best).map(|at| self.part.first + *at as usize);
        let asked = self.asked.best.iter().chain(&self.asked.used).copied().chain(own);
        let key = self.taker.profile.key.filter(|_| self.producers.parts.len() > 1);
        let elsewhere = key.and_then(|key| self.producers.keys.get(&key)).into_iter().flatten().copied();
        let mut places: Vec<usize> =
            likely.chain(elsewhere).chain(asked).chain(self.confirmed.iter().map(|(from, _)| *from)).collect();
        places.sort_unstable();
        places.dedup();
        places.retain(|from| !self.is_forbidden(*from) && !self.producers.is_barred(*from));
        places
    }

    fn is_confirmed(&self, from: usize) -> bool {
        self.confirmed.iter().any(|(confirmed, _)| *confirmed == from)
    }

    fn is_forbidden(&self, from: usize) -> bool {
        let forbidden = &self.producers.word.forbidden;
        !forbidden.is_empty()
            && (forbidden.contains(&(from, self.position, None))
                || forbidden.contains(&(from, self.position, Some(self.taker.input.name.clone()))))
    }

    /// The field of a tool's answer that suits best, with its score; the answer itself, where nobody knows what is in it.
    fn best_field(&self, maker: usize) -> Option<(f32, usize, Option<usize>)> {
        let maker = self.maker(maker)?;
        let mut of_maker = Tally::default();
        self.weigh_tool(&maker, &mut of_maker);
        let mut best: Option<(f32, usize)> = None;
        for (at, output) in maker.known.outputs.iter().enumerate() {
            let field = maker.part.segment.profile(output.profile);
            let Some(field) = field.filter(|field| is_possible(field, self.taker.profile)) else { continue };
            let mut tally = Tally::default();
            self.weigh_field(&maker, output, field, &mut tally);
            if best.is_none_or(|(score, _)| tally.score > score) {
                best = Some((tally.score, at));
            }
        }
        if let Some((score, at)) = best {
            return Some((of_maker.score + score, maker.position, Some(at)));
        }
        // Nobody knows what the answer holds, or an operator knows better; otherwise nothing in it can be the argument.
        let is_open = maker.known.outputs.is_empty() || self.is_confirmed(maker.position);
        of_answer(&self.taker, maker.known, &mut of_maker);
        is_open.then_some((of_maker.score, maker.position, None))
    }

    fn candidate(&self, maker: usize, field: Option<usize>) -> Option<Candidate> {
        let maker = self.maker(maker)?;
        let mut tally = Tally::explained();
        self.weigh_tool(&maker, &mut tally);
        let (mut pointer, mut in_list) = (String::new(), false);
        match field.and_then(|field| maker.known.outputs.get(field)) {
            None => of_answer(&self.taker, maker.known, &mut tally),
            Some(output) => {
                self.weigh_field(&maker, output, maker.part.segment.profile(output.profile)?, &mut tally);
                (pointer, in_list) = (output.pointer.to_string(), output.in_list);
            }
        }
        // An operator knows what is in an answer, whatever its schema promises.
        let word = self.confirmed.iter().find(|(from, _)| *from == maker.position);
        if let Some(told) = word.and_then(|(_, output)| output.as_deref()) {
            (pointer, in_list) = (told.to_owned(), told.split('/').any(|token| token == "0"));
        }
        Some(Candidate {
            tool: maker.position,
            output: pointer,
            in_list,
            score: tally.score,
            reasons: tally.into_reasons(),
        })
    }

    fn maker(&self, position: usize) -> Option<Maker<'a>> {
        let (at, part) = self.producers.part_of(position)?;
        let known = part.segment.tool(position - part.first)?;
        let asked = self.asked.segments.get(at);
        let asking = asked.and_then(|asked| asked.of_tool(u32::try_from(position - part.first).ok()?));
        Some(Maker { position, part, known, asked, asking })
    }

    fn weigh_tool(&self, maker: &Maker<'_>, tally: &mut Tally) {
        of_tool(&self.taker, maker.known, maker.position == self.position, tally);
        if self.is_confirmed(maker.position) {
            tally.add(Evidence::Confirmed, CONFIRMED);
        }
        if maker.part.first != self.part.first {
            tally.add(Evidence::Elsewhere, -1.0);
        }
        if self.asked.used.binary_search(&maker.position).is_ok() {
            tally.add(Evidence::Used, USED);
        }
        let Some(asking) = maker.asking else { return };
        tally.add(Evidence::Asked, asking.fit + ASKED_WEIGHT * asking.lead);
        let Some(own) = self.asking else { return };
        // The step right before counts once more.
        let order = match (asking.clause, own.clause) {
            (maker, taker) if maker + 1 == taker => 2.0,
            (maker, taker) if maker < taker => 1.0,
            (maker, taker) if maker > taker => -1.0,
            _ => 0.0,
        };
        tally.add(Evidence::Order, order * asking.lead);
    }

    fn weigh_field(&self, maker: &Maker<'_>, output: &Output, field: &Profile, tally: &mut Tally) {
        let bearers = maker.part.segment.bearers(field.whole);
        of_field(&self.taker, maker.known, output, field, bearers, tally);
        let Some(asked) = maker.asked else { return };
        let own = self.asking.map(|asking| asking.clause);
        tally.add(Evidence::FieldAsked, ASKED_WEIGHT * asked.says(&field.words, own));
        if let Some(own) = own.filter(|_| maker.position != self.position) {
            tally.add(Evidence::TakenUp, ASKED_WEIGHT * asked.says_in(&field.words, own));
        }
    }
}

/// A tool that may supply the argument.
struct Maker<'a> {
    position: usize,
    part: &'a Part,
    known: &'a Known,
    asked: Option<&'a AskedSegment>,
    asking: Option<&'a Asking>,
}
