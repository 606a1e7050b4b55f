use core::net::IpAddr;

use windfall_base::{
    Class, Duration, FlowId, Input, Node, Probability, Rate, RxVector, Seed, Stream,
};
use windfall_mac::wifi::Config;
use windfall_queue::FlowConfig;
use windfall_queue::share::{Demand, by_weights};
use windfall_wire_link::check::frame_check;
use windfall_wire_link::ieee80211::{Header, Kind, Phy};

use super::*;
use crate::interface::{DEVICE, MEDIUM};
use crate::{Interface, InterfaceConfig, LinkLayerConfig, Neighbour, ScheduledFlow, WifiConfig};

const LEN: usize = 1_000;

fn mac() -> Config {
    Config::new(MacAddress::of_station(0), Phy::G)
}

/// An interface of station 0 with flows 1 and 2, of which flow n goes to station n at 10.0.0.n.
fn interface(shares: [FlowConfig; 2], reserve: Option<Rate>) -> Interface {
    interface_of(mac(), Discipline::ELF, shares, reserve)
}

fn interface_of(
    mac: Config,
    discipline: Discipline,
    shares: [FlowConfig; 2],
    reserve: Option<Rate>,
) -> Interface {
    let neighbour = |number: u8| Neighbour {
        address: MacAddress::of_station(number.into()),
        behind: vec![IpAddr::from([10, 0, 0, number]).into()],
    };
    let neighbours = [1, 2].map(neighbour).into();
    let flow = |(number, share): (u16, FlowConfig)| {
        let reserve = reserve.filter(|_| share.reserved);
        ScheduledFlow { flow: FlowId(number), share, reserve }
    };
    let config = InterfaceConfig {
        flows: (1..).zip(shares).map(flow).collect(),
        discipline,
        link: LinkLayerConfig::Wifi(WifiConfig { mac, neighbours }),
        ..InterfaceConfig::default()
    };
    Interface::new(config, Seed(1), "radio")
}

fn packet(flow: u8, tag: u64) -> Frame {
    let mut bytes = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 9, 10, 0, 0, flow];
    bytes[2..4].copy_from_slice(&(LEN as u16).to_be_bytes());
    bytes.resize(LEN, 0);
    let class = Class { flow: FlowId(flow.into()), ..Class::default() };
    Frame { tag: Some(Tag(tag)), ..Frame::packet(bytes).with_class(class) }
}

fn ack() -> Frame {
    let mut frame = Frame::default();
    Header::new(Kind::Ack, MacAddress::of_station(0)).encode(&mut frame.header);
    let check = frame_check(&[&frame.header]);
    frame.trailer.extend(check);
    frame
}

/// The counts of an air on which stations 1 and 2 answer a frame with these probabilities.
struct Counts {
    attempts: [u32; 2],
    answers: [u32; 2],
    /// The air time of all attempts at a flow, in seconds.
    effort: [f64; 2],
    /// The failures in a row at the packet under way.
    failures: u32,
    elapsed: Duration,
}

impl Counts {
    /// The air time of the answered attempts of a flow, had no attempt failed, in seconds.
    fn outcome(&self, flow: usize) -> f64 {
        f64::from(self.answers[flow]) * mac().packet_time(LEN).as_secs_f64()
    }

    /// The share of the effort of a flow that was lost.
    fn error_rate(&self, flow: usize) -> f64 {
        1.0 - self.outcome(flow) / self.effort[flow]
    }

    /// Counts an attempt: the contention window doubles with each failure until the packet arrives
    /// or has had its seven attempts.
    fn count(&mut self, flow: usize, is_answered: bool) {
        let window = |failures: u32| (16_u32 << failures).min(1_024) - 1;
        let slots = f64::from(window(self.failures) - window(0)) / 2.0;
        self.attempts[flow] += 1;
        self.effort[flow] += mac().packet_time(LEN).as_secs_f64() + slots * 9e-6;
        self.answers[flow] += u32::from(is_answered);
        self.failures = if is_answered || self.failures == 6 { 0 } else { self.failures + 1 };
    }
}

