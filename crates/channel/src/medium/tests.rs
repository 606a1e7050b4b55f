use bytes::Bytes;
use windfall_base::{Duration, Frame, Rate, Tag};

use super::*;

fn packet(bytes: usize) -> Outgoing {
    Outgoing::from(Frame { tag: Some(Tag(1)), ..Frame::packet(Bytes::from(vec![7; bytes])) })
}

#[test]
fn a_pipe_takes_air_time_and_delay() {
    let path = PathConfig {
        line: Line::Rate(Rate::from_mbps(8).expect("a rate")),
        delay: Duration::from_millis(5),
        ..PathConfig::default()
    };
    let config = PipeConfig { forward: path.clone(), backward: path };
    let mut medium = Medium::new(MediumConfig::Pipe(config), Seed(1), "m");
    medium.handle_transmit(Instant::START, Port(0), packet(1000));
    let done = Instant::from_nanos(1_000_000);
    assert!(medium.poll_reception(Instant::START).is_none());
    assert_eq!(medium.poll_timeout(), Some((done, "transmission done")));
    assert!(matches!(medium.poll_reception(done), Some((Port(0), Input::TransmissionDone))));
    let arrival = Instant::from_nanos(6_000_000);
    assert_eq!(medium.poll_timeout(), Some((arrival, "arrival")));
    assert!(matches!(medium.poll_reception(arrival), Some((Port(1), Input::Frame(..)))));
    assert_eq!(medium.poll_event().map(|event| event.at), Some(arrival));
    assert_eq!(medium.poll_timeout(), None);
}
