//! A connection as the script sees it: numbers, timestamps and data of both directions.

use core::net::SocketAddr;

use bytes::Bytes;
use windfall_base::{Instant, RangeSet};
use windfall_files::packet_script::{OptionList, ScriptSegment, SegmentOption};
use windfall_tcp::{SegmentMeta, SocketPair};
use windfall_wire_net::{Addresses, Ecn, TcpFlags, TcpPacket, tcp};

use crate::machine::Departure;
use crate::verdict::Stop;
use crate::wire;

/// The window of a segment that does not say one.
const USUAL_WINDOW: u16 = u16::MAX;

/// The byte that both ends send at `position` of their stream, the first being 1.
pub(crate) fn byte(position: u32) -> u8 {
    position.wrapping_mul(2_654_435_761).rotate_left(9) as u8
}

/// Returns `len` bytes of a stream from `first` on.
pub(crate) fn data(first: u32, len: usize) -> Bytes {
    (0..len as u32).map(|at| byte(first.wrapping_add(at))).collect()
}

/// The most bytes of a direction, by which numbers that go on from the SYN are told from those that
/// count from it.
const LONGEST: u32 = 1 << 24;

/// The sequence numbers of one direction.
///
/// A SYN has the number that the script gives it. If that is not 0, the numbers behind it either
/// go on from it, or count from it, so that the first byte is number 1, as packetdrill has it.
#[derive(Clone, Copy, Debug, Default)]
struct Numbers {
    /// The number of the SYN in the script and on the wire.
    script: u32,
    wire: u32,
    /// The numbers count from the SYN; known once a number shows it.
    relative: Option<bool>,
}

impl Numbers {
    /// Sees from a number of the script which of the two ways it has.
    fn decide(&mut self, number: u32) {
        let goes_on = number.wrapping_sub(self.script) <= LONGEST;
        self.relative.get_or_insert(!goes_on);
    }

    /// Returns what to add to a number of the script.
    fn shift(self, is_of_syn: bool) -> u32 {
        let counts = self.relative.unwrap_or(false) && !is_of_syn;
        self.wire.wrapping_sub(if counts { 0 } else { self.script })
    }
}

#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    /// The first sequence number of the engine on the wire.
    origin: Option<u32>,
    ours: Numbers,
    theirs: Numbers,
    /// The ranges that the script has reported by SACK, and those that were sent again, by
    /// their distance from the SYN; the end of what it has sent, and the greatest distance at which
    /// it was overtaken.
    reported: RangeSet,
    resent: RangeSet,
    sent_end: u64,
    pub(crate) overtaken: u64,
    /// The script has sent a SYN.
    has_their_syn: bool,
    /// A segment behind the SYNs was seen: another SYN does not begin the numbers again.
    is_open: bool,
    /// Timestamps of the engine: in the script, and on the wire.
    clock: Vec<(u32, u32)>,
    /// When the script last sent data, and the longest segment that it sent.
    pub(crate) last_data: Instant,
    pub(crate) longest: u32,
    /// The number behind the data of each end's SYN, on the wire.
    ends_of_syns: [Option<u32>; 2],
    /// One of the ends acknowledged data on the other's SYN with its own.
    pub(crate) syn_data: bool,
}

impl Flow {
    pub(crate) fn new(local: SocketAddr, remote: SocketAddr) -> Self {
        let ours = Numbers::default();
        let theirs = Numbers::default();
        Self {
            local,
            remote,
            origin: None,
            ours,
            theirs,
            reported: RangeSet::default(),
            resent: RangeSet::default(),
            sent_end: 0,
            overtaken: 0,
            has_their_syn: false,
            is_open: false,
            clock: Vec::new(),
            last_data: Instant::START,
            longest: 0,
            ends_of_syns: [None; 2],
            syn_data: false,
        }
    }

    pub(crate) fn is_of(&self, local: SocketAddr, remote: SocketAddr) -> bool {
        (self.local, self.remote) == (local, remote)
    }

    /// Tells whether it is the connection of these ends.
    pub(crate) fn is_path(&self, path: &SocketPair) -> bool {
        self.is_of(path.local, path.remote)
    }

    /// Notes a SYN of the engine (0) or the script (1), by its numbers on the wire.
    fn note_syn(&mut self, end: usize, seq: u32, len: u32, ack: Option<u32>) {
        if len > 0 {
            self.ends_of_syns[end] = Some(seq.wrapping_add(1).wrapping_add(len));
        }
        self.syn_data |= ack.is_some() && ack == self.ends_of_syns[1 - end];
    }

    /// Returns the bytes on the engine's SYN that were acknowledged with it.
    pub(crate) fn syn_len(&self) -> u64 {
        match (self.ends_of_syns[0], self.origin) {
            (Some(end), Some(origin)) if self.syn_data => {
                u64::from(end.wrapping_sub(origin).wrapping_sub(1))
            }
            _ => 0,
        }
    }

    /// Returns a sequence number of the engine on the wire.
    pub(crate) fn on_wire(&self, seq: u32) -> u32 {
        seq.wrapping_add(self.ours.shift(false))
    }

