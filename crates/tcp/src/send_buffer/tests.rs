use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn every_range_gives_the_bytes_written(
        writes in vec((0_usize..20_000, any::<bool>()), 1..8),
        cut in 0.0..1.0_f64,
        len in 0.0..1.0_f64
    ) {
        let mut buffer = SendBuffer::default();
        let mut all = Vec::new();
        for (len, shared) in writes {
            let data: Vec<u8> = (0..len).map(|i| (all.len() + i) as u8 ^ (i >> 8) as u8).collect();
            all.extend(&data);
            if shared { buffer.push(data.into()) } else { buffer.push_slice(&data) }
        }
        let from = (all.len() as f64 * cut) as usize;
        let to = from + ((all.len() - from) as f64 * len) as usize;
        prop_assert_eq!(&buffer.slice(from as u64..to as u64).0[..], &all[from..to]);
        buffer.release(from as u64);
        prop_assert_eq!(buffer.len(), all.len() - from);
        prop_assert_eq!(&buffer.slice(from as u64..to as u64).0[..], &all[from..to]);
        buffer.release(u64::MAX);
        prop_assert!(buffer.is_empty());
        prop_assert!(buffer.chunks.is_empty());
    }
}
