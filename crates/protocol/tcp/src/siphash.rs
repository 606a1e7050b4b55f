//! SipHash-2-4: a keyed hash for what an outsider must not guess (Aumasson and Bernstein, 2012).

/// The secret key of the hash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SipKey(pub [u64; 2]);

impl SipKey {
    /// Returns the hash of `words`, eight bytes each.
    #[must_use]
    pub(crate) fn hash(&self, words: &[u64]) -> u64 {
        let [k0, k1] = self.0;
        let mut v = [
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ];
        let last = ((words.len() * 8) as u64) << 56;
        for word in words.iter().copied().chain([last]) {
            v[3] ^= word;
            round(&mut v);
            round(&mut v);
            v[0] ^= word;
        }
        v[2] ^= 0xff;
        (0..4).for_each(|_| round(&mut v));
        v[0] ^ v[1] ^ v[2] ^ v[3]
    }
}

const fn round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[2] = v[2].rotate_left(32);
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
