//! Energy models: presets by name, and own ones in TOML.

use serde::Deserialize;

use crate::battery::Battery;
use crate::card::Card;
use crate::error::{EnergyError, MOST_DRAWN};
use crate::processor::{Processor, System};

/// The power that a station draws, part by part, and the battery that it draws from.
#[derive(Clone, Debug, PartialEq)]
pub struct EnergyModel {
    /// Its name: that of a preset, or of the file that has it.
    pub name: String,
    /// The card of each radio of the station.
    pub card: Card,
    /// The power of everything that is there whether the station sends or not, in watts.
    pub platform_watts: f64,
    /// The costs of TCP's steps, in joules.
    pub processor: Processor,
    /// The system's way with interrupts and copies.
    pub system: System,
    /// The battery; `None`: mains.
    pub battery: Option<Battery>,
}

impl EnergyModel {
    /// A model that draws nothing, from the mains.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            card: Card::default(),
            platform_watts: 0.0,
            processor: Processor::FREE,
            system: System::default(),
            battery: None,
        }
    }

    /// Returns the preset called `name`.
    ///
    /// # Errors
    /// If there is none.
    pub fn preset(name: &str) -> Result<Self, EnergyError> {
        let model = Self::named(name);
        Ok(match name {
            "laptop-2000" => Self::laptop_2000(),
            "wifi-chip" => Self {
                card: card(3.3, 0.240, 0.100, 0.000_8),
                battery: Some(Battery::new(9.6, 0.0)?),
                ..model
            },
            "mote" => Self {
                card: card(3.0, 0.017_4, 0.018_8, 0.000_02),
                platform_watts: 3.0 * 0.001_8,
                battery: Some(Battery::new(7.5, 0.2)?),
                ..model
            },
            "phone" => Self {
                card: card(3.7, 0.190, 0.190, 0.010),
                platform_watts: 0.27,
                battery: Some(Battery::new(4.4, 0.0)?),
                ..model
            },
            _ => return Err(EnergyError::NoSuchModel { name: name.to_owned() }),
        })
    }

    //= S2.21
    //= S2.25
    /// Paper 002's laptop. `windfall reproduce S2.25` fits the power of the platform and the joules
    /// of a full segment to the lifetimes of section 5; they are of no use with another capacity.
    fn laptop_2000() -> Self {
        Self {
            card: Card::WAVELAN,
            platform_watts: LAPTOP_PLATFORM_WATTS,
            processor: Processor::SHARES.times(LAPTOP_SEGMENT_JOULES),
            battery: Battery::new(LAPTOP_WATT_HOURS, 0.0).ok(),
            ..Self::named("laptop-2000")
        }
    }

    /// Reads a model in TOML. `name` is what it is called; `base`, if the text names one, is the
    /// preset that has what the text leaves out.
    ///
    /// # Errors
    /// If the text is no such model, or a value makes no sense.
    pub fn parse(name: &str, text: &str) -> Result<Self, EnergyError> {
        let toml = |error: toml::de::Error| EnergyError::Toml { message: error.to_string() };
        let file: File = toml::from_str(text).map_err(toml)?;
        let base = match &file.base {
            Some(base) => {
                Self::preset(base).map_err(|_| EnergyError::NoSuchBase { name: base.clone() })?
            }
            None => Self::named(""),
        };
        let model = Self {
            name: name.to_owned(),
            card: file.radio.over(file.base.is_some().then_some(base.card))?,
            platform_watts: file.platform.watts.unwrap_or(base.platform_watts),
            processor: file.processor.over(base.processor)?,
            system: file.system.over(base.system)?,
            battery: file.battery.map_or(Ok(base.battery), |it| it.over(base.battery).map(Some))?,
        };
        model.check()?;
        Ok(model)
    }

    /// Refuses negative values, NaN, and powers beyond any device.
    fn check(&self) -> Result<(), EnergyError> {
        let Self { card, platform_watts, processor, .. } = self;
        if !(card.volts > 0.0 && card.volts <= MOST_DRAWN) {
            return Err(EnergyError::NoVoltage { value: card.volts });
        }
        let values = [
            ("radio.transmit", card.transmit),
            ("radio.receive", card.receive),
            ("radio.overhear", card.overhear),
            ("radio.listen", card.listen),
            ("radio.doze", card.doze),
            ("platform.watts", *platform_watts),
            ("processor.interrupt", processor.interrupt),
            ("processor.device-byte", processor.device_byte),
            ("processor.copied-byte", processor.copied_byte),
            ("processor.checksum-byte", processor.checksum_byte),
            ("processor.segment", processor.segment),
            ("processor.acknowledgment", processor.acknowledgment),
            ("processor.option", processor.option),
        ];
        values.into_iter().try_for_each(|(key, value)| drawn(key, value))?;
        let shares = [
            ("processor.predicted-share", processor.predicted_share),
            ("processor.comparison-share", processor.comparison_share),
        ];
        match shares.into_iter().find(|(_, share)| !(0.0..=1.0).contains(share)) {
            Some((key, value)) => Err(EnergyError::Share { key, value }),
            None => Ok(()),
        }
    }
}

/// Refuses a value that nothing draws.
fn drawn(key: &'static str, value: f64) -> Result<(), EnergyError> {
    if (0.0..=MOST_DRAWN).contains(&value) {
        Ok(())
    } else {
        Err(EnergyError::Drawn { key, value })
    }
}

