//! Draws the two diagrams, the same for SVG and for pixels.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::{Report, pixels::Pixels};
use crate::{Error, Kind};

const SIZE: (u32, u32) = (1000, 480);
const INK: RGBColor = RGBColor(35, 40, 48);
const FAINT: RGBColor = RGBColor(225, 228, 233);
const GREY: RGBColor = RGBColor(120, 128, 140);
const BLUE: RGBColor = RGBColor(38, 98, 190);
const PALE: RGBColor = RGBColor(196, 214, 240);
const RED: RGBColor = RGBColor(196, 60, 44);

pub(super) fn svg(report: &Report) -> Result<String, Error> {
    let mut out = String::new();
    let area = SVGBackend::with_string(&mut out, SIZE).into_drawing_area();
    draw(&area, report)?;
    area.present().map_err(|_| failed())?;
    drop(area);
    Ok(out)
}

pub(super) fn png(report: &Report) -> Result<Vec<u8>, Error> {
    let mut pixels = Pixels::new(SIZE);
    {
        let area = (&mut pixels).into_drawing_area();
        draw(&area, report)?;
        area.present().map_err(|_| failed())?;
    }
    pixels.png().ok_or_else(failed)
}

fn failed() -> Error {
    Error::new(Kind::Picture, "the diagram could not be drawn")
}

fn draw<B: DrawingBackend>(area: &DrawingArea<B, Shift>, report: &Report) -> Result<(), Error> {
    let drawn = (|| {
        area.fill(&WHITE)?;
        let (left, right) = area.split_horizontally(500);
        reliability(&left, report)?;
        coverage(&right, report)
    })();
    drawn.map_err(|_: DrawingAreaErrorKind<B::ErrorType>| failed())
}

type Drawn<B> = Result<(), DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

fn small(color: &RGBColor) -> TextStyle<'static> {
    ("sans-serif", 13).into_font().color(color)
}

/// Accuracy against confidence, with Wilson's interval, and the rows of each bin.
fn reliability<B: DrawingBackend>(area: &DrawingArea<B, Shift>, report: &Report) -> Drawn<B> {
    let (upper, lower) = area.split_vertically(350);
    let mut chart = ChartBuilder::on(&upper)
        .caption("Reliability", ("sans-serif", 18).into_font().color(&INK))
        .margin_right(20)
        .x_label_area_size(20)
        .y_label_area_size(55)
        .build_cartesian_2d(0f64..1f64, 0f64..1f64)?;
    axes(&mut chart, "accuracy", "")?;
    let bins = report.bins();
    let full = || bins.iter().filter(|(bin, _)| bin.rows > 0);
    chart.draw_series(full().map(|(bin, _)| {
        Rectangle::new([(bin.low, 0.0), (bin.high, bin.accuracy())], PALE.filled())
    }))?;
    chart.draw_series(LineSeries::new([(0.0, 0.0), (1.0, 1.0)], GREY))?;
    for (bin, interval) in full() {
        let x = bin.confidence;
        let whisker = [(x, interval.low), (x, interval.high)];
        chart.draw_series([PathElement::new(whisker, INK)])?;
        for y in [interval.low, interval.high] {
            let cap = [(x - 0.012, y), (x + 0.012, y)];
            chart.draw_series([PathElement::new(cap, INK)])?;
        }
    }
    chart.draw_series(
        full().map(|(bin, _)| Circle::new((bin.confidence, bin.accuracy()), 4, BLUE.filled())),
    )?;

    let most = bins.iter().map(|(bin, _)| bin.rows).max().unwrap_or(1).max(1) as f64;
    let mut chart = ChartBuilder::on(&lower)
        .margin_right(20)
        .margin_bottom(6)
        .x_label_area_size(40)
        .y_label_area_size(55)
        .build_cartesian_2d(0f64..1f64, 0f64..most * 1.25)?;
    chart
        .configure_mesh()
        .disable_mesh()
        .axis_style(GREY)
        .x_labels(11)
        .y_labels(2)
        .x_label_formatter(&|x| format!("{x:.1}"))
        .y_label_formatter(&|y| format!("{y:.0}"))
        .label_style(small(&INK))
        .x_desc("confidence (bars: rows of each bin)")
        .draw()?;
    chart.draw_series(full().map(|(bin, _)| {
        Rectangle::new([(bin.low + 0.008, 0.0), (bin.high - 0.008, bin.rows as f64)], BLUE.filled())
    }))?;
    let centred = small(&INK).pos(plotters::style::text_anchor::Pos::new(
        plotters::style::text_anchor::HPos::Center,
        plotters::style::text_anchor::VPos::Bottom,
    ));
    chart.draw_series(full().map(|(bin, _)| {
        let at = ((bin.low + bin.high) / 2.0, bin.rows as f64 + most * 0.03);
        Text::new(bin.rows.to_string(), at, centred.clone())
    }))?;
    Ok(())
}

/// Risk of what is acted on against the share that is, with the gate's thresholds.
fn coverage<B: DrawingBackend>(area: &DrawingArea<B, Shift>, report: &Report) -> Drawn<B> {
    let worst = report.curve.iter().map(|point| point.risk).fold(0.0, f64::max);
    let top = (worst * 1.1).clamp(0.05, 1.0);
    let mut chart = ChartBuilder::on(area)
        .caption("Risk and coverage", ("sans-serif", 18).into_font().color(&INK))
        .margin_right(20)
        .margin_bottom(6)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(0f64..1f64, 0f64..top)?;
    axes(&mut chart, "errors among the answers that pass", "coverage: share that passes")?;
    let curve = report.curve.iter().map(|point| (point.coverage, point.risk));
    chart.draw_series(LineSeries::new(curve, BLUE.stroke_width(2)))?;
    if let Some(gate) = &report.gate {
        let risk = gate.terms().risk.0;
        if risk < top {
            chart.draw_series([PathElement::new([(0.0, risk), (1.0, risk)], RED)])?;
            let at = (0.02, risk + top * 0.035);
            chart.draw_series([Text::new(format!("risk {risk}"), at, small(&RED))])?;
        }
    }
    for threshold in report.thresholds() {
        let mut passes = report.curve.iter().filter(|point| point.threshold >= threshold);
        if let Some(point) = passes.next_back() {
            let at = (point.coverage, point.risk);
            chart.draw_series([Circle::new(at, 5, RED.filled())])?;
            let label = format!("threshold {threshold:.3}");
            // Below the curve to its right, or above it to its left where the right has no room.
            let at = if at.0 > 0.7 {
                (at.0 - 0.3, at.1 + top * 0.06)
            } else {
                (at.0 + 0.02, at.1 - top * 0.01)
            };
            chart.draw_series([Text::new(label, at, small(&RED))])?;
        }
    }
    Ok(())
}

fn axes<B: DrawingBackend>(
    chart: &mut ChartContext<
        '_,
        B,
        Cartesian2d<plotters::coord::types::RangedCoordf64, plotters::coord::types::RangedCoordf64>,
    >,
    y: &str,
    x: &str,
) -> Drawn<B> {
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(FAINT)
        .axis_style(GREY)
        .x_labels(11)
        .y_labels(11)
        .x_label_formatter(&|x| format!("{x:.1}"))
        .y_label_formatter(&|y| format!("{y:.2}"))
        .label_style(small(&INK))
        .x_desc(x)
        .y_desc(y)
        .draw()
}
