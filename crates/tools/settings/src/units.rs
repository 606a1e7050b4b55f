//! Units on a command line. Curl, wget and iperf take a bare number for seconds, and scenario files
//! take it for milliseconds, so that it is refused there. So is a probability of 1, which netem
//! takes for 1 %.

/// Checks that the text of a time on a command line has its unit, unless it is 0.
///
/// # Errors
/// Says what to write instead.
pub fn check_unit(text: &str) -> Result<(), String> {
    let text = text.trim();
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => {
            Err(format!("write its unit: {text}s or {text}ms"))
        }
        _ => Ok(()),
    }
}

/// Checks that a probability, or the first word of a chance, is not a bare 1.
///
/// # Errors
/// Says what to write instead.
pub(crate) fn of_chance(text: &str) -> Result<(), String> {
    match text.split_whitespace().next() {
        Some("1") => Err("1 is all of them: write 100%, or 1% for one in a hundred".to_owned()),
        _ => Ok(()),
    }
}

/// Checks the first word of a jitter.
pub(crate) fn of_jitter(text: &str) -> Result<(), String> {
    text.split_whitespace().take(1).try_for_each(check_unit)
}

/// Checks both times of an interruption.
pub(crate) fn of_interruption(text: &str) -> Result<(), String> {
    text.split_whitespace().take(2).try_for_each(check_unit)
}

/// Checks the times of slots, which stand before their packets and bytes.
pub(crate) fn of_slots(text: &str) -> Result<(), String> {
    let words = text.split_whitespace();
    words.take_while(|word| !["packets", "bytes"].contains(word)).try_for_each(check_unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_needs_its_unit() {
        for text in ["2", "0.5", "1e3", " 7 "] {
            let text_ = text.trim();
            assert_eq!(check_unit(text), Err(format!("write its unit: {text_}s or {text_}ms")));
        }
        for text in ["0", "2s", "soon", "-1", "none", "inf"] {
            assert_eq!(check_unit(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn one_is_written_as_per_cent() {
        for text in ["1", " 1 25%"] {
            assert!(of_chance(text).is_err_and(|it| it.contains("write 100%, or 1%")), "{text}");
        }
        for text in ["1%", "100%", "0", "0.5", "1e-3", "1.0", ""] {
            assert_eq!(of_chance(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn the_times_of_longer_texts_need_their_units() {
        for (check, good, bad) in [
            (of_jitter as fn(&str) -> _, "10ms 25% normal", "10 25% normal"),
            (of_jitter, "0 25%", "10"),
            (of_interruption, "5s 500ms periodic", "5s 500"),
            (of_interruption, "none", "5 500ms"),
            (of_slots, "20ms 40ms packets 32 bytes 64", "20ms 40 packets 32"),
            (of_slots, "0 20ms packets 32", "20 packets 32"),
            (of_slots, "distribution normal 20ms 5ms", "distribution normal 20ms 5"),
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
            assert!(check(bad).is_err_and(|it| it.starts_with("write its unit: ")), "{bad}");
        }
    }
}
