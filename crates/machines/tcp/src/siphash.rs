//! SipHash-2-4: a keyed hash that an outsider cannot predict (Aumasson and Bernstein, 2012).

use core::hash::Hasher;

use siphasher::sip::SipHasher24;

/// The secret key of the hash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SipKey(pub [u64; 2]);

impl SipKey {
    /// Returns the hash of `words`, eight bytes each with the lowest first.
    #[must_use]
    pub(crate) fn hash(&self, words: &[u64]) -> u64 {
        let [k0, k1] = self.0;
        let mut hasher = SipHasher24::new_with_keys(k0, k1);
        words.iter().for_each(|word| hasher.write(&word.to_le_bytes()));
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_vectors_hold() {
        // Key 00..0f, input 00 01 02 ... (appendix A of the paper's reference code).
        let key = SipKey([0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908]);
        assert_eq!(key.hash(&[]), 0x726f_db47_dd0e_0e31);
        assert_eq!(key.hash(&[0x0706_0504_0302_0100]), 0x93f5_f579_9a93_2462);
    }
}
