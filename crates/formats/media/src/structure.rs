//! The structure of media files: the bytes that a decoder needs exactly, and damage that it cannot
//! bear.
//!
//! The kind of a file is told by its first bytes. Of a kind that is not known no byte is more
//! important than another.

use core::ops::Range;

mod bmp;
mod jpeg;
mod mp4;
mod npy;
mod ogg;
mod pnm;

pub(crate) use pnm::oversized_sample;
mod ranges;
mod text;
mod wav;

use ranges::Ranges;
use wav::SoundFormat;

/// A kind of file whose structure is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileKind {
    Bmp,
    Jpeg,
    Mp4,
    Npy,
    Ogg,
    Pnm,
    Sound(SoundFormat),
}

fn kind(bytes: &[u8]) -> Option<FileKind> {
    let at = |position: usize, magic: &[u8]| {
        bytes.get(position..).is_some_and(|rest| rest.starts_with(magic))
    };
    match () {
        () if at(0, &[0xff, 0xd8, 0xff]) => Some(FileKind::Jpeg),
        () if at(4, b"ftyp") => Some(FileKind::Mp4),
        () if at(0, b"\x93NUMPY") => Some(FileKind::Npy),
        () if at(0, b"OggS") => Some(FileKind::Ogg),
        () if bmp::is_bmp(bytes) => Some(FileKind::Bmp),
        () if pnm::is_pnm(bytes) => Some(FileKind::Pnm),
        () => SoundFormat::by_first_bytes(bytes).map(FileKind::Sound),
    }
}

//= S0.27
/// Returns the ranges of a file that must arrive exactly, in order and not touching: at most
/// `most`, of which the closest are joined if there are more.
///
/// They are the headers and tables of a JPEG and its markers, all but the samples of WAV (also as
/// RIFX, RF64, BW64 and Wave64), AIFF, AIFC, Core Audio and AU files, the blocks before the frames
/// of a FLAC file, the headers of the pages of an Ogg file and the pages that describe its streams,
/// the boxes of an MP4 file except its samples, what stands before the pixels of a BMP and of each
/// picture in a PBM, PGM, PPM or PAM file, the colour profile of a BMP, all of such a picture in
/// text, and the headers of the arrays in a NumPy file. A text, such as a playlist or subtitles, is
/// exact as a whole.
///
/// Of a file of more than 4096 arrays or pictures the rest is exact, and so is what follows an
/// array or a picture and is none. Headers in text have at most 64 KiB. The memory that this takes
/// grows with `most` and not with the file.
#[must_use]
pub fn exact_ranges(bytes: &[u8], most: usize) -> Vec<Range<usize>> {
    let mut found = Ranges::new(most);
    match kind(bytes) {
        Some(FileKind::Bmp) => bmp::exact(bytes, &mut found),
        Some(FileKind::Jpeg) => jpeg::exact(bytes, &mut found),
        Some(FileKind::Mp4) => mp4::exact(bytes, &mut found),
        Some(FileKind::Npy) => npy::exact(bytes, &mut found),
        Some(FileKind::Ogg) => ogg::exact(bytes, &mut found),
        Some(FileKind::Pnm) => pnm::exact(bytes, &mut found),
        Some(FileKind::Sound(format)) => format.exact(bytes, &mut found),
        None if text::is_text(bytes) => found.push(0..bytes.len()),
        None => {}
    }
    found.into_closest()
}

/// Returns those of the `damaged` ranges of a file that its decoder cannot bear.
///
/// In a JPEG they are the ones that hold a marker that belongs to no picture, or in which restart
/// markers are missing; no kind but JPEG has any.
#[must_use]
pub fn intolerable(bytes: &[u8], damaged: &[Range<usize>]) -> Vec<Range<usize>> {
    match kind(bytes) {
        Some(FileKind::Jpeg) => jpeg::intolerable(bytes, damaged),
        _ => Vec::new(),
    }
}

/// Returns whether a decoder loses its place where bytes of a file are missing, since they are
/// entropy-coded: as those of a JPEG are. What is missing there is intolerable.
#[must_use]
pub fn is_entropy_coded(bytes: &[u8]) -> bool {
    kind(bytes) == Some(FileKind::Jpeg)
}

/// Makes a damaged file readable without changing what it says: writes the checksums of an Ogg
/// file's damaged pages anew, since decoders drop pages whose checksums fail.
pub fn restore_checks(bytes: &mut [u8], damaged: &[Range<usize>]) {
    if kind(bytes) == Some(FileKind::Ogg) {
        ogg::restore_checks(bytes, damaged);
    }
}

/// Joins ranges that touch, and then the closest ones, until at most `most` are left.
#[must_use]
pub fn join_closest(mut ranges: Vec<Range<usize>>, most: usize) -> Vec<Range<usize>> {
    ranges.retain(|range| !range.is_empty());
    ranges.dedup_by(|next, range| {
        let touches = next.start <= range.end;
        if touches {
            range.end = range.end.max(next.end);
        }
        touches
    });
    let excess = ranges.len().saturating_sub(most.max(1));
    if excess == 0 {
        return ranges;
    }
    let mut gaps: Vec<_> = (1..ranges.len()).collect();
    gaps.sort_by_key(|at| ranges[*at].start - ranges[at - 1].end);
    let mut filled = vec![false; ranges.len()];
    gaps.iter().take(excess).for_each(|at| filled[*at] = true);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for (range, fills) in ranges.into_iter().zip(filled) {
        match joined.last_mut() {
            Some(last) if fills => last.end = range.end,
            _ => joined.push(range),
        }
    }
    joined
}

/// Returns a big-endian number of four bytes.
fn big(bytes: &[u8], at: usize) -> Option<usize> {
    let field = bytes.get(at..)?.first_chunk::<4>()?;
    usize::try_from(u32::from_be_bytes(*field)).ok()
}

/// Returns a little-endian number of four bytes.
fn little(bytes: &[u8], at: usize) -> Option<usize> {
    let field = bytes.get(at..)?.first_chunk::<4>()?;
    usize::try_from(u32::from_le_bytes(*field)).ok()
}

#[cfg(test)]
mod tests;
