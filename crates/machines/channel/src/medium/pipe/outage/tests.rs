use windfall_base::Seed;

use super::*;

fn outages(seed: u64) -> Outages {
    let means = "200ms 50ms".parse().expect("these are two times");
    Outages::new(means, Stream::new(Seed(seed), "onoff"), Instant::START)
}

#[test]
fn phases_have_exponential_lengths_of_the_means() {
    let mut lengths = [Vec::new(), Vec::new()];
    for seed in 0..10 {
        let mut outages = outages(seed);
        let mut was_off = false;
        let mut since = 0_u64;
        for us in (0..400_000_000_u64).step_by(200) {
            let is_off = outages.is_off(Instant::START + Duration::from_micros(us));
            if is_off != was_off {
                lengths[usize::from(was_off)].push((us - since) as f64 / 1e3);
                (was_off, since) = (is_off, us);
            }
        }
    }
    for (lengths, mean) in lengths.iter().zip([200.0, 50.0]) {
        let count = lengths.len() as f64;
        let measured = lengths.iter().sum::<f64>() / count;
        let squares = lengths.iter().map(|it| (it - measured).powi(2)).sum::<f64>() / count;
        // Four standard errors of a mean of exponential times; their deviation is their mean.
        let error = 4.0 * mean / count.sqrt();
        assert!((measured - mean).abs() < error, "{measured} in place of {mean}, {count} phases");
        assert!((squares.sqrt() / mean - 1.0).abs() < 0.05, "{} {mean}", squares.sqrt());
    }
}

#[test]
fn periodic_phases_all_have_their_length() {
    let times = "200ms 50ms periodic".parse().expect("these are two times");
    let mut outages = Outages::new(times, Stream::new(Seed(1), "onoff"), Instant::START);
    for ms in 0..10_000 {
        let is_off = outages.is_off(Instant::START + Duration::from_millis(ms));
        assert_eq!(is_off, ms % 250 >= 200, "at {ms} ms");
    }
}

#[test]
fn a_change_of_something_else_leaves_the_phases_alone() {
    let mut before = outages(1);
    let later = Instant::START + Duration::from_secs(30);
    before.is_off(later);
    let means = before.means;
    let fresh = || Outages::new(means, Stream::new(Seed(2), "onoff"), later);
    assert_eq!(fresh().behind(Some(&before)).until, before.until);
    let other = OnOff { off: means.on, ..means };
    let changed = Outages::new(other, Stream::new(Seed(2), "onoff"), later);
    assert_eq!(changed.behind(Some(&before)).phase, 0);
}

#[test]
fn texts_are_read_as_they_are_written() {
    for text in ["5s 500ms", "5s 500ms periodic"] {
        assert_eq!(text.parse::<OnOff>().map(|it| it.to_string()), Ok(text.to_owned()));
    }
    for text in ["", "5s", "0s 1s", "5s 1us", "5s 1s 1s", "never", "periodic", "0s 1s periodic"] {
        let error = text.parse::<OnOff>().expect_err(text).to_string();
        assert!(error.contains("5s 500ms"), "{error}");
    }
}
