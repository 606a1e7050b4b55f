//! The entropy-coded data of a JPEG, counted: whether its scans hold all blocks of its frame.
//!
//! A file that was cut may be closed by an end of image, and decoders fill up what is missing in
//! silence. Huffman codes are read here without their coefficients (ITU-T T.81, annexes F and G).

use super::{ALONE, EOI, SOI, SOS, entropy_coded};

const DHT: u8 = 0xc4;
const DRI: u8 = 0xdd;
const SOF2: u8 = 0xc2;
/// The frames whose scans are read: baseline, extended sequential and progressive.
const FRAMES: core::ops::RangeInclusive<u8> = 0xc0..=SOF2;
/// Coefficients of a block.
const COEFFICIENTS: usize = 64;

/// The reason for which the reading of a scan ends before all of its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The data end.
    Data,
    /// They hold what no encoder writes: they are damaged, or of a kind that is not known here.
    Sense,
}

/// Returns whether a scan of the file ends before its last block, or bits that scans of a component
/// leave to others never come, or a component has none. A file whose codes are damaged is not cut.
pub(crate) fn lacks_blocks(bytes: &[u8]) -> bool {
    let Some(reader) = Reader::read(bytes) else { return false };
    reader.is_cut
}

/// A component of the frame.
#[derive(Clone, Debug)]
struct Component {
    id: u8,
    /// Its blocks in each direction of a unit of interleaved scans.
    sampling: (usize, usize),
    /// Its blocks in each direction.
    blocks: (usize, usize),
    /// Blocks of a row, with those that fill the last unit.
    row: usize,
    /// The coefficients that are not zero, a bit each; only progressive frames need them.
    nonzero: Vec<u64>,
    /// The bits of each coefficient that further scans bring.
    due: [u8; COEFFICIENTS],
    is_coded: bool,
}

/// A frame with its units of interleaved scans in each direction.
#[derive(Clone, Debug)]
struct Frame {
    is_progressive: bool,
    units: (usize, usize),
    components: Vec<Component>,
}

/// A Huffman table by the lengths of its codes.
#[derive(Clone, Debug, Default)]
struct Table {
    counts: [u16; 16],
    symbols: Vec<u8>,
}

#[derive(Debug, Default)]
struct Reader {
    /// Tables of DC and of AC coefficients.
    tables: [[Table; 4]; 2],
    interval: usize,
    frame: Option<Frame>,
    is_cut: bool,
}

/// The header of a scan: its components by place, with their tables, and its coefficients.
struct Scan {
    components: Vec<(usize, usize, usize)>,
    first: usize,
    last: usize,
    refines: bool,
    /// The bits of its coefficients that it leaves to others.
    due: u8,
}

