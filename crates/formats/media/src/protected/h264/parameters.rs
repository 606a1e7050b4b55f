//! The parameter sets of a stream, as far as headers of slices depend on them.

use std::collections::BTreeMap;

use super::numbers::Numbers;
use super::{TYPE, without_prevention};

/// The types of the units that carry them.
const SEQUENCE: u8 = 7;
const PICTURE: u8 = 8;
/// Profiles whose sets tell of the format of colours.
const WITH_COLOURS: [u32; 13] = [44, 83, 86, 100, 110, 118, 122, 128, 134, 135, 138, 139, 244];
/// The greatest numbers of sets (sections 7.4.2.1 and 7.4.2.2).
const MOST_SEQUENCES: u32 = 31;
const MOST_PICTURES: u32 = 255;

/// The sets that have come, by their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct ParameterSets {
    sequences: BTreeMap<u32, SequenceSet>,
    pictures: BTreeMap<u32, PictureSet>,
}

/// A sequence parameter set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SequenceSet {
    pub(super) has_separate_planes: bool,
    /// The chroma array is empty: monochrome, or planes of their own.
    pub(super) is_monochrome: bool,
    pub(super) frame_number_bits: u32,
    pub(super) order: PictureOrder,
    pub(super) has_frames_only: bool,
}

/// The way in which slices tell the order of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PictureOrder {
    /// By a number of this count of bits.
    Number(u32),
    /// By differences; none if they are always zero.
    Differences { always_zero: bool },
    /// By the order in which they come.
    Decoding,
}

/// A picture parameter set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PictureSet {
    pub(super) sequence: u32,
    pub(super) is_arithmetic: bool,
    pub(super) has_bottom_order: bool,
    pub(super) references: [u32; 2],
    pub(super) is_weighted: bool,
    pub(super) is_explicit_for_b: bool,
    pub(super) has_deblocking: bool,
    pub(super) has_redundant: bool,
}

impl ParameterSets {
    /// Takes a unit, which may be a parameter set.
    pub(super) fn learn(&mut self, unit: &[u8]) {
        let kind = unit.first().map(|byte| byte & TYPE);
        if !matches!(kind, Some(SEQUENCE | PICTURE)) {
            return;
        }
        let bare = without_prevention(unit);
        let bits = &mut Numbers::new(&bare[1..]);
        if kind == Some(SEQUENCE) {
            if let Some((number, set)) = sequence(bits) {
                self.sequences.insert(number, set);
            }
        } else if let Some((number, set)) = picture(bits) {
            self.pictures.insert(number, set);
        }
    }

    /// Returns the picture parameter set of a number, and the sequence parameter set that it names.
    pub(super) fn get(&self, number: u32) -> Option<(PictureSet, SequenceSet)> {
        let picture = *self.pictures.get(&number)?;
        Some((picture, *self.sequences.get(&picture.sequence)?))
    }
}

/// Reads a sequence parameter set (section 7.3.2.1.1) up to the last field that is needed.
fn sequence(bits: &mut Numbers<'_>) -> Option<(u32, SequenceSet)> {
    let profile = bits.take(8)?;
    bits.take(16)?;
    let number = bits.number().filter(|number| *number <= MOST_SEQUENCES)?;
    let mut colours = 1;
    let mut has_separate_planes = false;
    if WITH_COLOURS.contains(&profile) {
        colours = bits.number()?;
        if colours == 3 {
            has_separate_planes = bits.flag()?;
        }
        // The depths of brightness and colours, and the bypass of the transform.
        bits.skip(2)?;
        bits.flag()?;
        if bits.flag()? {
            let lists = if colours == 3 { 12 } else { 8 };
            (0..lists).try_for_each(|list| scaling_list(bits, if list < 6 { 16 } else { 64 }))?;
        }
    }
    let frame_number_bits = bits.number()?.saturating_add(4);
    let order = match bits.number()? {
        0 => PictureOrder::Number(bits.number()?.saturating_add(4)),
        1 => {
            let always_zero = bits.flag()?;
            bits.skip(2)?;
            let cycle = bits.number().filter(|count| *count <= 255)?;
            bits.skip(cycle)?;
            PictureOrder::Differences { always_zero }
        }
        2 => PictureOrder::Decoding,
        _ => return None,
    };
    let has_short_fields =
        frame_number_bits <= 16 && !matches!(order, PictureOrder::Number(count) if count > 16);
    // The number of reference frames, gaps, and the size in macroblocks.
    bits.skip(1)?;
    bits.flag()?;
    bits.skip(2)?;
    let has_frames_only = bits.flag()?;
    let is_monochrome = colours == 0 || has_separate_planes;
    let set = SequenceSet {
        has_separate_planes,
        is_monochrome,
        frame_number_bits,
        order,
        has_frames_only,
    };
    has_short_fields.then_some((number, set))
}

/// Reads a list of scaling factors (section 7.3.2.1.1.1), or that there is none.
fn scaling_list(bits: &mut Numbers<'_>, size: usize) -> Option<()> {
    if !bits.flag()? {
        return Some(());
    }
    let mut last = 8;
    let mut next = 8;
    for _ in 0..size {
        if next != 0 {
            next = (last + bits.signed()?).rem_euclid(256);
        }
        last = if next == 0 { last } else { next };
    }
    Some(())
}

/// Reads a picture parameter set (section 7.3.2.2); `None` for one with groups of slices.
fn picture(bits: &mut Numbers<'_>) -> Option<(u32, PictureSet)> {
    let number = bits.number().filter(|number| *number <= MOST_PICTURES)?;
    let sequence = bits.number()?;
    let is_arithmetic = bits.flag()?;
    let has_bottom_order = bits.flag()?;
    if bits.number()? != 0 {
        return None;
    }
    let references = [bits.number()? + 1, bits.number()? + 1];
    let is_weighted = bits.flag()?;
    let is_explicit_for_b = bits.take(2)? == 1;
    // The parameters of quantisation: for brightness, for switching slices, for colours.
    bits.skip(3)?;
    let has_deblocking = bits.flag()?;
    bits.flag()?;
    let has_redundant = bits.flag()?;
    let set = PictureSet {
        sequence,
        is_arithmetic,
        has_bottom_order,
        references,
        is_weighted,
        is_explicit_for_b,
        has_deblocking,
        has_redundant,
    };
    Some((number, set))
}
