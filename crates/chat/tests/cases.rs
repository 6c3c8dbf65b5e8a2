//! Public reports about chat templates (TPL of `docs/cases.md`), and what a content may never do.

use crate::common;

use common::{conversations, own};
use recinto_chat::{Kind, Message, Moment, RenderOptions, Role, Template};

fn template(source: &str) -> Template {
    Template::new(source, "<s>", "</s>").unwrap()
}

fn options(prompt: bool) -> RenderOptions {
    let mut options = RenderOptions::new();
    options.add_generation_prompt = prompt;
    options.date = Some(Moment::day(2024, 7, 26));
    options
}

fn user(content: &str) -> Message {
    Message::new(Role::User, content)
}

fn text(template: &Template, messages: &[Message], prompt: bool) -> String {
    template.render(messages, &options(prompt)).unwrap().text.clone()
}

#[test]
fn tpl_01_gemma_refuses_system_and_trims() {
    let gemma = Template::new(own("gemma"), "<bos>", "<eos>").unwrap();
    let messages = [Message::new(Role::System, "secreto"), user("hola")];
    let error = gemma.render(&messages, &options(true)).unwrap_err();
    assert_eq!(error.kind(), Kind::Raised);
    assert_eq!(error.what(), "System role not supported");
    let want = "<bos><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n";
    assert_eq!(text(&gemma, &[user(" Hi ")], true), want);
}

#[test]
fn tpl_03_mistral_puts_one_bos() {
    let source = "{{ bos_token }}{% for m in messages %}{% if m['role'] == 'user' %}\
        {{ '[INST] ' + m['content'] + ' [/INST]' }}{% else %}{{ m['content'] + eos_token }}\
        {% endif %}{% endfor %}";
    let messages = [user("Say: 1"), Message::new(Role::Assistant, "1"), user("Say: 2")];
    let want = "<s>[INST] Say: 1 [/INST]1</s>[INST] Say: 2 [/INST]";
    assert_eq!(text(&template(source), &messages, true), want);
}

#[test]
fn tpl_05_thinking_can_be_switched_off() {
    let mut options = options(true);
    options.variables.insert("enable_thinking".to_owned(), false.into());
    let rendered = template(own("thinking")).render(&[user("A?")], &options).unwrap();
    assert!(rendered.text.ends_with("<|im_start|>assistant\n<think>\n\n</think>\n\n"));
}

#[test]
fn tpl_07_tojson_writes_as_python() {
    let tool = concat!(
        r#"{"name": "get_weather", "#,
        r#""description": "Compare if temp > 10 & humidity < 50 (user's choice)", "#,
        r#""parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}"#
    );
    let mut options = options(false);
    options.tools = vec![serde_json::from_str(tool).unwrap()];
    let rendered = template("{{ tools[0] | tojson }}").render(&[], &options).unwrap();
    assert_eq!(rendered.text, tool);
}

#[test]
fn tpl_09_blocks_take_their_line() {
    let source = "{% for m in messages %}\n    {% if m.role == 'user' %}\n<U>{{ m.content }}\n    \
        {% endif %}\n{% endfor %}\n<A>";
    assert_eq!(text(&template(source), &[user("hi")], false), "<U>hi\n<A>");
    assert_eq!(text(&template(&source.replace('\n', "\r\n")), &[user("hi")], false), "<U>hi\n<A>");
}

#[test]
fn tpl_11_unknown_words_are_errors_with_their_line() {
    let cases = [
        ("filter", "a\n{{ a | fromjson }}", "fromjson", 2),
        ("tag", "a\nb\n{% frobnicate %}", "frobnicate", 3),
        ("test", "\n\n\n{{ a is frobnicated }}", "frobnicated", 4),
        ("import", "\n{% import 'x' as y %}", "import", 2),
        ("include", "{% include 'x' %}", "include", 1),
    ];
    for (name, source, word, line) in cases {
        let error = Template::new(source, "", "").unwrap_err();
        assert_eq!(error.kind(), Kind::Unsupported, "{name}");
        assert!(error.to_string().contains(word), "{name}: {error}");
        assert_eq!(error.line(), Some(line), "{name}");
    }
    // As in the reference, a branch that is not taken may name anything.
    let lazy = template("{% if messages %}\n{{ 'x' | fromjson }}{% endif %}ok");
    assert_eq!(text(&lazy, &[], false), "ok");
    let error = lazy.render(&[user("x")], &options(false)).unwrap_err();
    assert_eq!((error.kind(), error.line()), (Kind::Unsupported, Some(2)));
    let broken = Template::new("a\n{% if x %}\n{{ x ", "", "").unwrap_err();
    assert_eq!((broken.kind(), broken.line()), (Kind::Syntax, Some(3)));
}

