//! One end of a circuit of either service: characters in, blocks out, and back.

use windfall_base::{Duration, Instant};
use windfall_circuit::rlp::{RlpConfig, RlpLink, RlpRole, SLOT, TransparentLine, TransparentMode};

use super::CircuitService;

/// Characters that wait at the sender at most; more than any clip has.
const BUFFER: usize = 1 << 28;

pub(super) enum ServiceEnd {
    Transparent(TransparentMode, TransparentLine),
    Rlp {
        link: Box<RlpLink>,
        /// The slots so far are its clock.
        slots: u64,
    },
}

impl ServiceEnd {
    pub(super) fn new(service: CircuitService, calls: bool) -> Self {
        let mode = match service {
            CircuitService::Transparent => Some(TransparentMode::Asynchronous),
            CircuitService::Synchronous => Some(TransparentMode::Synchronous),
            CircuitService::Rlp => None,
        };
        if let Some(mode) = mode {
            return Self::Transparent(mode, TransparentLine::new(mode, 0x7e));
        }
        let role = if calls { RlpRole::Mobile } else { RlpRole::Network };
        let mut link = RlpLink::new(RlpConfig { buffer: BUFFER, ..RlpConfig::standard(role) });
        if calls {
            link.connect();
        }
        Self::Rlp { link: Box::new(link), slots: 0 }
    }

    pub(super) fn write(&mut self, characters: &[u8]) {
        match self {
            Self::Transparent(_, line) => line.write(characters),
            Self::Rlp { link, .. } => {
                link.write(characters);
            }
        }
    }

    /// Characters that wait for their first sending.
    pub(super) fn unsent(&self) -> usize {
        match self {
            Self::Transparent(_, line) => line.unsent(),
            Self::Rlp { link, .. } => link.unsent(),
        }
    }

    /// Characters that are not with the peer, as far as this end can know.
    pub(super) fn unfinished(&self) -> usize {
        match self {
            Self::Transparent(_, line) => line.unfinished(),
            Self::Rlp { link, .. } => link.unacknowledged(),
        }
    }

    /// Whole characters that a block has room for.
    pub(super) const fn in_a_block(&self) -> u64 {
        match self {
            Self::Transparent(TransparentMode::Asynchronous, _) => 19,
            Self::Transparent(TransparentMode::Synchronous, _) | Self::Rlp { .. } => 24,
        }
    }

    pub(super) fn next_block(&mut self) -> [u8; 30] {
        match self {
            Self::Transparent(_, line) => line.next_block(),
            Self::Rlp { link, slots } => {
                *slots += 1;
                link.next_frame(at(*slots))
            }
        }
    }

    /// Takes a block, and returns the characters that have come.
    pub(super) fn handle_block(&mut self, block: &[u8; 30]) -> Vec<u8> {
        match self {
            Self::Transparent(_, line) => {
                let mut characters = Vec::new();
                line.handle_block(block, &mut characters);
                characters
            }
            Self::Rlp { link, slots } => {
                // It counts damaged blocks itself.
                let _ = link.handle_frame(at(*slots), block);
                link.read()
            }
        }
    }
}

fn at(slots: u64) -> Instant {
    let since: Duration = SLOT * slots;
    Instant::START + since
}
