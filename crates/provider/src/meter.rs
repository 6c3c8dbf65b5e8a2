//! What an answer of this process takes out of the operator's budget: reserved before it begins,
//! set right when it is there.

use std::{
    borrow::Cow,
    time::{Duration, Instant},
};

use recinto_engine::Request;
use recinto_policy::{Budget, LOCAL, Usage};

use crate::{Error, Finish, Kind, span::Outcome};

/// For whom a request counts, and which model of this process answers it.
#[derive(Clone, Copy)]
pub(crate) struct Whose<'a> {
    /// Whoever the program counts for; the empty one where it names nobody.
    pub identity: &'a str,
    pub model: &'a str,
}

/// Carries out `request` by `work` within `budget`. Its prompt has as many tokens as `count` says,
/// its answer at most `output`. Without a deadline of its own it gets what is left of the seconds
/// as one; one that ends by that is an exhausted budget, not a cut answer.
pub(crate) fn within<T: Outcome>(
    budget: Option<&Budget>,
    whose: Whose<'_>,
    request: &Request,
    output: u64,
    count: impl FnOnce(&Request) -> Result<u64, Error>,
    work: impl FnOnce(&Request) -> Result<T, Error>,
) -> Result<T, Error> {
    let Some(budget) = budget.filter(|budget| budget.is_limited()) else { return work(request) };
    let Whose { identity, model } = whose;
    let left = budget.left(identity);
    let input = if left.tokens.is_some() { count(request)? } else { 0 };
    // Where nothing is left, a millisecond is more than that.
    let rest = left.millis.map(|millis| Duration::from_millis(millis.max(1)));
    let bound = rest.filter(|_| request.options.deadline.is_none());
    let time = request.options.deadline.or(bound).unwrap_or_default();
    let estimate = Usage { input, output, time };
    let reserved = budget.reserve(identity, LOCAL, model, &estimate)?;
    let mut request = Cow::Borrowed(request);
    if bound.is_some() {
        request.to_mut().options.deadline = bound;
    }
    let begun = Instant::now();
    let done = work(&request);
    let usage = done.as_ref().map(Outcome::usage).unwrap_or_default();
    let fed = usage.prompt_tokens.saturating_sub(usage.cached_tokens);
    let (input, output) = (fed as u64, usage.output_tokens as u64);
    reserved.settle(&Usage { input, output, time: begun.elapsed() });
    let over = match &done {
        Ok(done) => done.finish() == Some(Finish::Deadline.name()),
        Err(error) => *error.kind() == Kind::Deadline,
    };
    if over && bound.is_some() {
        let more = Usage { time: Duration::from_millis(u64::MAX), ..Usage::default() };
        // It cannot fit, and says whose seconds are used up.
        budget.reserve(identity, LOCAL, model, &more)?.release();
    }
    done
}
