//! The receiving side: the last packets, repairs of them, and what follows from both.

use std::collections::{BTreeMap, VecDeque};

use super::columns::{self, Wrong};
use super::matrix::{Matrix, Row};
use super::{Cover, add_products, pad};
use crate::lanes::{Instructions, LANES};

/// Repairs kept at most, all of those that a block has; the oldest gives way. This bounds the work
/// that a repair can cause.
const MOST_REPAIRS: usize = 128;
/// Sums of equations at most by which columns are examined, the newest: three say which two bytes
/// of a column are wrong, and the others confirm it.
const MOST_ROWS: usize = 32;
/// The longest packet, in bytes.
const LONGEST: usize = 1 << 17;

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

/// A repair that may still be of use.
#[derive(Clone, Debug)]
pub(super) struct Repair {
    /// The packets that it was made of; unset once another repair was added to it.
    cover: Option<Cover>,
    /// The repair, less the products of the packets that were right when this was last of use.
    sum: Vec<u8>,
    /// The packets that are not subtracted from the sum, in their order, and their coefficients.
    open: Vec<(u32, u8)>,
    is_damaged: bool,
}

/// Makes missing packets again and puts damaged ones right.
///
/// Its caller knows by a check of the packets, such as a CRC, which are right.
#[derive(Clone, Debug)]
pub struct PacketDecoder {
    window: usize,
    instructions: Instructions,
    /// The number of the first packet of the window.
    first: u32,
    pub(super) packets: VecDeque<Packet>,
    pub(super) repairs: VecDeque<Repair>,
}

impl PacketDecoder {
    /// A decoder that keeps the last `window` packets.
    #[must_use]
    pub fn new(window: usize) -> Self {
        Self {
            window: window.max(1),
            instructions: Instructions::detect(),
            first: 0,
            packets: VecDeque::new(),
            repairs: VecDeque::new(),
        }
    }

