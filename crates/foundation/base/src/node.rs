//! The contract: four verbs, the same on every machine that stands between two ports.

use crate::frame::Frame;
use crate::time::{Duration, Instant};
use crate::units::{Dbm, Rate};

/// A place where frames enter and leave a node; numbered by the node itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u16);

/// A protocol machine that never reads a clock, a socket, a file or ambient randomness.
///
/// Three kinds of method: `handle_*` feed it, `poll_*` drain it, getters observe it. The order that
/// drivers keep: *mutate once, then drain `poll_transmit` until `None`, then ask `poll_timeout`;
/// only then mutate again.* Laws, checked on every node by `testkit::laws`:
///
/// - a spurious `handle_timeout` changes nothing that can be observed;
/// - the wake-up of a drained node lies in the future;
/// - the same calls give the same bytes;
/// - no input panics;
/// - *taken = given + Σ named drops + held* ([`Ledger`](crate::Ledger)).
pub trait Node {
    /// Takes what arrived on `port`: a frame with its receive vector, or a signal of the medium.
    fn handle_input(&mut self, now: Instant, port: Port, input: Input);

    /// Fires every timer due at `now`; a spurious call changes nothing.
    fn handle_timeout(&mut self, now: Instant);

    /// Yields the next frame, with its transmit vector, to put on a port; call until `None`.
    fn poll_transmit(&mut self, now: Instant) -> Option<(Port, Outgoing)>;

    /// Says when to call `handle_timeout` next, and why.
    fn poll_timeout(&self) -> Option<(Instant, &'static str)>;
}

/// The earlier of two wake-ups with their reasons; the first if they share the instant.
#[must_use]
#[inline]
pub fn earlier(
    first: Option<(Instant, &'static str)>,
    second: Option<(Instant, &'static str)>,
) -> Option<(Instant, &'static str)> {
    match (first, second) {
        (Some((at, _)), Some((other, _))) if other < at => second,
        (Some(_), _) => first,
        (None, _) => second,
    }
}

/// An input of a node on a port. Wired ports use only [`Input::Frame`] and
/// [`Input::TransmissionDone`].
#[derive(Clone, Debug)]
pub enum Input {
    /// A frame, and what the receiver knows of its reception.
    Frame(Frame, RxVector),
    /// The medium became busy with the energy of others.
    CarrierBusy,
    /// The medium became idle.
    CarrierIdle,
    /// Energy was there, yet no frame came of it.
    ReceptionFailed(Failure),
    /// A frame for another station, of which a radio's address filter keeps all but the beginning.
    Overheard(Overheard),
    /// Carriers of others have come and gone, this long in all, while this node had nothing to do;
    /// nothing else that it heard of them matters any more.
    CarrierPassed(Duration),
    /// The frame that this node transmitted has left it; it may transmit the next.
    TransmissionDone,
}

/// Inputs are moved from queue to queue, several times for each frame.
const _: () = assert!(size_of::<Input>() <= 96, "an input is too large");

/// The stage at which a reception failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// A preamble was heard, but no header that made sense.
    Header,
    /// Energy ended without a preamble.
    Noise,
}

/// The report of a radio on a frame for another station: enough to defer to it, and no copy of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overheard {
    /// Its first bytes, as sent: in 802.11 frame control and duration.
    pub head: [u8; 4],
    /// Set if its frame check held; the bytes mean nothing if not.
    pub good: bool,
}

/// The form of the preamble before a frame, where the medium has two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preamble {
    /// The one that every station understands.
    #[default]
    Long,
    /// The one that saves time.
    Short,
}

/// The circumstances in which a frame was received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RxVector {
    /// When the first bit arrived.
    pub began: Instant,
    /// The rate at which it was sent, where the medium has several.
    pub rate: Option<Rate>,
    /// The signal strength, on a radio.
    pub strength: Option<Dbm>,
}

impl RxVector {
    /// The receive vector of a wire, which knows nothing but the time.
    #[must_use]
    pub const fn wired(began: Instant) -> Self {
        Self { began, rate: None, strength: None }
    }
}

/// The requests of a sender to the medium, and to the layers below it, for one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TxVector {
    /// The rate to use, where the medium has several.
    pub rate: Option<Rate>,
    /// The preamble to use, on a radio; ignored where the rate has only one.
    pub preamble: Preamble,
    /// The power to use, on a radio.
    pub power: Option<Dbm>,
    /// Time on the air beyond the bits themselves: preamble, turn-around, guard.
    pub overhead: Duration,
}

/// A frame on its way out of a node, with what the sender asks.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// The frame to transmit.
    pub frame: Frame,
    /// The requests of the sender.
    pub vector: TxVector,
}

impl From<Frame> for Outgoing {
    /// A frame that asks for nothing in particular.
    fn from(frame: Frame) -> Self {
        Self { frame, vector: TxVector::default() }
    }
}
