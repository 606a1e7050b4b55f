//! Files in small parts of which the front must be exact and the rest may arrive damaged.
//!
//! [`protect`] cuts a file into parts, [`ProtectedArrival`] takes those that arrived and restores
//! the file. What a decoder cannot do without stands at the front of each part, behind a header of
//! 32 bytes: the headers of units and slices of H.264 and H.265, with the
//! parameter sets whole; signs,
//! exponents and high bytes of a NumPy array; the layout of a JPEG. The format is described in
//! `docs/reference/protected.md`.

mod arrival;
pub(crate) mod h264;
mod npy;
mod part;
mod photo;
mod room;

use crate::error::PictureError;
pub use arrival::{ProtectedArrival, RestoredFile};
pub use h264::{H264Protector, h264_output_places};
pub use part::{PROTECTED_HEADER_LEN, ProtectedPart};

/// The least bytes of a part that [`protect`] can be asked for.
pub const SHORTEST_PART: usize = 128;
/// The most bytes of a part, as many as a datagram of UDP holds.
pub const LONGEST_PART: usize = 65_000;

/// The kind of a protected file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtectedKind {
    /// An elementary stream of H.264 (Annex B).
    H264,
    /// An array of NumPy, `.npy`.
    Npy,
    /// A JPEG, which is encoded anew with restart markers.
    Jpeg,
    /// An elementary stream of H.265 (Annex B).
    H265,
}

impl ProtectedKind {
    /// The kinds, in the order of their codes from 1.
    pub const ALL: [Self; 4] = [Self::H264, Self::Npy, Self::Jpeg, Self::H265];

    /// The name in options and errors.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::H264 => "h264",
            Self::Npy => "npy",
            Self::Jpeg => "jpeg",
            Self::H265 => "h265",
        }
    }

    /// Returns the kind of a file by its first bytes.
    #[must_use]
    pub fn of(data: &[u8]) -> Option<Self> {
        match data {
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Some(Self::Npy),
            _ => {
                // Any number of zeros may stand before the first start code (Annex B.1.1).
                let zeros = data.iter().take_while(|byte| **byte == 0).count();
                match data.get(zeros..)? {
                    [1, unit @ ..] if zeros >= 2 && h264::is_h265(unit) => Some(Self::H265),
                    [1, ..] if zeros >= 2 => Some(Self::H264),
                    _ => None,
                }
            }
        }
    }

    const fn code(self) -> u8 {
        self as u8 + 1
    }

    fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }
}

/// The reason for which a file cannot be protected, or a part or a file not be used.
#[derive(Debug, thiserror::Error)]
pub enum ProtectError {
    /// The kind of the file is not known.
    #[error(
        "it is no file that can be protected: H.264 (.264), H.265 (.265), NumPy (.npy) and JPEG \
         can"
    )]
    Foreign,
    /// Parts of this length are impossible.
    #[error("parts of {0} bytes are not possible; 128 to 65000 are")]
    Length(usize),
    /// The file is longer than the format of parts allows.
    #[error("the file is too long: parts hold 4 GiB at most")]
    TooLong,
    /// There is nothing in the file.
    #[error("there is no unit of H.264 or H.265 in it")]
    Empty,
    /// The header of an array is malformed.
    #[error("the header of the array makes no sense")]
    Array,
    /// The picture cannot be used.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// The bytes that arrived are no part.
    #[error("{0}")]
    Part(&'static str),
    /// Parts of two files arrived.
    #[error("the part is one of another file")]
    Mixed,
    /// The parts exceed the memory for them.
    #[error("the parts have more than {0} bytes, which is the limit")]
    Memory(usize),
    /// A part that the file cannot be restored without is missing.
    #[error("part {0} is missing, without which nothing can be restored: send it exactly")]
    Missing(u32),
    /// Too little of the file has arrived.
    #[error("less than an eighth of the file has arrived: {arrived} bytes of {whole}")]
    Incomplete {
        /// The bytes of the parts that arrived.
        arrived: usize,
        /// The bytes of the file as its head tells them.
        whole: usize,
    },
    /// Nothing has arrived.
    #[error("no part has arrived")]
    Nothing,
}

//= S0.27
//= S1.55
/// Cuts a file into parts of at most `longest` bytes, of which some must be sent exactly
/// ([`ProtectedPart::is_precise`]) and the others exactly at the front.
///
/// Where all arrives without damage a stream of H.264 or H.265 and an array come back bit for bit;
/// a JPEG is encoded anew, as `windfall image` does.
///
/// # Errors
/// If its kind is not known or the file is malformed, or `longest` is out of range.
pub fn protect(data: &[u8], longest: usize) -> Result<Vec<ProtectedPart>, ProtectError> {
    if !(SHORTEST_PART..=LONGEST_PART).contains(&longest) {
        return Err(ProtectError::Length(longest));
    }
    if u32::try_from(data.len()).is_err() {
        return Err(ProtectError::TooLong);
    }
    let mut parts = match ProtectedKind::of(data).ok_or(ProtectError::Foreign)? {
        kind @ (ProtectedKind::H264 | ProtectedKind::H265) => h264::protect(kind, data, longest)?,
        ProtectedKind::Npy => npy::protect(data, longest)?,
        ProtectedKind::Jpeg => photo::protect(data, longest)?,
    };
    let count = parts.len() as u32;
    parts.iter_mut().for_each(|part| part.set_count(count));
    Ok(parts)
}

#[cfg(test)]
mod tests;
