//! Tables 2 and 3, the readings of Table 2 (S3.47), and utility fairness beside ELF (S3.52): what
//! the closed forms of the scheduler say of the paper's own examples.

use windfall_queue::share::{Demand, by_weights, with_reservations};
use windfall_report::{Axis, Chart, Claim, Finding, Mark, Point, Series, Table, Verdict};

use crate::error::Error;
use crate::figure::{Basis, Context, Figure};

pub(crate) const TABLE2: Figure = Figure {
    name: "S3.table2",
    title: "Four flows at 50 % errors: effort-fair, and with reservations",
    basis: Basis::Simulated,
    expected: Verdict::Reproduced,
    run: table2,
};

pub(crate) const TABLE3: Figure = Figure {
    name: "S3.table3",
    title: "Two stations, one of which loses half: effort, priority, and power factors",
    basis: Basis::Simulated,
    expected: Verdict::Reproduced,
    run: table3,
};

pub(crate) const READINGS: Figure = Figure {
    name: "S3.47",
    title: "The expected rates of Table 2, by weights and by reservations",
    basis: Basis::Simulated,
    expected: Verdict::Reproduced,
    run: readings,
};

pub(crate) const UTILITY: Figure = Figure {
    name: "S3.52",
    title: "One hopeless flow: utility-fair scheduling beside ELF",
    basis: Basis::Simulated,
    expected: Verdict::Reproduced,
    run: utility,
};

/// The rate of the error-free link in kb/s.
const LINK: f64 = 800.0;
/// The weights of Table 2: audio, video, and two best-effort flows.
const WEIGHTS: [f64; 4] = [1.0, 44.0, 27.5, 27.5];

fn demand(weight: f64, power_factor: f64, error_rate: f64) -> Demand {
    Demand { weight, power_factor, error_rate }
}

/// Whether rates agree with those of the paper, which gives whole kb/s.
fn agree(measured: &[f64], paper: &[f64]) -> bool {
    measured.len() == paper.len() && measured.iter().zip(paper).all(|(m, p)| (m - p).abs() < 1.0)
}

fn list(rates: &[f64]) -> String {
    rates.iter().map(|rate| format!("{rate:.1}")).collect::<Vec<_>>().join(", ")
}

fn claim(requirement: &'static str, what: &str, paper: &[f64], measured: &[f64]) -> Claim {
    Claim {
        requirement,
        paper: format!("{what}: {} kb/s", list(paper)),
        measured: format!("{} kb/s", list(measured)),
        verdict: Verdict::of(agree(measured, paper)),
    }
}

/// A finding that is a table of claims.
fn finding(figure: &Figure, context: &Context<'_>, method: &str, claims: Vec<Claim>) -> Finding {
    Finding {
        figure: figure.name,
        title: figure.title.to_owned(),
        method: method.to_owned(),
        claims,
        expected: figure.expected,
        charts: Vec::new(),
        tables: Vec::new(),
        provenance: figure.provenance(context),
    }
}

/// All flows by weight alone, at one error rate and with one power factor.
fn alike(power_factor: f64, error_rate: f64) -> Vec<f64> {
    by_weights(&WEIGHTS.map(|weight| demand(weight, power_factor, error_rate)), LINK)
}

/// Audio and video reserved, the others best effort, all with power factor 2.
fn reserved(error_rate: f64) -> Vec<f64> {
    let guaranteed = [8.0, 350.0].map(|rate| demand(rate / LINK, 2.0, error_rate));
    let rest = [1.0, 1.0].map(|weight| demand(weight, 2.0, error_rate));
    let (given, left) = with_reservations(&guaranteed, &rest, LINK);
    given.into_iter().chain(left).collect()
}

//= S3.26
//= S3.27
fn table2(figure: &Figure, context: &Context<'_>) -> Result<Finding, Error> {
    let halves = [8.0, 350.0, 221.0, 221.0].map(|weight| demand(weight, 1.0, 0.5));
    let (effort, preferable) = (by_weights(&halves, LINK), reserved(0.5));
    let useful: f64 = preferable.iter().sum();
    let share = (preferable[0] + preferable[1]) / useful;
    // Strict priority leaves the others nothing once the reserved rates take the whole link.
    let starving = 1.0 - 358.0 / LINK;
    let mut claims = vec![
        claim("S3.26", "effort-fair", &[4.0, 175.0, 110.0, 110.0], &effort),
        claim("S3.26", "preferable", &[8.0, 350.0, 21.0, 21.0], &preferable),
    ];
    claims.push(Claim {
        requirement: "S3.27",
        paper: "priority gives the reserved flows 89 % of the useful bandwidth".to_owned(),
        measured: format!("{:.1} %", 100.0 * share),
        verdict: Verdict::of((share - 0.89).abs() < 0.01),
    });
    claims.push(Claim {
        requirement: "S3.27",
        paper: "above 55 % errors the others starve under priority".to_owned(),
        measured: format!("{:.2} %", 100.0 * starving),
        verdict: Verdict::of((starving - 0.55).abs() < 0.01),
    });
    let method = "Closed forms. Effort-fair shares link time as the expected rates 8, 350, 221 and \
                  221 say (S3.47 has the other reading). The preferable column follows with \
                  audio and video as reserved flows and the others as best effort, all with power \
                  factor 2; rates within 1 kb/s, as the paper prints whole ones.";
    Ok(finding(figure, context, method, claims))
}

