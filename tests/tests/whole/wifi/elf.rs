//! What paper 003 says of ELF in its sections 6 and 7, measured at an access point of 802.11g.

use windfall_base::{Instant, Seed};
use windfall_queue::share::{Demand, with_reservations};
use windfall_scenario::Scenario;
use windfall_stack::FlowAccount;

use super::examples::simulation_with;
use super::flows::for_each_arrival;

/// Bytes of data in each datagram, and with its headers.
const SIZE: usize = 1_000;
const LEN: f64 = 1_028.0;
/// The bits of such packets that one station alone carries each second at 24 Mb/s, headers
/// included: DIFS, mean backoff, frame, SIFS and ACK.
const LINK: f64 = 15.77e6;
/// Seconds for which the streams last.
const SECONDS: f64 = 20.0;

/// A stream that always has something to send, and what its flow says.
#[derive(Clone, Debug)]
struct Flow {
    to: &'static str,
    says: String,
}

fn flow(to: &'static str, says: impl Into<String>) -> Flow {
    Flow { to, says: says.into() }
}

/// An access point that sends to a station at 4 m and to one at `distance`, over paths that fade
/// within milliseconds: longer fades would hit those most whom the scheduler serves first.
fn cell(distance: f64, flows: &[Flow]) -> Scenario {
    let station = |name: &str, x: f64| {
        format!("[[station]]\nname = \"{name}\"\nradio.position = [{x:.1}, 0.0]\n")
    };
    let flow = |(number, flow): (usize, &Flow)| {
        let (port, Flow { to, says }) = (9_001 + number, flow);
        format!(
            "[[flow]]\nname = \"f{number}\"\ndst-port = {port}\n{says}\n\
             [[app]]\nkind = \"cbr\"\nstation = \"office\"\nto = \"{to}\"\nport = {port}\n\
             size = {SIZE}\nrate = \"16Mbps\"\nstart = \"1s\"\n"
        )
    };
    let stations = station("office", 0.0) + &station("near", 4.0) + &station("far", distance);
    let flows: String = flows.iter().enumerate().map(flow).collect();
    let overcommit = if flows.contains("reserve") { "overcommit = true\n" } else { "" };
    let text = format!(
        "format = 1\nduration = \"21s\"\n{overcommit}{stations}\
         [[link]]\nname = \"air\"\nkind = \"wifi-g\"\n\
         stations = [\"office\", \"near\", \"far\"]\nbase = \"office\"\nrate = \"24Mbps\"\n\
         queue = 200\n[link.radio]\ninfrastructure = true\n\
         fading = \"rayleigh 200\"\n{flows}"
    );
    Scenario::parse("elf.toml", &text).unwrap_or_else(|error| panic!("{error}"))
}

/// The account of each flow at the end.
fn accounts(scenario: &Scenario, seed: u64) -> Vec<FlowAccount> {
    let mut simulation = simulation_with(scenario, Seed(seed));
    simulation.finish();
    let network = simulation.network();
    let office = network.interfaces().next().expect("the first");
    network.flows(office).split_off(1)
}

/// The flow as the formulas see it, its error rate as it was measured.
fn demand(flow: &FlowAccount) -> Demand {
    let total = flow.account.total;
    let error_rate = (1.0 - total.outcome / total.effort).max(0.0);
    Demand { weight: flow.share.weight, power_factor: flow.share.power_factor, error_rate }
}

/// Bits of packets that arrived in each second.
fn throughput(flow: &FlowAccount) -> f64 {
    flow.bytes as f64 * 8.0 / SECONDS
}

fn sum(flows: &[FlowAccount], of: impl Fn(&FlowAccount) -> f64) -> f64 {
    flows.iter().map(of).sum()
}

/// Holds the outcome of two reserved flows and of two others to the formulas.
fn check_outcomes(flows: &[FlowAccount], case: &str) {
    let demands: Vec<Demand> = flows.iter().map(demand).collect();
    let (reserved, others) = with_reservations(&demands[..2], &demands[2..], 1.0);
    let all = sum(flows, |flow| flow.account.total.effort);
    for (flow, due) in flows.iter().zip(reserved.into_iter().chain(others)) {
        let got = flow.account.total.outcome / all;
        assert!((got / due - 1.0).abs() < 0.04, "{case}: {got} of {due}: {flows:?}");
    }
}

/// Table 3: a video of an eighth of the link and a file to each of two stations, of which one has
/// about the half of its attempts fail.
//= S3.34
#[test]
fn power_factors_lead_from_equal_effort_to_equal_outcome() {
    let at = |power_factor: f64, distance: f64| {
        let video = format!(
            "reserve = \"{:.0}bps\"\npacket-size = {LEN:.0}\npower-factor = {power_factor:.1}",
            LINK / 8.0
        );
        let file = format!("power-factor = {power_factor:.1}");
        let flows = [
            flow("near", video.clone()),
            flow("far", video),
            flow("near", file.clone()),
            flow("far", file),
        ];
        let flows = accounts(&cell(distance, &flows), 1);
        check_outcomes(&flows, &format!("P = {power_factor}"));
        flows
    };
    for power_factor in [1.0, 2.0, 1_000.0] {
        let flows = at(power_factor, 80.0);
        let rates: Vec<f64> = flows.iter().map(|flow| throughput(flow) / 1e6).collect();
        let errors: Vec<f64> = flows.iter().map(|flow| demand(flow).error_rate).collect();
        let share = sum(&flows, |flow| flow.account.total.outcome)
            / sum(&flows, |flow| flow.account.total.effort);
        println!("P {power_factor}: {rates:.2?} Mb/s, errors {errors:.3?}, useful {share:.3}");
        let ratio = [rates[1] / rates[0], rates[3] / rates[2]];
        let due = [1, 3].map(|at| (power_factor * (1.0 - errors[at])).min(1.0));
        for (ratio, due) in ratio.into_iter().zip(due) {
            assert!((ratio / due - 1.0).abs() < 0.04, "P = {power_factor}: {ratio}, not {due}");
        }
    }
}

