use proptest::prelude::*;

use super::*;

fn at(ms: u64) -> Instant {
    Instant::START + Duration::from_millis(ms)
}

fn buffer(delay: u64) -> JitterBuffer<&'static str> {
    JitterBuffer::new(JitterBufferConfig {
        delay: Duration::from_millis(delay),
        clock: 90_000,
        capacity: 4,
    })
}

#[test]
fn packets_leave_in_order_each_at_its_time() {
    let mut buffer = buffer(50);
    // A picture each 100 ms; the second one is 30 ms late and comes behind the third.
    buffer.insert(at(200), 65_535, 0, "a");
    buffer.insert(at(329), 65_537, 9_000, "c");
    buffer.insert(at(330), 65_536, 9_000, "b");
    assert_eq!(buffer.poll_timeout(), Some(at(250)));
    assert_eq!(buffer.poll(at(249)), None);
    let order: Vec<_> = [250, 350, 350].map(|ms| buffer.poll(at(ms)).unwrap()).into();
    assert_eq!(order.iter().map(|it| it.item).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(order[1].playout, at(350));
    assert_eq!((order[1].arrived, order[1].sequence), (at(330), 65_536));
    assert_eq!(buffer.counters(), JitterBufferCounters::default());
}

#[test]
fn what_comes_too_late_twice_or_in_a_flood_is_counted() {
    let mut buffer = buffer(20);
    buffer.insert(at(0), 0, 0, "a");
    buffer.insert(at(0), 0, 0, "a");
    buffer.insert(at(5), 3, 900, "d");
    assert_eq!(buffer.poll(at(30)).unwrap().item, "a");
    assert_eq!(buffer.poll(at(30)).unwrap().item, "d");
    buffer.insert(at(31), 2, 600, "c");
    for number in 4..9 {
        buffer.insert(at(31), number, 1_200, "e");
    }
    let expected = JitterBufferCounters { late: 1, duplicate: 1, overflow: 1, missing: 2 };
    assert_eq!(buffer.counters(), expected);
    assert_eq!(buffer.len(), 4);
}

proptest! {
    /// Whatever comes, packets leave in order, none before its time less the delay, and each is
    /// in one account.
    #[test]
    fn any_packets_leave_in_order(
        packets in prop::collection::vec((0..300_u32, any::<u32>(), 0..1_000_u64), 0..80),
    ) {
        let mut buffer = buffer(40);
        let mut now = 0;
        let mut last = None;
        let mut left = 0_u64;
        for (count, (sequence, timestamp, pause)) in packets.iter().enumerate() {
            let sequence = &sequence.wrapping_sub(150);
            now += pause;
            buffer.insert(at(now), *sequence, *timestamp, "x");
            while let Some(packet) = buffer.poll(at(now)) {
                left += 1;
                if let Some(last) = last.replace(packet.sequence) {
                    prop_assert!((packet.sequence.wrapping_sub(last) as i32) > 0);
                }
            }
            prop_assert!(buffer.poll_timeout().is_none_or(|it| it > at(now)));
            let counters = buffer.counters();
            let counted = counters.late + counters.duplicate + counters.overflow;
            prop_assert_eq!(left + counted + buffer.len() as u64, count as u64 + 1);
        }
    }
}
