//! Frames of modems on an asynchronous line.

const SYN: u8 = 0x16;
const DLE: u8 = 0x10;
const STX: u8 = 0x02;
const ETX: u8 = 0x03;
/// The types of frames: data (LT) and acknowledgement (LA), both in their short form.
const DATA: u8 = 4;
const ACKNOWLEDGEMENT: u8 = 5;
/// Octets of the header of a data frame: its length without itself, the type, the number.
const DATA_HEADER: [u8; 2] = [2, DATA];
const ANSWER_HEADER: [u8; 2] = [3, ACKNOWLEDGEMENT];
/// Frames that the receiver has room for; the sender's window is no larger.
const CREDIT: u8 = 8;
/// The longest frame without its marks.
const LONGEST: usize = 300;

/// A frame with a number modulo 256.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MnpFrame {
    /// Data, by their number.
    Data { number: u8, data: Vec<u8> },
    /// All up to this number has come.
    Acknowledgement { number: u8 },
}

impl MnpFrame {
    pub(super) fn encode(&self) -> Vec<u8> {
        let content = match self {
            Self::Data { number, data } => [&DATA_HEADER[..], &[*number], data].concat(),
            Self::Acknowledgement { number } => [&ANSWER_HEADER[..], &[*number, CREDIT]].concat(),
        };
        let mut out = vec![SYN, DLE, STX];
        for octet in &content {
            out.extend(core::iter::repeat_n(*octet, 1 + usize::from(*octet == DLE)));
        }
        out.extend([DLE, ETX]);
        out.extend(check(content.iter().chain([&ETX])).to_le_bytes());
        out
    }

    fn parse(content: &[u8]) -> Option<Self> {
        match content {
            [2, DATA, number, data @ ..] => {
                Some(Self::Data { number: *number, data: data.to_vec() })
            }
            [3, ACKNOWLEDGEMENT, number, _] => Some(Self::Acknowledgement { number: *number }),
            _ => None,
        }
    }
}

/// CRC-16 with the polynomial x¹⁶ + x¹⁵ + x² + 1, least significant bits first, from 0.
fn check<'a>(octets: impl Iterator<Item = &'a u8>) -> u16 {
    octets.fold(0, |crc, octet| {
        (0..8).fold(crc ^ u16::from(*octet), |crc, _| {
            crc >> 1 ^ if crc & 1 == 1 { 0xa001 } else { 0 }
        })
    })
}

/// The place in a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Outside,
    Syn,
    Begin,
    Content,
    Escape,
    Check,
    CheckEnd(u8),
}

/// Finds frames among the characters of a line.
#[derive(Clone, Debug, Default)]
pub(super) struct Deframer {
    place: Place,
    content: Vec<u8>,
}

impl Deframer {
    /// Takes a character: the frame that ends with it, or `Some(None)` if that was damaged.
    pub(super) fn take(&mut self, octet: u8) -> Option<Option<MnpFrame>> {
        let is_long = self.content.len() > LONGEST;
        self.place = match (self.place, octet) {
            (Place::Content | Place::Escape, _) if is_long => {
                self.content.clear();
                self.place = Place::Outside;
                return Some(None);
            }
            (Place::Outside | Place::Syn, SYN) => Place::Syn,
            (Place::Syn, DLE) => Place::Begin,
            (Place::Begin, STX) => {
                self.content.clear();
                Place::Content
            }
            (Place::Outside | Place::Syn | Place::Begin, _) => Place::Outside,
            (Place::Content, DLE) => Place::Escape,
            (Place::Content, octet) => {
                self.content.push(octet);
                Place::Content
            }
            (Place::Escape, DLE) => {
                self.content.push(DLE);
                Place::Content
            }
            (Place::Escape, ETX) => Place::Check,
            (Place::Escape, STX) => {
                // The end of the frame before this one was lost.
                self.content.clear();
                self.place = Place::Content;
                return Some(None);
            }
            (Place::Escape, octet) => {
                // Perhaps the beginning of the next frame.
                self.place = if octet == SYN { Place::Syn } else { Place::Outside };
                return Some(None);
            }
            (Place::Check, low) => Place::CheckEnd(low),
            (Place::CheckEnd(low), high) => {
                self.place = Place::Outside;
                let is_right =
                    check(self.content.iter().chain([&ETX])) == u16::from_le_bytes([low, high]);
                let frame = MnpFrame::parse(&self.content).filter(|_| is_right);
                self.content.clear();
                return Some(frame);
            }
        };
        None
    }
}
