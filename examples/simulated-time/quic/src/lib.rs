//! QUIC by quinn over a [`SimLink`]: two endpoints without sockets, whose clock is the link's.
//!
//! [`exchange`] sends data to a server that sends it back, and returns the trace of all that
//! happened. The same seed gives the same trace.

mod endpoint;
mod identity;
mod links;

use std::time::Duration;

use bytes::Bytes;
use windfall_sim_link::{Ecn, SimDatagram, SimDelivery, SimEnd, SimError, SimLink};

use endpoint::Peer;
pub use links::{KINDS, Kind};

/// The simulated time after which an exchange has failed.
const LIMIT: Duration = Duration::from_secs(600);

/// An event of an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The simulated time.
    pub at: Duration,
    /// The end at which it happened.
    pub end: SimEnd,
    /// The event itself.
    pub what: EventKind,
}

/// A datagram that was sent or has arrived, or an event of quinn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A datagram of this length was sent.
    Sent(usize),
    /// A datagram of this length has arrived with this field of ECN; the link knows whether it is
    /// damaged.
    Arrived(usize, Ecn, bool),
    /// A packet has arrived whose headers are damaged: it is no datagram any more.
    Unreadable(usize),
    /// The connection has an event.
    Event(&'static str),
}

/// An exchange that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Everything that happened, in order.
    pub trace: Vec<Step>,
    /// The data that came back.
    pub returned: Vec<u8>,
    /// The simulated time that it took.
    pub took: Duration,
    /// The packets that quinn took for lost at the client.
    pub lost: u64,
}

impl Exchange {
    /// Returns a number of the trace, by which two runs are compared.
    pub fn digest(&self) -> u64 {
        let text = format!("{:?}", self.trace);
        // FNV-1a.
        text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        })
    }
}

/// Returns data that depends on a seed.
pub fn data(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..len).map(next).collect()
}

/// Sends `data` from the near end to a server at the far end, which sends it back.
///
/// # Errors
/// If the link refuses a packet, or the exchange does not end within ten simulated minutes or ends
/// with an error of the connection; the text says which.
pub fn exchange(mut link: SimLink, seed: u64, data: &[u8]) -> Result<Exchange, String> {
    let [near, far] = ["10.77.0.1:4000", "10.77.0.2:4433"].map(|it| it.parse().expect("one"));
    let mut peers = [Peer::client(near, far, seed, data)?, Peer::server(far, seed)];
    let (mut now, mut trace) = (Duration::ZERO, Vec::new());
    loop {
        loop {
            let mut is_idle = true;
            for (peer, end) in peers.iter_mut().zip([SimEnd::Near, SimEnd::Far]) {
                let mut say = |what| trace.push(Step { at: now, end, what });
                is_idle &= !peer.work(now, &mut say)?;
                for datagram in peer.outgoing.drain(..) {
                    is_idle = false;
                    say(What::Sent(datagram.payload.len()));
                    let refused = |error: SimError| error.to_string();
                    link.send(now, end, datagram.to_packet().map_err(refused)?).map_err(refused)?;
                }
            }
            if is_idle {
                break;
            }
        }
        if let Some(returned) = peers[0].returned() {
            let lost = peers[0].lost();
            return Ok(Exchange { trace, returned, took: now, lost });
        }
        let timers = peers.iter_mut().filter_map(Peer::timeout).chain(link.poll_timeout());
        let next = timers.min().ok_or("nothing is due, and the exchange has not ended")?;
        now = now.max(next);
        if now > LIMIT {
            return Err(format!("the exchange has not ended after {now:?}"));
        }
        while let Some(SimDelivery { at, to, packet, damaged }) = link.poll_delivery(now) {
            let peer = &mut peers[to as usize];
            let what = match SimDatagram::parse(&packet) {
                Some(it) if it.to == peer.address => {
                    let what = What::Arrived(it.payload.len(), it.ecn, damaged);
                    peer.take(now, it);
                    what
                }
                _ => What::Unreadable(packet.len()),
            };
            trace.push(Step { at, end: to, what });
        }
    }
}

/// Returns an exchange of the seed over a link of its kind.
///
/// # Errors
/// Those of [`exchange`].
pub fn run(seed: u64, len: usize) -> Result<(Kind, Exchange), String> {
    let kind = KINDS[(seed % KINDS.len() as u64) as usize];
    let link = kind.link(seed).map_err(|error| error.to_string())?;
    let sent = data(seed, len);
    let exchange = exchange(link, seed, &sent)
        .map_err(|error| format!("seed {seed}, {}: {error}", kind.name))?;
    if exchange.returned != sent {
        return Err(format!("seed {seed}, {}: other bytes came back", kind.name));
    }
    Ok((kind, exchange))
}

/// Makes bytes of a slice.
pub(crate) fn bytes(data: &[u8]) -> Bytes {
    Bytes::copy_from_slice(data)
}
