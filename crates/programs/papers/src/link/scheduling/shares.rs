//! Tables 2 and 3, the readings of Table 2 (S3.47), and utility fairness beside ELF (S3.52): what
//! the closed forms say of the paper's own examples, and what the scheduler gives.

use windfall_report::{Axis, Chart, Estimate, Mark, Point, Series, Table};

use super::mix::{Mix, Scheduled, runs, slots};
use super::slots::MUTATION;
use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, ExperimentInput, Figure, Finding, Verdict,
    VerdictRecord,
};

pub(crate) const TABLE2: Figure = Figure {
    name: "S3.table2",
    title: "Four flows at 50 % errors: effort-fair, and with reservations",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::InPart, 10),
    mutation: Some(MUTATION),
    run: table2,
};

pub(crate) const TABLE3: Figure = Figure {
    name: "S3.table3",
    title: "Two stations, one of which loses half: effort, priority, and power factors",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 10),
    mutation: Some(MUTATION),
    run: table3,
};

pub(crate) const READINGS: Figure = Figure {
    name: "S3.47",
    title: "The expected rates of Table 2, by weights and by reservations",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::InPart, 10),
    mutation: Some(MUTATION),
    run: readings,
};

pub(crate) const UTILITY: Figure = Figure {
    name: "S3.52",
    title: "One hopeless flow: utility-fair scheduling beside ELF",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::ByConstruction, 10),
    mutation: Some(MUTATION),
    run: utility,
};

/// The rate of the error-free link in kb/s.
const LINK: f64 = 800.0;

/// Rates in kb/s by the closed forms.
fn formula(mix: &Mix) -> Vec<f64> {
    mix.formula().into_iter().map(|share| LINK * share).collect()
}

/// The band around a rate of the paper, which gives whole kb/s.
fn printed(rate: f64) -> Band {
    Band::between(rate - 0.5, rate + 0.5, "the paper's number in whole kb/s")
}

/// Compares the rates of a mix by the scheduler with those of the paper, in kb/s.
fn compare(claim: Claim, names: [&str; 4], paper: [f64; 4], got: &Scheduled) -> Claim {
    names.into_iter().zip(paper).enumerate().fold(claim, |claim, (flow, (name, paper))| {
        let rate = got.mean(|run| LINK * run[flow].outcome);
        claim.compare(format!("{name}, kb/s"), rate, printed(paper))
    })
}

/// The weights of Table 2.
const WEIGHTS: [f64; 4] = [1.0, 44.0, 27.5, 27.5];

/// The flows of Table 2 and of Table 3, in the order of the mixes.
const OF_TABLE2: [&str; 4] = ["audio", "video", "FTP1", "FTP2"];
const OF_TABLE3: [&str; 4] = ["video1", "video2", "FTP1", "FTP2"];

/// A finding that is a table of claims.
fn finding(figure: &Figure, context: &Context<'_>, method: &str, claims: Vec<Claim>) -> Finding {
    let method = format!(
        "{method} {} seeds, {} slots each; of each hundred packets exactly as many are lost as the \
         rate says, so that seeds change the order of losses alone and the results are as good as \
         deterministic.",
        runs(context.extent),
        slots(context.extent)
    );
    Finding { claims, inputs: inputs(), ..figure.finding(context, method) }
}

