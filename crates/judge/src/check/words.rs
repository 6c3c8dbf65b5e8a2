//! Wording that gives a question away, in English and Spanish.

// A cue is words in a row, folded as `words` folds them. `#` stands for a number, in digits or in a
// word of NUMBERS; an article before it is passed over. A cue of one language is no word of the
// other, so all of them count in every text, but for those of BOTH: nothing as slight as an accent
// in a name decides which language a text is in.

/// Denials and exceptions.
pub(super) const NEGATION: &[&str] = &[
    "no",
    // English.
    "not",
    "cannot",
    "never",
    "none",
    "nobody",
    "nothing",
    "neither",
    "without",
    "except",
    "unless",
    "lack",
    "lacks",
    "fails to",
    // Spanish.
    "nunca",
    "jamas",
    "nada",
    "nadie",
    "ni",
    "ningun",
    "ninguno",
    "ninguna",
    "tampoco",
    "sin",
    "salvo",
    "excepto",
    "a menos que",
    "carece",
    "carecen",
];

/// Counting, sums, comparisons of numbers and dates.
pub(super) const ARITHMETIC: &[&str] = &[
    // English.
    "how many",
    "how much",
    "number of",
    "count",
    "sum",
    "total",
    "add up",
    "subtract",
    "multiply",
    "divide",
    "average",
    "percent",
    "percentage",
    "calculate",
    "compute",
    "days between",
    "days since",
    "at least twice",
    "more than once",
    "more than one",
    "than #",
    "at least #",
    "at most #",
    "above #",
    "below #",
    "over #",
    "under #",
    "exceed #",
    "exceeds #",
    "exceeded #",
    "exceeding #",
    "between # and #",
    // Spanish.
    "cuantos",
    "cuantas",
    "cuanto",
    "cuanta",
    "numero de",
    "cantidad de",
    "cuenta los",
    "cuenta las",
    "contar",
    "suma",
    "sumar",
    "resta",
    "multiplica",
    "promedio",
    "la media de",
    "porcentaje",
    "por ciento",
    "calcula",
    "calcular",
    "dias entre",
    "dias desde",
    "mas de una vez",
    "mas de uno",
    "mas de una",
    "mas de un",
    "mas de #",
    "menos de #",
    "mayor de #",
    "mayores de #",
    "menor de #",
    "menores de #",
    "mas que #",
    "mayor que #",
    "mayores que #",
    "menor que #",
    "menores que #",
    "al menos #",
    "como minimo #",
    "como maximo #",
    "encima de #",
    "debajo de #",
    "superior a #",
    "superiores a #",
    "inferior a #",
    "inferiores a #",
    "supera #",
    "superan #",
    "supero #",
    "excede #",
    "exceden #",
    "excedio #",
    "entre # y #",
];

/// Where a second question begins.
pub(super) const JOINTS: &[&str] = &[
    // English.
    "and or",
    "and also",
    "and if so",
    "as well as",
    "and is it",
    "and does it",
    "and whether",
    "or whether",
    // Spanish.
    "y o",
    "y tambien",
    "y ademas",
    "asi como",
    "y si es asi",
    "y en ese caso",
    "y si",
    "o si",
];

/// Spanish cues that are English words too: they count where a text is not English.
const BOTH: [&str; 2] = ["sin", "salvo"];

/// Words that texts of one language are full of, and texts of the other are not.
const SPANISH: [&str; 19] = [
    "el", "la", "los", "las", "un", "una", "de", "del", "que", "es", "en", "y", "por", "para",
    "con", "se", "su", "al", "esta",
];
const ENGLISH: [&str; 20] = [
    "the", "is", "are", "was", "of", "to", "it", "does", "did", "has", "and", "in", "for", "with",
    "this", "that", "or", "an", "by", "on",
];

/// Numbers in words; one and `un` are articles and existence more than they count.
const NUMBERS: [&str; 42] = [
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "fifteen",
    "twenty",
    "thirty",
    "forty",
    "fifty",
    "sixty",
    "hundred",
    "thousand",
    "dozen",
    "million",
    "dos",
    "tres",
    "cuatro",
    "cinco",
    "seis",
    "siete",
    "ocho",
    "nueve",
    "diez",
    "once",
    "doce",
    "quince",
    "veinte",
    "treinta",
    "cuarenta",
    "cincuenta",
    "cien",
    "ciento",
    "quinientos",
    "mil",
    "docena",
];

/// Words that are passed over before a number.
const ARTICLES: [&str; 6] = ["the", "a", "los", "las", "un", "una"];

