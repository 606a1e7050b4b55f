use std::num::NonZeroUsize;

use windfall_scenario::{Get as _, Scenario, Topology};

use super::*;

const LAPTOPS: &str = include_str!("../../../../../scenarios/paper-002/laptops.toml");

fn scenario(text: &str) -> Scenario {
    Scenario::parse("test.toml", text).expect("a scenario")
}

fn laptops() -> Scenario {
    scenario(&LAPTOPS.replacen("duration = \"60s\"", "duration = \"3s\"", 1))
}

fn build(scenario: &Scenario) -> Result<Topology, String> {
    let mut none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    scenario.topology(0, ("", ""), &mut none).map_err(|error| error.to_string())
}

fn tuning<'a>(scenario: &'a Scenario, settings: &[&str], jobs: usize) -> EnergyTuning<'a> {
    EnergyTuning {
        scenario,
        build: &build,
        goal: EnergyGoal::Joules,
        settings: settings.iter().map(|setting| setting.parse().expect("a setting")).collect(),
        seeds: 3,
        jobs: NonZeroUsize::new(jobs).expect("a number of jobs"),
    }
}

fn advice(tuning: &EnergyTuning<'_>) -> EnergyAdvice {
    tuning.run(&mut |_| true).expect("an advice")
}

#[test]
fn larger_segments_without_timestamps_save_energy_and_say_how() {
    let scenario = laptops();
    let found = advice(&tuning(&scenario, &["mss", "timestamps"], 2));
    let high = |measure| found.saving(measure).expect("a saving").high;
    assert!(high("joules_per_byte") < 0.95, "{:?}", found.savings);
    assert!(high("packets_per_byte") < 0.8, "{:?}", found.savings);
    assert!(found.saving("battery_bytes").expect("a saving").low > 1.05, "{:?}", found.savings);
    assert_eq!(found.tcp.as_deref(), Some("mss=2256, timestamps=off"));
    assert_eq!(found.kernel_tcp, found.tcp);
    assert_eq!(found.link_options.as_deref(), Some("--mtu 2296"));
    let text = found.to_text();
    for said in [
        "ip link set dev DEV mtu 2296",
        "advmss 2256",
        "sysctl -w net.ipv4.tcp_timestamps=0",
        "TCP_MAXSEG",
    ] {
        assert!(text.contains(said), "{said} in:\n{text}");
    }
    // The scenario that is handed back is the one that was measured.
    assert_eq!(found.scenario.links[0].mtu(), 2_296);
    let tcp = found.scenario.stations[0].tcp.value().expect("settings");
    assert!(!tcp.config().timestamps);
}

#[test]
fn the_advice_depends_on_the_seeds_alone() {
    let scenario = laptops();
    let one = advice(&tuning(&scenario, &["timestamps", "sack"], 1));
    assert_eq!(one, advice(&tuning(&scenario, &["timestamps", "sack"], 4)));
}

#[test]
fn where_a_rare_acknowledgment_saves_linux_cannot_follow() {
    let scenario = laptops();
    let found = advice(&tuning(&scenario, &["delayed-ack=every:4:40ms"], 2));
    assert!(found.settings[0].saving_low.expect("a saving") > 0.0, "{found:?}");
    assert_eq!(found.kernel_tcp, None);
    assert!(found.to_text().contains("every second full segment"), "{}", found.to_text());
}

#[test]
fn the_setting_that_is_best_already_stays() {
    let scenario = laptops();
    let found = advice(&tuning(&scenario, &["rate", "rts-threshold"], 2));
    assert!(found.linux.is_empty(), "{found:?}");
    assert!((found.savings[0].ratio - 1.0).abs() < 1e-12);
    assert!(found.to_text().contains("leave it as it is"));
}

/// A code beside the rate saves what repetitions cost where bits break.
#[test]
fn the_rate_that_is_chosen_with_its_code_is_tried_too() {
    let radio = "\n[link.radio]\nchannel = 1\n";
    assert!(LAPTOPS.contains(radio));
    let text = LAPTOPS
        .replacen("duration = \"60s\"", "duration = \"3s\"", 1)
        .replace("wifi-b", "wifi-g")
        .replace("rate = \"11Mbps\"", "rate = \"24Mbps\"")
        .replace(radio, "\n[link.radio]\npath-loss = \"101dB\"\n")
        .replace("radio.position", "# radio.position");
    let scenario = scenario(&text);
    let found = advice(&tuning(&scenario, &["rate"], 2));
    assert_eq!(found.settings[0].best, "joint", "{}", found.to_text());
    assert_eq!(found.link_options.as_deref(), Some("--policy joint"));
    assert!(found.to_text().contains("no driver codes frames"), "{}", found.to_text());
}