/// Lets both flows send without end for `frames` frames.
fn run(interface: &mut Interface, answers: [f64; 2], frames: u32) -> Counts {
    let mut air = Stream::new(Seed(7), "air");
    let chances = answers.map(|chance| Probability::new(chance).expect("a probability"));
    let mut counts = Counts {
        attempts: [0; 2],
        answers: [0; 2],
        effort: [0.0; 2],
        failures: 0,
        elapsed: Duration::ZERO,
    };
    let mut now = Instant::START;
    let mut tags = 0;
    while counts.attempts.iter().sum::<u32>() < frames {
        let waiting = interface.flows().into_iter().map(|flow| flow.waiting);
        for (flow, _) in (0..).zip(waiting).filter(|(flow, waiting)| *flow > 0 && *waiting < 20) {
            tags += 1;
            let input = Input::Frame(packet(flow, tags), RxVector::wired(now));
            interface.handle_input(now, DEVICE, input);
        }
        let Some((port, outgoing)) = interface.poll_transmit(now) else {
            now = interface.poll_timeout().expect("there is always something to send").0.max(now);
            interface.handle_timeout(now);
            continue;
        };
        assert_eq!(port, MEDIUM);
        let receiver = Header::parse(&outgoing.frame.header).expect("a header").receiver;
        let flow = usize::from(receiver == MacAddress::of_station(2));
        let rate = outgoing.vector.rate.expect("a radio has a rate");
        now += outgoing.vector.overhead + rate.time_of(outgoing.frame.len());
        interface.handle_input(now, MEDIUM, Input::TransmissionDone);
        let is_answered = air.chance(chances[flow]);
        counts.count(flow, is_answered);
        if is_answered {
            now += Duration::from_micros(10);
            interface.handle_input(now, MEDIUM, Input::CarrierBusy);
            now += Duration::from_micros(28);
            interface.handle_input(now, MEDIUM, Input::Frame(ack(), RxVector::wired(now)));
            interface.handle_input(now, MEDIUM, Input::CarrierIdle);
        }
    }
    counts.elapsed = now - Instant::START;
    counts
}

fn best_effort(weight: f64, power_factor: f64) -> FlowConfig {
    FlowConfig { weight, power_factor, reserved: false }
}

//= S3.29
//= S3.31
//= S3.32
#[test]
fn flows_to_a_good_and_a_bad_station_share_the_air_as_equation_1_says() {
    for (power_factor, weight) in [(1.0, 1.0), (1.2, 1.0), (1.5, 3.0), (3.0, 1.0)] {
        let shares = [best_effort(1.0, power_factor), best_effort(weight, power_factor)];
        let mut interface = interface(shares, None);
        let counts = run(&mut interface, [0.98, 0.5], 20_000);
        let demand = |flow: usize| Demand {
            weight: shares[flow].weight,
            power_factor,
            error_rate: counts.error_rate(flow),
        };
        let expected = by_weights(&[demand(0), demand(1)], counts.effort.iter().sum());
        for (flow, expected) in expected.into_iter().enumerate() {
            let outcome = counts.outcome(flow);
            // The error rates of the two halves of the run differ by chance.
            assert!(
                (outcome / expected - 1.0).abs() < 0.02,
                "P {power_factor}, W {weight}, flow {flow}: {outcome} s, not {expected} s"
            );
        }
        // All of the link's time is charged: backoffs are as drawn, and charged by their mean.
        let charged = counts.effort.iter().sum::<f64>() / counts.elapsed.as_secs_f64();
        assert!((charged - 1.0).abs() < 0.02, "{charged}");
        assert!(interface.ledger().balances());
    }
}

//= S3.33
#[test]
fn a_reservation_for_a_bad_station_is_kept_within_its_power_factor() {
    let reserve = Rate::from_mbps(4).expect("a rate");
    let link = LEN as f64 * 8.0 / mac().packet_time(LEN).as_secs_f64();
    let weight = reserve.as_bps() as f64 / link;
    let reserved = |power_factor| FlowConfig { weight, power_factor, reserved: true };
    let rate_at = |power_factor| {
        let mut interface =
            interface([best_effort(1.0, 1.2), reserved(power_factor)], Some(reserve));
        let counts = run(&mut interface, [1.0, 0.5], 20_000);
        f64::from(counts.answers[1]) * LEN as f64 * 8.0 / counts.elapsed.as_secs_f64()
    };
    // Half of the frames lost cost three times the air: every failure doubles the next backoff.
    let kept = rate_at(4.0) / reserve.as_bps() as f64;
    assert!((kept - 1.0).abs() < 0.02, "{kept}");
    // Without extra effort two thirds of it are lost.
    let third = rate_at(1.0) / reserve.as_bps() as f64;
    assert!((third - 0.32).abs() < 0.03, "{third}");
}