    /// Learns from the first segment of the engine where its numbers begin.
    fn learn(&mut self, packet: &TcpPacket<'_>) {
        if packet.flags().has(TcpFlags::SYN) && self.origin != Some(packet.seq().0) {
            self.origin = Some(packet.seq().0);
            self.ours = Numbers { wire: packet.seq().0, ..Numbers::default() };
        }
    }

    /// Notes what the script reports beyond holes: what was overtaken, and how far.
    fn note_reports(&mut self, options: &OptionList) {
        let (OptionList::These(options), Some(origin)) = (options, self.origin) else { return };
        for option in options {
            let SegmentOption::Sack(blocks) = option else { continue };
            for (left, right) in blocks {
                let [start, end] =
                    [*left, *right].map(|it| u64::from(self.on_wire(it).wrapping_sub(origin)));
                let highest = self.reported.iter().last().map_or(0, |range| range.end);
                let fresh: Vec<_> = self.reported.gaps(start..end).collect();
                for gap in fresh.iter().filter(|gap| gap.end <= highest) {
                    if self.resent.count_within(gap.clone()) == 0 {
                        self.overtaken = self.overtaken.max(highest - gap.start);
                    }
                }
                if start < end {
                    self.reported.insert(start..end);
                }
            }
        }
    }

    /// Makes bytes of a segment that arrives.
    pub(crate) fn write(
        &mut self,
        segment: &ScriptSegment,
        cookies: &[(Vec<u8>, Vec<u8>)],
    ) -> (SegmentMeta, Vec<u8>) {
        let syn = segment.flags & TcpFlags::SYN.0 != 0;
        let is_first = syn && !self.has_their_syn;
        self.has_their_syn |= syn;
        if syn && (is_first || !self.is_open) {
            self.theirs = Numbers { script: segment.seq, wire: segment.seq, relative: None };
        } else if !syn {
            self.is_open = true;
            self.theirs.decide(segment.seq);
            segment.ack.into_iter().for_each(|ack| self.ours.decide(ack));
        }
        self.note_reports(&segment.options);
        let seq = segment.seq.wrapping_add(self.theirs.shift(syn));
        // Without a number it is 0, that of the SYN.
        let acks = segment.flags & TcpFlags::ACK.0 != 0;
        let number = segment.ack.or(acks.then_some(0));
        let ack = number.map_or(0, |ack| ack.wrapping_add(self.ours.shift(syn)));
        if syn {
            self.note_syn(1, seq, segment.len, segment.ack.map(|_| ack));
        }
        let addresses = Addresses::new(self.remote.ip(), self.local.ip());
        let Some(addresses) = addresses else { unreachable!("both ends are of one family") };
        let mut bytes = Vec::with_capacity(tcp::MAX_HEADER_LEN + segment.len as usize);
        bytes.extend(self.remote.port().to_be_bytes());
        bytes.extend(self.local.port().to_be_bytes());
        bytes.extend(seq.to_be_bytes());
        bytes.extend(ack.to_be_bytes());
        bytes.extend([0; 2]);
        bytes.extend(segment.window.unwrap_or(USUAL_WINDOW).to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(segment.urgent.unwrap_or(0).to_be_bytes());
        if let OptionList::These(options) = &segment.options {
            let options: Vec<_> =
                options.iter().map(|it| self.option_on_wire(it, cookies)).collect();
            wire::write_options(&options, &mut bytes);
        }
        bytes.truncate(tcp::MAX_HEADER_LEN);
        bytes[tcp::DATA_OFFSET_AT] = (bytes.len() << 2) as u8;
        tcp::put_flags(&mut bytes, TcpFlags(segment.flags));
        let first = seq.wrapping_sub(self.theirs.wire).wrapping_add(u32::from(syn));
        let data = data(first, segment.len as usize);
        tcp::fill_checksum(&addresses, &mut bytes, &data);
        bytes.extend(data);
        let ecn = segment.ecn.map_or(Ecn::NotCapable, Ecn::from_bits);
        (SegmentMeta { addresses, ecn, missing: 0, lost_before: 0 }, bytes)
    }

    /// An option of the script, with the engine's numbers as they are on the wire.
    fn option_on_wire(
        &self,
        option: &SegmentOption,
        cookies: &[(Vec<u8>, Vec<u8>)],
    ) -> SegmentOption {
        match option {
            SegmentOption::Sack(blocks) => {
                let block =
                    |(left, right): &(u32, u32)| (self.on_wire(*left), self.on_wire(*right));
                SegmentOption::Sack(blocks.iter().map(block).collect())
            }
            SegmentOption::Timestamps { value, echo } => {
                SegmentOption::Timestamps { value: *value, echo: self.clock_on_wire(*echo) }
            }
            SegmentOption::FastOpen(cookie) => {
                let known = cookies.iter().find(|(script, _)| script == cookie);
                SegmentOption::FastOpen(known.map_or(cookie, |(_, live)| live).clone())
            }
            other => other.clone(),
        }
    }

    /// Returns a timestamp of the engine on the wire: the one that the script has seen under this
    /// number, or as far from the first.
    fn clock_on_wire(&self, echo: u32) -> u32 {
        let seen = self.clock.iter().rev().find(|(script, _)| *script == echo);
        match (seen, self.clock.first()) {
            (Some((_, live)), _) => *live,
            (None, Some((script, live))) => live.wrapping_add(echo.wrapping_sub(*script)),
            (None, None) => echo,
        }
    }

    /// Reads a segment that the engine sent, in the numbers of the script, which has `wanted`.
    pub(crate) fn read(
        &mut self,
        departure: &Departure,
        wanted: Option<&ScriptSegment>,
    ) -> Result<ScriptSegment, Stop> {
        let Ok(packet) = TcpPacket::new(&departure.header) else {
            return Stop::differs("the engine sent what is no segment");
        };
        self.learn(&packet);
        let slices = [&departure.header[..], &departure.data[..]];
        if !tcp::checksum_holds(&departure.addresses, slices) {
            return Stop::differs("the engine sent a segment with a wrong checksum");
        }
        let flags = packet.flags();
        let syn = flags.has(TcpFlags::SYN);
        if let Some(wanted) = wanted.filter(|_| !syn) {
            self.is_open = true;
            self.ours.decide(wanted.seq);
            wanted.ack.into_iter().for_each(|ack| self.theirs.decide(ack));
        }
        let seq = packet.seq().0.wrapping_sub(self.ours.shift(syn));
        let ack = packet.ack().0;
        let to_script = self.theirs.shift(syn);
        if syn {
            let len = departure.data.len() as u32;
            self.note_syn(0, packet.seq().0, len, flags.has(TcpFlags::ACK).then_some(ack));
        }
        if let Some(origin) = self.origin.filter(|_| !departure.data.is_empty()) {
            let start = u64::from(packet.seq().0.wrapping_sub(origin));
            let end = start + departure.data.len() as u64;
            if start < self.sent_end {
                self.resent.insert(start..end.min(self.sent_end).max(start + 1));
            }
            self.sent_end = self.sent_end.max(end);
        }
        let mut options = wire::read_options(&packet);
        for option in &mut options {
            if let SegmentOption::Sack(blocks) = option {
                for (left, right) in blocks {
                    *left = left.wrapping_sub(to_script);
                    *right = right.wrapping_sub(to_script);
                }
            }
        }
        if let Some(origin) = self.origin {
            let syn = u32::from(flags.has(TcpFlags::SYN));
            let first = packet.seq().0.wrapping_sub(origin).wrapping_add(syn);
            if departure.data != data(first, departure.data.len()) {
                return Stop::differs(format!("the engine sent wrong data from {seq} on"));
            }
        }
        Ok(ScriptSegment {
            ecn: Some(departure.ecn.bits()),
            flags: flags.0,
            seq,
            len: departure.data.len() as u32,
            ack: flags.has(TcpFlags::ACK).then(|| ack.wrapping_sub(to_script)),
            window: Some(packet.window()),
            urgent: flags.has(TcpFlags::URG).then(|| packet.urgent()),
            options: OptionList::These(options),
            encapsulation: None,
        })
    }

    /// Takes the script's numbers for those of the first segment that the engine sent.
    pub(crate) fn adopt(&mut self, wanted: &ScriptSegment, found: &mut ScriptSegment) {
        if found.flags & TcpFlags::SYN.0 != 0 && wanted.flags & TcpFlags::SYN.0 != 0 {
            self.ours.script = wanted.seq;
            found.seq = wanted.seq;
        }
        if let Some((script, _)) = clock_of(wanted)
            && let Some((live, echo)) = clock_of(found)
        {
            self.clock.push((script, live));
            if let OptionList::These(options) = &mut found.options {
                for option in options {
                    if matches!(option, SegmentOption::Timestamps { .. }) {
                        *option = SegmentOption::Timestamps { value: script, echo };
                    }
                }
            }
        }
    }
}

/// Returns the timestamp and the echo of a segment.
fn clock_of(segment: &ScriptSegment) -> Option<(u32, u32)> {
    let OptionList::These(options) = &segment.options else { return None };
    options.iter().find_map(|option| match option {
        SegmentOption::Timestamps { value, echo } => Some((*value, *echo)),
        _ => None,
    })
}

/// Takes the cookie of the script for the one that the engine sent: what a cookie is made of is the
/// engine's own business.
pub(crate) fn adopt_cookie(
    wanted: &ScriptSegment,
    found: &mut ScriptSegment,
    cookies: &mut Vec<(Vec<u8>, Vec<u8>)>,
) {
    let (OptionList::These(wanted), OptionList::These(found)) =
        (&wanted.options, &mut found.options)
    else {
        return;
    };
    let script = wanted.iter().find_map(|option| match option {
        SegmentOption::FastOpen(cookie) if !cookie.is_empty() => Some(cookie),
        _ => None,
    });
    for option in found {
        if let (Some(script), SegmentOption::FastOpen(live)) = (script, option)
            && !live.is_empty()
        {
            cookies.push((script.clone(), core::mem::replace(live, script.clone())));
        }
    }
}
