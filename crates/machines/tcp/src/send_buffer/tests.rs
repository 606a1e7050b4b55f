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

#[test]
fn what_is_being_gathered_stays_open_until_it_is_sent() {
    let mut buffer = SendBuffer::default();
    buffer.push(vec![1; WHOLE].into());
    buffer.push_slice(&[2; 10]);
    assert_eq!(buffer.slice(0..WHOLE as u64), (vec![1; WHOLE].into(), false));
    assert_eq!((buffer.chunks.len(), buffer.small.len()), (1, 10));
    let (joined, copied) = buffer.slice(WHOLE as u64 - 1..WHOLE as u64 + 1);
    assert_eq!((&joined[..], copied), (&[1, 2][..], true));
    assert_eq!((buffer.chunks.len(), buffer.small.len()), (2, 0));
}

#[test]
fn long_slices_are_shared_and_short_ones_gathered() {
    let mut buffer = SendBuffer::default();
    let long = Bytes::from(vec![1; 2 * WHOLE]);
    buffer.push(long.clone());
    assert_eq!(buffer.slice(0..10).0.as_ptr(), long.as_ptr());
    buffer.push(vec![2; WHOLE - 1].into());
    assert_eq!((buffer.chunks.len(), buffer.small.len()), (1, WHOLE - 1));
    buffer.release(10);
    assert_eq!((buffer.start, buffer.end(), buffer.len()), (10, 12_287, 12_277));
}

#[test]
fn what_is_gathered_is_closed_at_four_times_a_whole_slice() {
    let mut buffer = SendBuffer::default();
    buffer.push_slice(&[1; 2_000]);
    buffer.push_slice(&[2; 2 * WHOLE]);
    assert_eq!((buffer.chunks.len(), buffer.small.len()), (0, 2_000 + 2 * WHOLE));
    buffer.push_slice(&[3; 4 * WHOLE + 5]);
    // A piece of four times that, and what is left of it.
    assert_eq!(buffer.chunks[0].1.len(), 2_000 + 6 * WHOLE);
    assert_eq!((buffer.chunks.len(), buffer.small.len()), (1, 5));
}

#[test]
fn what_is_gathered_is_a_piece_as_long_as_it_is_open() {
    let mut buffer = SendBuffer::default();
    assert_eq!(buffer.pieces(), 0);
    buffer.push_slice(&[1; 10]);
    buffer.push_slice(&[1; 10]);
    assert_eq!(buffer.pieces(), 1);
    buffer.push(vec![2; WHOLE].into());
    assert_eq!(buffer.pieces(), 2);
    buffer.push(vec![3; WHOLE - 1].into());
    assert_eq!((buffer.pieces(), buffer.len()), (3, 20 + 2 * WHOLE - 1));
    buffer.release(20);
    assert_eq!((buffer.pieces(), buffer.len()), (2, 2 * WHOLE - 1));
    buffer.release(u64::MAX);
    assert_eq!((buffer.pieces(), buffer.is_empty()), (0, true));
}
