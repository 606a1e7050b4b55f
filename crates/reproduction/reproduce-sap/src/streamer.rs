//! The paper's streamer: a fixed number of datagrams whose every bit the receiver knows (S0.32).

use core::num::NonZeroU8;
use core::ops::Add;

use windfall_base::{
    Class, Duration, Frame, Input, Instant, Node, Payload, Port, RxVector, Seed, Stream, Tag,
};
use windfall_mac::wifi::radio::State;
use windfall_network::{Network, NetworkEvent, Recording, What, direction_of};
use windfall_report::statistics;
use windfall_stack::InterfaceEvent;

use super::office::Office;
use super::office::busy::{self, Other, others};

/// The data length of a datagram of the paper, in bytes.
pub(super) const DATA: usize = 1_024;
/// The length of the IPv4 and UDP-Lite headers in bytes.
const HEADERS: usize = 28;
/// The number of packets that the sender queues.
const WAITING: usize = 16;
/// The maximum number of packets in the sender, so that an access point has room for the packets of
/// a dozing station.
const HELD: u64 = 48;
/// The time limit of a run.
const LONGEST: Duration = Duration::from_secs(600);

/// The mode of the streamer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Retransmitted until acknowledged; damaged frames are discarded.
    Precise,
    /// One attempt, damage accepted.
    Approximate,
}

/// The parameters of one run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) office: Office,
    pub(super) mode: Mode,
    pub(super) datagrams: u64,
    /// The data length of each datagram in bytes.
    pub(super) size: usize,
    /// The number of attempts in approximate mode.
    pub(super) attempts: NonZeroU8,
    pub(super) seed: u64,
}

/// The counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// Datagrams passed to the radio.
    pub(super) sent: u64,
    /// Of these, those sent more than once.
    pub(super) retransmitted: u64,
    /// Datagrams that arrived, intact or damaged.
    pub(super) arrived: u64,
    /// Of these, those with a failed frame check sequence.
    pub(super) damaged: u64,
    /// The number of data bits in damaged datagrams.
    pub(super) damaged_bits: u64,
    /// Of these, the bit errors.
    pub(super) bit_errors: u64,
    /// The number of data bits in all that arrived.
    pub(super) bits: u64,
    /// The duration in nanoseconds.
    pub(super) nanos: u64,
    /// Of these, the time for which the receiver's radio was off.
    pub(super) dozed_nanos: u64,
}

impl Add for Outcome {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            retransmitted: self.retransmitted + other.retransmitted,
            arrived: self.arrived + other.arrived,
            damaged: self.damaged + other.damaged,
            damaged_bits: self.damaged_bits + other.damaged_bits,
            bit_errors: self.bit_errors + other.bit_errors,
            bits: self.bits + other.bits,
            nanos: self.nanos + other.nanos,
            dozed_nanos: self.dozed_nanos + other.dozed_nanos,
        }
    }
}

impl Outcome {
    const fn missing(&self) -> u64 {
        self.sent.saturating_sub(self.arrived)
    }

    //= S0.34
    /// Returns the fraction of datagrams that were sent more than once.
    pub(super) fn retransmitted_fraction(&self) -> Option<f64> {
        statistics::retransmitted_fraction(self.retransmitted, self.sent)
    }

    /// Returns the fraction of datagrams that arrived damaged.
    pub(super) fn damaged_fraction(&self) -> Option<f64> {
        statistics::frame_loss_rate(0, self.damaged, self.sent)
    }

    //= S0.35
    /// Returns the bit error rate in damaged datagrams.
    pub(super) fn bit_error_rate(&self) -> Option<f64> {
        statistics::bit_error_rate_in_damaged(self.bit_errors, self.damaged_bits)
    }

    //= S0.36
    /// Returns the fraction of intact bits among all that arrived.
    pub(super) fn intact_bits(&self) -> Option<f64> {
        (self.bits > 0).then(|| 1.0 - self.bit_errors as f64 / self.bits as f64)
    }

    //= S0.37
    /// Returns the losses of a stock receiver: missing and damaged frames.
    pub(super) fn flr(&self) -> Option<f64> {
        statistics::frame_loss_rate(self.missing(), self.damaged, self.sent)
    }

    //= S0.37
    /// Returns the losses of SAP: missing frames only.
    pub(super) fn flr_but_damaged(&self) -> Option<f64> {
        statistics::frame_loss_rate_but_damaged(self.missing(), self.sent)
    }
}

impl Outcome {
    //= S0.28
    /// Returns the rate of intact bits that arrived, in Mb/s.
    pub(super) fn goodput(&self) -> f64 {
        (self.bits - self.bit_errors) as f64 * 1e3 / self.nanos.max(1) as f64
    }

    //= S0.28
    /// Returns the fraction of the time for which the receiver's radio was off.
    pub(super) fn dozed(&self) -> f64 {
        self.dozed_nanos as f64 / self.nanos.max(1) as f64
    }

    /// Returns the bit error rate of all that arrived.
    pub(super) fn residual_bit_error_rate(&self) -> f64 {
        1.0 - self.intact_bits().unwrap_or(1.0)
    }
}

/// The state of a run.
struct Streamer {
    run: Run,
    network: Network,
    now: Instant,
    given: u64,
    /// The traffic of the other networks with the times of their next packets, and its random
    /// stream.
    others: Vec<(Other, Instant)>,
    pauses: Stream,
    /// The datagram that arrived last, which a retransmission may duplicate.
    last: Option<Tag>,
    outcome: Outcome,
}

impl Run {
    /// Creates a run of the paper's streamer.
    pub(super) const fn new(office: Office, mode: Mode, datagrams: u64, seed: u64) -> Self {
        let attempts = NonZeroU8::MIN;
        Self { office, mode, datagrams, size: DATA, attempts, seed }
    }

