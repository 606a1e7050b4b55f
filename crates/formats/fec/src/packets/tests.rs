use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use super::equations::Equations;
use super::*;

/// A packet of random bytes; the last four are a sum by which a right one is told.
fn packet(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    let mut bytes: Vec<u8> = [len as u8, (len >> 8) as u8].into();
    bytes.extend((0..len).map(|_| next()));
    let check = check(&bytes);
    bytes.extend(check);
    bytes
}

fn check(bytes: &[u8]) -> [u8; 4] {
    let step = |sum: u32, byte: &u8| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    bytes.iter().fold(0x811c_9dc5, step).to_be_bytes()
}

/// The check of a repair.
fn repair_check(bytes: &[u8]) -> u16 {
    let [a, b, c, d] = check(bytes);
    u16::from_be_bytes([a ^ c, b ^ d])
}

/// Returns `true` if a packet, with zeros behind it, has the right sum, or a repair its check.
fn is_right(made: Made<'_>) -> bool {
    let bytes = match made {
        Made::Packet(bytes) => bytes,
        Made::Repair { bytes, check } => return repair_check(bytes) == check,
    };
    let [low, high, ..] = *bytes else { return false };
    let end = 2 + usize::from(low) + usize::from(high) * 256;
    bytes.get(..end).zip(bytes.get(end..end + 4)).is_some_and(|(all, sum)| check(all) == sum)
}

fn same(made: &[u8], sent: &[u8]) -> bool {
    made.starts_with(sent) && made[sent.len()..].iter().all(|byte| *byte == 0)
}

/// Tells whether all packets that were made are those that were sent.
fn are_sent(made: &[(u32, Vec<u8>)], sent: &[Vec<u8>]) -> bool {
    made.iter().all(|(number, made)| same(made, &sent[*number as usize]))
}

/// The cover of a repair, and its bytes.
type Repair = (Cover, Vec<u8>);

/// A block of packets and its repairs.
fn block(count: usize, repairs: usize, len: usize) -> (Vec<Vec<u8>>, Vec<Repair>) {
    let mut encoder = PacketEncoder::new(count);
    let packets: Vec<_> = (0..count).map(|n| packet(n as u64, len + n % 50)).collect();
    packets.iter().for_each(|packet| assert!((encoder.push(packet) as usize) < count));
    let repairs = (0..repairs).map(|_| encoder.repair().expect("the block has packets"));
    (packets, repairs.collect())
}

#[test]
fn a_block_bears_as_many_losses_as_it_has_repairs_and_no_more() {
    let (packets, repairs) = block(8, 4, 300);
    for lost in 1..=5_u32 {
        let mut decoder = PacketDecoder::new(16);
        for (number, packet) in (0..).zip(&packets) {
            if number >= lost {
                decoder.take_packet(number, packet, false);
            }
        }
        let mut made = Vec::new();
        for (cover, repair) in &repairs {
            assert_eq!(decoder.take_repair(*cover, repair, None), made.is_empty());
            made.extend(decoder.solve(is_right));
        }
        assert_eq!(made.len(), if lost <= 4 { lost as usize } else { 0 });
        assert!(are_sent(&made, &packets));
    }
}

#[test]
fn the_largest_block_bears_as_many_losses_as_it_has_repairs() {
    let (packets, repairs) = block(128, 128, 20);
    let mut decoder = PacketDecoder::new(256);
    (0..).zip(&packets).skip(100).for_each(|(n, it)| decoder.take_packet(n, it, false));
    let mut made = 0;
    for (place, (cover, repair)) in repairs.iter().skip(28).enumerate() {
        assert!(decoder.take_repair(*cover, repair, None));
        made = decoder.solve(is_right).len();
        assert_eq!(made, if place == 99 { 100 } else { 0 }, "repair {place}");
    }
    assert_eq!(made, 100);
}

