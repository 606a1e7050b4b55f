//! Received entropy-coded data.

/// The received bytes, which may be damaged, and the missing ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrived {
    bytes: Vec<u8>,
    known: Vec<bool>,
}

impl Arrived {
    /// Creates a buffer of `len` missing bytes.
    #[must_use]
    pub fn new(len: usize) -> Self {
        Self { bytes: vec![0; len], known: vec![false; len] }
    }

    /// Stores received bytes from position `at`; those after the end are ignored.
    pub fn put(&mut self, at: usize, data: &[u8]) {
        let end = at.saturating_add(data.len()).min(self.bytes.len());
        if let Some(place) = self.bytes.get_mut(at..end) {
            place.copy_from_slice(&data[..place.len()]);
            self.known[at..end].fill(true);
        }
    }

    /// Returns the number of missing bytes.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.known.iter().filter(|known| !**known).count()
    }

    /// Returns a segment up to its first missing byte, without markers.
    ///
    /// In entropy-coded data 0xff is followed by 0. Otherwise one of the two is damaged: probably
    /// the second if it is one bit away from 0, else the first.
    pub(super) fn segment(&self, at: usize, length: usize) -> Vec<u8> {
        let known = self.known[at..at + length].iter().take_while(|known| **known).count();
        let data = &self.bytes[at..at + known];
        let mut out = Vec::with_capacity(data.len() + 2);
        let mut after_ff = false;
        for byte in data {
            if after_ff && *byte != 0 {
                out.push(0);
                after_ff = false;
                if byte.is_power_of_two() {
                    continue;
                }
            }
            out.push(*byte);
            after_ff = *byte == 0xff && !after_ff;
        }
        if after_ff {
            out.push(0);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(data: &[u8]) -> Vec<u8> {
        let mut arrived = Arrived::new(data.len());
        arrived.put(0, data);
        arrived.segment(0, data.len())
    }

    #[test]
    fn no_marker_is_left() {
        assert_eq!(clean(&[1, 0xff, 0, 2]), [1, 0xff, 0, 2]);
        assert_eq!(clean(&[0xff, 0x10, 2]), [0xff, 0, 2]);
        assert_eq!(clean(&[0xff, 0xd9, 2]), [0xff, 0, 0xd9, 2]);
        assert_eq!(clean(&[0xff, 0xff, 0xff]), [0xff, 0, 0xff, 0, 0xff, 0]);
        assert_eq!(clean(&[7, 0xff]), [7, 0xff, 0]);
    }

    #[test]
    fn what_is_missing_ends_a_segment() {
        let mut arrived = Arrived::new(10);
        arrived.put(0, &[1, 2, 3]);
        arrived.put(4, &[5, 6]);
        arrived.put(8, &[9, 10, 11, 12]);
        arrived.put(20, &[1]);
        assert_eq!(arrived.missing(), 3);
        assert_eq!(arrived.segment(0, 5), [1, 2, 3]);
        assert_eq!(arrived.segment(4, 2), [5, 6]);
        assert!(arrived.segment(6, 4).is_empty());
    }
}
