//! Lines as path data: clipped to the range of the ordinate, interrupted where there is no number, and short.

/// A point.
pub(super) type Pair = (f64, f64);

/// Length of the dash that stands for a point without neighbours (tenths of a pixel).
const DASH: i64 = 30;

/// Unbroken parts of a line inside low…high of the ordinate. A point without a finite ordinate interrupts it; a point between two
/// interruptions is a part of its own.
pub(super) fn parts(points: &[Pair], [low, high]: [f64; 2]) -> Vec<Vec<Pair>> {
    let mut parts: Vec<Vec<Pair>> = Vec::new();
    for run in points.split(|p| !(p.0.is_finite() && p.1.is_finite())).filter(|run| !run.is_empty()) {
        if let [(x, y)] = *run {
            if (low..=high).contains(&y) {
                parts.push(vec![(x, y)]);
            }
            continue;
        }
        let mut joined = false;
        for ends in run.windows(2) {
            match clipped([ends[0], ends[1]], [low, high]) {
                Some([from, to]) => {
                    match parts.last_mut() {
                        Some(part) if joined => part.push(to),
                        _ => parts.push(vec![from, to]),
                    }
                    joined = to == ends[1];
                }
                None => joined = false,
            }
        }
    }
    parts
}

/// The part of a segment whose ordinates lie in low…high.
fn clipped([a, b]: [Pair; 2], [low, high]: [f64; 2]) -> Option<[Pair; 2]> {
    let inside = |y: f64| (low..=high).contains(&y);
    if inside(a.1) && inside(b.1) {
        return Some([a, b]);
    }
    let rise = b.1 - a.1;
    let [first, second] = [low, high].map(|end| (end - a.1) / rise);
    let (from, to) = (first.min(second).max(0.0), first.max(second).min(1.0));
    let at = |t: f64| (a.0 + t * (b.0 - a.0), (a.1 + t * rise).clamp(low, high));
    (rise != 0.0 && from < to).then(|| {
        let ends = [at(from), at(to)];
        [if inside(a.1) { a } else { ends[0] }, if inside(b.1) { b } else { ends[1] }]
    })
}

/// Path data of lines in pixels, to a tenth of a pixel; a line of one point is a short dash.
pub(super) fn data(lines: &[Vec<Pair>]) -> String {
    let mut text = String::new();
    for line in lines {
        let tenths: Vec<(i64, i64)> =
            line.iter().map(|p| ((10.0 * p.0).round() as i64, (10.0 * p.1).round() as i64)).collect();
        let Some(&first) = tenths.first() else { continue };
        let start = if line.len() == 1 { (first.0 - DASH / 2, first.1) } else { first };
        text.push('M');
        push(&mut text, start.0);
        push(&mut text, start.1);
        let steps = steps(&tenths);
        for (index, step) in steps.iter().enumerate() {
            if index == 0 {
                text.push('l');
            }
            push(&mut text, step.0);
            push(&mut text, step.1);
        }
        if steps.is_empty() {
            text.push('h');
            push(&mut text, DASH);
        }
    }
    text
}

/// Steps from point to point; level ones in the same direction are one.
fn steps(points: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let mut steps: Vec<(i64, i64)> = Vec::new();
    for ends in points.windows(2) {
        let step = (ends[1].0 - ends[0].0, ends[1].1 - ends[0].1);
        match steps.last_mut() {
            _ if step == (0, 0) => {}
            Some(last) if last.1 == 0 && step.1 == 0 && last.0.signum() == step.0.signum() => last.0 += step.0,
            _ => steps.push(step),
        }
    }
    steps
}

/// Appends a number of tenths, with a space only where it would run into the one before.
fn push(text: &mut String, tenths: i64) {
    let number = number(tenths as f64 / 10.0);
    if text.ends_with(|last: char| last.is_ascii_digit()) && !number.starts_with('-') {
        text.push(' ');
    }
    text.push_str(&number);
}

/// A number with at most one decimal.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    let short = text.strip_suffix(".0").unwrap_or(&text);
    if short == "-0" { "0".into() } else { short.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects histograms: a bin that holds nothing is a gap, not a line to the axis.
    #[test]
    fn a_missing_number_interrupts_a_line() {
        let line =
            [(0.0, 1.0), (1.0, 1.0), (2.0, f64::NAN), (3.0, 1.0), (4.0, f64::NEG_INFINITY), (5.0, 0.5), (6.0, 0.5)];
        let found = parts(&line, [0.0, 2.0]);
        assert_eq!(found, [vec![(0.0, 1.0), (1.0, 1.0)], vec![(3.0, 1.0)], vec![(5.0, 0.5), (6.0, 0.5)]]);
        assert_eq!(data(&found), "M0 1l1 0M1.5 1h3M5 0.5l1 0");
    }

    #[test]
    fn lines_end_at_the_border() {
        let line = [(0.0, 0.0), (1.0, 2.0), (2.0, 0.0), (3.0, -2.0), (4.0, 0.0)];
        let found = parts(&line, [-1.0, 1.0]);
        let expected =
            [vec![(0.0, 0.0), (0.5, 1.0)], vec![(1.5, 1.0), (2.0, 0.0), (2.5, -1.0)], vec![(3.5, -1.0), (4.0, 0.0)]];
        assert_eq!(found, expected);
        assert!(parts(&[(0.0, 5.0), (1.0, 5.0)], [0.0, 1.0]).is_empty());
        assert_eq!(parts(&[(0.0, -1.0), (1.0, 3.0)], [0.0, 1.0]), [vec![(0.25, 0.0), (0.5, 1.0)]]);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.04, -0.04, -1.25, 3.0].map(number), ["0", "0", "-1.2", "3"]);
        assert_eq!(data(&[vec![(10.0, 10.0), (12.0, 7.0), (12.0, 7.0), (13.5, 8.0)]]), "M10 10l2-3 1.5 1");
        let level = [(0.0, 0.0), (1.0, 0.0), (2.0, 0.02), (3.0, 0.0), (3.0, 1.0)];
        assert_eq!(data(&[level.to_vec()]), "M0 0l3 0 0 1");
    }
}