#[test]
fn a_repair_covers_up_to_128_packets_in_one_of_128_rows() {
    let legal = |count, row| Cover { first: 7, count, row }.is_legal();
    assert!(legal(1, 0) && legal(128, 127));
    assert!(!legal(0, 0) && !legal(129, 0) && !legal(1, 128));
    let mut decoder = PacketDecoder::new(256);
    assert!(!decoder.take_repair(Cover { first: 0, count: 1, row: 128 }, &[1; 32], None));
}

#[test]
fn a_repair_that_was_cut_short_is_one_that_came_damaged() {
    let (packets, repairs) = block(8, 2, 300);
    let mut decoder = PacketDecoder::new(16);
    (1..8).for_each(|n| decoder.take_packet(n, &packets[n as usize], false));
    let (cover, repair) = &repairs[0];
    decoder.take_repair(*cover, &repair[..64], Some(0));
    assert_eq!(decoder.solve(is_right), []);
    let (cover, repair) = &repairs[1];
    assert!(decoder.take_repair(*cover, repair, None));
    let made = decoder.solve(is_right);
    assert!(made.len() == 1 && are_sent(&made, &packets));
}

/// Many equations are examined by sums of them, which tell any two packets apart.
#[test]
fn the_sums_of_many_equations_have_no_two_packets_alike() {
    let (packets, repairs) = block(128, 70, 20);
    let mut decoder = PacketDecoder::new(128);
    (0..).zip(&packets).for_each(|(n, it)| decoder.take_packet(n, it, true));
    for (cover, repair) in &repairs {
        assert!(decoder.take_repair(*cover, repair, None));
    }
    let sums = decoder.equations.of_damaged();
    assert!(sums.len() >= 3 && sums.len() < 70);
    let field = field();
    for (a, b) in (0..128).flat_map(|a| (0..a).map(move |b| (a, b))) {
        let first = sums.iter().find(|sum| sum[a] != 0).expect("each has all columns");
        let is_alike = |sum: &Vec<u8>| field.mul(first[a], sum[b]) == field.mul(sum[a], first[b]);
        assert!(!sums.iter().all(is_alike), "{a} {b}");
    }
}

/// The unknowns that equations determine, by plain elimination: each row has the coefficients of
/// the unknowns, by their places.
fn determined(mut rows: Vec<Vec<u8>>, unknowns: usize) -> Vec<bool> {
    let field = field();
    let mut rank = 0;
    for column in 0..unknowns {
        let Some(pivot) = (rank..rows.len()).find(|row| rows[*row][column] != 0) else { continue };
        rows.swap(rank, pivot);
        let scale = rows[rank][column];
        rows[rank].iter_mut().for_each(|it| *it = field.div(*it, scale).unwrap());
        let base = rows[rank].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(place, _)| *place != rank) {
            let factor = row[column];
            row.iter_mut().zip(&base).for_each(|(to, from)| *to ^= field.mul(factor, *from));
        }
        rank += 1;
    }
    let mut known = vec![false; unknowns];
    for row in &rows {
        let mut open = row.iter().enumerate().filter(|(_, it)| **it != 0);
        if let (Some((place, _)), None) = (open.next(), open.next()) {
            known[place] = true;
        }
    }
    known
}

/// Two blocks of 128 packets, of which nothing comes but repairs by turns: each needs all of its.
#[test]
fn a_window_keeps_as_many_repairs_as_it_lacks_packets() {
    let mut encoder = PacketEncoder::new(128);
    let packets: Vec<_> = (0..256).map(|n| packet(n, 20)).collect();
    let mut blocks = packets.chunks(128).map(|block| {
        encoder.begin();
        block.iter().for_each(|packet| _ = encoder.push(packet));
        (0..128).map(|_| encoder.repair().expect("packets")).collect::<Vec<Repair>>()
    });
    let first = blocks.next().expect("a block");
    let second = blocks.next().expect("another");
    let mut decoder = PacketDecoder::new(256);
    let mut made = Vec::new();
    for (cover, repair) in first.iter().zip(&second).flat_map(|(a, b)| [a, b]) {
        assert!(made.is_empty() || made.len() == 128, "no packet before the last repair of all");
        assert!(decoder.take_repair(*cover, repair, None));
        made.extend(decoder.solve(is_right));
    }
    assert_eq!(made.len(), 256);
    assert!(are_sent(&made, &packets));
}

