//! Pings between two hosts whose modems correct errors and compress, over a transparent circuit.

use std::collections::VecDeque;

use windfall_base::Seed;
use windfall_circuit::ppp::{Deframed, Deframer, FrameMode};
use windfall_circuit::rlp::MnpLink;
use windfall_files::traces::error_trace::{ErrorTrace, Fault};
use windfall_scenario::GsmEnvironment;
use windfall_wire_link::hdlc::{Accm, HdlcCheck, encode_frame};

/// Slots in a second, of 20 ms each.
const SECOND: u64 = 50;
const SLOT_MS: f64 = 20.0;
/// Pings, one a second, and the seconds in which they and their answers go.
const PINGS: usize = 100;
const SECONDS: u64 = 130;
/// Blocks through the interleaver, of some 111 ms.
const ON_THE_WAY: usize = 6;
/// Bytes of an echo request of `ping -s 500`, with the headers of IP and ICMP.
const PACKET: usize = 528;
/// The byte of a packet that holds its number, that of ICMP's.
const NUMBER: usize = 27;
const PPP_HEADER: [u8; 4] = [0xff, 0x03, 0x00, 0x21];

/// A host, its modem, and the blocks on their way from it.
struct Host {
    modem: MnpLink,
    deframer: Deframer,
    flying: VecDeque<[u8; 30]>,
}

impl Host {
    fn new(compresses: bool) -> Self {
        Self {
            modem: MnpLink::new(compresses),
            deframer: Deframer::new(FrameMode::Strict, HdlcCheck::Fcs16, Accm::NONE, 1_500),
            flying: VecDeque::new(),
        }
    }

    fn send(&mut self, number: usize) {
        let mut packet: Vec<u8> = (0..PACKET).map(|at| at as u8).collect();
        packet[NUMBER] = number as u8;
        let mut characters = Vec::new();
        encode_frame(&[&PPP_HEADER[..], &packet], HdlcCheck::Fcs16, Accm::NONE, &mut characters);
        self.modem.write(&characters);
    }

    /// Takes a block, and returns the numbers of the packets that end in it.
    fn take(&mut self, block: &[u8; 30]) -> Vec<usize> {
        self.modem.handle_block(block);
        let characters = self.modem.read();
        let mut numbers = Vec::new();
        self.deframer.take(&characters, |frame: Deframed<'_>| {
            numbers.extend(frame.packet.get(NUMBER).map(|number| usize::from(*number)));
        });
        numbers
    }
}

//= S1.28
/// A hundred pings of 500 bytes: the mean round trip in ms, and the loss in %.
pub(crate) fn pings(environment: GsmEnvironment, seed: Seed, compresses: bool) -> (f64, f64) {
    let slots = SECONDS * SECOND;
    let trace = environment.synthesize(seed, 2 * slots as u32);
    let mut hosts = [Host::new(compresses), Host::new(compresses)];
    let mut times = Vec::new();
    for slot in 0..slots {
        let number = (slot / SECOND) as usize;
        if slot % SECOND == 0 && number < PINGS {
            hosts[0].send(number);
        }
        for from in 0..2 {
            let mut block = hosts[from].modem.next_block();
            damage(&trace, slot + from as u64 * slots, &mut block);
            hosts[from].flying.push_back(block);
            if hosts[from].flying.len() <= ON_THE_WAY {
                continue;
            }
            let Some(block) = hosts[from].flying.pop_front() else { continue };
            for number in hosts[1 - from].take(&block) {
                if from == 0 {
                    hosts[1].send(number);
                } else {
                    let sent = number as u64 * SECOND;
                    times.push(SLOT_MS * (slot + 1).saturating_sub(sent) as f64);
                }
            }
        }
    }
    let lost = PINGS.saturating_sub(times.len());
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    (mean, 100.0 * lost as f64 / PINGS as f64)
}

fn damage(trace: &ErrorTrace, number: u64, block: &mut [u8; 30]) {
    if let Some(Fault::Damaged { inverted, .. }) = trace.fault(number) {
        for bit in inverted {
            block[*bit as usize / 8] ^= 1 << (bit % 8);
        }
    }
}