fn inputs() -> Vec<ExperimentInput> {
    vec![ExperimentInput::given("link", "800 kb/s", "paper 003, section 5")]
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
    let effort_fair = by_weights(WEIGHTS, 0.5).replicated(figure, context)?;
    let preferable = reserved(50).replicated(figure, context)?;
    let claims = vec![
        compare(
            Claim::paper(
                "S3.26",
                "section 5, table 2: effort-fair 4, 175, 110, 110",
                "shared by the weights of Table 2 all lose half",
            )
            .recorded(Verdict::InPart)
            .because(
                "a weight of 44 in 100 gives video 176 kb/s: the paper's 175 is half of the 350 \
                 that it expects, not of what its weight gives (S3.47)",
            ),
            OF_TABLE2,
            [4.0, 175.0, 110.0, 110.0],
            &effort_fair,
        ),
        compare(
            Claim::paper(
                "S3.26",
                "section 5, table 2: preferable 8, 350, 21, 21",
                "audio and video keep their rates, the FTPs share the rest",
            ),
            OF_TABLE2,
            [8.0, 350.0, 21.0, 21.0],
            &preferable,
        ),
        useful(&preferable),
        starvation(figure, context)?,
    ];
    let method = "Rates of audio, video and two FTPs at 50 % errors, by the scheduler slot by \
                  slot. Effort-fair shares link time by the table's weights, 1, 44, 27.5 and 27.5. \
                  The preferable column follows with audio and video as reserved flows and the \
                  others as best effort, all with power factor 2; \
                  weights alone do not give it.";
    Ok(finding(figure, context, method, claims))
}

fn useful(preferable: &Scheduled) -> Claim {
    let share = preferable.mean(|run| {
        let reserved = run[0].outcome + run[1].outcome;
        reserved / run.iter().map(|service| service.outcome).sum::<f64>()
    });
    Claim::paper(
        "S3.27",
        "section 5.1: “allocate 89 % of the useful bandwidth to the reserved flows”",
        "priority gives the reserved flows 89 % of the useful bandwidth",
    )
    .compare("share", share, Band::between(0.885, 0.9, "89 %: 358 of 400 kb/s are 89.5"))
}

/// Priority is effort without limit.
fn starvation(figure: &Figure, context: &Context<'_>) -> Result<Claim, ExperimentError> {
    let left = |percent| {
        // Until the reserved flows are behind, which takes some slots, others get the link too.
        let got = guaranteed(f64::INFINITY, percent).settled(figure, context)?;
        Ok::<_, ExperimentError>(got.mean(|run| LINK * run[2].effort))
    };
    Ok(Claim::paper(
        "S3.27",
        "section 5.1: “if the error rate exceeded 55 %, the FTP flows would get no air time”",
        "above 55 % errors the FTPs starve under priority",
    )
    .compare("an FTP's air time at 54 %, kb/s", left(54)?, Band::from(1.0, "some"))
    .compare("at 56 %", left(56)?, Band::to(0.1, "none")))
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
        (
            Claim::paper("S3.28", "section 5.2, table 3: effort 100, 50, 300, 150; 75 %", "effort"),
            effort,
            [100.0, 50.0, 300.0, 150.0],
            0.75,
        ),
        (
            Claim::paper(
                "S3.28",
                "section 5.2, table 3: priority 100, 100, 250, 125; 72 %",
                "priority",
            ),
            hybrid(1.0),
            [100.0, 100.0, 250.0, 125.0],
            0.72,
        ),
        (
            Claim::paper(
                "S3.34",
                "section 5.2, table 3: desirable 100, 100, 167, 167; 67 %; section 6.4: “power \
                 factors of each flow to at least 200 %”",
                "desirable: ELF with power factors of 2",
            ),
            hybrid(2.0),
            [100.0, 100.0, 167.0, 167.0],
            0.67,
        ),
    ];
    let mut claims = Vec::new();
    for (claim, mix, paper, used) in columns {
        let got = mix.replicated(figure, context)?;
        let claim = compare(claim, OF_TABLE3, paper, &got);
        let efficiency = got.mean(|run| run.iter().map(|service| service.outcome).sum());
        let band = Band::between(used - 0.01, used + 0.01, "the paper's number, in whole per cent");
        claims.push(claim.compare("efficiency", efficiency, band));
    }
    let method = "Rates of video 1, video 2, FTP 1 and FTP 2 by the scheduler slot by slot. Each \
                  of two stations has a video of 100 kb/s, reserved, and an FTP; the second \
                  station loses half. Desirable is ELF with all power factors at 2, priority the \
                  same with the FTPs at 1, effort-fair weights alone.";
    Ok(finding(figure, context, method, claims))
}

