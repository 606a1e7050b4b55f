use super::*;

#[test]
fn each_event_is_a_letter() {
    let header = PacketLogHeader {
        direction: "uplink".into(),
        command: "windfall run\n-- true".into(),
        queue: "droptail [packets=50]".into(),
        seed: 7,
        epoch_ms: 1_700_000_000_000,
    };
    // One opportunity every 12 ms.
    let line = Line::Rate("1Mbps".parse().unwrap());
    let mut log = PacketLog::new(Vec::new(), &header, line).unwrap();
    let at = |ms: u64| Instant::from_nanos(ms * 1_000_000 + 999_999);
    log.entered(at(1), Tag(0), 1500).unwrap();
    log.entered(at(2), Tag(1), 40).unwrap();
    log.inverted(at(12), 3).unwrap();
    log.delivered(at(12), Tag(0), 1500).unwrap();
    log.dropped(at(13), Tag(1)).unwrap();
    // Its fate is known already.
    log.dropped(at(13), Tag(1)).unwrap();
    log.refused(at(13), 1400).unwrap();
    // A packet of which the log never heard has no delay.
    log.delivered(at(14), Tag(9), 60).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let expected = [
        &format!("# windfall {version} (uplink)"),
        "# command line: windfall run -- true",
        "# queue: droptail [packets=50]",
        "# seed: 7",
        "# init timestamp: 1700000000000",
        "# base timestamp: 0",
        "1 + 1500",
        "2 + 40",
        "12 # 1500",
        "12 c 3",
        "12 - 1500 11",
        "13 d 1 40",
        "13 + 1400",
        "13 d 1 1400",
        "14 - 60 0",
    ];
    let text = String::from_utf8(log.into_inner()).unwrap();
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}
