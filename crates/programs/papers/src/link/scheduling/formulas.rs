//! The closed forms of section 6 against the scheduler, slot by slot (S3.29–S3.36).

use windfall_base::{Seed, Stream};
use windfall_queue::share::Demand;
use windfall_report::{Axis, Chart, Estimate, Mark, Point, Series, Table};

use super::mix::{Mix, Scheduled, runs, slots};
use super::slots::MUTATION;
use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, ExperimentInput, Figure, Finding, Verdict,
    VerdictRecord,
};

pub(crate) const CROSSOVERS: Figure = Figure {
    name: "S3.30",
    title: "The error rates up to which extra effort makes up for errors",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 10),
    mutation: Some(MUTATION),
    run: crossovers,
};

pub(crate) const FORMULAS: Figure = Figure {
    name: "S3.31",
    title: "The formulas of the power factor against the scheduler",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 10),
    mutation: Some(MUTATION),
    run: formulas,
};

/// The power factors of the paper: best effort, video of Figures 12 and 11, audio.
const POWERS: [f64; 4] = [1.2, 1.4, 2.23, 3.0];
/// The greatest distance of a measured crossover from (P − 1) / P.
const NEAR: f64 = 0.005;
/// The greatest distance of a throughput near the knee from what it should be; two points beyond it
/// a flow has lost four times as much and more.
const KNEE: f64 = 0.005;
/// The greatest distance of a scheduled rate from a formula, as a share of what it says.
const TOLERANCE: f64 = 0.01;

/// The throughput of a flow of some power factor as its error rate rises, as shares of what it
/// would get without errors: with a reservation, and as best effort beside a flow without errors.
#[derive(Default)]
struct Decline {
    reserved: Vec<Point>,
    best_effort: Vec<Point>,
}

impl Decline {
    fn measure(
        figure: &Figure,
        context: &Context<'_>,
        power: f64,
        seed: Seed,
    ) -> Result<Self, ExperimentError> {
        let mut decline = Self::default();
        for percent in (0..=90).step_by(2) {
            let error = f64::from(percent) / 100.0;
            let best_effort = [(1.0, power, error), (1.0, power, 0.0)];
            let mix = Mix::new(&[(0.2, power, error)], &best_effort);
            let got = mix.scheduled(figure, context, seed, 0..slots(context.extent) / 4)?;
            let at = |share: f64| Point::new(f64::from(percent), 100.0 * share);
            decline.reserved.push(at(got[0].outcome / 0.2));
            decline.best_effort.push(at(got[1].outcome / got[2].outcome));
        }
        Ok(decline)
    }
}

/// The whole per cents next to a crossover from which on there is a loss of some per cent: below it
/// and two above it.
fn around(crossover: f64) -> [f64; 2] {
    let below = (100.0 * crossover).floor();
    [below / 100.0, (below + 2.0) / 100.0]
}

//= S3.30
/// Claims that the knee of the curve is where it should be, by what lies on either side of it.
fn knee(figure: &Figure, context: &Context<'_>, power: f64) -> Result<Claim, ExperimentError> {
    let expected = Demand { weight: 1.0, power_factor: power, error_rate: 0.0 }.crossover();
    let [below, above] = around(expected);
    let claim = Claim::paper(
        "S3.30",
        "section 6.2: “The crossover point is at error rate (P − 1) / P”",
        format!("a power factor of {power} makes up for errors up to {expected:.4}, and no more"),
    );
    [below, above].into_iter().try_fold(claim, |claim, error| {
        let best_effort = [(1.0, power, error), (1.0, power, 0.0)];
        let mix = Mix::new(&[(0.2, power, error)], &best_effort);
        let got = mix.replicated(figure, context)?;
        let due = (power * (1.0 - error)).min(1.0);
        let band =
            || Band::near(due, KNEE, "the lesser of 1 and P (1 − E), within half a per cent");
        let at = format!("at {:.0} %", 100.0 * error);
        Ok(claim
            .compare(
                format!("{at}, of a reservation"),
                got.mean(|run| run[0].outcome / 0.2),
                band(),
            )
            .compare(
                format!("{at}, of what a flow without errors has"),
                got.mean(|run| run[1].outcome / run[2].outcome),
                band(),
            ))
    })
}