//= S3.47
fn readings(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let weights = by_weights(WEIGHTS, 0.0).replicated(figure, context)?;
    let column =
        "section 5, table 2: weights 1.0, 44.0, 27.5, 27.5; expected rates 8, 350, 221, 221";
    let expected = [8.0, 350.0, 221.0, 221.0];
    let weights_claim =
        Claim::paper("S3.47", column, "the weights of Table 2 give its expected rates")
            .recorded(Verdict::InPart)
            .because(
                "weights of 44 and 27.5 in 100 give 352 and 220 kb/s of 800; the paper's column is \
                 that of reservations of 8 and 350",
            );
    let by_reservations = |percent, says, rates| {
        let got = reserved(percent).replicated(figure, context)?;
        Ok::<_, ExperimentError>(compare(Claim::ours("S3.47", says), OF_TABLE2, rates, &got))
    };
    let claims = vec![
        compare(weights_claim, OF_TABLE2, expected, &weights),
        by_reservations(0, "reservations of 8 and 350 give them", expected)?,
        by_reservations(
            50,
            "and the preferable ones at 50 % errors, with power factors of 2",
            [8.0, 350.0, 21.0, 21.0],
        )?,
    ];
    let method = "The table's weights give 352 and 220 kb/s where its column of expected rates \
                  says 350 and 221: those are the reservations and what they leave. Both readings \
                  by the scheduler.";
    Ok(finding(figure, context, method, claims))
}

/// Three equal flows, the first of which has errors.
fn equals(power_factor: f64, error_rate: f64) -> Mix {
    Mix::new(&[], &[error_rate, 0.0, 0.0].map(|error| (1.0, power_factor, error)))
}

/// The rest that a flow which loses everything leaves the others, in kb/s: by utility fairness the
/// first of the three, by ELF the last.
fn hopeless([fair, _, others]: [Estimate; 3], bound: f64) -> [Claim; 2] {
    let papers = Claim::paper(
        "S3.52",
        "section 8.3: “it is unclear how to apply it to location-dependent errors: it would appear \
         that if a single flow experiences a 100 % error rate then all flows will experience a \
         quality level of zero”",
        "if one flow loses everything utility fairness gives all flows nothing",
    )
    .by_construction(
        "the scheme of Bianchi, Campbell and Liao is not built: the same throughput for all, \
         whatever it costs, stands in for it, and gives nothing by its definition",
    )
    .stated(format!("{:.1} kb/s for another flow", fair.value), Verdict::ByConstruction);
    let ours = Claim::ours("S3.52", "ELF leaves the others W / (P W + Σ W)").compare(
        "another flow, kb/s",
        others,
        Band::near(bound, 0.01, "the formula, within 1 %"),
    );
    [papers, ours]
}

//= S3.52
fn utility(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    // Equal quality for all is effort without limit for a flow that lags.
    let fair = f64::INFINITY;
    let limited = 1.2;
    let columns = ["error rate of flow 1", "utility-fair, each", "ELF, flow 1", "ELF, others"];
    let mut table = Table::new(columns);
    let mut courses = [const { Vec::new() }; 3];
    let mut last = [Estimate::exact(f64::NAN); 3];
    for step in 0..=10 {
        let error = f64::from(step) / 10.0;
        let fair = equals(fair, error).replicated(figure, context)?;
        let elf = equals(limited, error).replicated(figure, context)?;
        let rate = |got: &Scheduled, flow: usize| got.mean(|run| LINK * run[flow].outcome);
        last = [rate(&fair, 1), rate(&elf, 0), rate(&elf, 1)];
        let rates = last.map(|rate| rate.value);
        table.push([error, rates[0], rates[1], rates[2]].map(|value| format!("{value:.1}")));
        for (course, rate) in courses.iter_mut().zip(rates) {
            course.push(Point::new(100.0 * error, rate));
        }
    }
    let claims = hopeless(last, formula(&equals(limited, 1.0))[1]).to_vec();
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
