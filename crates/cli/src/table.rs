//! Rows under heads, aligned; on a terminal no wider than it is.

/// A column: its head, and how soon it goes when there is no room (0 stays).
pub struct Column {
    pub head: &'static str,
    pub goes: u8,
    /// Whether numbers in it stand to the right.
    pub right: bool,
}

/// Between two columns.
const GAP: &str = "  ";
/// The first column is cut to no less than this, and the last one too.
const LEAST: usize = 12;

/// The lines of a table; `width` columns at the most, where it is given: columns that may go do,
/// then the last one is cut, then the first.
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
        let rest = widths[last].min(2 * LEAST);
        let need = |shown: &[usize], widths: &[usize]| total(shown, widths) - widths[last] + rest;
        while need(&shown, &widths) > width {
            let goes = shown.iter().filter(|at| columns[**at].goes > 0);
            let Some(next) = goes.max_by_key(|at| columns[**at].goes).copied() else { break };
            shown.retain(|at| *at != next);
        }
        for at in [last, 0] {
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

fn count(text: &str) -> usize {
    text.chars().count()
}

/// The text in so many columns: filled up, or cut with a mark.
fn fit(text: &str, width: usize, right: bool) -> String {
    match count(text) {
        n if n > width => {
            let cut: String = text.chars().take(width.saturating_sub(1)).collect();
            format!("{cut}…")
        }
        _ if right => format!("{text:>width$}"),
        _ => format!("{text:<width$}"),
    }
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
