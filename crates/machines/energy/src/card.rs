//! The currents of a radio card, and the energy of the states that it was in (S2.22).

use windfall_mac::wifi::radio::{Airtime, State};

/// The currents of a card, in amperes at its voltage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Card {
    /// The supply voltage, in volts.
    pub volts: f64,
    /// While it sends.
    pub transmit: f64,
    /// While it receives frames for its station or for every station.
    pub receive: f64,
    /// While it receives frames for others, or energy that is no frame.
    pub overhear: f64,
    /// While it listens to silence.
    pub listen: f64,
    /// While it dozes.
    pub doze: f64,
}

impl Default for Card {
    /// A card that draws nothing, at whatever voltage.
    fn default() -> Self {
        Self { volts: 1.0, transmit: 0.0, receive: 0.0, overhear: 0.0, listen: 0.0, doze: 0.0 }
    }
}

impl Card {
    //= S2.22
    /// Lucent WaveLAN at 5 V: 280 mA sending, 180 mA receiving, 10 mA dozing (paper 002).
    ///
    /// What it draws while it listens is not given there; measurements of its kind (Feeney and
    /// Nilsson 2001) put it next to receiving, so it is taken as the same.
    pub const WAVELAN: Self = Self {
        volts: 5.0,
        transmit: 0.280,
        receive: 0.180,
        overhear: 0.180,
        listen: 0.180,
        doze: 0.010,
    };
    /// An Intel card of 2010 at 3 V: 1.14, 0.94, 0.82 and 0.10 W (Halperin and others 2010), which
    /// is also what ns-3 assumes.
    pub const INTEL_2010: Self = Self {
        volts: 3.0,
        transmit: 0.380,
        receive: 0.313,
        overhear: 0.313,
        listen: 0.273,
        doze: 0.033,
    };

    /// Returns the power drawn in `state`, in watts.
    #[must_use]
    pub fn watts(&self, state: State) -> f64 {
        let amperes = match state {
            State::Transmit => self.transmit,
            State::Receive => self.receive,
            State::Overhear => self.overhear,
            State::Listen => self.listen,
            State::Doze => self.doze,
        };
        self.volts * amperes
    }

    /// Returns the energy of a station's radio, in joules: the sum of I·V·t over its states.
    #[must_use]
    pub fn joules(&self, airtime: &Airtime) -> f64 {
        let of = |state| self.watts(state) * airtime.of(state).as_secs_f64();
        State::ALL.into_iter().map(of).sum()
    }

    /// Returns the energy beyond that of listening all the time, in joules.
    #[must_use]
    pub fn joules_beyond_listening(&self, airtime: &Airtime) -> f64 {
        self.joules(airtime) - self.watts(State::Listen) * airtime.total().as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use windfall_base::Duration;

    use super::*;

    //= S2.22
    #[test]
    fn the_energy_of_a_scripted_timeline_is_exact() {
        let mut airtime = Airtime::default();
        let seconds = [2, 3, 5, 7, 11];
        for (state, seconds) in State::ALL.into_iter().zip(seconds) {
            airtime.add(state, Duration::from_secs(seconds));
        }
        // 1.4 W sending, 0.9 W receiving, overhearing and listening, 0.05 W dozing.
        let expected = 2.0 * 1.4 + (3.0 + 5.0 + 7.0) * 0.9 + 11.0 * 0.05;
        assert!((Card::WAVELAN.joules(&airtime) - expected).abs() < 1e-12);
        assert_eq!(airtime.total(), Duration::from_secs(28));
        let beyond = Card::WAVELAN.joules_beyond_listening(&airtime);
        assert!((beyond - (2.0 * 0.5 - 11.0 * 0.85)).abs() < 1e-12);
    }

    #[test]
    fn the_papers_powers_are_those_of_its_currents() {
        let watts = [State::Doze, State::Receive, State::Transmit].map(|s| Card::WAVELAN.watts(s));
        for (watts, paper) in watts.into_iter().zip([0.05, 0.9, 1.4]) {
            assert!((watts - paper).abs() < 1e-12);
        }
    }
}
