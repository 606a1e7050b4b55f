//! Positions in a stream, 64 bits wide, and the 32-bit numbers that stand for them on the wire.
//!
//! Position 0 is SYN, 1 the first byte of data; FIN comes after the last. A position never wraps,
//! so only this module compares wrapping numbers.

use windfall_base::seq::Seq32;

/// Returns the number on the wire for `position`, where SYN had `origin`.
#[must_use]
pub(crate) fn number(origin: Seq32, position: u64) -> Seq32 {
    origin + position as u32
}

/// Returns the position for a number on the wire: the one nearest to `near`, if it is not before
/// SYN.
#[must_use]
pub(crate) fn position(origin: Seq32, near: u64, found: Seq32) -> Option<u64> {
    near.checked_add_signed(i64::from(found.distance_from(number(origin, near))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_survive_the_wrap_in_both_directions() {
        let origin = Seq32(u32::MAX - 5);
        for at in [0, 3, 6, 10, 1 << 32, (1 << 33) + 7] {
            for offset in [-(1_i64 << 31) + 1, -7, 0, 7, (1 << 31) - 1] {
                let Some(target) = u64::checked_add_signed(at, offset) else { continue };
                assert_eq!(position(origin, at, number(origin, target)), Some(target));
            }
        }
        assert_eq!(position(origin, 3, origin + 3_u32.wrapping_sub(4)), None);
    }
}