/// A repair that follows from those that came, and calls on no news, are of no use.
#[test]
fn what_is_known_is_not_looked_for_again() {
    let (packets, repairs) = block(8, 4, 300);
    let mut decoder = PacketDecoder::new(16);
    (0..).zip(&packets).skip(4).for_each(|(n, it)| decoder.take_packet(n, it, false));
    let take = |decoder: &mut PacketDecoder, n: usize| {
        let (cover, repair): &Repair = &repairs[n];
        decoder.take_repair(*cover, repair, None)
    };
    assert!(take(&mut decoder, 0) && take(&mut decoder, 1));
    assert!(!take(&mut decoder, 0), "it is there already");
    let asked = core::cell::Cell::new(0);
    let never = |_: Made<'_>| {
        asked.set(asked.get() + 1);
        false
    };
    assert!(take(&mut decoder, 2) && take(&mut decoder, 3));
    assert!(decoder.solve(never).is_empty());
    assert_eq!(asked.get(), 4, "four packets follow from four repairs");
    assert!(decoder.solve(never).is_empty());
    assert_eq!(asked.get(), 4);
}

#[test]
fn damaged_packets_are_put_right_where_missing_ones_could_not_be_made() {
    let (packets, repairs) = block(8, 4, 1_200);
    let mut decoder = PacketDecoder::new(16);
    // All eight are damaged, at places of their own, and one pair at the same place.
    for (number, packet) in (0..).zip(&packets) {
        let mut damaged = packet.clone();
        (0..6).for_each(|n| damaged[40 + 60 * number as usize + 7 * n] ^= 0x21);
        if number < 2 {
            damaged[1_000] ^= 0xff;
        }
        decoder.take_packet(number, &damaged, true);
    }
    let mut made = Vec::new();
    for (cover, repair) in &repairs {
        decoder.take_repair(*cover, repair, None);
        made.extend(decoder.solve(is_right));
    }
    assert_eq!(made.len(), 8);
    assert!(are_sent(&made, &packets));
}

#[test]
fn a_damaged_repair_is_of_use_too() {
    let (packets, mut repairs) = block(8, 4, 1_200);
    let checks: Vec<u16> = repairs.iter().map(|(_, repair)| repair_check(repair)).collect();
    repairs.iter_mut().zip(0..).for_each(|((_, repair), n)| repair[700 + n] ^= 1);
    let mut decoder = PacketDecoder::new(16);
    for (number, packet) in (0..).zip(&packets) {
        let mut damaged = packet.clone();
        damaged[40 + 60 * number as usize] ^= 0x21;
        decoder.take_packet(number, &damaged, number < 6);
    }
    let mut made = Vec::new();
    for ((cover, repair), check) in repairs.iter().zip(checks) {
        decoder.take_repair(*cover, repair, Some(check));
        made.extend(decoder.solve(is_right));
    }
    assert_eq!(made.len(), 6);
}

/// Four packets are wrong at one place, so that only four right repairs make them. One repair is
/// damaged at a place of its own; another packet that is lost takes a repair more.
#[test]
fn a_damaged_repair_that_is_put_right_counts_as_right() {
    let (packets, mut repairs) = block(8, 6, 1_200);
    let check = repair_check(&repairs[0].1);
    repairs[0].1[700] ^= 1;
    for (told, lost, used, expected) in
        [(check, 0, 4, 4), (check ^ 1, 0, 4, 0), (check, 1, 5, 5), (check, 1, 4, 0), (0, 1, 6, 5)]
    {
        let mut decoder = PacketDecoder::new(16);
        for (number, packet) in (0..).zip(&packets).filter(|(number, _)| *number >= lost) {
            let mut damaged = packet.clone();
            damaged[50] ^= 0x21;
            let is_damaged = number < lost + 4;
            decoder.take_packet(number, if is_damaged { &damaged } else { packet }, is_damaged);
        }
        let mut made = Vec::new();
        for (place, (cover, repair)) in repairs[..used].iter().enumerate() {
            decoder.take_repair(*cover, repair, (place == 0).then_some(told));
            made.extend(decoder.solve(is_right));
        }
        assert_eq!(made.len(), expected, "{told:x}, {lost} lost, {used} repairs");
        assert!(are_sent(&made, &packets));
    }
}

