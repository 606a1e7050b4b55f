//! Requests to send that no CTS answers are counted.

use windfall_tests::run::run;

const PACKETS: u64 = 10;
/// Attempts in all of a request to send (IEEE 802.11, `dot11ShortRetryLimit`).
const ATTEMPTS: u64 = 7;

/// Requests without an answer of a sender whose every frame begins with one, and packets delivered,
/// with the receiver `meters` away. A third station hears the sender.
fn failures(meters: u32) -> (u64, u64) {
    let scenario = format!(
        "format = 1\nduration = \"2s\"\n\
         [[station]]\nname = \"s\"\nradio.position = [0, 0]\n\
         [[station]]\nname = \"r\"\nradio.position = [{meters}, 0]\n\
         [[station]]\nname = \"near\"\nradio.position = [1, 0]\n\
         [[link]]\nname = \"air\"\nkind = \"wifi-g\"\nrate = \"6Mbps\"\n\
         stations = [\"s\", \"r\", \"near\"]\n[link.radio]\nrts-threshold = 0\n\
         [[app]]\nkind = \"cbr\"\nstation = \"s\"\nto = \"r\"\nsize = 1000\n\
         interval = \"100ms\"\ncount = {PACKETS}\n"
    );
    let simulation = run(&scenario, 1).simulation;
    let network = simulation.network();
    let ledger = network.ledger(network.interfaces().next().expect("a sender"));
    (ledger.rts_failed, ledger.delivered)
}

#[test]
fn unanswered_requests_are_counted_each_time() {
    assert_eq!(failures(5), (0, PACKETS));
    assert_eq!(failures(20_000), (ATTEMPTS * PACKETS, 0));
}