    /// The same decoder with other instructions, if this processor has them.
    #[must_use]
    pub fn with_instructions(mut self, instructions: Instructions) -> Self {
        if Instructions::available().contains(&instructions) {
            self.instructions = instructions;
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
        *known = if is_damaged { Packet::Damaged(bytes) } else { Packet::Good(bytes) };
    }

    /// Takes a repair; returns `true` if it may be of use, so that [`solve`](Self::solve) should
    /// follow.
    pub fn take_repair(&mut self, cover: Cover, repair: &[u8], is_damaged: bool) -> bool {
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
        if self.repairs.len() == MOST_REPAIRS {
            self.repairs.pop_front();
        }
        let open = cover.numbers().map(|number| (number, cover.coefficient(number))).collect();
        let (cover, sum) = (Some(cover), pad(repair.to_vec()));
        self.repairs.push_back(Repair { cover, sum, open, is_damaged });
        true
    }

    /// Makes what can be made of the packets that are missing or damaged; returns each that
    /// `is_right`, with its number and zeros behind it.
    pub fn solve(&mut self, is_right: impl Fn(&[u8]) -> bool) -> Vec<(u32, Vec<u8>)> {
        let mut made = Vec::new();
        loop {
            self.forget_used();
            let before = made.len();
            self.fill(&is_right, &mut made);
            if made.len() == before {
                self.correct(&is_right, &mut made);
            }
            if made.len() == before {
                return made;
            }
        }
    }

    /// Forgets repairs of packets all of which are known.
    fn forget_used(&mut self) {
        let Self { repairs, packets, first, .. } = self;
        let known = |number: &u32| packets.get(number.wrapping_sub(*first) as usize);
        let is_good = |number: &u32| matches!(known(number), Some(Packet::Good(_)));
        repairs.retain(|repair| !repair.open.iter().all(|(number, _)| is_good(number)));
    }

    /// Makes packets anew, whether they are missing or damaged.
    fn fill(&mut self, is_right: &impl Fn(&[u8]) -> bool, made: &mut Vec<(u32, Vec<u8>)>) {
        let equations: Vec<usize> =
            (0..self.repairs.len()).filter(|place| !self.repairs[*place].is_damaged).collect();
        let unknown = self.unknown(&equations, |packet| !matches!(packet, Packet::Good(_)));
        // Of a window even a few may determine one: no shorter look than elimination is exact.
        if unknown.is_empty() || (equations.len() < unknown.len() && self.is_block(&equations)) {
            return;
        }
        let mut matrix = Matrix::new(self.coefficients(&equations, &unknown));
        let rank = matrix.reduce(unknown.len());
        let solved = matrix.rows()[..rank].iter();
        let solved: Vec<(usize, &Row)> =
            solved.filter_map(|row| Some((row.only_unknown()?, row))).collect();
        if solved.is_empty() {
            return;
        }
        equations.iter().for_each(|place| self.subtract(*place));
        for (place, row) in solved {
            let packet = self.sum_of(&equations, row);
            if is_right(&packet) {
                self.settle(unknown[place], packet, made);
            }
        }
    }

    /// Puts damaged packets right column by column.
    fn correct(&mut self, is_right: &impl Fn(&[u8]) -> bool, made: &mut Vec<(u32, Vec<u8>)>) {
        let equations: Vec<usize> = (0..self.repairs.len()).collect();
        let damaged = self.unknown(&equations, |packet| matches!(packet, Packet::Damaged(_)));
        if damaged.is_empty() {
            return;
        }
        let missing = self.unknown(&equations, |packet| matches!(packet, Packet::Missing));
        if !self.may_confirm(&equations, &missing) {
            return;
        }
        let mut matrix = Matrix::new(self.coefficients(&equations, &missing));
        let rank = matrix.reduce(missing.len());
        let rows = &matrix.rows()[rank..];
        let rows = &rows[rows.len().saturating_sub(MOST_ROWS)..];
        if rows.is_empty() {
            return;
        }
        equations.iter().for_each(|place| self.subtract(*place));
        let factors = self.factors_of(&equations, rows, &damaged);
        let left = self.left_over(&equations, &damaged, (rows, &factors));
        let suspects = self.suspects(&equations, damaged.len(), (rows, &factors));
        for (number, packet) in self.corrected(&damaged, &left, &suspects) {
            if is_right(&packet) {
                self.settle(number, packet, made);
            }
        }
    }

    /// The coefficient of each packet in each row.
    fn factors_of(&self, equations: &[usize], rows: &[Row], numbers: &[u32]) -> Vec<Vec<u8>> {
        let own = self.coefficients(equations, numbers);
        let field = super::field();
        let of_row = |row: &Row| {
            let mut sums = vec![0; numbers.len()];
            for (factor, own) in row.factors.iter().zip(&own).filter(|(factor, _)| **factor != 0) {
                sums.iter_mut().zip(own).for_each(|(sum, it)| *sum ^= field.mul(*factor, *it));
            }
            sums
        };
        rows.iter().map(of_row).collect()
    }

    /// The sums of equations that would be zero if no damaged packet were wrong.
    fn left_over(
        &self,
        equations: &[usize],
        damaged: &[u32],
        (rows, factors): (&[Row], &[Vec<u8>]),
    ) -> Vec<Vec<u8>> {
        let packets: Vec<&[u8]> = damaged
            .iter()
            .map(|number| match self.packet(*number) {
                Some(Packet::Damaged(bytes)) => &bytes[..],
                _ => &[],
            })
            .collect();
        let longest = packets.iter().map(|bytes| bytes.len()).max().unwrap_or(0);
        let of_row = |(row, factors): (&Row, &Vec<u8>)| {
            let mut sum = self.sum_of(equations, row);
            widen(&mut sum, longest);
            let terms = factors.iter().copied().zip(packets.iter().copied());
            let terms: Vec<(u8, &[u8])> = terms.filter(|(factor, _)| *factor != 0).collect();
            add_products(self.instructions, &mut sum, &terms);
            sum
        };
        rows.iter().zip(factors).map(of_row).collect()
    }

    /// The coefficients of damaged packets, and behind them of damaged repairs, in each row.
    fn suspects(
        &self,
        equations: &[usize],
        damaged: usize,
        (rows, factors): (&[Row], &[Vec<u8>]),
    ) -> Vec<Vec<u8>> {
        let packets = (0..damaged).map(|at| factors.iter().map(|row| row[at]).collect());
        let is_damaged = |place: &usize| self.repairs[equations[*place]].is_damaged;
        let repairs = (0..equations.len()).filter(is_damaged);
        let repairs = repairs.map(|place| rows.iter().map(|row| row.factors[place]).collect());
        packets.chain(repairs).collect()
    }

    /// The damaged packets with the wrong bytes put right that the columns tell of.
    fn corrected(
        &self,
        damaged: &[u32],
        left: &[Vec<u8>],
        suspects: &[Vec<u8>],
    ) -> Vec<(u32, Vec<u8>)> {
        let longest = left.iter().map(Vec::len).max().unwrap_or(0);
        let mut packets: Vec<(u32, Vec<u8>)> = Vec::new();
        for number in damaged {
            if let Some(Packet::Damaged(bytes)) = self.packet(*number) {
                packets.push((*number, bytes.clone()));
            }
        }
        let mut column = vec![0; left.len()];
        for at in 0..longest {
            let bytes = left.iter().map(|sum| sum.get(at).copied().unwrap_or(0));
            column.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
            let wrong: Vec<Wrong> = columns::explain(&column, suspects).unwrap_or_default();
            for (suspect, value) in wrong {
                let byte = packets.get_mut(suspect).and_then(|(_, bytes)| bytes.get_mut(at));
                byte.into_iter().for_each(|byte| *byte ^= value);
            }
        }
        packets
    }

    /// A packet is right: it is kept and reported.
    fn settle(&mut self, number: u32, packet: Vec<u8>, made: &mut Vec<(u32, Vec<u8>)>) {
        if let Some(place) = self.place(number) {
            self.packets[place] = Packet::Good(packet.clone());
            made.push((number, packet));
        }
    }

    /// Returns `true` if all equations are of one block, so that they tell nothing of its packets
    /// as long as they are fewer than those that are unknown.
    fn is_block(&self, equations: &[usize]) -> bool {
        let covers = equations.iter().map(|place| self.repairs[*place].cover);
        let mut blocks = covers.map(|cover| cover.map(|it| (it.first, it.count)));
        let first = blocks.next().flatten();
        first.is_some() && blocks.all(|block| block == first)
    }

    /// Tells whether among the missing packets there are some in a row which more equations are
    /// about, and no others, or an equation is about none. Where there are none, no sum of
    /// equations is free of missing packets, but for a chance of coefficients that occurs once in
    /// some hundred: elimination, whose work grows with the cube of their number, is not worth it
    /// for packets of which a damaged copy is there.
    fn may_confirm(&self, equations: &[usize], missing: &[u32]) -> bool {
        let at = |number: u32| number.wrapping_sub(self.first);
        let mut places = vec![usize::MAX; self.packets.len()];
        for (place, number) in missing.iter().enumerate() {
            if let Some(known) = places.get_mut(at(*number) as usize) {
                *known = place;
            }
        }
        // The first and the last missing packet of each equation.
        let mut spans: Vec<(usize, usize)> = Vec::with_capacity(equations.len());
        for place in equations {
            let open = &self.repairs[*place].open;
            let about = open.iter().map(|(number, _)| places.get(at(*number) as usize));
            let mut about = about.flatten().filter(|place| **place != usize::MAX);
            let Some(first) = about.next() else { return true };
            spans.push((*first, *about.next_back().unwrap_or(first)));
        }
        spans.sort_unstable_by_key(|(_, last)| *last);
        spans.iter().any(|(begin, _)| {
            let within = spans.iter().filter(|(first, _)| first >= begin);
            (1..).zip(within).any(|(count, (_, end))| *end + 2 <= begin + count)
        })
    }

    /// Subtracts from a repair the packets that are known.
    fn subtract(&mut self, place: usize) {
        let Self { repairs, packets, first, instructions, .. } = self;
        let Repair { sum, open, .. } = &mut repairs[place];
        let good = |number: u32| match packets.get(number.wrapping_sub(*first) as usize) {
            Some(Packet::Good(bytes)) => Some(&bytes[..]),
            _ => None,
        };
        let known = open.iter().filter_map(|(number, factor)| Some((*factor, good(*number)?)));
        let terms: Vec<(u8, &[u8])> = known.collect();
        widen(sum, terms.iter().map(|(_, bytes)| bytes.len()).max().unwrap_or(0));
        add_products(*instructions, sum, &terms);
        open.retain(|(number, _)| good(*number).is_none());
    }

    /// The numbers of the packets that the equations cover and `chosen` chooses, in order.
    fn unknown(&self, equations: &[usize], chosen: impl Fn(&Packet) -> bool) -> Vec<u32> {
        let mut is_covered = vec![false; self.packets.len()];
        for (number, _) in equations.iter().flat_map(|place| &self.repairs[*place].open) {
            if let Some(place) = self.place(*number) {
                is_covered[place] = true;
            }
        }
        let places = (0..self.packets.len())
            .filter(|place| is_covered[*place] && chosen(&self.packets[*place]));
        places.map(|place| self.first.wrapping_add(place as u32)).collect()
    }

    /// The coefficients of unknown packets in each equation.
    fn coefficients(&self, equations: &[usize], unknown: &[u32]) -> Vec<Vec<u8>> {
        let row = |place: &usize| unknown.iter().map(|it| self.coefficient(*place, *it)).collect();
        equations.iter().map(row).collect()
    }

    /// The coefficient of a packet in the equation of a repair; zero if it does not cover it.
    fn coefficient(&self, place: usize, number: u32) -> u8 {
        self.repairs[place].coefficient(number, self.first)
    }

    /// The sum of the repairs by the factors of a row.
    fn sum_of(&self, equations: &[usize], row: &Row) -> Vec<u8> {
        let terms = equations.iter().zip(&row.factors).filter(|(_, factor)| **factor != 0);
        let terms: Vec<(u8, &[u8])> =
            terms.map(|(place, factor)| (*factor, &self.repairs[*place].sum[..])).collect();
        let longest = terms.iter().map(|(_, sum)| sum.len()).max().unwrap_or(0);
        let mut sum = vec![0; longest];
        add_products(self.instructions, &mut sum, &terms);
        sum
    }

    fn packet(&self, number: u32) -> Option<&Packet> {
        self.packets.get(number.wrapping_sub(self.first) as usize)
    }

    /// The place of a packet in the window, if it is there.
    fn place(&self, number: u32) -> Option<usize> {
        let place = number.wrapping_sub(self.first) as usize;
        (place < self.packets.len()).then_some(place)
    }

    /// The first packet leaves the window. What the repairs tell of the others stays: where it is
    /// right it is subtracted from them, else one of them is spent to rid the others of it.
    fn leave(&mut self) {
        let (number, instructions) = (self.first, self.instructions);
        let Some(packet) = self.packets.pop_front() else { return };
        if let Packet::Good(bytes) = packet {
            for repair in &mut self.repairs {
                let factor = repair.coefficient(number, number);
                if factor != 0 {
                    widen(&mut repair.sum, bytes.len());
                    add_products(instructions, &mut repair.sum, &[(factor, &bytes)]);
                    repair.open.remove(0);
                }
            }
        } else {
            let covers = |repair: &&Repair| repair.coefficient(number, number) != 0;
            let spent = self.repairs.iter().filter(covers).min_by_key(|it| it.is_damaged).cloned();
            if let Some(spent) = spent {
                self.repairs.retain(|it| it.open != spent.open);
                for repair in &mut self.repairs {
                    repair.rid_of(number, &spent, instructions);
                }
            }
        }
        self.first = number.wrapping_add(1);
        self.repairs.retain(|repair| !repair.open.is_empty());
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
        (0..leaving).for_each(|_| self.leave());
        self.first = self.first.wrapping_add((beyond - leaving) as u32);
        let place = ahead as usize - beyond;
        if place >= self.packets.len() {
            self.packets.resize_with(place + 1, || Packet::Missing);
        }
        Some(place)
    }
}

impl Repair {
    /// The coefficient of a packet, where the window begins with packet `first`.
    fn coefficient(&self, number: u32, first: u32) -> u8 {
        let place = |number: u32| number.wrapping_sub(first);
        let found = self.open.binary_search_by_key(&place(number), |(it, _)| place(*it));
        found.map_or(0, |at| self.open[at].1)
    }

    /// Adds as much of another repair as cancels the first packet of the window, which it covers.
    fn rid_of(&mut self, first: u32, other: &Self, instructions: Instructions) {
        let own = self.coefficient(first, first);
        let Some(factor) = super::field().div(own, other.coefficient(first, first)) else { return };
        if factor == 0 {
            return;
        }
        widen(&mut self.sum, other.sum.len());
        add_products(instructions, &mut self.sum, &[(factor, &other.sum)]);
        let mut open = BTreeMap::new();
        for (number, own) in &self.open {
            open.insert(number.wrapping_sub(first), (*number, *own));
        }
        for (number, its) in &other.open {
            let place = open.entry(number.wrapping_sub(first)).or_insert((*number, 0));
            place.1 ^= super::field().mul(factor, *its);
        }
        self.open = open.into_values().filter(|(_, factor)| *factor != 0).collect();
        (self.cover, self.is_damaged) = (None, self.is_damaged | other.is_damaged);
    }
}

/// Appends zeros up to `len` bytes, a number of whole lanes.
fn widen(bytes: &mut Vec<u8>, len: usize) {
    debug_assert!(len.is_multiple_of(LANES));
    if bytes.len() < len {
        bytes.resize(len, 0);
    }
}
