//! Questions as JSON, and what the checks find in them; in English and Spanish.

use recinto_judge::{
    Choice, Kind, Question, Questions, State,
    check::{CHECKS, Readout, Severity, check},
};
use serde_json::json;

/// What the hosted API or Laya's runtime (package `laya` 0.4.15) refuses already when reading.
#[test]
fn what_is_no_question() {
    let cases = [
        ("unknown type", r#"{"type":"bool","instructions":"x"}"#),
        ("no type", r#"{"instructions":"x"}"#),
        ("a list", "[]"),
        ("choice without criteria", r#"{"type":"choice","instructions":"x"}"#),
        ("criteria of text", r#"{"type":"choice","instructions":"x","criteria":"a,b"}"#),
        ("null label", r#"{"type":"choice","instructions":"x","criteria":["a",null]}"#),
        ("score of a map", r#"{"type":"score","instructions":"x","criteria":{"0":"a"}}"#),
        ("score without levels", r#"{"type":"score","instructions":"x"}"#),
        ("noul of yes and no", r#"{"type":"noul","criteria":{"yes":"a","no":"b"}}"#),
        ("noul of a list", r#"{"type":"noul","criteria":["a","b"]}"#),
        ("noul, true twice", r#"{"type":"noul","criteria":{"true":"a","True":"b"}}"#),
        ("one label of noul", r#"{"type":"noul","instructions":"x","labels":{"true":"A"}}"#),
        (
            "labels on a choice",
            r#"{"type":"choice","criteria":["a","b"],"labels":{"true":"A","false":"B"}}"#,
        ),
        ("or_nothing on noul", r#"{"type":"noul","instructions":"x","or_nothing":true}"#),
        ("or_nothing of text", r#"{"type":"choice","criteria":["a"],"or_nothing":"yes"}"#),
        ("unknown key", r#"{"type":"noul","instrucciones":"x"}"#),
        ("a label of a list", r#"{"type":"choice","instructions":"x","criteria":["a",["b"]]}"#),
        ("instructions of a boolean", r#"{"type":"noul","instructions":true}"#),
        ("a key twice", r#"{"type":"noul","type":"noul","instructions":"x"}"#),
        ("a label twice", r#"{"type":"choice","criteria":{"a":"x","a":"y"}}"#),
    ];
    for (name, text) in cases {
        let all = format!(r#"{{"secreto ñ":{text}}}"#);
        let error = Questions::from_json(&all).unwrap_err();
        assert!(matches!(error.kind(), Kind::Question | Kind::Json), "{name}: {error}");
        assert!(!error.to_string().contains("secreto"), "{name}: {error}");
    }
    for text in ["{}", "[]", "null", "", r#"{" ":{"type":"noul","instructions":"x"}}"#] {
        assert!(Questions::from_json(text).is_err(), "{text}");
    }
}

#[test]
fn questions_and_back() {
    let cases = [
        ("bare", json!({"type":"noul","instructions":"¿Es urgente?"})),
        (
            "described",
            json!({"type":"noul","instructions":"x","criteria":{"true":"sí","false":"no"}}),
        ),
        ("words", json!({"type":"noul","instructions":"x","labels":{"false":"B","true":"A"}})),
        (
            "choice",
            json!({"type":"choice","instructions":{"a":["b"]},"criteria":{"niño":null,"año":"x"}}),
        ),
        ("nothing", json!({"type":"choice","criteria":{"b":"x","a":{"k":1}},"or_nothing":true})),
        ("score", json!({"type":"score","instructions":7,"criteria":["poco",{"a":1},"mucho"]})),
        ("numbers", json!({"type":"score","instructions":"x","criteria":[1,"dos",[4],2.5,false]})),
        (
            "0 and false are descriptions",
            json!({"type":"choice","instructions":"x","criteria":{"año":0,"b":false,"c":null}}),
        ),
        (
            "numbers for yes and no",
            json!({"type":"noul","instructions":"x","criteria":{"true":1,"false":0}}),
        ),
    ];
    for (name, wire) in cases {
        let question = Question::from_wire(&wire).unwrap();
        assert_eq!(question.to_wire().to_string(), wire.to_string(), "{name}: order and all");
        let again: Question = serde_json::from_value(question.to_wire()).unwrap();
        assert_eq!(again, question, "{name}");
        assert_eq!(again.digest(), question.digest(), "{name}");
        let hosted = question.to_hosted().to_string();
        assert!(!hosted.contains("or_nothing") && !hosted.contains("labels"), "{name}: {hosted}");
    }
    // A service is sent text; the model's own runtime has it as it is.
    for (wire, want) in [
        (json!({"type":"score","criteria":[1,false,"x"]}), json!(["1", "false", "x"])),
        (json!({"type":"choice","criteria":{"a":0,"b":null}}), json!({"a":"0","b":null})),
        (json!({"type":"noul","criteria":{"true":1.5}}), json!({"true":"1.5"})),
    ] {
        let hosted = Question::from_wire(&wire).unwrap().to_hosted();
        assert_eq!(hosted["criteria"], want, "{wire}");
    }
    let scalars = json!({"type":"choice","criteria":[0,-1,2.5,1e21,true,false,"año"]});
    let labels = Question::from_wire(&scalars).unwrap().labels();
    assert_eq!(labels, ["0", "-1", "2.5", "1e+21", "true", "false", "año"]);
    let list = json!({"type":"choice","criteria":["b",2,"a"]});
    let question = Question::from_wire(&list).unwrap();
    assert_eq!(question.labels(), ["b", "2", "a"]);
    assert_eq!(question.to_wire()["criteria"], json!({"b":null,"2":null,"a":null}));
    let nothing = Question::choose("x", [Choice::plain("a")]).or_nothing();
    assert_eq!(nothing.labels(), ["a", "none"]);
    let text = json!({"none":"None of the options fits the state"});
    assert_eq!(nothing.to_hosted()["criteria"]["none"], text["none"]);
    let (ab, ba) = (["a", "b"], ["b", "a"]);
    let of = |labels: [&str; 2]| Question::choose("x", labels.map(Choice::plain)).digest();
    assert_ne!(of(ab), of(ba), "another order is another question");
}

fn codes(question: &Question, state: &State, readout: Readout) -> Vec<&'static str> {
    let questions = Questions::new().with("q", question.clone()).unwrap();
    check(&questions, state, readout).iter().map(|finding| finding.check.code).collect()
}

fn state() -> State {
    State::from_json(r#"{"ticket":{"text":"¿Dónde está mi pedido?","lines":[{"n":1}]},"año":3}"#)
        .unwrap()
}

#[test]
fn what_the_checks_find() {
    let choose = |labels: &[&str]| {
        Question::choose("Which team?", labels.iter().map(|label| Choice::plain(*label)))
    };
    let wire = |value| Question::from_wire(&value).unwrap();
    let many = |n: usize| {
        let labels: Vec<String> = (0..n).map(|i| format!("o{i:03}")).collect();
        choose(&labels.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let levels = |n: usize| Question::rate("How urgent?", (0..n).map(|i| format!("level {i}")));
    let none: &[&str] = &[];
    let cases: Vec<(&str, Question, &[&str])> = vec![
        ("sound", choose(&["pagos", "envíos"]), none),
        ("sound, yes or no", Question::whether("The customer is angry"), none),
        ("sound, levels", levels(3), none),
        ("no instructions", wire(json!({"type":"noul"})), &["empty-instructions"]),
        (
            "blank instructions",
            wire(json!({"type":"noul","instructions":"  "})),
            &["empty-instructions"],
        ),
        (
            "options say it",
            wire(json!({"type":"choice","criteria":{"a":"it is red","b":"it is blue"}})),
            none,
        ),
        ("no option", choose(&[]), &["one-option"]),
        ("one option", choose(&["a"]), &["one-option"]),
        ("one or nothing", choose(&["a"]).or_nothing(), none),
        ("255", many(255), &["many-options"]),
        ("256", many(256), &["too-many-options"]),
        ("255 or nothing", many(255).or_nothing(), &["too-many-options"]),
        ("blank", choose(&["a", " "]), &["blank-label"]),
        ("twice", choose(&["a", "b", "a"]), &["duplicate-label"]),
        ("nothing is taken", choose(&["a", "none"]).or_nothing(), &["duplicate-label"]),
        ("begins", choose(&["pago", "pago doble"]), &["prefix-label"]),
        ("case", choose(&["Sí", "si", "quizás"]), &["similar-label"]),
        ("ñ is a letter", choose(&["ano", "año"]), none),
        (
            "same description",
            Question::choose("x", [Choice::new("a", "uno"), Choice::new("b", "uno")]),
            &["same-description"],
        ),
        (
            "same words",
            wire(json!({"type":"noul","instructions":"x","labels":{"true":"A","false":" A "}})),
            &["same-words"],
        ),
        (
            "blank word",
            wire(json!({"type":"noul","instructions":"x","labels":{"true":"A","false":" "}})),
            &["same-words"],
        ),
        ("one level", levels(1), &["level-count"]),
        ("ten levels", levels(10), none),
        ("eleven levels", levels(11), &["level-count"]),
        (
            "null level",
            wire(json!({"type":"score","instructions":"x","criteria":["a",null]})),
            &["null-level"],
        ),
        ("path", Question::whether("`ticket.text` is a complaint"), none),
        ("path into a list", Question::whether("`ticket.lines[0].n` is odd"), none),
        ("path, ñ", Question::whether("`año` is a year"), none),
        ("missing path", Question::whether("`ticket.txt` is sad"), &["missing-path"]),
        ("missing line", Question::whether("`ticket.lines[7].n` is odd"), &["missing-path"]),
        ("missing word", Question::whether("`tickets` is sad"), &["missing-word"]),
        (
            "a label in ticks",
            Question::choose("`pagos` is for cards", ["pagos", "b"].map(Choice::plain)),
            none,
        ),
        ("code in ticks", Question::whether("`let x = 1` is code; one ` is odd"), none),
        ("not", Question::whether("The customer does not want a refund"), &["negation"]),
        ("isn't", Question::whether("It isn’t a refund"), &["negation"]),
        ("no, en español", Question::whether("El cliente no quiere cancelar"), &["negation"]),
        ("nunca", Question::whether("¿El cliente nunca pagó?"), &["negation"]),
        ("sin", Question::whether("El paquete llegó sin factura"), &["negation"]),
        ("sin, in English", Question::whether("Greed is a sin"), none),
        ("yes or no", Question::whether("Answer yes or no: is it urgent?"), none),
        ("sí o no", Question::whether("Responde sí o no: ¿es urgente?"), none),
        ("notable", Question::whether("A notable customer"), none),
        ("how many", Question::whether("How many items are there?"), &["arithmetic"]),
        ("more than", Question::whether("It costs more than 100 euros"), &["arithmetic"]),
        ("more than words", Question::whether("It is more than annoying"), none),
        ("account", Question::whether("It is about an account"), none),
        ("cuántos", Question::whether("¿Cuántos artículos hay?"), &["arithmetic"]),
        ("más de", Question::whether("El pedido costó más de 100 euros"), &["arithmetic"]),
        ("promedio", Question::whether("El promedio de los pagos es alto"), &["arithmetic"]),
        ("two marks", Question::whether("Is it late? Is it broken?"), &["several-questions"]),
        ("dos marcas", Question::whether("¿Llegó tarde? ¿Está roto?"), &["several-questions"]),
        ("and also", Question::whether("It is late and also broken"), &["several-questions"]),
        ("y además", Question::whether("Llegó tarde y además está roto"), &["several-questions"]),
        ("one mark", Question::whether("¿Llegó tarde?"), none),
        ("special", Question::whether("<|im_end|> it is late"), &["special-marks"]),
    ];
    for (name, question, want) in &cases {
        assert_eq!(codes(question, &state(), Readout::Marks), *want, "{name}");
    }
    let keys = choose(&["pago", "pago doble", "año"]);
    assert_eq!(codes(&keys, &state(), Readout::Keys), ["prefix-key"], "the longer one cannot win");
    let empty = State::text("  ");
    assert_eq!(codes(&choose(&["a", "b"]), &empty, Readout::Marks), ["empty-state"]);
    let steered = State::text("hola [SEP] adiós");
    assert_eq!(codes(&choose(&["a", "b"]), &steered, Readout::Marks), ["special-marks"]);
    let text = State::text("¿Dónde está?");
    let path = Question::whether("`ticket.text` is a complaint");
    assert_eq!(codes(&path, &text, Readout::Marks), ["missing-path"]);
    // Every row of the table was found at least once.
    let mut found: Vec<&str> =
        cases.iter().flat_map(|(_, q, _)| codes(q, &state(), Readout::Marks)).collect();
    let bare = wire(json!({"type":"choice","criteria":{"a":"es rojo","b":"es azul"}}));
    assert_eq!(codes(&bare, &state(), Readout::Markers), ["no-instructions"], "only described");
    let nothing = wire(json!({"type":"noul"}));
    assert_eq!(codes(&nothing, &state(), Readout::Markers), ["empty-instructions"], "said once");
    let begins = choose(&["pago", "pago doble"]);
    assert_eq!(codes(&begins, &state(), Readout::Markers), ["prefix-label"]);
    found.extend(["prefix-key", "empty-state", "no-instructions"]);
    for check in CHECKS {
        assert!(found.contains(&check.code), "no case for {}", check.code);
    }
}

/// Wording in both languages, and what looks like it and is not.
#[test]
fn wording_that_gives_a_question_away() {
    let cases: [(&str, &[(&str, bool)]); 3] = [
        (
            "negation",
            &[
                ("Does the text not mention the café?", true),
                ("Is José not happy?", true),
                ("Has the señor never paid?", true),
                ("Isn’t the piñata there?", true),
                ("The text says ¡hola! and nothing more", true),
                ("El cliente no menciona the café", true),
                ("¿El paquete llegó sin factura?", true),
                ("Paquete sin factura", true),
                ("Todo llegó, salvo la factura", true),
                ("¿Falta Is José?", false),
                ("Is greed a sin?", false),
                ("Does the café of José open early?", false),
                ("¿Está contento el señor Notario?", false),
            ],
        ),
        (
            "arithmetic",
            &[
                ("Is the price above 100 euros?", true),
                ("Does the order exceed 500?", true),
                ("Does the bill exceed the 500 that were agreed?", true),
                ("Is the customer older than 30?", true),
                ("Are more than two products named?", true),
                ("Is the price over €20?", true),
                ("Is the café cheaper than 5 euros?", true),
                ("Is it between two and four days late?", true),
                ("Is there more than one complaint?", true),
                ("Are at least a hundred people waiting?", true),
                ("¿Cuesta más de 100 euros?", true),
                ("¿Se nombran más de dos productos?", true),
                ("¿El pedido supera los 500 euros?", true),
                ("¿Está por encima de los cien euros?", true),
                ("¿Tiene al menos tres años?", true),
                ("¿Es mayor que 18?", true),
                ("¿Pesa entre dos y cinco kilos?", true),
                ("Is it more than annoying?", false),
                ("Is the tone above all polite?", false),
                ("Is the matter under discussion?", false),
                ("Is it over?", false),
                ("Is the one above better than the other?", false),
                ("¿Es más de lo que pedía?", false),
                ("¿Está por encima de todo?", false),
                ("¿Supera la prueba?", false),
                ("¿Dice que dos personas vinieron?", false),
            ],
        ),
        (
            "several-questions",
            &[
                ("Is it urgent and is the customer angry?", true),
                ("Is it spam, and does the customer want a refund?", true),
                ("In the ticket, is it urgent and was José angry?", true),
                ("What is it about and how urgent is it?", true),
                ("¿Es urgente y está enfadado?", true),
                ("¿Es correo basura, y quiere el cliente un reembolso?", true),
                ("En el mensaje, ¿es urgente y pide un reembolso?", true),
                ("¿Qué quiere y cuándo lo quiere?", true),
                ("Is the customer angry and upset?", false),
                ("Is it about cards and accounts?", false),
                ("Which team handles cards and does refunds?", false),
                ("Is it a bug or is it a wish?", false),
                ("It is about pay and conditions", false),
                ("¿Es de pagos y facturas?", false),
                ("¿Está pagada esta factura y esta otra?", false),
                ("¿El cliente y el agente son amables?", false),
                ("Es amable y educado", false),
            ],
        ),
    ];
    for (code, texts) in cases {
        for (text, want) in texts {
            let found = codes(&Question::whether(*text), &state(), Readout::Marks);
            let want: &[&str] = if *want { &[code] } else { &[] };
            assert_eq!(found, want, "{text}");
        }
    }
}

#[test]
fn findings_name_the_place_and_no_word() {
    let secret = "la contraseña es hunter2";
    let question = Question::choose(
        format!("{secret}, no `x.y`"),
        [Choice::new(secret, secret), Choice::new(secret, secret)],
    );
    let questions = Questions::new().with("q.1", question.clone()).unwrap();
    let questions = questions.with("¿secreto?", question).unwrap();
    let found = check(&questions, &state(), Readout::Marks);
    assert!(found.len() > 6);
    for finding in &found {
        let text = finding.to_string();
        assert!(!text.contains("hunter2") && !text.contains("secreto"), "{text}");
        let word = if finding.check.severity == Severity::Error { "error" } else { "warning" };
        assert!(text.starts_with(word), "{text}");
    }
    let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert!(texts[0].contains("question `q.1`: option 2: "), "{}", texts[0]);
    assert!(texts.iter().any(|text| text.contains("question 2: ")));
}

/// `docs/judge.md` has one row for each check, with the same code and severity.
#[test]
fn the_page_has_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/judge.md");
    let page = std::fs::read_to_string(path).unwrap();
    let rows: Vec<(String, String)> = page
        .lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix("| `")?.split(" | ");
            let code = cells.next()?.trim_end_matches('`').to_owned();
            Some((code, cells.next()?.to_owned()))
        })
        .filter(|(_, severity)| severity == "error" || severity == "warning")
        .collect();
    let want: Vec<(String, String)> = CHECKS
        .iter()
        .map(|check| (check.code.to_owned(), format!("{:?}", check.severity).to_lowercase()))
        .collect();
    assert_eq!(rows, want);
}
