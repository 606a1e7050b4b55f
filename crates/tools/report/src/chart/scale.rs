//! From values to positions, and where the ticks stand.

use super::{Axis, Scale};

/// An axis laid out over a range of pixels.
pub(super) struct Placed<'a> {
    scale: &'a Scale,
    /// First and last value; of a logarithmic axis, their logarithms to base 10.
    domain: (f64, f64),
    /// First and last pixel.
    pixels: (f64, f64),
}

impl<'a> Placed<'a> {
    /// Lays `axis` out over `pixels`, wide enough for `values`.
    ///
    /// With `foot` a linear axis begins at zero, as bars demand.
    pub(super) fn new(
        axis: &'a Axis,
        values: impl Iterator<Item = f64>,
        pixels: (f64, f64),
        foot: bool,
    ) -> Self {
        let domain = match (&axis.scale, axis.range) {
            (Scale::Names(names), _) => (-0.5, names.len() as f64 - 0.5),
            (Scale::Linear, Some(range)) => range,
            (Scale::Log, Some((first, last))) => (first.log10(), last.log10()),
            (Scale::Linear, None) => linear_domain(extent(values), foot),
            (Scale::Log, None) => {
                let (low, high) = extent(values.filter(|v| *v > 0.0).map(f64::log10));
                (low.floor(), high.ceil().max(low.floor() + 1.0))
            }
        };
        Self { scale: &axis.scale, domain: widened(domain), pixels }
    }

    /// The pixel of `value`; `None` for what the axis cannot show.
    pub(super) fn at(&self, value: f64) -> Option<f64> {
        let value = match self.scale {
            Scale::Log if value <= 0.0 => return None,
            Scale::Log => value.log10(),
            Scale::Linear | Scale::Names(_) => value,
        };
        let share = (value - self.domain.0) / (self.domain.1 - self.domain.0);
        let pixel = self.pixels.0 + share * (self.pixels.1 - self.pixels.0);
        pixel.is_finite().then_some(pixel)
    }

    /// The pixel at which the axis begins.
    pub(super) fn foot(&self) -> f64 {
        self.pixels.0
    }

    /// The width of one named place, in pixels.
    pub(super) fn step(&self) -> f64 {
        ((self.pixels.1 - self.pixels.0) / (self.domain.1 - self.domain.0)).abs()
    }

    /// The ticks, each with its text.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        match self.scale {
            Scale::Names(names) => {
                names.iter().enumerate().map(|(i, name)| (i as f64, name.clone())).collect()
            }
            Scale::Linear => linear_ticks(self.domain),
            Scale::Log => log_ticks(self.domain),
        }
    }

    /// Tells whether the places along the axis are names.
    pub(super) fn is_named(&self) -> bool {
        matches!(self.scale, Scale::Names(_))
    }
}

fn extent(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let seed = (f64::INFINITY, f64::NEG_INFINITY);
    let (low, high) =
        values.filter(|v| v.is_finite()).fold(seed, |(low, high), v| (low.min(v), high.max(v)));
    if low <= high { (low, high) } else { (0.0, 1.0) }
}

/// A range whose ends differ, so that positions between them exist.
fn widened((first, last): (f64, f64)) -> (f64, f64) {
    if !(first.is_finite() && last.is_finite() && (last - first).is_finite()) {
        (0.0, 1.0)
    } else if first == last {
        (first, first + first.abs().max(1.0))
    } else {
        (first, last)
    }
}

/// A domain that ends on round numbers, and begins at zero if that is near or asked for.
fn linear_domain((low, high): (f64, f64), foot: bool) -> (f64, f64) {
    let near_zero = low >= 0.0 && low <= 0.4 * high;
    let low = if foot || near_zero { low.min(0.0) } else { low };
    let high = if foot { high.max(0.0) } else { high };
    let step = round_step(high - low);
    ((low / step).floor() * step, (high / step).ceil() * step)
}

