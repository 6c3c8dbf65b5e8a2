//! Calls of tools in a reply, read by the form that the model's template teaches.

use recinto_chat::{Part, ToolCall};
use recinto_os::WipedText;
use recinto_tokenizer::Stream;
use serde_json::Value;

use crate::{
    error::{Error, Kind},
    model::Model,
    prompt::{Mode, Prompt},
};

/// What stands in a reply besides text.
#[derive(Default)]
pub(crate) struct Calls {
    pub calls: Vec<ToolCall>,
    /// What was said apart from calls; `None` where the text stands as it is.
    pub said: Option<String>,
    /// What a reader should know.
    pub note: Option<String>,
}

/// Reads the calls in `output`, where `tools` were offered.
///
/// # Errors
///
/// [`Kind::Call`] for a call that is complete and not well formed: it is neither a call nor text.
pub(crate) fn read(
    model: &Model,
    prompt: &Prompt,
    tools: &[Value],
    output: &[u32],
) -> Result<Calls, Error> {
    let template = model.chat_template().filter(|_| prompt.mode == Mode::Chat);
    let Some(template) = template.filter(|_| !tools.is_empty()) else {
        return Ok(Calls::default());
    };
    let format = match template.call_format() {
        Ok(format) => format,
        Err(error) => {
            let note = error.to_string().lines().next().map(str::to_owned);
            return Ok(Calls { note, ..Calls::default() });
        }
    };
    let mut text = WipedText::new(model.0.lock_memory);
    if model.opens_thought(prompt) {
        text.push_str("<think>");
    }
    let ends = model.tokenizer().ends();
    let ids = output.iter().filter(|id| !ends.contains(id));
    let mut stream = Stream::new().show_specials(true).continuing();
    for id in ids {
        text.push_str(stream.push(model.tokenizer(), *id)?);
    }
    text.push_str(&stream.finish());
    let mut answer = format.parse(&text, tools).map_err(|_| {
        let what = "the answer calls a tool in a way that is not well formed";
        Error::new(Kind::Call, what).hint("ask again, or with fewer or simpler tools")
    })?;
    let note = answer.is_unfinished().then(|| "the reply ends inside a call of a tool".to_owned());
    if answer.calls().next().is_none() && note.is_none() {
        return Ok(Calls::default());
    }
    let said = answer.before() + &answer.after();
    let parts = std::mem::take(&mut answer.parts).into_iter();
    let calls = parts.filter_map(|part| match part {
        Part::Call(call) => Some(call),
        _ => None,
    });
    Ok(Calls { calls: calls.collect(), said: Some(said.trim().to_owned()), note })
}
