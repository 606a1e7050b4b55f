use windfall_scenario::Scenario;

use super::*;

const LAPTOPS: &str = include_str!("../../../../../scenarios/paper-002/laptops.toml");

/// The laptops for six seconds, without traffic and with it.
fn topologies(energy: &str) -> [Topology; 2] {
    let text = LAPTOPS.replace("60s", "6s").replace("energy = \"laptop-2000\"", energy);
    let sending = Scenario::parse("laptops.toml", &text).unwrap();
    let mut idle = sending.clone();
    idle.apps.clear();
    [idle, sending].map(|scenario| {
        let place = ("laptops.toml", text.as_str());
        scenario.topology(0, place, &mut |_| Err(std::io::ErrorKind::NotFound.into())).unwrap()
    })
}

fn fit(energy: &str, lifetimes: &str) -> Result<CalibratedModel, TuneError> {
    let [idle, sending] = topologies(energy);
    CalibratedModel::fit([&idle, &sending], lifetimes.parse().unwrap(), Seed(1))
}

//= S2.25
#[test]
fn the_file_that_is_printed_lasts_as_long_as_was_measured() {
    for (base, idle, sending) in [("laptop-2000", 223, 110), ("phone", 300, 250)] {
        let energy = format!("energy = \"{base}\"");
        let found = fit(&energy, &format!("sending={sending}min, idle={idle}min")).unwrap();
        assert_eq!(found.station, "sender");
        let model = EnergyModel::parse("own.toml", &found.to_text()).unwrap();
        let [quiet, busy] = topologies(&energy).map(|it| work(&it, 0, Seed(1)).unwrap().0);
        for (usage, minutes) in [(quiet, idle), (busy, sending)] {
            let lasts = model.lifetime(&usage).unwrap().as_secs_f64() / 60.0;
            // The numbers of the file are exact but for their rounding in binary.
            assert!((lasts - f64::from(minutes)).abs() < 1e-3, "{base}: {lasts} {minutes}");
        }
    }
}

#[test]
fn what_cannot_be_fitted_says_why() {
    let error = |energy, lifetimes| fit(energy, lifetimes).unwrap_err().to_string();
    let both = "idle=223min,sending=110min";
    assert!(error("", both).contains("no station has an energy model with a battery"));
    let short = error("energy = \"laptop-2000\"", "idle=9999h,sending=110min");
    assert!(short.contains("sender: the lifetimes leave nothing for the platform"), "{short}");
}

#[test]
fn lifetimes_are_two_times_of_which_idle_is_longer() {
    for (text, message) in [
        ("", "neither idle=TIME nor sending=TIME"),
        ("idle=223min", "two lifetimes are needed"),
        ("idle=1h,sending=2h", "longer idle than sending"),
        ("idle=0s,sending=2h", "idle=0"),
        ("idle=1h,idle=2h", "idle is given twice"),
        ("idle=soon,sending=2h", "idle: "),
    ] {
        let error = text.parse::<MeasuredLifetimes>().unwrap_err();
        assert!(error.contains(message), "{text}: {error}");
    }
}
