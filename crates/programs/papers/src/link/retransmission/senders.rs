//! The TCPs that Figures 1 to 7 compare: Windfall's in simulated time, the kernel's in real time.

use windfall_base::Seed;
use windfall_report::{Chart, Estimate, Mark, Point, Series, Table};

use super::bursts::{Burst, Runs};
use super::measured;
use crate::experiment::{
    Context, ExperimentError, ExperimentInput, Extent, Sequence, kernel, simulated,
};

/// One TCP: what it is called, and its settings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sender {
    pub(super) name: &'static str,
    /// Its settings; the kernel if there are none.
    settings: Option<&'static str>,
}

/// TCP as the paper used it.
pub(super) const PAPER: Sender =
    Sender { name: "NetBSD 1.2, two ticks of 500 ms", settings: Some(TCP) };

/// The settings of the paper's TCP.
pub(super) const TCP: &str = "netbsd-1.2";

//= S3.15
/// The paper's TCP with other timers (S3.15); the paper's own comes first, then its ancestor.
pub(super) const TIMERS: [Sender; 4] = [
    PAPER,
    Sender { name: "Net/3, three ticks of 500 ms", settings: Some("net3-reno") },
    Sender {
        name: "NetBSD 1.2, RTO at least 1 s",
        settings: Some("netbsd-1.2, rto-in-ticks=off, tick=0, min-rto=1s"),
    },
    Sender {
        name: "NetBSD 1.2, RTO at least 200 ms",
        settings: Some("netbsd-1.2, rto-in-ticks=off, tick=0, min-rto=200ms"),
    },
];

/// The paper's TCP if the options of RFC 1323 were off: every second segment is acknowledged.
pub(super) const PLAIN: Sender = Sender {
    name: "NetBSD 1.2 without timestamps",
    settings: Some("netbsd-1.2, timestamps=off, delayed-ack=every:2:200ms:200ms"),
};

/// TCPs that repair several losses of a window, in the paper's buffers.
pub(super) const LATER: [Sender; 2] = [
    Sender { name: "NewReno", settings: Some("new-reno, send-buffer=16KiB, receive-buffer=16KiB") },
    Sender { name: "SACK", settings: Some("sack, send-buffer=16KiB, receive-buffer=16KiB") },
];

/// The kernel's TCP.
pub(super) const KERNEL: Sender = Sender { name: "kernel, Reno without SACK", settings: None };

/// All of them that this machine can measure; the kernel's is no part of a mutated run.
pub(super) fn all(context: &Context<'_>, with_kernel: bool) -> Vec<Sender> {
    let with_kernel = with_kernel && !context.is_mutated && kernel::is_possible(context);
    let kernel = with_kernel.then_some(KERNEL);
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
    /// KB/s, of 1000 bytes; 0 if the transfer did not come to its end.
    pub(super) throughput: f64,
    pub(super) timeouts: u64,
    /// Segments sent again.
    pub(super) retransmitted: u64,
}

/// The results of one sender at each burst, the same seeds at each.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub(super) sender: Sender,
    pub(super) runs: Vec<Vec<Run>>,
}

impl Curve {
    fn at(&self, place: usize) -> &[Run] {
        self.runs.get(place).map_or(&[], Vec::as_slice)
    }

    fn throughputs(&self, place: usize) -> Vec<f64> {
        self.at(place).iter().map(|run| run.throughput).collect()
    }

    /// Mean and range of the throughput over the loss in per cent.
    pub(super) fn points(&self, bursts: &[Burst]) -> Vec<Point> {
        let point = |(place, burst): (usize, &Burst)| {
            Point::of(100.0 * burst.loss(), &self.throughputs(place))
        };
        bursts.iter().enumerate().filter_map(point).collect()
    }

    pub(super) fn series(&self, bursts: &[Burst]) -> Series {
        let Sender { name, .. } = self.sender;
        Series::new(name, Mark::LinePoints, self.points(bursts)).with_color(self.sender.color())
    }

