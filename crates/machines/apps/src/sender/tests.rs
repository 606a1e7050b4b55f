use proptest::prelude::*;

use windfall_base::{Duration, Rate};

use super::*;
use crate::spacing::Pace;

fn config(pace: Pace) -> SenderConfig {
    SenderConfig {
        to: ([10, 0, 0, 2], 9).into(),
        transport: Transport::Udp,
        size: 100,
        count: None,
        timing: Departures::exact(Instant::from_nanos(50), pace),
        number: 0,
        stop: None,
    }
}

/// Runs an application alone up to `until`; gives what it sent and when.
fn run(app: &mut impl Application, until: Instant) -> Vec<(Instant, SocketCommand)> {
    let mut commands = Vec::new();
    let mut now = Instant::START;
    while now <= until {
        app.handle_timeout(now);
        while let Some(command) = app.poll_command(now) {
            commands.push((now, command));
        }
        let Some((next, _)) = app.poll_timeout() else { break };
        assert!(next > now, "the wake-up of a drained application lies in the future");
        now = next;
    }
    commands
}

//= S3.24
#[test]
fn datagrams_go_at_their_times_with_their_contents() {
    let mut spray = Spray::new(config(Pace::Every(Duration::from_nanos(10))), Seed(4));
    let commands = run(&mut spray, Instant::from_nanos(70));
    assert!(matches!(commands[0].1, SocketCommand::Open { .. }));
    let sent: Vec<_> = commands[1..].iter().map(|(at, _)| at.as_nanos()).collect();
    assert_eq!(sent, [50, 60, 70]);
    let SocketCommand::Send { data, .. } = &commands[2].1 else { panic!("a datagram") };
    assert_eq!(*data, Pattern::new(Seed(4)).datagram(1, 100));
    // Overflow and closed ports are nothing to it.
    let error = SocketError::PortClosed;
    spray.handle_event(Instant::START, SocketEvent::Failed { socket: SOCKET, error });
    assert!(spray.poll_timeout().is_some());
    let counts = [("sent", 3), ("sent_bytes", 300), ("failed", 1)];
    assert_eq!(
        spray.report(Instant::START),
        counts.map(|(name, count)| (name, Measured::Count(count)))
    );
}

#[test]
fn count_and_stop_end_it() {
    let every = Pace::Every(Duration::from_nanos(10));
    let counted = SenderConfig { count: Some(2), ..config(every) };
    assert_eq!(run(&mut Cbr::new(counted, Seed(1)), Instant::from_nanos(999)).len(), 3);
    let stopped = SenderConfig { stop: Some(Instant::from_nanos(80)), ..config(every) };
    assert_eq!(run(&mut Cbr::new(stopped, Seed(1)), Instant::from_nanos(999)).len(), 4);
    let mut cbr = Cbr::new(config(every), Seed(1));
    let error = SocketError::AddressInUse;
    cbr.handle_event(Instant::START, SocketEvent::Failed { socket: SOCKET, error });
    assert_eq!(cbr.poll_timeout(), None);
}

#[test]
fn late_polls_make_up_for_it() {
    let mut cbr = Cbr::new(config(Pace::Every(Duration::from_nanos(10))), Seed(1));
    let late = Instant::from_nanos(100);
    let commands = core::iter::from_fn(|| cbr.poll_command(late)).count();
    assert_eq!(commands, 1 + 6);
}

proptest! {
    #[test]
    fn a_rate_is_kept_without_drift(
        bps in 1_u64..100_000_000_000, size in 0_usize..2000, n in 1_u64..500,
    ) {
        let rate = Rate::from_bps(bps).expect("above zero");
        let timing = Departures::exact(Instant::START, Pace::Rate(rate));
        let mut schedule = Schedule::new(&timing, size, windfall_base::Seed(1), 0);
        for _ in 0..n {
            schedule.advance();
        }
        let bits = u128::from(n) * size.max(1) as u128 * 8;
        let exact = bits * 1_000_000_000 / u128::from(bps);
        prop_assert_eq!(u128::from(schedule.next.as_nanos()), exact);
    }
}