//= S3.35
#[test]
fn the_classes_of_section_6_5_hold_up_to_their_error_rates() {
    let flows = [
        flow("far", format!("reserve = \"64kbps\"\npacket-size = {LEN:.0}")),
        flow("far", format!("reserve = \"3Mbps\"\npacket-size = {LEN:.0}")),
        flow("far", ""),
        flow("near", ""),
    ];
    let flows = accounts(&cell(85.0, &flows), 1);
    let [voice, video, far, near] = &flows[..] else { panic!("{flows:?}") };
    let factors: Vec<f64> = flows.iter().map(|flow| flow.share.power_factor).collect();
    assert_eq!(factors, [3.0, 1.5, 1.2, 1.2]);
    let errors: Vec<f64> = flows.iter().map(|flow| demand(flow).error_rate).collect();
    let kept = [throughput(voice) / 64e3, throughput(video) / 3e6];
    println!("errors {errors:.3?}, voice and video {kept:.3?} of their reservations");
    assert!(errors[..3].iter().all(|error| (0.4..0.66).contains(error)), "{errors:?}");
    assert!((kept[0] - 1.0).abs() < 0.03, "voice {}", kept[0]);
    let due = 1.5 * (1.0 - errors[1]);
    assert!((kept[1] / due - 1.0).abs() < 0.04, "video {}, not {due}", kept[1]);
    let got = far.bytes as f64 / near.bytes as f64;
    let due = 1.2 * (1.0 - errors[2]);
    assert!((got / due - 1.0).abs() < 0.04, "best effort {got}, not {due}");
}

//= S3.36
#[test]
fn power_factors_below_2_keep_more_than_half_of_the_air_useful() {
    let mut worst = 1.0_f64;
    for (seed, distance) in [(1, 65.0), (2, 70.0), (3, 75.0), (4, 78.0)] {
        for power_factor in [1.0, 1.5, 1.9] {
            let says = format!("power-factor = {power_factor:.1}");
            let flows = [flow("near", says.clone()), flow("far", says)];
            let flows = accounts(&cell(distance, &flows), seed);
            if flows.iter().any(|flow| demand(flow).error_rate >= 0.5) {
                continue;
            }
            let useful = sum(&flows, |flow| flow.account.total.outcome)
                / sum(&flows, |flow| flow.account.total.effort);
            assert!(useful > 0.5, "{distance} m, P = {power_factor}: {useful}: {flows:?}");
            worst = worst.min(useful);
        }
    }
    println!("the least useful share of the air: {worst:.3}");
    assert!(worst < 0.75, "errors that hardly cost anything show nothing: {worst}");
}

//= S3.38
#[test]
fn without_errors_shares_are_the_weights() {
    let flows = [1, 2, 4].map(|weight| flow("near", format!("weight = {weight}")));
    let flows = accounts(&cell(5.0, &flows), 1);
    let all = sum(&flows, |flow| flow.bytes as f64);
    for (flow, weight) in flows.iter().zip([1.0, 2.0, 4.0]) {
        let share = flow.bytes as f64 / all;
        println!("weight {weight}: {:.4} of {:.4}", share, weight / 7.0);
        assert!((share / (weight / 7.0) - 1.0).abs() < 0.01, "{share} of {}", weight / 7.0);
    }
}

/// Figure 11: audio, video and two files to a station with bursts of errors.
//= S3.40
#[test]
fn audio_and_video_keep_their_reservations_and_two_files_bear_the_errors_alike() {
    let reserved = |share: f64, power_factor: f64| {
        let rate = share * LINK;
        format!(
            "reserve = \"{rate:.0}bps\"\npacket-size = {LEN:.0}\npower-factor = {power_factor:.2}"
        )
    };
    let flows = [
        flow("far", reserved(0.01, 3.0)),
        flow("far", reserved(0.44, 2.23)),
        flow("far", "power-factor = 1.2"),
        flow("far", "power-factor = 1.2"),
    ];
    let scenario = cell(70.0, &flows);
    let mut simulation = simulation_with(&scenario, Seed(1));
    let mut times = vec![Vec::new(); 4];
    for_each_arrival(&mut simulation, |flow, at| times[flow].push(at));
    let office = simulation.network().interfaces().next().expect("the first");
    let accounts = simulation.network().flows(office).split_off(1);
    let errors: Vec<f64> = accounts.iter().map(|flow| demand(flow).error_rate).collect();
    // The share of its reservation in each window of fifty packets.
    let least = |flow: usize, share: f64| {
        let due = |pair: &[Instant]| {
            let seconds = (pair[50] - pair[0]).as_secs_f64();
            50.0 * LEN * 8.0 / (share * LINK * seconds)
        };
        times[flow].windows(51).map(due).fold(f64::INFINITY, f64::min)
    };
    let audio = least(0, 0.01);
    let video = least(1, 0.44);
    let files = [2, 3].map(|flow| accounts[flow].bytes as f64);
    println!("errors {errors:.3?}; least window: audio {audio:.3}, video {video:.3}; {files:?}");
    assert!(errors.iter().all(|error| (0.2..0.4).contains(error)), "{errors:?}");
    assert!(audio >= 0.97, "audio {audio}");
    assert!((files[0] / files[1] - 1.0).abs() < 0.05, "{files:?}");
    let kept = [0.01, 0.44].iter().zip(&accounts).map(|(share, it)| throughput(it) / share / LINK);
    for kept in kept {
        assert!(kept > 0.97, "{kept} of a reservation");
    }
}
