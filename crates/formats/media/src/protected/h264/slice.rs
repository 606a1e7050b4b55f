//! The header of a slice.

use super::TYPE;
use super::numbers::Numbers;
use super::parameters::{ParameterSets, PictureOrder, PictureSet, SequenceSet};

/// The type of a slice of a picture that needs no other.
const IDR: u8 = 5;
/// The most references of a slice, and the most operations on them.
const MOST: u32 = 66;
/// Bytes behind the header that are exact with it: those with which arithmetic decoding begins.
const FIRST_ARITHMETIC: usize = 2;

/// The type of a slice (table 7-6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SliceType {
    P,
    B,
    I,
    SwitchingP,
    SwitchingI,
}

impl SliceType {
    const fn is_intra(self) -> bool {
        matches!(self, Self::I | Self::SwitchingI)
    }
}

/// The front of the header of a slice: what tells its picture from others (section 7.3.3).
#[derive(Clone, Copy, Debug)]
pub(super) struct SliceFront {
    kind: SliceType,
    picture: PictureSet,
    sequence: SequenceSet,
    pub(super) is_idr: bool,
    pub(super) is_reference: bool,
    /// The low bits of the place of its picture in the order of output, and their count; `None`
    /// where the sequence tells it otherwise.
    pub(super) output: Option<(u32, u32)>,
}

impl SliceFront {
    /// Reads the front of a slice without emulation prevention; `None` if a parameter set is not
    /// known or the header makes no sense.
    pub(super) fn parse(bare: &[u8], sets: &ParameterSets) -> Option<Self> {
        Self::read(&mut Numbers::new(bare.get(1..)?), *bare.first()?, sets)
    }

    fn read(bits: &mut Numbers<'_>, first: u8, sets: &ParameterSets) -> Option<Self> {
        bits.number()?;
        let kind = match bits.number()? % 5 {
            0 => SliceType::P,
            1 => SliceType::B,
            2 => SliceType::I,
            3 => SliceType::SwitchingP,
            _ => SliceType::SwitchingI,
        };
        let (picture, sequence) = sets.get(bits.number()?)?;
        let is_idr = first & TYPE == IDR;
        let is_reference = first & 0x60 != 0;
        let output = order(bits, &picture, &sequence, is_idr)?;
        Some(Self { kind, picture, sequence, is_idr, is_reference, output })
    }
}

/// Returns the bytes of a slice, without emulation prevention, up to the end of its header; `None`
/// if a parameter set is not known or the header makes no sense.
pub(super) fn header_len(bare: &[u8], sets: &ParameterSets) -> Option<usize> {
    let mut bits = Numbers::new(bare.get(1..)?);
    let front = SliceFront::read(&mut bits, *bare.first()?, sets)?;
    let SliceFront { kind, picture, sequence, is_idr, is_reference, .. } = front;
    if kind == SliceType::B {
        bits.flag()?;
    }
    let references = reference_lists(&mut bits, &picture, kind)?;
    let is_weighted = match kind {
        SliceType::P | SliceType::SwitchingP => picture.is_weighted,
        SliceType::B => picture.is_explicit_for_b,
        _ => false,
    };
    if is_weighted {
        weights(&mut bits, sequence.is_monochrome, &references)?;
    }
    if is_reference {
        marking(&mut bits, is_idr)?;
    }
    if picture.is_arithmetic && !kind.is_intra() {
        bits.number()?;
    }
    bits.signed()?;
    if kind == SliceType::SwitchingP {
        bits.flag()?;
    }
    if matches!(kind, SliceType::SwitchingP | SliceType::SwitchingI) {
        bits.signed()?;
    }
    if picture.has_deblocking && bits.number()? != 1 {
        bits.skip(2)?;
    }
    let more = if picture.is_arithmetic { FIRST_ARITHMETIC } else { 0 };
    Some(1 + bits.position().div_ceil(8) + more)
}

/// Reads the fields by which the picture is told from others, and returns those of the output.
fn order(
    bits: &mut Numbers<'_>,
    picture: &PictureSet,
    sequence: &SequenceSet,
    is_idr: bool,
) -> Option<Option<(u32, u32)>> {
    if sequence.has_separate_planes {
        bits.take(2)?;
    }
    bits.take(sequence.frame_number_bits)?;
    let mut is_field = false;
    if !sequence.has_frames_only {
        is_field = bits.flag()?;
        if is_field {
            bits.flag()?;
        }
    }
    if is_idr {
        bits.number()?;
    }
    let has_bottom = picture.has_bottom_order && !is_field;
    let mut output = None;
    match sequence.order {
        PictureOrder::Number(count) => {
            output = Some((bits.take(count)?, count));
            bits.skip(u32::from(has_bottom))?;
        }
        PictureOrder::Differences { always_zero: false } => {
            bits.skip(1 + u32::from(has_bottom))?;
        }
        PictureOrder::Differences { .. } | PictureOrder::Decoding => {}
    }
    if picture.has_redundant {
        bits.number()?;
    }
    Some(output)
}

/// Reads the lists of reference pictures, and returns how many each list has that the slice uses.
fn reference_lists(
    bits: &mut Numbers<'_>,
    picture: &PictureSet,
    kind: SliceType,
) -> Option<Vec<u32>> {
    let lists = match kind {
        SliceType::I | SliceType::SwitchingI => 0,
        SliceType::P | SliceType::SwitchingP => 1,
        SliceType::B => 2,
    };
    let mut counts = picture.references[..lists].to_vec();
    if lists > 0 && bits.flag()? {
        for count in &mut counts {
            *count = bits.number()? + 1;
        }
    }
    if counts.iter().any(|count| *count > MOST) {
        return None;
    }
    for _ in 0..lists {
        if bits.flag()? {
            // Each operation has a number of its own kind, up to 3, which ends the list.
            let mut operations = 0;
            while bits.number()? != 3 {
                bits.number()?;
                operations += 1;
                if operations > MOST {
                    return None;
                }
            }
        }
    }
    Some(counts)
}

/// Reads the weights of references (section 7.3.3.2).
fn weights(bits: &mut Numbers<'_>, is_monochrome: bool, references: &[u32]) -> Option<()> {
    bits.skip(if is_monochrome { 1 } else { 2 })?;
    for count in references {
        for _ in 0..*count {
            if bits.flag()? {
                bits.skip(2)?;
            }
            if !is_monochrome && bits.flag()? {
                bits.skip(4)?;
            }
        }
    }
    Some(())
}

/// Reads what becomes of references (section 7.3.3.3).
fn marking(bits: &mut Numbers<'_>, is_idr: bool) -> Option<()> {
    if is_idr {
        return bits.take(2).map(drop);
    }
    if !bits.flag()? {
        return Some(());
    }
    for _ in 0..MOST {
        match bits.number()? {
            0 => return Some(()),
            1 | 2 | 4 | 6 => bits.skip(1)?,
            3 => bits.skip(2)?,
            5 => {}
            _ => return None,
        }
    }
    None
}
