use super::*;
use crate::memory::BodyMemory;

/// Bytes that tell their place.
fn bytes(range: core::ops::Range<usize>) -> Vec<u8> {
    range.map(|at| (at % 251) as u8 + 1).collect()
}

#[test]
fn what_is_written_in_any_order_is_read_in_its_own() {
    const LENGTH: usize = 200_000;
    for step in [1, 3, 7, 19] {
        let memory = BodyMemory::default();
        let mut body = SparseBytes::new(LENGTH, memory.share());
        // Every piece of 1000 bytes, each step-th one first.
        for first in 0..step {
            for number in (first..200).step_by(step).rev() {
                let range = number * 1_000..(number + 1) * 1_000;
                body.write(range.start, &bytes(range)).expect("room");
            }
        }
        assert!(memory.held() <= 3 * LENGTH, "{}", memory.held());
        assert_eq!(body.contiguous().expect("all of it")[..], bytes(0..LENGTH));
        body.write(LENGTH - 3, &[0; 9]).expect("room");
        body.write(5, &[0, 0]).expect("room");
        let read = body.into_whole().expect("all of it");
        assert_eq!((read[5], read[6], read[7], read[LENGTH - 1]), (0, 0, bytes(7..8)[0], 0));
        assert!(memory.held() >= LENGTH);
        drop(read);
        assert_eq!(memory.held(), 0);
    }
}

#[test]
fn zeros_stand_for_what_is_missing() {
    let memory = BodyMemory::default();
    let mut body = SparseBytes::new(300_000, memory.share());
    body.write(100_000, &bytes(0..50)).expect("room");
    body.write(100_020, &bytes(0..50)).expect("room");
    assert!(body.contiguous().is_none() && memory.held() < 2_000, "{}", memory.held());
    let mut all = Vec::new();
    while let Some(chunk) = body.next_chunk() {
        all.extend_from_slice(&chunk);
    }
    let expected =
        [&vec![0; 100_000][..], &bytes(0..20), &bytes(0..50), &vec![0; 199_930]].concat();
    assert!(all == expected);
    // A short body is put together, whatever is there.
    let mut short = SparseBytes::new(10, memory.share());
    short.write(8, &[1, 2]).expect("room");
    assert_eq!(short.into_whole().expect("it is short"), [0, 0, 0, 0, 0, 0, 0, 0, 1, 2][..]);
    assert!(SparseBytes::new(0, memory.share()).next_chunk().is_none());
}
