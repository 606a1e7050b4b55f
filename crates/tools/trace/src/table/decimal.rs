//! Numbers as their digits say, without the rounding of binary ones.

/// The most digits of a number, and of a power of ten, that are multiplied here.
const DIGITS: usize = 36;

/// Returns the product of decimal numbers, rounded to a whole one; `None` if a text is no decimal
/// number, or a number has too many digits for this.
pub(super) fn product<const N: usize>(texts: [&str; N]) -> Option<i128> {
    let mut digits = 1_i128;
    let mut exponent = 0_i32;
    for text in texts {
        let (own, power) = decimal(text)?;
        digits = digits.checked_mul(own)?;
        exponent = exponent.checked_add(power)?;
    }
    let power = exponent.unsigned_abs();
    let ten = 10_i128.checked_pow(power).filter(|_| power as usize <= DIGITS)?;
    if exponent >= 0 {
        return digits.checked_mul(ten);
    }
    Some(digits.checked_mul(2)?.checked_add(ten)?.div_euclid(ten.checked_mul(2)?))
}

/// Returns the digits of a decimal number, and the power of ten by which they count.
fn decimal(text: &str) -> Option<(i128, i32)> {
    let (text, exponent) = match text.split_once(['e', 'E']) {
        Some((text, exponent)) => (text, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_fraction = fraction.bytes().all(|byte| byte.is_ascii_digit());
    if !is_fraction || whole.len() + fraction.len() > DIGITS {
        return None;
    }
    let digits = [whole, fraction].concat().parse().ok()?;
    Some((digits, exponent.checked_sub(fraction.len() as i32)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_has_all_digits_of_its_factors() {
        for (factors, expected) in [
            (["1582824615123456789", "1", "1"], Some(1_582_824_615_123_456_789)),
            (["1582824615.123456789", "1", "1000000000"], Some(1_582_824_615_123_456_789)),
            (["20200227173015", "0.000000001", "1000000000"], Some(20_200_227_173_015)),
            (["-1.5", "1", "1"], Some(-1)),
            (["1.5", "1e0", "1"], Some(2)),
            (["+.5e1", "1", "3"], Some(15)),
            (["1e40", "1", "1"], None),
            (["1e-300", "1", "1"], None),
            (["", "1", "1"], None),
            (["1.+5", "1", "1"], None),
            (["inf", "1", "1"], None),
            (["12345678901234567890123456789", "3.14159265358979", "1"], None),
        ] {
            assert_eq!(product(factors), expected, "{factors:?}");
        }
    }
}
