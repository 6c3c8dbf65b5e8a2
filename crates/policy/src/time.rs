//! Moments in UTC as the log writes them: `2026-11-30T10:42:39.123Z` (RFC 3339).

use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes of a moment's text.
const LEN: usize = 24;

/// Year, month and day of a number of days since 1970, in the proleptic Gregorian calendar. The
/// year is taken to begin in March, so that the day that may be missing is its last
/// (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", 2021).
fn date(days: u64) -> (u64, u64, u64) {
    let from_march_of_year_0 = days + 719_468;
    let (era, of_era) = (from_march_of_year_0 / 146_097, from_march_of_year_0 % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + later, month, day)
}

/// A moment as text; what lies outside the years 1970 to 9999 is put at their ends.
pub(crate) fn text(at: SystemTime) -> String {
    const LAST: u128 = 253_402_300_799_999;
    let since = at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis()).min(LAST);
    let millis = u64::try_from(since).unwrap_or_default();
    let (year, month, day) = date(millis / 86_400_000);
    let (seconds, rest) = (millis / 1000 % 86_400, millis % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{rest:03}Z")
}

/// The day of a moment's text; `None` where it is none.
pub(crate) fn day_of(text: &str) -> Option<&str> {
    let form = b"0000-00-00T00:00:00.000Z";
    let fits = text.len() == LEN
        && text.bytes().zip(form).all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            form => byte == *form,
        });
    let day = fits.then(|| &text[..10])?;
    is_day(day).then_some(day)
}

/// Whether `text` is a day of the calendar, as `2026-01-31`.
pub fn is_day(text: &str) -> bool {
    let number = |from: usize, len: usize| -> Option<u64> {
        let digits = text.get(from..from + len)?;
        digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let (Some(year), Some(month), Some(day)) = (number(0, 4), number(5, 2), number(8, 2)) else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + u64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    let marks = text.len() == 10 && text.as_bytes()[4] == b'-' && text.as_bytes()[7] == b'-';
    marks && (1..=last).contains(&day)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn moments() {
        // Seconds as `date -u -d @N` shows them.
        let cases = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_735_689_599_001, "2024-12-31T23:59:59.001Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (253_402_300_800_000, "9999-12-31T23:59:59.999Z"),
        ];
        for (millis, want) in cases {
            let found = text(UNIX_EPOCH + Duration::from_millis(millis));
            assert_eq!(found, want);
            assert_eq!(day_of(&found), Some(&want[..10]));
        }
        assert_eq!(text(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00.000Z");
        // Day after day for 200 years: each is the next one of the calendar.
        let mut before = String::new();
        for days in 0..73_000u64 {
            let day = text(UNIX_EPOCH + Duration::from_secs(days * 86_400))[..10].to_owned();
            assert!(is_day(&day) && day > before, "{day} after {before}");
            before = day;
        }
        assert_eq!(before, "2169-11-12");
    }

    #[test]
    fn what_is_no_day() {
        for text in [
            "",
            "2026-02-29",
            "2026-13-01",
            "2026-00-01",
            "2026-01-00",
            "2026-04-31",
            "2026-1-01",
            "2026/01/01",
            "20260101",
            "hoy",
            "2026-01-0ñ",
            "+026-01-01",
        ] {
            assert!(!is_day(text), "{text}");
        }
        assert!(is_day("2024-02-29") && is_day("2000-02-29") && !is_day("2100-02-29"));
        for text in ["2026-01-01", "2026-02-30T00:00:00.000Z", "2026-01-01 00:00:00.000Z"] {
            assert_eq!(day_of(text), None, "{text}");
        }
    }
}
