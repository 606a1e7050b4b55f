use core::num::NonZeroU8;

use windfall_base::Class;

use super::*;

/// Returns the frames that a station sends in two seconds to an absent peer.
fn alone(frame: Frame, change: impl Fn(&mut Config)) -> Station {
    let mut cell = cell(2, Phy::G, 2, change);
    cell.stations.truncate(1);
    cell.packet(0, frame);
    cell.run_until(micros(2_000_000));
    let station = cell.stations.remove(0);
    assert!(station.ledger().balances(), "{:?}", station.ledger());
    station
}

//= S0.8
#[test]
fn a_packet_without_acknowledgement_is_sent_seven_times_and_an_approximate_one_once() {
    let station = alone(kilobyte(0), |_| {});
    assert_eq!(station.sent(), 7);
    assert_eq!(station.ledger().drops.of(DropReason::RetryLimit), 1);
    let class = Class { attempts: NonZeroU8::new(1), ..Class::default() };
    let station = alone(kilobyte(0).with_class(class), |_| {});
    assert_eq!(station.sent(), 1);
    assert_eq!((station.ledger().drops.total(), station.ledger().held), (0, 0));
}

#[test]
fn requests_count_against_the_short_limit_and_long_frames_against_the_long_one() {
    let station = alone(kilobyte(0), |config| config.rts_threshold = 500);
    let requests = |event: &&DcfEvent| matches!(event, DcfEvent::Control { sent: true, len: 20 });
    assert_eq!(station.events.iter().filter(requests).count(), 7);
    assert_eq!(station.sent(), 0);

    // Every request is granted and every data frame damaged.
    let mut cell = cell(2, Phy::G, 2, |config| config.rts_threshold = 500);
    // RTS, CTS, data, and again.
    cell.damaged = (0..100).map(|exchange| 3 * exchange + 2).collect();
    cell.packet(0, kilobyte(0));
    cell.run_until(micros(2_000_000));
    assert_eq!(cell.stations[0].sent(), 4);
    assert_eq!(cell.stations[0].ledger().drops.of(DropReason::RetryLimit), 1);
}

#[test]
fn a_request_that_is_granted_forgets_those_that_were_not() {
    let config = Config { rts_threshold: 500, ..Config::new(address(0), Phy::G) };
    let job = |attempts| {
        let class = Class { attempts: NonZeroU8::new(attempts), ..Class::default() };
        let frame = kilobyte(0).with_class(class);
        let packet =
            Packet { frame, to: address(1), ether_type: snap::IPV4, expires: None, source: None };
        super::super::pending_packet::PendingPacket::new(packet, 5, &config)
    };
    let mut free = job(0);
    let mut limited = job(12);
    for job in [&mut free, &mut limited] {
        assert!((0..6).all(|_| !job.fail(20, &config)));
        job.granted();
        assert!(!job.fail(1_024, &config));
    }
    let more = |job: &mut super::super::pending_packet::PendingPacket| {
        (1..).find(|_| job.fail(20, &config))
    };
    // Seven consecutive RTS frames, or the total number of attempts that the owner has set.
    assert_eq!((more(&mut free), more(&mut limited)), (Some(7), Some(5)));
}

#[test]
fn a_fragment_is_marked_as_repeated_if_it_has_itself_been_sent_before() {
    let config = Config { fragment_threshold: 400, ..Config::new(address(0), Phy::G) };
    let packet = Packet {
        frame: kilobyte(0),
        to: address(1),
        ether_type: snap::IPV4,
        expires: None,
        source: None,
    };
    let mut job = super::super::pending_packet::PendingPacket::new(packet, 5, &config);
    let again = |frame: Frame| {
        let header = Header::parse(&frame.header).expect("a header");
        (header.fragment, header.flags.has(Flags::RETRY))
    };
    assert_eq!(again(job.build(0)), (0, false));
    assert!(job.advance());
    // Its request fails, and then the frame itself.
    assert!(!job.fail(20, &config));
    assert_eq!(again(job.build(0)), (1, false));
    assert!(!job.fail(400, &config));
    assert_eq!(again(job.build(0)), (1, true));
}

#[test]
fn an_owner_may_ask_for_any_number_of_attempts_for_a_rate_and_for_an_end() {
    let class = Class { attempts: NonZeroU8::new(12), ..Class::default() };
    assert_eq!(alone(kilobyte(0).with_class(class), |_| {}).sent(), 12);
    let rate = windfall_base::Rate::from_mbps(6);
    let mut cell = cell(2, Phy::G, 2, |_| {});
    cell.run_until(micros(1_000));
    cell.packet(0, kilobyte(0).with_class(Class { rate, ..Class::default() }));
    cell.run_until(micros(9_000));
    let data = PhyRate::Ofdm6.frame_duration(windfall_base::Preamble::Long, 1024);
    // The acknowledgement goes at 6 Mb/s too.
    let end = micros(1_000 + data.as_micros() + 1 + 10 + 50 + 1);
    assert!(
        cell.timeline.as_str().contains(&format!("{end} 0 < Ack")),
        "{}",
        cell.timeline.as_str()
    );
}

#[test]
fn a_damaged_frame_is_not_acknowledged_and_the_next_gap_is_the_long_one() {
    let mut cell = cell(2, Phy::G, 5, |_| {});
    cell.damaged = vec![0];
    cell.run_until(micros(1_000));
    cell.packet(0, kilobyte(0));
    cell.run_until(micros(30_000));
    windfall_testkit::assert_golden!("dcf/damaged", cell.timeline.as_str());
    assert_eq!(cell.stations[1].ledger().drops.of(DropReason::FrameCheck), 1);
}

#[test]
fn a_lost_acknowledgement_makes_a_duplicate_that_is_not_handed_up() {
    let mut cell = cell(2, Phy::G, 5, |_| {});
    cell.damaged = vec![1];
    cell.run_until(micros(1_000));
    cell.packet(0, kilobyte(0));
    cell.run_until(micros(30_000));
    assert_eq!(cell.timeline.as_str().matches("1 ^ packet").count(), 1);
    assert_eq!(cell.stations[1].ledger().drops.of(DropReason::Duplicate), 1);
}
