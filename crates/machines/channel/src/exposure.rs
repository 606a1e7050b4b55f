//! The parts of a frame that the air may damage.

/// The bits that the air may hit besides the packet that a frame carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exposure {
    /// Bits of the link header may be inverted.
    pub header: bool,
    /// Bits of the link trailer may be inverted.
    pub trailer: bool,
    /// Frames that are neither packets nor repairs of some (link ACKs, polls) may be lost and
    /// damaged, and are counted.
    pub control: bool,
}

impl Exposure {
    /// Everything may be hit.
    pub const ALL: Self = Self { header: true, trailer: true, control: true };
}
