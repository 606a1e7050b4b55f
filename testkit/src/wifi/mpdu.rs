//! The frames of the miniature station: the sizes of 802.11, few of its fields.

use arrayvec::ArrayVec;
use windfall_base::Frame;

/// Bytes of a data header.
const DATA: usize = 24;
/// Bytes of an acknowledgement before its check.
const ACK: usize = 10;
/// Bytes of the frame check.
const FCS: usize = 4;

/// The type of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It carries a packet.
    Data,
    /// It says that one arrived.
    Ack,
}

/// The fields of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mpdu {
    /// The type of this frame.
    pub kind: Kind,
    /// Whom it is for.
    pub to: u8,
    /// Whom it is from; zero in an acknowledgement, as there.
    pub from: u8,
    /// The number of the packet.
    pub sequence: u16,
}

impl Mpdu {
    /// Puts the header and the check around the payload of `frame`.
    pub fn wrap(&self, frame: &mut Frame) {
        let [high, low] = self.sequence.to_be_bytes();
        let (kind, length) = match self.kind {
            Kind::Data => (0x08, DATA),
            Kind::Ack => (0xd4, ACK),
        };
        let mut header = ArrayVec::new();
        header.extend([kind, self.to, self.from, high, low]);
        header.extend(std::iter::repeat_n(0, length - 5));
        frame.header = header;
        frame.trailer.clear();
        let check = crc32(frame).to_le_bytes();
        frame.trailer.extend(check);
    }

    /// Takes the header and the check off again; `None` if the check fails or nothing fits.
    pub fn unwrap(frame: &mut Frame) -> Option<Self> {
        let trailer = std::mem::take(&mut frame.trailer);
        let header = &frame.header;
        let kind = match (header.first(), header.len()) {
            (Some(0x08), DATA) => Kind::Data,
            (Some(0xd4), ACK) => Kind::Ack,
            _ => return None,
        };
        let sequence = u16::from_be_bytes([header[3], header[4]]);
        let mpdu = Self { kind, to: header[1], from: header[2], sequence };
        if trailer.len() != FCS || trailer[..] != crc32(frame).to_le_bytes() {
            return None;
        }
        frame.header.clear();
        Some(mpdu)
    }
}

/// A frame in a few words.
#[must_use]
pub fn describe(frame: &Frame) -> String {
    let length = frame.len();
    match Mpdu::unwrap(&mut frame.clone()) {
        Some(Mpdu { kind: Kind::Data, to, sequence, .. }) => {
            format!("data {sequence} to {to} len={length}")
        }
        Some(Mpdu { kind: Kind::Ack, to, .. }) => format!("ack to {to}"),
        None if frame.header.is_empty() => format!("packet len={length}"),
        None => format!("damaged len={length}"),
    }
}

/// CRC-32 of IEEE 802.3 over all of `frame` but its trailer, bit by bit.
fn crc32(frame: &Frame) -> u32 {
    let [header, head, body, _] = frame.slices();
    let bytes = header.iter().chain(head).chain(body);
    !bytes.fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_gives_the_known_value() {
        let frame = Frame::packet(b"123456789".to_vec());
        assert_eq!(crc32(&frame), 0xcbf4_3926);
    }

    #[test]
    fn every_inverted_bit_is_noticed() {
        let mpdu = Mpdu { kind: Kind::Data, to: 2, from: 1, sequence: 300 };
        let mut frame = Frame::packet(vec![7; 20]);
        mpdu.wrap(&mut frame);
        assert_eq!(Mpdu::unwrap(&mut frame.clone()), Some(mpdu));
        for bit in 0..frame.len() as u32 * 8 {
            let mut damaged = frame.clone();
            damaged.invert(&[bit]);
            assert_eq!(Mpdu::unwrap(&mut damaged), None, "bit {bit}");
        }
    }
}
