//! Serial numbers that wrap (RFC 1982): comparison within half the space.

use core::ops::Add;

macro_rules! serial {
    ($(#[$doc:meta])* $name:ident, $int:ty, $signed:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $name(pub $int);

        impl $name {
            /// Returns the distance from `other` to `self`; negative if `self` is before.
            #[must_use]
            pub const fn distance_from(self, other: Self) -> $signed {
                self.0.wrapping_sub(other.0) as $signed
            }

            /// Returns `true` if `self` comes before `other`.
            #[must_use]
            pub const fn is_before(self, other: Self) -> bool {
                self.distance_from(other) < 0
            }

            /// The number after this one.
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0.wrapping_add(1))
            }
        }

        impl Add<$int> for $name {
            type Output = Self;
            fn add(self, n: $int) -> Self {
                Self(self.0.wrapping_add(n))
            }
        }
    };
}

serial!(
    /// A 16-bit serial number.
    Seq16, u16, i16
);
serial!(
    /// A 32-bit serial number, such as TCP's.
    Seq32, u32, i32
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_survives_the_wrap() {
        let last = Seq16(u16::MAX);
        assert!(last.is_before(last.next()));
        assert_eq!(last.next(), Seq16(0));
        assert_eq!((last + 5).distance_from(last), 5);
        assert!(Seq32(u32::MAX - 1).is_before(Seq32(3)));
        assert!(!Seq32(3).is_before(Seq32(3)));
    }
}
