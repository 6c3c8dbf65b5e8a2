//! Scores of labels: how likely the model answers exactly this, and then stops.
//!
//! One prefill of the prompt; the labels' ids form a tree whose branches share what they have in
//! common, and all branches of one depth are read in one pass. The probability of a label is that
//! of its whole sequence of tokens and of an end after it, so no label gains by being the beginning
//! of another, and the order in which labels are given changes no bit.

use std::ops::Range;

use recinto_kernels::{Stop, math};
use recinto_os::Wiped;
use recinto_receipt::{Digest, sha256_ids};
use serde::Serialize;

use crate::{
    batch::{Batch, Feed},
    error::{Error, Kind, guarded},
    likelihood::normaliser,
    model::Model,
    options::Options,
    prompt::{Mode, Prompt, Request},
    reply::Usage,
    session::{Session, Want},
};

/// Rows of logits that are held at once; a vocabulary of 150,000 makes 0.6 MB of each.
const ROWS: usize = 32;

/// How likely each label is as the whole answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scores {
    /// One a label, in the order they were given.
    pub labels: Vec<LabelScore>,
    /// The probability that the model answers with any of them.
    pub mass: f64,
    /// Tokens of the prompt, and of all labels together as they were read.
    pub usage: Usage,
    /// Through the model's template or not.
    pub mode: Mode,
    /// SHA-256 of the prompt's token ids, as in receipts; `None` where no model read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Digest>,
}

/// How likely one label is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelScore {
    /// Among the labels: probabilities of all of them add up to 1.
    pub probability: f64,
    /// Natural logarithm of the probability of its tokens and of an end after them.
    pub logprob: f64,
    /// `logprob` divided by the number of tokens, the end included.
    pub mean: f64,
    /// Log-probability of each token, the end's last: of all tokens that end a reply together.
    pub parts: Vec<f64>,
}

impl Model {
    /// [`Session::score`] in a session of its own.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn score<L: AsRef<str>>(
        &self,
        request: &Request,
        labels: &[L],
        stop: &Stop,
    ) -> Result<Scores, Error> {
        self.session(&Default::default())?.score(request, labels, stop)
    }
}

impl Session {
    /// How likely the model answers `request` with each of `labels`, exactly and with nothing
    /// after. Logits are taken as the model gives them: no temperature, penalty or bias. What the
    /// session already holds of the prompt is not read again, and it stands behind the prompt
    /// afterwards.
    ///
    /// # Errors
    ///
    /// No label, an empty one, two that are the same tokens; a vocabulary without an end; a model
    /// that would think before it answers; whatever reading the prompt can meet.
    pub fn score<L: AsRef<str>>(
        &mut self,
        request: &Request,
        labels: &[L],
        stop: &Stop,
    ) -> Result<Scores, Error> {
        let model = self.model.clone();
        model.score_in(|_| Ok(self), request, labels, stop)
    }
}

