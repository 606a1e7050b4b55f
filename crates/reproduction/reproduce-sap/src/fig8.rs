//! Figure 8: the regularity of arriving positions, and their age.

use windfall_experiment::{
    Basis, Claim, Context, ExperimentError, Figure, Finding, Verdict, VerdictRecord,
};
use windfall_report::{Axis, Chart, Mark, Point, Series, Table, statistics};

use super::ends::ProtocolUnderTest;
use super::office::calm;
use super::tracker::{DISTANCES, INTERVAL, Place, Walked, places, trials};

pub(crate) const FIGURE: Figure = Figure {
    name: "S0.fig8",
    title: "variance of the time between positions, and their age, over distance",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run,
};

/// The distance from which the channel counts as poor: TCP retransmits often.
const POOR: f64 = 10.0;
/// The error of the speed, and the age of positions in seconds, above which they are useless.
const USEFUL: (f64, f64) = (0.1, 0.05);

pub(super) fn mean(place: &Place, of: impl Fn(&Walked) -> Option<f64>) -> f64 {
    statistics::mean(&place.values(of)).unwrap_or(f64::NAN)
}

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let sap = places(context, ProtocolUnderTest::Approximate, &DISTANCES);
    let tcp = places(context, ProtocolUnderTest::Tcp, &DISTANCES);
    let variance = "Variance of the time between positions";
    let method = format!(
        "{} walks of 945 points at each distance, as in Figure 7. Near the receiver the \
         variance of SAP lies a little above that of TCP: a position that collides with a \
         frame of the neighbours is not retransmitted and leaves a gap of 5 ms. {}",
        trials(context.extent),
        calm::DESCRIPTION
    );
    Ok(Finding {
        claims: claims(&sap, &tcp),
        charts: vec![
            ("", chart(variance, "variance (ms²)", (&sap, &tcp), 1e6, Walked::variance)),
            ("age", chart("Age of positions", "age (ms)", (&sap, &tcp), 1e3, Walked::age)),
        ],
        tables: vec![("", table(&sap, &tcp))],
        ..figure.finding(context, method)
    })
}

fn claims(sap: &[Place], tcp: &[Place]) -> Vec<Claim> {
    let pairs = || sap.iter().zip(tcp);
    let poor: Vec<f64> = pairs()
        .filter(|(sap, _)| sap.metres >= POOR)
        .map(|(sap, tcp)| mean(sap, Walked::variance) / mean(tcp, Walked::variance))
        .collect();
    let ages: Vec<(f64, f64)> = pairs()
        .filter(|(sap, _)| sap.metres > POOR)
        .map(|(sap, tcp)| (1e3 * mean(sap, Walked::age), 1e3 * mean(tcp, Walked::age)))
        .collect();
    let [near, other] = [&sap[0], &tcp[0]].map(|place| mean(place, Walked::seconds));
    let ratios: Vec<_> = poor.iter().map(|ratio| format!("{ratio:.2}")).collect();
    let both: Vec<_> = ages.iter().map(|(sap, tcp)| format!("{sap:.1} and {tcp:.1}")).collect();
    //= S0.55
    //= S0.73
    vec![
        Claim::once(
            "S0.55",
            "where the channel is poor, the variance of the time between positions is below TCP's",
            format!("from 10 m on {} of TCP's", ratios.join(", ")),
            poor.iter().all(|ratio| *ratio < 1.0),
        ),
        Claim::once(
            "S0.55",
            "at close range both take the same time",
            format!("{near:.3} s and {other:.3} s at 2 m"),
            (near / other - 1.0).abs() < 0.02,
        ),
        Claim::once(
            "S0.55",
            "945 positions every 5 ms take 4.72 s at least",
            format!("TCP {other:.3} s"),
            other >= INTERVAL.as_secs_f64() * 944.0,
        ),
        Claim::once(
            "S0.73",
            "over TCP positions wait behind stale ones and are older when they arrive",
            format!("beyond 10 m, in ms, SAP and TCP: {}", both.join(", ")),
            ages.iter().all(|(sap, tcp)| sap < tcp),
        ),
        range(sap, tcp),
    ]
}

//= S0.72
/// Returns the greatest distance at which each protocol is useful.
fn range(sap: &[Place], tcp: &[Place]) -> Claim {
    let useful = |place: &&Place| {
        place.median(|walk| Some(walk.error)) < USEFUL.0 && mean(place, Walked::age) < USEFUL.1
    };
    let [sap, tcp] = [sap, tcp].map(|places| {
        places.iter().take_while(useful).map(|place| place.metres).fold(0.0, f64::max)
    });
    Claim::once(
        "S0.72",
        "a greater usable range at a given quality: speed within 10 %, positions younger than \
         50 ms on average",
        format!("up to {sap} m over SAP, up to {tcp} m over TCP"),
        sap > tcp,
    )
}

fn chart(
    title: &str,
    unit: &str,
    (sap, tcp): (&[Place], &[Place]),
    scale: f64,
    of: fn(&Walked) -> Option<f64>,
) -> Chart {
    let line = |name: &str, places: &[Place]| {
        let point = |place: &Place| {
            let values = place.values(|walk| of(walk).map(|value| value * scale));
            let mean = statistics::mean(&values)?;
            let error = statistics::standard_error(&values).unwrap_or(0.0);
            let spread = Some(((mean - error).max(mean / 100.0), mean + error));
            Some(Point { x: place.metres, y: mean, spread })
        };
        Series::new(name, Mark::LinePoints, places.iter().filter_map(point).collect())
    };
    Chart {
        title: title.to_owned(),
        subtitle: "a position every 5 ms at 54 Mb/s; mean and standard error".to_owned(),
        x: Axis::linear("distance (m)").from_zero(),
        y: Axis::log(unit),
        series: vec![line("SAP, approximate", sap), line("TCP", tcp)],
        rules: Vec::new(),
    }
}

fn table(sap: &[Place], tcp: &[Place]) -> Table {
    let mut table = Table::new([
        "distance (m)",
        "variance SAP (ms²)",
        "TCP (ms²)",
        "age SAP (ms)",
        "TCP (ms)",
        "last one SAP (s)",
        "TCP (s)",
    ]);
    for (sap, tcp) in sap.iter().zip(tcp) {
        let both = |scale: f64, of: fn(&Walked) -> Option<f64>| {
            [sap, tcp].map(|place| format!("{:.4}", scale * mean(place, of)))
        };
        let mut row = vec![sap.metres.to_string()];
        row.extend(both(1e6, Walked::variance));
        row.extend(both(1e3, Walked::age));
        row.extend(both(1.0, Walked::seconds));
        table.push(row);
    }
    table
}
