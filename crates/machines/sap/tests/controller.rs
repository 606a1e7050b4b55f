//! A congestion control from outside the crate.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use windfall_base::Instant;
use windfall_congestion::{CongestionControl, CongestionController, ControllerFactory, Start};
use windfall_sap::{DatagramMeta, SapConfig, SapEndpoint, Secret};

/// CUBIC under another name; counts the controllers that it makes.
struct Counting(AtomicUsize);

impl ControllerFactory for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn start(&self, start: &Start) -> Box<dyn CongestionController> {
        self.0.fetch_add(1, Ordering::Relaxed);
        CongestionControl::CUBIC.start(start.mss, start.initial_window, start.byte_counting)
    }
}

static COUNTING: Counting = Counting(AtomicUsize::new(0));

#[test]
fn both_ends_take_the_controller_of_their_configuration() {
    let controller = CongestionControl::new(&COUNTING);
    let config = SapConfig::standard().with(|it| it.controller = controller);
    assert_ne!(config, SapConfig::standard());
    let addresses = [1, 2].map(|host| SocketAddr::from(([10, 0, 0, host], 4000)));
    let mut ends = [1, 2].map(|key| SapEndpoint::new(config, Secret::new([key; 32])));
    ends[1].listen(true);
    ends[0].connect(Instant::START, addresses[1]);
    for from in [0, 1, 0, 1] {
        while let Some(sent) = ends[from].poll_transmit(Instant::START) {
            let meta = DatagramMeta::new(addresses[from]);
            ends[1 - from].handle_datagram(Instant::START, &meta, &sent.to_bytes());
        }
    }
    assert_eq!(COUNTING.0.load(Ordering::Relaxed), 2);
}