//= S3.28
//= S3.34
fn table3(figure: &Figure, context: &Context<'_>) -> Result<Finding, Error> {
    // Station 1 is error-free, station 2 loses half: video 1, FTP 1, video 2, FTP 2.
    let weights = [100.0, 300.0, 100.0, 300.0];
    let errors = [0.0, 0.0, 0.5, 0.5];
    let flows = |power: f64| [0, 1, 2, 3].map(|i| demand(weights[i], power, errors[i]));
    let effort = by_weights(&flows(1.0), LINK);
    let hybrid = |ftp_power: f64| {
        let reserved = [0, 2].map(|i| demand(100.0 / LINK, 2.0, errors[i]));
        let rest = [1, 3].map(|i| demand(300.0, ftp_power, errors[i]));
        let (video, ftp) = with_reservations(&reserved, &rest, LINK);
        vec![video[0], ftp[0], video[1], ftp[1]]
    };
    let (priority, desirable) = (hybrid(1.0), hybrid(2.0));
    let mut claims = vec![
        claim("S3.28", "effort-fair", &[100.0, 300.0, 50.0, 150.0], &effort),
        claim("S3.28", "priority", &[100.0, 250.0, 100.0, 125.0], &priority),
        claim("S3.34", "desirable", &[100.0, 167.0, 100.0, 167.0], &desirable),
    ];
    let columns = [
        ("effort-fair", effort, 0.75),
        ("priority", priority, 0.72),
        ("desirable", desirable, 0.67),
    ];
    for (name, rates, paper) in columns {
        let used = rates.iter().sum::<f64>() / LINK;
        claims.push(Claim {
            requirement: "S3.28",
            paper: format!("{name} uses {:.0} % of the link", 100.0 * paper),
            measured: format!("{:.1} %", 100.0 * used),
            verdict: Verdict::of((used - paper).abs() < 0.01),
        });
    }
    let method = "Closed forms: video 100 kb/s reserved and an FTP at each of two stations, the \
                  second of which loses half. Desirable is ELF with all power factors at 2, \
                  priority the same with the FTPs at 1, effort-fair weights alone.";
    Ok(finding(figure, context, method, claims))
}

//= S3.47
fn readings(figure: &Figure, context: &Context<'_>) -> Result<Finding, Error> {
    let by_weight = alike(1.0, 0.0);
    let claims = vec![
        claim("S3.47", "by the weights of the table", &[8.0, 352.0, 220.0, 220.0], &by_weight),
        claim("S3.47", "by reservations of 8 and 350", &[8.0, 350.0, 221.0, 221.0], &reserved(0.0)),
    ];
    let method = "The table's weights give 352 and 220 kb/s where its column of expected rates \
                  says 350 and 221: those are the reservations and what they leave. Both, without \
                  errors.";
    Ok(finding(figure, context, method, claims))
}

//= S3.52
fn utility(figure: &Figure, context: &Context<'_>) -> Result<Finding, Error> {
    // Three equal flows; the error rate of the first goes from none to all.
    let elf = |error: f64| {
        let flows = [error, 0.0, 0.0].map(|error| demand(1.0, 1.2, error));
        by_weights(&flows, LINK)
    };
    // The same quality for all: effort in inverse proportion to what of it succeeds.
    let fair = |error: f64| if error < 1.0 { LINK / (1.0 / (1.0 - error) + 2.0) } else { 0.0 };
    let others = elf(1.0)[1];
    let bound = LINK / 3.2;
    let curve = |name: &str, mark, f: &dyn Fn(f64) -> f64| {
        let points = (0..=50).map(|i| Point::new(2.0 * f64::from(i), f(f64::from(i) / 50.0)));
        Series::new(name, mark, points.collect())
    };
    let mut table =
        Table::new(["error rate of flow 1", "utility-fair kb/s", "ELF flow 1", "ELF others"]);
    for step in 0..=10 {
        let error = f64::from(step) / 10.0;
        let rates = elf(error);
        table.push([error, fair(error), rates[0], rates[1]].map(|value| format!("{value:.1}")));
    }
    let claims = vec![Claim {
        requirement: "S3.52",
        paper: "if one flow loses everything, utility fairness gives all flows nothing".to_owned(),
        measured: format!("{:.0} kb/s each; with ELF the others keep {others:.1} kb/s", fair(1.0)),
        verdict: Verdict::of(fair(1.0) == 0.0 && (others - bound).abs() < 0.01 * bound),
    }];
    let method = "Closed forms: three flows of equal weight on an 800 kb/s link. Utility fairness \
                  gives all the same throughput, whatever it costs; ELF limits the effort for each \
                  to a power factor of 1.2.";
    Ok(Finding {
        charts: vec![(
            "",
            Chart {
                title: "One flow gets worse".to_owned(),
                subtitle: "three equal flows on 800 kb/s".to_owned(),
                x: Axis::linear("error rate of flow 1 (%)"),
                y: Axis::linear("throughput (kb/s)").from_zero(),
                series: vec![
                    curve("utility-fair, every flow", Mark::Line, &fair),
                    curve("ELF, flow 1", Mark::Line, &|error| elf(error)[0]),
                    curve("ELF, the others", Mark::Line, &|error| elf(error)[1]),
                ],
                rules: Vec::new(),
            },
        )],
        tables: vec![("", table)],
        ..finding(figure, context, method, claims)
    })
}