impl Model {
    /// [`Session::score`] in the session that `choose` gives once the prompt's ids are known.
    ///
    /// # Errors
    ///
    /// As [`Model::reply_in`] and there.
    pub fn score_in<'s, L: AsRef<str>>(
        &self,
        choose: impl FnOnce(&[u32]) -> Result<&'s mut Session, Error>,
        request: &Request,
        labels: &[L],
        stop: &Stop,
    ) -> Result<Scores, Error> {
        guarded(|| {
            let labels: Vec<&str> = labels.iter().map(AsRef::as_ref).collect();
            self.whole()?;
            let scores = self.scored(choose, request, &labels, stop)?;
            // Nothing that was computed from other bytes may leave.
            self.whole()?;
            Ok(scores)
        })
    }

    fn scored<'s>(
        &self,
        choose: impl FnOnce(&[u32]) -> Result<&'s mut Session, Error>,
        request: &Request,
        labels: &[&str],
        stop: &Stop,
    ) -> Result<Scores, Error> {
        let model = self;
        let mut options = model.dated(&request.options);
        // A label is an answer: a model that can think is asked not to.
        options.thinking.get_or_insert(false);
        options.check(model.program().vocabulary)?;
        if model.tokenizer().ends().is_empty() {
            let what = "the vocabulary has no token that ends a reply, so no label can end";
            return Err(Error::new(Kind::Request, what));
        }
        let prompt = model.render(request, &options)?;
        if prompt.mode == Mode::Chat && model.opens_thought(&prompt) {
            let what = "the model's template makes it think before it answers";
            return Err(Error::new(Kind::Request, what)
                .hint("labels can be scored only as whole answers; take a model that need not"));
        }
        let mut tree = Tree::new(model, &prompt, labels)?;
        let longest = tree.ids.iter().map(|ids| ids.len()).max().unwrap_or(0);
        let needed = prompt.ids.len() + longest;
        let session = self.chosen(choose, &prompt)?;
        if needed > session.context() {
            let available = session.context();
            let what = format!("prompt and longest label need {needed} positions of {available}");
            let kind = Kind::Overflow { needed, available };
            return Err(Error::new(kind, what).hint(session.more_room()));
        }
        let cached = session.go_back_to(&prompt.ids)?;
        session.batch.block = options.block;
        let read = cached + session.read_to_meeting(&prompt.ids[cached..], stop)?;
        let row = session.feed(&prompt.ids[read..], Want::Last, stop)?;
        let groups = tree.read(0..labels.len(), 0, row);
        model.prompt_read();
        session.set_anchor()?;
        tree.grow(session, groups, &options, stop)?;
        let output_tokens = tree.fed;
        let (labels, mass) = tree.finish();
        let usage = Usage { prompt_tokens: prompt.ids.len(), cached_tokens: cached, output_tokens };
        let input = Some(sha256_ids(&prompt.ids));
        Ok(Scores { labels, mass, usage, mode: prompt.mode, input })
    }
}

/// The labels as sequences of ids, sorted; what was found out about each.
struct Tree {
    ids: Vec<Wiped<u32>>,
    /// Index among the labels as they were given.
    given: Vec<usize>,
    parts: Vec<Vec<f64>>,
    ends: Vec<u32>,
    fed: usize,
}

/// Labels that go on alike from `depth` to `until`, read behind the parent that is `session`.
struct Branch {
    labels: Range<usize>,
    depth: usize,
    until: usize,
}

impl Tree {
    fn new(model: &Model, prompt: &Prompt, labels: &[&str]) -> Result<Tree, Error> {
        if labels.is_empty() {
            return Err(Error::new(Kind::Request, "no label to score"));
        }
        let mut all = Vec::with_capacity(labels.len());
        for (given, label) in labels.iter().enumerate() {
            let ids = label_ids(model, prompt, label)?;
            if ids.is_empty() {
                return Err(Error::new(Kind::Request, format!("label {} is empty", given + 1)));
            }
            all.push((ids, given));
        }
        all.sort_by(|a, b| a.0[..].cmp(&b.0[..]));
        if let Some(pair) = all.windows(2).find(|pair| pair[0].0[..] == pair[1].0[..]) {
            let (a, b) = (pair[0].1 + 1, pair[1].1 + 1);
            let what = format!("labels {} and {} are the same tokens", a.min(b), a.max(b));
            return Err(Error::new(Kind::Request, what));
        }
        let (ids, given): (Vec<Wiped<u32>>, Vec<usize>) = all.into_iter().unzip();
        let parts = vec![Vec::new(); ids.len()];
        Ok(Tree { ids, given, parts, ends: model.tokenizer().ends().to_vec(), fed: 0 })
    }

    /// Takes what the row behind `depth` common ids of `labels` says; the branches that go on.
    fn read(&mut self, labels: Range<usize>, depth: usize, row: &[f32]) -> Vec<Branch> {
        let all = normaliser(row, |_| true);
        let value = |id: u32| row.get(id as usize).map_or(f64::NEG_INFINITY, |l| f64::from(*l));
        let mut branches = Vec::new();
        let mut at = labels.start;
        while at < labels.end {
            let Some(id) = self.ids[at].get(depth).copied() else {
                // The label ends here: any of the ends may follow.
                let ends = normaliser(row, |id| self.ends.contains(&id));
                self.parts[at].push(ends - all);
                at += 1;
                continue;
            };
            let same = |i: &usize| self.ids[*i].get(depth) == Some(&id);
            let end = (at..labels.end).take_while(same).count() + at;
            for parts in &mut self.parts[at..end] {
                parts.push(value(id) - all);
            }
            // Sorted: what the first and the last have in common, all have.
            let (first, last) = (&self.ids[at][..], &self.ids[end - 1][..]);
            let until = first.iter().zip(last).take_while(|(a, b)| a == b).count();
            branches.push(Branch { labels: at..end, depth, until });
            at = end;
        }
        branches
    }