/// The crossover, 0..=1: the line through the falling part of a course meets 100 % there.
fn crossover(course: &[Point]) -> f64 {
    let falling: Vec<&Point> = course.iter().filter(|point| point.y < 90.0).collect();
    let mean = |of: &dyn Fn(&Point) -> f64| {
        falling.iter().map(|point| of(point)).sum::<f64>() / falling.len() as f64
    };
    let x = mean(&|point| point.x);
    let y = mean(&|point| point.y);
    let slope = mean(&|point| (point.x - x) * (point.y - y)) / mean(&|point| (point.x - x).powi(2));
    (x + (100.0 - y) / slope) / 100.0
}

//= S3.30
fn crossovers(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let mut claims = Vec::new();
    let mut series = Vec::new();
    let mut table = Table::new(["power factor", "(P − 1) / P", "reserved", "best effort"]);
    for (place, power) in POWERS.into_iter().enumerate() {
        let declines = context
            .replicate(runs(context.extent), |seed| Decline::measure(figure, context, power, seed));
        let mut declines: Vec<Decline> = declines.into_iter().collect::<Result<_, _>>()?;
        let expected = Demand { weight: 1.0, power_factor: power, error_rate: 0.0 }.crossover();
        let mean = |of: &dyn Fn(&Decline) -> f64| {
            Estimate::mean(&declines.iter().map(of).collect::<Vec<_>>())
        };
        let reserved = mean(&|decline| crossover(&decline.reserved));
        let best_effort = mean(&|decline| crossover(&decline.best_effort));
        let row = [power, expected, reserved.value, best_effort.value];
        table.push(row.map(|value| format!("{value:.4}")));
        let band = || Band::between(expected - NEAR, expected + NEAR, "(P − 1) / P, ± 0.005");
        claims.push(
            knee(figure, context, power)?
                .compare("the line through the rest, with a reservation", reserved, band())
                .compare("as best effort", best_effort, band()),
        );
        let law = |x: f64| (power * (100.0 - x)).min(100.0);
        series.push(Series::curve("", Mark::Dashed, (0.0, 90.0), 90, law).with_color(place));
        let name = format!("power factor {power}");
        let points = declines.swap_remove(0).reserved;
        series.push(Series::new(name, Mark::Points, points).with_color(place));
    }
    let chart = Chart {
        title: "Extra effort up to the power factor".to_owned(),
        subtitle: "reserved flows; broken lines: the lesser of 1 and P (1 − E)".to_owned(),
        x: Axis::linear("error rate (%)"),
        y: Axis::linear("throughput (% of that without errors)").from_zero(),
        series,
        rules: Vec::new(),
    };
    let method = format!(
        "Three busy flows of one power factor on a link of slots: one that reserves a fifth of \
         it and one of best effort, whose error rate rises, and one of best effort without \
         errors. Of each hundred packets of a flow exactly as many are lost as the rate says, in \
         random order, so that the results are as good as deterministic. Looked at are the \
         throughput on either side of the crossover, and where the line through all points below \
         90 % meets 100 %, within {NEAR}."
    );
    let powers = POWERS.map(|power| power.to_string()).join(", ");
    let source = "paper 003, sections 6.5 and 7";
    Ok(Finding {
        inputs: vec![ExperimentInput::given("power factors", powers, source)],
        claims,
        charts: vec![("", chart)],
        tables: vec![("", table)],
        ..figure.finding(context, method)
    })
}

/// A formula and flows of which it says something.
struct Case {
    requirement: &'static str,
    quote: &'static str,
    says: &'static str,
    mix: Mix,
}

/// A flow by its weight, power factor and error rate.
type Flow = (f64, f64, f64);

