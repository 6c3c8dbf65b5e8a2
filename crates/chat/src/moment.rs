//! The date a template may ask for, and Python's `strftime` over it.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::Error;

const DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// A date and time of the proleptic Gregorian calendar, without a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Year, 1 to 9999.
    pub year: u16,
    /// Month, 1 to 12.
    pub month: u8,
    /// Day of the month, from 1.
    pub day: u8,
    /// Hour, 0 to 23.
    pub hour: u8,
    /// Minute, 0 to 59.
    pub minute: u8,
    /// Second, 0 to 59.
    pub second: u8,
}

impl Moment {
    /// Midnight of a day.
    pub fn day(year: u16, month: u8, day: u8) -> Moment {
        Moment { year, month, day, hour: 0, minute: 0, second: 0 }
    }

    /// The present moment in UTC.
    pub fn now() -> Moment {
        let seconds =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let (mut year, mut days) = (1970u16, seconds / 86_400);
        while year < 9999 && days >= u64::from(year_length(year)) {
            days -= u64::from(year_length(year));
            year += 1;
        }
        let (mut month, mut days) = (1u8, days.min(365) as u16);
        while days >= u16::from(month_length(year, month)) {
            days -= u16::from(month_length(year, month));
            month += 1;
        }
        let rest = seconds % 86_400;
        Moment {
            year,
            month,
            day: days as u8 + 1,
            hour: (rest / 3600) as u8,
            minute: (rest / 60 % 60) as u8,
            second: (rest % 60) as u8,
        }
    }

    /// A day of the calendar from `YYYY-MM-DD`; `None` for anything else.
    pub fn from_date(text: &str) -> Option<Moment> {
        let mut parts = text.split('-');
        let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
        let digits = |text: &str, n| text.len() == n && text.bytes().all(|b| b.is_ascii_digit());
        if !(digits(year, 4) && digits(month, 2) && digits(day, 2)) || parts.next().is_some() {
            return None;
        }
        let moment = Moment::day(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
        moment.is_valid().then_some(moment)
    }

    /// The same time of the day before; the first day of the calendar stays.
    pub fn day_before(self) -> Moment {
        if self.day > 1 {
            return Moment { day: self.day - 1, ..self };
        }
        let (year, month) = match self.month {
            1 if self.year == 1 => return self,
            1 => (self.year - 1, 12),
            month => (self.year, month - 1),
        };
        Moment { year, month, day: month_length(year, month), ..self }
    }

    /// Whether there is such a day.
    pub fn is_valid(self) -> bool {
        (1..=9999).contains(&self.year)
            && (1..=12).contains(&self.month)
            && (1..=month_length(self.year, self.month)).contains(&self.day)
            && self.hour < 24
            && self.minute < 60
            && self.second < 60
    }

    /// Day of the year, from 0.
    fn year_day(self) -> u16 {
        (1..self.month).map(|month| u16::from(month_length(self.year, month))).sum::<u16>()
            + u16::from(self.day)
            - 1
    }

    /// Day of the week, Monday is 0.
    fn week_day(self) -> usize {
        let past = u32::from(self.year) - 1;
        // 1 January of year 1 was a Monday.
        ((past * 365 + past / 4 - past / 100 + past / 400 + u32::from(self.year_day())) % 7)
            as usize
    }

    /// Formats as C's and Python's `strftime` do in the C locale.
    pub(crate) fn format(self, pattern: &str) -> Result<String, Error> {
        let mut out = String::with_capacity(pattern.len() + 16);
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            let mut code = chars.next();
            let bare = code == Some('-');
            if bare {
                code = chars.next();
            }
            let Some(code) = code else {
                return Err(Error::operation("the pattern of strftime_now ends inside a code"));
            };
            let piece = self.field(code)?;
            if bare {
                let short = piece.trim_start_matches(['0', ' ']);
                out.push_str(if short.is_empty() { "0" } else { short });
            } else {
                out.push_str(&piece);
            }
            if out.len() > 1 << 16 {
                return Err(Error::limit("the pattern of strftime_now is too long"));
            }
        }
        Ok(out)
    }

    fn field(self, code: char) -> Result<String, Error> {
        let hour12 = match self.hour % 12 {
            0 => 12,
            hour => hour,
        };
        let month = MONTHS[usize::from(self.month - 1)];
        let day = DAYS[self.week_day()];
        Ok(match code {
            'Y' => self.year.to_string(),
            'y' => format!("{:02}", self.year % 100),
            'm' => format!("{:02}", self.month),
            'd' => format!("{:02}", self.day),
            'e' => format!("{:2}", self.day),
            'j' => format!("{:03}", self.year_day() + 1),
            'B' => month.to_owned(),
            'b' | 'h' => month[..3].to_owned(),
            'A' => day.to_owned(),
            'a' => day[..3].to_owned(),
            'u' => (self.week_day() + 1).to_string(),
            'w' => ((self.week_day() + 1) % 7).to_string(),
            'H' => format!("{:02}", self.hour),
            'I' => format!("{hour12:02}"),
            'p' => if self.hour < 12 { "AM" } else { "PM" }.to_owned(),
            'M' => format!("{:02}", self.minute),
            'S' => format!("{:02}", self.second),
            'f' => "000000".to_owned(),
            'F' => self.format("%Y-%m-%d")?,
            'T' | 'X' => self.format("%H:%M:%S")?,
            'R' => self.format("%H:%M")?,
            'D' | 'x' => self.format("%m/%d/%y")?,
            'c' => self.format("%a %b %e %H:%M:%S %Y")?,
            'z' | 'Z' => String::new(),
            'n' => "\n".to_owned(),
            't' => "\t".to_owned(),
            '%' => "%".to_owned(),
            _ => return Err(Error::unsupported("a code of strftime_now that is not known")),
        })
    }
}

fn is_leap(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn year_length(year: u16) -> u16 {
    if is_leap(year) { 366 } else { 365 }
}

fn month_length(year: u16, month: u8) -> u8 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
