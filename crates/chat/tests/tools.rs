//! Calls of tools in answers: one row an answer, for each form that templates teach.

use crate::common;

use common::{conversations, models, source};
use recinto_chat::{Answer, CallFormat, Kind, Part, Template};
use serde_json::{Value, json};

/// A family, and the least text of a template that has its marks.
const TEMPLATES: &[(&str, &str)] = &[
    ("harmony", "<|channel|> <|message|> <|call|>"),
    ("muse", "<atem:invoke <|message|>"),
    ("deepseek-v3.2", "｜DSML｜ function_calls </think>"),
    ("deepseek-v4", "｜DSML｜ </think>"),
    ("deepseek-r1", "<｜tool▁call▁begin｜> ```json </think>"),
    ("deepseek-v3.1", "<｜tool▁call▁begin｜> </think>"),
    ("kimi-k2", "<|tool_call_begin|> <|tool_call_argument_begin|>"),
    ("kimi-k3", "<|open|> open_tag('call' open_tag('argument' open_tag('think')"),
    ("solar", "<|tool_call:begin|> <|tool_call:args|> <|think|>"),
    ("command-r7b", "<|START_ACTION|> <|END_THINKING|>"),
    ("command-r", "Action: ```json tool_name"),
    ("minimax-m3", "]<]minimax[>[ <invoke </mm:think>"),
    ("minimax-m2", "<minimax:tool_call> </think>"),
    ("hunyuan", "<tool_call{}> <arg_key{}> :opensource </think{}>"),
    ("glm", "<tool_call> <arg_key> <arg_value> </think>"),
    ("seed", "<seed:tool_call> <function= <parameter= </seed:think>"),
    ("qwen3-coder", "<tool_call> <function= <parameter= </think>"),
    ("minicpm", "<function name= <param name= </think>"),
    ("functionary-v3.1", "<function= </function>"),
    ("functionary-v3.2", ">>>all recipient"),
    ("mistral-named", "[TOOL_CALLS] [ARGS] [/THINK]"),
    ("mistral", "[TOOL_CALLS]"),
    ("nemotron", "<TOOLCALL> </think>"),
    ("apertus", "<|tools_prefix|>"),
    ("tool_calls", "<tool_calls> [BEGIN FINAL RESPONSE]"),
    ("firefunction", "functools["),
    ("phi-4", "<|tool_call|> <|/tool_call|>"),
    ("granite-3", "<|tool_call|>"),
    ("gigachat-3.1", "<|function_call|>"),
    ("gigachat-3", "function call <|role_sep|>"),
    ("gemma-4", "<|tool_call>call: <tool_call|> <channel|>"),
    ("functiongemma", "<start_function_call>call: <escape>"),
    ("lfm2", "<|tool_call_start|> </think>"),
    ("lfm2-listed", "<|tool_list_start|>"),
    ("hermes", "<tool_call> </tool_call> </think>"),
    ("llama-3", "<|start_header_id|> \"parameters\": "),
];

fn format(family: &str) -> CallFormat {
    let (_, template) = TEMPLATES.iter().find(|(name, _)| *name == family).unwrap();
    let format = CallFormat::of(template).unwrap();
    assert_eq!(format.name(), family);
    format
}

