//! The parameters of a station (S0.28).

use windfall_base::Dbm;
use windfall_report::{Axis, Chart, Estimate, Mark, Point, Series, Table};

use super::fig3::mode;
use super::office::{self, Office};
use super::streamer::{DATA, Outcome, Run};
use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, Extent, Figure, Finding, Verdict, VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S0.28",
    title: "Settings of a station: intact data against bit errors, in approximate mode",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::InPart, 40),
    mutation: Some("damaged frames are dropped"),
    run: measure,
};

/// The distance at which the parameters are varied.
const METRES: f64 = 12.2;

/// A parameter: its name, its settings, and its effect on a run.
type Parameter = (&'static str, &'static [f64], fn(&mut Run, f64));

//= S0.28
const SWEPT: [Parameter; 8] = [
    ("power (dBm)", &[10.0, 12.5, 15.0, 17.5, 20.0], |run, x| run.office.power = Dbm(x)),
    ("rate (Mb/s)", &[6.0, 12.0, 24.0, 36.0, 48.0, 54.0], |run, x| run.office.mbps = x as u64),
    ("RTS threshold (bytes)", &[500.0, 2_347.0], |run, x| run.office.rts_threshold = x as usize),
    ("attempts", &[1.0, 2.0, 4.0, 7.0], |run, x| {
        run.office.attempts = x as u8;
    }),
    ("data in a packet (bytes)", &[256.0, 512.0, 1_024.0, 2_048.0], |run, x| run.size = x as u32),
    ("channel", &[1.0, 3.0, 6.0, 9.0, 11.0], |run, x| run.office.channel = x as u8),
    ("power save (0 off, 1 on)", &[0.0, 1.0], |run, x| run.office.power_save = x > 0.0),
    ("RTS threshold at 10 m (bytes)", &[500.0, 2_347.0], |run, x| {
        run.office.rts_threshold = x as usize;
        run.office.metres = 10.0;
    }),
];

/// Returns the number of runs and of datagrams in each: short runs, for many fades.
const fn workload(extent: Extent) -> (usize, u32) {
    match extent {
        Extent::Quick => (2, 10),
        Extent::Paper => (40, 200),
        Extent::Full => (400, 200),
    }
}

/// The outcomes of each run, by parameter and then by setting.
type Settings = Vec<Vec<Outcome>>;

