//! The settings of a station, of its interfaces and of its routes.

use core::net::IpAddr;

use toml::Spanned;
use windfall_base::Rate;
use windfall_energy::EnergyModel;
use windfall_energy::processor::{Processor, System};
use windfall_stack::{AssistConfig, CorruptionFilter, ProcessorConfig, SnoopConfig};

use windfall_settings::tcp::TcpSettings;
use windfall_settings::{Get, Settings, settings};

use crate::values::Prefix;
use crate::wifi::StationRadio;

settings! {
    /// The settings of a station, a host with an interface on every link that names it.
    pub struct Station {
        /// Forward packets between its interfaces
        "forward" forward: bool { value: "SWITCH", example: "on", default: "off" }
        /// Simulate its host and its applications even where those of others are real
        "simulated" simulated: bool { value: "SWITCH", example: "on", default: "off" }
        /// Settings of the TCP of a simulated host
        "tcp" tcp: TcpSettings {
            value: "SETTINGS", example: "new-reno, min-rto=500ms", default: "cubic",
            detail: "[tcp-engine.md](tcp-engine.md#settings) has the settings.",
        }
        /// Energy model: a preset, or a file NAME.toml
        "energy" energy: String {
            value: "MODEL", example: "laptop-2000", unset: "the `energy` of the run",
            requirement: "S2.22",
            detail: "[energy.md](energy.md#models) describes them.",
        }
        /// Speed of the processor of a simulated host: the rate at which its TCP takes full
        /// segments of 1500 bytes
        "processor" processor: Rate {
            value: "RATE", example: "6Mbps", unset: "work takes no time", requirement: "S2.13",
            detail: "[energy.md](energy.md#processor-time) describes it.",
        }
        /// Received packets that may wait for the processor
        "backlog" backlog: usize [1..=1_000_000] {
            value: "PACKETS", example: "50", default: "300", needs: "processor",
            detail: "More are dropped as `receive-buffer`.",
        }
    }
    required {
        /// Name of the station, unique in the scenario whatever its case
        "name" name: String {
            value: "NAME", example: "near",
            detail: "1 to 32 letters, digits, hyphens and underscores.",
        }
    }
    parts {
        /// The radio of the station, on links of 802.11.
        "radio" radio: Option<StationRadio>
        /// Interfaces that differ from those that the links alone would make.
        "interface" interfaces: Vec<StationInterface>
        /// The routes of the station; the shortest ways to every network if there are none.
        "route" routes: Vec<Route>
    }
}

settings! {
    /// The settings of the interface of a station on one link.
    pub struct StationInterface {
        /// Addresses with the lengths of their prefixes
        "addresses" addresses: Vec<Spanned<Prefix>> {
            value: "NETWORKS", example: "10.77.0.1/24,fd77::1/64", unset: "chosen automatically",
        }
        /// Drop damaged segments whose corruption detection option does not hold
        "corruption-filter" corruption_filter: bool {
            value: "SWITCH", example: "on", default: "off", requirement: "S4.11",
            detail: "[tcp-engine.md](tcp-engine.md#tcp-in-the-network) describes it.",
        }
        /// Tell the host of frames that the link knows to be lost without a trace
        "link-losses" link_losses: bool {
            value: "SWITCH", example: "off", default: "on", requirement: "S4.27",
            detail: "Its TCP makes use of that where its own `link-losses` is on; \
                     [tcp-engine.md](tcp-engine.md#losses-that-leave-no-trace) describes it.",
        }
        /// Keep segments that go out, and retransmit those that the link loses
        "snoop" snoop: bool {
            value: "SWITCH", example: "on", default: "off", requirement: "S2.18",
            detail: "[tcp-engine.md](tcp-engine.md#tcp-in-the-network) describes it.",
        }
    }
    required {
        /// Name of the link
        "link" link: String { value: "LINK", example: "near-far" }
    }
}

settings! {
    /// A route of a station.
    pub struct Route {}
    required {
        /// Network that the route leads to
        "to" to: Prefix { value: "NETWORK", example: "10.78.0.0/16" }
        /// Next station on the way, by an address on a link of this station
        "via" via: IpAddr { value: "ADDRESS", example: "10.77.0.2" }
    }
}

impl Station {
    /// A station without any setting but its name.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self { name: Spanned::new(0..0, name.to_owned()), ..Self::unset() }
    }

    /// Returns its processor, whose steps take times in proportion to the joules of its energy
    /// model.
    pub(crate) fn processor(&self, energy: Option<&EnergyModel>) -> Option<ProcessorConfig> {
        let speed = self.processor.value()?;
        let costs = energy.map(|model| model.processor).filter(|it| it.full_segment() > 0.0);
        let system = energy.map_or_else(System::default, |model| model.system);
        let processor =
            ProcessorConfig::with_speed(speed, costs.unwrap_or(Processor::SHARES), system);
        let backlog = self.backlog.value().unwrap_or(processor.backlog);
        Some(ProcessorConfig { backlog, ..processor })
    }

    /// The settings of its interface on `link`.
    pub(crate) fn interface(&self, link: &str) -> Option<&StationInterface> {
        self.interfaces.iter().find(|interface| interface.link.get_ref() == link)
    }
}

impl StationInterface {
    /// The elements that serve the TCP that crosses it.
    pub(crate) fn assist(&self) -> AssistConfig {
        let is_set = |setting: &Option<Spanned<bool>>| setting.value() == Some(true);
        AssistConfig {
            filter: is_set(&self.corruption_filter).then(CorruptionFilter::default),
            snoop: is_set(&self.snoop).then(SnoopConfig::default),
            hides_losses: self.link_losses.value() == Some(false),
        }
    }
}
