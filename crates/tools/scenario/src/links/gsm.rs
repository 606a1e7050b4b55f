//! From what a scenario says of a GSM circuit to its medium and ends.

use windfall_base::Rate;
use windfall_channel::{Exposure, GsmBlocks, Line, MediumConfig, PathConfig, PipeMediumConfig};
use windfall_link::Arq;
use windfall_settings::Get;
use windfall_stack::{GsmLinkConfig, GsmService, GsmTunnel, LinkLayerConfig};

use crate::direction::Direction;
use crate::error::SettingFault;
use crate::flows::{self, Capacity};
use crate::link::{Link, Modem};
use crate::links::{Parts, air, arq, interface};
use crate::model::Scenario;
use crate::plan::Files;
use crate::side::Side;

/// A block of 240 bits every 20 ms.
const BLOCK_RATE: Rate = Rate::from_bps(12_000).expect("a rate");
/// The rate of the circuit to its user: 192 bits of each block.
pub(crate) const SERVICE_RATE: Rate = Rate::from_bps(9_600).expect("a rate");
/// Flags, address, control, protocol and check of PPP.
const PPP_LEN: usize = 8;

//= S1.13
/// A circuit of 9.6 kb/s; the first station is the mobile one, which calls.
pub(crate) fn gsm(
    link: &Link,
    scenario: &Scenario,
    files: &mut Files<'_, '_>,
) -> Result<Parts, SettingFault> {
    let [up, down] = Side::BOTH.map(|side| link.direction(side));
    let mut path = |direction: &Direction, place| -> Result<PathConfig, SettingFault> {
        let line = Line::Rate(BLOCK_RATE);
        let delay = direction.delay.value().unwrap_or_else(GsmBlocks::interleaving_delay);
        let mut air = air(direction, files, place)?;
        // A block is all packet to the air, whatever is in it.
        air.exposure = Exposure::ALL;
        Ok(PathConfig { line, delay, air, ..PathConfig::default() })
    };
    let forward = path(&up, windfall_base::Seed(1))?;
    let backward = path(&down, windfall_base::Seed(2))?;
    let medium = MediumConfig::Pipe(Box::new(PipeMediumConfig { forward, backward }));
    let end = |own: &Direction, others: &Direction, calls: bool| {
        let service = match link.modem.value() {
            Some(modem) => GsmService::Modems { compresses: modem == Modem::Mnp5 },
            None => service(own),
        };
        let of_packets = |bytes: usize| {
            let share = bytes as f64 / (bytes + PPP_LEN) as f64;
            Rate::from_bps((service_rate(service) * share) as u64)
        };
        let capacity = Capacity { mtu: link.mtu(), of_packets: &of_packets, taken: 0.0 };
        let (rules, flows) =
            flows::admit(&scenario.flows, &capacity, scenario.run.admits_too_much())?;
        let accept_damaged = others.accept_damaged.value().unwrap_or(false);
        let tunnel = link.tunnel.value().filter(|_| !calls).map(|depth| GsmTunnel {
            depth,
            skew: link.clock_skew.value().unwrap_or(0.0).round() as i32,
        });
        let end = LinkLayerConfig::Gsm(GsmLinkConfig { service, calls, accept_damaged, tunnel });
        Ok(windfall_stack::InterfaceConfig { rules, flows, ..interface(link, [own, others], end) })
    };
    Ok((medium, vec![end(&up, &down, true)?, end(&down, &up, false)?]))
}

//= S1.14
/// Bits of characters in a second: 960 with start and stop bits, in frames of modems less their
/// headers, 1200 in frames of RLP.
fn service_rate(service: GsmService) -> f64 {
    match service {
        GsmService::Transparent => 7_680.0,
        GsmService::Modems { .. } => 7_400.0,
        GsmService::NonTransparent { .. } => 9_600.0,
    }
}

/// No retransmission is the transparent service; any is RLP, and its limit N2.
fn service(direction: &Direction) -> GsmService {
    match arq(direction, Arq::None) {
        Arq::None => GsmService::Transparent,
        Arq::Persistent => GsmService::NonTransparent { n2: u8::MAX - 1 },
        Arq::Attempts(attempts) => GsmService::NonTransparent { n2: attempts.get() - 1 },
    }
}
