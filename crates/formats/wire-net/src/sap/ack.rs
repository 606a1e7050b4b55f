//! Acknowledgements: the body of [`SapKind::Ack`](super::SapKind::Ack).

use bytes::{BufMut, Bytes, BytesMut};

use super::NAME;
use crate::error::WireError;
use crate::field::{u16_at, u32_at};

/// The most runs of packet numbers that one acknowledgement lists.
pub const MAX_RUNS: usize = 32;
/// The most damaged packets that one acknowledgement lists.
pub const MAX_DAMAGED: usize = 32;

const FIXED_LEN: usize = 14;

/// The packets that have arrived, and the room that the receiver has left.
///
/// | bytes | field |
/// |---|---|
/// | 0..4 | the largest packet number that has arrived |
/// | 4..8 | microseconds since it arrived |
/// | 8..12 | bytes of exact data for which there is room |
/// | 12, 13 | number of runs, number of damaged packets |
/// | then, for each run, 2 + 2 | numbers missing above it, numbers in it; from the largest down |
/// | then, for each damaged packet, 2 | how far below the largest it lies |
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SapAck {
    /// The largest packet number that has arrived, its low 32 bits.
    pub largest: u32,
    /// Microseconds since it arrived.
    pub delay: u32,
    /// Bytes of exact data for which the receiver has room.
    pub room: u32,
    /// For each run from the largest down: how many numbers are missing above it, how many it has.
    pub runs: Vec<(u16, u16)>,
    /// The distances below the largest of the packets whose header alone arrived intact.
    pub damaged: Vec<u16>,
}

impl SapAck {
    /// Reads the body.
    ///
    /// # Errors
    /// If it is shorter than it says, or lists more than it may.
    pub fn parse(body: &[u8]) -> Result<Self, WireError> {
        WireError::check_len(NAME, body, FIXED_LEN)?;
        let runs = usize::from(body[12]);
        let damaged = usize::from(body[13]);
        if runs > MAX_RUNS || damaged > MAX_DAMAGED {
            let found = runs.max(damaged) as u32;
            return Err(WireError::Illegal { header: NAME, field: "number of runs", found });
        }
        let end = FIXED_LEN + 4 * runs;
        WireError::check_len(NAME, body, end + 2 * damaged)?;
        let read_run = |at: usize| (u16_at(body, at), u16_at(body, at + 2));
        Ok(Self {
            largest: u32_at(body, 0),
            delay: u32_at(body, 4),
            room: u32_at(body, 8),
            runs: (0..runs).map(|index| read_run(FIXED_LEN + 4 * index)).collect(),
            damaged: (0..damaged).map(|index| u16_at(body, end + 2 * index)).collect(),
        })
    }

    /// Writes the body; what is beyond the greatest numbers is left out.
    #[must_use]
    pub fn emit(&self) -> Bytes {
        let runs = &self.runs[..self.runs.len().min(MAX_RUNS)];
        let damaged = &self.damaged[..self.damaged.len().min(MAX_DAMAGED)];
        let mut body = BytesMut::with_capacity(FIXED_LEN + 4 * runs.len() + 2 * damaged.len());
        body.put_u32(self.largest);
        body.put_u32(self.delay);
        body.put_u32(self.room);
        body.put_u8(runs.len() as u8);
        body.put_u8(damaged.len() as u8);
        for (missing, len) in runs {
            body.put_u16(*missing);
            body.put_u16(*len);
        }
        damaged.iter().for_each(|below| body.put_u16(*below));
        body.freeze()
    }
}
