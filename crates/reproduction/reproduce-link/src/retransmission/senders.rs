//! The TCPs that Figures 1 to 7 compare: Windfall's in simulated time, the kernel's in real time.

use windfall_base::Seed;
use windfall_experiment::{Context, ExperimentError, Sequence, kernel, simulated};
use windfall_report::{Chart, Mark, Point, Series, Table};

use super::bursts::{Burst, Runs};
use super::measured;

/// One TCP: what it is called, and its settings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sender {
    pub(super) name: &'static str,
    /// Its settings; the kernel if there are none.
    settings: Option<&'static str>,
}

/// TCP as the paper used it.
pub(super) const PAPER: Sender =
    Sender { name: "net3-reno, 500 ms ticks", settings: Some("net3-reno") };

/// The paper's TCP with other timers, by the least timeout (S3.15); the paper's own comes first.
//= S3.15
pub(super) const TIMERS: [Sender; 3] = [
    PAPER,
    Sender {
        name: "net3-reno, RTO at least 1 s",
        settings: Some("net3-reno, rto-in-ticks=off, tick=0, min-rto=1s"),
    },
    Sender {
        name: "net3-reno, RTO at least 200 ms",
        settings: Some("net3-reno, rto-in-ticks=off, tick=0, min-rto=200ms"),
    },
];

/// TCPs that repair several losses of a window, in the paper's buffers.
pub(super) const LATER: [Sender; 2] = [
    Sender { name: "NewReno", settings: Some("new-reno, send-buffer=16KiB, receive-buffer=16KiB") },
    Sender { name: "SACK", settings: Some("sack, send-buffer=16KiB, receive-buffer=16KiB") },
];

/// The kernel's TCP.
pub(super) const KERNEL: Sender = Sender { name: "kernel, Reno without SACK", settings: None };

/// All of them that this machine can measure.
pub(super) fn all(context: &Context<'_>, with_kernel: bool) -> Vec<Sender> {
    let kernel = (with_kernel && kernel::is_possible(context)).then_some(KERNEL);
    TIMERS.into_iter().chain(LATER).chain(kernel).collect()
}

impl Sender {
    pub(super) const fn is_kernel(&self) -> bool {
        self.settings.is_none()
    }

    /// Its place in the palette, the same in every figure.
    pub(super) fn color(&self) -> usize {
        let named = TIMERS.iter().chain(&LATER).chain([&KERNEL]);
        named.map(|sender| sender.name).position(|name| name == self.name).unwrap_or_default()
    }
}

/// The result of one transfer, by any sender.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Run {
    /// KB/s, of 1000 bytes.
    pub(super) throughput: f64,
    pub(super) timeouts: u64,
    /// Segments sent again.
    pub(super) retransmitted: u64,
}

/// The results of one sender at each burst, several times.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub(super) sender: Sender,
    pub(super) runs: Vec<Vec<Run>>,
}

impl Curve {
    /// Mean and range of the throughput over the loss in per cent.
    pub(super) fn points(&self, bursts: &[Burst]) -> Vec<Point> {
        let point = |(burst, runs): (&Burst, &Vec<Run>)| {
            let values: Vec<_> = runs.iter().map(|run| run.throughput).collect();
            Point::of(100.0 * burst.loss(), &values)
        };
        bursts.iter().zip(&self.runs).filter_map(point).collect()
    }

    pub(super) fn series(&self, bursts: &[Burst]) -> Series {
        let Sender { name, .. } = self.sender;
        Series::new(name, Mark::LinePoints, self.points(bursts)).with_color(self.sender.color())
    }

    /// The mean throughput at the burst of this place, in KB/s.
    pub(super) fn mean(&self, place: usize) -> f64 {
        let runs = self.runs.get(place).map_or(&[][..], Vec::as_slice);
        runs.iter().map(|run| run.throughput).sum::<f64>() / runs.len().max(1) as f64
    }