#[test]
fn the_accounts_of_flows_are_those_of_the_air() {
    let mut interface = interface([best_effort(1.0, 1.2), best_effort(1.0, 1.2)], None);
    let counts = run(&mut interface, [1.0, 0.5], 4_000);
    let accounts = interface.flows();
    let attempt = mac().packet_time(LEN).as_secs_f64();
    for flow in [0, 1] {
        let total = accounts[flow + 1].account.total;
        let near = |seconds: f64, expected: f64| {
            // The last packet may be under way.
            assert!((seconds - expected).abs() < 20.0 * attempt, "{seconds} s, not {expected} s");
        };
        near(total.effort, counts.effort[flow]);
        near(total.outcome, counts.outcome(flow));
    }
}

#[test]
fn fragments_that_arrive_are_no_errors() {
    let mut mac = mac();
    mac.fragment_threshold = 400;
    let shares = [best_effort(1.0, 1.2), best_effort(1.0, 1.2)];
    let mut interface = interface_of(mac, Discipline::ELF, shares, None);
    run(&mut interface, [1.0, 1.0], 4_000);
    for flow in &interface.flows()[1..] {
        let total = flow.account.total;
        assert!(total.effort > 0.1 && (total.outcome / total.effort - 1.0).abs() < 1e-9);
    }
}

#[test]
fn elf_by_packets_counts_every_attempt_as_one() {
    let shares = [best_effort(1.0, 1.2), best_effort(1.0, 1.2)];
    let mut interface = interface_of(mac(), Discipline::ELF_PACKETS, shares, None);
    let counts = run(&mut interface, [1.0, 0.5], 20_000);
    let ratio = f64::from(counts.attempts[1]) / f64::from(counts.attempts[0]);
    assert!((ratio - 1.2).abs() < 0.02, "{ratio}");
}

#[test]
fn of_packets_known_to_be_damaged_the_fate_is_unknown() {
    let shares = [best_effort(1.0, 1.2), best_effort(1.0, 1.2)];
    let mut interface = interface(shares, None);
    let mut damaged = packet(1, 1);
    damaged.damage.frame = windfall_base::Check::Bad;
    interface.handle_input(
        Instant::START,
        DEVICE,
        Input::Frame(damaged, RxVector::wired(Instant::START)),
    );
    let now = interface.poll_timeout().expect("it contends").0;
    interface.handle_timeout(now);
    assert!(interface.poll_transmit(now).is_some());
    interface.handle_input(now + Duration::from_millis(1), MEDIUM, Input::TransmissionDone);
    let flow = interface.flows()[1];
    assert!(flow.outcome_unknown && flow.bytes == LEN as u64, "{flow:?}");
}

#[test]
fn best_effort_to_several_stations_waits_in_a_queue_for_each() {
    let config = QueueConfig {
        discipline: Discipline::ELF,
        limits: windfall_queue::Limits { packets: 2, ..windfall_queue::Limits::default() },
        flows: Vec::new(),
        random: Stream::new(Seed(0), "queue"),
    };
    let mut queues = StationQueues::new(&config, false);
    let mut account = InterfaceAccount::new(false);
    let frame = || packet(1, 1).with_class(Class::default());
    let [one, two] = [1, 2].map(MacAddress::of_station);
    for (to, fits) in [(one, true), (one, true), (one, false), (two, true)] {
        assert_eq!(matches!(queues.push(Instant::START, to, frame()), Join::Joined), fits);
    }
    assert_eq!(queues.len(), 3);
    let pulled = core::iter::from_fn(|| queues.pull(Instant::START, &mut account));
    assert_eq!(pulled.count(), 3);
    let client = StationQueues::new(&config, true);
    assert!(matches!(client, StationQueues::Scheduled(it) if it.stations.is_none()));
}