impl Reader {
    /// Reads all scans; `None` if they make no sense.
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut this = Self::default();
        let mut at = 2;
        loop {
            while bytes.get(at) == Some(&0xff) && bytes.get(at + 1) == Some(&0xff) {
                at += 1;
            }
            let [0xff, marker] = *bytes.get(at..)?.first_chunk::<2>()? else { return None };
            at += 2;
            match marker {
                EOI => break,
                // The next picture of a film begins, whether this one is whole or not.
                SOI if this.frame.is_some() => break,
                marker if marker == SOI || ALONE.contains(&marker) => continue,
                _ => {}
            }
            let length = usize::from(u16::from_be_bytes(*bytes.get(at..)?.first_chunk::<2>()?));
            let body = bytes.get(at + 2..at + length)?;
            at += length;
            match marker {
                DHT => this.take_tables(body)?,
                DRI => this.interval = usize::from(u16::from_be_bytes(*body.first_chunk()?)),
                marker if FRAMES.contains(&marker) => {
                    this.frame = Some(Frame::read(body, marker == SOF2)?);
                }
                SOS => {
                    let length = entropy_coded(bytes.get(at..)?)?;
                    this.take_scan(body, &bytes[at..at + length])?;
                    at += length;
                }
                _ => {}
            }
        }
        let frame = this.frame.as_ref()?;
        this.is_cut |=
            frame.components.iter().any(|it| !it.is_coded || it.due.iter().any(|due| *due > 0));
        Some(this)
    }

    fn take_tables(&mut self, mut body: &[u8]) -> Option<()> {
        while let Some((place, rest)) = body.split_first() {
            let (lengths, rest) = rest.split_first_chunk::<16>()?;
            let counts = lengths.map(u16::from);
            let (symbols, rest) = rest.split_at_checked(counts.iter().sum::<u16>().into())?;
            let table = self.tables.get_mut(usize::from(place >> 4))?;
            *table.get_mut(usize::from(place & 15))? = Table { counts, symbols: symbols.to_vec() };
            body = rest;
        }
        Some(())
    }

    /// Reads a scan; `None` if it makes no sense.
    fn take_scan(&mut self, head: &[u8], data: &[u8]) -> Option<()> {
        let mut frame = self.frame.take()?;
        let scan = Scan::read(head, &frame)?;
        for (place, ..) in &scan.components {
            let component = &mut frame.components[*place];
            component.is_coded |= scan.first == 0;
            component.due[scan.first..=scan.last].fill(scan.due);
        }
        let mut blocks = scan.blocks(&frame);
        let mut intervals = intervals(data);
        let per_interval = if self.interval == 0 { usize::MAX } else { self.interval };
        let mut end = None;
        while blocks.left > 0 {
            let mut bits = Bits { bytes: intervals.next().unwrap_or(&[]), at: 0, have: 0, held: 0 };
            let result =
                self.take_interval(&mut bits, &scan, &mut blocks, per_interval, &mut frame);
            if let Err(reason) = result {
                end = Some(reason);
                break;
            }
        }
        self.frame = Some(frame);
        match end {
            Some(End::Sense) => None,
            Some(End::Data) => {
                self.is_cut = true;
                Some(())
            }
            None => Some(()),
        }
    }

    /// Reads the units up to the next restart.
    fn take_interval(
        &self,
        bits: &mut Bits<'_>,
        scan: &Scan,
        blocks: &mut Blocks,
        most: usize,
        frame: &mut Frame,
    ) -> Result<(), End> {
        // Blocks without further coefficients.
        let mut run = 0;
        for _ in 0..most.min(blocks.left) {
            for (place, block, (dc, ac)) in blocks.unit(scan, frame) {
                let tables = (&self.tables[0][dc], &self.tables[1][ac]);
                let is_progressive = frame.is_progressive;
                let nonzero = frame.components[place].nonzero.get_mut(block);
                match nonzero.filter(|_| is_progressive) {
                    None => bits.sequential(tables.0, tables.1)?,
                    Some(_) if scan.first == 0 && scan.refines => bits.skip(1)?,
                    Some(_) if scan.first == 0 => bits.difference(tables.0)?,
                    Some(nonzero) if scan.refines => {
                        bits.refined(tables.1, scan, nonzero, &mut run)?;
                    }
                    Some(nonzero) => bits.first(tables.1, scan, nonzero, &mut run)?,
                }
            }
            blocks.advance();
        }
        Ok(())
    }
}

impl Frame {
    fn read(body: &[u8], is_progressive: bool) -> Option<Self> {
        let (&[_, a, b, c, d, count], components) = body.split_first_chunk::<6>()?;
        let height = usize::from(u16::from_be_bytes([a, b]));
        let width = usize::from(u16::from_be_bytes([c, d]));
        let components: Vec<(u8, (usize, usize))> = components
            .chunks_exact(3)
            .take(count.into())
            .map(|it| (it[0], (usize::from(it[1] >> 4), usize::from(it[1] & 15))))
            .collect();
        let is_right =
            |it: &(u8, (usize, usize))| (1..=4).contains(&it.1.0) && (1..=4).contains(&it.1.1);
        // A height of 0 is told after the scan.
        if width == 0
            || height == 0
            || components.len() != count.into()
            || !components.iter().all(is_right)
        {
            return None;
        }
        let most = |of: fn((usize, usize)) -> usize| components.iter().map(|it| of(it.1)).max();
        let across = most(|it| it.0)?;
        let down = most(|it| it.1)?;
        let units = (width.div_ceil(8 * across), height.div_ceil(8 * down));
        let components = components.into_iter().map(|(id, sampling)| {
            let blocks = (
                (width * sampling.0).div_ceil(8 * across),
                (height * sampling.1).div_ceil(8 * down),
            );
            let row = units.0 * sampling.0;
            let all = if is_progressive { row * units.1 * sampling.1 } else { 0 };
            let nonzero = vec![0; all];
            Component {
                id,
                sampling,
                blocks,
                row,
                nonzero,
                due: [0; COEFFICIENTS],
                is_coded: false,
            }
        });
        Some(Self { is_progressive, units, components: components.collect() })
    }
}

