//! The times at which an application sends.

use toml::Spanned;
use windfall_apps::{Departures, Pace, Spacing};
use windfall_base::{Duration, Instant};
use windfall_settings::Get;

use crate::app::{App, AppArrivals};

/// The instant of a time that counts from the start of the run.
pub(crate) fn at(time: Option<&Spanned<Duration>>) -> Option<Instant> {
    time.map(|time| Instant::START.saturating_add(*time.get_ref()))
}

/// The times of the datagrams of an application that `number` others precede.
pub(crate) fn timing(app: &App, pace: Pace, number: u64) -> Departures {
    Departures {
        start: at(app.start.as_ref()).unwrap_or(Instant::START),
        // The first is in step with none, and who names a time means it.
        staggered: number > 0 && app.start.is_none(),
        pace,
        spacing: spacing(app),
        jitter: app.jitter.value(),
    }
}

fn spacing(app: &App) -> Spacing {
    match (app.arrivals.value(), app.on.value(), app.off.value()) {
        (Some(AppArrivals::Poisson), ..) => Spacing::Poisson,
        (Some(AppArrivals::OnOff), Some(on), Some(off)) => Spacing::OnOff { on, off },
        _ => Spacing::Even,
    }
}
