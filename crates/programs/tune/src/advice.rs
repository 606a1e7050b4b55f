//! The mode that serves an application best.

use serde::Serialize;
use windfall_base::{Duration, Rate, Seed};
use windfall_report::{Table, number};

use crate::channel::{MeasuredChannel, TunedLink};
use crate::mode::LinkMode;
use crate::needs::{ApplicationClass, TrafficNeeds};
use crate::trial::{Trial, TuneError};

/// Sizes whose delays differ by less than this, or by less than this share of the deadline, are
/// alike, and the larger has fewer headers.
const ALIKE: f64 = 1.1;
const ALIKE_AGE: f64 = 0.01;
/// Modes whose delays differ by less than this share have the same, and the better has lost less.
const SAME: f64 = 0.02;

//= S1.52
/// The advice of section 5.3 of paper 001.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PaperChoice {
    /// The transport protocol: `tcp`, `udp` or `udplite`.
    pub transport: &'static str,
    /// RLP is under it.
    pub rlp: bool,
}

impl PaperChoice {
    //= S1.52
    /// The row of the paper's table for a class.
    #[must_use]
    pub const fn of(class: ApplicationClass) -> Self {
        match class {
            ApplicationClass::Batch => Self { transport: "tcp", rlp: true },
            ApplicationClass::Interactive | ApplicationClass::HardRealTime => {
                Self { transport: "udp", rlp: true }
            }
            ApplicationClass::Adaptive => Self { transport: "udplite", rlp: false },
        }
    }
}

/// The trials of all modes, and which of them is best.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// The name of the channel.
    pub channel: String,
    /// The kind of the link.
    pub link: TunedLink,
    /// The rate of the link, if it is a pipe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_rate_bps: Option<u64>,
    /// Frames of the channel, or bits where it counts those.
    pub frames: u64,
    /// The share of them that have an error.
    pub error_rate: f64,
    /// The class of the application, if it was chosen by that.
    pub application: Option<ApplicationClass>,
    /// The rate of its data.
    pub rate_bps: u64,
    /// The age at which its data is of no use any more.
    pub deadline_seconds: Option<f64>,
    /// The share of datagrams that may be lost or late.
    pub loss: f64,
    /// The share of datagrams that may be damaged.
    pub damage: f64,
    /// The trials, by mode and size.
    pub trials: Vec<Trial>,
    /// The place among them of the best.
    pub best: usize,
    /// The transport for it: `tcp`, `udp` or `udplite`.
    pub transport: &'static str,
    /// The choice of the paper for the class.
    pub paper: Option<PaperChoice>,
}

