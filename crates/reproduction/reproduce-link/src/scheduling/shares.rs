//! Tables 2 and 3, the readings of Table 2 (S3.47), and utility fairness beside ELF (S3.52): what
//! the closed forms say of the paper's own examples, and what the scheduler gives.

use windfall_experiment::{
    Basis, Claim, Context, ExperimentError, Figure, Finding, Verdict, VerdictRecord,
};
use windfall_report::{Axis, Chart, Mark, Point, Series, Table};

use super::mix::{Mix, slots};

pub(crate) const TABLE2: Figure = Figure {
    name: "S3.table2",
    title: "Four flows at 50 % errors: effort-fair, and with reservations",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run: table2,
};

pub(crate) const TABLE3: Figure = Figure {
    name: "S3.table3",
    title: "Two stations, one of which loses half: effort, priority, and power factors",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run: table3,
};

pub(crate) const READINGS: Figure = Figure {
    name: "S3.47",
    title: "The expected rates of Table 2, by weights and by reservations",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run: readings,
};

pub(crate) const UTILITY: Figure = Figure {
    name: "S3.52",
    title: "One hopeless flow: utility-fair scheduling beside ELF",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run: utility,
};

/// The rate of the error-free link in kb/s.
const LINK: f64 = 800.0;

/// Rates in kb/s by the closed forms.
fn formula(mix: &Mix) -> Vec<f64> {
    mix.formula().into_iter().map(|share| LINK * share).collect()
}

/// Rates in kb/s by the scheduler.
fn scheduled(
    figure: &Figure,
    context: &Context<'_>,
    mix: &Mix,
) -> Result<Vec<f64>, ExperimentError> {
    let had = mix.scheduled(figure, context, slots(context.extent))?;
    Ok(had.iter().map(|service| LINK * service.outcome).collect())
}

/// Tells whether rates agree with those of the paper, which gives whole kb/s.
fn agree(measured: &[f64], paper: &[f64]) -> bool {
    measured.len() == paper.len() && measured.iter().zip(paper).all(|(m, p)| (m - p).abs() < 1.0)
}

fn list(rates: &[f64]) -> String {
    rates.iter().map(|rate| format!("{rate:.1}")).collect::<Vec<_>>().join(", ")
}

