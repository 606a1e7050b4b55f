//! The checksum of exact datagrams, which depends on whether links of the path pass damage up.

use windfall_base::Check;

use super::super::*;
use super::network::{A, B, CLEAN, Impairments, Network, SECOND, address};
use crate::message::Mode;

/// Sends 300 messages from A to B; returns the fraction of their datagrams that are whole.
fn share(network: &mut Network, a: ConnectionId, b: ConnectionId) -> f64 {
    share_from(network, (A, a), (B, b))
}

fn share_from(
    network: &mut Network,
    (from, id): (usize, ConnectionId),
    (to, peer): (usize, ConnectionId),
) -> f64 {
    network.log.clear();
    for _ in 0..300 {
        network.send(from, id, Mode::Precise, &[7; 1000]);
        network.run(Duration::from_millis(1));
        network.receive(to, peer);
    }
    network.run(SECOND);
    network.receive(to, peer);
    let sent = network.sent(from, SapKind::Data);
    sent.iter().filter(|it| it.whole).count() as f64 / sent.len() as f64
}

#[test]
fn exact_datagrams_are_whole_until_the_path_shows_damage() {
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    let first = share(&mut network, a, b);
    assert!((0.7..0.8).contains(&first), "the first 64 are a sample: {first}");
    assert!(share(&mut network, a, b) > 0.98);
    // A loss may have been damage.
    network.impairments.loss = 0.01;
    let lossy = share(&mut network, a, b);
    assert!(lossy < 0.9, "{lossy}");
    network.impairments = CLEAN;
    share(&mut network, a, b);
    assert!(share(&mut network, a, b) > 0.98, "it was none");
    network.impairments = Impairments { damage: 0.2, intact_prefix: 20, ..CLEAN };
    share(&mut network, a, b);
    network.impairments = CLEAN;
    assert!(share(&mut network, a, b) == 0.0, "damage was reported");
}

#[test]
fn an_end_that_sees_damage_shows_it_to_its_peer() {
    for sign in 0..3 {
        let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
        share(&mut network, a, b);
        let probe = network.sent(A, SapKind::Data)[0].to_bytes();
        let meta = DatagramMeta::new(address(A));
        let now = network.now;
        match sign {
            // The check of its frame has failed.
            0 => {
                let meta = DatagramMeta { frame: Check::Bad, ..meta };
                network.ends[B].handle_datagram(now, &meta, &probe);
            }
            // Its header is damaged.
            1 => {
                let mut bytes = probe.to_vec();
                bytes[9] ^= 1;
                network.ends[B].handle_datagram(now, &meta, &bytes.into());
            }
            // Nothing.
            _ => {}
        }
        for (from, to, shows) in [((A, a), (B, b), false), ((B, b), (A, a), sign < 2)] {
            share_from(&mut network, from, to);
            let whole = share_from(&mut network, from, to);
            assert_eq!(whole == 0.0, shows, "sign {sign}");
        }
    }
}
