//! Calls of tools in replies: found by the template's form, apart from the text.

use crate::common;

use std::ops::ControlFlow;

use common::open;
use recinto_engine::{
    Constraint, Error, Follow, Kind, Mask, Model, OpenOptions, Reply, Request, Stop, StoreTemplate,
};
use serde_json::json;

/// A template of a family that writes calls as JSON between tags.
const TEMPLATE: &str = "{{ range .Messages }}<|im_start|>{{ .Role }}\n{{ .Content }}<|im_end|>\n\
    {{ end }}{{ if .Tools }}<tools>{{ range .Tools }}{{ . }}{{ end }}</tools> answer with \
    <tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>\
    {{ end }}<|im_start|>assistant\n";

/// Says one text and stops.
struct Says {
    ids: Vec<u32>,
    at: usize,
    ends: Vec<u32>,
}

impl Constraint for Says {
    fn allowed(&mut self, mask: &mut Mask) -> Result<(), Error> {
        match self.ids.get(self.at) {
            Some(id) => mask.insert(*id),
            None => self.ends.iter().for_each(|id| mask.insert(*id)),
        }
        Ok(())
    }

    fn commit(&mut self, _: u32) -> Result<Follow, Error> {
        self.at += 1;
        Ok(Follow { forced: Vec::new(), complete: self.at == self.ids.len() })
    }
}

fn model() -> Model {
    let options = OpenOptions {
        threads: Some(1),
        template: Some(StoreTemplate::Go {
            text: TEMPLATE.into(),
            store: "Ollama store /modelos".into(),
        }),
        ..OpenOptions::default()
    };
    Model::open(&common::tiny("qwen2-quant"), &options).expect("a model")
}

fn says(model: &Model, text: &str, tools: bool) -> Result<Reply, Error> {
    let tokens = model.tokenizer().encode_plain(text).expect("tokens");
    let ids = tokens.iter().map(|token| token.id).collect();
    let mut constraint = Says { ids, at: 0, ends: model.tokenizer().ends().to_vec() };
    let weather = json!({
        "type": "function",
        "function": {
            "name": "tiempo",
            "description": "El tiempo que hace",
            "parameters": {"type": "object", "properties": {"ciudad": {"type": "string"}}}
        }
    });
    let tools = if tools { vec![weather] } else { Vec::new() };
    let request = Request { tools, ..Request::user("¿Qué tiempo hace en Cádiz?") };
    let mut session = model.session(&Default::default()).expect("a session");
    let sink = &mut |_: recinto_engine::Piece<'_>| ControlFlow::Continue(());
    session.reply_within(&request, Some(&mut constraint), &Stop::never(), sink)
}

#[test]
fn calls_stand_apart_from_the_text() {
    let model = model();
    let call =
        "<tool_call>\n{\"name\": \"tiempo\", \"arguments\": {\"ciudad\": \"Cádiz\"}}\n</tool_call>";
    let text = format!("Voy a mirarlo. {call}");
    let reply = says(&model, &text, true).expect("a reply");
    assert_eq!(reply.calls.len(), 1, "{}", reply.text);
    assert_eq!(reply.calls[0].name, "tiempo");
    assert_eq!(reply.calls[0].arguments, json!({"ciudad": "Cádiz"}));
    assert_eq!(reply.text, "Voy a mirarlo.");
    // Nothing was offered: the letters are text.
    let plain = says(&model, &text, false).expect("a reply");
    assert_eq!((plain.calls.len(), plain.text.as_str()), (0, text.as_str()));
    // Cut: neither a call nor text, and said.
    let cut = says(&model, &text[..text.len() - 18], true).expect("a reply");
    assert_eq!((cut.calls.len(), cut.text.as_str()), (0, "Voy a mirarlo."));
    assert!(cut.notes.iter().any(|note| note.contains("inside a call")), "{:?}", cut.notes);
    let error = says(&model, "<tool_call>\n{\"nombre\": 3}\n</tool_call>", true).err();
    assert_eq!(*error.expect("an error").kind(), Kind::Call);
}

#[test]
fn a_template_without_a_form_says_so() {
    let model = open("qwen2-quant", 1);
    let Ok(reply) = says(&model, "hola", true) else { return };
    assert!(reply.calls.is_empty());
    assert_eq!(reply.text, "hola");
}
