//! `--fec` itself: the decoder of this program, to which damaged packets come as damaged.

use std::collections::BTreeMap;

use windfall_base::{Duration, Instant};
use windfall_fec::{Made, PacketDecoder, PacketEncoder};
use windfall_wire_link::check::frame_check;
use windfall_wire_link::repair::{TRAILER_LEN, TRAILER_PARITY, packet_of, repair_check, symbol};

use super::air::{AIR_TIME, Air, BYTES, HEADER, INTERVAL, is_wrong};
use super::outcome::{Clock, Outcome};

/// Wrong bytes of a trailer, or of a header, that its own parity puts right.
const BEARS: usize = TRAILER_PARITY / 2;

/// When there are repairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Code {
    /// Packets of a block, and the repairs behind it.
    Block(usize, usize),
    /// The most packets under a repair, repairs as a share of the packets, and the time for which
    /// a packet waits for one.
    Window(usize, f64, Duration),
}

/// Returns the content of a packet.
fn content(number: u32) -> Vec<u8> {
    let filler = |place: u32| place.wrapping_mul(2 * number + 1).wrapping_add(number >> 7) as u8;
    (0..BYTES as u32).map(filler).collect()
}

/// Returns how many bytes are those of the packet that was sent.
fn right_bytes(number: u32, found: &[u8]) -> usize {
    found.iter().zip(content(number)).filter(|(found, sent)| **found == *sent).count()
}

/// A packet that passed its check.
#[derive(Clone, Copy, Debug)]
struct Whole {
    since: Instant,
    /// The bytes that are right: all of them, unless the check missed something.
    right: usize,
}

/// A stream of packets under way.
struct Run<'a> {
    air: &'a Air,
    takes_damaged: bool,
    encoder: PacketEncoder,
    decoder: PacketDecoder,
    frames: usize,
    whole: BTreeMap<u32, Whole>,
    /// The right bytes of damaged packets.
    damaged: BTreeMap<u32, usize>,
}

impl Run<'_> {
    /// Returns the payload of the next frame as it arrives, and whether the frame is damaged;
    /// `None` if it is of no use.
    fn carry(&mut self, payload: &[u8]) -> Option<(Vec<u8>, bool)> {
        let number = self.frames;
        self.frames += 1;
        let added = self.air.frame(number, HEADER + payload.len() + TRAILER_LEN)?;
        if added.is_empty() {
            return Some((payload.to_vec(), false));
        }
        let (header, rest) = added.split_at(HEADER);
        let (body, trailer) = rest.split_at(payload.len());
        // The link's own header has parity as well; who sends to whom must be right.
        let bears = |part: &[u8]| part.iter().filter(|byte| **byte != 0).count() <= BEARS;
        if !bears(header) || !bears(trailer) {
            return None;
        }
        let found = payload.iter().zip(body).map(|(byte, added)| byte ^ added).collect();
        Some((found, is_wrong(&added)))
    }

    fn send_packet(&mut self, number: u32, now: Instant) {
        let packet = content(number);
        // The check travels in the trailer, which has arrived right if it is of any use.
        let check = frame_check(&[&packet]);
        self.encoder.push(&symbol(&[&packet], check));
        let Some((found, _)) = self.carry(&packet) else { return };
        let is_damaged = frame_check(&[&found]) != check;
        if is_damaged && !self.takes_damaged {
            return;
        }
        self.decoder.take_packet(number, &symbol(&[&found], check), is_damaged);
        let right = right_bytes(number, &found);
        if is_damaged {
            self.damaged.insert(number, right);
        } else {
            self.whole.insert(number, Whole { since: now, right });
        }
    }

    fn send_repair(&mut self, now: Instant) {
        let Some((cover, repair)) = self.encoder.repair() else { return };
        let Some((found, is_damaged)) = self.carry(&repair) else { return };
        if is_damaged && !self.takes_damaged {
            return;
        }
        let check = repair_check(&repair);
        let damaged = (repair_check(&found) != check).then_some(check);
        if self.decoder.take_repair(cover, &found, damaged) {
            let is_right = |made: Made<'_>| match made {
                Made::Packet(symbol) => packet_of(symbol).is_some(),
                Made::Repair { bytes, check } => repair_check(bytes) == check,
            };
            for (number, made) in self.decoder.solve(is_right) {
                let Some(packet) = packet_of(&made) else { continue };
                let right = right_bytes(number, packet);
                self.whole.entry(number).or_insert(Whole { since: now, right });
            }
        }
    }
}

/// Sends packets through the code.
pub(super) fn code_across(air: &Air, code: Code, packets: usize, takes_damaged: bool) -> Outcome {
    let window = match code {
        Code::Block(packets, _) => packets,
        Code::Window(packets, ..) => packets,
    };
    let mut run = Run {
        air,
        takes_damaged,
        encoder: PacketEncoder::new(window),
        decoder: PacketDecoder::new(2 * window),
        frames: 0,
        whole: BTreeMap::new(),
        damaged: BTreeMap::new(),
    };
    let mut credit = 0.0;
    for number in 0..packets {
        let made = Instant::START + INTERVAL.saturating_mul(number as u64);
        run.send_packet(number as u32, made + AIR_TIME);
        match code {
            Code::Block(of_block, repairs) if (number + 1) % of_block == 0 => {
                for repair in 0..repairs {
                    run.send_repair(made + AIR_TIME.saturating_mul(repair as u64 + 2));
                }
                run.encoder.begin();
            }
            Code::Block(..) => {}
            Code::Window(_, share, _) => {
                credit += share;
                if credit >= 1.0 {
                    credit -= 1.0;
                    run.send_repair(made + AIR_TIME * 2);
                }
            }
        }
    }
    tally(&run, code, packets)
}

/// Sums up what arrived in time.
fn tally(run: &Run<'_>, code: Code, packets: usize) -> Outcome {
    let mut outcome = Outcome::default();
    let mut clock = Clock::default();
    let mut end = Instant::START;
    for number in 0..packets {
        let key = number as u32;
        let place = match code {
            Code::Block(of_block, repairs) => {
                if number % of_block == 0 {
                    end = clock.block(of_block, of_block + repairs);
                }
                number % of_block
            }
            Code::Window(.., delay) => {
                clock.block(1, 1);
                end = clock.arrival(0) + delay;
                0
            }
        };
        let whole = run.whole.get(&key).filter(|it| it.since <= end);
        let marked = run.damaged.get(&key).copied().unwrap_or(0);
        let right = whole.map_or(marked, |it| it.right);
        let wrong = whole.map_or(0, |it| BYTES - it.right);
        outcome.packet(&mut clock, place, whole.map_or(end, |it| it.since), right, wrong);
        outcome.decoded(whole.is_some(), wrong > 0);
    }
    outcome
}
