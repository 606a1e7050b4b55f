//! Datagrams of bach's sockets over seeded links.

use std::io::{IoSlice, IoSliceMut};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bach::environment::default::Runtime;
use bach::ext::*;
use bach::net::UdpSocket;
use bach::net::socket::{RecvOptions, SendOptions};
use bach::time::{Instant, timeout};
use windfall_bach::{LinkCounts, OverLink};
use windfall_sim_link::SimSettings;

const DATAGRAMS: u32 = 300;

/// Arrivals: the time, the number in the datagram, its field of ECN, and `true` if its other bytes
/// are whole.
type Arrived = Vec<(Duration, u32, u8, bool)>;

/// Sends numbered datagrams of 1000 bytes that may be marked, and returns what arrives.
fn run(settings: SimSettings, seed: u64) -> (Arrived, LinkCounts) {
    let over = OverLink::new(settings.seed(seed).build().expect("a link"), "near");
    let counts = over.counts();
    let arrived = Arc::new(Mutex::new(Arrived::new()));
    let log = Arc::clone(&arrived);
    Runtime::new().with_net_queues(Some(Box::new(over))).run(move || {
        async {
            let socket = UdpSocket::bind("near:0").await.expect("a socket");
            let mut options = SendOptions::default();
            options.ecn = 2;
            for number in 0..DATAGRAMS {
                let payload = [&number.to_be_bytes()[..], &[7; 996]].concat();
                let parts = [IoSlice::new(&payload)];
                socket.send_msg("far:4000", &parts, options).await.expect("room");
                Duration::from_millis(1).sleep().await;
            }
        }
        .group("near")
        .spawn();
        async move {
            let socket = UdpSocket::bind("far:4000").await.expect("a socket");
            let mut data = [0; 1500];
            loop {
                let mut parts = [IoSliceMut::new(&mut data)];
                let next = socket.recv_msg(&mut parts, RecvOptions::default());
                let Ok(received) = timeout(Duration::from_secs(10), next).await else { break };
                let received = received.expect("a datagram");
                let number = u32::from_be_bytes(data[..4].try_into().expect("four"));
                let is_whole = data[4..received.len].iter().all(|byte| *byte == 7);
                let at = Instant::now().elapsed_since_start();
                log.lock().expect("one").push((at, number, received.ecn, is_whole));
            }
        }
        .group("far")
        .primary()
        .spawn();
    });
    let arrived = arrived.lock().expect("one").clone();
    (arrived, counts)
}

#[test]
fn a_link_delays_drops_damages_and_marks_and_a_seed_repeats_it() {
    let settings = SimSettings::new().rate("7Mbps").delay("20ms").jitter("5ms normal").loss("5%");
    let settings = settings.ber(1e-5).accept_damaged().setting("queue", "100,mark:5");
    let (arrived, counts) = run(settings.clone(), 1);
    assert_eq!(arrived, run(settings.clone(), 1).0);
    assert_ne!(arrived, run(settings, 2).0);
    assert!(arrived.iter().all(|(at, ..)| *at >= Duration::from_millis(5)));
    // 5 % of 300 are lost; five standard deviations are 19.
    assert!((250..300).contains(&arrived.len()), "{}", arrived.len());
    assert!(arrived.iter().any(|(.., is_whole)| !is_whole), "none is damaged");
    assert!(arrived.iter().any(|(_, _, ecn, _)| *ecn == 3), "none is marked");
    let near = counts.near();
    assert_eq!(near.sent, u64::from(DATAGRAMS));
    assert!(near.marked > 0 && near.damaged > 0, "{near:?}");
}

#[test]
fn a_clean_link_takes_its_delay() {
    let (arrived, counts) = run(SimSettings::new().delay("30ms"), 1);
    let numbers: Vec<_> = arrived.iter().map(|it| it.1).collect();
    assert_eq!(numbers, (0..DATAGRAMS).collect::<Vec<_>>());
    for (at, number, ecn, is_whole) in arrived {
        assert_eq!(at, Duration::from_millis(30 + u64::from(number)));
        assert!(ecn == 2 && is_whole);
    }
    assert_eq!(counts.near().delivered, u64::from(DATAGRAMS));
}