#[test]
fn two_damaged_repairs_are_put_right_beside_each_other() {
    let (packets, mut repairs) = block(8, 4, 1_200);
    let checks: Vec<u16> = repairs.iter().map(|(_, repair)| repair_check(repair)).collect();
    repairs[0].1[700] ^= 1;
    repairs[1].1[710] ^= 1;
    let mut decoder = PacketDecoder::new(16);
    for (number, packet) in (0..).zip(&packets) {
        // Four packets are wrong at one place, so that they need all four repairs.
        let mut damaged = packet.clone();
        damaged[50] ^= if number < 4 { 0x21 } else { 0 };
        decoder.take_packet(number, &damaged, number < 4);
    }
    for (place, (cover, repair)) in repairs.iter().enumerate() {
        decoder.take_repair(*cover, repair, (place < 2).then_some(checks[place]));
    }
    let made = decoder.solve(is_right);
    assert_eq!(made.len(), 4);
    assert!(are_sent(&made, &packets));
}

#[test]
fn a_repair_that_its_check_rejected_is_not_tried_again() {
    let (packets, mut repairs) = block(8, 6, 1_200);
    let false_check = repair_check(&repairs[0].1) ^ 1;
    repairs[0].1[700] ^= 1;
    let mut decoder = PacketDecoder::new(16);
    for (number, packet) in (0..).zip(&packets) {
        let mut damaged = packet.clone();
        damaged[50] ^= 0x21;
        decoder.take_packet(number, &damaged, true);
    }
    let tried = std::cell::RefCell::new(Vec::new());
    for (place, (cover, repair)) in repairs.iter().enumerate() {
        decoder.take_repair(*cover, repair, (place == 0).then_some(false_check));
        decoder.solve(|made| {
            if let Made::Repair { bytes, .. } = made {
                tried.borrow_mut().push(bytes.to_vec());
            }
            is_right(made)
        });
    }
    let mut tried = tried.into_inner();
    let count = tried.len();
    tried.sort_unstable();
    tried.dedup();
    assert!(count > 0 && tried.len() == count, "{count} trials of {} repairs", tried.len());
}

#[test]
fn a_window_brings_a_lost_packet_back_with_the_next_repair() {
    let mut encoder = PacketEncoder::new(16);
    let mut decoder = PacketDecoder::new(64);
    let packets: Vec<_> = (0..400).map(|n| packet(n, 100 + 3 * n as usize % 200)).collect();
    let mut made = Vec::new();
    for (n, packet) in packets.iter().enumerate() {
        let number = encoder.push(packet);
        // Every fifth is lost; a repair follows every fourth.
        if n % 5 != 2 {
            decoder.take_packet(number, packet, false);
        }
        if n % 4 == 3 {
            let (cover, repair) = encoder.repair().expect("the window has packets");
            decoder.take_repair(cover, &repair, None);
            made.extend(decoder.solve(is_right));
            let lost = (0..=n).filter(|n| n % 5 == 2).count();
            assert_eq!(made.len(), lost, "after {n}");
        }
    }
    assert!(are_sent(&made, &packets));
}

