//! The options of a layer: what to ask for, and what to grant.

use windfall_wire_link::ppp::{ControlCode, PppOption, options};

/// The judgement on one option of the peer.
pub(crate) enum Verdict {
    /// It is granted.
    Grant,
    /// This value would be granted.
    Correct(Vec<u8>),
    /// It is not negotiable.
    Refuse,
}

/// The options of one control protocol.
pub(crate) trait Negotiation {
    /// Appends the options to ask for.
    fn request(&self, data: &mut Vec<u8>);

    /// Judges an option of the peer; a granted value is remembered.
    fn judge(&mut self, option: PppOption<'_>) -> Verdict;

    /// Takes the value that the peer would grant instead.
    fn correct(&mut self, option: PppOption<'_>);

    /// Does without the option from now on.
    fn refuse(&mut self, kind: u8);

    /// Returns `true` if the peer sends what this end has sent.
    fn is_looped(&self) -> bool {
        false
    }

    /// Drops the options granted to the peer, before they are negotiated again.
    fn forget_peer(&mut self);
}

/// The answer to a request: the code and the options in it.
pub(crate) struct Answer {
    pub(crate) code: ControlCode,
    pub(crate) data: Vec<u8>,
}

/// Judges the options of a request (RFC 1661, 5.2 to 5.4): all that are refused, else all that are
/// corrected, else everything granted. Corrections become refusals where `patience` has ended.
///
/// `None` if the options cannot be read: such a packet is discarded.
pub(crate) fn answer(
    negotiation: &mut impl Negotiation,
    data: &[u8],
    patience: bool,
) -> Option<Answer> {
    let list: Vec<PppOption<'_>> = options(data).collect::<Result<_, _>>().ok()?;
    negotiation.forget_peer();
    let mut corrected = Vec::new();
    let mut refused = Vec::new();
    for option in list {
        match negotiation.judge(option) {
            Verdict::Grant => {}
            Verdict::Correct(value) if patience => {
                PppOption { kind: option.kind, value: &value }.encode(&mut corrected);
            }
            Verdict::Correct(_) | Verdict::Refuse => option.encode(&mut refused),
        }
    }
    Some(if !refused.is_empty() {
        Answer { code: ControlCode::ConfigureReject, data: refused }
    } else if !corrected.is_empty() {
        Answer { code: ControlCode::ConfigureNak, data: corrected }
    } else {
        Answer { code: ControlCode::ConfigureAck, data: data.to_vec() }
    })
}