/// With what a question begins, and what says after one of [`AND`] that another one does. Accents
/// count: `esta` is a word of its own.
const BEGINS: [&[&str]; 4] = [
    &[
        "is", "are", "was", "were", "does", "do", "did", "has", "have", "had", "can", "could",
        "will", "would", "should",
    ],
    &["what", "which", "who", "why", "when", "where", "how"],
    &[
        "es", "son", "está", "están", "ha", "han", "hay", "fue", "era", "tiene", "tienen",
        "quiere", "quieren", "pide", "piden", "puede", "pueden", "debe", "deben", "necesita",
        "parece", "menciona", "trata",
    ],
    &["qué", "cuál", "cuáles", "quién", "quiénes", "cuándo", "dónde", "cómo", "cuánto", "cuánta"],
];
const AND: [&str; 5] = ["and", "but", "y", "e", "pero"];

/// The two answers, named.
const CHOICES: [&str; 8] = [
    "yes or no",
    "yes/no",
    "no or yes",
    "sí o no",
    "si o no",
    "sí/no",
    "no o sí",
    "whether or not",
];

/// Lower case.
fn fold_case(c: char) -> impl Iterator<Item = char> {
    c.to_lowercase()
}

/// Lower case, without the accents of Spanish vowels; ñ stays, it is a letter of its own.
fn fold(c: char) -> impl Iterator<Item = char> {
    c.to_lowercase().map(|c| match c {
        'á' => 'a',
        'é' => 'e',
        'í' => 'i',
        'ó' => 'o',
        'ú' | 'ü' => 'u',
        '’' => '\'',
        other => other,
    })
}

/// The words of a text, folded. A number is a word, and so is `isn't`.
pub(super) fn words(text: &str) -> Vec<String> {
    split(&text.chars().flat_map(fold).collect::<String>())
}

fn split(folded: &str) -> Vec<String> {
    let split = folded.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let words = split.map(|word| word.trim_matches('\'')).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

fn is_english(words: &[String]) -> bool {
    let count = |of: &[&str]| words.iter().filter(|word| of.contains(&word.as_str())).count();
    count(&ENGLISH) > count(&SPANISH)
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit()) || NUMBERS.contains(&word)
}

/// Whether a text has one of the cues.
pub(super) fn has(text: &str, cues: &[&str]) -> bool {
    let all = words(text);
    let english = is_english(&all);
    let before_number = |at: usize| all.get(at + 1).is_some_and(|next| is_number(next));
    let is_article = |at: usize| ARTICLES.contains(&all[at].as_str()) && before_number(at);
    let bare: Vec<&String> =
        (0..all.len()).filter(|at| !is_article(*at)).map(|at| &all[at]).collect();
    let matches = |want: &str, word: &str| match want {
        "#" => is_number(word),
        want => want == word || (want == "not" && word.ends_with("n't")),
    };
    cues.iter().filter(|cue| !english || !BOTH.contains(cue)).any(|cue| {
        let wanted: Vec<&str> = cue.split(' ').collect();
        bare.windows(wanted.len())
            .any(|found| wanted.iter().zip(found).all(|(want, word)| matches(want, word)))
    })
}

/// Whether a sentence that begins as a question goes on, after "and", as one of the same kind does:
/// "Is it urgent and is the customer angry?", "¿Es urgente y está enfadado?".
pub(super) fn asks_again(text: &str) -> bool {
    let folded: String = text.chars().flat_map(fold_case).collect();
    let sentences = folded.split_inclusive(['.', '?', '!', ':', ';', '\n']);
    sentences.filter(|sentence| sentence.contains(['?', '¿'])).any(|sentence| {
        let kind = |word: &String| BEGINS.iter().position(|kind| kind.contains(&word.as_str()));
        let mut asks = [false; BEGINS.len()];
        // "In the ticket, is it urgent and …": a question may begin behind a comma.
        sentence.split([',', '¿']).any(|clause| {
            let words = split(clause);
            if let Some(kind) = words.first().and_then(kind) {
                asks[kind] = true;
            }
            words.windows(2).any(|pair| {
                AND.contains(&pair[0].as_str()) && kind(&pair[1]).is_some_and(|kind| asks[kind])
            })
        })
    })
}

/// The text without "yes or no" and its like, which name the answers and deny nothing.
pub(super) fn without_choice(text: &str) -> String {
    let folded: String = text.chars().flat_map(fold_case).collect();
    CHOICES.iter().fold(folded, |text, choice| text.replace(choice, " "))
}

/// What stands between single back-ticks and could be a path: no blank in it.
pub(super) fn ticked(text: &str) -> Vec<&str> {
    let inside = text.split('`').skip(1).step_by(2);
    // Without its second back-tick, the last piece is no path.
    let whole = text.matches('`').count() / 2;
    inside
        .take(whole)
        .filter(|word| !word.is_empty() && !word.contains(char::is_whitespace))
        .collect()
}