#[test]
fn numbers_may_wrap() {
    let mut decoder = PacketDecoder::new(32);
    let far = [u32::MAX / 2, u32::MAX / 4 * 3, u32::MAX - 20];
    far.into_iter().for_each(|number| decoder.take_packet(number, &packet(0, 9), false));
    let mut encoder = PacketEncoder::new(8);
    encoder.next = u32::MAX - 3;
    let packets: Vec<_> = (0..8).map(|n| packet(n, 20)).collect();
    let numbers: Vec<u32> = packets.iter().map(|packet| encoder.push(packet)).collect();
    assert_eq!(numbers[3..5], [u32::MAX, 0]);
    for place in [0, 1, 3, 5, 6, 7] {
        decoder.take_packet(numbers[place], &packets[place], false);
    }
    let mut made = Vec::new();
    for _ in 0..2 {
        let (cover, repair) = encoder.repair().expect("the window has packets");
        assert!(decoder.take_repair(cover, &repair, None));
        made.extend(decoder.solve(is_right).into_iter().map(|(number, _)| number));
    }
    assert_eq!(made, [numbers[2], numbers[4]]);
}

#[test]
fn sums_are_the_same_with_all_instructions() {
    let packets: Vec<_> = (0..40).map(|n| packet(n, (n * 37) as usize % 1_500)).collect();
    let with = |instructions| {
        let mut encoder = PacketEncoder::new(32).with_instructions(instructions);
        packets.iter().for_each(|packet| {
            encoder.push(packet);
        });
        (0..5).map(|_| encoder.repair().expect("packets")).collect::<Vec<_>>()
    };
    let all = Instructions::available();
    assert!(all.iter().all(|instructions| with(*instructions) == with(Instructions::Plain)));
    // Against the definition.
    let (cover, repair) = &with(Instructions::Plain)[3];
    for at in [0, 1, 700, repair.len() - 1] {
        let sum = cover.numbers().fold(0, |sum, number| {
            let byte = packets[number as usize].get(at).copied().unwrap_or(0);
            sum ^ field().mul(cover.coefficient(number), byte)
        });
        assert_eq!(repair[at], sum, "{at}");
    }
}

