//! Numbers as people read them.

/// Formats a number with four significant digits.
#[must_use]
pub fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        return value.to_string().replace("inf", "∞");
    }
    let digits = 3 - value.abs().log10().floor() as i32;
    match usize::try_from(digits) {
        Ok(digits @ 0..=7) => {
            let text = format!("{value:.digits$}");
            let is_whole = !text.contains('.');
            if is_whole { text } else { text.trim_end_matches(['0']).trim_end_matches('.').into() }
        }
        Ok(_) => format!("{value:.2e}"),
        Err(_) => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.25, "0.25"),
            (12_345.6, "12346"),
            (1.23456e-9, "1.23e-9"),
            (f64::INFINITY, "∞"),
            (-0.012_345, "-0.01235"),
            (99.999, "100"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
