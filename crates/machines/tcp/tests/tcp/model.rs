//! The engine beside a small model of RFC 9293's states, under random calls, segments and time.
//!
//! The model knows nothing of the engine but its initial number. Timers of retransmission are out
//! of the way, acknowledgments leave at once and windows are wide, so that each event has one
//! answer that the RFC names; state and answer are compared after each.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use windfall_base::seq::Seq32;
use windfall_base::{Duration, Instant, Seed};
use windfall_tcp::{
    AckPolicy, Listener, Lookup, SegmentMeta, TcpConfig, TcpEndpoint, TcpState, TimeoutConfig,
};
use windfall_wire_net::tcp::{CorruptionKinds, fill_checksum};
use windfall_wire_net::{Addresses, Ecn, TcpFlags, TcpPacket, TcpRepr};

use crate::pair::{FAR, NEAR, address};

/// The first number of the peer.
const PEER: u32 = 4_294_967_200;
/// Large against what a run sends, small against the windows.
const FAR_AWAY: u32 = 500_000;

#[derive(Clone, Copy, Debug)]
enum Happening {
    Write(u8),
    Shutdown,
    Abort,
    /// A minute passes.
    Wait,
    Syn,
    SynAck,
    /// Everything that was sent.
    Ack,
    /// Acknowledges nothing new.
    OldAck,
    /// Acknowledges what was never sent.
    WildAck,
    Data(u8),
    /// The last byte or FIN again.
    Again,
    Fin,
    Reset,
    ResetInWindow,
    SynInWindow,
    Beyond,
}

/// A segment: flags without PSH, relative numbers, length.
type Line = (TcpFlags, u32, Option<u32>, u32);

/// RFC 9293, section 3.3.2 and 3.10.
#[derive(Debug)]
struct Model {
    state: TcpState,
    una: u32,
    nxt: u32,
    rcv: u32,
    queued: u32,
    finished: bool,
    /// FIN was decided on and has not left.
    fin_due: bool,
    out: Vec<Line>,
}

impl Model {
    fn send(&mut self, flags: TcpFlags, len: u32) {
        let ack = (flags.has(TcpFlags::ACK)).then_some(self.rcv);
        self.out.push((flags, self.nxt, ack, len));
        let controls = u32::from(flags.has(TcpFlags::SYN)) + u32::from(flags.has(TcpFlags::FIN));
        self.nxt += len + controls;
    }

    fn ack(&mut self) {
        self.send(TcpFlags::ACK, 0);
    }

    /// Obeys a wish to finish as soon as the state allows it.
    fn decide(&mut self) {
        let next = match self.state {
            TcpState::Established => TcpState::FinWait1,
            TcpState::CloseWait => TcpState::LastAck,
            _ => return,
        };
        if self.finished {
            (self.state, self.fin_due) = (next, true);
        }
    }

    /// Sends what waits; FIN goes with the last of it.
    fn flush(&mut self) -> bool {
        let opening = matches!(self.state, TcpState::SynSent | TcpState::SynReceived);
        if opening || (self.queued == 0 && !self.fin_due) {
            return false;
        }
        let len = core::mem::take(&mut self.queued);
        let fin = core::mem::take(&mut self.fin_due);
        self.send(if fin { TcpFlags::ACK | TcpFlags::FIN } else { TcpFlags::ACK }, len);
        true
    }

    fn call(&mut self, happening: Happening) {
        match happening {
            Happening::Write(len) if !self.finished => {
                self.queued += u32::from(len);
                self.flush();
            }
            Happening::Shutdown if !self.finished => {
                self.finished = true;
                self.decide();
                self.flush();
            }
            Happening::Abort => {
                // After both FINs nothing need be said; before the peer has answered nothing can.
                if !matches!(self.state, TcpState::SynSent | TcpState::TimeWait) {
                    self.send(TcpFlags::RST | TcpFlags::ACK, 0);
                }
                self.state = TcpState::Closed;
            }
            Happening::Wait if self.state == TcpState::TimeWait => self.state = TcpState::Closed,
            _ => {}
        }
    }

