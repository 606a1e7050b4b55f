//! The models against their closed formulas, within four to five standard errors.

use super::*;

/// The upper 10⁻⁴ point of χ² with `k` degrees of freedom, by Wilson and Hilferty.
fn chi_square_limit(k: f64) -> f64 {
    let z = 3.719;
    k * (1.0 - 2.0 / (9.0 * k) + z * (2.0 / (9.0 * k)).sqrt()).powi(3)
}

/// All error positions in `frames` frames of `bits` bits, one list per frame.
fn positions(model: Model, bits: usize, frames: usize) -> Vec<Vec<u32>> {
    let mut air = air(model);
    let frame = packet(bits / 8);
    (0..frames).map(|_| air.judge(&frame).1.inverted().to_vec()).collect()
}

/// Asserts that `observed` lies within 4.5 standard deviations of a binomial mean.
fn assert_binomial(observed: f64, trials: f64, p: f64) {
    let deviation = (observed - trials * p) / (trials * p * (1.0 - p)).sqrt();
    assert!(deviation.abs() < 4.5, "{observed} of {trials} at {p}: {deviation} sigma");
}

/// The gaps inside a long stream of bits are geometric: χ² over classes of about equal size, and
/// the largest distance between the distribution functions (Kolmogorov and Smirnov).
#[test]
fn bit_errors_have_geometric_gaps() {
    for rate in [1e-5, 1e-3, 5e-3, 0.3] {
        let mut gaps = Gaps::new(p(rate));
        let mut stream = Stream::new(Seed(11), "gaps");
        let draws = 100_000;
        let mut drawn: Vec<u64> = (0..draws).filter_map(|_| gaps.draw(&mut stream)).collect();
        drawn.sort_unstable();
        let below = |g: u64| 1.0 - (1.0 - rate).powf(g as f64);
        let mut edges: Vec<u64> = (1..50)
            .map(|i| ((1.0 - f64::from(i) / 50.0).ln() / (1.0 - rate).ln()) as u64)
            .collect();
        edges.dedup();
        edges.retain(|&edge| edge > 0);
        let mut chi = 0.0;
        let mut last = 0.0;
        let mut seen = 0;
        let mut furthest = 0.0_f64;
        for edge in edges.iter().copied().chain([u64::MAX]) {
            let upto = drawn.partition_point(|&gap| gap < edge);
            let share = if edge == u64::MAX { 1.0 } else { below(edge) };
            let expected = (share - last) * f64::from(draws);
            chi += ((upto - seen) as f64 - expected).powi(2) / expected;
            furthest = furthest.max((upto as f64 / f64::from(draws) - share).abs());
            (last, seen) = (share, upto);
        }
        assert!(chi < chi_square_limit(edges.len() as f64), "{rate}: chi² = {chi}");
        // Kolmogorov's distribution: P(D √n > 2.23) is 10⁻⁴; less for a discrete law.
        assert!(furthest * f64::from(draws).sqrt() < 2.23, "{rate}: D = {furthest}");
        // Struck frames, whose clean ones are decided without a logarithm, follow that law too.
        let mut clean = 0.0;
        for _ in 0..draws {
            let mut hits = 0;
            gaps.apply(&mut stream, 200, |_| hits += 1);
            clean += f64::from(u8::from(hits == 0));
        }
        assert_binomial(clean, f64::from(draws), (1.0 - rate).powi(200));
    }
}

#[test]
fn bit_errors_hit_every_bit_alike() {
    for rate in [1e-3, 5e-3, 0.2] {
        let bits = 64;
        let frames = 40_000;
        let mut hits = [0_u32; 64];
        let mut pairs = 0.0;
        for frame in positions(Model::BitErrors(p(rate)), bits, frames) {
            for &position in &frame {
                hits[position as usize] += 1;
            }
            pairs += frame.windows(2).filter(|pair| pair[1] == pair[0] + 1).count() as f64;
        }
        let expected = frames as f64 * rate;
        let scale = expected * (1.0 - rate);
        let chi: f64 = hits.iter().map(|&n| (f64::from(n) - expected).powi(2) / scale).sum();
        assert!(chi < chi_square_limit(64.0), "{rate}: chi² = {chi}");
        // Neighbours are hit independently; pairs share bits, so the variance is up to thrice that.
        let mean = (bits - 1) as f64 * frames as f64 * rate * rate;
        assert!((pairs - mean).abs() < 4.5 * (3.0 * mean).sqrt(), "{rate}: {pairs} pairs");
    }
}

#[test]
fn certain_and_impossible_bit_errors() {
    assert!(positions(Model::BitErrors(p(0.0)), 800, 10).concat().is_empty());
    assert_eq!(positions(Model::BitErrors(p(1.0)), 80, 1).concat(), (0..80).collect::<Vec<_>>());
    let tiny = positions(Model::BitErrors(p(f64::MIN_POSITIVE)), 12_000, 100);
    assert!(tiny.concat().is_empty());
}

//= S3.12
#[test]
fn independent_loss_leaves_a_power_of_it_after_repetitions() {
    // The paper's numbers: repetitions after which less than one per cent is left.
    for (loss, repetitions) in [(0.5, 6), (0.8, 20), (0.9, 43)] {
        let left = f64::powi(loss, repetitions + 1);
        assert!(left < 0.0101 && left / loss > 0.0099, "{left}");
        let mut air = air(Model::Loss(p(loss)));
        let frame = packet(10);
        let packets = 20_000;
        let lost = (0..packets)
            .filter(|_| {
                // Every attempt is judged, so that attempts of all packets are independent.
                let fates: Vec<bool> =
                    (0..=repetitions).map(|_| air.judge(&frame).1.arrives()).collect();
                !fates.contains(&true)
            })
            .count();
        assert_binomial(lost as f64, f64::from(packets), left);
    }
}

