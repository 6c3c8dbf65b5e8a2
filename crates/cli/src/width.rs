//! Columns of a terminal that a text takes: crate `unicode-width`, by UAX #11; what is ambiguous
//! there takes one column.

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};
use unicode_width::UnicodeWidthChar;

/// Whether it is a format character (general category Cf): it turns, joins or hides its neighbours
/// and is not seen itself.
pub fn is_format(c: char) -> bool {
    c.general_category() == GeneralCategory::Format
}

/// Characters one by one: what a terminal makes of several joined ones cannot be known. One that
/// only controls stands for itself.
fn of(c: char) -> usize {
    c.width().unwrap_or(1)
}

/// Columns of a line.
pub fn width(text: &str) -> usize {
    text.chars().map(of).sum()
}

/// The beginning of a line that takes at most `columns`, marks on its last character included.
pub fn cut(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    let beyond = text.char_indices().find(|(_, c)| {
        taken += of(*c);
        taken > columns
    });
    beyond.map_or(text, |(at, _)| &text[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_texts() {
        let cases = [
            ("ascii", "qwen3:0.6b", 10),
            ("Spanish", "¿niño?", 6),
            ("Spanish, decomposed", "n\u{303}andu\u{301}", 5),
            ("Chinese", "模型", 4),
            ("Japanese, with a voiced mark", "か\u{3099}モデル", 8),
            ("Korean", "모델", 4),
            ("full width", "Ａ！", 4),
            ("half width", "ｱ", 1),
            ("emoji", "🦙x", 3),
            ("a joined emoji's parts", "👩\u{200d}🚀", 4),
            ("the mark of a cut", "…", 1),
        ];
        for (name, text, want) in cases {
            assert_eq!(width(text), want, "{name}");
            for columns in 0..=want {
                let rest = width(cut(text, columns));
                assert!(rest <= columns && columns - rest <= 1, "{name}: {columns} {rest}");
            }
            assert_eq!(cut(text, want), text, "{name}");
        }
    }
}