    /// Takes a segment: flags, first number, acknowledgment, length.
    fn take(&mut self, (flags, seq, ack, len): Line) {
        if self.state == TcpState::SynSent {
            return self.take_answer(flags, seq, ack);
        }
        let span =
            len + u32::from(flags.has_any(TcpFlags::SYN)) + u32::from(flags.has(TcpFlags::FIN));
        let before = (seq + span < self.rcv) || (seq + span == self.rcv && span > 0);
        if before && let Some(ack) = ack {
            // What arrived before is answered, and what it acknowledges counts.
            self.una = self.una.max(ack);
            self.advance_una_only();
        }
        if before || seq >= self.rcv + FAR_AWAY {
            if !flags.has(TcpFlags::RST) && self.state != TcpState::Closed {
                self.ack();
            }
            return;
        }
        if flags.has(TcpFlags::RST) {
            match self.state {
                _ if seq != self.rcv => self.ack(),
                // A stray reset must not end the wait (RFC 1337).
                TcpState::TimeWait => {}
                _ => self.state = TcpState::Closed,
            }
            return;
        }
        if flags.has(TcpFlags::SYN) {
            return self.ack();
        }
        let Some(ack) = ack else { return };
        if self.state == TcpState::SynReceived {
            if ack != self.nxt {
                self.out.push((TcpFlags::RST, ack, None, 0));
                return;
            }
            self.state = TcpState::Established;
            self.decide();
        }
        if ack > self.nxt {
            return self.ack();
        }
        self.una = self.una.max(ack);
        self.advance_una_only();
        let owes = self.take_text(flags, len);
        if !self.flush() && owes {
            self.ack();
        }
    }

    fn take_answer(&mut self, flags: TcpFlags, seq: u32, ack: Option<u32>) {
        if let Some(ack) = ack.filter(|ack| *ack != self.nxt) {
            if !flags.has(TcpFlags::RST) {
                self.out.push((TcpFlags::RST, ack, None, 0));
            }
            return;
        }
        if flags.has(TcpFlags::RST) {
            self.state = if ack.is_some() { TcpState::Closed } else { self.state };
        } else if flags.has(TcpFlags::SYN) {
            self.rcv = seq + 1;
            if ack.is_some() {
                (self.state, self.una) = (TcpState::Established, 1);
                self.decide();
                if !self.flush() {
                    self.ack();
                }
            } else {
                self.state = TcpState::SynReceived;
                self.nxt = 0;
                self.send(TcpFlags::SYN | TcpFlags::ACK, 0);
            }
        }
    }

    /// Takes the acknowledgment of this end's FIN.
    fn advance_una_only(&mut self) {
        if self.una != self.nxt || self.fin_due {
            return;
        }
        self.state = match self.state {
            TcpState::FinWait1 => TcpState::FinWait2,
            TcpState::Closing => TcpState::TimeWait,
            TcpState::LastAck => TcpState::Closed,
            state => state,
        };
    }

    /// Data and FIN; says whether they must be acknowledged.
    fn take_text(&mut self, flags: TcpFlags, len: u32) -> bool {
        let receives =
            matches!(self.state, TcpState::Established | TcpState::FinWait1 | TcpState::FinWait2);
        if !receives {
            let stray = len > 0 || flags.has(TcpFlags::FIN);
            return self.state == TcpState::TimeWait && stray;
        }
        self.rcv += len;
        if flags.has(TcpFlags::FIN) {
            self.rcv += 1;
            self.state = match self.state {
                TcpState::Established => TcpState::CloseWait,
                TcpState::FinWait1 => TcpState::Closing,
                _ => TcpState::TimeWait,
            };
        }
        len > 0 || flags.has(TcpFlags::FIN)
    }

