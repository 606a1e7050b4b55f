//! Whole connections as a person reads them: each line a packet with its time, direction (`>` from
//! the near end), flags, numbers, options and fate. A change of behaviour shows as a difference
//! in `goldens/`.

use windfall_base::{Duration, Rate};
use windfall_tcp::{Corruption, NotificationMode, TcpConfig};
use windfall_testkit::assert_golden;

use crate::pair::*;

fn check(name: &str, pair: &Pair) {
    assert_golden!(name, pair.timeline.join("\n") + "\n");
}

fn config() -> TcpConfig {
    TcpConfig::new_reno().with(|it| {
        it.timestamps = false;
        it.nagle = false;
    })
}

/// Sends ten segments over 10 Mb/s and finishes; the numbers given, from 1, meet `fate`.
fn ten_segments(config: TcpConfig, numbers: &'static [u64], fate: fn(&Seen) -> Fate) -> Pair {
    let mut pair = Pair::new(config.clone(), config);
    pair.rate = Rate::from_mbps(10);
    let mut count = 0;
    pair.fate = Box::new(move |seen| {
        count += u64::from(seen.from == NEAR && seen.is_data() && !seen.again);
        let hit = seen.is_data() && !seen.again && numbers.contains(&count);
        if hit { fate(seen) } else { Fate::default() }
    });
    pair.connect();
    let len = 10 * pair.connection(NEAR).segment_size() as usize;
    pair.ends[NEAR].finishes = true;
    pair.ends[NEAR].outgoing = pattern(NEAR, len);
    pair.run_for(Duration::from_secs(10));
    pair
}

#[test]
fn a_clean_transfer() {
    let pair = ten_segments(config(), &[], |_| Fate::default());
    check("clean", &pair);
}

#[test]
fn two_losses_repaired_by_sack() {
    let pair = ten_segments(config(), &[3, 5], |_| Fate::lost());
    check("sack", &pair);
}

#[test]
fn two_losses_repaired_by_new_reno() {
    let pair = ten_segments(config().with(|it| it.sack = false), &[3, 5], |_| Fate::lost());
    check("new-reno", &pair);
}

#[test]
fn two_losses_as_netbsd_met_them() {
    let pair = ten_segments(TcpConfig::net3_reno(), &[3, 5], |_| Fate::lost());
    check("net3-reno", &pair);
}

#[test]
fn a_damaged_segment_named_by_a_notification() {
    let corruption = Corruption::on(NotificationMode::DraftSafe);
    let pair = ten_segments(config().with(|it| it.corruption = corruption), &[3, 5], Fate::damaged);
    check("damage", &pair);
}
