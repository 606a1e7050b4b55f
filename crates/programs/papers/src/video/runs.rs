//! The runs of section 5.2: the clip over each combination and channel, from the same seeds.

use windfall_base::{Duration, Seed, Stream};
use windfall_report::{Axis, Chart, Mark, Point, Series, Table, statistics};
use windfall_scenario::GsmEnvironment;
use windfall_video::wsim::{
    BlockErrors, CircuitConfig, CircuitService, WsimOutcome, WsimPacket, WsimProtocol, WsimRun,
    circuit,
};
use windfall_video::{VideoCodec, VideoError};

use crate::experiment::{Context, ExperimentError, ExperimentInput, Extent};
use crate::video::clip::{self, ADU, FORMAT};
use crate::video::combination::{BAD, CHANNELS, COMBINATIONS, Combination, NAMES};

/// Blocks of a trace: those of four minutes, and as many again for the way back, whose blocks
/// begin 12 003 behind those of the way there.
const BLOCKS: u32 = 26_000;

/// The mutation of these experiments.
pub(crate) const MUTATION: &str = "the transparent service in place of RLP";

/// One run: a clip over one combination and channel.
#[derive(Clone, Debug)]
pub(crate) struct VideoRun {
    pub(crate) packets: Vec<WsimPacket>,
    seconds: f64,
}

/// The runs of one seed: of each channel, all combinations.
pub(crate) type SeedRuns = [[VideoRun; 4]; 2];

//= S1.45
/// The number of runs of a combination, and the seconds of each.
pub(crate) const fn counts(extent: Extent) -> (usize, usize) {
    match extent {
        Extent::Quick => (3, 60),
        Extent::Paper => (10, 240),
        Extent::Full => (40, 240),
    }
}

/// The number of runs of a figure that the paper's ten do not decide.
pub(crate) const fn many(extent: Extent) -> usize {
    match extent {
        Extent::Quick => counts(extent).0,
        Extent::Paper | Extent::Full => 40,
    }
}

//= S1.45
/// Runs all combinations over both channels.
pub(crate) fn all(
    figure: &'static str,
    context: &Context<'_>,
) -> Result<Vec<SeedRuns>, ExperimentError> {
    repeated(figure, context, counts(context.extent).0)
}

/// As [`all`], with this number of runs.
pub(crate) fn repeated(
    figure: &'static str,
    context: &Context<'_>,
    runs: usize,
) -> Result<Vec<SeedRuns>, ExperimentError> {
    let (_, seconds) = counts(context.extent);
    (context.progress)("runs");
    let one = |seed| -> Result<SeedRuns, ExperimentError> {
        let channel = |at: usize| {
            let errors = errors(figure, CHANNELS[at].0, seed)?;
            let run = |it: &Combination| {
                let run = send(mutated(*it, context), seconds, &errors);
                VideoRun { packets: run.packets, seconds: seconds as f64 }
            };
            let [a, b, c, d] = &COMBINATIONS;
            Ok([run(a), run(b), run(c), run(d)])
        };
        Ok([channel(0)?, channel(1)?])
    };
    context.replicate(runs, one).into_iter().collect()
}

/// Runs UDP and UDP-Lite over the bad channel without RLP and without start and stop bits.
pub(crate) fn synchronous(
    figure: &'static str,
    context: &Context<'_>,
) -> Result<Vec<[VideoRun; 2]>, ExperimentError> {
    (context.progress)("synchronous line");
    let (runs, seconds) = counts(context.extent);
    let one = |seed: Seed| {
        let errors = errors(figure, CHANNELS[BAD].0, seed)?;
        let run = |protocol| {
            let combination = Combination { protocol, service: CircuitService::Synchronous };
            let packets = send(combination, seconds, &errors).packets;
            VideoRun { packets, seconds: seconds as f64 }
        };
        Ok([run(WsimProtocol::Udp), run(WsimProtocol::UdpLite)])
    };
    context.replicate(runs, one).into_iter().collect()
}

/// The combination, without RLP if the mechanism is broken.
pub(crate) fn mutated(combination: Combination, context: &Context<'_>) -> Combination {
    if context.is_mutated && combination.service == CircuitService::Rlp {
        return Combination { service: CircuitService::Transparent, ..combination };
    }
    combination
}