    /// Timeouts in one transfer at the burst of this place, the mean.
    pub(super) fn timeouts(&self, place: usize) -> f64 {
        let runs = self.runs.get(place).map_or(&[][..], Vec::as_slice);
        runs.iter().map(|run| run.timeouts as f64).sum::<f64>() / runs.len().max(1) as f64
    }
}

/// The values of all curves, one row for each sender and burst.
pub(super) fn table(curves: &[Curve], bursts: &[Burst]) -> Table {
    let mut table = Table::new([
        "sender",
        "loss %",
        "mean KB/s",
        "lowest KB/s",
        "highest KB/s",
        "timeouts a transfer",
    ]);
    for curve in curves {
        for (place, point) in curve.points(bursts).into_iter().enumerate() {
            let (low, high) = point.spread.unwrap_or((point.y, point.y));
            let values = [point.x, point.y, low, high, curve.timeouts(place)];
            let values = values.map(|value| format!("{value:.1}"));
            table.push([curve.sender.name.to_owned()].into_iter().chain(values));
        }
    }
    table
}

/// A transfer of which every packet at the sender is known.
#[derive(Clone, Debug)]
pub(super) struct Trace {
    pub(super) sender: Sender,
    pub(super) run: Run,
    pub(super) sequence: Sequence,
    /// Frames that the link retransmitted; not known of the kernel's transfers.
    pub(super) retransmitted_by_link: Option<u64>,
}

impl Trace {
    /// The time–sequence plot.
    pub(super) fn chart(&self, title: &str, subtitle: &str) -> Chart {
        self.sequence.chart(title, &format!("{}; {subtitle}", self.sender.name))
    }
}

/// The plots of all traces, the paper's sender first, each with the ending of its file.
pub(super) fn charts(
    traces: &[Trace],
    draw: impl Fn(&Trace) -> Chart,
) -> Vec<(&'static str, Chart)> {
    const ENDINGS: [&str; 6] = ["", "rto-1s", "rto-200ms", "new-reno", "sack", "kernel"];
    traces.iter().map(|trace| (ENDINGS[trace.sender.color()], draw(trace))).collect()
}

/// One row for each trace.
pub(super) fn summary(traces: &[Trace]) -> Table {
    let mut table = Table::new([
        "sender",
        "KB/s",
        "timeouts",
        "segments sent again",
        "of the bytes %",
        "time in silences above 1 s %",
    ]);
    for Trace { sender, run, sequence, .. } in traces {
        table.push([
            sender.name.to_owned(),
            format!("{:.1}", run.throughput),
            run.timeouts.to_string(),
            run.retransmitted.to_string(),
            format!("{:.1}", 100.0 * sequence.overlap()),
            format!("{:.0}", 100.0 * sequence.silent_share()),
        ]);
    }
    table
}

/// An experiment of Figures 1 to 7.
#[derive(Clone, Copy, Debug)]
pub(super) struct Experiment {
    pub(super) figure: &'static str,
    /// The scenario, as TOML.
    pub(super) scenario: &'static str,
}

impl Experiment {
    /// Several transfers by each of `senders` at each of `bursts`.
    ///
    /// # Errors
    /// If a transfer could not be made.
    pub(super) fn curves(
        &self,
        context: &Context<'_>,
        senders: &[Sender],
        bursts: &[Burst],
        runs: &Runs,
    ) -> Result<Vec<Curve>, ExperimentError> {
        let mut curves = Vec::new();
        for &sender in senders {
            (context.progress)(&format!("{}: {}", self.figure, sender.name));
            let runs = match sender.settings {
                Some(settings) => self.simulate(context, settings, bursts, runs)?,
                None => self.measure(context, bursts)?,
            };
            curves.push(Curve { sender, runs });
        }
        Ok(curves)
    }

