//! Frames of the Radio Link Protocol of GSM, version 0 and 1 (GSM 04.22, 3GPP TS 24.022).
//!
//! | octets | field |
//! |---|---|
//! | 0, 1 | header, least significant bit first: C/R, S1 S2, N(S) of six bits, P/F, N(R) of six bits |
//! | 2 … 26 | information |
//! | 27 … 29 | frame check of 24 bits over all before it, least significant octet first |
//!
//! Numbers run from 0 to 61: an N(S) of 62 marks a supervisory frame, 63 an unnumbered one, whose
//! kind stands in the place of N(R). Every information frame carries a supervisory function too.

use arrayvec::ArrayVec;
use thiserror::Error;

/// Octets of a frame, 240 bits: one block of the radio.
pub const RLP_FRAME_LEN: usize = 30;
/// Octets of information in a frame.
pub const RLP_INFO_LEN: usize = 25;
/// Frames are numbered from 0 to one less.
pub const RLP_MODULUS: u8 = 62;

const SUPERVISORY: u8 = 62;
const UNNUMBERED: u8 = 63;
const HEADER_LEN: usize = 2;
const CHECKED: usize = HEADER_LEN + RLP_INFO_LEN;

/// The information field of a frame.
pub type RlpInfo = [u8; RLP_INFO_LEN];

/// The supervisory function of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Supervisory {
    /// Receive ready: all before N(R) arrived.
    Rr = 0,
    /// Receive not ready: as RR, and the peer has to pause.
    Rnr = 1,
    /// Reject: retransmit everything from N(R) on.
    Rej = 2,
    /// Selective reject: retransmit the frame N(R) alone; acknowledges nothing.
    Srej = 3,
}

/// The kind of an unnumbered frame; the value is M1 … M5, least significant bit first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Unnumbered {
    /// Unnumbered information, which is not repeated.
    Ui = 0x00,
    /// Disconnected mode: there is no connection.
    Dm = 0x03,
    /// Set asynchronous balanced mode: connect, or reset.
    Sabm = 0x07,
    /// Disconnect: end the connection.
    Disc = 0x08,
    /// Unnumbered acknowledgement of a command.
    Ua = 0x0c,
    /// Sent where there is nothing to send.
    Null = 0x0f,
    /// Remap after a change of the channel coding.
    Remap = 0x11,
    /// Exchange of parameters.
    Xid = 0x17,
    /// The peer returns the same information.
    Test = 0x1c,
}

impl Unnumbered {
    const ALL: [Self; 9] = [
        Self::Ui,
        Self::Dm,
        Self::Sabm,
        Self::Disc,
        Self::Ua,
        Self::Null,
        Self::Remap,
        Self::Xid,
        Self::Test,
    ];
}

/// The control part of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RlpControl {
    /// An unnumbered frame.
    Unnumbered(Unnumbered),
    /// A supervisory frame.
    Supervisory {
        /// The supervisory function.
        function: Supervisory,
        /// N(R): the frame that the function is about.
        nr: u8,
    },
    /// An information frame with a supervisory function (I+S).
    Information {
        /// Its supervisory function.
        function: Supervisory,
        /// N(S): the frame's own number.
        ns: u8,
        /// N(R): the frame that the function is about.
        nr: u8,
    },
}

/// A frame of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RlpFrame {
    /// Command rather than response: the bit P/F is a poll, not a final.
    pub command: bool,
    /// The bit P/F.
    pub poll_final: bool,
    /// The control part.
    pub control: RlpControl,
    /// The information field; of meaning in I+S, UI, XID and TEST.
    pub info: RlpInfo,
}

/// Why octets are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RlpError {
    /// They are not as many as a frame has.
    #[error("{0} octets instead of {RLP_FRAME_LEN}")]
    Length(usize),
    /// The frame check failed.
    #[error("the frame check failed")]
    Check,
    /// N(R) is beyond the modulus.
    #[error("N(R) is {0}, but the modulus is {RLP_MODULUS}")]
    Number(u8),
    /// No unnumbered frame has this kind.
    #[error("unnumbered frame 0x{0:02x} does not exist")]
    Kind(u8),
}

/// The frame check of GSM 04.22, section 4.4, as a number whose least significant octet comes
/// first.
#[must_use]
pub fn fcs24(bytes: &[u8]) -> u32 {
    let sum =
        bytes.iter().fold(ONES24, |sum, byte| (sum >> 8) ^ FCS24[usize::from(sum as u8 ^ byte)]);
    sum ^ ONES24
}

const ONES24: u32 = 0xff_ffff;

static FCS24: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 1 == 0 { sum >> 1 } else { (sum >> 1) ^ 0xad_85dd };
            bit += 1;
        }
        table[byte] = sum;
        byte += 1;
    }
    table
};

