//! Wording that gives a question away, in English and Spanish.

/// In which text a cue counts.
#[derive(Clone, Copy, PartialEq)]
enum In {
    Any,
    English,
    Spanish,
}

/// Words in a row, folded as [`words`] folds them.
pub(super) struct Cue(In, &'static str);

/// Denials and exceptions.
pub(super) const NEGATION: &[Cue] = &[
    Cue(In::Any, "no"),
    Cue(In::English, "not"),
    Cue(In::English, "cannot"),
    Cue(In::English, "never"),
    Cue(In::English, "none"),
    Cue(In::English, "nobody"),
    Cue(In::English, "nothing"),
    Cue(In::English, "neither"),
    Cue(In::English, "without"),
    Cue(In::English, "except"),
    Cue(In::English, "unless"),
    Cue(In::English, "lack"),
    Cue(In::English, "lacks"),
    Cue(In::English, "fails to"),
    Cue(In::Spanish, "nunca"),
    Cue(In::Spanish, "jamas"),
    Cue(In::Spanish, "nada"),
    Cue(In::Spanish, "nadie"),
    Cue(In::Spanish, "ni"),
    Cue(In::Spanish, "ningun"),
    Cue(In::Spanish, "ninguno"),
    Cue(In::Spanish, "ninguna"),
    Cue(In::Spanish, "tampoco"),
    Cue(In::Spanish, "sin"),
    Cue(In::Spanish, "salvo"),
    Cue(In::Spanish, "excepto"),
    Cue(In::Spanish, "a menos que"),
    Cue(In::Spanish, "carece"),
    Cue(In::Spanish, "carecen"),
];

/// Counting, sums, comparisons of numbers and dates.
pub(super) const ARITHMETIC: &[Cue] = &[
    Cue(In::English, "how many"),
    Cue(In::English, "how much"),
    Cue(In::English, "number of"),
    Cue(In::English, "count"),
    Cue(In::English, "sum"),
    Cue(In::English, "total"),
    Cue(In::English, "add up"),
    Cue(In::English, "subtract"),
    Cue(In::English, "multiply"),
    Cue(In::English, "divide"),
    Cue(In::English, "average"),
    Cue(In::English, "percent"),
    Cue(In::English, "percentage"),
    Cue(In::English, "calculate"),
    Cue(In::English, "compute"),
    Cue(In::English, "days between"),
    Cue(In::English, "days since"),
    Cue(In::English, "at least twice"),
    Cue(In::English, "more than #"),
    Cue(In::English, "less than #"),
    Cue(In::English, "fewer than #"),
    Cue(In::English, "greater than #"),
    Cue(In::English, "at least #"),
    Cue(In::English, "at most #"),
    Cue(In::Spanish, "cuantos"),
    Cue(In::Spanish, "cuantas"),
    Cue(In::Spanish, "cuanto"),
    Cue(In::Spanish, "cuanta"),
    Cue(In::Spanish, "numero de"),
    Cue(In::Spanish, "cantidad de"),
    Cue(In::Spanish, "cuenta los"),
    Cue(In::Spanish, "cuenta las"),
    Cue(In::Spanish, "contar"),
    Cue(In::Spanish, "suma"),
    Cue(In::Spanish, "sumar"),
    Cue(In::Spanish, "total"),
    Cue(In::Spanish, "resta"),
    Cue(In::Spanish, "multiplica"),
    Cue(In::Spanish, "divide"),
    Cue(In::Spanish, "promedio"),
    Cue(In::Spanish, "la media de"),
    Cue(In::Spanish, "porcentaje"),
    Cue(In::Spanish, "por ciento"),
    Cue(In::Spanish, "calcula"),
    Cue(In::Spanish, "calcular"),
    Cue(In::Spanish, "dias entre"),
    Cue(In::Spanish, "dias desde"),
    Cue(In::Spanish, "mas de #"),
    Cue(In::Spanish, "menos de #"),
    Cue(In::Spanish, "mayor que #"),
    Cue(In::Spanish, "menor que #"),
    Cue(In::Spanish, "al menos #"),
    Cue(In::Spanish, "como maximo #"),
];

/// Where a second question begins.
pub(super) const JOINTS: &[Cue] = &[
    Cue(In::English, "and or"),
    Cue(In::English, "and also"),
    Cue(In::English, "and if so"),
    Cue(In::English, "as well as"),
    Cue(In::English, "and is it"),
    Cue(In::English, "and does it"),
    Cue(In::English, "and whether"),
    Cue(In::English, "or whether"),
    Cue(In::Spanish, "y o"),
    Cue(In::Spanish, "y tambien"),
    Cue(In::Spanish, "y ademas"),
    Cue(In::Spanish, "asi como"),
    Cue(In::Spanish, "y si es asi"),
    Cue(In::Spanish, "y en ese caso"),
    Cue(In::Spanish, "y si"),
    Cue(In::Spanish, "o si"),
];

/// Words that Spanish text is full of and English text is not.
const SPANISH: [&str; 20] = [
    "el", "la", "los", "las", "un", "una", "de", "del", "que", "es", "en", "y", "por", "para",
    "con", "se", "su", "al", "esta", "cliente",
];

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
    let folded: String = text.chars().flat_map(fold).collect();
    let split = folded.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let words = split.map(|word| word.trim_matches('\'')).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

fn is_spanish(text: &str, words: &[String]) -> bool {
    let marked = text.contains(['ñ', 'Ñ', '¿', '¡', 'á', 'é', 'í', 'ó', 'ú']);
    marked || words.iter().filter(|word| SPANISH.contains(&word.as_str())).count() > 1
}

/// Whether a text has one of the cues. `#` in a cue stands for any number in digits.
pub(super) fn has(text: &str, cues: &[Cue]) -> bool {
    let words = words(text);
    let spanish = is_spanish(text, &words);
    let matches = |want: &str, word: &String| match want {
        "#" => word.starts_with(|c: char| c.is_ascii_digit()),
        want => want == word || (want == "not" && word.ends_with("n't")),
    };
    cues.iter().filter(|cue| cue.0 == In::Any || (cue.0 == In::Spanish) == spanish).any(|cue| {
        let wanted: Vec<&str> = cue.1.split(' ').collect();
        words
            .windows(wanted.len())
            .any(|found| wanted.iter().zip(found).all(|(want, word)| matches(want, word)))
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
