//! The parameters of a station (S0.28).

use core::num::NonZeroU8;

use windfall_base::Dbm;
use windfall_experiment::{
    Basis, Claim, Context, ExperimentError, Extent, Figure, Finding, Verdict, VerdictRecord,
};
use windfall_report::{Axis, Chart, Mark, Point, Series, Table};

use super::office::Office;
use super::streamer::{DATA, Mode, Outcome, Run};
use super::{method, together};

pub(crate) const FIGURE: Figure = Figure {
    name: "S0.28",
    title: "parameters of a station: goodput against residual bit errors, approximate mode",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run: measure,
};

/// The distance at which the parameters are varied.
const METRES: f64 = 12.2;

/// A parameter: its name, its settings, and its effect on a run.
type Parameter = (&'static str, &'static [f64], fn(&mut Run, f64));

//= S0.28
const SWEPT: [Parameter; 8] = [
    ("power (dBm)", &[0.0, 5.0, 10.0, 15.0, 20.0], |run, x| run.office.power = Dbm(x)),
    ("rate (Mb/s)", &[6.0, 12.0, 24.0, 36.0, 48.0, 54.0], |run, x| run.office.mbps = x as u64),
    ("RTS threshold (bytes)", &[500.0, 2_347.0], |run, x| run.office.rts_threshold = x as usize),
    ("attempts", &[1.0, 2.0, 4.0, 7.0], |run, x| {
        run.attempts = NonZeroU8::new(x as u8).unwrap_or(NonZeroU8::MIN);
    }),
    ("data in a packet (bytes)", &[256.0, 512.0, 1_024.0, 2_048.0], |run, x| run.size = x as usize),
    ("channel", &[1.0, 3.0, 6.0, 9.0, 11.0], |run, x| run.office.channel = x as u8),
    ("power save (0 off, 1 on)", &[0.0, 1.0], |run, x| run.office.power_save = x > 0.0),
    ("RTS threshold at 10 m (bytes)", &[500.0, 2_347.0], |run, x| {
        run.office.rts_threshold = x as usize;
        run.office.metres = 10.0;
    }),
];

/// Returns the number of runs and of datagrams in each: short runs, for many fades.
const fn workload(extent: Extent) -> (u64, u64) {
    match extent {
        Extent::Quick => (20, 50),
        Extent::Paper => (100, 200),
        Extent::Full => (400, 200),
    }
}

fn measure(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let (runs, datagrams) = workload(context.extent);
    let measured: Vec<Vec<Outcome>> =
        SWEPT.iter().map(|parameter| varied(context, parameter)).collect();
    let mut table = Table::new(["parameter", "setting", "goodput (Mb/s)", "residual BER", "FLR/B"]);
    let mut series = Vec::new();
    for ((name, settings, _), outcomes) in SWEPT.iter().zip(&measured) {
        for (setting, outcome) in settings.iter().zip(outcomes) {
            table.push([
                (*name).to_owned(),
                setting.to_string(),
                format!("{:.2}", outcome.goodput()),
                format!("{:.2e}", outcome.residual_bit_error_rate()),
                format!("{:.4}", outcome.flr_but_damaged().unwrap_or(0.0)),
            ]);
        }
        let point =
            |outcome: &Outcome| Point::new(outcome.residual_bit_error_rate(), outcome.goodput());
        series.push(Series::new(*name, Mark::LinePoints, outcomes.iter().map(point).collect()));
    }
    let chart = Chart {
        title: "Parameters of a station".to_owned(),
        subtitle: format!("{METRES} m, 54 Mb/s, {DATA} bytes, one attempt, unless varied"),
        x: Axis::log("bit error rate of the data that arrived"),
        y: Axis::linear("goodput of intact bits (Mb/s)").from_zero(),
        series,
        rules: Vec::new(),
    };
    let method = format!(
        "{runs} runs of {datagrams} datagrams for each setting, in the office of Figures 2 to \
         4. With power save the sender is an access point and the receiver a client that dozes \
         between beacons and asks for each packet. RTS is judged at 10 m too: where most \
         frames fail, it gains, since failures of granted frames count to the long limit of \
         4, at which the window falls back, and others to the short one of 7. {}",
        method(context.extent)
    );
    Ok(Finding {
        claims: claims(&measured),
        charts: vec![("", chart)],
        tables: vec![("", table)],
        ..figure.finding(context, method)
    })
}

