//! The battery of a station: its capacity, and where the station switches off (S2.24).

use windfall_base::Duration;

use crate::error::{EnergyError, MOST_WATT_HOURS};

//= S2.24
/// A battery that gives the same energy at any current.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Battery {
    watt_hours: f64,
    cut_off: f64,
}

impl Battery {
    /// A battery of `watt_hours`, of which the share `cut_off` is left when the station switches
    /// off.
    ///
    /// # Errors
    /// If it is empty or holds more than any, or the share is not below 1.
    pub fn new(watt_hours: f64, cut_off: f64) -> Result<Self, EnergyError> {
        if !(watt_hours.is_finite() && watt_hours > 0.0) {
            return Err(EnergyError::EmptyBattery { value: watt_hours });
        }
        if watt_hours > MOST_WATT_HOURS {
            return Err(EnergyError::Capacity { value: watt_hours });
        }
        if !(0.0..1.0).contains(&cut_off) {
            return Err(EnergyError::CutOff { value: cut_off });
        }
        Ok(Self { watt_hours, cut_off })
    }

    /// Returns its whole capacity, in watt-hours.
    #[must_use]
    pub const fn watt_hours(&self) -> f64 {
        self.watt_hours
    }

    /// Returns the energy that it gives until the station switches off, in joules.
    #[must_use]
    pub fn joules(&self) -> f64 {
        self.watt_hours * 3_600.0 * (1.0 - self.cut_off)
    }

    //= S2.27
    /// Returns how long a full battery lasts at a constant power; `None`: for ever.
    #[must_use]
    pub fn lifetime(&self, watts: f64) -> Option<Duration> {
        let seconds = self.joules() / watts;
        // A lifetime beyond the clock, some five centuries, is meaningless.
        (watts > 0.0 && seconds < 1e9).then(|| Duration::from_secs_f64(seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= S2.24
    #[test]
    fn a_battery_lasts_as_long_as_its_capacity_above_the_cut_off() {
        let battery = Battery::new(10.0, 0.25).unwrap();
        assert_eq!(battery.joules(), 27_000.0);
        assert_eq!(battery.lifetime(7.5), Some(Duration::from_secs(3_600)));
        assert_eq!(battery.lifetime(0.0), None);
        assert_eq!(battery.lifetime(1e-9), None);
        // Twice the power, half the time: the capacity is constant.
        assert_eq!(battery.lifetime(15.0), Some(Duration::from_secs(1_800)));
    }

    #[test]
    fn an_empty_battery_is_an_error_with_its_name() {
        for watt_hours in [0.0, -3.0, f64::NAN, f64::INFINITY] {
            let error = Battery::new(watt_hours, 0.0).unwrap_err().to_string();
            assert!(error.contains(&watt_hours.to_string()), "{error}");
            assert!(error.contains("battery.watt-hours"), "{error}");
        }
        let error = Battery::new(5e300, 0.0).unwrap_err().to_string();
        assert!(error.contains("at most 1000000000"), "{error}");
        for cut_off in [1.0, -0.1, f64::NAN] {
            let error = Battery::new(1.0, cut_off).unwrap_err().to_string();
            assert!(error.contains("battery.cut-off"), "{error}");
        }
    }
}
