//! One connection under the faults of its port.

use windfall_base::seq::Seq32;
use windfall_base::{Duration, Frame, Instant};
use windfall_wire_net::tcp::TcpRepr;
use windfall_wire_net::{Addresses, TcpFlags};

use crate::fault_injection::port_faults::{ConnectionFault, PortFaults};
use crate::fault_injection::segment::{Segment, bare};

/// The time after which the end of a connection is told once more, and how often it is told.
const AGAIN: Duration = Duration::from_millis(300);
const TIMES: u32 = 8;

/// The direction in which a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Into the network, as if the station had sent it.
    Away,
    /// To the station whose port it is.
    Home,
}

/// The frames that go on, and the time at which the connection is to be looked at again.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) frames: Vec<(Instant, Way, Frame)>,
    pub(crate) wake: Option<Instant>,
    /// The [bits](ConnectionFault::bit) of the faults that have acted.
    pub(crate) acted: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// Every packet is answered as by a host that knows of no connection.
    Reset,
    /// The client was told that the data ends before this number, as often as `told` says.
    Ended {
        cut: u32,
        told: u32,
    },
}

/// A connection, as far as it is known.
#[derive(Debug)]
pub(crate) struct Connection {
    /// From the client to the station.
    addresses: Addresses,
    ports: (u16, u16),
    began: Instant,
    state: State,
    /// The share of the connections that have the faults takes this one in.
    pub(crate) has_faults: bool,
    /// The number of the byte that the client, and the station, expects next.
    client_next: Option<u32>,
    station_next: Option<u32>,
    /// The end of what the station has sent and the faults have let pass.
    sent_end: Option<u32>,
    /// The numbers of the first bytes that the client, and the station, sends.
    client_from: Option<u32>,
    station_from: Option<u32>,
    /// When the end of the data may pass, from the station and from the client.
    ends_at: [Option<Instant>; 2],
    /// When the line at a rate is free again, from the station and from the client.
    free_at: [Instant; 2],
    /// The deadline is waited for.
    is_awaited: bool,
}

/// Tells whether a number lies before another one, in the circle of numbers.
fn is_before(a: u32, b: u32) -> bool {
    (b.wrapping_sub(a) as i32) > 0
}

fn later_of(known: Option<u32>, found: u32) -> Option<u32> {
    Some(known.filter(|known| !is_before(*known, found)).unwrap_or(found))
}

impl Connection {
    /// A connection of which this is the first packet that is seen, from the client or not.
    pub(crate) fn new(
        now: Instant,
        segment: &Segment,
        from_client: bool,
        has_faults: bool,
    ) -> Self {
        let (addresses, ports) = if from_client {
            (segment.addresses, segment.ports)
        } else {
            (segment.addresses.reversed(), (segment.ports.1, segment.ports.0))
        };
        // A connection that is older than its faults: all that was sent before has passed.
        let before = (!segment.has(TcpFlags::SYN)).then_some(segment.seq);
        Self {
            addresses,
            ports,
            began: now,
            state: State::Open,
            has_faults,
            client_next: None,
            station_next: before.filter(|_| from_client),
            sent_end: before.filter(|_| !from_client),
            client_from: None,
            station_from: None,
            ends_at: [None; 2],
            free_at: [now; 2],
            is_awaited: false,
        }
    }

    /// Tells whether a SYN of the client begins another connection than this one, whose SYN may
    /// come again.
    pub(crate) fn is_replaced_by(&self, syn: &Segment) -> bool {
        self.state != State::Open && self.client_from != Some(syn.end())
    }

