//! The stream of WSim as real packets through a circuit, transparent or with RLP, bit by bit.

mod service;

use core::net::Ipv4Addr;
use std::collections::VecDeque;

use windfall_base::Duration;
use windfall_circuit::ppp::{Deframed, Deframer, FrameMode};
use windfall_rtp::{
    Depacketizer, RTP_HEADER_LEN, RtpHeader, RtpPacket, VIDEO_CLOCK, VideoCodec, VideoPayload,
    packetize,
};
use windfall_wire_link::hdlc::{Accm, HdlcCheck, encode_frame};

use service::ServiceEnd;

use crate::wsim::blocks::BlockErrors;
use crate::wsim::datagram::{rtp_datagram, rtp_of};
use crate::wsim::run::{WsimOutcome, WsimPacket, WsimProtocol, WsimRun};

/// The time of a radio block.
const BLOCK_TIME: Duration = Duration::from_millis(20);
/// Address and control fields, and the protocol of IPv4.
const PPP_HEADER: [u8; 4] = [0xff, 0x03, 0x00, 0x21];
const IPV4: u16 = 0x0021;
/// The source and destination of every packet.
const ENDS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
const IP_LEN: usize = 20;
const UDP_LEN: usize = 8;
const SOURCE: u32 = 0x7769_6e64;
/// The longest packet of PPP.
const MRU: u16 = 1_500;
/// Blocks without anything to send before the simulation ends: the last frames are on their way.
const QUIET: u32 = 20;
/// Blocks on their way through the interleaver, of 22 bursts or some 111 ms.
const ON_THE_WAY: usize = 6;
/// Blocks before the first picture in which RLP connects; nothing is damaged in them.
const CALL: u64 = 60;
/// The first block of the way back, far from that of the way there in the same trace.
const WAY_BACK: u64 = 1_000_003;

//= S1.13
//= S1.45
/// The service of a circuit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CircuitService {
    /// Transparent and asynchronous: damage goes through.
    #[default]
    Transparent,
    /// Transparent and synchronous, without start and stop bits: damage shifts nothing.
    Synchronous,
    /// RLP: what is damaged is repeated.
    Rlp,
}

/// The settings of the simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CircuitConfig {
    /// The transport protocol; UDP-Lite is over PPP Lite.
    pub protocol: WsimProtocol,
    /// The most bytes of an RTP payload.
    pub adu: usize,
    /// Pictures in a second.
    pub rate: f64,
    /// The format of the stream.
    pub codec: VideoCodec,
    /// Packets behind the first of a picture repeat its header.
    pub repeat: bool,
    /// The service under PPP.
    pub service: CircuitService,
}

/// A packet on its way.
struct Sent {
    payload: VideoPayload,
    picture: usize,
    /// The bytes of the line before which it has been sent.
    ends_at: u64,
    line_len: u64,
}

//= S1.5
//= S1.60
/// Sends pictures at their rate over the blocks from `first` on, one block every 20 ms.
#[must_use]
pub fn circuit(
    config: &CircuitConfig,
    pictures: &[&[u8]],
    errors: &BlockErrors,
    first: u64,
) -> WsimRun {
    let mut sender = Sender::new(config);
    let mut receiver = Receiver::new(config, pictures.len());
    let mut flying = [VecDeque::new(), VecDeque::new()];
    let mut quiet = 0;
    let mut next = 0;
    let mut block_number = 0_u64;
    for _ in 0..CALL {
        pass(&mut sender, &mut receiver, &mut flying, Duration::ZERO, |_, _| {});
    }
    while next < pictures.len() || quiet < QUIET {
        let now = BLOCK_TIME * block_number;
        while next < pictures.len() && picture_time(config, next) <= now {
            sender.send(pictures[next], next);
            next += 1;
        }
        quiet = if sender.line.unfinished() == 0 { quiet + 1 } else { 0 };
        sender.note_begun(block_number);
        // Bits are counted in the order of transmission, the least significant of a byte first.
        let meet = |there: &mut [u8; 30], back: &mut [u8; 30]| {
            errors.inverted(first + block_number, |bit| there[bit / 8] ^= 1 << (bit % 8));
            let number = first + WAY_BACK + block_number;
            errors.inverted(number, |bit| back[bit / 8] ^= 1 << (bit % 8));
        };
        let end = BLOCK_TIME * (block_number + 1);
        pass(&mut sender, &mut receiver, &mut flying, end, meet);
        sender.note_ended(block_number);
        block_number += 1;
    }
    receiver.depacketizer.finish();
    receiver.collect();
    let packets = packets(config, &sender, &receiver, errors, first);
    WsimRun { packets, pictures: receiver.pictures, blocks: block_number }
}

