//! The closed forms of section 6 against the scheduler, slot by slot (S3.29–S3.36).

use windfall_base::Stream;
use windfall_experiment::{
    Basis, Claim, Context, ExperimentError, Figure, Finding, Verdict, VerdictRecord,
};
use windfall_queue::share::Demand;
use windfall_report::{Axis, Chart, Mark, Point, Series, Table};

use super::mix::{Mix, demand, slots};

pub(crate) const CROSSOVERS: Figure = Figure {
    name: "S3.30",
    title: "The error rates up to which extra effort makes up for errors",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run: crossovers,
};

pub(crate) const FORMULAS: Figure = Figure {
    name: "S3.31",
    title: "The formulas of the power factor against the scheduler",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run: formulas,
};

/// The power factors of the paper: best effort, video of Figures 12 and 11, audio.
const POWERS: [f64; 4] = [1.2, 1.4, 2.23, 3.0];
/// The greatest distance of a measured crossover from (P − 1) / P.
const NEAR: f64 = 0.005;
/// The greatest distance of a scheduled rate from a formula, as a share of the formula's value.
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
    ) -> Result<Self, ExperimentError> {
        let mut decline = Self::default();
        for percent in (0..=90).step_by(2) {
            let error = f64::from(percent) / 100.0;
            let best_effort = [(1.0, power, error), (1.0, power, 0.0)];
            let mix = Mix::new(&[(0.2, power, error)], &best_effort);
            let got = mix.scheduled(figure, context, slots(context.extent) / 10)?;
            let at = |share: f64| Point::new(f64::from(percent), 100.0 * share);
            decline.reserved.push(at(got[0].outcome / 0.2));
            decline.best_effort.push(at(got[1].outcome / got[2].outcome));
        }
        Ok(decline)
    }
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
        let decline = Decline::measure(figure, context, power)?;
        let expected = demand((1.0, power, 0.0)).crossover();
        let found = [crossover(&decline.reserved), crossover(&decline.best_effort)];
        table.push([power, expected, found[0], found[1]].map(|value| format!("{value:.4}")));
        claims.push(Claim::once(
            "S3.30",
            format!("power factor {power}: {expected:.4}"),
            format!("{:.4} with a reservation, {:.4} as best effort", found[0], found[1]),
            found.iter().all(|found| (found - expected).abs() < NEAR),
        ));
        let law = |x: f64| (power * (100.0 - x)).min(100.0);
        series.push(Series::curve("", Mark::Dashed, (0.0, 90.0), 90, law).with_color(place));
        let name = format!("power factor {power}");
        series.push(Series::new(name, Mark::Points, decline.reserved).with_color(place));
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
         errors. Of each hundred packets of a flow as many are lost as the rate says, in \
         random order. The crossover is where the line through all points below 90 % meets \
         100 %; tolerance {NEAR}."
    );
    Ok(Finding {
        claims,
        charts: vec![("", chart)],
        tables: vec![("", table)],
        ..figure.finding(context, method)
    })
}

/// A requirement, what a formula says, and flows of which it does.
type Case = (&'static str, &'static str, Mix);

/// Weights, power factors and error rates of each case.
fn cases() -> [Case; 8] {
    let limitless = f64::INFINITY;
    let case = |requirement, says, reserved: &[_], best_effort: &[_]| -> Case {
        (requirement, says, Mix::new(reserved, best_effort))
    };
    [
        case(
            "S3.31",
            "without errors: weighted fair queueing",
            &[],
            &[(1.0, 2.0, 0.0), (2.0, 1.2, 0.0), (5.0, 3.0, 0.0)],
        ),
        case(
            "S3.31",
            "all in the outcome region at one error rate: the same on a degraded link",
            &[],
            &[(1.0, 3.0, 0.5), (2.0, 3.0, 0.5), (5.0, 3.0, 0.5)],
        ),
        case(
            "S3.31",
            "all in the effort region: link time by P · W",
            &[],
            &[(1.0, 1.2, 0.6), (2.0, 1.5, 0.7), (5.0, 1.1, 0.5)],
        ),
        case(
            "S3.31",
            "in general A / ΣA · B · (1 − E)",
            &[],
            &[(1.0, 1.2, 0.5), (2.0, 2.0, 0.3), (5.0, 1.5, 0.0), (1.0, 3.0, 0.8)],
        ),
        case(
            "S3.33",
            "reserved flows below their crossovers get exactly what they reserved",
            &[(0.01, 3.0, 0.5), (0.44, 1.4, 0.2)],
            &[(1.0, 1.2, 0.1), (1.0, 1.2, 0.5)],
        ),
        case(
            "S3.33",
            "at their limits they leave best effort 1 − ΣP · W, which is not starved",
            &[(0.2, 2.0, 0.8), (0.3, 1.5, 0.6)],
            &[(1.0, 1.2, 0.0), (2.0, 1.2, 0.1)],
        ),
        case(
            "S3.34",
            "a power factor of 100 % is effort fairness",
            &[],
            &[(1.0, 1.0, 0.0), (3.0, 1.0, 0.0), (1.0, 1.0, 0.5), (3.0, 1.0, 0.5)],
        ),
        case(
            "S3.34",
            "an infinite one is outcome fairness",
            &[],
            &[(1.0, limitless, 0.0), (1.0, limitless, 0.5), (1.0, limitless, 0.9)],
        ),
    ]
}

