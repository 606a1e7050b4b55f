use super::*;

fn assert_close(estimate: Estimate, expected: [f64; 3]) {
    let found = [estimate.value, estimate.low, estimate.high];
    let is_close = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-3);
    assert!(is_close, "{found:?} is not {expected:?}");
}

#[test]
fn a_mean_has_the_interval_of_students_table() {
    // t(0.975, 9) = 2.262; the standard error of 1 to 10 is 0.9574.
    let values: Vec<f64> = (1..=10).map(f64::from).collect();
    assert_close(Estimate::mean(&values), [5.5, 3.334, 7.666]);
}

#[test]
fn the_mean_of_equal_values_is_each_of_them() {
    let mean = Estimate::mean(&[0.000_882_2; 20]);
    assert_eq!([mean.value, mean.low, mean.high], [0.000_882_2; 3]);
    assert_eq!(mean.runs, 20);
}

#[test]
fn a_median_of_ten_lies_between_the_second_and_the_ninth() {
    let values: Vec<f64> = (1..=10).map(f64::from).collect();
    assert_close(Estimate::median(&values), [5.5, 2.0, 9.0]);
}

#[test]
fn a_share_has_wilsons_interval() {
    assert_close(Estimate::share(8, 10), [0.8, 0.4902, 0.9433]);
    assert_close(Estimate::share(0, 10), [0.0, 0.0, 0.2775]);
}

#[test]
fn too_few_runs_tell_nothing() {
    for estimate in [
        Estimate::mean(&[1.0]),
        Estimate::mean(&[]),
        Estimate::median(&[1.0; 5]),
        Estimate::ratio_of_medians(&[1.0; 5], &[2.0; 5]),
        Estimate::geometric_mean(&[2.0]),
    ] {
        assert!(estimate.high.is_infinite(), "{estimate:?}");
    }
}

#[test]
fn a_run_without_an_end_counts_as_the_longest() {
    let values = [1.0, 2.0, 3.0, 4.0, f64::INFINITY, f64::INFINITY];
    assert_eq!(Estimate::median(&values).value, 3.5);
    assert_eq!(Estimate::median(&values).high, f64::INFINITY);
}

#[test]
fn a_ratio_of_medians_spreads_as_its_samples_do() {
    let slow: Vec<f64> = (0..20).map(|i| 2.0 + f64::from(i) * 0.01).collect();
    let fast: Vec<f64> = (0..20).map(|i| 1.0 + f64::from(i) * 0.01).collect();
    let ratio = Estimate::ratio_of_medians(&slow, &fast);
    assert!(ratio.low > 1.8 && ratio.high < 2.1 && ratio.low < ratio.value, "{ratio:?}");
    assert_eq!(ratio, Estimate::ratio_of_medians(&slow, &fast));
}

#[test]
fn nineteen_of_twenty_intervals_contain_the_truth() {
    let mut stream = Stream::new(Seed(7), "coverage");
    let uniform = |stream: &mut Stream| stream.below(1_000_000) as f64 / 1e6;
    let mut inside = [0; 2];
    for _ in 0..2_000 {
        let values: Vec<f64> = (0..10).map(|_| uniform(&mut stream)).collect();
        for (count, estimate) in
            inside.iter_mut().zip([Estimate::mean(&values), Estimate::median(&values)])
        {
            *count += u32::from(estimate.low <= 0.5 && 0.5 <= estimate.high);
        }
    }
    // The median's interval is wider than it must be, since ranks are whole numbers.
    assert!((1_860..=1_940).contains(&inside[0]), "{inside:?}");
    assert!((1_900..=1_990).contains(&inside[1]), "{inside:?}");
}