fn tools() -> Vec<Value> {
    let properties = json!({
        "city": {"type": "string"}, "days": {"type": "integer"}, "code": {"type": "string"},
        "far": {"type": ["number", "null"]}, "tags": {"type": "array"}, "sure": {"type": "boolean"},
        "any": {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    });
    let parameters = json!({"type": "object", "properties": properties});
    vec![
        json!({"type": "function", "function": {"name": "tiempo", "parameters": parameters}}),
        json!({"type": "function", "function": {"name": "hora"}}),
    ]
}

/// The parts as JSON: `{"text": …}`, `{"call": [name, arguments]}` and so on.
fn shown(answer: &Answer) -> Value {
    let parts = answer.parts.iter().map(|part| match part {
        Part::Thought(text) => json!({"thought": text}),
        Part::Text(text) => json!({"text": text}),
        Part::Unfinished(text) => json!({"unfinished": text}),
        Part::Call(call) => match &call.id {
            Some(id) => json!({"call": [call.name, call.arguments, id]}),
            None => json!({"call": [call.name, call.arguments]}),
        },
    });
    Value::Array(parts.collect())
}

fn logrono() -> Value {
    json!({"call": ["tiempo", {"city": "Logroño", "days": 2}]})
}

fn hora() -> Value {
    json!({"call": ["hora", {}]})
}

#[test]
fn answers_become_calls() {
    let (a, b) = (logrono(), hora());
    let typed = json!({"call": ["tiempo", {
        "city": "7", "days": 2, "far": null, "tags": ["ñ", 1], "sure": true, "code": "a\n <b>",
        "any": "x", "other": 5,
    }]});
    let cases: Vec<(&str, &str, Value)> = vec![
        (
            "hermes",
            "Miro.\n<tool_call>\n{\"name\": \"tiempo\", \"arguments\": {\"city\": \"Logroño\", \
             \"days\": 2}}\n</tool_call>\n<tool_call>\n{\"name\": \"hora\", \"arguments\": {}}\n\
             </tool_call>",
            json!([{"text": "Miro.\n"}, a, b]),
        ),
        (
            "hermes",
            "<think>\n¿<tool_call>{}</tool_call>?\n</think>\n\n<tool_call>{\"name\":\"hora\"}",
            json!([{"thought": "¿<tool_call>{}</tool_call>?"}, b]),
        ),
        (
            "hermes",
            "pienso</think>Ya. <tool_call>{\"name\": \"tiempo\", \"arguments\": \
             \"{\\\"city\\\": \\\"Logroño\\\", \\\"days\\\": 2}\"}</tool_call> ¿Vale?",
            json!([{"thought": "pienso"}, {"text": "Ya. "}, a, {"text": " ¿Vale?"}]),
        ),
        (
            "qwen3-coder",
            "Voy.\n\n<tool_call>\n<function=tiempo>\n<parameter=city>\n7\n</parameter>\n\
             <parameter=days>\n2\n</parameter>\n<parameter=far>\nNone\n</parameter>\n\
             <parameter=tags>\n[\"ñ\", 1]\n</parameter>\n<parameter=sure>\nTrue\n</parameter>\n\
             <parameter=code>\na\n <b>\n</parameter>\n<parameter=any>\nx\n</parameter>\n\
             <parameter=other>\n5\n</parameter>\n</function>\n</tool_call>",
            json!([{"text": "Voy.\n\n"}, typed]),
        ),
        ("qwen3-coder", "<function=hora>\n</function>\n</tool_call>", json!([b])),
        (
            "seed",
            "<seed:think>n</seed:think><seed:tool_call>\n<function=tiempo>\n<parameter=city>7\
             </parameter>\n<parameter=days>2</parameter>\n<parameter=far>None</parameter>\n\
             <parameter=tags>['ñ', 1]</parameter>\n<parameter=sure>True</parameter>\n\
             <parameter=code>a\n <b></parameter>\n<parameter=any>x</parameter>\n\
             <parameter=other>5</parameter>\n</function>\n</seed:tool_call>",
            json!([{"thought": "n"}, typed]),
        ),
        (
            "glm",
            "<tool_call>tiempo\n<arg_key>city</arg_key>\n<arg_value>7</arg_value>\n\
             <arg_key>days</arg_key><arg_value>2</arg_value><arg_key>far</arg_key>\n\
             <arg_value>null</arg_value><arg_key>tags</arg_key><arg_value>[\"ñ\", 1]</arg_value>\
             <arg_key>sure</arg_key><arg_value>true</arg_value><arg_key>code</arg_key>\
             <arg_value>a\n <b></arg_value><arg_key>any</arg_key><arg_value>x</arg_value>\
             <arg_key>other</arg_key><arg_value>5</arg_value>\n</tool_call>\n\
             <tool_call>hora</tool_call>",
            json!([typed, b]),
        ),
        (
            "hunyuan",
            "<tool_calls:opensource>\n<tool_call:opensource>tiempo<tool_sep:opensource>\n\
             <arg_key:opensource>city</arg_key:opensource>\n<arg_value:opensource>Logroño\
             </arg_value:opensource>\n<arg_key:opensource>days</arg_key:opensource>\n\
             <arg_value:opensource>2</arg_value:opensource>\n</tool_call:opensource>\n\
             <tool_call:opensource>hora<tool_sep:opensource>\n</tool_call:opensource>\n\
             </tool_calls:opensource>",
            json!([a, b]),
        ),
        (
            "minimax-m2",
            "x</think>\n\n<minimax:tool_call>\n<invoke name=\"tiempo\">\n<parameter \
             name=\"city\">Logroño</parameter>\n<parameter name=\"days\">2</parameter>\n\
             </invoke>\n<invoke name=\"hora\">\n</invoke>\n</minimax:tool_call>",
            json!([{"thought": "x"}, a, b]),
        ),
        (
            "minimax-m3",
            "</mm:think>]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"f\">]<]minimax[>[\
             <a>1]<]minimax[>[</a>]<]minimax[>[<l>]<]minimax[>[<item>x]<]minimax[>[</item>\
             ]<]minimax[>[<item>2]<]minimax[>[</item>]<]minimax[>[</l>]<]minimax[>[<o>\
             ]<]minimax[>[<k>v]<]minimax[>[</k>]<]minimax[>[</o>]<]minimax[>[</invoke>\n\
             ]<]minimax[>[</tool_call>",
            json!([{"call": ["f", {"a": 1, "l": ["x", 2], "o": {"k": "v"}}]}]),
        ),
        (
            "deepseek-v3.2",
            "</think>\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\n\
             <｜DSML｜parameter name=\"a\" string=\"true\">2</｜DSML｜parameter>\n\
             <｜DSML｜parameter name=\"b\" string=\"false\">{\"c\": [null]}</｜DSML｜parameter>\n\
             </｜DSML｜invoke>\n</｜DSML｜function_calls>",
            json!([{"call": ["f", {"a": "2", "b": {"c": [null]}}]}]),
        ),
        (
            "deepseek-v4",
            "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"hora\">\n\n</｜DSML｜invoke>\n\
             </｜DSML｜tool_calls>",
            json!([b]),
        ),
        (
            "deepseek-v3.1",
            "<think></think><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>tiempo<｜tool▁sep｜>\
             {\"city\": \"Logroño\", \"days\": 2}<｜tool▁call▁end｜><｜tool▁call▁begin｜>hora\
             <｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            json!([a, b]),
        ),
        (
            "deepseek-r1",
            "Pues</think>Ya<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>tiempo\n\
             ```json\n{\"city\": \"Logroño\", \"days\": 2}\n```<｜tool▁call▁end｜>\n\
             <｜tool▁call▁begin｜>function<｜tool▁sep｜>hora\n```json\n{}\n```<｜tool▁call▁end｜>\
             <｜tool▁calls▁end｜>",
            json!([{"thought": "Pues"}, {"text": "Ya"}, a, b]),
        ),
        (
            "kimi-k2",
            "Voy<|tool_calls_section_begin|><|tool_call_begin|>functions.hora:0\
             <|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
            json!([{"text": "Voy"}, {"call": ["hora", {}, "functions.hora:0"]}]),
        ),
        (
            "kimi-k3",
            "<|open|>think<|sep|>R<|close|>think<|sep|><|open|>response<|sep|>Hola<|close|>\
             response<|sep|><|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|>\
             <|open|>argument key=\"a\" type=\"string\"<|sep|>2<|close|>argument<|sep|><|open|>\
             argument key=\"b\" type=\"number\"<|sep|>2<|close|>argument<|sep|><|close|>call<|sep|>\
             <|close|>tools<|sep|><|close|>message<|sep|>",
            json!([{"thought": "R"}, {"text": "Hola"}, {"call": ["f", {"a": "2", "b": 2}]}]),
        ),
        (
            "solar",
            "<|think|>R<|end|><|begin|>assistant<|tool_calls|><|tool_call:begin|>id1\
             <|tool_call:name|>hora<|tool_call:args|>{}<|tool_call:end|><|calls|>",
            json!([{"thought": "R"}, {"call": ["hora", {}, "id1"]}]),
        ),
        (
            "command-r7b",
            "<|START_THINKING|>R<|END_THINKING|><|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \
             \"tool_name\": \"hora\", \"parameters\": {}}\n]<|END_ACTION|>",
            json!([{"thought": "R"}, {"call": ["hora", {}, "0"]}]),
        ),
        ("command-r7b", "<|START_RESPONSE|>Hola<|END_RESPONSE|>", json!([{"text": "Hola"}])),
        (
            "command-r",
            "Action: ```json\n[\n    {\n        \"tool_name\": \"tiempo\",\n        \
             \"parameters\": {\"city\": \"Logroño\", \"days\": 2}\n    }\n]```",
            json!([a]),
        ),
        (
            "command-r",
            "Action: correr. Action:\n```json\n[{\"tool_name\": \"hora\"}]\n```",
            json!([{"text": "Action: correr. "}, b]),
        ),
        (
            "mistral",
            "[TOOL_CALLS][{\"name\": \"tiempo\", \"arguments\": {\"city\": \"Logroño\", \
             \"days\": 2}, \"id\": \"abc\"}, {\"name\": \"hora\", \"arguments\": {}}]",
            json!([{"call": ["tiempo", {"city": "Logroño", "days": 2}, "abc"]}, b]),
        ),
        (
            "mistral-named",
            "[THINK]R[/THINK]Va[TOOL_CALLS]tiempo[CALL_ID]x1[ARGS]{\"city\": \"Logroño\", \
             \"days\": 2}[TOOL_CALLS]hora[ARGS]{}",
            json!([{"thought": "R"}, {"text": "Va"},
                {"call": ["tiempo", {"city": "Logroño", "days": 2}, "x1"]}, b]),
        ),
        (
            "functionary-v3.1",
            "<function=tiempo>{\"city\": \"Logroño\", \"days\": 2}</function><function=hora>{}\
             </function>",
            json!([a, b]),
        ),
        (
            "functionary-v3.2",
            "all\nMiro >>> esto\n>>>tiempo\n{\"city\": \"Logroño\", \"days\": 2}>>>hora\n{}",
            json!([{"text": "Miro >>> esto\n"}, a, b]),
        ),
        ("functionary-v3.2", "Hola\n¿Qué tal?", json!([{"text": "Hola\n¿Qué tal?"}])),
        (
            "functionary-v3.2",
            "python\nprint('ñ')\n",
            json!([{"call": ["python", {"code": "print('ñ')"}]}]),
        ),
        ("nemotron", "<TOOLCALL>[{\"name\": \"hora\", \"arguments\": {}}]</TOOLCALL>", json!([b])),
        (
            "apertus",
            "<|tools_prefix|>[{\"tiempo\": {\"city\": \"Logroño\", \"days\": 2}}, {\"hora\": {}}]\
             <|tools_suffix|>",
            json!([a, b]),
        ),
        (
            "tool_calls",
            "R\n[BEGIN FINAL RESPONSE]\n<tool_calls>\n{\"name\": \"hora\", \"arguments\": {}}\n\
             {\"name\": \"hora\", \"arguments\": {}}\n</tool_calls>",
            json!([{"thought": "R"}, b, b]),
        ),
        ("firefunction", " functools[{\"name\": \"hora\", \"arguments\": {}}]", json!([b])),
        (
            "phi-4",
            "<|tool_call|>[{\"name\": \"hora\", \"arguments\": {}}]<|/tool_call|>",
            json!([b]),
        ),
        ("granite-3", "<|tool_call|>[{\"name\": \"hora\", \"arguments\": {}}]", json!([b])),
        ("gigachat-3.1", "<|function_call|>{\"name\": \"hora\", \"arguments\": {}}", json!([b])),
        (
            "gigachat-3",
            "Voy<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"hora\", \
             \"arguments\": {}}<|message_sep|>\n",
            json!([{"text": "Voy\n\n"}, b]),
        ),
        (
            "gemma-4",
            "<|channel>thought\nR<channel|><|tool_call>call:f{a:<|\"|>x{,}<|\"|>,n:-2.5,none:None,\
             ok:true,l:[<|\"|>a<|\"|>,1],o:{k:<|\"|>ñ<|\"|>}}<tool_call|><|tool_call>call:hora{}\
             <tool_call|>",
            json!([{"thought": "R"}, {"call": ["f", {"a": "x{,}", "n": -2.5, "none": null,
                "ok": true, "l": ["a", 1], "o": {"k": "ñ"}}]}, b]),
        ),
        (
            "functiongemma",
            "<start_function_call>call:tiempo{city:<escape>Logroño<escape>,days:2}\
             <end_function_call>",
            json!([a]),
        ),
        (
            "lfm2",
            "<think>R</think><|tool_call_start|>[tiempo(city='Logroño', days=2), hora()]\
             <|tool_call_end|>Ya",
            json!([{"thought": "R"}, a, b, {"text": "Ya"}]),
        ),
        (
            "lfm2-listed",
            "<|tool_call_start|>[f(a=\"it's\\n\\u00f1\", b=[True, None, -1.5], c={'k': (1, 2)})]\
             <|tool_call_end|>",
            json!([{"call": ["f", {"a": "it's\nñ", "b": [true, null, -1.5], "c": {"k": [1, 2]}}]}]),
        ),
        (
            "llama-3",
            "{\"name\": \"tiempo\", \"parameters\": {\"city\": \"Logroño\", \"days\": 2}}",
            json!([a]),
        ),
        (
            "llama-3",
            "<|python_tag|>{\"type\": \"function\", \"name\": \"hora\", \"parameters\": {}}; \
             {\"name\": \"hora\", \"parameters\": null}",
            json!([b, b]),
        ),
        (
            "llama-3",
            "<|python_tag|>brave_search.call(query=\"Logroño\")",
            json!([{"call": ["brave_search", {"query": "Logroño"}]}]),
        ),
        (
            "llama-3",
            "<|python_tag|>print(\"ñ\")",
            json!([{"call": ["python", {"code": "print(\"ñ\")"}]}]),
        ),
        (
            "llama-3",
            "{\"name\": \"Ana\", \"edad\": 3} y {\"type\": \"function\", \"function\": {\"name\": \
             \"x\", \"parameters\": {}}}",
            json!([{"text": "{\"name\": \"Ana\", \"edad\": 3} y {\"type\": \"function\", \
                \"function\": {\"name\": \"x\", \"parameters\": {}}}"}]),
        ),
        (
            "harmony",
            "<|channel|>analysis<|message|>R<|end|><|start|>assistant<|channel|>commentary \
             to=functions.tiempo <|constrain|>json<|message|>{\"city\": \"Logroño\", \"days\": 2}\
             <|call|>",
            json!([{"thought": "R"}, a]),
        ),
        (
            "harmony",
            " to=functions.hora<|channel|>commentary json<|message|>{}<|call|>",
            json!([b]),
        ),
        (
            "harmony",
            "<|channel|>analysis<|message|>R<|end|><|start|>assistant<|channel|>final<|message|>\
             ¡Ya está!",
            json!([{"thought": "R"}, {"text": "¡Ya está!"}]),
        ),
        (
            "muse",
            " to=self<|message|>R<|eom|><|start|>assistant to=tiempo<|message|>\
             <atem:function_calls>\n<atem:invoke name=\"tiempo\">\n<atem:parameter name=\"city\">\
             Logroño</atem:parameter>\n<atem:parameter name=\"days\">2</atem:parameter>\n\
             </atem:invoke>\n</atem:function_calls><|eot|>",
            json!([{"thought": "R"}, a]),
        ),
        (
            "minicpm",
            "</think><function name=\"tiempo\"><param name=\"city\">Logroño</param><param \
             name=\"days\">2</param></function>\n<function name=\"hora\"></function>",
            json!([a, b]),
        ),
    ];
    let (mut faults, mut seen) = (Vec::new(), Vec::new());
    for (family, answer, want) in &cases {
        match format(family).parse(answer, &tools()) {
            Ok(got) if shown(&got) == *want => {}
            Ok(got) => {
                faults.push(format!("{family}: {answer}\n want {want}\n got  {}", shown(&got)))
            }
            Err(error) => faults.push(format!("{family}: {answer}\n want {want}\n got  {error}")),
        }
        seen.push(*family);
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
    for (family, _) in TEMPLATES {
        assert!(seen.contains(family), "no answer of {family}");
    }
}

/// Cut anywhere, an answer with calls gives fewer calls, a part that says so, or an error; never
/// a call that was not there, and never a mark as text.
#[test]
fn cut_answers_are_never_calls_of_their_own() {
    let answers = [
        (
            "hermes",
            "Voy: <tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"ñ{\"}}\n</tool_call>",
        ),
        (
            "qwen3-coder",
            "<tool_call>\n<function=f>\n<parameter=a>\nñ{\n</parameter>\n</function>\n</tool_call>",
        ),
        ("glm", "Voy: <tool_call>f\n<arg_key>a</arg_key>\n<arg_value>ñ{</arg_value>\n</tool_call>"),
        ("mistral", "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {\"a\": \"ñ{\"}}]"),
        ("mistral-named", "[TOOL_CALLS]f[ARGS]{\"a\": \"ñ{\"}"),
        (
            "kimi-k2",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begi\
             n|>{\"a\": \"ñ{\"}<|tool_call_end|><|tool_calls_section_end|>",
        ),
        (
            "deepseek-r1",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"a\": \"ñ{\"\
             }\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        ),
        ("gemma-4", "<|tool_call>call:f{a:<|\"|>ñ{<|\"|>}<tool_call|>"),
        ("lfm2", "<|tool_call_start|>[f(a='ñ{')]<|tool_call_end|>"),
        ("llama-3", "{\"name\": \"f\", \"parameters\": {\"a\": \"ñ{\"}}"),
        (
            "harmony",
            "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\": \"ñ{\"}<|cal\
             l|>",
        ),
        (
            "minimax-m2",
            "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"a\">ñ{</parameter>\n</inv\
             oke>\n</minimax:tool_call>",
        ),
        (
            "minimax-m3",
            "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"f\">]<]minimax[>[<a>ñ{]<]minima\
             x[>[</a>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
        ),
        (
            "command-r7b",
            "<|START_ACTION|>[{\"tool_name\": \"f\", \"parameters\": {\"a\": \"ñ{\"}}]<|END_ACTION\
             |>",
        ),
        ("functionary-v3.2", ">>>f\n{\"a\": \"ñ{\"}"),
    ];
    for (family, answer) in answers {
        let format = format(family);
        let whole = format.parse(answer, &[]).unwrap();
        let call = whole.calls().next().unwrap().clone();
        assert_eq!((call.name.as_str(), &call.arguments), ("f", &json!({"a": "ñ{"})), "{family}");
        for end in (0..answer.len()).filter(|end| answer.is_char_boundary(*end)) {
            let cut = &answer[..end];
            let part = format.parse(cut, &[]).unwrap_or_else(|e| panic!("{family}: {cut}: {e}"));
            let given: Vec<_> = part.calls().collect();
            assert!(given.is_empty() || (given.len() == 1 && *given[0] == call), "{family}: {cut}");
            assert!(!given.is_empty() || part.is_unfinished() || end < 9, "{family}: {cut}");
            let said = part.before() + &part.after();
            assert!(!said.contains(['[', '{', '|']) || end < 3, "{family}: {cut}: {said}");
        }
    }
}

#[test]
fn malformed_calls_are_errors_without_words_of_the_answer() {
    let cases = [
        ("hermes", "<tool_call>canario</tool_call>"),
        ("hermes", "<tool_call>{canario: 1}</tool_call>"),
        ("hermes", "<tool_call>{\"nombre\": \"canario\"}</tool_call>"),
        ("hermes", "<tool_call>{\"name\": \"canario\", \"arguments\": [1]}</tool_call>"),
        ("hermes", "<tool_call>{\"name\": \"canario\", \"arguments\": \"x\"}</tool_call>"),
        ("hermes", "<tool_call>{\"name\": \"el canario\", \"arguments\": {}}</tool_call>"),
        ("hermes", "<tool_call>{\"name\": \"canario\", \"arguments\": {}} canario</tool_call>"),
        (
            "hermes",
            "<tool_call>{\"name\": \"a\", \"arguments\": {}, \"parameters\": {}}</tool_call>",
        ),
        ("hermes", "<tool_call>{'name': 'canario', 'arguments': {}}</tool_call>"),
        ("hermes", "<tool_call></tool_call>"),
        ("mistral", "[TOOL_CALLS]canario"),
        ("mistral", "[TOOL_CALLS][1]"),
        ("mistral-named", "[TOOL_CALLS]canario[ARGS]canario"),
        ("qwen3-coder", "<tool_call>canario</tool_call>"),
        ("qwen3-coder", "<function=canario>canario</function>"),
        (
            "qwen3-coder",
            "<function=a><parameter=b>1</parameter><parameter=b>2</parameter></function>",
        ),
        ("glm", "<tool_call></tool_call>"),
        ("glm", "<tool_call>f\n<arg_key>a</arg_key>canario</tool_call>"),
        (
            "deepseek-v3.2",
            "<｜DSML｜invoke name=\"f\"><｜DSML｜parameter name=\"a\" string=\"false\">canario</｜DSML｜\
             parameter></｜DSML｜invoke>",
        ),
        ("deepseek-v3.1", "<｜tool▁calls▁begin｜>canario<｜tool▁calls▁end｜>"),
        ("minimax-m3", "]<]minimax[>[<tool_call>canario"),
        ("minimax-m3", "]<]minimax[>[<tool_call>]<]minimax[>[</tool_call>"),
        ("gemma-4", "<|tool_call>canario<tool_call|>"),
        ("gemma-4", "<|tool_call>call:f{a:canario}<tool_call|>"),
        ("lfm2", "<|tool_call_start|>[canario]<|tool_call_end|>"),
        ("lfm2", "<|tool_call_start|>[f(canario)]<|tool_call_end|>"),
        ("lfm2", "<|tool_call_start|>[]<|tool_call_end|>"),
        ("lfm2", "<|tool_call_start|>[f(a='\\ud800')]<|tool_call_end|>"),
        ("harmony", "<|channel|>commentary to=functions.f<|message|>canario<|call|>"),
        ("harmony", "<|channel|>commentary to=functions.f<|message|>{\"a\": <|call|>"),
        ("functionary-v3.2", ">>>f\ncanario"),
        ("command-r7b", "<|START_ACTION|>{}<|END_ACTION|>"),
        ("apertus", "<|tools_prefix|>[{\"f\": 1}]<|tools_suffix|>"),
    ];
    for (family, answer) in cases {
        let error = match format(family).parse(answer, &[]) {
            Err(error) => error,
            Ok(got) => panic!("{family}: {answer}: {}", shown(&got)),
        };
        assert_eq!(error.kind(), Kind::Call, "{family}: {answer}");
        assert!(!format!("{error} {error:?}").contains("canario"), "{family}: {error}");
    }
}

#[test]
fn a_template_of_no_known_family_says_so() {
    for template in ["", "{{ messages }}", "<|im_start|>", "<tool_call>", "[INST] {{ .Prompt }}"] {
        let error = CallFormat::of(template).map(|format| format.name()).unwrap_err();
        assert_eq!(error.kind(), Kind::Unsupported, "{template}");
    }
    let compiled = Template::new("{{ messages }}", "", "").unwrap();
    assert_eq!(compiled.call_format().map(drop).unwrap_err().kind(), Kind::Unsupported);
    let compiled = Template::new("<tool_call></tool_call>", "", "").unwrap();
    assert_eq!(compiled.call_format().unwrap().name(), "hermes");
}

/// Text made of marks and pieces of JSON: any answer is taken apart or refused, and quickly.
#[test]
fn random_answers_never_panic() {
    let mut pieces: Vec<String> = TEMPLATES
        .iter()
        .flat_map(|(_, template)| template.split(' '))
        .filter(|piece| !piece.is_empty())
        .map(str::to_owned)
        .collect();
    let more = [
        "{",
        "}",
        "[",
        "]",
        "\"",
        "'",
        ":",
        ",",
        "(",
        ")",
        "=",
        "\\",
        "\\u",
        "ñ",
        "😊",
        " ",
        "\n",
        "name",
        "\"name\": \"f\"",
        "\"arguments\": {}",
        "\"parameters\": {\"a\": 1}",
        "f",
        "1",
        "-",
        "call:f{",
        "</function>",
        "</parameter>",
        "</tool_call>",
        "</arg_key>",
        "</arg_value>",
        ">",
        "<",
        ">>>",
        "all\n",
        "python\n",
        "to=functions.f",
        "<|python_tag|>",
        "<|\"|>",
        "True",
        "functions.f:0",
        "<a>",
        "</a>",
        "</invoke>",
        "<invoke name=\"f\">",
        "<|start|>",
        "<|end|>",
        "[CALL_ID]",
        "<|tool_call_end|>",
        "<think>",
        "</think>",
        "```",
        "```json",
        "Action:",
    ];
    pieces.extend(more.map(str::to_owned));
    let mut state = 1u64;
    let mut random = |n: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    for round in 0..20_000 {
        let answer: String =
            (0..random(14)).map(|_| pieces[random(pieces.len())].as_str()).collect();
        let (family, _) = TEMPLATES[round % TEMPLATES.len()];
        match format(family).parse(&answer, &tools()) {
            Ok(got) => {
                let last = got.parts.len().saturating_sub(1);
                for (place, part) in got.parts.iter().enumerate() {
                    match part {
                        Part::Call(call) => {
                            assert!(call.arguments.is_object(), "{family}: {answer}")
                        }
                        Part::Unfinished(text) => {
                            assert!(place == last && !text.is_empty(), "{family}: {answer}");
                        }
                        _ => {}
                    }
                }
            }
            Err(error) => assert_eq!(error.kind(), Kind::Call, "{family}: {answer}"),
        }
    }
    for (family, _) in TEMPLATES {
        for piece in &pieces {
            let start = std::time::Instant::now();
            let _ = format(family).parse(&piece.repeat(60_000 / piece.len()), &tools());
            let took = start.elapsed();
            assert!(took.as_secs() < 5, "{family}: {piece}: {took:?}");
        }
    }
}

/// Templates that write no call in the conversation of the next test, or refuse it.
const SILENT: [&str; 7] = [
    // Wants `content` to be none, which a message cannot be.
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B",
    "llama-cpp-deepseek-r1",
    // Changes a list in place, which the reference's sandbox forbids.
    "Kimi-K2-Instruct",
    "Kimi-K2-Thinking",
    // Write no calls of the past, only what the model says.
    "LFM2-8B-A1B",
    "ibm-granite-granite-3.3-2B-Instruct",
    // Wants tools without `anyOf`, and descriptions in every one.
    "CohereForAI-c4ai-command-r-plus-tool_use",
];

/// What each published template writes for calls, its own family reads back.
#[test]
fn published_templates_are_read_back() {
    let Some(models) = models("published_templates_are_read_back") else { return };
    let all: Value = serde_json::from_str(include_str!("golden/templates.json")).unwrap();
    let mut conversation =
        conversations().into_iter().find(|c| c.name == "call at the end").unwrap();
    conversation.messages[2].content = String::new();
    conversation.messages[2].reasoning = None;
    // One family of models is given its tools by these names.
    for name in ["functions", "datetime"] {
        conversation.options.variables.insert(name.to_owned(), "[]".into());
    }
    let mut asking = conversation.options.clone();
    asking.add_generation_prompt = true;
    let (mut read, mut faults) = (0, Vec::new());
    for name in all.as_object().unwrap().keys().filter(|name| !name.starts_with("own/")) {
        let Some(source) = source(name, Some(&models)) else { continue };
        let Ok(format) = CallFormat::of(&source) else {
            println!("no family: {name}");
            continue;
        };
        let template = Template::new(&source, "<s>", "</s>").unwrap();
        // Some templates write one call only, or want the arguments as text.
        let found = [(2, false), (2, true), (1, false), (1, true)].into_iter().any(|row| {
            let mut messages = conversation.messages.clone();
            messages[2].tool_calls.truncate(row.0);
            let want = messages[2].tool_calls.clone();
            for call in messages[2].tool_calls.iter_mut().filter(|_| row.1) {
                call.arguments = call.arguments.to_string().into();
            }
            let render = |messages: &[recinto_chat::Message], options| {
                template.render(messages, options).map(|rendered| rendered.text.clone())
            };
            let (Ok(with), Ok(asked), Ok(before)) = (
                render(&messages, &conversation.options),
                render(&messages[..2], &asking),
                render(&messages[..2], &conversation.options),
            ) else {
                return false;
            };
            // The answer begins behind the prompt; a prompt that opens thoughts is another one.
            let answer = with.strip_prefix(&*asked).or_else(|| with.strip_prefix(&*before));
            let common = with.bytes().zip(before.bytes()).take_while(|(a, b)| a == b).count();
            let answer = answer.unwrap_or_else(|| with.get(common..).unwrap_or_default());
            let answer = answer.trim_end_matches("<|eot_id|>");
            match format.parse(answer, &conversation.options.tools) {
                Ok(got) => {
                    got.calls().count() == row.0
                        && got.calls().zip(&want).all(|(got, want)| {
                            got.name == want.name && got.arguments == want.arguments
                        })
                }
                Err(error) => {
                    println!("{name} ({}): {error}", format.name());
                    false
                }
            }
        });
        read += usize::from(found);
        let silent = SILENT.iter().any(|silent| name.contains(&format!("{silent}.jinja")));
        if found == silent {
            faults.push(format!("{name} ({}): read back: {found}", format.name()));
        }
    }
    println!("{read} templates read back");
    assert!(faults.is_empty() && read > 0, "{} faults\n{}", faults.len(), faults.join("\n"));
}