/// The assumed capacity of the laptop's battery, in watt-hours.
const LAPTOP_WATT_HOURS: f64 = 30.0;
/// The power of the laptop without its card, in watts: fitted.
const LAPTOP_PLATFORM_WATTS: f64 = 7.1717;
/// The joules of a full segment of 1500 bytes on the laptop: fitted.
const LAPTOP_SEGMENT_JOULES: f64 = 0.018_323;

/// A card that draws the same in all states in which it receives or listens.
const fn card(volts: f64, transmit: f64, receive: f64, doze: f64) -> Card {
    Card { volts, transmit, receive, overhear: receive, listen: receive, doze }
}

/// A model as a file says it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    base: Option<String>,
    #[serde(default)]
    radio: RadioTable,
    #[serde(default)]
    platform: PlatformTable,
    #[serde(default)]
    processor: ProcessorTable,
    #[serde(default)]
    system: SystemTable,
    battery: Option<BatteryTable>,
}

/// The currents of the card, in amperes.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RadioTable {
    volts: Option<f64>,
    transmit: Option<f64>,
    receive: Option<f64>,
    overhear: Option<f64>,
    listen: Option<f64>,
    doze: Option<f64>,
}

impl RadioTable {
    /// The card; where the table has what it receives at, this is also what it overhears and
    /// listens at.
    ///
    /// A current without a voltage, of the table or of a base, is an error.
    fn over(&self, base: Option<Card>) -> Result<Card, EnergyError> {
        let currents = [
            ("radio.transmit", self.transmit),
            ("radio.receive", self.receive),
            ("radio.overhear", self.overhear),
            ("radio.listen", self.listen),
            ("radio.doze", self.doze),
        ];
        let current = currents.into_iter().find(|(_, current)| current.is_some());
        if let (None, None, Some((key, _))) = (base, self.volts, current) {
            return Err(EnergyError::MissingVolts { key });
        }
        let base = base.unwrap_or_default();
        let receive = self.receive.unwrap_or(base.receive);
        Ok(Card {
            volts: self.volts.unwrap_or(base.volts),
            transmit: self.transmit.unwrap_or(base.transmit),
            receive,
            overhear: self.overhear.or(self.receive).unwrap_or(base.overhear),
            listen: self.listen.or(self.receive).unwrap_or(base.listen),
            doze: self.doze.unwrap_or(base.doze),
        })
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlatformTable {
    watts: Option<f64>,
}

/// The costs of TCP's steps, in joules.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ProcessorTable {
    full_segment: Option<f64>,
    interrupt: Option<f64>,
    device_byte: Option<f64>,
    copied_byte: Option<f64>,
    checksum_byte: Option<f64>,
    segment: Option<f64>,
    acknowledgment: Option<f64>,
    option: Option<f64>,
    predicted_share: Option<f64>,
    comparison_share: Option<f64>,
}

impl ProcessorTable {
    /// The costs; those of a full segment spread over the steps by [`Processor::SHARES`].
    fn over(&self, base: Processor) -> Result<Processor, EnergyError> {
        drawn("processor.full-segment", self.full_segment.unwrap_or(0.0))?;
        let base = self.full_segment.map_or(base, |joules| Processor::SHARES.times(joules));
        Ok(Processor {
            interrupt: self.interrupt.unwrap_or(base.interrupt),
            device_byte: self.device_byte.unwrap_or(base.device_byte),
            copied_byte: self.copied_byte.unwrap_or(base.copied_byte),
            checksum_byte: self.checksum_byte.unwrap_or(base.checksum_byte),
            segment: self.segment.unwrap_or(base.segment),
            acknowledgment: self.acknowledgment.unwrap_or(base.acknowledgment),
            option: self.option.unwrap_or(base.option),
            predicted_share: self.predicted_share.unwrap_or(base.predicted_share),
            comparison_share: self.comparison_share.unwrap_or(base.comparison_share),
        })
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct SystemTable {
    packets_per_interrupt: Option<u32>,
    interrupts_for_sent: Option<bool>,
    single_copy: Option<bool>,
    combined_checksum: Option<bool>,
}

impl SystemTable {
    fn over(&self, base: System) -> Result<System, EnergyError> {
        if self.packets_per_interrupt == Some(0) {
            return Err(EnergyError::NoPackets);
        }
        Ok(System {
            packets_per_interrupt: self.packets_per_interrupt.unwrap_or(base.packets_per_interrupt),
            interrupts_for_sent: self.interrupts_for_sent.unwrap_or(base.interrupts_for_sent),
            single_copy: self.single_copy.unwrap_or(base.single_copy),
            combined_checksum: self.combined_checksum.unwrap_or(base.combined_checksum),
        })
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct BatteryTable {
    watt_hours: Option<f64>,
    cut_off: Option<f64>,
}

impl BatteryTable {
    fn over(&self, base: Option<Battery>) -> Result<Battery, EnergyError> {
        let of_base = base.filter(|_| self.cut_off.is_some()).map(|base| base.watt_hours());
        let watt_hours = self.watt_hours.or(of_base).ok_or(EnergyError::NoCapacity)?;
        Battery::new(watt_hours, self.cut_off.unwrap_or(0.0))
    }
}

#[cfg(test)]
mod tests;