/// Exchanges the blocks of one slot, which ends at `end`; `meet` does the damage.
fn pass(
    sender: &mut Sender,
    receiver: &mut Receiver,
    flying: &mut [VecDeque<[u8; 30]>; 2],
    end: Duration,
    meet: impl FnOnce(&mut [u8; 30], &mut [u8; 30]),
) {
    let mut there = sender.line.next_block();
    let mut back = receiver.line.next_block();
    meet(&mut there, &mut back);
    flying[0].push_back(there);
    flying[1].push_back(back);
    let mut arrive = |way: usize| {
        if flying[way].len() > ON_THE_WAY { flying[way].pop_front() } else { None }
    };
    if let Some(block) = arrive(0) {
        receiver.take(&block, end, &sender.sent);
    }
    if let Some(block) = arrive(1) {
        sender.line.handle_block(&block);
    }
}

fn picture_time(config: &CircuitConfig, number: usize) -> Duration {
    Duration::from_secs_f64(number as f64 / config.rate)
}

struct Sender {
    config: CircuitConfig,
    line: ServiceEnd,
    sent: Vec<Sent>,
    /// Bytes given to the line so far.
    written: u64,
    /// The first and the last block of each packet.
    blocks: Vec<(Option<u64>, Option<u64>)>,
}

impl Sender {
    fn new(config: &CircuitConfig) -> Self {
        let line = ServiceEnd::new(config.service, true);
        Self { config: *config, line, sent: Vec::new(), written: 0, blocks: Vec::new() }
    }

    fn send(&mut self, picture: &[u8], number: usize) {
        let ticks = number as f64 / self.config.rate * f64::from(VIDEO_CLOCK);
        for payload in packetize(self.config.codec, picture, self.config.adu, self.config.repeat) {
            let header = RtpHeader {
                marker: payload.is_last,
                payload_type: 96,
                sequence: self.sent.len() as u16,
                timestamp: ticks as u32,
                ssrc: SOURCE,
            };
            let rtp = RtpPacket { header, payload: &payload.bytes, ..RtpPacket::default() };
            let packet = rtp_datagram(self.config.protocol, ENDS, &rtp.encode(), payload.exact);
            let mut line = Vec::new();
            encode_frame(&[&PPP_HEADER, &packet], HdlcCheck::Fcs16, Accm::NONE, &mut line);
            self.line.write(&line);
            self.written += line.len() as u64;
            let ends_at = self.written;
            self.sent.push(Sent { payload, picture: number, ends_at, line_len: line.len() as u64 });
            self.blocks.push((None, None));
        }
    }

    /// Notes the first block of packets whose first byte goes next.
    fn note_begun(&mut self, block: u64) {
        // A packet that begins in the midst of a block is begun then.
        let gone = self.written - self.line.unsent() as u64 + self.line.in_a_block();
        for (sent, (begun, _)) in self.sent.iter().zip(&mut self.blocks).rev() {
            if begun.is_some() {
                break;
            }
            if sent.ends_at - sent.line_len < gone {
                *begun = Some(block);
            }
        }
    }

    fn note_ended(&mut self, block: u64) {
        let gone = self.written - self.line.unsent() as u64;
        for (sent, (_, ended)) in self.sent.iter().zip(&mut self.blocks).rev() {
            if ended.is_some() {
                break;
            }
            if sent.ends_at <= gone {
                *ended = Some(block);
            }
        }
    }
}