    /// Judges a packet.
    pub(crate) fn judge(
        &mut self,
        now: Instant,
        faults: &PortFaults,
        segment: &Segment,
        frame: Frame,
        from_client: bool,
    ) -> Verdict {
        self.learn(segment, from_client);
        let mut verdict = Verdict { wake: self.next_wake(faults, now), ..Verdict::default() };
        let way = if from_client { Way::Home } else { Way::Away };
        match self.state {
            State::Open => {}
            State::Reset => {
                let back = if from_client { Way::Away } else { Way::Home };
                verdict.frames.extend(segment.refusal().map(|it| (now, back, it)));
                return verdict;
            }
            State::Ended { cut, told } => {
                verdict.frames.extend(self.after_the_end(now, segment, frame, from_client, cut));
                // The client has got data that were on their way: the end lies behind them.
                let acked = from_client && segment.has(TcpFlags::ACK);
                if acked && is_before(cut.wrapping_add(1), segment.ack) {
                    self.tell_end(now, segment.ack, told, &mut verdict);
                }
                return verdict;
            }
        }
        if self.is_due(faults, now) {
            self.act(now, faults, &mut verdict);
            return verdict;
        }
        let at_data = |fault: &ConnectionFault| *fault == ConnectionFault::Reset(None);
        if !segment.data.is_empty() && faults.all().any(at_data) {
            self.reset_before(now, segment, from_client, faults, &mut verdict);
            return verdict;
        }
        let of_direction = if from_client { &faults.upstream } else { &faults.faults };
        let mut parts = vec![(now, frame)];
        for fault in of_direction {
            if !self.apply(now, *fault, segment, from_client, &mut parts, &mut verdict) {
                parts.clear();
                break;
            }
        }
        if !parts.is_empty() && !from_client {
            self.sent_end = later_of(self.sent_end, segment.end());
        }
        verdict.frames.extend(parts.into_iter().map(|(at, frame)| (at, way, frame)));
        verdict
    }

    /// Notes what the ends expect of each other.
    fn learn(&mut self, segment: &Segment, from_client: bool) {
        let acknowledges = segment.has(TcpFlags::ACK);
        if from_client {
            if acknowledges {
                self.client_next = later_of(self.client_next, segment.ack);
            }
            if segment.has(TcpFlags::SYN) {
                self.client_from = Some(segment.end());
            }
            // Between the faults and the station nothing is lost.
            if segment.has(TcpFlags::SYN) || self.station_next == Some(segment.seq) {
                self.station_next = Some(segment.end());
            }
        } else {
            if acknowledges {
                self.station_next = later_of(self.station_next, segment.ack);
            }
            if segment.has(TcpFlags::SYN) {
                self.station_from = Some(segment.end());
            }
        }
    }

    /// When a fault acts without a packet.
    fn deadline(&self, faults: &PortFaults) -> Option<Instant> {
        let of = |fault: &ConnectionFault| match fault {
            ConnectionFault::Down => Some(self.began),
            ConnectionFault::Reset(Some(after)) => Some(self.began + *after),
            ConnectionFault::Timeout(after) if *after > Duration::ZERO => Some(self.began + *after),
            _ => None,
        };
        faults.all().filter_map(of).min()
    }

    fn is_due(&self, faults: &PortFaults, now: Instant) -> bool {
        self.deadline(faults).is_some_and(|at| at <= now)
    }

    /// When to look at it again; says so once.
    fn next_wake(&mut self, faults: &PortFaults, now: Instant) -> Option<Instant> {
        let at = self.deadline(faults).filter(|at| *at > now && !self.is_awaited);
        self.is_awaited |= at.is_some();
        at
    }

    /// Looks at it without a packet.
    pub(crate) fn wake(&mut self, now: Instant, faults: &PortFaults) -> Verdict {
        let mut verdict = Verdict::default();
        match self.state {
            State::Open if self.is_due(faults, now) => self.act(now, faults, &mut verdict),
            State::Ended { cut, told }
                if told < TIMES
                    && self.client_next.is_none_or(|it| is_before(it, cut.wrapping_add(1))) =>
            {
                self.tell_end(now, cut, told, &mut verdict);
            }
            _ => {}
        }
        verdict
    }

    /// Does what the deadline asks for.
    fn act(&mut self, now: Instant, faults: &PortFaults, verdict: &mut Verdict) {
        for (faults, from_client) in [(&faults.faults, false), (&faults.upstream, true)] {
            let due = faults.iter().filter(|fault| match fault {
                ConnectionFault::Down => true,
                ConnectionFault::Reset(Some(after)) | ConnectionFault::Timeout(after) => {
                    self.began + *after <= now
                }
                _ => false,
            });
            verdict.acted |= due.fold(0, |acted, fault| acted | fault.bit(from_client));
        }
        let resets = |fault: &ConnectionFault| match fault {
            ConnectionFault::Down => true,
            ConnectionFault::Reset(Some(after)) => self.began + *after <= now,
            _ => false,
        };
        if faults.all().any(resets) {
            return self.reset_both(now, verdict);
        }
        let cut = self.sent_end.or(self.client_next).or(self.station_from).unwrap_or_default();
        self.end(now, cut, verdict);
    }

