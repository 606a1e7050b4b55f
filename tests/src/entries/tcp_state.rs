//! Arbitrary segments, and arbitrary calls of an application, at TCP connections in every state.

use std::sync::Arc;

use windfall_base::seq::Seq32;
use windfall_base::{Duration, Instant, Seed};
use windfall_tcp::{
    CongestionControl, ConnectionHandle, Corruption, Listener, Lookup, NotificationMode,
    SegmentMeta, TcpConfig, TcpEndpoint,
};
use windfall_wire_net::tcp::{CorruptionKinds, corruption};
use windfall_wire_net::{Addresses, Ecn, TcpFlags, TcpOptions, TcpPacket, TcpRepr, tcp};

/// Segments that may leave after one step; more would be a loop.
const BURST: usize = 10_000;
/// The capacity of each buffer of a connection, in bytes.
const BUFFER: usize = 20_000;

/// The settings that a byte chooses.
pub(super) fn config_of(choice: u8) -> TcpConfig {
    let bit = |n: u8| choice & 1 << n != 0;
    let modes = [NotificationMode::DraftSafe, NotificationMode::Paper, NotificationMode::Extended];
    let corruption = match choice >> 6 {
        0 => Corruption::default(),
        n => Corruption::on(modes[usize::from(n) - 1]),
    };
    TcpConfig::default().with(|it| {
        it.sack = bit(0);
        it.timestamps = bit(1);
        it.ecn = bit(2);
        it.accurate_ecn = bit(2) && bit(4);
        it.window_scale = bit(3);
        it.fast_open = bit(4);
        it.congestion_control =
            if bit(5) { CongestionControl::RENO } else { CongestionControl::CUBIC };
        it.corruption = corruption;
    })
}

/// The endpoint's numbers as its peers know them.
struct Subject {
    tcp: TcpEndpoint,
    addresses: Addresses,
    now: Instant,
    ids: Vec<ConnectionHandle>,
    /// Of the last segment that left: its ports, what comes next in it, what it expects.
    last: (u16, u16, Seq32, Seq32),
}

impl Subject {
    /// Lets everything out.
    fn drain(&mut self) {
        for count in 0.. {
            assert!(count < BURST, "it sends without end");
            let Some(transmit) = self.tcp.poll_transmit(self.now) else { break };
            let packet = TcpPacket::new(&transmit.header).expect("a header");
            let control = packet.flags().has_any(TcpFlags::SYN | TcpFlags::FIN);
            let len = transmit.data.len() as u32 + u32::from(control);
            self.last = (packet.src_port(), packet.dst_port(), packet.seq() + len, packet.ack());
        }
        while let Some((id, _)) = self.tcp.poll_event() {
            if !self.ids.contains(&id) {
                self.ids.push(id);
            }
        }
        let held = self.ids.iter().filter_map(|id| self.tcp.connection(*id));
        for connection in held {
            assert!(connection.held_bytes() <= 2 * BUFFER, "{connection:?}");
        }
        assert!(self.tcp.poll_timeout().is_none_or(|(at, _)| at > self.now), "a late wake-up");
    }

    /// A segment near the right numbers, or far from them.
    fn segment(&mut self, step: [u8; 8]) {
        let [kind, flags, seq, ack, window, len, options, harm] = step;
        let offset = |byte: u8| match byte >> 6 {
            0 => u32::from(byte & 63),
            1 => u32::from(byte & 63).wrapping_neg(),
            2 => u32::from(byte & 63) * 1_000,
            _ => u32::from(byte).wrapping_mul(0x0101_0101),
        };
        let (dst_port, src_port, next, expected) = self.last;
        let unknown = [&[][..], &[8, 10, 0, 0, 9, 9, 0, 0, 0, 1], &[4, 2], &[34, 2], &[28, 2]];
        let repr = TcpRepr {
            src_port,
            dst_port,
            seq: expected + offset(seq),
            ack: next + offset(ack),
            flags: TcpFlags::from_header(kind >> 7, flags),
            window: u16::from(window) << 6,
            urgent: 0,
            options: TcpOptions {
                unknown: unknown[usize::from(options) % 5].iter().copied().collect(),
                detection: (options & 0x80 != 0).then_some(0),
                ..TcpOptions::default()
            },
        };
        let kinds = CorruptionKinds::default();
        let Ok(header) = repr.emit(&kinds) else { return };
        let mut bytes = header.to_vec();
        let ecn = Ecn::from_bits(harm >> 6);
        corruption::seal(&kinds, tcp::Packing::default(), ecn, &self.addresses, &mut bytes);
        let data = vec![len; usize::from(len) * 8];
        tcp::fill_checksum(&self.addresses, &mut bytes, &data);
        bytes.extend(data);
        let at = usize::from(harm) % bytes.len();
        if harm & 0x20 != 0 {
            bytes[at] ^= 1;
        }
        let arrival = SegmentMeta { addresses: self.addresses, ecn, missing: 0, lost_before: 0 };
        let _ = self.tcp.handle_segment(self.now, &arrival, &bytes.into());
    }

    /// A call of an application to one of its connections.
    fn ask(&mut self, [what, which, amount, ..]: [u8; 8]) {
        let Some(&id) = self.ids.get(usize::from(which) % self.ids.len().max(1)) else { return };
        let now = self.now;
        // Every answer is right, the refusals of a connection that is over included.
        let _ = match what % 6 {
            0 => self.tcp.write(id, &vec![amount; usize::from(amount) * 100]).map(drop),
            1 => self.tcp.read(id, usize::from(amount) * 100).map(drop),
            2 => self.tcp.shutdown(id),
            3 => self.tcp.close(now, id),
            4 => self.tcp.abort(id),
            _ => self.tcp.handle_too_big(id, self.last.2, u16::from(amount) << 4).map(drop),
        };
    }
}

/// Eight bytes are a step: a segment, a wish of the application, or time that passes.
pub fn tcp_state(bytes: &[u8]) {
    let Some((&choice, steps)) = bytes.split_first() else { return };
    let config = config_of(choice).with(|it| {
        it.send_buffer = BUFFER.into();
        it.receive_buffer = BUFFER.into();
    });
    let config = Arc::new(config);
    let [own, other] = ["10.0.0.1", "10.0.0.2"].map(|text| text.parse().expect("an address"));
    let mut tcp = TcpEndpoint::new(Seed(0), "fuzz", Lookup::Hashed);
    let [listens, connects] = [80, 5_000].map(|port| (own, port).into());
    tcp.listen(listens, Listener::new(Arc::clone(&config))).expect("a free port");
    let now = Instant::START;
    let id = tcp.connect(now, connects, (other, 80).into(), config).expect("a free port");
    let addresses = Addresses::new(other, own).expect("one family");
    let last = (80, 9_000, Seq32(0), Seq32(0));
    let mut subject = Subject { tcp, addresses, now, ids: vec![id], last };
    subject.drain();
    for step in steps.as_chunks().0 {
        match step[0] % 8 {
            0..=4 => subject.segment(*step),
            5 => subject.ask([step[0] >> 3, step[1], step[2], 0, 0, 0, 0, 0]),
            6 => subject.last = (80, 9_000 + u16::from(step[1] % 4), Seq32(0), Seq32(0)),
            _ => {
                subject.now += Duration::from_millis(1 << (step[1] % 20));
                subject.tcp.handle_timeout(subject.now);
            }
        }
        subject.drain();
    }
}
