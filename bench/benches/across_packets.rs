//! Codes across packets at 25 % repair against the crate `reed-solomon-simd`, in turn in one run:
//! repairs of blocks and of a sliding window, and packets that are lost and made again.
//!
//! Bytes are those of the packets, without repairs. The peer has no sliding window, so ours is
//! compared with its blocks, whose time grows with the logarithm of their size, as ours does with
//! the number of repairs. Behind them whole packets are made of damaged copies, beside the check
//! of a packet alone: there is no crate that does this.

use reed_solomon_simd::{ReedSolomonDecoder, ReedSolomonEncoder};
use windfall_bench::compare;
use windfall_fec::copies::{Copies, MOST_PIECES};
use windfall_fec::{Cover, Instructions, PacketDecoder, PacketEncoder};
use windfall_wire_link::check::frame_check;

/// Bytes of a packet.
const LEN: usize = 1_216;
/// Packets of one run.
const PACKETS: usize = 512;
/// Bytes in a second that are asked for, in millions.
const GOAL: f64 = 1_000.0;

fn main() {
    let packets: Vec<Vec<u8>> = (0..PACKETS)
        .map(|n| (0..LEN).map(|i| (n * 131 + i * 31 + ((n * i) >> 7)) as u8).collect())
        .collect();
    for instructions in Instructions::available() {
        println!("instructions: {instructions:?}, the peer's by itself");
        for count in [8, 32, 64] {
            block(&packets, count, instructions);
            window(&packets, count, instructions);
            made_again(&packets, count, instructions);
        }
    }
    in_vain(&packets);
    combine(&packets, 2, 2);
    combine(&packets, 3, 40);
}

/// A window that has fewer repairs than it lacks packets: the time of each packet, in which nothing
/// can be made.
fn in_vain(packets: &[Vec<u8>]) {
    let mut encoder = PacketEncoder::new(128);
    let repairs: Vec<_> = packets
        .iter()
        .map(|packet| {
            encoder.push(packet);
            encoder.repair()
        })
        .collect();
    let run = || {
        let mut decoder = PacketDecoder::new(256);
        let mut made = 0;
        for (number, (packet, repair)) in packets.iter().zip(&repairs).enumerate() {
            if number % 5 < 2 {
                decoder.take_packet(number as u32, packet, false);
            }
            if let Some((cover, repair)) = repair.as_ref().filter(|_| number % 5 == 4) {
                decoder.take_repair(*cover, repair, None);
            }
            made += decoder.solve(|_| true).len();
        }
        made
    };
    let ratio = compare(run, || packets.iter().fold(0, |a, it| a ^ check(it)));
    let micros = 1e6 * ratio.ours / packets.len() as f64;
    println!("{:<38} {micros:.0} µs a packet", "a window of 128 that lacks repairs");
}

/// Each packet from `count` copies with bytes wrong at `errors` places of their own.
fn combine(packets: &[Vec<u8>], count: usize, errors: usize) {
    let copy = |packet: &Vec<u8>, number: usize| {
        let mut copy = packet.clone();
        (0..errors).for_each(|i| copy[(i * count + number) * LEN / (count * errors)] ^= 0x21);
        copy
    };
    let damaged: Vec<(Vec<u8>, Copies, u32)> = packets
        .iter()
        .map(|packet| {
            let mut copies = Copies::default();
            (1..count).for_each(|number| copies.keep(copy(packet, number)));
            (copy(packet, 0), copies, check(packet))
        })
        .collect();
    let ours = || {
        damaged.iter().filter_map(|(new, copies, right)| {
            copies.combine(new, MOST_PIECES, |bytes| check(bytes) ^ right)
        })
    };
    assert!(ours().eq(packets.iter().cloned()), "each packet is made");
    let ratio = compare(|| ours().count(), || packets.iter().fold(0, |a, it| a ^ check(it)));
    print(&format!("{count} copies, {errors} wrong places in each"), ratio, 0.05);
}

fn check(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(frame_check(&[bytes]))
}

/// Prints the ratio and its goal, and whether that of bytes in a second is reached.
fn print(name: &str, ratio: windfall_bench::Ratio, goal: f64) {
    ratio.print_throughput(name, LEN * PACKETS, goal);
    let rate = (LEN * PACKETS) as f64 / ratio.ours / 1e6;
    let verdict = if rate >= GOAL { "reached" } else { "MISSED" };
    println!("{:<38} {rate:.0} MB/s, goal {GOAL:.0}: {verdict}", "");
}

