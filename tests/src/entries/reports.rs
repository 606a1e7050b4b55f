//! Reports of a peer that lies: ACKs, records of blocks and parity that it asks for, with every
//! check right.

use core::num::NonZeroU8;

use windfall_base::seq::Seq32;
use windfall_base::{Duration, Frame, Instant, PacketEvent, PacketEventKind, Seed, Stream, Tag};
use windfall_link::policy::{Cost, PolicyKind};
use windfall_link::{Arq, Coded, CodedConfig, Coding, Pipe, PipeConfig, Window};
use windfall_wire_link::coded::{Fate, MAX_BLOCKS, Record, encode_records};
use windfall_wire_link::pipe::{Ack, Bitmap, Header, KEPT_MAX_COUNT, Number};

/// Packets under way at most.
const WINDOW: usize = 40;
/// Frames that the sender may send before something else happens.
const TURN: usize = 4;
/// The cost of a frame.
const COST: Cost = Cost { per_frame: Duration::from_nanos(60), per_byte: Duration::from_nanos(1) };

/// A sender, and a peer whose reports stand in the bytes. The first byte says what the link sends,
/// each other whether the sender sends, time passes, or a report is forged. No packet is lost or
/// settled twice in the sender's account, and no more than the window are under way.
pub fn reports(bytes: &[u8]) {
    let [choice, rest @ ..] = bytes else { return };
    let policy = PolicyKind::ALL[usize::from(*choice) % PolicyKind::ALL.len()];
    let arq = NonZeroU8::new(choice >> 5).map_or(Arq::Persistent, Arq::Attempts);
    match choice >> 3 & 3 {
        3 => stop_and_wait(policy, arq, rest),
        kind => pipelined(kind, policy, arq, rest),
    }
}

/// The account of a sender's packets.
#[derive(Default)]
struct Account {
    pulled: usize,
    settled: usize,
}

impl Account {
    fn record(&mut self, event: &PacketEvent) {
        self.settled += usize::from(match event.kind {
            PacketEventKind::Acknowledged => true,
            PacketEventKind::Sent { kept, .. } => !kept,
            // A report that is refused is dropped as well, and is no packet of the sender's.
            PacketEventKind::Dropped(drop) => event.tag.is_some() && !drop.kept,
            _ => false,
        });
    }
}

fn pipelined(kind: u8, policy: PolicyKind, arq: Arq, mut script: &[u8]) {
    let coding = Coding { policy: policy.into(), padded: false, cost: COST };
    let mut sender = Pipe::new(PipeConfig {
        arq,
        increments: kind == 1,
        coding: (kind == 2).then_some(coding),
        window: Window { packets: WINDOW, bytes: 1 << 20 },
        ..PipeConfig::default()
    });
    let mut now = Instant::START;
    let mut account = Account::default();
    let mut newest = [0_u32; 2];
    while let Some((&what, rest)) = script.split_first() {
        script = rest;
        match what % 4 {
            0 | 1 => {
                for _ in 0..TURN {
                    let pull = || {
                        account.pulled += 1;
                        Some(packet(account.pulled).into())
                    };
                    let Some(frame) = sender.poll_transmit(now, pull) else { break };
                    newest = numbers(&frame).unwrap_or(newest);
                }
            }
            2 => {
                now += Duration::from_micros(1 << (what >> 2 & 0x1f).min(22));
                sender.handle_timeout(now);
            }
            _ => {
                let (frame, rest) = forge(what, newest, script);
                script = rest;
                sender.handle_frame(now, frame);
            }
        }
        while let Some(event) = sender.poll_event() {
            account.record(&event);
        }
        let held = account.pulled - account.settled;
        assert_eq!(sender.held(), held, "{} pulled", account.pulled);
        assert!(held <= WINDOW + 1, "{held} under way");
        assert!(sender.poll_delivery().is_none(), "a report delivers nothing");
    }
}