/// The formulas of section 6.2.
fn of_weights() -> [Case; 4] {
    let case = |quote, says, best_effort: &[Flow]| Case {
        requirement: "S3.31",
        quote,
        says,
        mix: Mix::new(&[], best_effort),
    };
    [
        case(
            "section 6.2: “in an error-free environment … equivalent to a traditional WFQ \
             scheduler”",
            "without errors: weighted fair queueing",
            &[(1.0, 2.0, 0.0), (2.0, 1.2, 0.0), (5.0, 3.0, 0.0)],
        ),
        case(
            "section 6.2: “equivalent to a WFQ scheduler with the original weights running on a \
             E-degraded link”",
            "all in the outcome region at one error rate: the same on a degraded link",
            &[(1.0, 3.0, 0.5), (2.0, 3.0, 0.5), (5.0, 3.0, 0.5)],
        ),
        case(
            "section 6.2: “distributes transmission time to the flows in WFQ fashion … with \
             adjusted weights”",
            "all in the effort region: link time by P · W",
            &[(1.0, 1.2, 0.6), (2.0, 1.5, 0.7), (5.0, 1.1, 0.5)],
        ),
        case(
            "section 6.2: T = A / ΣA · B · (1 − E), A = min(W / (1 − E), P · W)",
            "in general A / ΣA · B · (1 − E)",
            &[(1.0, 1.2, 0.5), (2.0, 2.0, 0.3), (5.0, 1.5, 0.0), (1.0, 3.0, 0.8)],
        ),
    ]
}

/// The formulas of sections 6.3 and 6.4.
fn of_policies() -> [Case; 4] {
    let limitless = f64::INFINITY;
    [
        Case {
            requirement: "S3.33",
            quote: "section 6.3: “its expected throughput becomes the correct value” B_i",
            says: "reserved flows below their crossovers get exactly what they reserved",
            mix: Mix::new(
                &[(0.01, 3.0, 0.5), (0.44, 1.4, 0.2)],
                &[(1.0, 1.2, 0.1), (1.0, 1.2, 0.5)],
            ),
        },
        Case {
            requirement: "S3.33",
            quote: "section 6.3: “The best-effort flows will avoid starvation”",
            says: "at their limits they leave best effort 1 − ΣP · W, which is not starved",
            mix: Mix::new(&[(0.2, 2.0, 0.8), (0.3, 1.5, 0.6)], &[(1.0, 1.2, 0.0), (2.0, 1.2, 0.1)]),
        },
        Case {
            requirement: "S3.34",
            quote: "section 6.4: “setting a flow's power factor to 100 % will cause it to be \
                    scheduled in an effort-fair fashion”",
            says: "a power factor of 100 % is effort fairness",
            mix: Mix::new(
                &[],
                &[(1.0, 1.0, 0.0), (3.0, 1.0, 0.0), (1.0, 1.0, 0.5), (3.0, 1.0, 0.5)],
            ),
        },
        Case {
            requirement: "S3.34",
            quote: "section 6.4: “pure outcome fairness for all best-effort flows by setting their \
                    power factors to infinity”",
            says: "an infinite one is outcome fairness",
            mix: Mix::new(
                &[],
                &[(1.0, limitless, 0.0), (1.0, limitless, 0.5), (1.0, limitless, 0.9)],
            ),
        },
    ]
}

//= S3.29
//= S3.31
//= S3.33
fn formulas(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let columns = ["formula", "weight", "power factor", "error rate", "says", "scheduler"];
    let mut claims = Vec::new();
    let mut table = Table::new(columns);
    for Case { requirement, quote, says, mix } in of_weights().into_iter().chain(of_policies()) {
        let expected = mix.formula();
        let got = mix.replicated(figure, context)?;
        for (place, (flow, expected)) in mix.flows().zip(&expected).enumerate() {
            let Demand { weight, power_factor, error_rate } = flow;
            let numbers = [*weight, *power_factor, *error_rate].map(|value| value.to_string());
            let shares = [*expected, got.outcome(place).value].map(|it| format!("{it:.5}"));
            table.push([says.to_owned()].into_iter().chain(numbers).chain(shares));
        }
        claims.push(compare(Claim::paper(requirement, quote, says), &expected, &got));
    }
    claims.push(greatest_share(figure, context)?);
    claims.push(efficiency(figure, context)?);
    let method = format!(
        "Busy flows on a link of {} slots, with {} seeds. Of each hundred packets of a flow \
         exactly as many are lost as its error rate says, in random order, so that the \
         results are as good as deterministic.",
        slots(context.extent),
        runs(context.extent)
    );
    let inputs = vec![ExperimentInput::given(
        "weights, power factors and error rates",
        "as the table says",
        "ours, chosen so that each flow lies in the region that a formula is about",
    )];
    Ok(Finding { inputs, claims, tables: vec![("", table)], ..figure.finding(context, method) })
}