/// The repairs of blocks of `count` packets.
fn block(packets: &[Vec<u8>], count: usize, instructions: Instructions) {
    let mut peer = ReedSolomonEncoder::new(count, count / 4, LEN).expect("a code");
    let ratio = compare(
        || repairs(packets, count, instructions).len(),
        || packets.chunks(count).map(|block| by_peer(&mut peer, block).len()).sum::<usize>(),
    );
    print(&format!("repairs of blocks of {count}"), ratio, 1.0);
}

/// Repairs of the last `count` packets, one behind each fourth.
fn window(packets: &[Vec<u8>], count: usize, instructions: Instructions) {
    let mut peer = ReedSolomonEncoder::new(count, count / 4, LEN).expect("a code");
    let ours = || {
        let mut encoder = PacketEncoder::new(count).with_instructions(instructions);
        let mut bytes = 0;
        for (place, packet) in packets.iter().enumerate() {
            encoder.push(packet);
            if place % 4 == 3 {
                bytes += encoder.repair().map_or(0, |(_, repair)| repair.len());
            }
        }
        bytes
    };
    let ratio = compare(ours, || {
        packets.chunks(count).map(|block| by_peer(&mut peer, block).len()).sum::<usize>()
    });
    print(&format!("repairs of a window of {count}"), ratio, 1.0);
}

/// As many packets of each block are lost as it has repairs.
fn made_again(packets: &[Vec<u8>], count: usize, instructions: Instructions) {
    let ours = repairs(packets, count, instructions);
    let mut encoder = ReedSolomonEncoder::new(count, count / 4, LEN).expect("a code");
    let theirs: Vec<Vec<Vec<u8>>> =
        packets.chunks(count).map(|block| by_peer(&mut encoder, block)).collect();
    let mut peer = ReedSolomonDecoder::new(count, count / 4, LEN).expect("a code");
    let by_us = || {
        let mut decoder = PacketDecoder::new(2 * count).with_instructions(instructions);
        let mut repairs = ours.iter();
        let mut made = 0;
        for (place, packet) in packets.iter().enumerate() {
            if place % 4 != 1 {
                decoder.take_packet(place as u32, packet, false);
            }
            if place % count == count - 1 {
                for (cover, repair) in repairs.by_ref().take(count / 4) {
                    decoder.take_repair(*cover, repair, None);
                }
                made += decoder.solve(|_| true).len();
            }
        }
        assert_eq!(made, packets.len() / 4);
    };
    let by_them = || {
        let mut made = 0;
        for (block, repairs) in packets.chunks(count).zip(&theirs) {
            for (place, packet) in block.iter().enumerate().filter(|(place, _)| place % 4 != 1) {
                peer.add_original_shard(place, packet).expect("a packet");
            }
            for (row, repair) in repairs.iter().enumerate() {
                peer.add_recovery_shard(row, repair).expect("a repair");
            }
            let outcome = peer.decode().expect("enough repairs");
            made +=
                outcome.restored_original_iter().map(|(_, it)| it.to_vec().len()).sum::<usize>();
        }
        assert_eq!(made, packets.len() / 4 * LEN);
    };
    print(&format!("a quarter of {count} made again"), compare(by_us, by_them), 1.0);
}

fn repairs(packets: &[Vec<u8>], count: usize, instructions: Instructions) -> Vec<(Cover, Vec<u8>)> {
    let mut encoder = PacketEncoder::new(count).with_instructions(instructions);
    let mut made = Vec::new();
    for block in packets.chunks(count) {
        encoder.begin();
        block.iter().for_each(|packet| _ = encoder.push(packet));
        made.extend((0..count / 4).filter_map(|_| encoder.repair()));
    }
    made
}

fn by_peer(encoder: &mut ReedSolomonEncoder, block: &[Vec<u8>]) -> Vec<Vec<u8>> {
    for packet in block {
        encoder.add_original_shard(packet).expect("a packet");
    }
    encoder.encode().expect("a block").recovery_iter().map(<[u8]>::to_vec).collect()
}
