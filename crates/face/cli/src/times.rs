//! The times that options have.

use windfall_base::Duration;

/// Reads the time of an option, with its unit.
pub(crate) fn with_unit(text: &str) -> Result<Duration, String> {
    refuse_bare(text)?;
    text.parse::<Duration>().map_err(|error| error.to_string())
}

/// Refuses a time without a unit, other than 0: curl, wget and iperf take one for seconds, scenario
/// files for milliseconds.
pub(crate) fn refuse_bare(text: &str) -> Result<(), String> {
    let text = text.trim();
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => {
            Err(format!("write its unit: {text}s or {text}ms"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_needs_its_unit() {
        for text in ["2", "0.5", "1e3"] {
            assert_eq!(with_unit(text), Err(format!("write its unit: {text}s or {text}ms")));
        }
        assert_eq!(with_unit("0"), Ok(Duration::ZERO));
        assert!(with_unit("-1").is_err_and(|advice| advice.contains("0 or more")));
        assert_eq!(with_unit("2s"), Ok(Duration::from_secs(2)));
        assert!(with_unit("soon").is_err());
    }
}