impl Scan {
    fn read(head: &[u8], frame: &Frame) -> Option<Self> {
        let (count, rest) = head.split_first()?;
        let (pairs, rest) = rest.split_at_checked(2 * usize::from(*count))?;
        let &[first, last, precision, ..] = rest else { return None };
        let components: Option<Vec<_>> = pairs
            .chunks_exact(2)
            .map(|it| {
                let place = frame.components.iter().position(|known| known.id == it[0])?;
                let tables = (usize::from(it[1] >> 4), usize::from(it[1] & 15));
                (tables.0 < 4 && tables.1 < 4).then_some((place, tables.0, tables.1))
            })
            .collect();
        let first = usize::from(first);
        let last = usize::from(last);
        let is_right = *count > 0
            && first <= last
            && last < COEFFICIENTS
            // Only one component has AC coefficients in a scan of a progressive frame.
            && (!frame.is_progressive || first == 0 || *count == 1);
        is_right.then_some(Self {
            components: components?,
            first,
            last,
            refines: precision >> 4 > 0,
            due: precision & 15,
        })
    }

    /// Returns the walk over the blocks of this scan.
    fn blocks(&self, frame: &Frame) -> Blocks {
        let across = match &self.components[..] {
            [(place, ..)] => frame.components[*place].blocks,
            _ => frame.units,
        };
        Blocks { across: across.0, left: across.0 * across.1, x: 0, y: 0 }
    }
}

/// A walk over the units of a scan: one block each if the scan has one component.
struct Blocks {
    across: usize,
    left: usize,
    x: usize,
    y: usize,
}

impl Blocks {
    /// Returns the blocks of this unit: component, place of the block, tables.
    fn unit(&self, scan: &Scan, frame: &Frame) -> Vec<(usize, usize, (usize, usize))> {
        if let [(place, dc, ac)] = scan.components[..] {
            let row = frame.components[place].row;
            return vec![(place, self.y * row + self.x, (dc, ac))];
        }
        let mut unit = Vec::new();
        for (place, dc, ac) in &scan.components {
            let Component { sampling: (across, down), row, .. } = frame.components[*place];
            for y in 0..down {
                for x in 0..across {
                    let block = (self.y * down + y) * row + self.x * across + x;
                    unit.push((*place, block, (*dc, *ac)));
                }
            }
        }
        unit
    }

    fn advance(&mut self) {
        self.left -= 1;
        self.x += 1;
        if self.x == self.across {
            (self.x, self.y) = (0, self.y + 1);
        }
    }
}

/// Returns the data between the restart markers.
fn intervals(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(data);
    core::iter::from_fn(move || {
        let data = rest?;
        let marker = data.windows(2).position(|it| it[0] == 0xff && ALONE[1..].contains(&it[1]));
        rest = marker.map(|at| &data[at + 2..]);
        Some(marker.map_or(data, |at| &data[..at]))
    })
}

/// The bits of an interval, without the zeros stuffed after bytes of ones.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
    have: u32,
    held: u32,
}

