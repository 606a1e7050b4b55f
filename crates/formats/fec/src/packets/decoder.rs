//! The receiving side: the last packets, repairs of them, and what follows from both.

use std::collections::VecDeque;

use super::columns;
use super::equations::{Equations, widen};
use super::{Cover, MOST_COVERED, add_products, pad};
use crate::lanes::{Instructions, LANES};

/// The longest packet, in bytes.
const LONGEST: usize = 1 << 17;
/// The largest window, in packets.
const LARGEST: usize = 32 * MOST_COVERED;

/// Times at most that a repair is held to its check: it is short, and each may be passed by chance.
const MOST_TRIALS: u8 = 64;

/// A packet of the window.
#[derive(Clone, Debug)]
pub(super) enum Packet {
    /// It has not come.
    Missing,
    /// It came, and its check rejected it.
    Damaged(Vec<u8>),
    /// It is right; zeros fill the last lanes.
    Good(Vec<u8>),
}

/// A packet or repair that a decoder has made, to be held to a check by its caller.
#[derive(Clone, Copy, Debug)]
pub enum Made<'a> {
    /// A packet, with zeros behind it.
    Packet(&'a [u8]),
    /// A repair that came damaged.
    Repair {
        /// The repair, as long as it came.
        bytes: &'a [u8],
        /// Its check, as the caller gave it.
        check: u16,
    },
}

/// A repair that came damaged and may still be put right.
#[derive(Clone, Debug)]
struct DamagedRepair {
    /// The column of what is wrong with it.
    column: usize,
    /// As it came.
    bytes: Vec<u8>,
    check: u16,
    /// The candidates that were last held to the check: of each round both candidates.
    tried: [Vec<u8>; 2],
    trials: u8,
}

/// A packet or repair that came damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Suspect {
    Packet(u32),
    /// By the column of what is wrong with it.
    Repair(usize),
}

/// Makes missing packets again and puts damaged ones right.
///
/// Its caller knows by a check of the packets, such as a CRC, which are right. It keeps its window,
/// an equation for each packet of it at most, and 128 damaged repairs.
#[derive(Clone, Debug)]
pub struct PacketDecoder {
    window: usize,
    /// The number of the first packet of the window.
    first: u32,
    pub(super) packets: VecDeque<Packet>,
    pub(super) equations: Equations,
    repairs: Vec<DamagedRepair>,
}

impl PacketDecoder {
    /// A decoder that keeps the last `window` packets, 1 to 4096; other windows count as the
    /// nearest of these.
    #[must_use]
    pub fn new(window: usize) -> Self {
        let window = window.clamp(1, LARGEST);
        let packets = VecDeque::new();
        let equations = Equations::new(window);
        Self { window, first: 0, packets, equations, repairs: Vec::new() }
    }

    /// Selects other instructions for the decoder, if this processor has them.
    #[must_use]
    pub fn with_instructions(mut self, instructions: Instructions) -> Self {
        if Instructions::available().contains(&instructions) {
            self.equations.instructions = instructions;
        }
        self
    }

    /// Returns the number of the first packet that is kept.
    #[must_use]
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Returns `true` if a packet is known to be right.
    #[must_use]
    pub fn has(&self, number: u32) -> bool {
        matches!(self.packet(number), Some(Packet::Good(_)))
    }

    /// Takes a packet. One that is older than the window, or came undamaged before, is ignored.
    pub fn take_packet(&mut self, number: u32, packet: &[u8], is_damaged: bool) {
        let Some(place) = self.reach(number).filter(|_| packet.len() <= LONGEST) else { return };
        let known = &mut self.packets[place];
        if matches!(known, Packet::Good(_)) {
            return;
        }
        let bytes = pad(packet.to_vec());
        if is_damaged {
            *known = Packet::Damaged(bytes);
            self.equations.set_damaged(number);
        } else {
            self.equations.know(number, &bytes);
            *known = Packet::Good(bytes);
        }
    }