impl Advice {
    //= S1.52
    //= S1.67
    /// Tries every mode of the link, with every size. `progress` is told before each trial how
    /// many have been made, and of how many.
    ///
    /// # Errors
    /// If the needs make no traffic.
    pub fn of(
        channel: &MeasuredChannel,
        needs: &TrafficNeeds,
        application: Option<ApplicationClass>,
        seed: Seed,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Self, TuneError> {
        let traces = channel.both_ways(seed);
        let sizes = sizes(channel.link, needs)?;
        let modes = LinkMode::of(channel.link, needs.deadline);
        let mut trials = Vec::new();
        for mode in &modes {
            for &size in &sizes {
                progress(trials.len(), modes.len() * sizes.len());
                trials.push(Trial::make(channel, &traces, mode, size, needs, seed)?);
            }
        }
        let best = best(&trials, needs);
        let bears_nothing = needs.loss == 0.0 && needs.damage == 0.0;
        let transport = match trials[best].coverage {
            Some(_) => "udplite",
            None if bears_nothing && needs.deadline.is_none() => "tcp",
            None => "udp",
        };
        Ok(Self {
            channel: channel.name.clone(),
            link: channel.link,
            line_rate_bps: (channel.link == TunedLink::Pipe).then(|| channel.rate.as_bps()),
            frames: channel.len(),
            error_rate: channel.error_rate(),
            application,
            rate_bps: needs.rate.as_bps(),
            deadline_seconds: needs.deadline.map(Duration::as_secs_f64),
            loss: needs.loss,
            damage: needs.damage,
            trials,
            best,
            transport,
            paper: application.map(PaperChoice::of),
        })
    }

    /// Returns the trials as a table, and the advice below it.
    #[must_use]
    pub fn to_text(&self) -> String {
        let rate = self.line_rate_bps.and_then(Rate::from_bps);
        let mut text = format!(
            "{}: {} frames, {} % with errors{}\n\n",
            self.channel,
            self.frames,
            number(100.0 * self.error_rate),
            rate.map_or_else(String::new, |rate| format!("; a pipe of {rate}")),
        );
        text += &self.table().to_text();
        let best = &self.trials[self.best];
        let transport = match (self.transport, best.coverage) {
            ("tcp", _) => "TCP".to_owned(),
            (_, Some(coverage)) => format!("UDP-Lite that covers {coverage} bytes"),
            _ => "UDP".to_owned(),
        };
        let sort = if best.is_enough { "advice" } else { "nothing is enough; the best" };
        text += &format!(
            "\n{sort}: {}, {transport}, {} bytes of data in a datagram\n  \
             windfall run --link {}{} {}\n",
            best.mode,
            best.size,
            self.link.name(),
            rate.map_or_else(String::new, |rate| format!(" --rate {rate}")),
            best.options
        );
        if let Some(paper) = self.paper {
            let transport = match paper.transport {
                "tcp" => "TCP",
                "udplite" => "UDP-Lite",
                _ => "UDP",
            };
            let rlp = if paper.rlp { "with RLP" } else { "without RLP" };
            text += &format!("paper 001, section 5.3: {transport} {rlp}\n");
        }
        text
    }

    fn table(&self) -> Table {
        let mut table = Table::new([
            "mode",
            "bytes",
            "lost %",
            "late %",
            "damaged %",
            "bit errors",
            "delay s",
            "95 % s",
            "enough",
        ]);
        for it in &self.trials {
            let per_cent = |share: f64| format!("{:.2}", 100.0 * share);
            let time = |time: Option<f64>| time.map_or("–".to_owned(), |it| format!("{it:.3}"));
            table.push([
                it.mode.to_owned(),
                it.size.to_string(),
                per_cent(it.lost),
                per_cent(it.late),
                per_cent(it.damaged),
                number(it.bit_error_rate),
                time(it.delay_seconds),
                time(it.most_delay_seconds),
                if it.is_enough { "yes" } else { "no" }.to_owned(),
            ]);
        }
        table
    }
}

/// The place of the best trial: of those that are enough, the one with the least delay, or, where
/// nothing ages, with the fewest headers; if none is, that with the most datagrams of use.
fn best(trials: &[Trial], needs: &TrafficNeeds) -> usize {
    let delay = |at: usize| trials[at].most_delay_seconds.unwrap_or(f64::INFINITY);
    let useful = |at: usize| trials[at].useful(needs);
    let most = |places: &[usize], of: &dyn Fn(usize) -> f64| -> usize {
        let fold = |best: usize, &at: &usize| if of(at) > of(best) { at } else { best };
        places.iter().fold(places[0], fold)
    };
    // Those of `places` whose delay is the least, or up to `factor` times that or `age` more.
    let soon = |places: &[usize], factor: f64, age: f64| -> Vec<usize> {
        let least = places.iter().map(|&at| delay(at)).fold(f64::INFINITY, f64::min);
        let most = (factor * least).max(least + age);
        places.iter().copied().filter(|&at| delay(at) <= most).collect()
    };
    let enough: Vec<usize> = (0..trials.len()).filter(|&at| trials[at].is_enough).collect();
    if enough.is_empty() {
        return most(&(0..trials.len()).collect::<Vec<_>>(), &useful);
    }
    let size = |at: usize| f64::from(trials[at].size);
    let Some(deadline) = needs.deadline else {
        let largest = size(most(&enough, &size));
        let large: Vec<usize> = enough.into_iter().filter(|&at| size(at) >= largest).collect();
        return most(&soon(&large, 1.0 + SAME, 0.0), &useful);
    };
    let age = ALIKE_AGE * deadline.as_secs_f64();
    // First the size within each mode, then the mode.
    let mut of_modes: Vec<usize> = Vec::new();
    for &at in &enough {
        if of_modes.iter().all(|&known| trials[known].mode != trials[at].mode) {
            let own = enough.iter().copied().filter(|&it| trials[it].mode == trials[at].mode);
            of_modes.push(most(&soon(&own.collect::<Vec<_>>(), ALIKE, age), &size));
        }
    }
    most(&soon(&of_modes, 1.0 + SAME, 0.0), &useful)
}

/// The sizes to try: that of the application, or those of the link, but none that its data fill
/// only when they are of no use any more, and none that the part that must be right exceeds.
fn sizes(link: TunedLink, needs: &TrafficNeeds) -> Result<Vec<u32>, TuneError> {
    if let Some(size) = needs.size {
        return Ok(vec![size]);
    }
    let is_in_time =
        |size: u32| needs.deadline.is_none_or(|it| needs.rate.time_of(size as usize) <= it);
    let all: Vec<u32> = link.sizes().iter().copied().filter(|&it| it >= needs.exact).collect();
    let Some(&least) = all.first() else {
        let largest = link.sizes().iter().copied().max().unwrap_or_default();
        return Err(TuneError::TooExact { exact: needs.exact, largest });
    };
    let in_time: Vec<u32> = all.into_iter().filter(|&size| is_in_time(size)).collect();
    Ok(if in_time.is_empty() { vec![least] } else { in_time })
}

#[cfg(test)]
mod tests;