/// The damage to the blocks of a channel.
pub(crate) fn errors(
    figure: &'static str,
    channel: GsmEnvironment,
    seed: Seed,
) -> Result<BlockErrors, ExperimentError> {
    let trace = channel.synthesize(seed, BLOCKS);
    let errors = BlockErrors::new(&trace, Stream::new(seed, "noise"));
    errors.map_err(|error| ExperimentError::Scenario { figure, message: error.to_string() })
}

/// The error of an experiment whose video could not be coded or decoded.
pub(crate) fn failed(figure: &'static str, error: &VideoError) -> ExperimentError {
    ExperimentError::Scenario { figure, message: error.to_string() }
}

/// Sends a number of seconds of the clip.
pub(crate) fn send(combination: Combination, seconds: usize, errors: &BlockErrors) -> WsimRun {
    let coded = clip::coded();
    let count = (seconds as f64 * FORMAT.rate) as usize;
    let pictures: Vec<&[u8]> = clip::repeated(&coded, count).map(Vec::as_slice).collect();
    let Combination { protocol, service } = combination;
    let rate = FORMAT.rate;
    let codec = VideoCodec::H263Plus;
    let config = CircuitConfig { protocol, adu: ADU, rate, codec, repeat: false, service };
    circuit(&config, &pictures, errors, 0)
}

impl VideoRun {
    //= S1.34
    /// The times from pictures to the arrival of their packets, in seconds.
    pub(crate) fn delays(&self) -> Vec<f64> {
        self.packets.iter().filter_map(|it| it.delay.map(Duration::as_secs_f64)).collect()
    }

    //= S1.34
    /// The times from one arrival to the next, in seconds.
    pub(crate) fn gaps(&self) -> Vec<f64> {
        let arrivals: Vec<Duration> = self.packets.iter().filter_map(|it| it.arrival).collect();
        let gaps = arrivals.windows(2).map(|pair| pair[1].saturating_sub(pair[0]).as_secs_f64());
        gaps.collect()
    }

    //= S1.34
    /// The share of packets that did not arrive.
    pub(crate) fn loss(&self) -> f64 {
        self.lost() as f64 / self.packets.len() as f64
    }

    /// The packets that did not arrive.
    pub(crate) fn lost(&self) -> usize {
        self.packets.iter().filter(|it| it.outcome == WsimOutcome::Dropped).count()
    }

    //= S1.34
    /// Bytes of the stream that arrived in a second, damaged ones among them, in kb/s.
    pub(crate) fn throughput(&self) -> f64 {
        let arrived = self.packets.iter().filter(|it| it.outcome != WsimOutcome::Dropped);
        8e-3 * arrived.map(|it| it.data_len as f64).sum::<f64>() / self.seconds
    }

    /// Bytes of the line with PPP and all headers, offered in a second.
    fn offered(&self) -> f64 {
        self.packets.iter().map(|it| it.packet_len as f64).sum::<f64>() / self.seconds
    }
}

/// Returns a value of each seed.
pub(crate) fn each(runs: &[SeedRuns], of: impl Fn(&SeedRuns) -> f64) -> Vec<f64> {
    runs.iter().map(of).collect()
}

/// Returns the mean of a sample.
pub(crate) fn mean(values: &[f64]) -> f64 {
    statistics::mean(values).unwrap_or(f64::NAN)
}

/// Returns the standard deviation of a sample.
pub(crate) fn deviation(values: &[f64]) -> f64 {
    statistics::variance(values).map_or(f64::NAN, f64::sqrt)
}

/// Describes the method of the runs, for the pages.
pub(crate) fn method(runs: &[SeedRuns], context: &Context<'_>) -> String {
    let (_, seconds) = counts(context.extent);
    let count = runs.len();
    let offered = runs.first().map_or(f64::NAN, |run| run[0][0].offered());
    format!(
        "{count} runs of {seconds} s of each combination over each channel, from the same seeds. \
         A minute of the clip talking-head, coded once as H.263+ (176 × 144, {} pictures a \
         second, {:.1} kb/s), is sent over and over: RTP, UDP or UDP-Lite that covers up to the \
         header of the picture, IP, PPP or PPP Lite. Headers included that are {offered:.0} bytes \
         a second, {:.0} % of what the transparent circuit carries with start and stop bits (960) \
         and {:.0} % of what RLP does (1200). The paper's ten pictures a second of 10 kb/s with 42 \
         bytes of headers are 13.4 kb/s, more than its line has. Blocks of 20 ms are damaged bit \
         by bit by the channel model of `--environment`; the interleaver takes 120 ms. No modem \
         and no telephone network are in the path.",
        FORMAT.rate,
        clip::bit_rate() / 1e3,
        100.0 * offered / 960.0,
        100.0 * offered / 1_200.0,
    )
}