    /// Takes a repair; returns `true` if it is of use, so that [`solve`](Self::solve) should
    /// follow. A damaged one comes with the check by which `solve` asks if it was put right.
    pub fn take_repair(&mut self, cover: Cover, repair: &[u8], damaged: Option<u16>) -> bool {
        if !cover.is_legal() || usize::from(cover.count) > self.window || repair.len() > LONGEST {
            return false;
        }
        let last = cover.first.wrapping_add(u32::from(cover.count) - 1);
        if self.reach(last).is_none() || self.place(cover.first).is_none() {
            return false;
        }
        if cover.numbers().all(|number| self.has(number)) {
            return false;
        }
        let head = self.equations.head();
        let instructions = self.equations.instructions;
        let mut terms = vec![0; head];
        if let Some(check) = damaged {
            let column = self.equations.begin_error();
            terms[column] = 1;
            self.repairs.retain(|it| it.column != column && self.equations.has(it.column));
            let bytes = repair.to_vec();
            let tried = [repair.to_vec(), Vec::new()];
            self.repairs.push(DamagedRepair { column, bytes, check, tried, trials: 0 });
        }
        terms.extend(pad(repair.to_vec()));
        let mut right: Vec<(u8, &[u8])> = Vec::with_capacity(cover.count.into());
        for number in cover.numbers() {
            let factor = cover.coefficient(number);
            match self.packet(number) {
                Some(Packet::Good(bytes)) => right.push((factor, bytes)),
                _ => terms[self.equations.column(number)] = factor,
            }
        }
        let longest = right.iter().map(|(_, bytes)| bytes.len()).max().unwrap_or(0);
        widen(&mut terms, head + longest);
        add_products(instructions, &mut terms[head..], &right);
        self.equations.insert(terms)
    }

