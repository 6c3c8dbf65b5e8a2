//! Rows under heads, aligned; on a terminal no wider than it is.

use crate::width::{cut, width as count};

/// A column: its head, and how soon it goes when there is no room (0 stays).
pub struct Column {
    pub head: &'static str,
    pub goes: u8,
    /// Whether numbers in it stand to the right.
    pub right: bool,
}

/// Between two columns.
const GAP: &str = "  ";
/// The first column that is no mark is cut to no less than this, and the last one too.
const LEAST: usize = 12;

/// The lines of a table; `width` columns at the most, where it is given: columns that may go do,
/// then the last one is cut, then the first that is wider than a mark.
pub fn lines(columns: &[Column], rows: &[Vec<String>], width: Option<usize>) -> Vec<String> {
    let mut shown: Vec<usize> = (0..columns.len()).collect();
    let wide = |at: usize| {
        let cells = rows.iter().map(|row| count(&row[at]));
        cells.max().unwrap_or(0).max(count(columns[at].head))
    };
    let mut widths: Vec<usize> = (0..columns.len()).map(wide).collect();
    let total = |shown: &[usize], widths: &[usize]| {
        let gaps = shown.len().saturating_sub(1) * GAP.len();
        shown.iter().map(|at| widths[*at]).sum::<usize>() + gaps
    };
    if let (Some(width), Some(last)) = (width, shown.last().copied()) {
        // The last column may be cut to a useful rest before others have to go.
        loop {
            let goes = shown.iter().filter(|at| columns[**at].goes > 0);
            let Some(next) = goes.max_by_key(|at| columns[**at].goes).copied() else { break };
            // Before the most telling of them goes, the last one is cut as far as it may be.
            let least = if columns[next].goes == 1 { LEAST } else { 2 * LEAST };
            let need = total(&shown, &widths) - widths[last] + widths[last].min(least);
            if need <= width {
                break;
            }
            shown.retain(|at| *at != next);
        }
        let first = shown.iter().copied().find(|at| widths[*at] > 1).unwrap_or(0);
        for at in [last, first] {
            let over = total(&shown, &widths).saturating_sub(width);
            let least = widths[at].min(LEAST);
            widths[at] = widths[at].saturating_sub(over).max(least);
        }
    }
    let line = |cells: &dyn Fn(usize) -> String| {
        let cells: Vec<String> = shown.iter().map(|at| cells(*at)).collect();
        cells.join(GAP).trim_end().to_owned()
    };
    let head = line(&|at| fit(columns[at].head, widths[at], columns[at].right));
    let body = rows.iter().map(|row| line(&|at| fit(&row[at], widths[at], columns[at].right)));
    std::iter::once(head).chain(body).collect()
}

/// The text in so many columns: filled up, or cut with a mark.
fn fit(text: &str, width: usize, right: bool) -> String {
    let text = match count(text) {
        n if n > width => format!("{}…", cut(text, width.saturating_sub(1))),
        _ => text.to_owned(),
    };
    // A wide character may have left a column free.
    let fill = " ".repeat(width.saturating_sub(count(&text)));
    if right { fill + &text } else { text + &fill }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> [Column; 4] {
        let column = |head, goes, right| Column { head, goes, right };
        [
            column("NAME", 0, false),
            column("SIZE", 0, true),
            column("DIGEST", 2, false),
            column("RUNS", 0, false),
        ]
    }

    fn rows() -> Vec<Vec<String>> {
        let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        let why = "no: no arch file serves the architecture `phi3`";
        vec![
            row(["qwen3:0.6b", "500 MB", "0123456789ab", "yes"]),
            row(["el-niño/modelo-muy-largo:Q4_K_M", "2 GB", "fedcba987654", why]),
        ]
    }

    #[test]
    fn without_a_width_nothing_is_cut() {
        let lines = lines(&columns(), &rows(), None);
        assert_eq!(lines[0], format!("NAME{:31}SIZE  DIGEST        RUNS", ""));
        assert_eq!(lines[1], format!("qwen3:0.6b{:21}  500 MB  0123456789ab  yes", ""));
        assert!(
            lines[2]
                .ends_with("  2 GB  fedcba987654  no: no arch file serves the architecture `phi3`")
        );
    }

    #[test]
    fn wide_characters_take_two_columns() {
        let row = |name: &str| [name, "1 GB", "-", "yes"].map(str::to_owned).to_vec();
        let rows = vec![row("日本語モデル:7b"), row("qwen3"), row("n\u{303}andu\u{301}")];
        for width in [None, Some(80), Some(34), Some(30), Some(29)] {
            let lines = lines(&columns(), &rows, width);
            let ends = lines.iter().map(|line| count(line)).collect::<Vec<_>>();
            assert!(ends.iter().skip(1).all(|end| *end == ends[1]), "{width:?}: {lines:#?}");
        }
    }

    #[test]
    fn a_mark_outlives_every_column_and_a_licence_a_size() {
        let column = |head, goes| Column { head, goes, right: false };
        let columns =
            [column("", 0), column("NAME", 0), column("SIZE", 2), column("LIC", 1), column("R", 0)];
        let row = |cells: [&str; 5]| cells.map(str::to_owned).to_vec();
        let why = "no: no arch file serves the architecture `phi3`";
        let rows = vec![
            row(["!", "modelo-de-nombre-largo:7b", "500 MB", "non-commercial", "yes"]),
            row(["", "otro", "2 GB", "mit", why]),
        ];
        let (mut with_size, mut with_licence) = (0, 0);
        for width in 20..130 {
            let lines = lines(&columns, &rows, Some(width));
            assert!(lines[1].starts_with("!  modelo-de-n"), "{width}: {lines:#?}");
            let has = |part: &str| lines[1].contains(part);
            assert!(!has("500 MB") || has("non-commercial"), "{width}: {lines:#?}");
            with_size += usize::from(has("500 MB"));
            with_licence += usize::from(has("non-commercial"));
        }
        assert!(with_licence > with_size && with_size > 0, "{with_licence} {with_size}");
    }

    #[test]
    fn every_width_is_kept() {
        for width in 34..140 {
            let lines = lines(&columns(), &rows(), Some(width));
            let widest = lines.iter().map(|line| count(line)).max();
            assert!(widest <= Some(width), "{width}: {lines:#?}");
            assert_eq!(
                lines.iter().any(|line| line.contains("0123456789ab")),
                width >= 79,
                "{width}"
            );
        }
        let lines = lines(&columns(), &rows(), Some(60));
        assert!(lines[2].contains("el-niño/") && lines[2].ends_with('…'), "{lines:#?}");
    }
}
