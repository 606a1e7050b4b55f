//! How often a link repeats what its receiver did not get.

use core::num::NonZeroU8;

use windfall_base::Class;

/// The persistence of a link's retransmission (S3.10, S3.12). The owner of a packet may override it
/// by [`Class::attempts`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arq {
    /// Never: each packet is sent once and forgotten.
    #[default]
    None,
    /// Until the receiver has it.
    Persistent,
    /// This number of attempts in all; then the packet is given up.
    Attempts(NonZeroU8),
}

impl Arq {
    /// Attempts in all for a packet of `class`; `None` is without limit.
    #[must_use]
    pub fn limit(self, class: &Class) -> Option<u32> {
        if let Some(attempts) = class.attempts {
            return Some(u32::from(attempts.get()));
        }
        match self {
            Self::None => Some(1),
            Self::Persistent => None,
            Self::Attempts(attempts) => Some(u32::from(attempts.get())),
        }
    }
}
