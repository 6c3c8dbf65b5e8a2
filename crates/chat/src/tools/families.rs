//! The table of families: marks in a template, and the form of calls that goes with them.
//!
//! The first row whose marks all stand in the template is taken, so rows with more marks, or with
//! rarer ones, come first. Facts: the published templates, and the model cards that show answers.

use super::elements::Elements;
use super::json::{Json, Layout};
use super::literal::{Braces, Python};
use super::named::{Header, Named};
use super::typed::Written;

/// One family of models that write calls alike.
pub(super) struct Family {
    pub name: &'static str,
    /// All of them stand in the family's templates.
    pub marks: &'static [&'static str],
    pub form: Form,
    /// Marks around what is said; they are no part of it.
    pub wraps: &'static [&'static str],
}

/// The forms that calls have.
pub(super) enum Form {
    Json(Json),
    Named(Named),
    Elements(Elements),
    /// Elements within elements.
    Nested,
    Python(Python),
    Braces(Braces),
    /// JSON without marks.
    Whole,
    /// A recipient on a line of its own.
    Recipients,
    /// Messages with headers.
    Channels,
}

/// Marks around thoughts: what stands in the template, what opens them, what closes them. The
/// first row whose text the template has is taken.
pub(super) const THOUGHTS: &[[&str; 3]] = &[
    ["<channel|>", "<|channel>thought", "<channel|>"],
    ["<|END_THINKING|>", "<|START_THINKING|>", "<|END_THINKING|>"],
    ["</seed:think>", "<seed:think>", "</seed:think>"],
    ["</mm:think>", "<mm:think>", "</mm:think>"],
    ["[/THINK]", "[THINK]", "[/THINK]"],
    ["[BEGIN FINAL RESPONSE]", "Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"],
    ["</think{}>", "<think:opensource>", "</think:opensource>"],
    ["open_tag('think')", "<|open|>think<|sep|>", "<|close|>think<|sep|>"],
    ["<|think|>", "<|think|>", "<|end|>"],
    ["</think>", "<think>", "</think>"],
];

const fn json(
    name: &'static str,
    marks: &'static [&'static str],
    open: &'static str,
    close: &'static str,
    layout: Layout,
) -> Family {
    Family { name, marks, form: Form::Json(Json { open, close, layout }), wraps: &[] }
}

/// Elements with the name behind `=`, as `<function=NAME>`.
const fn equals(section: (&'static str, &'static str)) -> Form {
    Form::Elements(Elements {
        section,
        open: "<function=",
        named: ">",
        key: "<parameter=",
        keyed: ">",
        value: "",
        end: "</parameter>",
        tag: "",
        close: "</function>",
        written: Written::Python,
    })
}

const DSML: Elements = Elements {
    section: ("<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>"),
    open: "<｜DSML｜invoke name=\"",
    named: "\"",
    key: "<｜DSML｜parameter name=\"",
    keyed: "\"",
    value: "",
    end: "</｜DSML｜parameter>",
    tag: ">",
    close: "</｜DSML｜invoke>",
    written: Written::Bare,
};

