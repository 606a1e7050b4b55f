//! The energy of all radios, and that of one station by the model that the scenario names for it.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::brief;

/// Energy of all radios of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct EnergySummary {
    /// The energy of all radios.
    pub joules: f64,
    /// Bytes of payload that applications received; of the packets delivered where there are none.
    pub bytes: u64,
    /// True if those are bytes of applications, not of packets.
    pub is_payload: bool,
    /// The energy for each of them; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joules_per_byte: Option<f64>,
}

/// Energy of a station, by part (S2.28).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StationEnergySummary {
    /// The name of the energy model.
    pub model: String,
    /// The whole energy.
    pub joules: f64,
    /// The energy of everything that is there whether it sends or not.
    pub platform_joules: f64,
    /// Its radios of 802.11; those of other links have no energy in any model.
    pub radios: usize,
    /// The energy of its radios.
    pub radio_joules: f64,
    /// The energy of TCP's steps, where our engine stands.
    pub tcp_joules: f64,
    /// The energy of each part by its name: the states of the radio, the kinds of steps; parts
    /// that took nothing are left out.
    pub part_joules: BTreeMap<&'static str, f64>,
    /// Bytes of packets that it sent and that were delivered, and of those that it received.
    pub bytes: u64,
    /// Its energy for each of them; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joules_per_byte: Option<f64>,
    /// The lifetime of its full battery if it goes on so, in seconds; absent without a battery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifetime_seconds: Option<f64>,
}

impl fmt::Display for StationEnergySummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { joules, platform_joules, radio_joules, tcp_joules, .. } = self;
        let [joules, platform, radio, tcp] =
            [joules, platform_joules, radio_joules, tcp_joules].map(|it| brief(*it));
        let radio = if self.radios == 0 { "none (no link of 802.11)" } else { &radio };
        write!(
            f,
            "({}): {joules} J, of which platform {platform}, radio {radio}, TCP {tcp}",
            // Names of files come from users, and go to a terminal.
            self.model.escape_debug()
        )?;
        if let Some(each) = self.joules_per_byte {
            write!(f, "; {} J/MB", brief(each * 1e6))?;
        }
        if let Some(seconds) = self.lifetime_seconds {
            write!(f, "; the battery lasts {}", lifetime(seconds))?;
        }
        Ok(())
    }
}

/// Returns a lifetime in the unit in which people think of it: minutes up to ten hours, as the
/// papers do, hours up to ten days, days beyond.
fn lifetime(seconds: f64) -> String {
    const HOUR: f64 = 3_600.0;
    const DAY: f64 = 24.0 * HOUR;
    match seconds {
        _ if seconds < 10.0 * HOUR => format!("{:.1} min", seconds / 60.0),
        _ if seconds < 10.0 * DAY => format!("{:.1} h", seconds / HOUR),
        _ => format!("{:.1} days", seconds / DAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_layers_and_what_is_known() {
        let mains = StationEnergySummary {
            model: "own.toml".to_owned(),
            joules: 12.5,
            platform_joules: 10.0,
            radios: 1,
            radio_joules: 2.5,
            ..StationEnergySummary::default()
        };
        let expected = "(own.toml): 12.5 J, of which platform 10, radio 2.5, TCP 0";
        assert_eq!(mains.to_string(), expected);
        let wire = StationEnergySummary { radios: 0, radio_joules: 0.0, ..mains.clone() };
        assert!(wire.to_string().contains(", radio none (no link of 802.11), TCP 0"), "{wire}");
        let lifetime_seconds = Some(6_600.0);
        let battery =
            StationEnergySummary { joules_per_byte: Some(2e-5), lifetime_seconds, ..mains };
        assert_eq!(
            battery.to_string(),
            format!("{expected}; 20 J/MB; the battery lasts 110.0 min")
        );
        for (hours, text) in [(9.9, "594.0 min"), (12.5, "12.5 h"), (480.0, "20.0 days")] {
            assert_eq!(lifetime(hours * 3_600.0), text);
        }
    }
}
