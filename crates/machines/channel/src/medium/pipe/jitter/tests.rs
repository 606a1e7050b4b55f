use proptest::prelude::*;
use windfall_base::Seed;

use super::*;

const COUNT: usize = 200_000;

/// The deviations of many frames from a delay of 1 s, in units of 1 ms.
fn deviations(jitter: Jitter) -> Vec<f64> {
    let mut jitters = Jitters::new(jitter, Stream::new(Seed(5), "jitter"));
    let mean = Duration::from_secs(1);
    let delay = |number: usize| jitters.delay(mean, number as u64).as_secs_f64() * 1e3 - 1e3;
    (0..COUNT).map(delay).collect()
}

fn of(text: &str) -> Vec<f64> {
    deviations(text.parse().expect("a jitter"))
}

fn share(values: &[f64], is_so: impl Fn(f64) -> bool) -> f64 {
    values.iter().filter(|value| is_so(**value)).count() as f64 / values.len() as f64
}

#[test]
fn deviations_have_the_moments_of_their_distribution() {
    // Mean 0 and the variance; the tolerance of the mean is four of its deviations.
    for (text, variance) in [
        ("1ms", 1.0 / 3.0),
        ("1ms normal", 1.0),
        ("1ms pareto", 1.0),
        // The integral of the squared quantiles, by numbers.
        ("1ms paretonormal", 0.8792),
    ] {
        let values = of(text);
        let mean = values.iter().sum::<f64>() / COUNT as f64;
        assert!(mean.abs() < 4.0 * f64::sqrt(variance / COUNT as f64), "{text}: {mean}");
        let found = values.iter().map(|x| x * x).sum::<f64>() / COUNT as f64;
        // The fourth moment of a Pareto distribution of shape 3 is infinite.
        let tolerance = if text.contains("pareto") { 0.3 } else { 0.02 };
        assert!((found / variance - 1.0).abs() < tolerance, "{text}: {found}");
    }
}

#[test]
fn shares_are_those_of_the_distribution() {
    let uniform = of("1ms uniform");
    assert!(uniform.iter().all(|x| x.abs() <= 1.0));
    assert!((share(&uniform, |x| x < -0.5) - 0.25).abs() < 0.005);
    let normal = of("1ms normal");
    assert!((share(&normal, |x| x.abs() < 1.0) - 0.6827).abs() < 0.005);
    assert!(normal.iter().all(|x| x.abs() <= 4.0));
    // P(X > x) = (1.5 + 0.866 x)^-3 for a deviation x.
    let pareto = of("1ms pareto");
    assert!((share(&pareto, |x| x > 1.0) - 2.366_f64.powi(-3)).abs() < 0.003);
    assert!(pareto.iter().all(|x| *x > -0.578));
    // Of the same quantile, a quarter of the one and three quarters of the other, as in netem's
    // table of this name; the least is -0.25 * 4 - 0.75 * 0.577.
    let both = of("1ms paretonormal");
    for ((both, normal), pareto) in both.iter().zip(&normal).zip(&pareto) {
        assert!((both - 0.25 * normal - 0.75 * pareto).abs() < 1e-5, "{both} {normal} {pareto}");
    }
    assert!((share(&both, |x| x > 1.0) - 0.0865).abs() < 0.003);
    assert!(both.iter().all(|x| *x > -1.434));
}

#[test]
fn successive_deviations_are_correlated_and_their_distribution_stays() {
    for text in ["1ms 50% normal", "1ms 90% normal"] {
        let values = of(text);
        let [product, square] = [1, 0].map(|lag| {
            values.iter().zip(&values[lag..]).map(|(a, b)| a * b).sum::<f64>() / COUNT as f64
        });
        let rho = if text.contains("50") { 0.5 } else { 0.9 };
        assert!((product / square - rho).abs() < 0.02, "{text}: {}", product / square);
        assert!((square - 1.0).abs() < 0.06, "{text}: {square}");
    }
}

#[test]
fn a_table_is_drawn_from_evenly() {
    let table = Distribution::from_table("# mean = 0\n-8192 0\n 8192 16384\n").expect("a table");
    let spread = Duration::from_millis(1);
    let values = deviations(Jitter { spread, correlation: Probability::ZERO, distribution: table });
    for entry in [-1.0, 0.0, 1.0, 2.0] {
        let share = share(&values, |x| (x - entry).abs() < 1e-6);
        assert!((share - 0.25).abs() < 0.005, "{entry}: {share}");
    }
    for wrong in ["", "# nothing", "1 x", "40000"] {
        assert!(Distribution::from_table(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn its_text_reads_back_and_others_are_refused() {
    for text in ["10ms", "10ms 0.25", "10ms normal", "10ms 0.25 pareto", "1ms paretonormal"] {
        assert_eq!(text.parse::<Jitter>().expect("a jitter").to_string(), text);
    }
    for text in ["", "x", "10ms 2", "10ms odd", "10ms 1% normal 3", "-1ms", "3601s"] {
        let error = text.parse::<Jitter>().expect_err(text).to_string();
        assert!(error.contains("10ms 25% normal"), "{error}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[ -~]{0,40}") {
        let _ = text.parse::<Jitter>();
        let _ = Distribution::from_table(&text);
    }
}