impl RlpFrame {
    /// The frame as it is sent.
    #[must_use]
    pub fn encode(&self) -> [u8; RLP_FRAME_LEN] {
        let (function, ns, nr) = match self.control {
            RlpControl::Unnumbered(kind) => (0, UNNUMBERED, kind as u8),
            RlpControl::Supervisory { function, nr } => (function as u8, SUPERVISORY, nr),
            RlpControl::Information { function, ns, nr } => (function as u8, ns, nr),
        };
        let mut bytes = [0; RLP_FRAME_LEN];
        bytes[0] = u8::from(self.command) | function << 1 | ns << 3;
        bytes[1] = ns >> 5 & 1 | u8::from(self.poll_final) << 1 | nr << 2;
        bytes[HEADER_LEN..CHECKED].copy_from_slice(&self.info);
        let check = fcs24(&bytes[..CHECKED]).to_le_bytes();
        bytes[CHECKED..].copy_from_slice(&check[..3]);
        bytes
    }

    /// Reads a frame.
    ///
    /// # Errors
    /// If the octets are not 30, fail their check, or have a value that no sender writes.
    pub fn parse(bytes: &[u8]) -> Result<Self, RlpError> {
        let wrong_length = RlpError::Length(bytes.len());
        let bytes: &[u8; RLP_FRAME_LEN] = bytes.try_into().map_err(|_| wrong_length)?;
        let (checked, check) = bytes.split_at(CHECKED);
        if fcs24(checked).to_le_bytes()[..3] != *check {
            return Err(RlpError::Check);
        }
        let ns = bytes[0] >> 3 | (bytes[1] & 1) << 5;
        let nr = bytes[1] >> 2;
        let function = match bytes[0] >> 1 & 3 {
            0 => Supervisory::Rr,
            1 => Supervisory::Rnr,
            2 => Supervisory::Rej,
            _ => Supervisory::Srej,
        };
        let control = if ns == UNNUMBERED {
            let kind = Unnumbered::ALL.into_iter().find(|kind| *kind as u8 == nr & 0x1f);
            RlpControl::Unnumbered(kind.ok_or(RlpError::Kind(nr & 0x1f))?)
        } else if nr >= RLP_MODULUS {
            return Err(RlpError::Number(nr));
        } else if ns == SUPERVISORY {
            RlpControl::Supervisory { function, nr }
        } else {
            RlpControl::Information { function, ns, nr }
        };
        let mut info = [0; RLP_INFO_LEN];
        info.copy_from_slice(&bytes[HEADER_LEN..CHECKED]);
        let [command, poll_final] = [bytes[0] & 1 != 0, bytes[1] & 2 != 0];
        Ok(Self { command, poll_final, control, info })
    }
}

/// The parameters that XID frames negotiate; those that a frame does not name are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XidParameters {
    /// The version of the protocol.
    pub version: Option<u8>,
    /// Window from the interworking function to the mobile station, in frames.
    pub window_down: Option<u8>,
    /// Window from the mobile station to the interworking function, in frames.
    pub window_up: Option<u8>,
    /// T1, the acknowledgement timer, in units of 10 ms.
    pub t1: Option<u8>,
    /// N2, the attempts of a retransmission.
    pub n2: Option<u8>,
    /// T2, the reply delay, in units of 10 ms.
    pub t2: Option<u8>,
}

const DELIMITER: u8 = 0;

impl XidParameters {
    /// The information field with these parameters.
    #[must_use]
    pub fn encode(&self) -> RlpInfo {
        let all = [self.version, self.window_down, self.window_up, self.t1, self.n2, self.t2];
        let named = (1_u8..).zip(all).filter_map(|(kind, value)| Some([kind << 4 | 1, value?]));
        let bytes: ArrayVec<u8, RLP_INFO_LEN> = named.flatten().collect();
        let mut info = [DELIMITER; RLP_INFO_LEN];
        info[..bytes.len()].copy_from_slice(&bytes);
        info
    }

    /// Reads the parameters in an information field; unknown ones are ignored, and so is one that
    /// is cut off.
    #[must_use]
    pub fn parse(info: &[u8]) -> Self {
        let mut found = Self::default();
        let mut rest = info;
        while let [head, behind @ ..] = rest {
            let kind = head >> 4;
            let len = usize::from(head & 0xf);
            let Some((value, behind)) = behind.split_at_checked(len) else { break };
            rest = behind;
            let place = match kind {
                DELIMITER => break,
                1 => &mut found.version,
                2 => &mut found.window_down,
                3 => &mut found.window_up,
                4 => &mut found.t1,
                5 => &mut found.n2,
                6 => &mut found.t2,
                _ => continue,
            };
            if let [value] = value {
                *place = Some(*value);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests;