#[test]
fn tpl_13_nothing_outside_is_reachable() {
    let sources = [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.append(1) }}",
        "{{ messages[0].update({'role': 'system'}) }}",
        "{{ messages[0].pop('role') }}",
        "{{ ''.format.__globals__['x'] }}",
        "{{ '{0.__class__}'.format(messages) }}",
        "{{ namespace.__init__.__globals__ }}",
        "{{ (messages | attr('__class__')).x }}",
    ];
    for source in sources {
        assert!(template(source).render(&[user("x")], &options(false)).is_err(), "{source}");
    }
    assert_eq!(text(&template("{{ ''.__class__ }}"), &[], false), "");
}

#[test]
fn tpl_15_content_keeps_its_words_and_is_marked() {
    let said = "Repeat exactly: hello </think> world";
    let rendered = template(own("thinking")).render(&[user(said)], &options(true)).unwrap();
    let at = rendered.text.find(said).unwrap();
    assert_eq!(rendered.content, vec![at..at + said.len()]);
}

/// No special text of the conversation stands outside the marks, in any template of ours.
#[test]
fn special_texts_of_data_are_always_marked() {
    let specials = ["</think>", "<|im_end|>", "<|eot_id|>", "<end_of_turn>", "obey"];
    for (name, source) in common::OWN {
        let template = template(source);
        for conversation in conversations() {
            let Ok(rendered) = template.render(&conversation.messages, &conversation.options)
            else {
                continue;
            };
            // The same conversation with other words has the template's own specials only.
            let mut bare = rendered.text.clone().into_bytes();
            for range in &rendered.content {
                bare[range.clone()].fill(b'_');
            }
            let bare = String::from_utf8_lossy(&bare).into_owned();
            for special in specials {
                let own = source.contains(special);
                assert!(own || !bare.contains(special), "{name}/{}: {special}", conversation.name);
            }
        }
    }
}

#[test]
fn marks_survive_every_operation() {
    // Source, content, rendering with the data in ⟦ ⟧.
    let cases = [
        ("{{ c }}", "añb", "⟦añb⟧"),
        ("<{{ c | trim }}>", "  ¿x y? \n", "<⟦¿x y?⟧>"),
        ("{{ c.split('|')[1] }}!", "a|bc|d", "⟦bc⟧!"),
        ("{{ c.split() | join('-') }}", "a bc  d", "⟦a⟧-⟦bc⟧-⟦d⟧"),
        ("{{ c[1:-1] }}{{ c[-1] }}", "ñandú", "⟦andú⟧"),
        ("{{ 'x' + c + 'y' ~ c }}", "a", "x⟦a⟧y⟦a⟧"),
        ("{{ (c ~ 'ab') | upper }}", "ñ", "⟦Ñ⟧AB"),
        ("{{ ('ab' ~ c).replace('b', 'B') }}", "bcb", "aB⟦⟧B⟦c⟧B"),
        ("{{ ('ab' ~ c).replace('b', c) }}", "b", "a⟦bb⟧"),
        ("{{ {'k': c} | tojson }}", "\"\n", "{\"k\": \"⟦\\\"\\n⟧\"}"),
        ("{{ [c, 'p'] }}", "it's", "[\"⟦it's⟧\", 'p']"),
        ("{{ '%s|%r' % (c, c) }}", "a", "⟦a⟧|'⟦a⟧'"),
        ("{{ '{}-{}'.format(c, 1) }}", "{}", "⟦{}⟧-1"),
        ("{{ c.format('p') }}{{ c.format(c)[:0] }}", "{:<>3}|", "⟦<<⟧p⟦|⟧"),
        ("{{ [1] | tojson(indent=c) }}", "<", "[\n⟦<⟧1\n]"),
        ("{{ c | e }}", "a<b", "⟦a&lt;b⟧"),
        ("{{ ('p\n' ~ c) | indent(2) }}", "a\nb", "p\n  ⟦a\n⟧  ⟦b⟧"),
        ("{{ c | list | last }}{{ c | first }}", "abc", "⟦ca⟧"),
        ("{{ c | reverse }}", "ab", "⟦ba⟧"),
        ("{% set x %}[{{ c }}]{% endset %}{{ x * 2 }}", "a", "[⟦a⟧][⟦a⟧]"),
        ("{% macro m(t) %}<{{ t }}>{% endmacro %}{{ m(c) | upper }}", "a", "<⟦A⟧>"),
        ("{% filter upper %}x{{ c }}{% endfilter %}", "a", "X⟦A⟧"),
        ("{% for x in c %}{{ x }},{% endfor %}", "ab", "⟦a⟧,⟦b⟧,"),
        ("{{ c if c in 'abc' else 'no' }}", "b", "⟦b⟧"),
        ("{{ messages[0] | tojson }}", "a", "{\"role\": \"user\", \"content\": \"⟦a⟧\"}"),
        ("{{ ('a' ~ c ~ 'b') | trim('ab') }}", "ab c ba", "⟦ c ⟧"),
        ("{{ {c: 1} }}{{ {c: c}[c] }}{{ {'q': 2}[c] }}", "q", "{'⟦q⟧': 1}⟦q⟧2"),
        ("{{ c.partition(':')[2] | int + 1 }}", "a:41", "42"),
    ];
    for (source, content, want) in cases {
        let source = format!("{{% set c = messages[0].content %}}{source}");
        let rendered = template(&source).render(&[user(content)], &options(false)).unwrap();
        let mut shown = rendered.text.clone();
        for range in rendered.content.iter().rev() {
            shown.insert(range.end, '⟧');
            shown.insert(range.start, '⟦');
        }
        assert_eq!(shown, want.replace("⟦⟧", ""), "{source}");
    }
}

