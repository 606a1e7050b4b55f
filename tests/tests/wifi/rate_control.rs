//! Rate control on a link that no rate but one suits.

use windfall_base::Duration;
use windfall_mac::dcf::{Config, RatePolicy};
use windfall_tests::saturation::Cell;
use windfall_wire_link::ieee80211::Phy;

/// The goodput of one sender over so many decibels of loss, in Mb/s.
fn goodput(path_loss: f64, policy: &RatePolicy) -> f64 {
    let change = |config: &mut Config| config.rate = policy.clone();
    Cell::noisy(path_loss, 1_024, 1, change).run(Duration::from_secs(3)).total_mbps()
}

#[test]
fn arf_and_minstrel_come_near_the_best_fixed_rate_wherever_it_lies() {
    let ladder = RatePolicy::ladder(Phy::G);
    for path_loss in [80.0, 93.0, 101.0] {
        let fixed = ladder.iter().map(|rate| goodput(path_loss, &RatePolicy::Fixed(*rate)));
        let best = fixed.fold(0.0, f64::max);
        let arf = goodput(path_loss, &RatePolicy::Arf(ladder.clone()));
        let minstrel = goodput(path_loss, &RatePolicy::Minstrel(ladder.clone()));
        println!("{path_loss} dB: best {best:.2}, ARF {arf:.2}, Minstrel {minstrel:.2} Mb/s");
        // ARF tries the next rate every ten frames, Minstrel others with every tenth.
        assert!(arf > 0.7 * best && minstrel > 0.75 * best, "{path_loss} dB");
    }
}