fn stop_and_wait(policy: PolicyKind, arq: Arq, mut script: &[u8]) {
    let mut sender = Coded::new(CodedConfig {
        policy: policy.into(),
        arq,
        padded: false,
        accept_damaged: false,
        combine: false,
        cost: COST,
    });
    let mut account = Account::default();
    while let Some((&what, rest)) = script.split_first() {
        let (report, rest) = rest.split_at(rest.len().min(usize::from(what) % 9));
        script = rest;
        let pull = || {
            account.pulled += 1;
            Some(packet(account.pulled).into())
        };
        assert!(sender.next_unit(Instant::START, pull).is_some(), "there is always a packet");
        let report = report.iter().copied().collect();
        sender.take_outcome(Some(&report).filter(|_| what & 0x80 == 0));
        while let Some(event) = sender.poll_event() {
            account.record(&event);
        }
        assert!(account.pulled - account.settled <= 1, "one packet at a time");
        assert!(sender.poll_delivery().is_none(), "a report delivers nothing");
    }
}

fn packet(number: usize) -> Frame {
    let mut stream = Stream::new(Seed(number as u64), "packet");
    let length = 40 + stream.below(1_400);
    let bytes: Vec<u8> = (0..length).map(|_| stream.bits() as u8).collect();
    Frame { tag: Some(Tag(number as u64)), ..Frame::packet(bytes) }
}

/// Returns the numbers of packet and transmission of a frame, which its peer knows.
fn numbers(frame: &Frame) -> Option<[u32; 2]> {
    if let Ok(Header::Data(data)) = Header::parse(&frame.header, &frame.trailer)
        && let Number::Window { seq, order, .. }
        | Number::Flow { seq, order, .. }
        | Number::Increment { seq, order, .. } = data.number
    {
        return Some([seq.0, order.0]);
    }
    // The header of coded frames: the numbers stand behind its first two bytes.
    let word = |at: usize| {
        let bytes = frame.header.get(at..at + 4)?;
        Some(bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte)))
    };
    Some([word(2)?, word(6)?])
}

/// An ACK near the numbers that the peer knows, with records behind it.
fn forge(what: u8, [seq, order]: [u32; 2], script: &[u8]) -> (Frame, &[u8]) {
    let [next, first, count, records, rest @ ..] = script else {
        return (Frame::default(), &[]);
    };
    // A signed distance: what is long settled, and what was never sent.
    let near = |newest: u32, by: u8| Seq32(newest.wrapping_add_signed(i32::from(by as i8)));
    let count = usize::from(*count).min(KEPT_MAX_COUNT);
    let (bits, mut rest) = rest.split_at(rest.len().min(count.div_ceil(4)));
    let bit = |n: usize| bits.get(n / 8).is_some_and(|byte| byte >> (n % 8) & 1 != 0);
    let bitmap = |from: usize| {
        let mut bitmap = Bitmap::default();
        (0..count).for_each(|n| _ = bitmap.push(bit(from + n)));
        bitmap
    };
    let kept = (what & 4 != 0).then(|| bitmap(count));
    let next = near(seq, *next);
    let first = near(order, *first);
    let (header, trailer) = Ack { next, first, arrived: bitmap(0), kept }.encode();
    let mut told = Vec::new();
    for _ in 0..records % 16 {
        let [at, fates, tail @ ..] = rest else { break };
        let (blocks, tail) = tail.split_at(tail.len().min(usize::from(*fates) % (MAX_BLOCKS + 1)));
        rest = tail;
        let fates = blocks.iter().map(|byte| fate(*byte)).collect();
        told.push(Record { order: near(order, *at), again: what & 8 != 0, fates });
    }
    let mut frame = Frame { payload: encode_records(&told).into(), ..Frame::default() };
    (frame.header, frame.trailer) = (header, trailer);
    (frame, rest)
}

/// The fate that a byte of a record stands for.
const fn fate(byte: u8) -> Fate {
    match byte {
        252 => Fate::Combined,
        253 => Fate::Damaged,
        254 => Fate::Failed,
        255 => Fate::Missing,
        corrected => Fate::Good(corrected),
    }
}