proptest! {
    /// A window forgets packets, and nothing of what repairs tell of the others.
    #[test]
    fn a_window_makes_what_all_repairs_so_far_determine(
        covered in 1_usize..9,
        fates in vec((any::<bool>(), 0_u8..4), 1..80),
    ) {
        let mut encoder = PacketEncoder::new(covered);
        let mut decoder = PacketDecoder::new(2 * covered);
        let mut lost = Vec::new();
        let mut equations = Vec::<Cover>::new();
        for (number, (arrives, repair)) in (0_u32..).zip(fates) {
            let sent = packet(number.into(), 10);
            encoder.push(&sent);
            if arrives { decoder.take_packet(number, &sent, false) } else { lost.push(number) }
            if repair < 2 {
                let (cover, bytes) = encoder.repair().expect("it has packets");
                if repair == 0 {
                    decoder.take_repair(cover, &bytes, None);
                    equations.push(cover);
                }
            }
            decoder.solve(is_right);
            let row = |cover: &Cover| {
                let covers = |it: u32| it.wrapping_sub(cover.first) < u32::from(cover.count);
                let of = |it: &u32| if covers(*it) { cover.coefficient(*it) } else { 0 };
                lost.iter().map(of).collect::<Vec<u8>>()
            };
            let known = determined(equations.iter().map(row).collect(), lost.len());
            for (number, is_known) in lost.iter().zip(known) {
                if *number >= decoder.first() && *number < decoder.first() + 2 * covered as u32 {
                    prop_assert_eq!(decoder.has(*number), is_known, "packet {}", number);
                }
            }
        }
    }

    /// Packets that come late or damaged and repairs that do change nothing of that: with damage
    /// at every place of a packet or repair only elimination makes anything.
    #[test]
    fn late_and_damaged_packets_leave_what_repairs_determine(
        covered in 1_usize..40,
        fates in vec((0_u8..6, 0_u8..4, 0_u32..30), 1..120),
    ) {
        let mut encoder = PacketEncoder::new(covered);
        let mut decoder = PacketDecoder::new(256);
        let mut lost = Vec::new();
        let mut equations = Vec::<Cover>::new();
        // Each byte by another value: equal ones may cancel in a sum.
        let mut seed = 1_000;
        let mut spoilt = |bytes: &[u8]| {
            seed += 1;
            let errors = packet(seed, bytes.len()).into_iter().skip(2);
            bytes.iter().zip(errors).map(|(it, error)| it ^ error.max(1)).collect::<Vec<u8>>()
        };
        for (number, (fate, repair, back)) in (0_u32..).zip(fates) {
            let sent = packet(number.into(), 10);
            encoder.push(&sent);
            match fate {
                0 => decoder.take_packet(number, &sent, false),
                1 => decoder.take_packet(number, &spoilt(&sent), true),
                _ => {}
            }
            if fate > 0 {
                lost.push(number);
            }
            // A packet of some time ago comes once more, right or damaged.
            if let Some(late) = number.checked_sub(back).filter(|_| fate > 3) {
                let bytes = packet(late.into(), 10);
                if fate == 4 {
                    decoder.take_packet(late, &bytes, false);
                    lost.retain(|it| *it != late);
                } else if !decoder.has(late) {
                    decoder.take_packet(late, &spoilt(&bytes), true);
                }
            }
            if repair < 3 {
                let (cover, bytes) = encoder.repair().expect("it has packets");
                match repair {
                    0 | 1 => {
                        decoder.take_repair(cover, &bytes, None);
                        equations.push(cover);
                    }
                    _ => {
                        let check = repair_check(&bytes);
                        decoder.take_repair(cover, &spoilt(&bytes), Some(check));
                    }
                }
            }
            decoder.solve(is_right);
            let row = |cover: &Cover| {
                let covers = |it: u32| it.wrapping_sub(cover.first) < u32::from(cover.count);
                let of = |it: &u32| if covers(*it) { cover.coefficient(*it) } else { 0 };
                lost.iter().map(of).collect::<Vec<u8>>()
            };
            let known = determined(equations.iter().map(row).collect(), lost.len());
            for (number, is_known) in lost.iter().zip(known) {
                prop_assert_eq!(decoder.has(*number), is_known, "packet {}", number);
            }
        }
    }

    #[test]
    fn any_losses_up_to_the_repairs_are_made_good(
        count in 1..=40_usize,
        repairs in 1..=20_usize,
        lost in btree_set(0..60_usize, 0..=20),
        len in 0..200_usize,
    ) {
        let (packets, repairs) = block(count, repairs, len);
        let lost: Vec<usize> = lost.into_iter().filter(|n| *n < count + repairs.len()).collect();
        let mut decoder = PacketDecoder::new(2 * count);
        for (number, packet) in packets.iter().enumerate().filter(|(n, _)| !lost.contains(n)) {
            decoder.take_packet(number as u32, packet, false);
        }
        let here = repairs.iter().enumerate().filter(|(n, _)| !lost.contains(&(count + n)));
        let mut made = Vec::new();
        for (_, (cover, repair)) in here {
            decoder.take_repair(*cover, repair, None);
            made.extend(decoder.solve(is_right));
        }
        let missing = lost.iter().filter(|n| **n < count).count();
        let expected = if lost.len() <= repairs.len() { missing } else { 0 };
        prop_assert_eq!(made.len(), expected);
        prop_assert!(are_sent(&made, &packets));
    }

    /// Packets that are made are right, whatever is lost or damaged.
    #[test]
    fn nothing_false_is_made(
        fates in vec((0..4_u8, any::<u16>()), 60),
        window in 1..=16_usize,
    ) {
        let mut encoder = PacketEncoder::new(window);
        let mut decoder = PacketDecoder::new(2 * window);
        let packets: Vec<_> = (0..60).map(|n| packet(n, 60)).collect();
        for (packet, (fate, place)) in packets.iter().zip(fates) {
            let number = encoder.push(packet);
            let mut bytes = packet.clone();
            let at = usize::from(place) % bytes.len();
            bytes[at] ^= if fate > 1 { 0x40 } else { 0 };
            if fate > 0 {
                decoder.take_packet(number, &bytes, fate > 1);
            }
            if number % 3 == 2 {
                let (cover, mut repair) = encoder.repair().expect("packets");
                let at = usize::from(place) % repair.len();
                let check = repair_check(&repair);
                repair[at] ^= if fate == 3 { 1 } else { 0 };
                decoder.take_repair(cover, &repair, (fate == 3).then_some(check));
                for (number, made) in decoder.solve(is_right) {
                    prop_assert!(same(&made, &packets[number as usize]));
                }
            }
        }
    }

    #[test]
    fn anything_is_taken_without_panic(
        things in vec(
            (any::<u32>(), 0..300_u16, any::<u8>(), 0..4_u8, vec(any::<u8>(), 0..80)),
            0..40,
        ),
        window in 0..200_usize,
    ) {
        let mut decoder = PacketDecoder::new(window);
        for (number, count, row, kind, bytes) in things {
            // Near the window as well as anywhere.
            let near = decoder.first().wrapping_add(number % 300);
            let number = if kind & 2 == 0 { number } else { near };
            if kind & 1 == 0 {
                decoder.take_packet(number, &bytes, row & 1 == 1);
            } else {
                let cover = Cover { first: number, count: count as u8, row };
                decoder.take_repair(cover, &bytes, (row & 1 == 1).then_some(7));
            }
            let _ = decoder.solve(|made| match made {
                Made::Packet(bytes) => bytes.first() == Some(&7),
                Made::Repair { bytes, check } => bytes.len() % 8 == usize::from(check),
            });
            prop_assert!(decoder.packets.len() <= window.max(1));
            prop_assert!(decoder.equations.len() <= window.max(1) + 128);
        }
    }
}