//= S3.29
//= S3.31
//= S3.33
fn formulas(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let columns = ["formula", "weight", "power factor", "error rate", "says", "scheduler"];
    let mut claims = Vec::new();
    let mut table = Table::new(columns);
    let slots = slots(context.extent);
    for (requirement, says, mix) in cases() {
        let expected = mix.formula();
        let got = mix.scheduled(figure, context, slots)?;
        let got: Vec<f64> = got.iter().map(|service| service.outcome).collect();
        for ((flow, expected), got) in mix.flows().zip(&expected).zip(&got) {
            let Demand { weight, power_factor, error_rate } = flow;
            let numbers = [*weight, *power_factor, *error_rate].map(|value| value.to_string());
            let shares = [expected, got].map(|share| format!("{share:.5}"));
            table.push([says.to_owned()].into_iter().chain(numbers).chain(shares));
        }
        claims.push(compare(requirement, says, &expected, &got));
    }
    claims.push(greatest_share(figure, context, slots)?);
    claims.push(efficiency(figure, context, slots)?);
    let method = format!(
        "Busy flows on a link of {slots} slots. Of each hundred packets of a flow as many are \
         lost as its error rate says, in random order. Each flow's throughput lies within \
         {:.0} % of what the formula says; rates are shares of the error-free link.",
        100.0 * TOLERANCE
    );
    Ok(Finding { claims, tables: vec![("", table)], ..figure.finding(context, method) })
}

/// Holds shares of the link to those that a formula gives.
fn compare(requirement: &'static str, says: &str, expected: &[f64], got: &[f64]) -> Claim {
    let list =
        |shares: &[f64]| shares.iter().map(|s| format!("{s:.4}")).collect::<Vec<_>>().join(", ");
    let off = expected.iter().zip(got).map(|(expected, got)| (got / expected - 1.0).abs());
    let off = off.fold(0.0, f64::max);
    Claim::once(
        requirement,
        format!("{says}: {}", list(expected)),
        format!("{}: at most {:.2} % off", list(got), 100.0 * off),
        off < TOLERANCE && got.iter().all(|share| share.is_finite()),
    )
}

/// One flow loses everything, the others nothing.
//= S3.32
fn greatest_share(
    figure: &Figure,
    context: &Context<'_>,
    slots: usize,
) -> Result<Claim, ExperimentError> {
    let mix = Mix::new(&[], &[(1.0, 3.0, 1.0), (2.0, 1.4, 0.0), (0.5, 1.2, 0.0)]);
    let got = mix.scheduled(figure, context, slots)?;
    let says = "the most link time that a flow can take, P · W / (P · W + Σ of the other weights)";
    let greatest = mix.best_effort[0].greatest_share(&mix.best_effort[1..]);
    Ok(compare("S3.32", says, &[greatest], &[got[0].effort]))
}

/// Random flows with power factors below two, each losing less than half.
//= S3.36
fn efficiency(
    figure: &Figure,
    context: &Context<'_>,
    slots: usize,
) -> Result<Claim, ExperimentError> {
    const MIXES: usize = 50;
    let mut random = Stream::new(context.seed, "mixes");
    let mut least = f64::INFINITY;
    for _ in 0..MIXES {
        let flow = |random: &mut Stream| {
            let weight = 0.1 + 10.0 * random.unit();
            let power = 1.0 + 0.99 * random.unit();
            demand((weight, power, random.below(50) as f64 / 100.0))
        };
        let best_effort = (0..2 + random.below(9)).map(|_| flow(&mut random)).collect();
        let mix = Mix { best_effort, ..Mix::default() };
        let got = mix.scheduled(figure, context, slots / MIXES)?;
        let useful: f64 = got.iter().map(|service| service.outcome).sum();
        least = least.min(useful);
    }
    Ok(Claim::once(
        "S3.36",
        "power factors below 200 % keep efficiency above 50 % while each flow loses less \
         than half",
        format!("at least {:.1} % in {MIXES} random mixes of flows", 100.0 * least),
        least > 0.5,
    ))
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

    #[test]
    fn a_scheduler_that_is_off_is_found_out() {
        let verdict = |got: &[f64]| compare("S3.31", "", &[0.5, 0.25], got).verdict();
        assert_eq!(verdict(&[0.502, 0.2490]), Verdict::Reproduced);
        assert_eq!(verdict(&[0.5, 0.2530]), Verdict::NotReproduced);
        assert_eq!(verdict(&[0.5, f64::NAN]), Verdict::NotReproduced);
    }
}