/// A step of 1, 2 or 5 times a power of ten that cuts `span` into about six.
fn round_step(span: f64) -> f64 {
    if !(span.is_finite() && span > 0.0) {
        return 1.0;
    }
    let rough = span / 6.0;
    let power = 10_f64.powf(rough.log10().floor());
    let factor = match rough / power {
        f if f < 1.5 => 1.0,
        f if f < 3.5 => 2.0,
        f if f < 7.5 => 5.0,
        _ => 10.0,
    };
    factor * power
}

fn linear_ticks((first, last): (f64, f64)) -> Vec<(f64, String)> {
    let step = round_step((last - first).abs());
    let decimals = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
    let low = first.min(last);
    let high = first.max(last);
    // A hair of slack, or rounding would lose the tick at the end.
    let from = (low / step - 1e-9).ceil();
    let to = (high / step + 1e-9).floor();
    (0..50)
        .map(|i| from + f64::from(i))
        .take_while(|i| *i <= to)
        .map(|i| {
            let value = i * step;
            let text = if value.abs() < 1e15 {
                grouped(&format!("{value:.decimals$}"))
            } else {
                format!("{value:.1e}")
            };
            (value, text)
        })
        .collect()
}

fn log_ticks((first, last): (f64, f64)) -> Vec<(f64, String)> {
    let low = first.min(last);
    let high = first.max(last);
    let from = (low - 1e-9).ceil() as i32;
    let to = ((high + 1e-9).floor() as i32).min(from + 40);
    (from..=to).map(|power| (10_f64.powi(power), power_of_ten(power))).collect()
}

/// A number with thin spaces between the thousands.
fn grouped(number: &str) -> String {
    let (sign, rest) = number.strip_prefix('-').map_or(("", number), |rest| ("\u{2212}", rest));
    let (whole, fraction) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
    let mut out = sign.to_owned();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && whole.len() > 4 && (whole.len() - i).is_multiple_of(3) {
            out.push('\u{2009}');
        }
        out.push(digit);
    }
    out + fraction
}

/// `10⁻³` and its like; 1 and its neighbours in full.
fn power_of_ten(power: i32) -> String {
    if (-2..=3).contains(&power) {
        return format!("{}", 10_f64.powi(power));
    }
    let digits = power.to_string().chars().map(superscript).collect::<String>();
    format!("10{digits}")
}

fn superscript(digit: char) -> char {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    digit.to_digit(10).map_or('⁻', |d| DIGITS[d as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_reach_the_ends() {
        let texts = |domain| linear_ticks(domain).into_iter().map(|(_, t)| t).collect::<Vec<_>>();
        assert_eq!(texts((0.0, 1.0)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts((0.0, 120.0)).last().map(String::as_str), Some("120"));
        assert_eq!(grouped("1048576"), "1\u{2009}048\u{2009}576");
        assert_eq!(grouped("-1.5"), "\u{2212}1.5");
    }

    #[test]
    fn powers_of_ten_are_short() {
        assert_eq!(power_of_ten(-5), "10⁻⁵");
        assert_eq!(power_of_ten(12), "10¹²");
        assert_eq!(power_of_ten(-1), "0.1");
        assert_eq!(power_of_ten(3), "1000");
    }

    #[test]
    fn a_log_axis_leaves_out_zero() {
        let axis = Axis::log("loss");
        let placed = Placed::new(&axis, [0.0, 1e-3, 1.0].into_iter(), (0.0, 300.0), false);
        assert_eq!(placed.at(0.0), None);
        assert_eq!(placed.at(1e-3), Some(0.0));
        assert_eq!(placed.at(1.0), Some(300.0));
    }

    #[test]
    fn an_axis_without_data_is_still_an_axis() {
        let axis = Axis::linear("time (s)");
        let placed = Placed::new(&axis, [f64::NAN].into_iter(), (0.0, 100.0), false);
        assert!(!placed.ticks().is_empty());
        assert_eq!(placed.at(f64::INFINITY), None);
    }
}
