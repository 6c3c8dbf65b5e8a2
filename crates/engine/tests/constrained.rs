//! Replies under a constraint: masks, forced tokens, thought before the answer, and its budget.

use crate::common;

use common::{open, sink};
use recinto_engine::{
    Constraint, Error, Finish, Follow, Mask, Model, Options, Reply, Request, Stop,
};

/// Lets exactly one of some sequences of ids through, then an end.
struct OneOf {
    sequences: Vec<Vec<u32>>,
    ends: Vec<u32>,
    so_far: Vec<u32>,
    /// Whether what has only one way on is forced.
    forces: bool,
}

impl OneOf {
    fn new(model: &Model, texts: &[&str], forces: bool) -> OneOf {
        let encode = |text: &&str| {
            let tokens = model.tokenizer().encode_plain(text).expect("tokens");
            tokens.iter().map(|token| token.id).collect()
        };
        OneOf {
            sequences: texts.iter().map(encode).collect(),
            ends: model.tokenizer().ends().to_vec(),
            so_far: Vec::new(),
            forces,
        }
    }

    fn ways(&self) -> Vec<Option<u32>> {
        let open = self.sequences.iter().filter(|s| s.starts_with(&self.so_far));
        let mut ways: Vec<_> = open.map(|s| s.get(self.so_far.len()).copied()).collect();
        ways.sort_unstable();
        ways.dedup();
        ways
    }
}

impl Constraint for OneOf {
    fn allowed(&mut self, mask: &mut Mask) -> Result<(), Error> {
        for way in self.ways() {
            match way {
                Some(id) => mask.insert(id),
                None => self.ends.iter().for_each(|id| mask.insert(*id)),
            }
        }
        Ok(())
    }

    fn commit(&mut self, id: u32) -> Result<Follow, Error> {
        self.so_far.push(id);
        let mut follow = Follow::default();
        while self.forces
            && let [Some(id)] = self.ways()[..]
        {
            follow.forced.push(id);
            self.so_far.push(id);
        }
        follow.complete = self.forces && self.ways() == [None];
        Ok(follow)
    }
}

fn reply(model: &Model, texts: &[&str], forces: bool, options: Options) -> Reply {
    let mut constraint = OneOf::new(model, texts, forces);
    let request = Request { options, completion: true, ..Request::user("Di algo: ") };
    let mut session = model.session(&Default::default()).expect("a session");
    let sink = &mut sink();
    session.reply_within(&request, Some(&mut constraint), &Stop::never(), sink).expect("a reply")
}

const TEXTS: [&str; 4] = ["sí", "sí, mañana", "no", "¿qué?"];

#[test]
fn only_what_is_allowed_comes_out() {
    for name in common::ARCHITECTURES {
        let model = open(name, 1);
        for seed in 0..8 {
            let options = || Options { temperature: 5.0, seed: Some(seed), ..Options::default() };
            let picked = reply(&model, &TEXTS, false, options());
            assert!(TEXTS.contains(&picked.text.as_str()), "{name} {seed}: {}", picked.text);
            assert_eq!((picked.complete, &picked.finish), (Some(true), &Finish::End), "{name}");
            // Forcing reads blocks instead of single tokens; what is drawn depends on the
            // position only, so the text is the same.
            let forced = reply(&model, &TEXTS, true, options());
            assert_eq!(forced.text, picked.text, "{name} {seed}");
            assert_eq!(forced.complete, Some(true), "{name}");
        }
    }
}

#[test]
fn a_reply_that_is_cut_is_not_complete() {
    let model = open("qwen2-quant", 1);
    let options = Options { max_tokens: 2, ..Options::default() };
    for forces in [false, true] {
        let cut = reply(&model, &["una respuesta bastante larga"], forces, options.clone());
        assert_eq!((cut.complete, &cut.finish), (Some(false), &Finish::Length), "{forces}");
    }
}

#[test]
fn likelihoods_stand_beside_each_token() {
    let model = open("qwen2-quant", 1);
    let options = Options { logprobs: Some(3), ..Options::default() };
    let told = reply(&model, &TEXTS, false, options);
    assert_eq!(told.logprobs.len(), told.usage.output_tokens);
    for token in &told.logprobs {
        assert!(token.logprob <= token.masked && token.masked <= 1e-9, "{token:?}");
        // Greedy: the token heads the list of the allowed.
        assert_eq!((token.top[0].id, token.top[0].masked), (token.id, token.masked));
    }
    let silent = reply(&model, &TEXTS, false, Options::default());
    assert!(silent.logprobs.is_empty());
    assert_eq!(silent.text, told.text);
}

#[test]
fn nothing_allowed_is_an_error() {
    struct Nothing;
    impl Constraint for Nothing {
        fn allowed(&mut self, _: &mut Mask) -> Result<(), Error> {
            Ok(())
        }
        fn commit(&mut self, _: u32) -> Result<Follow, Error> {
            Ok(Follow::default())
        }
    }
    let model = open("llama-plain", 1);
    let mut session = model.session(&Default::default()).expect("a session");
    let sink = &mut sink();
    let request = Request::user("hola");
    let result = session.reply_within(&request, Some(&mut Nothing), &Stop::never(), sink);
    assert!(result.err().expect("an error").to_string().contains("no token"));
}
