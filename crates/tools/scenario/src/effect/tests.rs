use crate::Scenario;

/// Two stations and a link of these keys, with `flow`, `app` and `radio` to fill in.
fn refusal(keys: &str) -> Option<String> {
    let link = keys.lines().filter(|line| !line.starts_with(['!', '+', '@', '*']));
    let of = |mark: char| keys.lines().filter_map(move |line| line.strip_prefix(mark));
    let lines = |lines: &mut dyn Iterator<Item = &str>| lines.collect::<Vec<_>>().join("\n");
    let text = format!(
        "format = 1\n{}\n[[station]]\nname = \"a\"\n{}\n[[station]]\nname = \"b\"\n[[link]]\n\
         stations = [\"a\", \"b\"]\n{}\n[[flow]]\nname = \"v\"\n{}\n[[app]]\nkind = \"cbr\"\n\
         station = \"a\"\nto = \"b\"\nrate = \"64kbps\"\n{}\n",
        lines(&mut of('!')),
        lines(&mut of('@')),
        lines(&mut link.into_iter()),
        lines(&mut of('+')),
        lines(&mut of('*')),
    );
    Scenario::parse("t.toml", &text).err().map(|error| error.to_string())
}

/// Settings that change nothing, what is said of them, and what must stand beside them.
///
/// `!` marks keys of the run, `@` of the first station, `+` of the flow, `*` of the application.
const IDLE: &[(&str, &str, &str)] = &[
    ("range = \"28..100\"", "range changes nothing here, since it limits bit errors", "ber = 0"),
    ("range = \"28..100\"\nbit-gemodel = \"none\"", "since it limits bit errors", "ber = 0"),
    ("range = \"28..100\"\nloss = 0.1", "add ber = 1e-5", "window = \"10% 256 5%\""),
    ("uplink.range = \"28..100\"\ndownlink.ber = 1e-5", "there are none", "uplink.ber = 1e-5"),
    ("expose = [\"header\"]", "expose changes nothing here", "loss = 0.1"),
    ("downlink.expose = [\"control\"]", "the air does no damage", "environment = \"table\""),
    ("uplink.reorder = \"25%\"", "reorder changes nothing here", "downlink.delay = \"5ms\""),
    ("+reorder = \"25%\"", "reorder changes nothing here", "+delay = \"5ms\""),
    ("+range = \"28..100\"", "range changes nothing here, since it limits", "+ber = 1e-5"),
    ("range = \"28..100\"", "range changes nothing here, since it limits", "+damage = 3"),
    ("jitter-table = \"x\"", "without jitter = ", "jitter = \"5ms\""),
    ("slots-table = \"x\"", "without slots = ", "slots = \"distribution normal 9ms 1ms\""),
    ("slots-table = \"x\"\nslots = \"9ms\"", "slots-table changes nothing here", ""),
    ("overhead = 18", "overhead changes nothing here without rate = ", "rate = \"1Mbps\""),
    ("cell = \"48+5\"", "cell changes nothing here", "uplink.rate = \"1Mbps\""),
    ("loss-ecn = true", "loss-ecn changes nothing here without loss", "gemodel = \"1% 10%\""),
    ("loss-ecn = true\nber = 1e-5", "without loss = \"1%\"", "downlink.loss = 0.1"),
    ("loss-ecn = true\nloss = 0.1\npolicy = \"flex\"", "and no policy", ""),
    ("combine = true", "each frame is sent once: add arq", "arq = \"3\""),
    ("increments = true", "increments changes nothing here", "arq = \"persistent\""),
    ("combine = true\narq = \"0\"", "combine changes nothing here", "+attempts = 2"),
    ("uplink.combine = true\ndownlink.arq = \"1\"", "each frame is sent once", "policy = \"flex\""),
    ("!overcommit = true", "no flow has a reservation", "rate = \"1Mbps\"\n+reserve = \"64kbps\""),
    ("+packet-size = 100", "give the flow a reserve", "rate = \"1Mbps\"\n+reserve = \"64kbps\""),
    (
        "kind = \"wifi-g\"\nradio.rts-rate = \"2Mbps\"",
        "rts-rate changes nothing without rts-threshold: add rts-threshold = 500",
        "radio.rts-threshold = 500",
    ),
    (
        "kind = \"wifi-g\"\nradio.rts-rate = \"2Mbps\"",
        "add rts-threshold = 500 or protection = \"cts-to-self\"",
        "radio.protection = \"cts-to-self\"",
    ),
    (
        "kind = \"wifi-g\"\nradio.protection = \"none\"\nradio.rts-rate = \"2Mbps\"",
        "rts-rate changes nothing without rts-threshold",
        "radio.rts-threshold = 500",
    ),
    // CTS-to-self goes at this rate where a station needs protection.
    (
        "kind = \"wifi-g\"\nradio.rts-rate = \"2Mbps\"",
        "rts-rate changes nothing without rts-threshold",
        "@radio.mode = \"b\"",
    ),
    (
        "kind = \"wifi-g\"\nradio.long-attempts = 2",
        "long-attempts changes nothing without rts-threshold",
        "radio.rts-threshold = 500",
    ),
    (
        "kind = \"wifi-g\"\nradio.beacon-interval = 50",
        "add infrastructure = true",
        "radio.infrastructure = true",
    ),
    ("radio.slot = \"long\"\nkind = \"wifi-b\"", "802.11b has long slots alone", ""),
    (
        "kind = \"wifi-g\"\nradio.rts-threshold = 9\nradio.attempts = 3\n\
         radio.short-attempts = 2\nradio.long-attempts = 4",
        "choose one or two of the three",
        "",
    ),
    ("@radio.position = [1, 2]", "\"a\" is on no wifi link", "kind = \"wifi-g\""),
    (
        "kind = \"wifi-b\"\n@radio.power-save = true",
        "no access point keeps what comes for the station",
        "radio.infrastructure = true",
    ),
    (
        "kind = \"wifi-b\"\n@radio.position = [1, 2]\n@radio.walk = [[0, 0, 0]]",
        "walk and position exclude each other",
        "",
    ),
    ("*arrivals = \"poisson\"\n*jitter = \"1ms\"", "poisson are random already", ""),
];