impl Bits<'_> {
    fn bit(&mut self) -> Result<u16, End> {
        if self.have == 0 {
            let byte = *self.bytes.get(self.at).ok_or(End::Data)?;
            self.at += if byte == 0xff { 2 } else { 1 };
            (self.held, self.have) = (byte.into(), 8);
        }
        self.have -= 1;
        Ok((self.held >> self.have & 1) as u16)
    }

    fn skip(&mut self, count: usize) -> Result<(), End> {
        (0..count).try_for_each(|_| self.bit().map(drop))
    }

    fn number(&mut self, bits: u8) -> Result<usize, End> {
        (0..bits).try_fold(0, |number, _| Ok(number << 1 | usize::from(self.bit()?)))
    }

    /// Reads a Huffman code (annex F.2.2.3).
    fn symbol(&mut self, table: &Table) -> Result<u8, End> {
        let mut code = 0_u32;
        let mut first = 0_u32;
        let mut index = 0_u32;
        for count in table.counts {
            code |= u32::from(self.bit()?);
            let count = u32::from(count);
            if code < first + count {
                let at = (index + (code - first)) as usize;
                return table.symbols.get(at).copied().ok_or(End::Sense);
            }
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        Err(End::Sense)
    }

    /// Reads a DC coefficient.
    fn difference(&mut self, table: &Table) -> Result<(), End> {
        let bits = self.symbol(table)?;
        if bits > 16 {
            return Err(End::Sense);
        }
        self.skip(bits.into())
    }

    /// Reads a block of a sequential frame.
    fn sequential(&mut self, dc: &Table, ac: &Table) -> Result<(), End> {
        self.difference(dc)?;
        let mut at = 1;
        while at < COEFFICIENTS {
            let (zeros, bits) = halves(self.symbol(ac)?);
            match (zeros, bits) {
                (15, 0) => at += 16,
                (_, 0) => return Ok(()),
                _ => {
                    at += zeros + 1;
                    self.skip(bits.into())?;
                }
            }
        }
        if at > COEFFICIENTS { Err(End::Sense) } else { Ok(()) }
    }

    /// Reads the first bits of the AC coefficients of a block (annex G.1.2.2).
    fn first(
        &mut self,
        table: &Table,
        scan: &Scan,
        nonzero: &mut u64,
        run: &mut usize,
    ) -> Result<(), End> {
        if *run > 0 {
            *run -= 1;
            return Ok(());
        }
        let mut at = scan.first;
        while at <= scan.last {
            let (zeros, bits) = halves(self.symbol(table)?);
            match (zeros, bits) {
                (15, 0) => at += 16,
                (_, 0) => {
                    *run = (1 << zeros) - 1 + self.number(zeros as u8)?;
                    return Ok(());
                }
                _ => {
                    at += zeros;
                    if at > scan.last {
                        return Err(End::Sense);
                    }
                    *nonzero |= 1 << at;
                    self.skip(bits.into())?;
                    at += 1;
                }
            }
        }
        Ok(())
    }

    /// Reads a further bit of the AC coefficients of a block (annex G.1.2.3).
    fn refined(
        &mut self,
        table: &Table,
        scan: &Scan,
        nonzero: &mut u64,
        run: &mut usize,
    ) -> Result<(), End> {
        let mut at = scan.first;
        while *run == 0 && at <= scan.last {
            let (mut zeros, bits) = halves(self.symbol(table)?);
            match (zeros, bits) {
                (15, 0) => {}
                (_, 0) => {
                    *run = (1 << zeros) + self.number(zeros as u8)?;
                    break;
                }
                (_, 1) => self.skip(1)?,
                _ => return Err(End::Sense),
            }
            while at <= scan.last {
                if *nonzero >> at & 1 == 1 {
                    self.skip(1)?;
                } else if zeros == 0 {
                    break;
                } else {
                    zeros -= 1;
                }
                at += 1;
            }
            if bits == 1 {
                if at > scan.last {
                    return Err(End::Sense);
                }
                *nonzero |= 1 << at;
            }
            at += 1;
        }
        if *run > 0 {
            *run -= 1;
            let known = (at..=scan.last).filter(|at| *nonzero >> at & 1 == 1).count();
            self.skip(known)?;
        }
        Ok(())
    }
}

/// Splits a symbol into the zeros before a coefficient and the number of its bits.
fn halves(symbol: u8) -> (usize, u8) {
    (usize::from(symbol >> 4), symbol & 15)
}

#[cfg(test)]
mod tests;