const DEEPSEEK: Named = Named {
    section: ("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
    open: "<｜tool▁call▁begin｜>",
    arguments: "<｜tool▁sep｜>",
    close: &["<｜tool▁call▁end｜>"],
    header: Header::Name,
};

const MISTRAL: Named = Named {
    section: ("", ""),
    open: "[TOOL_CALLS]",
    arguments: "[ARGS]",
    close: &[],
    header: Header::NameThenId("[CALL_ID]"),
};

const KEYED: Elements = Elements {
    section: ("", ""),
    open: "<tool_call>",
    named: "",
    key: "<arg_key>",
    keyed: "</arg_key>",
    value: "<arg_value>",
    end: "</arg_value>",
    tag: "",
    close: "</tool_call>",
    written: Written::Bare,
};

pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "harmony",
        marks: &["<|channel|>", "<|message|>", "<|call|>"],
        form: Form::Channels,
        wraps: &[],
    },
    Family {
        name: "muse",
        marks: &["<atem:invoke", "<|message|>"],
        form: Form::Channels,
        wraps: &[],
    },
    Family {
        name: "deepseek-v3.2",
        marks: &["｜DSML｜", "function_calls"],
        form: Form::Elements(Elements {
            section: ("<｜DSML｜function_calls>", "</｜DSML｜function_calls>"),
            ..DSML
        }),
        wraps: &[],
    },
    Family { name: "deepseek-v4", marks: &["｜DSML｜"], form: Form::Elements(DSML), wraps: &[] },
    Family {
        name: "deepseek-r1",
        marks: &["<｜tool▁call▁begin｜>", "```json"],
        form: Form::Named(Named {
            arguments: "\n```json",
            close: &["```", "<｜tool▁call▁end｜>"],
            header: Header::KindThenName("<｜tool▁sep｜>"),
            ..DEEPSEEK
        }),
        wraps: &[],
    },
    Family {
        name: "deepseek-v3.1",
        marks: &["<｜tool▁call▁begin｜>"],
        form: Form::Named(DEEPSEEK),
        wraps: &[],
    },
    Family {
        name: "kimi-k2",
        marks: &["<|tool_call_begin|>", "<|tool_call_argument_begin|>"],
        form: Form::Named(Named {
            section: ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
            open: "<|tool_call_begin|>",
            arguments: "<|tool_call_argument_begin|>",
            close: &["<|tool_call_end|>"],
            header: Header::Dotted,
        }),
        wraps: &[],
    },
    Family {
        name: "kimi-k3",
        marks: &["<|open|>", "open_tag('call'", "open_tag('argument'"],
        form: Form::Elements(Elements {
            section: ("<|open|>tools<|sep|>", "<|close|>tools<|sep|>"),
            open: "<|open|>call tool=\"",
            named: "\"",
            key: "<|open|>argument key=\"",
            keyed: "\"",
            value: "",
            end: "<|close|>argument<|sep|>",
            tag: "<|sep|>",
            close: "<|close|>call<|sep|>",
            written: Written::Bare,
        }),
        wraps: &[
            "<|open|>response<|sep|>",
            "<|close|>response<|sep|>",
            "<|close|>message<|sep|>",
            "<|end_of_msg|>",
        ],
    },
    Family {
        name: "solar",
        marks: &["<|tool_call:begin|>", "<|tool_call:args|>"],
        form: Form::Named(Named {
            section: ("<|tool_calls|>", "<|calls|>"),
            open: "<|tool_call:begin|>",
            arguments: "<|tool_call:args|>",
            close: &["<|tool_call:end|>"],
            header: Header::IdThenName("<|tool_call:name|>"),
        }),
        wraps: &["<|begin|>assistant", "<|content|>", "<|end|>"],
    },
    Family {
        wraps: &["<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"],
        ..json(
            "command-r7b",
            &["<|START_ACTION|>"],
            "<|START_ACTION|>",
            "<|END_ACTION|>",
            Layout::Named,
        )
    },
    json("command-r", &["Action:", "```json", "tool_name"], "Action:", "", Layout::Fenced),
    Family {
        name: "minimax-m3",
        marks: &["]<]minimax[>[", "<invoke"],
        form: Form::Nested,
        wraps: &[],
    },
    Family {
        name: "minimax-m2",
        marks: &["<minimax:tool_call>"],
        form: Form::Elements(Elements {
            section: ("<minimax:tool_call>", "</minimax:tool_call>"),
            open: "<invoke name=\"",
            named: "\"",
            key: "<parameter name=\"",
            keyed: "\"",
            value: "",
            end: "</parameter>",
            tag: ">",
            close: "</invoke>",
            written: Written::Bare,
        }),
        wraps: &[],
    },
    Family {
        name: "hunyuan",
        marks: &["<tool_call{}>", "<arg_key{}>", ":opensource"],
        form: Form::Elements(Elements {
            section: ("<tool_calls:opensource>", "</tool_calls:opensource>"),
            open: "<tool_call:opensource>",
            named: "<tool_sep:opensource>",
            key: "<arg_key:opensource>",
            keyed: "</arg_key:opensource>",
            value: "<arg_value:opensource>",
            end: "</arg_value:opensource>",
            tag: "",
            close: "</tool_call:opensource>",
            written: Written::Bare,
        }),
        wraps: &[],
    },
    Family {
        name: "glm",
        marks: &["<tool_call>", "<arg_key>", "<arg_value>"],
        form: Form::Elements(KEYED),
        wraps: &[],
    },
    Family {
        name: "seed",
        marks: &["<seed:tool_call>", "<function="],
        form: equals(("<seed:tool_call>", "</seed:tool_call>")),
        wraps: &[],
    },
    Family {
        name: "qwen3-coder",
        marks: &["<tool_call>", "<function=", "<parameter="],
        form: equals(("<tool_call>", "</tool_call>")),
        wraps: &[],
    },
    Family {
        name: "minicpm",
        marks: &["<function name=", "<param name="],
        form: Form::Elements(Elements {
            section: ("", ""),
            open: "<function name=\"",
            named: "\"",
            key: "<param name=\"",
            keyed: "\"",
            value: "",
            end: "</param>",
            tag: ">",
            close: "</function>",
            written: Written::Python,
        }),
        wraps: &[],
    },
    Family {
        name: "functionary-v3.1",
        marks: &["<function=", "</function>"],
        form: Form::Named(Named {
            section: ("", ""),
            open: "<function=",
            arguments: ">",
            close: &["</function>"],
            header: Header::Name,
        }),
        wraps: &[],
    },
    Family {
        name: "functionary-v3.2",
        marks: &[">>>all", "recipient"],
        form: Form::Recipients,
        wraps: &[],
    },
    Family {
        name: "mistral-named",
        marks: &["[TOOL_CALLS]", "[ARGS]"],
        form: Form::Named(MISTRAL),
        wraps: &[],
    },
    json("mistral", &["[TOOL_CALLS]"], "[TOOL_CALLS]", "", Layout::Named),
    json("nemotron", &["<TOOLCALL>"], "<TOOLCALL>", "</TOOLCALL>", Layout::Named),
    json("apertus", &["<|tools_prefix|>"], "<|tools_prefix|>", "<|tools_suffix|>", Layout::Keyed),
    json("tool_calls", &["<tool_calls>"], "<tool_calls>", "</tool_calls>", Layout::Named),
    json("firefunction", &["functools["], "functools", "", Layout::Named),
    json(
        "phi-4",
        &["<|tool_call|>", "<|/tool_call|>"],
        "<|tool_call|>",
        "<|/tool_call|>",
        Layout::Named,
    ),
    json("granite-3", &["<|tool_call|>"], "<|tool_call|>", "", Layout::Named),
    json("gigachat-3.1", &["<|function_call|>"], "<|function_call|>", "", Layout::Named),
    Family {
        wraps: &["<|message_sep|>"],
        ..json(
            "gigachat-3",
            &["function call", "<|role_sep|>"],
            "function call<|role_sep|>",
            "",
            Layout::Named,
        )
    },
    Family {
        name: "gemma-4",
        marks: &["<|tool_call>call:", "<tool_call|>"],
        form: Form::Braces(Braces { open: "<|tool_call>", close: "<tool_call|>", quote: "<|\"|>" }),
        wraps: &[],
    },
    Family {
        name: "functiongemma",
        marks: &["<start_function_call>call:", "<escape>"],
        form: Form::Braces(Braces {
            open: "<start_function_call>",
            close: "<end_function_call>",
            quote: "<escape>",
        }),
        wraps: &[],
    },
    Family {
        name: "lfm2",
        marks: &["<|tool_call_start|>"],
        form: Form::Python(Python { open: "<|tool_call_start|>", close: "<|tool_call_end|>" }),
        wraps: &[],
    },
    Family {
        name: "lfm2-listed",
        marks: &["<|tool_list_start|>"],
        form: Form::Python(Python { open: "<|tool_call_start|>", close: "<|tool_call_end|>" }),
        wraps: &[],
    },
    json("hermes", &["<tool_call>", "</tool_call>"], "<tool_call>", "</tool_call>", Layout::Named),
    Family {
        name: "llama-3",
        marks: &["<|start_header_id|>", "\"parameters\": "],
        form: Form::Whole,
        wraps: &[],
    },
];
