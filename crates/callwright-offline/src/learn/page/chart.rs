//! Learning curve as SVG.

use std::fmt::Write;

use crate::learn::report::CurvePoint;

/// Size of the drawing in pixels.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 260.0;

/// Margins for labels: left, right, top, bottom.
const MARGINS: (f64, f64, f64, f64) = (52.0, 16.0, 14.0, 34.0);

/// Steps of the score axis, smallest first.
const STEPS: [f64; 7] = [0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0];

/// Maximum number of horizontal grid lines.
const MAX_LINES: f64 = 6.0;

/// Draws macro-F1 by iteration as inline SVG; returns a note if there is nothing to draw.
pub(super) fn curve(points: &[CurvePoint]) -> String {
    let (Some(last), true) = (points.last(), points.len() > 1) else {
        return "<p class=\"note\">No change was made.</p>\n".to_owned();
    };
    let scores = points.iter().map(|point| point.macro_f1).filter(|score| score.is_finite());
    let (least, most) =
        scores.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), score| (least.min(score), most.max(score)));
    if least > most {
        return "<p class=\"note\">There are no scores.</p>\n".to_owned();
    }
    let step = STEPS.into_iter().find(|step| (most - least) / step < MAX_LINES).unwrap_or(50.0);
    let (bottom, top) = ((least / step).floor() * step, ((most / step).floor() + 1.0) * step);
    let scale = Scale { bottom, top, last: last.iteration.max(1) };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"Macro-F1 from {:.2} to {:.2} percent\">\n",
        points.first().map_or(0.0, |point| point.macro_f1),
        last.macro_f1
    );
    lines_across(&mut svg, &scale, step);
    marks_below(&mut svg, &scale);
    let drawn: Vec<(f64, f64, &CurvePoint)> = points
        .iter()
        .filter(|point| point.macro_f1.is_finite())
        .map(|point| (scale.x(point.iteration), scale.y(point.macro_f1), point))
        .collect();
    let line: Vec<String> = drawn.iter().map(|(x, y, _)| format!("{x:.1},{y:.1}")).collect();
    // Writing to a `String` cannot fail, here and below.
    let _ =
        writeln!(svg, "<polyline fill=\"none\" stroke=\"#2563c9\" stroke-width=\"2\" points=\"{}\"/>", line.join(" "));
    for (x, y, point) in drawn {
        let CurvePoint { iteration, macro_f1, patterns } = point;
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"#2563c9\"><title>iteration {iteration}: {macro_f1:.2} %, \
             {patterns} patterns</title></circle>"
        );
    }
    svg.push_str("</svg>\n");
    svg
}

struct Scale {
    bottom: f64,
    top: f64,
    last: usize,
}

impl Scale {
    #[expect(clippy::cast_precision_loss, reason = "iterations are few")]
    fn x(&self, iteration: usize) -> f64 {
        let (left, right, _, _) = MARGINS;
        left + (WIDTH - left - right) * iteration as f64 / self.last as f64
    }

    fn y(&self, score: f64) -> f64 {
        let (_, _, above, below) = MARGINS;
        HEIGHT - below - (HEIGHT - above - below) * (score - self.bottom) / (self.top - self.bottom)
    }
}

fn lines_across(svg: &mut String, scale: &Scale, step: f64) {
    let (left, right, _, _) = MARGINS;
    let places = if step < 1.0 { 1 } else { 0 };
    let lines = std::iter::successors(Some(scale.bottom), |score| Some(score + step));
    for score in lines.take_while(|score| *score <= scale.top + step / 2.0) {
        let y = scale.y(score);
        let _ = writeln!(
            svg,
            "<line x1=\"{left}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\" stroke=\"#8894a3\" stroke-opacity=\".3\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{score:.places$} %</text>",
            WIDTH - right,
            left - 6.0,
            y + 4.0
        );
    }
}

fn marks_below(svg: &mut String, scale: &Scale) {
    let every = scale.last.div_ceil(10).max(1);
    for iteration in (0..=scale.last).step_by(every) {
        let (x, y) = (scale.x(iteration), HEIGHT - 12.0);
        let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{iteration}</text>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(scores: &[f64]) -> Vec<CurvePoint> {
        let point = |(iteration, macro_f1): (usize, &f64)| CurvePoint {
            iteration,
            macro_f1: *macro_f1,
            ..CurvePoint::default()
        };
        scores.iter().enumerate().map(point).collect()
    }

    /// Returns the corners of the line.
    fn corners(svg: &str) -> Vec<(f64, f64)> {
        let (_, rest) = svg.split_once("points=\"").unwrap();
        let pairs = rest.split('"').next().unwrap().split(' ').map(|pair| pair.split_once(',').unwrap());
        pairs.map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap())).collect()
    }

    #[test]
    fn higher_scores_are_drawn_higher_and_later_ones_further_right() {
        for scores in [&[53.8, 80.0, 79.5, 88.0][..], &[99.9, 100.0], &[0.0, 0.0], &[0.0, 100.0]] {
            let svg = curve(&points(scores));
            let corners = corners(&svg);
            assert_eq!(corners.len(), scores.len());
            for (one, (before, after)) in corners.windows(2).zip(scores.iter().zip(&scores[1..])) {
                assert!(one[1].0 > one[0].0);
                assert_eq!(one[1].1 < one[0].1, after > before, "{svg}");
            }
            assert!(corners.iter().all(|(x, y)| (0.0..=WIDTH).contains(x) && (0.0..=HEIGHT).contains(y)), "{svg}");
            assert!(svg.matches("<line").count() <= 9, "{svg}");
        }
    }

    #[test]
    fn without_a_curve_nothing_is_drawn() {
        assert!(!curve(&[]).contains("<svg") && !curve(&points(&[50.0])).contains("<svg"));
        assert!(!curve(&points(&[f64::NAN, f64::NAN])).contains("<svg"));
        assert!(curve(&points(&[1.0, f64::NAN, 2.0])).contains("<svg"));
    }
}