/// The inputs of the runs.
pub(crate) fn inputs() -> Vec<ExperimentInput> {
    vec![
        ExperimentInput::given("runs", "four minutes, ten each", "paper 001, section 5.2"),
        ExperimentInput::given(
            "good channel",
            "CSQ 17, direct ray and echoes",
            "docs/explanation/gsm.md",
        ),
        ExperimentInput::fitted(
            "bad channel",
            "CSQ 7, direct ray 3.4 times the echoes",
            "the block error rate of WSim's traces, 1.58 %: paper 001, section 5.1",
        ),
        ExperimentInput::given(
            "offered load",
            "5 pictures a second of 4.6 kb/s",
            "ours: the paper's own is more than the line has",
        ),
    ]
}

/// Draws a measure as the paper does: of each combination the mean with one standard deviation,
/// `of` gives both.
pub(crate) fn chart(
    runs: &[SeedRuns],
    title: &str,
    y: Axis,
    of: &dyn Fn(&[&VideoRun]) -> (f64, f64),
) -> Chart {
    let series = CHANNELS.iter().enumerate().map(|(channel, (_, name))| {
        let point = |combination: usize| {
            let chosen: Vec<&VideoRun> = runs.iter().map(|it| &it[channel][combination]).collect();
            let (mean, deviation) = of(&chosen);
            let x = combination as f64 + 0.1 * (2.0 * channel as f64 - 1.0);
            Point { x, y: mean, spread: Some((mean - deviation, mean + deviation)) }
        };
        Series::new(*name, Mark::Points, (0..4).map(point).collect())
    });
    Chart {
        title: title.to_owned(),
        subtitle: "mean and standard deviation".to_owned(),
        x: Axis::names("", NAMES.map(str::to_owned).to_vec()),
        y,
        series: series.collect(),
        rules: Vec::new(),
    }
}

/// All measures, a row for each combination and channel.
pub(crate) fn table(runs: &[SeedRuns]) -> Table {
    let mut table = Table::new([
        "channel",
        "combination",
        "packets",
        "lost",
        "loss (%)",
        "delay, mean (s)",
        "delay, deviation (s)",
        "inter-arrival, mean (s)",
        "inter-arrival, deviation (s)",
        "throughput (kb/s)",
    ]);
    for (channel, (_, name)) in CHANNELS.iter().enumerate() {
        for (combination, title) in NAMES.iter().enumerate() {
            let chosen: Vec<&VideoRun> = runs.iter().map(|it| &it[channel][combination]).collect();
            let sum = |of: fn(&VideoRun) -> usize| chosen.iter().map(|it| of(it)).sum::<usize>();
            let sent = sum(|it| it.packets.len());
            let lost = sum(VideoRun::lost);
            let delays = pooled(&chosen, VideoRun::delays);
            let gaps = pooled(&chosen, VideoRun::gaps);
            let rates: Vec<f64> = chosen.iter().map(|it| it.throughput()).collect();
            let values = [mean(&delays), deviation(&delays), mean(&gaps), deviation(&gaps)];
            let mut row = vec![(*name).to_owned(), (*title).to_owned()];
            row.extend([sent.to_string(), lost.to_string()]);
            row.push(format!("{:.2}", 100.0 * lost as f64 / sent as f64));
            row.extend(values.map(|value| format!("{value:.4}")));
            row.push(format!("{:.3}", mean(&rates)));
            table.push(row);
        }
    }
    table
}

/// Returns the values of several runs in one sample.
pub(crate) fn pooled(runs: &[&VideoRun], of: fn(&VideoRun) -> Vec<f64>) -> Vec<f64> {
    runs.iter().flat_map(|run| of(run)).collect()
}
