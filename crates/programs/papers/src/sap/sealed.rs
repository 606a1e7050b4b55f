//! One bit error in an approximate message of an encrypted connection.

use core::net::SocketAddr;

use windfall_base::{Duration, Instant};
use windfall_sap::{
    ConnectionId, DatagramMeta, Message, Mode, SapConfig, SapEndpoint, SapEvent, Secret, SharedKey,
};

/// The length of the message in bytes.
const MESSAGE: usize = 1_024;

/// Two ends with the same key, and the network between them.
struct Ends {
    ends: [SapEndpoint; 2],
    now: Instant,
    accepted: Option<ConnectionId>,
}

impl Ends {
    fn address(end: usize) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, 1 + end as u8], 4_000))
    }

    /// Delivers all waiting datagrams; `bit` is inverted in approximate ones.
    fn carry(&mut self, bit: Option<usize>) {
        for _ in 0..20 {
            for end in [0, 1] {
                while let Some(transmit) = self.ends[end].poll_transmit(self.now) {
                    let mut bytes = transmit.to_bytes().to_vec();
                    if transmit.exact < bytes.len()
                        && let Some(bit) = bit
                    {
                        bytes[transmit.exact + bit / 8] ^= 0x80 >> (bit % 8);
                    }
                    let now = self.now;
                    let meta = DatagramMeta::new(Self::address(end));
                    self.ends[1 - end].handle_datagram(now, &meta, &bytes.into());
                }
                while let Some((id, event)) = self.ends[end].poll_event() {
                    if matches!(event, SapEvent::Accepted { .. }) {
                        self.accepted = Some(id);
                    }
                }
            }
            self.now += Duration::from_millis(1);
            let now = self.now;
            self.ends.iter_mut().for_each(|end| end.handle_timeout(now));
        }
    }
}

//= S0.59
/// Returns the least and the greatest number of bit errors that one bit error of the datagram
/// causes.
pub(super) fn bit_errors_of_one() -> (u32, u32) {
    let ends = [1, 2].map(|byte| {
        let mut end = SapEndpoint::new(SapConfig::standard(), Secret::new([byte; 32]));
        end.set_key(SharedKey::new([3; 32]));
        end
    });
    let mut pair = Ends { ends, now: Instant::START + Duration::from_secs(1), accepted: None };
    pair.ends[1].listen(true);
    let id = pair.ends[0].connect(pair.now, Ends::address(1));
    pair.carry(None);
    let Some(accepted) = pair.accepted else { return (0, u32::MAX) };
    let mut least = u32::MAX;
    let mut most = 0;
    for bit in (0..MESSAGE * 8).step_by(37) {
        let message = Message::new(Mode::Approximate { protected: 0 }, vec![0x5a; MESSAGE]);
        pair.ends[0].send(id, &message).expect("there is room");
        pair.carry(Some(bit));
        let wrong = match pair.ends[1].receive(pair.now, accepted) {
            Some(received) => received.data.iter().map(|byte| (byte ^ 0x5a).count_ones()).sum(),
            None => u32::MAX,
        };
        (least, most) = (least.min(wrong), most.max(wrong));
    }
    (least, most)
}
