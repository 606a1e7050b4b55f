//! The states of a station's radio and their durations, from which energy is computed.

use windfall_base::{Duration, Instant};

/// The state of a radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// It sends a frame.
    Transmit,
    /// Receiving a frame for this station or a group-addressed frame.
    Receive,
    /// Receiving a frame for another station, or energy that is no frame.
    Overhear,
    /// Listening on an idle medium.
    Listen,
    /// Switched off to save energy.
    Doze,
}

impl State {
    /// All states of a radio.
    pub const ALL: [Self; 5] =
        [Self::Transmit, Self::Receive, Self::Overhear, Self::Listen, Self::Doze];

    /// The name in logs, tables and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transmit => "transmit",
            Self::Receive => "receive",
            Self::Overhear => "overhear",
            Self::Listen => "listen",
            Self::Doze => "doze",
        }
    }
}

/// A time that a radio spent in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// The state of the radio.
    pub state: State,
    /// When it began.
    pub began: Instant,
    /// When it ended.
    pub ended: Instant,
}

/// The time that a radio spent in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Airtime([Duration; State::ALL.len()]);

impl Airtime {
    /// The time in `state`.
    #[must_use]
    pub fn of(&self, state: State) -> Duration {
        self.0[state as usize]
    }

    /// Adds time in `state`.
    pub fn add(&mut self, state: State, time: Duration) {
        self.0[state as usize] = self.0[state as usize].saturating_add(time);
    }

    /// Moves up to `time` from listening to overhearing.
    pub fn overhear(&mut self, time: Duration) {
        let listened = self.of(State::Listen);
        let time = time.min(listened);
        self.0[State::Listen as usize] = listened.saturating_sub(time);
        self.add(State::Overhear, time);
    }

    /// The time in all states.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.0.iter().fold(Duration::ZERO, |sum, time| sum.saturating_add(*time))
    }
}

/// Follows the radio of one station.
#[derive(Clone, Debug)]
pub(super) struct Radio {
    airtime: Airtime,
    observed: bool,
    state: State,
    since: Instant,
    carrier: bool,
    past: Vec<Period>,
}

impl Radio {
    pub(super) fn new(observed: bool) -> Self {
        Self {
            airtime: Airtime::default(),
            observed,
            state: State::Listen,
            since: Instant::START,
            carrier: false,
            past: Vec::new(),
        }
    }

    /// Time up to `now`.
    pub(super) fn airtime(&self, now: Instant) -> Airtime {
        let mut airtime = self.airtime;
        airtime.add(self.state, now.saturating_since(self.since));
        airtime
    }

    /// The carrier of others appears or vanishes.
    pub(super) fn carrier(&mut self, now: Instant, busy: bool) {
        self.carrier = busy;
        if matches!(self.state, State::Listen | State::Overhear) {
            self.enter(now, if busy { State::Overhear } else { State::Listen });
        }
    }

    /// Names the reception that has ended: its time counts as `state`.
    pub(super) fn reception(&mut self, now: Instant, state: State) {
        if self.state == State::Overhear {
            self.state = state;
            self.enter(now, State::Overhear);
        }
    }

    /// Counts `time` of the period since the last change as overhearing.
    pub(super) fn carrier_passed(&mut self, now: Instant, time: Duration) {
        if self.state == State::Listen {
            self.enter(now, State::Listen);
            self.airtime.overhear(time);
        }
    }

    /// The station begins or ends a frame of its own.
    pub(super) fn transmit(&mut self, now: Instant, begins: bool) {
        let heard = if self.carrier { State::Overhear } else { State::Listen };
        self.enter(now, if begins { State::Transmit } else { heard });
    }

    /// The radio is switched off or on.
    pub(super) fn doze(&mut self, now: Instant, off: bool) {
        let heard = if self.carrier { State::Overhear } else { State::Listen };
        self.enter(now, if off { State::Doze } else { heard });
    }

    /// Yields the periods that have ended, if periods are observed.
    pub(super) fn report(&mut self) -> impl Iterator<Item = Period> + '_ {
        self.past.drain(..)
    }

    fn enter(&mut self, now: Instant, state: State) {
        if now > self.since {
            self.airtime.add(self.state, now.saturating_since(self.since));
            if self.observed {
                self.past.push(Period { state: self.state, began: self.since, ended: now });
            }
            self.since = now;
        }
        self.state = state;
    }
}
