//! Data over good and bad circuits.

use windfall_base::{Duration, Instant, Seed, Stream};
use windfall_circuit::rlp::{BlockTunnel, RejectMode, RlpEvent, RlpLink, SLOT};
use windfall_testkit::seed;

use crate::circuit::{Circuit, DOWN, UP, standard};

fn text(len: usize, seed: u64) -> Vec<u8> {
    let mut stream = Stream::new(Seed(seed), "text");
    (0..len).map(|_| stream.bits() as u8).collect()
}

//= S1.14
#[test]
fn a_minute_carries_72_000_bytes() {
    let mut circuit = Circuit::connected(5);
    let text = text(80_000, 1);
    let mut sent = 0;
    let start = circuit.slot;
    while circuit.slot < start + 3_000 {
        sent += circuit.ends[UP].write(&text[sent..]);
        circuit.step(|_, _| false);
    }
    // What is under way at the end has not arrived.
    let arrived = circuit.read[DOWN].len();
    assert!((72_000 - 6 * 24..=72_000).contains(&arrived), "{arrived}");
    assert_eq!(circuit.read[DOWN], text[..arrived]);
    assert_eq!(circuit.ends[UP].counts().retransmissions, 0);
}

//= S1.15
#[test]
fn everything_arrives_once_and_in_order_over_bad_circuits() {
    seed::each(8, |Seed(seed)| {
        for (mode, loss) in [
            (RejectMode::Selective, 0.02),
            (RejectMode::Selective, 0.15),
            (RejectMode::GoBack, 0.02),
            (RejectMode::GoBack, 0.1),
        ] {
            let mut configs = standard();
            configs.iter_mut().for_each(|config| config.reject = mode);
            let mut circuit = Circuit::new(configs, 4);
            circuit.ends[UP].connect();
            circuit.run(400, loss, seed);
            let texts = [text(6_000, seed), text(4_000, seed + 1)];
            for (end, text) in circuit.ends.iter_mut().zip(&texts) {
                end.write(text);
            }
            circuit.run(3_000, loss, seed);
            let resets = circuit.ends[UP].counts().resets;
            assert_eq!(resets, 0, "{mode:?} {loss}");
            assert!(circuit.read[DOWN] == texts[UP], "{mode:?} {loss}: up");
            assert!(circuit.read[UP] == texts[DOWN], "{mode:?} {loss}: down");
        }
    });
}

//= S1.15
#[test]
fn selective_reject_retransmits_less_than_going_back() {
    let retransmissions = |mode| {
        let mut configs = standard();
        configs.iter_mut().for_each(|config| config.reject = mode);
        let mut circuit = Circuit::new(configs, 10);
        circuit.ends[UP].connect();
        circuit.run(200, 0.0, 1);
        circuit.ends[UP].write(&text(8_000, 1));
        circuit.run(3_000, 0.03, 1);
        assert_eq!(circuit.read[DOWN].len(), 8_000);
        circuit.ends[UP].counts().retransmissions
    };
    let (selective, back) =
        (retransmissions(RejectMode::Selective), retransmissions(RejectMode::GoBack));
    assert!(3 * selective < back, "{selective} {back}");
}

/// A transfer between two clocks, of which that of the network is off by `ppm`: retransmissions,
/// overruns, underruns.
fn with_skew(ppm: i64) -> (u64, u64, u64) {
    let mut links = standard().map(RlpLink::new);
    let mut tunnels = [BlockTunnel::new(4), BlockTunnel::new(4)];
    links[UP].connect();
    let own_slot = SLOT.as_nanos().saturating_add_signed(SLOT.as_nanos() as i64 * ppm / 1_000_000);
    let mut next = [Instant::START; 2];
    let text = text(1_000, 1);
    while next[UP] < Instant::START + Duration::from_secs(120) {
        let end = usize::from(next[DOWN] < next[UP]);
        let now = next[end];
        next[end] += [SLOT, Duration::from_nanos(own_slot)][end];
        links[end].write(&text);
        tunnels[1 - end].put(links[end].next_frame(now));
        if let Some(block) = tunnels[end].take() {
            links[end].handle_frame(now, &block).expect("a frame");
        }
        let _ = links[end].read();
        while let Some(event) = links[end].poll_event() {
            assert!(!matches!(event, RlpEvent::Down(_)), "{ppm}: {event:?}");
        }
    }
    let sum = |of: fn(&BlockTunnel) -> u64| tunnels.iter().map(of).sum();
    let retransmissions = links.iter().map(|link| link.counts().retransmissions).sum();
    (retransmissions, sum(BlockTunnel::overruns), sum(BlockTunnel::underruns))
}

//= S1.27
#[test]
fn two_clocks_that_differ_retransmit_on_a_network_that_loses_nothing() {
    assert_eq!(with_skew(0), (0, 0, 0));
    for ppm in [-2_000, 2_000] {
        let (retransmissions, overruns, underruns) = with_skew(ppm);
        // 120 s · 2000 ppm are twelve slots, of which the buffer takes four.
        assert!(retransmissions >= 1, "{ppm}");
        assert!(overruns + underruns >= 1, "{ppm}");
    }
    let (retransmissions, overruns, underruns) = with_skew(4_000);
    assert!(overruns >= 15, "{overruns}");
    assert!(retransmissions >= overruns, "{retransmissions} {overruns} {underruns}");
}

/// The retransmissions and polls of a transfer whose entities read a clock of this granularity.
fn with_granularity(granularity: Duration) -> (u64, u64) {
    let mut links = standard().map(RlpLink::new);
    let mut flying: [std::collections::VecDeque<_>; 2] = Default::default();
    links[UP].connect();
    let stream = Stream::new(Seed(3), "loss");
    for slot in 0..6_000 {
        let time = (SLOT * slot).as_nanos() / granularity.as_nanos() * granularity.as_nanos();
        let now = Instant::from_nanos(time);
        links[UP].write(&[5; 100]);
        for from in [UP, DOWN] {
            flying[from].push_back(links[from].next_frame(now));
            let lost = stream.unit_at(2 * slot + from as u64) < 0.02;
            if flying[from].len() > 11
                && let Some(block) = flying[from].pop_front()
                && !lost
            {
                links[1 - from].handle_frame(now, &block).expect("a frame");
            }
            let _ = links[1 - from].read();
        }
    }
    assert!(links.iter().all(RlpLink::is_up));
    (links[UP].counts().retransmissions, links[UP].counts().polls)
}

//= S1.65
#[test]
fn a_coarse_clock_costs_no_link_that_is_driven_by_its_slots() {
    // The slots, not the clock, pace the frames; T1 is long against any of these granularities.
    let fine = with_granularity(Duration::from_millis(1));
    for coarse in [10, 55] {
        let (retransmissions, polls) = with_granularity(Duration::from_millis(coarse));
        assert!(retransmissions <= 2 * fine.0, "{coarse} ms: {retransmissions} {fine:?}");
        assert!(polls <= 2 * fine.1.max(5), "{coarse} ms: {polls} {fine:?}");
    }
}
