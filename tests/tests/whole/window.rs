//! What persistent retransmission carries on fast long pipes.
//!
//! Every run takes two; `WINDFALL_TEST_WINDOW=full` takes those that need hundreds of megabytes.

use windfall_tests::run::{UPLINK, pair, run};

/// Bytes of a full packet, and of its frame.
const PACKET: (f64, f64) = (1_500.0, 1_519.0);

/// The part that a pipe of 1 Gb/s with this delay in ms carries of its ideal with this loss, if
/// nothing ever waited for a window: new packets that were sent, as a share of (1 - p) of the line.
fn share(delay: u64, loss: f64, seconds: u64) -> f64 {
    let link = format!(
        "rate = \"1Gbps\"\ndelay = \"{delay}ms\"\narq = \"persistent\"\nuplink.loss = {loss}"
    );
    let spray = "[[app]]\nkind = \"spray\"\nstation = \"near\"\nto = \"far\"\n";
    let outcome = run(&pair(seconds, &link, spray), 7);
    let ledger = outcome.ledger(UPLINK);
    let new = (ledger.packets.frames - ledger.packets.retransmissions) as f64;
    new * PACKET.0 * 8.0 / seconds as f64 / (1e9 * PACKET.0 / PACKET.1 * (1.0 - loss))
}

//= S3.10
//= S3.50
#[test]
fn a_fast_long_pipe_carries_what_is_not_lost() {
    let mut cases = vec![(50, 0.1, 1), (300, 0.0, 1)];
    if std::env::var_os("WINDFALL_TEST_WINDOW").is_some() {
        cases.extend([(50, 0.1, 10), (50, 0.5, 10), (300, 0.0, 10), (300, 0.1, 15)]);
    }
    for (delay, loss, seconds) in cases {
        let share = share(delay, loss, seconds);
        println!("{delay} ms, {loss} of all frames lost, {seconds} s: {share:.4}");
        assert!((0.95..1.02).contains(&share), "{delay} ms, {loss}, {seconds} s: {share:.3}");
    }
}
