//! Fits a model to two measured lifetimes (S2.25).

use windfall_base::Duration;

use crate::battery::Battery;
use crate::model::EnergyModel;
use crate::station::StationUsage;

/// A measured lifetime: a full battery, and a station that goes on as it did in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calibration {
    /// The work of the station in the run.
    pub usage: StationUsage,
    /// The lifetime that was measured.
    pub lifetime: Duration,
}

/// Why a model cannot be fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CalibrationError {
    /// The model has no battery, or a lifetime or a run has no length.
    #[error("a lifetime says something of a battery, a run and a time above zero only")]
    NoLifetime,
    /// TCP does as much in both runs, so that they cannot tell it from the platform.
    #[error("TCP takes as many steps in both runs: let one of them be idle")]
    SameSteps,
    /// The lifetimes leave less than nothing for the platform or the processor.
    #[error(
        "the lifetimes leave nothing for the platform or for TCP beside the radio: give a larger \
         battery, or a busy run that lasts less long than the idle one"
    )]
    NothingLeft,
}

impl EnergyModel {
    //= S2.25
    /// Fits two of its values, the power of the platform and the scale of the processor's costs,
    /// so that the battery lasts as measured in both runs. The battery, the card and the shares of
    /// the steps among each other stay as they are.
    ///
    /// # Errors
    /// If the lifetimes determine neither, or only by a negative power.
    pub fn calibrated(
        self,
        idle: &Calibration,
        busy: &Calibration,
    ) -> Result<Self, CalibrationError> {
        let battery = self.battery.ok_or(CalibrationError::NoLifetime)?;
        let (idle_watts, idle_steps) = self.left(&battery, idle)?;
        let (busy_watts, busy_steps) = self.left(&battery, busy)?;
        // Platform + scale · steps = what the radio leaves: two equations.
        let steps = busy_steps - idle_steps;
        if steps <= 0.0 {
            return Err(CalibrationError::SameSteps);
        }
        let scale = (busy_watts - idle_watts) / steps;
        let platform_watts = idle_watts - scale * idle_steps;
        if scale < 0.0 || platform_watts < 0.0 {
            return Err(CalibrationError::NothingLeft);
        }
        Ok(Self { platform_watts, processor: self.processor.times(scale), ..self })
    }

    /// Returns the power that the radio leaves of what the battery gives over the lifetime, in
    /// watts, and the processor's costs for each second, in the unit that the model has now.
    fn left(
        &self,
        battery: &Battery,
        measured: &Calibration,
    ) -> Result<(f64, f64), CalibrationError> {
        let Calibration { usage, lifetime } = measured;
        if *lifetime == Duration::ZERO || usage.span == Duration::ZERO {
            return Err(CalibrationError::NoLifetime);
        }
        let span = usage.span.as_secs_f64();
        let energy = self.energy(usage);
        let watts = battery.joules() / lifetime.as_secs_f64() - energy.of_radio() / span;
        Ok((watts, energy.processor.total() / span))
    }
}

#[cfg(test)]
mod tests {
    use windfall_mac::wifi::radio::{Airtime, State};
    use windfall_tcp::Operations;

    use super::*;
    use crate::Card;
    use crate::processor::Processor;

    fn usage(sending: f64, segments: u64) -> StationUsage {
        let mut airtime = Airtime::default();
        airtime.add(State::Transmit, Duration::from_secs_f64(10.0 * sending));
        airtime.add(State::Listen, Duration::from_secs_f64(10.0 * (1.0 - sending)));
        let checksum_bytes = segments * 1_480;
        let operations =
            Operations { segments_sent: segments, checksum_bytes, ..Operations::default() };
        StationUsage { airtime, operations, span: Duration::from_secs(10) }
    }

    fn measured(usage: StationUsage, minutes: u64) -> Calibration {
        Calibration { usage, lifetime: Duration::from_secs(60 * minutes) }
    }

    fn model() -> EnergyModel {
        EnergyModel {
            card: Card::WAVELAN,
            processor: Processor::SHARES,
            battery: Some(Battery::new(30.0, 0.0).unwrap()),
            ..EnergyModel::named("test")
        }
    }

    //= S2.25
    #[test]
    fn a_calibrated_model_lasts_as_long_as_was_measured() {
        for idle_segments in [0, 7] {
            let idle = measured(usage(0.0, idle_segments), 223);
            let busy = measured(usage(0.6, 4_000), 110);
            let fitted = model().calibrated(&idle, &busy).unwrap();
            for Calibration { usage, lifetime } in [idle, busy] {
                let lasts = fitted.lifetime(&usage).unwrap().as_secs_f64();
                assert!((lasts - lifetime.as_secs_f64()).abs() < 1e-3, "{lasts} {lifetime:?}");
            }
            // Transmitting takes about twice the power of idling, mostly not in the radio.
            let watts = |usage: &StationUsage| fitted.energy(usage).total() / 10.0;
            assert!((watts(&busy.usage) / watts(&idle.usage) - 2.03).abs() < 0.01);
            let shares = fitted.processor.device_byte / fitted.processor.interrupt;
            let before = Processor::SHARES.device_byte / Processor::SHARES.interrupt;
            assert!((shares / before - 1.0).abs() < 1e-9, "the shares stay");
        }
    }

    #[test]
    fn what_cannot_be_fitted_is_named() {
        let idle = measured(usage(0.0, 0), 223);
        let busy = measured(usage(0.6, 4_000), 110);
        let error = |model: EnergyModel, idle, busy| model.calibrated(&idle, &busy).unwrap_err();
        let without = EnergyModel { battery: None, ..model() };
        assert_eq!(error(without, idle, busy), CalibrationError::NoLifetime);
        assert_eq!(error(model(), measured(idle.usage, 0), busy), CalibrationError::NoLifetime);
        assert_eq!(error(model(), idle, idle), CalibrationError::SameSteps);
        assert_eq!(error(model(), idle, measured(busy.usage, 400)), CalibrationError::NothingLeft);
        let small = EnergyModel { battery: Some(Battery::new(1.0, 0.0).unwrap()), ..model() };
        assert_eq!(error(small, idle, busy), CalibrationError::NothingLeft);
    }
}
