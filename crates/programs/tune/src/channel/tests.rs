use windfall_base::{MemoryBudget, Seed};
use windfall_files::traces::error_trace::Fault;

use super::*;

fn read(text: &str, link: Option<TunedLink>) -> Result<MeasuredChannel, ChannelError> {
    MeasuredChannel::read("t", text.as_bytes(), link, &mut MemoryBudget::default())
}

#[test]
fn a_list_is_of_radio_blocks_and_says_nothing_of_bits() {
    let channel = read("0\n1\n0\n0\n", None).expect("a list");
    assert_eq!((channel.link, channel.len()), (TunedLink::Gsm, 4));
    assert!((channel.error_rate() - 0.25).abs() < 1e-12);
    let [there, back] = channel.both_ways(Seed(1));
    let inverted = |trace: &ErrorTrace, number| match trace.fault(number) {
        Some(Fault::Damaged { truncated: None, inverted }) => inverted.len(),
        other => panic!("{other:?}"),
    };
    assert!((80..160).contains(&inverted(&there, 1)));
    assert!((0..4).all(|it| there.fault(it).is_some() == (it == 1)));
    // The way back begins in the middle, so that both are not damaged at once.
    assert!((0..4).all(|it| back.fault(it).is_some() == (it == 3)));
    assert_eq!(inverted(&back, 3), inverted(&there, 1));
}

#[test]
fn a_trace_of_other_frames_is_a_pipe_and_no_circuit() {
    let text = "{\"format\":\"windfall-error-trace\",\"version\":1,\"rate\":\"2Mbps\",\
                \"frame_length\":1500}\n3\nl 2\nend 5\n";
    let channel = read(text, None).expect("a trace");
    assert_eq!(
        (channel.link, channel.rate.as_bps(), channel.len()),
        (TunedLink::Pipe, 2_000_000, 5)
    );
    let [there, back] = channel.both_ways(Seed(1));
    assert_eq!(there.fault(3), Some(&Fault::Lost));
    assert_eq!((back.len(), back.fault(1), back.fault(3)), (5, Some(&Fault::Lost), None));
    let error = read(text, Some(TunedLink::Gsm)).expect_err("no blocks").to_string();
    assert!(error.contains("1500 bytes") && error.contains("--link pipe"), "{error}");
}

#[test]
fn a_log_gives_the_errors_of_the_direction_with_the_most_frames() {
    let line = |ev: &str, from: u16, rest: &str| {
        format!(
            "{{\"ev\":\"medium.{ev}\",\"t\":1,\"at\":\"a\",\"len\":34,\
             \"medium\":{{\"from\":{from},\"to\":1,\"header\":4,{rest}}}}}\n"
        )
    };
    let log = [
        "{\"ev\":\"header\",\"t\":0,\"format\":1,\"elements\":[\"a/x\",\"a/y\",\"a\"]}\n"
            .to_owned(),
        line("intact", 0, "\"frame\":0,\"began\":0.0,\"ended\":0.034"),
        line("intact", 1, "\"frame\":0"),
        line("damaged", 0, "\"frame\":1,\"inverted\":[3,40]"),
        line("lost", 0, "\"frame\":3"),
        "{\"ev\":\"medium.damaged\",\"t\":4,\"at\":\"a\",\"le".to_owned(),
    ]
    .concat();
    let channel = read(&log, None).expect("a log");
    assert_eq!((channel.link, channel.rate.as_bps(), channel.len()), (TunedLink::Gsm, 8_000, 4));
    let faults: Vec<_> = (0..4).map(|it| channel.trace.fault(it).cloned()).collect();
    let damaged = Fault::Damaged { truncated: None, inverted: Box::new([8]) };
    assert_eq!(faults, [None, Some(damaged), None, Some(Fault::Lost)]);
}

#[test]
fn a_log_that_was_tampered_with_makes_no_panic() {
    let line = |medium: &str| {
        format!(
            "{{\"ev\":\"medium.damaged\",\"t\":1,\"at\":\"a\",\"len\":34,\
             \"medium\":{{\"from\":0,\"to\":1,\"frame\":0,{medium}}}}}\n"
        )
    };
    let header = "{\"ev\":\"header\",\"t\":0,\"format\":1,\"elements\":[\"a/x\",\"a/y\",\"a\"]}\n";
    for medium in [
        "\"header\":4,\"inverted\":[4294967295,41,41,40,2]",
        "\"header\":4294967295,\"inverted\":[1]",
    ] {
        let channel = read(&(header.to_owned() + &line(medium)), Some(TunedLink::Pipe));
        if let Ok(channel) = channel {
            let _ = channel.trace.to_text();
        }
    }
}

#[test]
fn what_is_no_channel_says_so() {
    let header = "{\"ev\":\"header\",\"t\":0,\"format\":1}\n";
    assert!(matches!(read(header, None), Err(ChannelError::Log(LogError::NoFrame))));
    let error = read(&format!("{header}nonsense\n{header}"), None).expect_err("no log");
    assert!(error.to_string().starts_with("line 2 is no event"), "{error}");
    for (format, error) in [("\"format\":2", "format 2"), ("\"run\":1", "no format")] {
        let header = format!("{{\"ev\":\"header\",\"t\":0,{format}}}\n");
        let refused = read(&header, None).expect_err("another version").to_string();
        assert!(refused.contains(error), "{refused}");
    }
    assert!(matches!(read("# none\n", None), Err(ChannelError::Trace(_))));
    assert!(read("0\n2\n", None).is_err());
    let empty = "{\"format\":\"windfall-error-trace\",\"version\":1}\nend 0\n";
    assert!(matches!(read(empty, None), Err(ChannelError::Empty)));
}