struct Receiver {
    config: CircuitConfig,
    line: ServiceEnd,
    deframer: Deframer,
    depacketizer: Depacketizer,
    pictures: Vec<Vec<u8>>,
    /// The outcome of each packet that arrived, the time since its picture and since the first.
    arrived: Vec<Option<(WsimOutcome, Duration, Duration)>>,
}

impl Receiver {
    fn new(config: &CircuitConfig, pictures: usize) -> Self {
        let mode = match config.protocol {
            WsimProtocol::Udp => FrameMode::Strict,
            WsimProtocol::UdpLite => FrameMode::Lite,
        };
        Self {
            config: *config,
            line: ServiceEnd::new(config.service, false),
            deframer: Deframer::new(mode, HdlcCheck::Fcs16, Accm::NONE, MRU),
            depacketizer: Depacketizer::new(config.codec),
            pictures: vec![Vec::new(); pictures],
            arrived: Vec::new(),
        }
    }

    fn take(&mut self, block: &[u8; 30], now: Duration, sent: &[Sent]) {
        let characters = self.line.handle_block(block);
        let mut packets = Vec::new();
        self.deframer.take(&characters, |frame: Deframed<'_>| {
            if frame.protocol == IPV4 {
                packets.extend(rtp_of(frame.packet, ENDS[1]));
            }
        });
        for (bytes, suspect) in packets {
            let Ok(packet) = RtpPacket::parse(&bytes) else { continue };
            let number = usize::from(packet.header.sequence);
            let Some(original) = sent.get(number).filter(|_| packet.header.ssrc == SOURCE) else {
                continue;
            };
            let is_same = packet.payload == original.payload.bytes;
            let outcome = if is_same { WsimOutcome::Intact } else { WsimOutcome::Damaged };
            let delay = now.saturating_sub(picture_time(&self.config, original.picture));
            self.arrived.resize(self.arrived.len().max(number + 1), None);
            self.arrived[number] = Some((outcome, delay, now));
            self.depacketizer.push(&packet.header, packet.payload, &suspect);
            self.collect();
        }
    }

    fn collect(&mut self) {
        while let Some(picture) = self.depacketizer.poll_picture() {
            let seconds = f64::from(picture.timestamp) / f64::from(VIDEO_CLOCK);
            let number = (seconds * self.config.rate).round() as usize;
            if let Some(place) = self.pictures.get_mut(number) {
                *place = picture.data;
            }
        }
    }
}

fn packets(
    config: &CircuitConfig,
    sender: &Sender,
    receiver: &Receiver,
    errors: &BlockErrors,
    first: u64,
) -> Vec<WsimPacket> {
    let mut packets = Vec::new();
    for (number, sent) in sender.sent.iter().enumerate() {
        let (begun, ended) = sender.blocks[number];
        let begun = begun.unwrap_or(0);
        let ended = ended.unwrap_or(begun);
        let damaged = (begun..=ended).filter(|it| errors.is_damaged(first + it)).count();
        let arrived = receiver.arrived.get(number).copied().flatten();
        packets.push(WsimPacket {
            data_len: sent.payload.bytes.len(),
            packet_len: packet_len(config, &sent.payload),
            first_block: first + begun,
            blocks: ended - begun + 1,
            damaged_blocks: damaged as u64,
            outcome: arrived.map_or(WsimOutcome::Dropped, |(outcome, ..)| outcome),
            delay: arrived.map(|(_, delay, _)| delay),
            arrival: arrived.map(|(.., arrival)| arrival),
        });
    }
    packets
}

/// Bytes of a frame without escapes: two flags, header and check of PPP, IP, UDP and RTP.
fn packet_len(_: &CircuitConfig, payload: &VideoPayload) -> usize {
    2 + PPP_HEADER.len() + 2 + IP_LEN + UDP_LEN + RTP_HEADER_LEN + payload.bytes.len()
}

#[cfg(test)]
mod tests;
