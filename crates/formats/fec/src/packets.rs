//! Codes across packets: repairs from which lost packets are made again, and damaged ones put
//! right.
//!
//! A repair is a sum over GF(256) of the packets of a window, each times a coefficient. A receiver
//! that lacks some of them has as many equations as it has repairs. The packets of a block with
//! its repairs behind it form a block code; repairs between the packets, each over the last so
//! many, form a sliding-window code (in the manner of RFC 8681). Both are [`PacketEncoder`] and
//! [`PacketDecoder`]; which window each repair has is the caller's choice.
//!
//! The coefficients are those of a Cauchy matrix, so that of a block with *r* repairs any *r*
//! packets may be missing. A damaged packet is not a missing one: where the equations are too few
//! to make it anew, each column of bytes is examined for one or two wrong ones.

mod columns;
mod decoder;
mod encoder;
mod equations;

use std::sync::OnceLock;

use crate::field::Field;
use crate::lanes::{Instructions, LANES, Lanes, dispatch, window, window_mut};

pub use decoder::{Made, PacketDecoder};
pub use encoder::PacketEncoder;

/// The most packets that a repair covers.
pub const MOST_COVERED: usize = 128;

/// The packets that a repair covers, and which of their sums it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cover {
    /// The number of the first packet.
    pub first: u32,
    /// The number of packets, 1 to [`MOST_COVERED`].
    pub count: u8,
    /// The row of the coefficients, 0..=127. Repairs of one window have different rows.
    pub row: u8,
}

impl Cover {
    /// Returns the numbers of the packets.
    pub fn numbers(self) -> impl Iterator<Item = u32> {
        (0..u32::from(self.count)).map(move |place| self.first.wrapping_add(place))
    }

    /// Returns `true` if there can be such a repair.
    #[must_use]
    pub const fn is_legal(self) -> bool {
        1 <= self.count && self.count as usize <= MOST_COVERED && self.row < ROWS
    }

    /// Returns the coefficient of a packet, by its number.
    fn coefficient(self, number: u32) -> u8 {
        // Cauchy: 1 / (x + y), where no x is a y. Numbers of a window differ in the lower bits.
        let sum = ROWS | self.row ^ (number % MOST_COVERED as u32) as u8;
        field().div(1, sum).unwrap_or(1)
    }
}

/// Rows of coefficients.
const ROWS: u8 = 128;

/// The field of all codes across packets.
fn field() -> &'static Field {
    static FIELD: OnceLock<Field> = OnceLock::new();
    FIELD.get_or_init(|| Field::new(0x11d).expect("the polynomial is primitive"))
}

/// Adds to `to` each of the terms times its factor; `to` has whole lanes and is as long as the
/// longest term, all of which have whole lanes.
fn add_products(instructions: Instructions, to: &mut [u8], terms: &[(u8, &[u8])]) {
    let field = field();
    dispatch!(
        instructions,
        sum(field: &Field, to: &mut [u8], terms: &[(u8, &[u8])]) -> ()
    );
}

/// Lanes that are summed side by side, so that each factor is made ready once for all.
const SIDE_BY_SIDE: usize = 4;

#[inline(always)]
fn sum<L: Lanes>(field: &Field, to: &mut [u8], terms: &[(u8, &[u8])]) {
    let mut at = 0;
    while at + SIDE_BY_SIDE * LANES <= to.len() {
        strip::<L, SIDE_BY_SIDE>(field, to, terms, at);
        at += SIDE_BY_SIDE * LANES;
    }
    while at + LANES <= to.len() {
        strip::<L, 1>(field, to, terms, at);
        at += LANES;
    }
}

/// The sums of `N` lanes from `at` on.
#[inline(always)]
fn strip<L: Lanes, const N: usize>(field: &Field, to: &mut [u8], terms: &[(u8, &[u8])], at: usize) {
    let mut sums: [L; N] = core::array::from_fn(|i| L::load(window(to, at + i * LANES)));
    for (factor, from) in terms {
        let factor = L::factor(field, *factor);
        if at + N * LANES <= from.len() {
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum = sum.xor(L::load(window(from, at + i * LANES)).times(factor));
            }
            continue;
        }
        // A shorter term ends in these lanes.
        let lanes = from.len().saturating_sub(at) / LANES;
        for (i, sum) in sums.iter_mut().enumerate().take(lanes) {
            *sum = sum.xor(L::load(window(from, at + i * LANES)).times(factor));
        }
    }
    for (i, sum) in sums.into_iter().enumerate() {
        sum.store(window_mut(to, at + i * LANES));
    }
}

/// Appends zeros up to whole lanes.
fn pad(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(LANES), 0);
    bytes
}

#[cfg(test)]
mod tests;
