//! The internet checksum in the ways that paper 002 compares (section 3.3): by the size of words
//! and the order of their bytes, and together with a copy.
//!
//! Plain loops, one word at a time; what the compiler makes of them is what is compared.

/// Adds with the carry that leaves at the top coming in at the bottom.
fn add(total: u64, word: u64) -> u64 {
    let (sum, carry) = total.overflowing_add(word);
    sum + u64::from(carry)
}

/// Folds a sum of words in the machine's byte order to the checksum in that of the network.
fn finish(total: u64) -> u16 {
    let mut sum = total;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16).to_be()
}

/// Fewer bytes than a word as a word with zeros behind them.
fn last(rest: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..rest.len()].copy_from_slice(rest);
    // What is little endian here is big endian there: the bytes keep their places either way.
    if cfg!(target_endian = "big") { u64::from_be_bytes(word) } else { u64::from_le_bytes(word) }
}

/// RFC 1071 as one would write it down: words in network order, the carry folded at once.
#[must_use]
pub fn in_network_order(bytes: &[u8]) -> u16 {
    let mut sum = 0_u32;
    let mut at = 0;
    while at + 1 < bytes.len() {
        sum += u32::from(bytes[at]) << 8 | u32::from(bytes[at + 1]);
        sum = (sum & 0xffff) + (sum >> 16);
        at += 2;
    }
    if at < bytes.len() {
        sum += u32::from(bytes[at]) << 8;
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Sums in words of one size in the machine's byte order, without and with a copy.
macro_rules! of_words {
    ($sum:ident, $copy:ident, $word:ty, $bits:literal) => {
        #[doc = concat!("Sums words of ", $bits, " bits in the machine's byte order.")]
        #[must_use]
        pub fn $sum(bytes: &[u8]) -> u16 {
            let (words, rest) = bytes.as_chunks::<{ size_of::<$word>() }>();
            let sum = |total, word: &_| add(total, u64::from(<$word>::from_ne_bytes(*word)));
            finish(add(words.iter().fold(0, sum), last(rest)))
        }

        #[doc = concat!("The same with a copy: load, add ", $bits, " bits, add the carry, store.")]
        ///
        /// # Panics
        /// If the slices differ in length.
        pub fn $copy(to: &mut [u8], from: &[u8]) -> u16 {
            assert_eq!(to.len(), from.len(), "a copy needs as much room as there are bytes");
            let (words, rest) = from.as_chunks::<{ size_of::<$word>() }>();
            let (places, end) = to.as_chunks_mut::<{ size_of::<$word>() }>();
            let mut total = last(rest);
            for (place, word) in places.iter_mut().zip(words) {
                total = add(total, u64::from(<$word>::from_ne_bytes(*word)));
                *place = *word;
            }
            end.copy_from_slice(rest);
            finish(total)
        }
    };
}

of_words!(of_16, copy_of_16, u16, "16");
of_words!(of_32, copy_of_32, u32, "32");
of_words!(of_64, copy_of_64, u64, "64");

#[cfg(test)]
mod tests;
