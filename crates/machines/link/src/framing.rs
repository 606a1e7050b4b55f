//! Framing: the link header before a packet and the frame check after it.

use windfall_base::{Check, Damage, DropReason, Frame};
use windfall_wire_link::HeaderError;
use windfall_wire_link::check::frame_check;
use windfall_wire_link::pipe::{Data, Header, Number, Wish};

//= S3.4
/// Adds a header and a frame check to the packet in `frame`, whose header and trailer are empty.
///
/// The frame check of a packet that is known to be damaged is inverted: a right one would vouch for
/// the damaged packet.
///
/// Packets longer than 65 535 bytes are truncated. The interface's MTU prevents such packets.
pub fn seal(frame: &mut Frame, number: Number, wish: Wish) {
    frame.payload.truncate(usize::from(u16::MAX));
    let length = frame.payload.len() as u16;
    let header = Data { wish, length, number }.encode();
    let [head, body] = frame.payload.slices();
    let wrong = if frame.damage.is_damaged() { 0xff } else { 0 };
    let check = frame_check(&[&header, head, body]).map(|byte| byte ^ wrong);
    (frame.header, frame.trailer) = (header, check.into_iter().collect());
    frame.damage = Damage::NONE;
}

/// The difference between the received frame check and the right one: zero if it is right; `None`
/// if the frame is too short or too long.
pub type Mismatch = Option<u32>;

/// A frame with an intact header.
#[derive(Debug)]
pub enum Opened {
    /// The frame carries a packet. Its header and trailer are removed, and its damage is recorded.
    Data(Data, Mismatch),
    /// The frame is a control frame.
    Control(Header),
}

/// Parses and removes header and trailer of `frame`, and records the results of the checks.
///
/// # Errors
/// If the header is truncated, damaged, or not of this protocol.
pub fn open(frame: &mut Frame) -> Result<Opened, DropReason> {
    let header = match Header::parse(&frame.header, &frame.trailer) {
        Ok(header) => header,
        Err(HeaderError::Short { .. }) => return Err(DropReason::Truncated),
        Err(HeaderError::Check | HeaderError::Kind(_)) => return Err(DropReason::LinkHeader),
        Err(HeaderError::Field(_)) => return Err(DropReason::Malformed),
    };
    let data = match header {
        Header::Data(data) => data,
        control => return Ok(Opened::Control(control)),
    };
    let length = usize::from(data.length);
    let here = frame.payload.len();
    let [head, body] = frame.payload.slices();
    let check = u32::from_le_bytes(frame_check(&[&frame.header, head, body]));
    let received = frame.trailer[..].try_into().map(u32::from_le_bytes);
    let mismatch = received.ok().filter(|_| here == length).map(|received| received ^ check);
    let good = mismatch == Some(0);
    let missing = length.saturating_sub(here) as u32;
    frame.payload.truncate(length);
    frame.damage = Damage {
        frame: if good { Check::Good } else { Check::Bad },
        header: Check::Good,
        missing,
        ..Damage::default()
    };
    frame.header.clear();
    frame.trailer.clear();
    Ok(Opened::Data(data, mismatch))
}

#[cfg(test)]
mod tests;