    /// The mean throughput at the burst of this place, in KB/s.
    pub(super) fn mean(&self, place: usize) -> f64 {
        windfall_report::statistics::mean(&self.throughputs(place)).unwrap_or(f64::NAN)
    }

    /// The throughput at one burst as a share of that at another, seed by seed.
    pub(super) fn shares(&self, place: usize, of: usize) -> Vec<f64> {
        let [own, other] = [place, of].map(|place| self.throughputs(place));
        own.iter().zip(&other).map(|(own, other)| own / other).collect()
    }

    /// The mean of these shares.
    pub(super) fn share(&self, place: usize, of: usize) -> Estimate {
        Estimate::mean(&self.shares(place, of))
    }

    /// The throughput at one burst to that at another, where both vary: the geometric mean, which
    /// is the inverse of that of the inverse.
    pub(super) fn ratio(&self, place: usize, of: usize) -> Estimate {
        Estimate::geometric_mean(&self.shares(place, of))
    }

    /// Timeouts in one transfer at the burst of this place, the mean.
    pub(super) fn timeouts(&self, place: usize) -> f64 {
        let runs = self.at(place);
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
    pub(super) run: Run,
    pub(super) sequence: Sequence,
    /// Frames that the link retransmitted; not known of the kernel's transfers.
    pub(super) retransmitted_by_link: Option<u64>,
}

/// The transfers of one sender, the first of which is drawn.
#[derive(Clone, Debug)]
pub(super) struct Traced {
    pub(super) sender: Sender,
    pub(super) traces: Vec<Trace>,
}

impl Traced {
    /// The mean of a value of each transfer.
    pub(super) fn mean(&self, of: impl Fn(&Trace) -> f64) -> Estimate {
        Estimate::mean(&self.traces.iter().map(of).collect::<Vec<_>>())
    }

    pub(super) fn timeouts(&self) -> Estimate {
        self.mean(|trace| trace.run.timeouts as f64)
    }

    /// The transfer that is drawn.
    pub(super) fn first(&self) -> Option<&Trace> {
        self.traces.first()
    }

