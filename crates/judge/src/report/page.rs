//! The report as one file of HTML: styles and pictures inside, nothing to fetch, no script.

use std::fmt::Write;

use super::{BINS, Report};
use crate::{
    Artefact, Error,
    gate::{Finding, Refusal},
};

const STYLE: &str = "\
body{font:15px/1.5 system-ui,sans-serif;color:#23282f;max-width:1040px;margin:2em auto;\
padding:0 1em}h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}\
table{border-collapse:collapse}td,th{padding:.25em .8em;border-bottom:1px solid #e1e4e9;\
text-align:left}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}\
svg{max-width:100%;height:auto}p.note{color:#59616d}";

/// Text as HTML shows it.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// Writing to a text cannot fail, so the results are dropped.
pub(super) fn html(report: &Report) -> Result<String, Error> {
    let title = escaped(&report.title);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n\
         <style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n"
    );
    out.push_str("<table><tr><th>figure</th><th class=\"n\">value</th>");
    out.push_str("<th class=\"n\">95 % interval</th><th>what it is</th></tr>\n");
    for figure in report.figures() {
        let value = if figure.value.fract() == 0.0 && figure.value.abs() > 1.0 {
            format!("{:.0}", figure.value)
        } else {
            format!("{:.4}", figure.value)
        };
        let interval = figure
            .interval
            .map_or(String::new(), |both| format!("{:.4} – {:.4}", both.low, both.high));
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"n\">{value}</td><td class=\"n\">{interval}</td>\
             <td>{}</td></tr>",
            figure.name, figure.says
        );
    }
    out.push_str("</table>\n<h2>Diagrams</h2>\n");
    out.push_str(&report.svg()?);
    let _ = write!(
        out,
        "\n<h2>{BINS} bins</h2>\n<table><tr><th>confidence</th><th class=\"n\">rows</th>\
         <th class=\"n\">mean confidence</th><th class=\"n\">accuracy</th>\
         <th class=\"n\">95 % interval (Wilson)</th></tr>\n"
    );
    for (bin, both) in report.bins() {
        let _ = write!(
            out,
            "<tr><td>{:.1} – {:.1}</td><td class=\"n\">{}</td>",
            bin.low, bin.high, bin.rows
        );
        if bin.rows == 0 {
            out.push_str("<td class=\"n\"></td><td class=\"n\"></td><td class=\"n\"></td></tr>\n");
            continue;
        }
        let _ = writeln!(
            out,
            "<td class=\"n\">{:.4}</td><td class=\"n\">{:.4}</td>\
             <td class=\"n\">{:.4} – {:.4}</td></tr>",
            bin.confidence,
            bin.accuracy(),
            both.low,
            both.high
        );
    }
    out.push_str("</table>\n");
    gate(report, &mut out);
    out.push_str(
        "<p class=\"note\">All bounds suppose that the labelled rows and the rows to come are \
         drawn alike.</p>\n</body></html>\n",
    );
    Ok(out)
}

fn gate(report: &Report, out: &mut String) {
    let Some(gate) = &report.gate else { return };
    let terms = gate.terms();
    let _ = write!(
        out,
        "<h2>Gate</h2>\n<p>Risk {}, delta {}; digest {}.</p>\n<table><tr><th>cell</th>\
         <th class=\"n\">threshold</th><th class=\"n\">rows</th><th class=\"n\">pass</th>\
         <th class=\"n\">errors</th><th class=\"n\">bound</th></tr>\n",
        terms.risk.0,
        terms.delta.0,
        gate.digest()
    );
    for (cell, fit) in gate.cells() {
        let _ = match &fit.finding {
            Finding::Certified(c) => writeln!(
                out,
                "<tr><td>{cell}</td><td class=\"n\">{:.4}</td><td class=\"n\">{}</td>\
                 <td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{:.4}</td></tr>",
                c.threshold.0, c.rows, c.accepted, c.errors, c.bound.0
            ),
            Finding::Sets(sets) => writeln!(
                out,
                "<tr><td>{cell}</td><td class=\"n\">{:.4}</td><td class=\"n\">{}</td>\
                 <td colspan=\"3\">sets: an answer passes when its option alone is left</td></tr>",
                1.0 - sets.quantile.0,
                sets.rows
            ),
            Finding::Refused(why) => {
                writeln!(out, "<tr><td>{cell}</td><td colspan=\"5\">{}</td></tr>", says(why))
            }
        };
    }
    out.push_str("</table>\n");
}

fn says(refusal: &Refusal) -> String {
    escaped(&refusal.to_string())
}