    /// Returns the segment that a happening stands for; `None` if it is none, or means nothing
    /// here.
    fn segment(&self, happening: Happening) -> Option<Line> {
        let next = self.rcv;
        let all = Some(self.nxt);
        let opened = self.state != TcpState::SynSent;
        Some(match happening {
            Happening::Syn if !opened => (TcpFlags::SYN, 0, None, 0),
            Happening::SynAck if !opened => (TcpFlags::SYN | TcpFlags::ACK, 0, all, 0),
            Happening::Ack => (TcpFlags::ACK, next, all, 0),
            Happening::OldAck if opened => (TcpFlags::ACK, next, Some(self.una), 0),
            Happening::WildAck => (TcpFlags::ACK, next, Some(self.nxt + 7), 0),
            Happening::Data(len) if opened => (TcpFlags::ACK, next, all, u32::from(len)),
            Happening::Again if opened && next > 1 => (TcpFlags::ACK, next - 1, all, 1),
            Happening::Fin if opened => (TcpFlags::ACK | TcpFlags::FIN, next, all, 0),
            Happening::Reset if opened => (TcpFlags::RST, next, None, 0),
            Happening::Reset => (TcpFlags::RST | TcpFlags::ACK, 0, all, 0),
            Happening::ResetInWindow if opened => (TcpFlags::RST, next + 9, None, 0),
            // There it begins a new connection, which is another test's matter.
            Happening::SynInWindow if opened && self.state != TcpState::TimeWait => {
                (TcpFlags::SYN, next + 9, None, 0)
            }
            Happening::Beyond if opened => (TcpFlags::ACK, next + FAR_AWAY, all, 5),
            _ => return None,
        })
    }
}

/// The engine with its one connection.
struct Engine {
    tcp: TcpEndpoint,
    now: Instant,
    origin: Seq32,
}

impl Engine {
    fn new(config: TcpConfig, passive: bool) -> (Self, Model) {
        let now = Instant::START;
        let config = Arc::new(config);
        let mut tcp = TcpEndpoint::new(Seed(11), "model", Lookup::Hashed);
        if passive {
            tcp.listen(address(NEAR), Listener::new(config)).unwrap();
        } else {
            tcp.connect(now, address(NEAR), address(FAR), config).unwrap();
        }
        let mut engine = Self { tcp, now, origin: Seq32(0) };
        let state = if passive { TcpState::SynReceived } else { TcpState::SynSent };
        let rcv = u32::from(passive);
        let mut model = Model {
            state,
            una: 0,
            nxt: 0,
            rcv,
            queued: 0,
            finished: false,
            fin_due: false,
            out: Vec::new(),
        };
        if passive {
            engine.take((TcpFlags::SYN, 0, None, 0));
            model.send(TcpFlags::SYN | TcpFlags::ACK, 0);
        } else {
            model.send(TcpFlags::SYN, 0);
        }
        assert_eq!(engine.drain(), core::mem::take(&mut model.out));
        (engine, model)
    }

    fn state(&self) -> TcpState {
        let id = self.tcp.find(address(NEAR), address(FAR));
        let connection = id.and_then(|id| self.tcp.connection(id));
        connection.map_or(TcpState::Closed, windfall_tcp::Connection::state)
    }

    fn call(&mut self, happening: Happening) {
        let Some(id) = self.tcp.find(address(NEAR), address(FAR)) else { return };
        // What the state does not allow is refused, and the model ignores it.
        let _ = match happening {
            Happening::Write(len) => self.tcp.write(id, &vec![1; usize::from(len)]).map(drop),
            Happening::Shutdown => self.tcp.shutdown(id),
            Happening::Abort => self.tcp.abort(id),
            _ => Ok(()),
        };
        if matches!(happening, Happening::Wait) {
            self.now += Duration::from_secs(60);
            self.tcp.handle_timeout(self.now);
        }
    }

