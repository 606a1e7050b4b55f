//! SYN cookies: half-open connections that cost no memory (RFC 4987, section 3.6).
//!
//! A cookie is an initial sequence number: five bits of time in steps of 64 s, three that name the
//! segment size, and 24 of a keyed hash over these, the ends and the peer's number.

use windfall_base::Instant;
use windfall_base::seq::Seq32;
use windfall_wire_net::{TcpFlags, TcpOptions, TcpRepr};

use super::{TcpEndpoint, words};
use crate::config::TcpConfig;
use crate::connection::SocketPair;
use crate::connection::ecn::is_accurate;
use crate::segment::Segment;

/// The segment sizes that a cookie can remember.
const SIZES: [u16; 8] = [216, 536, 1200, 1220, 1380, 1440, 1460, 2256];
/// The step of the time in a cookie, in seconds.
const STEP: u64 = 64;

impl TcpEndpoint {
    fn cookie(&self, step: u64, size: u32, path: &SocketPair, peer: Seq32) -> u32 {
        let [a, b, c, d, ports] = words(path);
        let made = [a, b, c, d, ports, step << 8 | u64::from(size), u64::from(peer.0)];
        let hash = self.secret.hash(&made) as u32 & 0x00ff_ffff;
        (step as u32 & 31) << 27 | size << 24 | hash
    }

    /// Returns the answer to a SYN that remembers it.
    pub(super) fn cookie_answer(
        &self,
        now: Instant,
        config: &TcpConfig,
        path: &SocketPair,
        syn: &Segment,
    ) -> TcpRepr {
        let offered = syn.header.options.mss.unwrap_or(SIZES[1]);
        let size = SIZES.iter().rposition(|size| *size <= offered).unwrap_or(0) as u32;
        let step = now.as_nanos() / 1_000_000_000 / STEP;
        // Accurate ECN is the one kind that the cookie need not remember: the acknowledgment shows
        // whether it was agreed on (RFC 9768, section 5.1).
        let flags = TcpFlags::SYN | TcpFlags::ACK;
        let accurate = config.accurate_ecn && is_accurate(syn.header.flags);
        TcpRepr {
            src_port: path.local.port(),
            dst_port: path.remote.port(),
            seq: Seq32(self.cookie(step, size, path, syn.header.seq)),
            ack: syn.header.seq.next(),
            flags: if accurate { flags.reflecting(syn.ecn) } else { flags },
            window: config.first_receive_buffer().min(65_535) as u16,
            urgent: 0,
            options: TcpOptions { mss: Some(config.mss), ..TcpOptions::default() },
        }
    }

    /// Returns the SYN that an acknowledgment answers, if it holds a cookie of the last two
    /// minutes.
    pub(super) fn check_cookie(
        &self,
        now: Instant,
        path: &SocketPair,
        ack: &Segment,
    ) -> Option<Segment> {
        if self.cookies == 0 || ack.has_any(TcpFlags::SYN) {
            return None;
        }
        let cookie = ack.header.ack.0.wrapping_sub(1);
        let peer = Seq32(ack.header.seq.0.wrapping_sub(1));
        let size = cookie >> 24 & 7;
        let step = now.as_nanos() / 1_000_000_000 / STEP;
        let recent = [Some(step), step.checked_sub(1)];
        let fresh = recent.into_iter().flatten();
        fresh.map(|step| self.cookie(step, size, path, peer)).find(|made| *made == cookie)?;
        let options = TcpOptions { mss: Some(SIZES[size as usize]), ..TcpOptions::default() };
        // This asks for accurate ECN, and not for the older kind.
        let asks = TcpFlags::SYN | TcpFlags::AE;
        let header = TcpRepr {
            seq: peer,
            flags: if ack.header.flags.ace() > 1 { asks } else { TcpFlags::SYN },
            window: ack.header.window,
            options,
            ..TcpRepr::default()
        };
        Some(Segment { header, ..Segment::default() })
    }
}