/// The band around what a formula says, for the ratio of a measured value to it.
fn as_said() -> Band {
    Band::near(1.0, TOLERANCE, "what the formula says, within 1 %")
}

/// Holds shares of the link to those that a formula gives.
fn compare(claim: Claim, expected: &[f64], got: &Scheduled) -> Claim {
    expected.iter().enumerate().fold(claim, |claim, (flow, expected)| {
        let of = format!("flow {} to {expected:.4} of the link", flow + 1);
        claim.compare(of, got.mean(|run| run[flow].outcome / expected), as_said())
    })
}

//= S3.32
/// One flow loses everything, the others nothing.
fn greatest_share(figure: &Figure, context: &Context<'_>) -> Result<Claim, ExperimentError> {
    let mix = Mix::new(&[], &[(1.0, 3.0, 1.0), (2.0, 1.4, 0.0), (0.5, 1.2, 0.0)]);
    let got = mix.replicated(figure, context)?;
    let greatest = mix.best_effort[0].greatest_share(&mix.best_effort[1..]);
    let claim = Claim::paper(
        "S3.32",
        "section 6.2: “The highest fraction of the link time that flow i can take”",
        "a hopeless flow takes P · W / (P · W + Σ of the other weights) of the link time",
    );
    let of = format!("to {greatest:.4} of the link");
    Ok(claim.compare(of, got.mean(|run| run[0].effort / greatest), as_said()))
}

//= S3.36
/// Random flows with power factors below two, each losing less than half.
fn efficiency(figure: &Figure, context: &Context<'_>) -> Result<Claim, ExperimentError> {
    let leasts = context.replicate(runs(context.extent), |seed| least(figure, context, seed));
    let leasts: Vec<f64> = leasts.into_iter().collect::<Result<_, _>>()?;
    Ok(Claim::paper(
        "S3.36",
        "section 6.6: “by keeping all power factors below 200 %, we can keep link efficiency over \
         50 % as long as each flow's error rate is under 50 %”",
        "power factors below 200 % keep efficiency above 50 % while each flow loses less than half",
    )
    .by_construction(
        "under any discipline more than half of what is sent arrives where no flow loses half",
    )
    .stated(
        format!(
            "{:.3} in the worst of {} random mixes",
            leasts.iter().copied().fold(f64::INFINITY, f64::min),
            MIXES * leasts.len()
        ),
        Verdict::ByConstruction,
    ))
}

/// The number of random mixes.
const MIXES: usize = 50;

/// The least efficiency of random mixes of flows.
fn least(figure: &Figure, context: &Context<'_>, seed: Seed) -> Result<f64, ExperimentError> {
    let mut random = Stream::new(seed, "mixes");
    let mut least = f64::INFINITY;
    for _ in 0..MIXES {
        let flow = |random: &mut Stream| {
            let weight = 0.1 + 10.0 * random.unit();
            let power = 1.0 + 0.99 * random.unit();
            Demand { weight, power_factor: power, error_rate: random.below(50) as f64 / 100.0 }
        };
        let best_effort = (0..2 + random.below(9)).map(|_| flow(&mut random)).collect();
        let mix = Mix { best_effort, ..Mix::default() };
        let slots = slots(context.extent) / MIXES;
        let got = mix.scheduled(figure, context, seed, 0..slots)?;
        least = least.min(got.iter().map(|service| service.outcome).sum());
    }
    Ok(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crossover_is_where_the_falling_line_meets_all() {
        let law = |percent: u32| (1.6 * (100.0 - f64::from(percent))).min(100.0);
        let course = (0..=90).step_by(2).map(|x| Point::new(f64::from(x), law(x)));
        assert!((crossover(&course.collect::<Vec<_>>()) - 0.375).abs() < 1e-9);
        let flat: Vec<Point> = (0..9).map(|x| Point::new(f64::from(x), 100.0)).collect();
        assert!(crossover(&flat).is_nan());
    }
}