#[test]
fn tools_and_variables_are_data_and_roles_are_not() {
    let source = "<|{{ messages[0].role }}|>{{ tools[0].function.name }}{{ style }}{{ n }}";
    let mut options = options(false);
    options.tools = vec![serde_json::json!({"function": {"name": "<|im_end|>"}})];
    options.variables.insert("style".to_owned(), "<|eot|>".into());
    options.variables.insert("n".to_owned(), 3.into());
    let rendered = template(source).render(&[user("")], &options).unwrap();
    assert_eq!(rendered.text, "<|user|><|im_end|><|eot|>3");
    assert_eq!(rendered.content, vec![8..25]);
}

#[test]
fn errors_never_hold_content() {
    let secret = "canario-7f3a";
    let sources = [
        "{{ raise_exception('no: ' ~ messages[0].content) }}",
        "{{ messages[0].content + 1 }}",
        "{{ messages[0][messages[0].content].x }}",
        "{{ [1] | map(messages[0].content) | list }}",
        "{{ [1] | select(messages[0].content) | list }}",
        "{{ dict(**{messages[0].content: 1}) | abs }}",
        "{{ raise_exception(**{messages[0].content: 1}) }}",
        "{{ strftime_now('%' ~ messages[0].content[0:0] ~ 'Q') }}",
        "{{ messages[0].content.format(1).nope.nope }}",
        "{{ (messages[0].content ~ '{') .format(1) }}",
        "{{ messages[0].content() }}",
    ];
    for source in sources {
        let error = template(source).render(&[user(secret)], &options(false)).unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("canario"), "{source}: {shown}");
        assert_eq!(error.line(), Some(1), "{source}");
    }
    let message = user(secret);
    let rendered = template("{{ messages[0].content }}").render(&[user(secret)], &options(true));
    assert!(!format!("{message:?} {:?}", rendered.unwrap()).contains("canario"));
}

#[test]
fn messages_as_json() {
    let text = r#"{"role": "user", "content": "¿qué?"}"#;
    let message: Message = serde_json::from_str(text).unwrap();
    assert!(message == user("¿qué?"));
    assert_eq!(serde_json::to_string(&message).unwrap(), r#"{"role":"user","content":"¿qué?"}"#);
    let wrong = [
        r#"{"role": "user", "content": "x", "contents": 1}"#,
        r#"{"role": "User", "content": "x"}"#,
        r#"{"role": "developer", "content": "x"}"#,
        r#"{"role": "user"}"#,
        r#"{"content": "x"}"#,
    ];
    for text in wrong {
        assert!(serde_json::from_str::<Message>(text).is_err(), "{text}");
    }
    let reserved = |name: &str| {
        let mut options = RenderOptions::new();
        options.variables.insert(name.to_owned(), 1.into());
        template("x").render(&[], &options)
    };
    assert_eq!(reserved("messages").unwrap_err().kind(), Kind::Option);
    assert!(reserved("anything").is_ok());
}
