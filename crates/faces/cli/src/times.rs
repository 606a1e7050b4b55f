//! The times that options have.

use windfall_base::Duration;
use windfall_scenario::check_unit;

/// Reads the time of an option, with its unit.
pub(crate) fn with_unit(text: &str) -> Result<Duration, String> {
    check_unit(text)?;
    text.parse::<Duration>().map_err(|error| error.to_string())
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
