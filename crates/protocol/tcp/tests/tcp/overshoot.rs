//! A slow start that overshoots: 50 Mb/s, 20 ms each way, a queue of 200 packets, no other loss.

use windfall_base::{Duration, Rate};
use windfall_tcp::TcpConfig;

use crate::pair::*;

/// The outcome of ten seconds.
struct Outcome {
    goodput: f64,
    queue_drops: u64,
    timeouts: u64,
}

fn ten_seconds(config: &TcpConfig) -> Outcome {
    let buffers = TcpConfig { send_buffer: 4_000_000, receive_buffer: 4_000_000, ..config.clone() };
    let mut pair = Pair::with(buffers);
    (pair.delay, pair.rate, pair.queue) = (ms(20), Rate::from_mbps(50), Some(200));
    pair.send(NEAR, 70_000_000).run_for(Duration::from_secs(10));
    let goodput = pair.ends[FAR].incoming.len() as f64 * 8.0 / 10.0;
    let timeouts = pair.connection(NEAR).operations().timeouts;
    Outcome { goodput, queue_drops: pair.queue_drops, timeouts }
}

#[test]
fn cubic_recovers_from_an_overshoot() {
    let Outcome { goodput, queue_drops, timeouts } = ten_seconds(&TcpConfig::default());
    // 1448 of 1500 bytes are data: 48.3 Mb/s at best.
    assert!(goodput > 42e6 && queue_drops < 1_000, "{goodput} {queue_drops} {timeouts}");
}

#[test]
fn reno_with_sack_recovers_from_an_overshoot() {
    let Outcome { goodput, queue_drops, timeouts } = ten_seconds(&TcpConfig::new_reno());
    assert!(goodput > 44e6 && queue_drops < 500, "{goodput} {queue_drops} {timeouts}");
    assert_eq!(timeouts, 0);
}

#[test]
fn new_reno_does_not_repair_hundreds_of_losses_one_by_one() {
    // RFC 6582, section 4, the impatient variant: a timeout ends a recovery that takes too long.
    let config = TcpConfig { sack: false, ..TcpConfig::new_reno() };
    let Outcome { goodput, queue_drops, timeouts } = ten_seconds(&config);
    assert!(goodput > 40e6 && queue_drops < 800, "{goodput} {queue_drops} {timeouts}");
}