    //= S0.32
    /// Streams and returns the counts.
    pub(super) fn stream(self) -> Outcome {
        let office = Office { accept_damaged: self.mode == Mode::Approximate, ..self.office };
        let mut network =
            Network::build(&busy::network(office), Seed(self.seed)).expect("the office can be");
        network.record(Recording { events: true, packets: true });
        let others = others().into_iter().take(self.office.others);
        let mut streamer = Streamer {
            run: self,
            network,
            now: Instant::START,
            given: 0,
            others: others.map(|other| (other, Instant::START)).collect(),
            pauses: Stream::new(Seed(self.seed), "others"),
            last: None,
            outcome: Outcome::default(),
        };
        let begins = Instant::START + self.office.settles_in();
        streamer.go(begins);
        let dozed_nanos = streamer.dozed().as_nanos() - streamer.outcome.dozed_nanos;
        let nanos = (streamer.now - begins).as_nanos();
        Outcome { nanos, dozed_nanos, ..streamer.outcome }
    }

    //= S0.33
    /// Returns the data of datagram `number`: random bits that the receiver can reproduce.
    fn data(self, number: u64) -> Vec<u8> {
        let mut bits = Stream::new(Seed(self.seed), "streamer").at(number);
        (0..self.size.div_ceil(8)).flat_map(|_| bits.bits().to_be_bytes()).take(self.size).collect()
    }
}

impl Streamer {
    /// Streams from an instant on.
    fn go(&mut self, begins: Instant) {
        let sender = self.network.interface_at(Port(0)).expect("the sender has a device");
        while self.now < begins + LONGEST {
            if self.given == 0 && self.now >= begins {
                self.outcome.dozed_nanos = self.dozed().as_nanos();
            }
            let more = |it: &Self| {
                let waiting = it.network.queue_len(sender).0;
                it.now >= begins && it.given < it.run.datagrams && waiting < WAITING
            };
            while more(self) && self.network.ledger(sender).in_flight() < HELD {
                self.give();
            }
            if self.given == self.run.datagrams && self.network.ledger(sender).in_flight() == 0 {
                break;
            }
            let others = self.others.iter().map(|(_, next)| *next);
            let due = others.chain(self.network.poll_timeout().map(|(at, _)| at)).min();
            self.now = due.unwrap_or(self.now).max(self.now);
            self.disturb();
            self.network.handle_timeout(self.now);
            self.drain();
        }
    }

    /// Returns how long the receiver's radio has been off.
    fn dozed(&self) -> Duration {
        let receiver = self.network.interface_at(Port(1)).expect("it has a device");
        let airtime = self.network.airtime(receiver, self.now).expect("it has a radio");
        airtime.of(State::Doze)
    }

    /// Passes the next datagram to the sender.
    fn give(&mut self) {
        let mut bytes = vec![0; HEADERS];
        bytes.extend(self.run.data(self.given));
        let class = match self.run.mode {
            Mode::Precise => Class::default(),
            Mode::Approximate => Class {
                attempts: Some(self.run.attempts),
                accept_damaged: Some(true),
                ..Class::default()
            },
        };
        self.given += 1;
        self.send(Port(0), Frame::packet(bytes).with_class(class));
    }

    /// Sends the packets of the other networks that are due.
    fn disturb(&mut self) {
        for pair in 0..self.others.len() {
            let (other, next) = self.others[pair];
            if next <= self.now {
                let pause = -(1.0 - self.pauses.unit()).ln() / other.per_second;
                self.others[pair].1 = self.now + Duration::from_secs_f64(pause);
                self.send(Port(2 + 2 * pair as u16), Frame::packet(vec![0; other.bytes]));
            }
        }
    }

    fn send(&mut self, port: Port, frame: Frame) {
        self.network.handle_input(self.now, port, Input::Frame(frame, RxVector::wired(self.now)));
        self.drain();
    }

    /// Counts the events of the network.
    fn drain(&mut self) {
        while self.network.poll_transmit(self.now).is_some() {}
        while let Some(NetworkEvent { what, .. }) = self.network.poll_event() {
            match what {
                What::Interface(event) => {
                    if let InterfaceEvent::Sent { tag: Some(tag), attempt, .. } = event
                        && direction_of(tag) == 0
                    {
                        self.outcome.sent += u64::from(attempt == 1);
                        self.outcome.retransmitted += u64::from(attempt == 2);
                    }
                }
                What::Packet(passage) => {
                    let tag = passage.tag.filter(|tag| passage.arrived && direction_of(*tag) == 0);
                    if let Some(tag) = tag {
                        self.arrive(tag, &passage.payload, passage.damage.is_damaged());
                    }
                }
                What::Medium(_) | What::Host(_) => {}
            }
        }
    }

    fn arrive(&mut self, tag: Tag, packet: &Payload, damaged: bool) {
        if self.last.replace(tag) == Some(tag) {
            return;
        }
        self.outcome.arrived += 1;
        self.outcome.bits += self.run.size as u64 * 8;
        if !damaged {
            return;
        }
        // The lower bits of a tag number the packets of a direction, which are the datagrams.
        let sent = self.run.data(tag.0 & 0xff_ffff_ffff);
        let arrived = packet.slice(HEADERS.min(packet.len())..packet.len());
        let wrong = sent.iter().zip(&arrived[..]).map(|(a, b)| u64::from((a ^ b).count_ones()));
        self.outcome.damaged += 1;
        self.outcome.bit_errors += wrong.sum::<u64>();
        self.outcome.damaged_bits += self.run.size as u64 * 8;
    }
}