#[test]
fn a_longer_lifetime_is_not_bought_with_a_slower_radio() {
    let scenario = laptops();
    let mut slow = tuning(&scenario, &["rate"], 2);
    slow.goal = EnergyGoal::Lifetime;
    assert_eq!(advice(&slow).settings[0].best, "11Mbps");
}

#[test]
fn what_cannot_be_tuned_is_named() {
    let error = |scenario: &Scenario, settings: &[&str]| {
        tuning(scenario, settings, 1).run(&mut |_| true).expect_err("an error").to_string()
    };
    let mut without = laptops();
    without.run.energy = None;
    assert!(error(&without, &[]).contains("no station has an energy model"));
    let mut idle = laptops();
    idle.apps.clear();
    assert!(error(&idle, &[]).contains("no application received a byte"));
    let wire = LAPTOPS.replace("wifi-b", "pipe").replace("\n[link.radio]\nchannel = 1\n", "");
    let wire = scenario(&wire.replace("radio.position", "# radio.position"));
    assert!(error(&wire, &["power"]).contains("nothing that power could change"));
    let refused = error(&laptops(), &["mss=5"]);
    assert!(refused.starts_with("mss=5: ") && refused.contains("88"), "{refused}");
    assert!(error(&laptops(), &["sack", "sack"]).contains("is given twice"));
    let rate = error(&laptops(), &["rate=7Mbps"]);
    assert!(rate.contains("802.11b has no rate of 7Mbps"), "{rate}");
    let stopped = laptops();
    let interrupted = tuning(&stopped, &["sack"], 1).run(&mut |_| false);
    assert!(matches!(interrupted, Err(EnergyTuneError::Interrupted)));
}

#[test]
fn a_goal_of_batteries_needs_one() {
    let mains = LAPTOPS.replacen("energy = \"laptop-2000\"\n", "", 1);
    let mut mains = scenario(&mains);
    let model = windfall_energy::EnergyModel::parse("m", "[platform]\nwatts = 1.0").unwrap();
    assert!(model.battery.is_none());
    mains.run.energy = Some(windfall_scenario::without_span("m.toml".to_owned()));
    let build = |scenario: &Scenario| {
        let mut read = |_: &str| Ok(b"[platform]\nwatts = 1.0\n".to_vec());
        scenario.topology(0, ("", ""), &mut read).map_err(|error| error.to_string())
    };
    let mut lifetime = EnergyTuning { build: &build, ..tuning(&mains, &["sack"], 1) };
    lifetime.goal = EnergyGoal::Lifetime;
    let error = lifetime.run(&mut |_| true).expect_err("an error").to_string();
    assert!(error.contains("--for lifetime is about"), "{error}");
}

#[test]
fn the_second_change_of_a_route_keeps_what_the_first_gave_it() {
    let found = [(TunedSetting::Mss, "2256"), (TunedSetting::DelayedAck, "off")];
    let found = found.map(|(setting, value)| (setting, value.to_owned())).into();
    let linux = LinuxAdvice::of(&found, TunedSetting::DelayedAck, "off", None);
    assert_eq!(linux.commands, ["ip route change PREFIX dev DEV advmss 2256 quickack 1"]);
    let alone = [(TunedSetting::DelayedAck, "off".to_owned())].into();
    let linux = LinuxAdvice::of(&alone, TunedSetting::DelayedAck, "off", None);
    assert_eq!(linux.commands, ["ip route change PREFIX dev DEV quickack 1"]);
}

#[test]
fn settings_are_read_with_their_values() {
    let read = |text: &str| text.parse::<SettingChoice>();
    let expected =
        SettingChoice { setting: TunedSetting::Mss, values: vec!["500".into(), "1000".into()] };
    assert_eq!(read("mss=500, 1000"), Ok(expected));
    assert!(read("mms").expect_err("unknown").contains("did you mean mss?"));
    assert!(read("mss=").expect_err("no value").contains("has no value"));
}