    fn take(&mut self, (flags, seq, ack, len): Line) {
        let addresses = Addresses::new(address(FAR).ip(), address(NEAR).ip()).unwrap();
        let repr = TcpRepr {
            src_port: address(FAR).port(),
            dst_port: address(NEAR).port(),
            seq: Seq32(PEER) + seq,
            ack: ack.map_or(Seq32(0), |ack| self.origin + ack),
            flags,
            window: 60_000,
            ..TcpRepr::default()
        };
        let mut bytes = repr.emit(&CorruptionKinds::default()).unwrap().to_vec();
        let data = vec![2; len as usize];
        fill_checksum(&addresses, &mut bytes, &data);
        bytes.extend(data);
        let arrival = SegmentMeta { addresses, ecn: Ecn::NotCapable, missing: 0, lost_before: 0 };
        let _ = self.tcp.handle_segment(self.now, &arrival, &bytes.into());
    }

    fn drain(&mut self) -> Vec<Line> {
        let mut lines = Vec::new();
        while let Some(transmit) = self.tcp.poll_transmit(self.now) {
            let packet = TcpPacket::new(&transmit.header).unwrap();
            let flags = packet.flags() - TcpFlags::PSH;
            if flags.has(TcpFlags::SYN) {
                self.origin = packet.seq();
            }
            let seq = packet.seq().0.wrapping_sub(self.origin.0);
            let ack = packet.ack().0.wrapping_sub(PEER);
            lines.push((
                flags,
                seq,
                flags.has(TcpFlags::ACK).then_some(ack),
                transmit.data.len() as u32,
            ));
        }
        while self.tcp.poll_event().is_some() {}
        lines
    }
}

fn config(prediction: bool) -> TcpConfig {
    let never = Duration::from_secs(1_000_000);
    TcpConfig::new_reno().with(|it| {
        it.prediction = prediction;
        it.fast_retransmit = false;
        it.nagle = false;
        it.time_wait = Duration::from_secs(60);
        it.fin_wait = never;
        it.window_scale = false;
        it.receive_buffer = 65_535.into();
        it.acks = AckPolicy::EverySegments { segments: 0, delay: never, tick: Duration::ZERO };
        it.timeout = TimeoutConfig {
            initial: never,
            minimum: never,
            maximum: never,
            ..TimeoutConfig::default()
        };
    })
}

fn any_happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        1 => (1_u8..100).prop_map(Happening::Write),
        1 => Just(Happening::Shutdown),
        1 => Just(Happening::Wait),
        1 => Just(Happening::Syn),
        3 => Just(Happening::SynAck),
        4 => Just(Happening::Ack),
        1 => Just(Happening::OldAck),
        1 => Just(Happening::WildAck),
        1 => (1_u8..100).prop_map(Happening::Data),
        1 => Just(Happening::Again),
        2 => Just(Happening::Fin),
        1 => Just(Happening::ResetInWindow),
        1 => Just(Happening::SynInWindow),
        1 => Just(Happening::Beyond),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]
    //= S2.1
    #[test]
    fn the_engine_does_what_the_model_does(
        happenings in vec(any_happening(), 1..40),
        last in prop_oneof![Just(Happening::Abort), Just(Happening::Reset)],
        (passive, prediction) in any::<(bool, bool)>()
    ) {
        let (mut engine, mut model) = Engine::new(config(prediction), passive);
        for (number, happening) in happenings.into_iter().chain([last]).enumerate() {
            // Far enough apart that challenges are not limited.
            engine.now += Duration::from_millis(200);
            let segment = model.segment(happening);
            match segment {
                Some(line) => {
                    model.take(line);
                    engine.take(line);
                }
                None => {
                    model.call(happening);
                    engine.call(happening);
                }
            }
            let found = engine.drain();
            let expected = core::mem::take(&mut model.out);
            let place = format!("{number}: {happening:?} {model:?}");
            prop_assert_eq!(found, expected, "{}", &place);
            prop_assert_eq!(engine.state(), model.state, "{}", &place);
            if model.state == TcpState::Closed {
                break;
            }
        }
    }
}