fn measure(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let (runs, datagrams) = workload(context.extent);
    let mode = mode(context);
    let measured: Vec<Settings> = context.replicate(runs, |seed| {
        let varied = |(name, settings, set): &Parameter| {
            (context.progress)(name);
            let outcome = |&setting: &f64| {
                let mut run = Run::new(Office::at(METRES, 54), mode, datagrams, seed);
                set(&mut run, setting);
                run.stream()
            };
            settings.iter().map(outcome).collect()
        };
        SWEPT.iter().map(varied).collect()
    });
    let sums: Settings = SWEPT.iter().enumerate().map(|(at, _)| sums(&measured, at)).collect();
    let mut table = Table::new(["parameter", "setting", "goodput (Mb/s)", "residual BER", "FLR/B"]);
    let mut series = Vec::new();
    for ((name, settings, _), outcomes) in SWEPT.iter().zip(&sums) {
        for (setting, outcome) in settings.iter().zip(outcomes) {
            table.push([
                (*name).to_owned(),
                setting.to_string(),
                format!("{:.2}", outcome.goodput()),
                format!("{:.2e}", outcome.residual_bit_error_rate()),
                format!("{:.4}", outcome.datagrams.flr_but_damaged().unwrap_or(0.0)),
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
        "{runs} runs of {datagrams} datagrams for each setting, by the streamer of Figures 2 to 4, \
         at the place where one frame in three is damaged. Section 3.3 argues what a station may \
         do with its power, rate, RTS threshold, attempts and packet size when errors are borne, \
         and measures none of it: the claims are ours. With power save the sender is an access \
         point and the \
         receiver a client that dozes between beacons and asks for each packet. {}",
        office::DESCRIPTION
    );
    Ok(Finding {
        inputs: office::inputs(),
        claims: claims(&measured),
        charts: vec![("", chart)],
        tables: vec![("", table)],
        ..figure.finding(context, method)
    })
}

/// Returns the sum of all runs, for each setting of a parameter.
fn sums(measured: &[Settings], parameter: usize) -> Vec<Outcome> {
    let of = |setting| {
        let outcomes = measured.iter().map(|run| run[parameter][setting]);
        outcomes.fold(Outcome::default(), |sum, outcome| sum + outcome)
    };
    (0..SWEPT[parameter].1.len()).map(of).collect()
}

/// A setting: the index of its parameter, and its own.
type Setting = (usize, usize);

/// Estimates the difference of a value between two settings, with the same seeds.
fn difference(
    measured: &[Settings],
    [from, to]: [Setting; 2],
    of: fn(&Outcome) -> f64,
) -> Estimate {
    let at = |run: &Settings, (parameter, setting): Setting| of(&run[parameter][setting]);
    let differences = measured.iter().map(|run| at(run, to) - at(run, from));
    Estimate::mean(&differences.collect::<Vec<_>>())
}

const POWER: usize = 0;
const RATE: usize = 1;
const RTS: usize = 2;
const ATTEMPTS: usize = 3;
const SIZE: usize = 4;
const CHANNEL: usize = 5;
const DOZE: usize = 6;
const RTS_NEAR: usize = 7;

//= S0.28
fn claims(measured: &[Settings]) -> Vec<Claim> {
    let more = |claim: Claim, settings: [Setting; 2]| {
        let estimate = difference(measured, settings, Outcome::goodput);
        claim.compare("Mb/s of intact bits more", estimate, Band::from(0.01, "a gain"))
    };
    let worse = |claim: Claim, settings: [Setting; 2]| {
        let estimate = difference(measured, settings, Outcome::residual_bit_error_rate);
        claim.compare("bit error rate more", estimate, Band::from(1e-6, "errors more likely"))
    };
    let ours = |statement: &str| Claim::ours("S0.28", statement);
    let power = ours("lower power costs errors and intact bits: 12.5 against 20 dBm");
    let rate = ours("a higher rate gains intact bits and costs errors: 54 against 36 Mb/s");
    let rts = ours("no RTS gains intact bits");
    let attempts = ours("fewer attempts gain intact bits: 1 against 7");
    let size = ours("larger packets gain intact bits: 2048 against 1024 bytes");
    let slower = "a damaged frame is not acknowledged, and although it is not sent again, the next \
                  one waits longer: the contention window grows by the retry counters of the \
                  station";
    vec![
        more(worse(power, [(POWER, 4), (POWER, 1)]), [(POWER, 1), (POWER, 4)]),
        worse(more(rate, [(RATE, 3), (RATE, 5)]), [(RATE, 3), (RATE, 5)])
            .recorded(Verdict::InPart)
            .because(slower),
        more(more(rts, [(RTS, 0), (RTS, 1)]), [(RTS_NEAR, 0), (RTS_NEAR, 1)])
            .recorded(Verdict::InPart)
            .because(
                "the first is at 12.2 m, the second at 10 m. Where many frames fail 40 runs show \
                 no difference: failures of granted frames count to the long limit of 4, at which \
                 the window falls back, and others to the short one of 7",
            ),
        more(attempts, [(ATTEMPTS, 3), (ATTEMPTS, 0)]),
        more(size, [(SIZE, 2), (SIZE, 3)]),
        more(
            Claim::ours("S0.28", "the channel that others use least carries most: 6 against 1"),
            [(CHANNEL, 0), (CHANNEL, 2)],
        ),
        saving(measured),
    ]
}

/// Claims that a dozing receiver receives less, with its radio off for part of the time.
fn saving(measured: &[Settings]) -> Claim {
    let lost = difference(measured, [(DOZE, 1), (DOZE, 0)], Outcome::goodput);
    Claim::ours("S0.28", "power save at the receiver costs goodput, and turns its radio off")
        .compare("Mb/s less", lost, Band::from(0.01, "a cost"))
        .compare(
            "share of the time off",
            difference(measured, [(DOZE, 0), (DOZE, 1)], Outcome::dozed),
            Band::from(0.01, "one part in a hundred"),
        )
}