    /// Reads branches and what grows from them, as many at once as rows may be held.
    fn grow(
        &mut self,
        root: &Session,
        branches: Vec<Branch>,
        options: &Options,
        stop: &Stop,
    ) -> Result<(), Error> {
        let model = root.model.clone();
        let mut batch = Batch::new(&model, options.block);
        // Depth first in groups, so that few sessions are alive at once.
        let mut waiting = vec![(root.fork()?, branches)];
        while let Some((parent, mut branches)) = waiting.pop() {
            let mut rows = 0;
            let fits = |branch: &Branch| {
                rows += branch.until - branch.depth;
                rows
            };
            let many = branches.iter().map(fits).take_while(|rows| *rows <= ROWS).count().max(1);
            let rest = branches.split_off(many.min(branches.len()));
            let mut sessions = Vec::with_capacity(branches.len());
            for _ in &branches {
                sessions.push(parent.fork()?);
            }
            if !rest.is_empty() {
                waiting.push((parent, rest));
            }
            let mut feeds: Vec<Feed<'_>> = sessions
                .iter_mut()
                .zip(&branches)
                .map(|(session, branch)| Feed {
                    session,
                    ids: &self.ids[branch.labels.start][branch.depth..branch.until],
                    want: Want::All,
                })
                .collect();
            model.step(&mut batch, &mut feeds, stop)?;
            for (number, (session, branch)) in sessions.into_iter().zip(branches).enumerate() {
                let Branch { labels, depth, until } = branch;
                self.fed += until - depth;
                let rows = batch.logits(number);
                let width = rows.len() / (until - depth);
                let mut grown = Vec::new();
                for (at, row) in rows.chunks_exact(width).enumerate() {
                    // Within a branch there is one way on, and only its last row may fork.
                    grown = self.read(labels.clone(), depth + at + 1, row);
                }
                if !grown.is_empty() {
                    waiting.push((session, grown));
                }
            }
        }
        Ok(())
    }

    /// Sums, and probabilities among the labels; sums run in the order of the ids.
    fn finish(self) -> (Vec<LabelScore>, f64) {
        let sums: Vec<f64> = self.parts.iter().map(|parts| parts.iter().sum()).collect();
        let best = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = sums.iter().map(|sum| math::exp_f64(sum - best)).collect();
        let total: f64 = weights.iter().sum();
        let mass = math::exp_f64(best) * total;
        let mut out: Vec<(usize, LabelScore)> = self
            .parts
            .into_iter()
            .zip(self.given)
            .zip(sums.iter().zip(weights))
            .map(|((parts, given), (sum, weight))| {
                let mean = sum / parts.len() as f64;
                let probability = weight / total;
                (given, LabelScore { probability, logprob: *sum, mean, parts })
            })
            .collect();
        out.sort_by_key(|(given, _)| *given);
        (out.into_iter().map(|(_, score)| score).collect(), mass)
    }
}

/// The ids that `label` has behind the prompt.
fn label_ids(model: &Model, prompt: &Prompt, label: &str) -> Result<Wiped<u32>, Error> {
    let tokenizer = model.tokenizer();
    let lock = model.0.lock_memory;
    let mut text = recinto_os::WipedText::new(lock);
    text.push_str(&prompt.text);
    text.push_str(label);
    let mut content = prompt.content.clone();
    content.push(prompt.text.len()..text.len());
    let tokens = tokenizer.encode(&text, &content)?;
    let mut ids = Wiped::new(lock);
    // Where the label's first letters would merge into the prompt's last token, the prompt stays
    // as it is and the label is read by itself.
    let border = prompt.text.len();
    let whole =
        tokens.iter().all(|token| token.end as usize <= border || token.start as usize >= border);
    if whole {
        tokens.iter().filter(|t| t.start as usize >= border).for_each(|t| ids.push(t.id));
    } else {
        tokenizer.encode_plain(label)?.iter().for_each(|token| ids.push(token.id));
    }
    Ok(ids)
}
