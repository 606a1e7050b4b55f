use std::os::unix::net::UnixDatagram;

use super::*;

fn wait(clock: &mut SystemClock, span: Duration) -> (Instant, Vec<Port>) {
    let deadline = clock.now().saturating_add(span);
    let mut ready = Vec::new();
    loop {
        clock.wait(Some(deadline), &mut ready).expect("it can wait");
        if clock.now() >= deadline || !ready.is_empty() {
            break;
        }
    }
    (deadline, ready)
}

#[test]
fn a_wait_ends_at_its_deadline_and_knows_that_nothing_happened() {
    let mut clock = SystemClock::new().expect("a clock");
    let (deadline, ready) = wait(&mut clock, Duration::from_millis(30));
    assert!(ready.is_empty());
    assert!(clock.now() >= deadline);
    let quiet = clock.quiet_until().expect("nothing was there at the beginning");
    assert!(quiet <= clock.now());
}

#[test]
fn what_was_there_before_the_wait_is_told_apart() {
    let mut clock = SystemClock::new().expect("a clock");
    let (far, near) = UnixDatagram::pair().expect("a pair");
    clock.watch_device(Port(3), &near).expect("it can be watched");
    far.send(b"x").expect("room");
    let (_, ready) = wait(&mut clock, Duration::from_secs(20));
    assert_eq!((ready, clock.quiet_until()), (vec![Port(3)], None));
}