/// Holds what formulas and scheduler make of `mix` to the paper's rates in kb/s.
fn claim(
    (figure, context): (&Figure, &Context<'_>),
    requirement: &'static str,
    what: &str,
    paper: &[f64],
    mix: &Mix,
) -> Result<Claim, ExperimentError> {
    let formula = formula(mix);
    let scheduled = scheduled(figure, context, mix)?;
    Ok(Claim::once(
        requirement,
        format!("{what}: {} kb/s", list(paper)),
        format!("{} by the formulas, {} by the scheduler", list(&formula), list(&scheduled)),
        agree(&formula, paper) && agree(&scheduled, paper),
    ))
}

/// A finding that is a table of claims.
fn finding(figure: &Figure, context: &Context<'_>, method: &str, claims: Vec<Claim>) -> Finding {
    Finding { claims, ..figure.finding(context, method) }
}

/// The flows of Table 2 by weight alone: audio, video and two others, with effort fairness.
fn by_weights(weights: [f64; 4], error_rate: f64) -> Mix {
    Mix::new(&[], &weights.map(|weight| (weight, 1.0, error_rate)))
}

/// Audio and video reserved, the others best effort.
fn guaranteed(power_factor: f64, percent: u32) -> Mix {
    let error_rate = f64::from(percent) / 100.0;
    let reserved = [8.0, 350.0].map(|rate| (rate / LINK, power_factor, error_rate));
    Mix::new(&reserved, &[(1.0, power_factor, error_rate); 2])
}

/// The flows of the preferable column.
fn reserved(percent: u32) -> Mix {
    guaranteed(2.0, percent)
}

//= S3.26
//= S3.27
fn table2(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let preferable = scheduled(figure, context, &reserved(50))?;
    let share = (preferable[0] + preferable[1]) / preferable.iter().sum::<f64>();
    let mut starving = 50;
    // Priority is effort without limit.
    while scheduled(figure, context, &guaranteed(f64::INFINITY, starving))?[2] > 0.1 {
        starving += 1;
    }
    let halves = by_weights([8.0, 350.0, 221.0, 221.0], 0.5);
    let here = (figure, context);
    let claims = vec![
        claim(here, "S3.26", "effort-fair", &[4.0, 175.0, 110.0, 110.0], &halves)?,
        claim(here, "S3.26", "preferable", &[8.0, 350.0, 21.0, 21.0], &reserved(50))?,
        Claim::once(
            "S3.27",
            "priority gives the reserved flows 89 % of the useful bandwidth",
            format!("{:.1} %", 100.0 * share),
            (share - 0.89).abs() < 0.01,
        ),
        Claim::once(
            "S3.27",
            "above 55 % errors the others starve under priority",
            format!("they get something at {} %, nothing at {starving} %", starving - 1),
            starving == 56,
        ),
    ];
    let method = "Rates of audio, video and two FTPs at 50 % errors: closed forms, and the \
                  scheduler slot by slot. Effort-fair shares link time as the expected rates say, \
                  8, 350, 221 and 221 (S3.47 has the other reading). The preferable column \
                  follows with audio and video as reserved flows and the others as best effort, \
                  all with power factor 2; weights alone do not give it. Within 1 kb/s, as the \
                  paper prints whole ones.";
    Ok(finding(figure, context, method, claims))
}

//= S3.28
//= S3.34
fn table3(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    // Videos and FTPs of station 1, which is error-free, and of station 2, which loses half.
    let effort =
        Mix::new(&[], &[(1.0, 1.0, 0.0), (1.0, 1.0, 0.5), (3.0, 1.0, 0.0), (3.0, 1.0, 0.5)]);
    let hybrid = |ftp_power: f64| {
        let videos = [0.0, 0.5].map(|error| (100.0 / LINK, 2.0, error));
        Mix::new(&videos, &[0.0, 0.5].map(|error| (300.0, ftp_power, error)))
    };
    let columns = [
        ("S3.28", "effort-fair", effort, [100.0, 50.0, 300.0, 150.0], 0.75),
        ("S3.28", "priority", hybrid(1.0), [100.0, 100.0, 250.0, 125.0], 0.72),
        ("S3.34", "desirable", hybrid(2.0), [100.0, 100.0, 167.0, 167.0], 0.67),
    ];
    let mut claims = Vec::new();
    for (requirement, name, mix, paper, used) in &columns {
        claims.push(claim((figure, context), requirement, name, paper, mix)?);
        let rates = scheduled(figure, context, mix)?;
        let measured = rates.iter().sum::<f64>() / LINK;
        claims.push(Claim::once(
            "S3.28",
            format!("{name} uses {:.0} % of the link", 100.0 * used),
            format!("{:.1} %", 100.0 * measured),
            (measured - used).abs() < 0.01,
        ));
    }
    let method = "Rates of video 1, video 2, FTP 1 and FTP 2: closed forms, and the scheduler slot \
                  by slot. Each of two stations has a video of 100 kb/s, reserved, and an FTP; the \
                  second station loses half. Desirable is ELF with all power factors at 2, \
                  priority the same with the FTPs at 1, effort-fair weights alone.";
    Ok(finding(figure, context, method, claims))
}

//= S3.47
fn readings(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let here = (figure, context);
    let weights = [1.0, 44.0, 27.5, 27.5];
    let by_weight = [8.0, 352.0, 220.0, 220.0];
    let halves = by_weight.map(|rate| rate / 2.0);
    let claims = vec![
        claim(here, "S3.47", "by the table's weights", &by_weight, &by_weights(weights, 0.0))?,
        claim(here, "S3.47", "the same at 50 % errors", &halves, &by_weights(weights, 0.5))?,
        claim(
            here,
            "S3.47",
            "by reservations of 8 and 350",
            &[8.0, 350.0, 221.0, 221.0],
            &reserved(0),
        )?,
        claim(
            here,
            "S3.47",
            "the same at 50 % errors, power factor 2",
            &[8.0, 350.0, 21.0, 21.0],
            &reserved(50),
        )?,
    ];
    let method = "The table's weights give 352 and 220 kb/s where its column of expected rates \
                  says 350 and 221: those are the reservations and what they leave. Both readings, \
                  without errors and with.";
    Ok(finding(figure, context, method, claims))
}

/// Three equal flows, the first of which has errors.
fn equals(power_factor: f64, error_rate: f64) -> Mix {
    Mix::new(&[], &[error_rate, 0.0, 0.0].map(|error| (1.0, power_factor, error)))
}

//= S3.52
fn utility(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    // The same quality for all is effort without limit for whoever is behind.
    let fair = f64::INFINITY;
    let limited = 1.2;
    let columns = ["error rate of flow 1", "utility-fair, each", "ELF, flow 1", "ELF, others"];
    let mut table = Table::new(columns);
    let mut courses = [const { Vec::new() }; 3];
    for step in 0..=10 {
        let error = f64::from(step) / 10.0;
        let fair = scheduled(figure, context, &equals(fair, error))?;
        let elf = scheduled(figure, context, &equals(limited, error))?;
        let rates = [fair[1], elf[0], elf[1]];
        table.push([error, rates[0], rates[1], rates[2]].map(|value| format!("{value:.1}")));
        for (course, rate) in courses.iter_mut().zip(rates) {
            course.push(Point::new(100.0 * error, rate));
        }
    }
    let [all, _, others] = [0, 1, 2].map(|i| courses[i].last().map_or(f64::NAN, |point| point.y));
    let bound = formula(&equals(limited, 1.0))[1];
    let claims = vec![Claim::once(
        "S3.52",
        "if one flow loses everything, utility fairness gives all flows nothing; ELF leaves \
         the others W / (P W + Σ W)",
        format!("{all:.1} kb/s each; with ELF the others keep {others:.1} of {bound:.1}"),
        all < 1.0 && (others / bound - 1.0).abs() < 0.01,
    )];
    let mut series = Vec::new();
    let names = ["utility-fair, every flow", "ELF, flow 1", "ELF, the others"];
    let curves = [(fair, 1), (limited, 0), (limited, 1)];
    for (place, ((name, points), (power, flow))) in
        names.into_iter().zip(courses).zip(curves).enumerate()
    {
        let law = |x: f64| formula(&equals(power, x / 100.0))[flow];
        series.push(Series::curve("", Mark::Dashed, (0.0, 100.0), 50, law).with_color(place));
        series.push(Series::new(name, Mark::Points, points).with_color(place));
    }
    let method = "Three busy flows of equal weight on an 800 kb/s link, by the scheduler slot by \
                  slot and by the closed forms (broken lines). Utility fairness gives all the same \
                  throughput, whatever it costs: a power factor without limit. ELF limits the \
                  effort for each to a power factor of 1.2.";
    let chart = Chart {
        title: "One flow gets worse".to_owned(),
        subtitle: "three equal flows on 800 kb/s".to_owned(),
        x: Axis::linear("error rate of flow 1 (%)"),
        y: Axis::linear("throughput (kb/s)").from_zero(),
        series,
        rules: Vec::new(),
    };
    Ok(Finding {
        charts: vec![("", chart)],
        tables: vec![("", table)],
        ..finding(figure, context, method, claims)
    })
}
