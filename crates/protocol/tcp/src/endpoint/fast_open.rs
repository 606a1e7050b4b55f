//! Cookies that prove an address: which the servers have given us, and which we give (RFC 7413).

use std::collections::{BTreeMap, VecDeque};

use core::net::IpAddr;

use windfall_base::seq::Seq32;
use windfall_wire_net::TcpFlags;
use windfall_wire_net::tcp::FastOpenCookie;

use crate::config::TcpConfig;
use crate::connection::SocketPair;
use crate::connection::fast_open::{FastOpen, cookie_of};
use crate::lookup::ConnectionKey;
use crate::segment::Segment;
use crate::siphash::SipKey;

/// Servers whose cookies are remembered.
const SERVERS: usize = 256;
/// SYNs with data that are remembered, so that a late copy of one is not taken for another.
const TAKEN: usize = 1024;

/// The cookies of an endpoint.
#[derive(Debug, Default)]
pub(super) struct FastOpens {
    /// By the server's address, with the segment size that it named.
    known: BTreeMap<IpAddr, (FastOpenCookie, u16)>,
    taken: VecDeque<(SocketPair, Seq32)>,
}

/// Returns the cookie that proves `client` to whoever has `secret`.
fn cookie(secret: &SipKey, client: IpAddr) -> FastOpenCookie {
    let words = match client {
        IpAddr::V4(v4) => [4, 0, u64::from(v4.to_bits())],
        IpAddr::V6(v6) => [6, (v6.to_bits() >> 64) as u64, v6.to_bits() as u64],
    };
    cookie_of(secret.hash(&words))
}

impl FastOpens {
    /// Decides how to open a connection to `server`.
    pub(super) fn towards(&self, config: &TcpConfig, server: IpAddr) -> FastOpen {
        match self.known.get(&server) {
            _ if !config.fast_open => FastOpen::Off,
            Some((cookie, size)) => FastOpen::Ready(cookie.clone(), *size),
            None => FastOpen::Ask(FastOpenCookie::new()),
        }
    }

    /// Notes what the answer to a SYN says of the cookie for next time.
    pub(super) fn learn(
        &mut self,
        key: &ConnectionKey,
        granted: Option<(FastOpenCookie, u16)>,
        retransmitted: bool,
    ) {
        match granted {
            Some(granted) => {
                if self.known.len() >= SERVERS {
                    self.known.pop_first();
                }
                self.known.insert(key.remote, granted);
            }
            // Something on the way may have swallowed the SYN with its data.
            None if retransmitted => drop(self.known.remove(&key.remote)),
            None => {}
        }
    }

    /// Decides how to answer a SYN to a listener, and whether to take its data.
    ///
    /// A copy of a SYN whose data were taken before is answered as an ordinary one (RFC 7413,
    /// section 2.1, leaves this to the application).
    //= S2.17
    pub(super) fn judge(
        &mut self,
        config: &TcpConfig,
        secret: &SipKey,
        path: &SocketPair,
        syn: &Segment,
    ) -> (FastOpen, bool) {
        let Some(shown) = syn.header.options.fast_open.as_ref().filter(|_| config.fast_open) else {
            return (FastOpen::Off, false);
        };
        let made = cookie(secret, path.remote.ip());
        if *shown != made {
            return (FastOpen::Ask(made), false);
        }
        let mark = (*path, syn.header.seq);
        let fits = !syn.data.is_empty() && !syn.has_any(TcpFlags::FIN) && syn.missing == 0;
        if !fits || self.taken.contains(&mark) {
            return (FastOpen::Off, false);
        }
        if self.taken.len() >= TAKEN {
            self.taken.pop_front();
        }
        self.taken.push_back(mark);
        (FastOpen::Early, true)
    }
}
