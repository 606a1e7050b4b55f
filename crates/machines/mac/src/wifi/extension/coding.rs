//! Coded data frames: the parity of a frame, and its correction by the receiver.
//!
//! If the FCS of a frame is wrong, the receiver tries the code that the marks name, and then the
//! other codes. The CRC-32 under the code decides. So the header of a frame is that of 802.11, and
//! a damaged MAC header is corrected like the rest. The acknowledgement follows a SIFS after the
//! frame, as if the FCS had been right.

use core::fmt;
use core::str::FromStr;
use std::sync::OnceLock;

use windfall_base::{Frame, Payload};
use windfall_fec::ReedSolomon;
use windfall_wire_link::check::frame_check;
use windfall_wire_link::ieee80211::Code;
use windfall_wire_link::ieee80211::coding::MARK_LEN;
use windfall_wire_link::ieee80211::header::FCS_LEN;

/// The error control of 802.11 links in addition to retries: the coding of data frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RadioPolicy {
    /// Chooses rate, fragmentation and code together, for the least expected air time.
    Joint,
    /// Uses one code for all frames.
    Code(Code),
}

/// The text names no policy of 802.11 links.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("policy \"{0}\" of a radio: write joint, or parity-0, -8, -16, -32 or -64")]
pub struct UnknownRadioPolicy(String);

impl fmt::Display for RadioPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Joint => f.write_str("joint"),
            Self::Code(code) => write!(f, "parity-{}", code.parity()),
        }
    }
}

impl FromStr for RadioPolicy {
    type Err = UnknownRadioPolicy;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "joint" {
            return Ok(Self::Joint);
        }
        let parity = text.strip_prefix("parity-").and_then(|parity| parity.parse().ok());
        let code = parity.and_then(Code::of_parity);
        code.map(Self::Code).ok_or_else(|| UnknownRadioPolicy(text.to_owned()))
    }
}

/// The Reed–Solomon code of the blocks; `None` for a code without parity.
pub(super) fn blocks_code(code: Code) -> Option<&'static ReedSolomon> {
    // The tables of a code are pure functions of its parity, so all stations can share them.
    static CODES: [OnceLock<Option<ReedSolomon>>; 5] = [const { OnceLock::new() }; 5];
    CODES[code.index()].get_or_init(|| ReedSolomon::new(code.parity()).ok()).as_ref()
}

/// Appends CRC-32, parity and marks to the body of a frame that has no FCS yet.
pub(super) fn append(frame: &mut Frame, code: Code) {
    let mut tail = Vec::with_capacity(MARK_LEN);
    if let Some(rs) = blocks_code(code) {
        let [header, head, body, _] = frame.slices();
        let check = frame_check(&[header, head, body]);
        let data = [header, head, body, &check].concat();
        tail.extend(check);
        tail.extend(parity_of(rs, &data));
    }
    tail.extend(code.marks());
    frame.payload = Payload::new(frame.payload.to_bytes(), tail.into());
}

/// Returns the parity of all blocks of `data`, interleaved symbol by symbol.
pub(super) fn parity_of(rs: &ReedSolomon, data: &[u8]) -> Vec<u8> {
    let blocks = data.len().div_ceil(255 - rs.parity());
    let mut parity = vec![0; blocks * rs.parity()];
    let mut block = Vec::with_capacity(255);
    for number in 0..blocks {
        block.clear();
        block.extend(data.iter().skip(number).step_by(blocks));
        let data_len = block.len();
        block.resize(data_len + rs.parity(), 0);
        // The length is legal: at most 255, of which the data are one at least.
        let _ = rs.encode(&mut block);
        for (place, byte) in block[data_len..].iter().enumerate() {
            parity[place * blocks + number] = *byte;
        }
    }
    parity
}

/// Returns the offsets of the symbols of block `number` of `blocks`, in `all` bytes of which the
/// first `data` are data.
pub(super) fn places(
    number: usize,
    blocks: usize,
    data: usize,
    all: usize,
) -> impl Iterator<Item = usize> + Clone {
    (number..data).step_by(blocks).chain((data + number..all).step_by(blocks))
}

/// Corrects a frame with a wrong FCS, and returns the number of symbols corrected in its worst
/// block. Returns `None` and leaves the frame unchanged if no code can correct it.
pub(super) fn repair(frame: &mut Frame) -> Option<u8> {
    if frame.trailer.len() != FCS_LEN {
        return None;
    }
    let [header, head, body, _] = frame.slices();
    let bytes = [header, head, body].concat();
    let marked = Code::marked(&bytes);
    let others = Code::ALL.into_iter().filter(|code| Some(*code) != marked);
    let (fixed, worst) = marked.into_iter().chain(others).find_map(|code| correct(&bytes, code))?;
    put_right(frame, fixed);
    Some(worst)
}

/// Replaces the bytes of a frame by corrected ones, with a right FCS.
pub(super) fn put_right(frame: &mut Frame, mut fixed: Vec<u8>) {
    let [header, head, body, _] = frame.slices();
    let received = header.iter().chain(head).chain(body);
    let changed = fixed.iter().zip(received).filter(|(new, old)| new != old).count();
    let split = frame.header.len();
    frame.trailer.clear();
    frame.trailer.extend(frame_check(&[&fixed]));
    frame.damage.corrected = changed as u32;
    let payload = fixed.split_off(split);
    frame.header.clear();
    frame.header.extend(fixed);
    frame.payload = payload.into();
}

/// Returns the corrected bytes of a frame, and the number of symbols corrected in its worst block.
fn correct(bytes: &[u8], code: Code) -> Option<(Vec<u8>, u8)> {
    let rs = blocks_code(code)?;
    let all = bytes.len().checked_sub(MARK_LEN)?;
    let blocks = code.blocks(all)?;
    let mut fixed = bytes.to_vec();
    let data = all - blocks * code.parity();
    let mut worst = 0;
    let mut block = Vec::with_capacity(255);
    for number in 0..blocks {
        let places = places(number, blocks, data, all);
        block.clear();
        block.extend(places.clone().map(|place| fixed[place]));
        worst = rs.decode(&mut block, &[]).ok()?.errors.max(worst);
        places.zip(&block).for_each(|(place, byte)| fixed[place] = *byte);
    }
    let (before, check) = fixed[..data].split_last_chunk::<4>()?;
    if *check != frame_check(&[before]) {
        return None;
    }
    fixed[all..].copy_from_slice(&code.marks());
    Some((fixed, u8::try_from(worst).unwrap_or(u8::MAX)))
}

/// Removes CRC-32, parity and marks from the body of a frame whose first `before` header bytes have
/// been removed. Returns `false` if the marks name no code, or the frame is too short for its code.
pub(super) fn take_off(frame: &mut Frame, before: usize) -> bool {
    let len = frame.payload.len();
    let last = frame.payload.slice(len.saturating_sub(MARK_LEN)..len);
    let Some(code) = Code::marked(&last) else { return false };
    let mut behind = MARK_LEN;
    if code != Code::NONE {
        let all = before + frame.header.len() + len.saturating_sub(MARK_LEN);
        let Some(blocks) = code.blocks(all) else { return false };
        behind += 4 + blocks * code.parity();
    }
    if behind > len {
        return false;
    }
    frame.payload.truncate(len - behind);
    true
}

#[cfg(test)]
mod tests;