/// The variance of the share of errors in `n` steps exceeds the binomial by (1 + ρ) / (1 − ρ) at
/// most, ρ = 1 − p − r being the correlation of neighbouring states.
fn assert_chain(errors: f64, steps: f64, chain: &GilbertElliott) {
    let rho = 1.0 - chain.p.get() - chain.r.get();
    let rate = chain.error_rate();
    let sigma = (steps * rate * (1.0 - rate) * (1.0 + rho) / (1.0 - rho)).sqrt();
    assert!((errors - steps * rate).abs() < 4.5 * sigma, "{errors} of {steps} at {rate}");
}

#[test]
fn frame_bursts_have_the_loss_rate_and_burst_length_of_their_chain() {
    let chain = GilbertElliott { p: p(0.02), r: p(0.25), bad: p(1.0), good: p(0.0) };
    let mut air = air(Model::FrameBursts(chain));
    let frame = packet(10);
    let lost: Vec<bool> = (0..200_000).map(|_| !air.judge(&frame).1.arrives()).collect();
    let errors = lost.iter().filter(|&&lost| lost).count() as f64;
    assert_chain(errors, 200_000.0, &chain);
    // With 1-h = 1 and 1-k = 0 the bursts are the visits: geometric, of mean 1/r.
    let bursts = lost.windows(2).filter(|pair| pair[0] && !pair[1]).count() as f64;
    let sigma = (0.75_f64).sqrt() / 0.25 / bursts.sqrt();
    assert!((errors / bursts - chain.mean_burst()).abs() < 4.5 * sigma);
}

#[test]
fn bit_bursts_run_on_across_frames() {
    let chain = GilbertElliott { p: p(1e-3), r: p(0.02), bad: p(0.4), good: p(1e-4) };
    // 12 bits a frame: most bursts span several, and every stay is redrawn many times.
    for bits in [16, 12_000] {
        let frames = 2_400_000 / bits;
        let frames = positions(Model::BitBursts(chain), bits, frames);
        let errors: f64 = frames.iter().map(|frame| frame.len() as f64).sum();
        assert_chain(errors, 2_400_000.0, &chain);
        // P(next wrong | wrong) from the chain: the state is bad with probability b, then stays.
        let bad = chain.bad.get();
        let good = chain.good.get();
        let share = chain.bad_share();
        let b = share * bad / chain.error_rate();
        let next = b * (0.98 * bad + 0.02 * good) + (1.0 - b) * (0.999 * good + 1e-3 * bad);
        let pairs = frames.iter().flat_map(|frame| frame.windows(2));
        let pairs = pairs.filter(|pair| pair[1] == pair[0] + 1).count() as f64;
        let inside = errors * (1.0 - 1.0 / bits as f64);
        // Pairs come in bursts of 1/r bits, a share `bad` of them wrong: a factor on the variance.
        let sigma = (inside * next * (1.0 - next) * (1.0 + 2.0 * bad / 0.02)).sqrt();
        assert!((pairs - inside * next).abs() < 4.5 * sigma, "{bits}: {pairs} {}", inside * next);
    }
}

#[test]
fn a_window_keeps_its_bounds_and_its_rates() {
    let window = BurstWindow { probability: p(0.3), bits: 100, rate: p(0.25) };
    let frames = positions(Model::BurstWindow(window), 1000, 50_000);
    let struck: Vec<_> = frames.iter().filter(|frame| !frame.is_empty()).collect();
    // A window without any error has probability 0.75^100: none.
    assert_binomial(struck.len() as f64, 50_000.0, 0.3);
    assert!(struck.iter().all(|frame| frame[frame.len() - 1] - frame[0] < 100));
    let errors: f64 = struck.iter().map(|frame| frame.len() as f64).sum();
    assert_binomial(errors, struck.len() as f64 * 100.0, 0.25);
    let single = BurstWindow { probability: p(1.0), bits: 1, rate: p(1.0) };
    let mut hits = [0_u32; 64];
    for frame in positions(Model::BurstWindow(single), 64, 64_000) {
        assert_eq!(frame.len(), 1);
        hits[frame[0] as usize] += 1;
    }
    let chi: f64 = hits.iter().map(|&n| (f64::from(n) - 1000.0).powi(2) / 1000.0).sum();
    assert!(chi < chi_square_limit(63.0), "{chi}");
}

#[test]
fn truncation_cuts_anywhere_behind_what_it_must_leave() {
    let model = Model::Truncation(Truncation { probability: p(0.5), least: 20 });
    let mut air = air(model);
    let frame = packet(100);
    let mut cuts = Vec::new();
    for _ in 0..20_000 {
        if let (_, FrameFate::Damaged { truncated: Some(bit), .. }) = air.judge(&frame) {
            assert!((160..800).contains(&bit));
            cuts.push(f64::from(bit));
        }
    }
    assert_binomial(cuts.len() as f64, 20_000.0, 0.5);
    let mean = cuts.iter().sum::<f64>() / cuts.len() as f64;
    let sigma = 640.0 / (12.0 * cuts.len() as f64).sqrt();
    assert!((mean - 479.5).abs() < 4.5 * sigma, "{mean}");
}

#[test]
fn directions_are_independent() {
    let config = AirConfig::of(Model::Loss(p(0.5)));
    let mut one = Air::new(&config, Seed(1), "link/0-1");
    let mut other = Air::new(&config, Seed(1), "link/1-0");
    let frame = packet(10);
    let same = (0..10_000).filter(|_| one.judge(&frame).1 == other.judge(&frame).1).count();
    assert_binomial(same as f64, 10_000.0, 0.5);
}