/// Returns the outcome of each setting of a parameter.
fn varied(context: &Context<'_>, (name, settings, set): &Parameter) -> Vec<Outcome> {
    (context.progress)(name);
    let (runs, datagrams) = workload(context.extent);
    let outcome = |&setting: &f64| {
        let mut run = Run::new(Office::busy(METRES, 54), Mode::Approximate, datagrams, 0);
        set(&mut run, setting);
        together(context, runs, run)
    };
    settings.iter().map(outcome).collect()
}

fn claims(measured: &[Vec<Outcome>]) -> Vec<Claim> {
    let at = |parameter: usize, setting: usize| measured[parameter][setting];
    let [power, rate, attempts, size, channel, doze, near] = [0, 1, 3, 4, 5, 6, 7];
    vec![
        cost("lower power costs goodput and bits: 10 against 20 dBm", at(power, 2), at(power, 4)),
        trade(
            "a higher rate gains goodput and costs bits: 54 against 6 Mb/s",
            at(rate, 0),
            at(rate, 5),
        ),
        gain(
            "a higher RTS threshold gains goodput where few fail: off against 500 bytes, at 10 m",
            at(near, 0),
            at(near, 1),
        ),
        gain(
            "a lower retry limit gains goodput: 1 against 7 attempts",
            at(attempts, 3),
            at(attempts, 0),
        ),
        gain("larger packets gain goodput: 2048 against 256 bytes", at(size, 0), at(size, 3)),
        gain(
            "the channel that others use least carries most: 6 against 1, where all wait",
            at(channel, 0),
            at(channel, 2),
        ),
        gain(
            "and a channel between those of others carries less: 6 against 9",
            at(channel, 3),
            at(channel, 2),
        ),
        saving(at(doze, 0), at(doze, 1)),
    ]
}

/// Claims that one setting carries more than another.
fn gain(paper: &str, less: Outcome, more: Outcome) -> Claim {
    let text = format!("{:.2} against {:.2} Mb/s", more.goodput(), less.goodput());
    Claim::once("S0.28", paper, text, more.goodput() > less.goodput())
}

/// Claims that a dozing receiver receives less, with its radio off for part of the time.
fn saving(awake: Outcome, dozing: Outcome) -> Claim {
    let text = format!(
        "{:.2} against {:.2} Mb/s, the receiver's radio off for {:.0} % of the time",
        dozing.goodput(),
        awake.goodput(),
        100.0 * dozing.dozed()
    );
    let holds = dozing.goodput() < awake.goodput() && dozing.dozed() > 0.0 && dozing.bits > 0;
    Claim::once("S0.28", "power save at the receiver costs goodput", text, holds)
}

/// Claims that one setting carries less than another, with more bit errors.
fn cost(paper: &str, less: Outcome, more: Outcome) -> Claim {
    let [a, b] = [&less, &more].map(Outcome::residual_bit_error_rate);
    let text = format!(
        "{:.2} against {:.2} Mb/s, {a:.1e} against {b:.1e}",
        less.goodput(),
        more.goodput()
    );
    Claim::once("S0.28", paper, text, more.goodput() > less.goodput() && a > b)
}

/// Claims that one setting carries more than another, with more bit errors.
fn trade(paper: &str, less: Outcome, more: Outcome) -> Claim {
    let [a, b] = [&more, &less].map(Outcome::residual_bit_error_rate);
    let text = format!(
        "{:.2} against {:.2} Mb/s, {a:.1e} against {b:.1e}",
        more.goodput(),
        less.goodput()
    );
    Claim::once("S0.28", paper, text, more.goodput() > less.goodput() && a > b)
}