    /// Resets both ends in place of passing the first data of the connection.
    fn reset_before(
        &mut self,
        now: Instant,
        segment: &Segment,
        from_client: bool,
        faults: &PortFaults,
        verdict: &mut Verdict,
    ) {
        // The station expects the data that it does not get.
        if from_client && self.station_next == Some(segment.end()) {
            self.station_next = Some(segment.seq);
        }
        for (faults, from_client) in [(&faults.faults, false), (&faults.upstream, true)] {
            let resets = faults.iter().filter(|it| **it == ConnectionFault::Reset(None));
            verdict.acted |= resets.fold(0, |acted, fault| acted | fault.bit(from_client));
        }
        self.reset_both(now, verdict);
    }

    fn reset_both(&mut self, at: Instant, verdict: &mut Verdict) {
        self.state = State::Reset;
        self.reset_station(at, verdict);
        if let Some(next) = self.sent_end.or(self.client_next) {
            let frame = self.frame_away(next, 0, TcpFlags::RST);
            verdict.frames.extend(frame.map(|it| (at, Way::Away, it)));
        } else if let Some(syn_end) = self.station_next {
            // The client has sent nothing but its SYN.
            let flags = TcpFlags(TcpFlags::RST.0 | TcpFlags::ACK.0);
            let frame = self.frame_away(0, syn_end, flags);
            verdict.frames.extend(frame.map(|it| (at, Way::Away, it)));
        }
    }

    /// Ends the connection: the client learns that no data follows, the station is reset.
    fn end(&mut self, now: Instant, cut: u32, verdict: &mut Verdict) {
        self.reset_station(now, verdict);
        self.tell_end(now, cut, 0, verdict);
    }

    fn tell_end(&mut self, now: Instant, cut: u32, told: u32, verdict: &mut Verdict) {
        self.state = State::Ended { cut, told: told + 1 };
        let flags = TcpFlags(TcpFlags::FIN.0 | TcpFlags::ACK.0);
        let frame = self.frame_away(cut, self.station_next.unwrap_or_default(), flags);
        verdict.frames.extend(frame.map(|it| (now, Way::Away, it)));
        verdict.wake = Some(now + AGAIN * (1 << told.min(TIMES)));
    }

    fn reset_station(&self, now: Instant, verdict: &mut Verdict) {
        let Some(next) = self.station_next else { return };
        let (src_port, dst_port) = self.ports;
        let flags = TcpFlags::RST;
        let header = TcpRepr { src_port, dst_port, seq: Seq32(next), flags, ..TcpRepr::default() };
        let frame = bare(self.addresses, header);
        verdict.frames.extend(frame.map(|it| (now, Way::Home, it)));
    }

    fn frame_away(&self, seq: u32, ack: u32, flags: TcpFlags) -> Option<Frame> {
        let (dst_port, src_port) = self.ports;
        let seq = Seq32(seq);
        let ack = Seq32(ack);
        let header = TcpRepr { src_port, dst_port, seq, ack, flags, ..TcpRepr::default() };
        bare(self.addresses.reversed(), header)
    }

    /// Returns what follows from a packet after the client was told that the data ends.
    fn after_the_end(
        &self,
        now: Instant,
        segment: &Segment,
        frame: Frame,
        from_client: bool,
        cut: u32,
    ) -> Option<(Instant, Way, Frame)> {
        if !from_client {
            // What the client still lacks may come once more.
            let is_old = segment.brings() && !is_before(cut, segment.end());
            let ends = segment.has(TcpFlags::FIN) || segment.has(TcpFlags::RST);
            return (is_old && !ends).then_some((now, Way::Away, frame));
        }
        let answer = if segment.has(TcpFlags::FIN) {
            segment.reply(cut.wrapping_add(1), segment.end(), TcpFlags::ACK)
        } else if segment.brings() {
            segment.refusal()
        } else {
            None
        };
        answer.map(|it| (now, Way::Away, it))
    }