    /// Makes what can be made of the packets that are missing or damaged; returns each that
    /// `is_right`, with its number and zeros behind it. A damaged repair that was put right counts
    /// as one that came right. A call that follows on no news costs nothing.
    pub fn solve(&mut self, is_right: impl Fn(Made<'_>) -> bool) -> Vec<(u32, Vec<u8>)> {
        let mut made = Vec::new();
        while self.equations.is_changed() {
            let mut determined = self.equations.determined();
            determined.sort_unstable_by_key(|(column, _)| self.ahead(*column));
            for (column, packet) in determined {
                if is_right(Made::Packet(&packet)) {
                    let number = self.first.wrapping_add(self.ahead(column));
                    self.settle(number, packet, &mut made);
                }
            }
            self.correct(&is_right, &mut made);
        }
        made
    }

    /// Puts damaged packets and repairs right column by column.
    fn correct(&mut self, is_right: &impl Fn(Made<'_>) -> bool, made: &mut Vec<(u32, Vec<u8>)>) {
        if self.repairs.is_empty()
            && !self.packets.iter().any(|packet| matches!(packet, Packet::Damaged(_)))
        {
            return;
        }
        let equations = self.equations.of_damaged();
        let damaged = self.suspects(&equations);
        let left = self.left_over(&equations, &damaged);
        let columns = damaged.iter().map(|(suspect, _)| self.column_of(*suspect));
        let suspects: Vec<Vec<u8>> =
            columns.map(|column| equations.iter().map(|terms| terms[column]).collect()).collect();
        for ((suspect, bytes), wrong) in damaged.iter().zip(columns::examine(&left, &suspects)) {
            for candidate in wrong.candidates(bytes) {
                let is_made = match *suspect {
                    Suspect::Packet(number) if is_right(Made::Packet(&candidate)) => {
                        self.settle(number, candidate, made);
                        true
                    }
                    Suspect::Packet(_) => false,
                    Suspect::Repair(column) => self.try_repair(column, &candidate, is_right),
                };
                if is_made {
                    break;
                }
            }
        }
    }

    /// The damaged packets and repairs of which equations tell, as they came: the packets first.
    fn suspects(&self, equations: &[Vec<u8>]) -> Vec<(Suspect, Vec<u8>)> {
        let packets = (0..).map(|at| self.first.wrapping_add(at)).zip(&self.packets);
        let packets = packets.filter_map(|(number, packet)| match packet {
            Packet::Damaged(bytes) => Some((Suspect::Packet(number), bytes)),
            Packet::Missing | Packet::Good(_) => None,
        });
        let repairs = self.repairs.iter().map(|it| (Suspect::Repair(it.column), &it.bytes));
        let has = |suspect: Suspect| {
            let column = self.column_of(suspect);
            equations.iter().any(|terms| terms[column] != 0)
        };
        packets
            .chain(repairs)
            .filter(|(suspect, _)| has(*suspect))
            .map(|(suspect, bytes)| (suspect, bytes.clone()))
            .collect()
    }

    fn column_of(&self, suspect: Suspect) -> usize {
        match suspect {
            Suspect::Packet(number) => self.equations.column(number),
            Suspect::Repair(column) => column,
        }
    }

    /// Holds a repair to its check; a right one is a repair like those that came right.
    fn try_repair(
        &mut self,
        column: usize,
        bytes: &[u8],
        is_right: &impl Fn(Made<'_>) -> bool,
    ) -> bool {
        let Some(place) = self.repairs.iter().position(|it| it.column == column) else {
            return false;
        };
        let repair = &mut self.repairs[place];
        if repair.trials == MOST_TRIALS || repair.tried.iter().any(|it| it == bytes) {
            return false;
        }
        repair.trials += 1;
        if !is_right(Made::Repair { bytes, check: repair.check }) {
            repair.tried.rotate_right(1);
            repair.tried[0] = bytes.to_vec();
            return false;
        }
        let wrong = bytes.iter().zip(&repair.bytes).map(|(right, came)| right ^ came);
        self.equations.explain_error(column, &pad(wrong.collect()));
        self.repairs.swap_remove(place);
        true
    }

    /// The sums of equations that would be zero if no damaged packet were wrong.
    fn left_over(&self, equations: &[Vec<u8>], damaged: &[(Suspect, Vec<u8>)]) -> Vec<Vec<u8>> {
        let longest = damaged.iter().map(|(_, bytes)| bytes.len()).max().unwrap_or(0);
        let longest = longest.next_multiple_of(LANES);
        let of_row = |terms: &Vec<u8>| {
            let mut sum = terms[self.equations.head()..].to_vec();
            widen(&mut sum, longest);
            // The sum has the repairs as they came.
            let packets = damaged.iter().filter_map(|(suspect, bytes)| match suspect {
                Suspect::Packet(number) => {
                    Some((terms[self.equations.column(*number)], &bytes[..]))
                }
                Suspect::Repair(_) => None,
            });
            let packets: Vec<(u8, &[u8])> = packets.filter(|(factor, _)| *factor != 0).collect();
            add_products(self.equations.instructions, &mut sum, &packets);
            sum
        };
        equations.iter().map(of_row).collect()
    }

    /// A packet is right: it is kept and reported.
    fn settle(&mut self, number: u32, packet: Vec<u8>, made: &mut Vec<(u32, Vec<u8>)>) {
        if let Some(place) = self.place(number) {
            self.equations.know(number, &packet);
            self.packets[place] = Packet::Good(packet.clone());
            made.push((number, packet));
        }
    }

    /// The place in the window of the packet that has a column.
    fn ahead(&self, column: usize) -> u32 {
        let ahead = column.wrapping_sub(self.equations.column(self.first));
        self.equations.column(ahead as u32) as u32
    }

    fn packet(&self, number: u32) -> Option<&Packet> {
        self.packets.get(number.wrapping_sub(self.first) as usize)
    }

    /// The place of a packet in the window, if it is there.
    fn place(&self, number: u32) -> Option<usize> {
        let place = number.wrapping_sub(self.first) as usize;
        (place < self.packets.len()).then_some(place)
    }

    /// The place of a packet, for which the window moves on if need be; `None` if the packet is
    /// older than the window.
    fn reach(&mut self, number: u32) -> Option<usize> {
        let ahead = number.wrapping_sub(self.first);
        if ahead > u32::MAX / 2 {
            return None;
        }
        let beyond = (ahead as usize + 1).saturating_sub(self.window);
        let leaving = beyond.min(self.packets.len());
        for _ in 0..leaving {
            self.packets.pop_front();
            self.equations.leave(self.first);
            self.first = self.first.wrapping_add(1);
        }
        self.first = self.first.wrapping_add((beyond - leaving) as u32);
        let place = ahead as usize - beyond;
        if place >= self.packets.len() {
            self.packets.resize_with(place + 1, || Packet::Missing);
        }
        Some(place)
    }
}