/// A window over a channel that loses this share of everything: the numbers of the packets that
/// were made again, and the calls that made none.
fn window_made(lost: u64, packets: u32, seed: u64) -> (Vec<u32>, usize) {
    let mut encoder = PacketEncoder::new(128);
    let mut decoder = PacketDecoder::new(256);
    let mut state = seed;
    let mut is_lost = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % 100 < lost
    };
    let mut made = Vec::new();
    let mut idle = 0;
    for number in 0..packets {
        let bytes = packet(u64::from(number), 100);
        encoder.push(&bytes);
        if !is_lost() {
            decoder.take_packet(number, &bytes, false);
        }
        if number % 2 == 1
            && let Some((cover, repair)) = encoder.repair()
            && !is_lost()
        {
            decoder.take_repair(cover, &repair, None);
        }
        let new = decoder.solve(is_right);
        idle += usize::from(new.is_empty());
        made.extend(new.into_iter().map(|(number, _)| number));
    }
    (made, idle)
}

#[test]
fn a_window_makes_what_it_can_and_where_it_cannot_it_takes_no_harm() {
    // A third of what is sent is repairs: they mend a loss of a quarter, and nearly none of 60 %.
    let made = |lost| (0..10).map(|seed| window_made(lost, 1_000, seed)).collect::<Vec<_>>();
    let all: usize = made(25).iter().map(|(made, _)| made.len()).sum();
    assert!(all > 2_450, "{all} of about 2500");
    let idle: usize = made(60).iter().map(|(_, idle)| idle).sum();
    assert!(idle > 9_900, "{idle} of 10000");
}

#[test]
fn of_many_equations_sums_are_examined_that_have_all_columns() {
    let mut equations = Equations::new(64);
    for number in 0..40 {
        equations.set_damaged(number);
        let mut terms = vec![0; equations.head() + LANES];
        terms[equations.column(number)] = 1;
        assert!(equations.insert(terms));
    }
    let sums = equations.of_damaged();
    assert_eq!(sums.len(), 32);
    assert!(sums.iter().all(|sum| sum[..40].iter().all(|coefficient| *coefficient != 0)));
}