    /// The time–sequence plot of a part of the transfer that is drawn.
    pub(super) fn chart(
        &self,
        part: impl Fn(&Sequence) -> Sequence,
        title: &str,
        subtitle: &str,
    ) -> Chart {
        let sequence = self.first().map(|trace| part(&trace.sequence)).unwrap_or_default();
        sequence.chart(title, &format!("{}; {subtitle}", self.sender.name))
    }
}

/// The plots of all senders, the paper's first, each with the ending of its file.
pub(super) fn charts(
    all: &[Traced],
    draw: impl Fn(&Traced) -> Chart,
) -> Vec<(&'static str, Chart)> {
    const ENDINGS: [&str; 7] = ["", "net3", "rto-1s", "rto-200ms", "new-reno", "sack", "kernel"];
    all.iter().map(|traced| (ENDINGS[traced.sender.color()], draw(traced))).collect()
}

/// The packets of the transfer that is drawn.
pub(super) fn packets(all: &[Traced]) -> Option<(&'static str, Table)> {
    Some(("", all.first()?.first()?.sequence.table()))
}

/// One row for each sender: means over its transfers.
pub(super) fn summary(all: &[Traced]) -> Table {
    let mut table = Table::new([
        "sender",
        "transfers",
        "KB/s",
        "timeouts",
        "segments sent again",
        "of the bytes %",
        "time in silences above 1 s %",
    ]);
    for traced in all {
        let mean = |of: &dyn Fn(&Trace) -> f64| traced.mean(of).value;
        table.push([
            traced.sender.name.to_owned(),
            traced.traces.len().to_string(),
            format!("{:.1}", mean(&|trace| trace.run.throughput)),
            format!("{:.1}", mean(&|trace| trace.run.timeouts as f64)),
            format!("{:.1}", mean(&|trace| trace.run.retransmitted as f64)),
            format!("{:.2}", mean(&|trace| 100.0 * trace.sequence.overlap())),
            format!("{:.0}", mean(&|trace| 100.0 * trace.sequence.silent_share())),
        ]);
    }
    table
}

/// The number of simulated transfers of which every packet is kept. Those of a mutated run are
/// few, since most do not end.
fn transfers(context: &Context<'_>) -> usize {
    match context.extent {
        _ if context.is_mutated => 3,
        Extent::Quick => 3,
        Extent::Paper => 20,
        Extent::Full => 60,
    }
}

/// The inputs of all these experiments.
pub(super) fn inputs(pattern: &str) -> Vec<ExperimentInput> {
    vec![
        ExperimentInput::given("losses", pattern, "paper 003, section 3"),
        ExperimentInput::given(
            "link",
            "0.8 Mb/s for full packets, a queue of 50 packets",
            "paper 003, section 1.3; the queue is ours: longer than the window",
        ),
        ExperimentInput::given(
            "TCP",
            "NetBSD 1.2: buffers of 16 KiB, timestamps, ticks of 500 ms, at least two of them",
            "section 1.3 names the system; its tcp_input.c (1.23.4.2), tcp_timer.c (1.14.4.2) and \
             tcp_var.h (1.17) tell the rest",
        ),
    ]
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
        let of_seed = context.replicate(runs.each as usize, |seed| {
            let run =
                |burst: &Burst| Ok(self.simulated(tcp, burst.at_random(seed), runs.bytes, seed)?.0);
            bursts.iter().map(run).collect()
        });
        let of_seed: Vec<Vec<Run>> = of_seed.into_iter().collect::<Result<_, _>>()?;
        let at = |place| of_seed.iter().map(|runs: &Vec<Run>| runs[place]).collect();
        Ok((0..bursts.len()).map(at).collect())
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
        let is_complete = done.bytes >= bytes;
        let run = Run {
            throughput: if is_complete { done.throughput() } else { 0.0 },
            timeouts: done.operations.timeouts,
            retransmitted: done.operations.retransmissions,
        };
        Ok((run, done))
    }

    /// Measures the transfer with the kernel's TCP, as often as the paper and in real time.
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

    /// Transfers of `bytes` by each of `senders`, with every packet; one by the kernel.
    ///
    /// # Errors
    /// If a transfer could not be made.
    pub(super) fn traces(
        &self,
        context: &Context<'_>,
        senders: &[Sender],
        burst: Burst,
        bytes: u64,
    ) -> Result<Vec<Traced>, ExperimentError> {
        let traced = |&sender: &Sender| {
            (context.progress)(&format!("{}: {}", self.figure, sender.name));
            let Some(tcp) = sender.settings else {
                return Ok(Traced { sender, traces: vec![self.captured(context, burst)?] });
            };
            let traces = context.replicate(transfers(context), |seed| {
                let (run, done) = self.simulated(tcp, burst.at_random(seed), bytes, seed)?;
                let retransmitted_by_link = Some(done.ledger.packets.retransmissions);
                Ok(Trace { run, sequence: done.sequence, retransmitted_by_link })
            });
            Ok(Traced { sender, traces: traces.into_iter().collect::<Result<_, _>>()? })
        };
        senders.iter().map(traced).collect()
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
        Ok(Trace { run, sequence, retransmitted_by_link: None })
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
         The paper's is NetBSD 1.2: fast recovery ends with the first new acknowledgment, buffers \
         of 16 KiB, timestamps, acknowledgments of every third segment and at ticks of 200 ms, a \
         retransmission timer of 500 ms ticks that waits two of them at least. Net/3, its \
         ancestor, waits three and has no timestamps; two more have exact timers with another \
         least timeout (S3.15). NewReno and SACK have modern timers and the same buffers. Frames \
         of the data's direction are lost in bursts, retransmissions counted like any other \
         frame. {kernel}"
    )
}