    /// Applies a fault to the parts of a packet; `false` if nothing of it passes.
    fn apply(
        &mut self,
        now: Instant,
        fault: ConnectionFault,
        segment: &Segment,
        from_client: bool,
        parts: &mut Vec<(Instant, Frame)>,
        verdict: &mut Verdict,
    ) -> bool {
        let direction = usize::from(from_client);
        let is_touched = match fault {
            ConnectionFault::Down | ConnectionFault::Reset(_) => false,
            ConnectionFault::Timeout(_) => !segment.data.is_empty() || segment.has(TcpFlags::FIN),
            ConnectionFault::SlowClose(later) => {
                later > Duration::ZERO && segment.has(TcpFlags::FIN)
            }
            ConnectionFault::Slice(size, _) => segment.data.len() > usize::from(size),
            ConnectionFault::Limit(most) => self.exceeds(most, segment, from_client),
            ConnectionFault::Delay(later) => later > Duration::ZERO,
            ConnectionFault::Rate(_) => true,
        };
        if is_touched {
            verdict.acted |= fault.bit(from_client);
        }
        match fault {
            ConnectionFault::Down | ConnectionFault::Reset(_) => true,
            ConnectionFault::Timeout(_) => segment.data.is_empty() && !segment.has(TcpFlags::FIN),
            ConnectionFault::SlowClose(later) if segment.has(TcpFlags::FIN) => {
                let is_first = self.ends_at[direction].is_none();
                let at = *self.ends_at[direction].get_or_insert(now + later);
                parts.iter_mut().for_each(|part| part.0 = part.0.max(at));
                // One copy waits, and those that come again meanwhile are not needed.
                is_first || at <= now
            }
            ConnectionFault::Limit(_) if segment.data.is_empty() => true,
            ConnectionFault::Limit(most) if from_client => {
                let at = parts.last().map_or(now, |it| it.0);
                self.limit_client(at, most, segment, verdict)
            }
            ConnectionFault::Limit(most) => self.limit_station(now, most, segment, verdict),
            ConnectionFault::Slice(size, pause) if segment.data.len() > usize::from(size) => {
                let size = usize::from(size);
                let first = self.free_at[direction].max(parts.first().map_or(now, |it| it.0));
                let starts = (0..segment.data.len()).step_by(size);
                let cut = (0..).zip(starts).filter_map(|(number, from)| {
                    Some((first + pause * number, segment.part(from, size)?))
                });
                *parts = cut.collect();
                if let Some((last, _)) = parts.last() {
                    self.free_at[direction] = *last + pause;
                }
                true
            }
            ConnectionFault::Delay(later) => {
                parts.iter_mut().for_each(|part| part.0 += later);
                true
            }
            ConnectionFault::Rate(rate) => {
                let free_at = &mut self.free_at[direction];
                for (at, frame) in parts {
                    *free_at = (*free_at).max(*at) + rate.time_of(frame.payload.len());
                    *at = *free_at;
                }
                true
            }
            ConnectionFault::SlowClose(_) | ConnectionFault::Slice(..) => true,
        }
    }

    /// Tells whether a segment goes beyond a limit of the data of its direction.
    fn exceeds(&self, most: u64, segment: &Segment, from_client: bool) -> bool {
        let from = if from_client { self.client_from } else { self.station_from };
        let before = u64::from(segment.seq.wrapping_sub(from.unwrap_or(segment.seq)));
        !segment.data.is_empty() && before + segment.data.len() as u64 > most
    }

    /// Lets the station's data pass up to this many bytes; `false` if that is the end of them.
    fn limit_station(
        &mut self,
        now: Instant,
        most: u64,
        segment: &Segment,
        verdict: &mut Verdict,
    ) -> bool {
        let from = *self.station_from.get_or_insert(segment.seq);
        let before = u64::from(segment.seq.wrapping_sub(from));
        if before + segment.data.len() as u64 <= most {
            return true;
        }
        let rest = most.saturating_sub(before) as usize;
        if rest > 0 {
            verdict.frames.extend(segment.part(0, rest).map(|it| (now, Way::Away, it)));
        }
        self.end(now, from.wrapping_add(most as u32), verdict);
        false
    }

    /// Lets the client's data pass up to this many bytes, and resets both ends when the station has
    /// them and more has come; `false` if the segment does not pass as it is.
    fn limit_client(
        &mut self,
        at: Instant,
        most: u64,
        segment: &Segment,
        verdict: &mut Verdict,
    ) -> bool {
        let from = *self.client_from.get_or_insert(segment.seq);
        let before = u64::from(segment.seq.wrapping_sub(from));
        if before + segment.data.len() as u64 <= most {
            return true;
        }
        let rest = most.saturating_sub(before) as usize;
        if rest > 0 {
            verdict.frames.extend(segment.part(0, rest).map(|it| (at, Way::Home, it)));
        }
        // Where something before is missing, it comes again, and so does this.
        if self.station_next.is_none_or(|next| !is_before(next, segment.seq)) {
            self.station_next = Some(from.wrapping_add(most as u32));
            self.reset_both(at, verdict);
        }
        false
    }
}