#[test]
fn what_changes_nothing_is_refused_by_name_with_the_fix() {
    for (keys, said, needed) in IDLE {
        let message = refusal(keys).expect(keys);
        assert!(message.contains(said) && !message.contains('\n'), "{keys}: {message}");
        assert!(message.starts_with("t.toml:"), "{message}");
        if !needed.is_empty() {
            assert_eq!(refusal(&format!("{keys}\n{needed}")), None, "{keys} and {needed}");
        }
    }
}

#[test]
fn a_bucket_needs_a_rate_and_a_higher_peak() {
    let bucket = |rest: &str| refusal(&format!("bucket = \"20kB 2Mbps\"\n{rest}"));
    assert!(bucket("").is_some_and(|it| it.contains("bucket changes nothing here")));
    for rate in ["2Mbps", "3Mbps"] {
        let refused = bucket(&format!("rate = \"{rate}\""));
        assert!(refused.is_some_and(|it| it.contains("lets no burst pass")), "{rate}");
    }
    assert_eq!(bucket("rate = \"1Mbps\""), None);
    // tc's tbf drops what is longer than its burst; here the settings are refused.
    let small = |rest: &str| refusal(&format!("bucket = \"700B\"\nrate = \"1Mbps\"\n{rest}"));
    assert!(small("").is_some_and(|it| it.contains("holds no packet of the link, which has 1500")));
    assert_eq!(small("mtu = 700"), None);
}

#[test]
fn a_trace_can_end_only_where_there_is_one() {
    let refused = refusal("rate = \"1Mbps\"\nonce = true").expect("no trace");
    assert!(refused.contains("once changes nothing here"), "{refused}");
    assert_eq!(refusal("rate = \"1Mbps\"\nonce = false"), None);
    assert_eq!(refusal("rate-trace = \"cell.trace\"\nuplink.once = true"), None);
}

#[test]
fn a_range_beyond_every_packet_is_refused() {
    let said = "range 5000..6000 is beyond every packet: the longest has 1500 bytes";
    assert!(refusal("ber = 1e-4\nrange = \"5000..6000\"").expect("beyond").contains(said));
    assert_eq!(refusal("mtu = 9000\nber = 1e-4\nrange = \"5000..6000\""), None);
    assert_eq!(refusal("ber = 1e-4\nrange = \"1499..6000\""), None);
}

#[test]
fn what_a_path_says_counts_beside_what_its_link_says() {
    let path = "[[link.path]]\nto = \"b\"\n";
    let wavelan = "kind = \"wavelan\"\n";
    assert_eq!(refusal(&format!("{wavelan}range = \"0..9\"\n{path}ber = 1e-5")), None);
    assert_eq!(refusal(&format!("{wavelan}ber = 1e-5\n{path}range = \"0..9\"")), None);
    assert!(refusal(&format!("{wavelan}loss = 0.1\n{path}range = \"0..9\"")).is_some());
}

#[test]
fn an_application_that_starts_after_the_end_is_refused() {
    let text = |start: &str| {
        format!(
            "format = 1\nduration = \"2s\"\n[[station]]\nname = \"a\"\n[[station]]\n\
             name = \"b\"\n[[link]]\nstations = [\"a\", \"b\"]\n[[app]]\nkind = \"ping\"\n\
             station = \"a\"\nto = \"b\"\nstart = \"{start}\"\n"
        )
    };
    let check =
        |text: &str| Scenario::parse("t.toml", text).unwrap().check_starts(("t.toml", text));
    assert_eq!(check(&text("1999ms")), Ok(()));
    let error = check(&text("2s")).expect_err("too late").to_string();
    let said = "t.toml:13: an application that starts at 2s does nothing in a run of 2s";
    assert!(error.starts_with(said), "{error}");
}