    fn simulate(
        &self,
        context: &Context<'_>,
        tcp: &'static str,
        bursts: &[Burst],
        runs: &Runs,
    ) -> Result<Vec<Vec<Run>>, ExperimentError> {
        let one = |burst: &Burst, run: u64| {
            let seed = Seed(context.seed.0.wrapping_add(run));
            Ok(self.simulated(tcp, burst.at_random(seed), runs.bytes, seed)?.0)
        };
        bursts.iter().map(|burst| (0..runs.each).map(|run| one(burst, run)).collect()).collect()
    }

    fn simulated(
        &self,
        tcp: &'static str,
        uplink: String,
        bytes: u64,
        seed: Seed,
    ) -> Result<(Run, simulated::Transferred), ExperimentError> {
        let Self { figure, scenario } = *self;
        let done = simulated::Transfer { figure, scenario, uplink, tcp, bytes, seed }.run()?;
        let run = Run {
            throughput: done.throughput(),
            timeouts: done.operations.timeouts,
            retransmitted: done.operations.retransmissions,
        };
        Ok((run, done))
    }

    /// The same by the kernel, as often as the paper and in real time.
    fn measure(
        &self,
        context: &Context<'_>,
        bursts: &[Burst],
    ) -> Result<Vec<Vec<Run>>, ExperimentError> {
        let runs = Runs::of(context.extent);
        let done = measured::sweep(context, self.figure, self.scenario, bursts, &runs)?;
        let run = |done: &kernel::Transferred| Run {
            throughput: done.throughput(),
            timeouts: done.outcome.counters.timeouts,
            retransmitted: done.outcome.counters.retransmitted,
        };
        Ok(done.iter().map(|runs| runs.iter().map(run).collect()).collect())
    }

    /// One transfer of `bytes` by each of `senders`, with every packet.
    ///
    /// # Errors
    /// If a transfer could not be made.
    pub(super) fn traces(
        &self,
        context: &Context<'_>,
        senders: &[Sender],
        burst: Burst,
        bytes: u64,
    ) -> Result<Vec<Trace>, ExperimentError> {
        let trace = |&sender: &Sender| {
            (context.progress)(&format!("{}: {}", self.figure, sender.name));
            let Some(tcp) = sender.settings else { return self.captured(context, burst) };
            let (run, done) = self.simulated(tcp, burst.toml(), bytes, context.seed)?;
            let retransmitted_by_link = Some(done.ledger.retransmissions);
            Ok(Trace { sender, run, sequence: done.sequence, retransmitted_by_link })
        };
        senders.iter().map(trace).collect()
    }

    /// One transfer by the kernel, of 1 MB at most.
    fn captured(&self, context: &Context<'_>, burst: Burst) -> Result<Trace, ExperimentError> {
        let bytes = Runs::of(context.extent).bytes;
        let done = measured::captured(context, self.figure, self.scenario, burst, bytes)?;
        let run = Run {
            throughput: done.throughput(),
            timeouts: done.outcome.counters.timeouts,
            retransmitted: done.outcome.counters.retransmitted,
        };
        let sequence = Sequence::of_transfer(self.figure, &done)?;
        Ok(Trace { sender: KERNEL, run, sequence, retransmitted_by_link: None })
    }
}

/// Describes the transfers, for the text below a figure.
pub(super) fn method(senders: &[Sender]) -> String {
    let kernel = if senders.iter().any(Sender::is_kernel) {
        kernel::method()
    } else {
        "The kernel's TCP was not measured: it is left out of quick runs, and where \
         network namespaces are not allowed."
            .to_owned()
    };
    format!(
        "Windfall's TCP in simulated time, over the WaveLAN link with 0.8 Mb/s for full packets. \
         *net3-reno* is TCP as NetBSD 1.2 had it: fast recovery ends with the first new \
         acknowledgment, buffers of 16 KiB, acknowledgments at ticks of 200 ms, a retransmission \
         timer of 500 ms ticks that waits three of them at least; two more have exact timers \
         with another least timeout (S3.15). NewReno and SACK have modern timers and the same \
         buffers. Frames of the data's direction are lost in bursts, retransmissions counted like \
         any other frame. {kernel}"
    )
}
