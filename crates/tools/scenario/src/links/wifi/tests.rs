use windfall_base::{Dbm, Preamble};
use windfall_channel::MediumConfig;
use windfall_channel::radio::{Errors, PathLoss};
use windfall_mac::wifi::rate_control::JOINT;
use windfall_stack::LinkLayerConfig;
use windfall_wire_link::ieee80211::Code;

use super::*;
use crate::tests::topology;
use crate::{Scenario, Topology};

/// The topology of a wifi link with these keys, or what is wrong.
fn link(keys: &str) -> Result<Topology, String> {
    let text = format!(
        "format = 1\n[[station]]\nname = \"near\"\n[[station]]\nname = \"far\"\n\
         [[link]]\nkind = \"wifi-g\"\nstations = [\"near\", \"far\"]\n{keys}"
    );
    let scenario = Scenario::parse("t.toml", &text).map_err(|error| error.message().to_owned())?;
    assert_eq!(Scenario::parse("t.toml", &scenario.to_toml()).as_ref(), Ok(&scenario));
    topology(&text)
}

fn air(topology: &Topology) -> &RadioConfig {
    match &topology.network.links[0].medium {
        MediumConfig::Wifi(radio) => radio,
        other => panic!("not a radio: {other:?}"),
    }
}

fn end(topology: &Topology, end: usize) -> &WifiConfig {
    match &topology.network.links[0].ends[end].interface.link {
        LinkLayerConfig::Wifi(wifi) => wifi,
        other => panic!("not wifi: {other:?}"),
    }
}

#[test]
fn each_rate_control_of_the_table_is_a_word_of_the_radio() {
    for kind in wifi::RateControlKind::ALL {
        let topology = link(&format!("radio.rate-control = \"{}\"", kind.name)).unwrap();
        assert_eq!(end(&topology, 0).mac.rate_control, kind);
    }
    let refused = link("radio.rate-control = \"best\"").unwrap_err();
    assert!(refused.contains("fixed"), "{refused}");
}

#[test]
fn a_policy_of_the_radio_codes_the_frames_of_both_directions() {
    let joint = link("policy = \"joint\"").expect("a link");
    let fixed = link("rate = \"36Mbps\"\nuplink.policy = \"parity-16\"").expect("a link");
    for place in 0..2 {
        let mac = &end(&joint, place).mac;
        assert_eq!((mac.rate_control, mac.coding), (JOINT, Some(Code::NONE)));
        assert_eq!(mac.highest_rate(), PhyRate::Ofdm54);
        let mac = &end(&fixed, place).mac;
        assert_eq!((mac.rate, mac.coding), (PhyRate::Ofdm36, Code::of_parity(16)));
    }
    assert_eq!(end(&link("").expect("a link"), 0).mac.coding, None);
    for (keys, expected) in [
        ("policy = \"flex\"", "on wifi use joint or parity-16"),
        ("policy = \"own.toml\"", "on wifi use joint or parity-16"),
        ("policy = \"parity-7\"", "on wifi joint or parity-N of 0, 8, 16, 32 or 64"),
        ("policy = \"joint\"\nrate = \"6Mbps\"", "joint chooses the rate: remove rate"),
        ("policy = \"joint\"\nradio.rate-control = \"arf\"", "remove rate and rate-control"),
        ("policy = \"joint\"\nmtu = 2296", "use an mtu of at most 2293"),
        ("policy = \"joint\"\nradio.wep = true", "remove wep or policy"),
        ("policy = \"joint\"\nfec = \"8/12\"", "fec and policy"),
    ] {
        let message = link(keys).expect_err(keys);
        assert!(message.contains(expected), "{keys}: {message}");
    }
}

#[test]
fn a_link_that_says_little_is_54_mbps_in_an_office() {
    let topology = link("radio.distance = \"8m\"").unwrap();
    let air = air(&topology);
    let [near, far] = [0, 1].map(|place| air.stations[place].track.at(Instant::START));
    assert!((near.distance(far) - 8.0).abs() < 1e-9);
    assert_eq!(air.stations[1].address, Some(end(&topology, 1).mac.address));
    assert_eq!(end(&topology, 0).mac.rate, PhyRate::Ofdm54);
    let interface = &topology.network.links[0].ends[0].interface;
    assert_eq!(interface.rules, [Rule::approximate()]);
    let behind = &end(&topology, 0).neighbours[1].behind;
    assert!(behind.iter().any(|block| block.contains(&std::net::IpAddr::from([10, 77, 0, 2]))));
}

#[test]
fn a_link_that_says_how_its_ends_walk_begins_at_its_distance() {
    let topology = link("radio.distance = \"13m\"\nradio.walk = [[10, 23], [20, 3]]").unwrap();
    let metres = |seconds: f64| {
        let at = Instant::START + Duration::from_secs_f64(seconds);
        let [near, far] = [0, 1].map(|place| air(&topology).stations[place].track.at(at));
        near.distance(far)
    };
    let expected = [13.0, 18.0, 23.0, 13.0, 3.0, 3.0];
    for (at, expected) in [0.0, 5.0, 10.0, 15.0, 20.0, 99.0].into_iter().zip(expected) {
        assert!((metres(at) - expected).abs() < 1e-9, "{} m after {at} s", metres(at));
    }
    let at_once = link("radio.distance = \"13m\"\nradio.walk = [[0, 5], [1, 6]]").unwrap();
    let start = air(&at_once).stations[1].track.at(Instant::START);
    assert!((start.x - 5.0).abs() < 1e-9);
    for (keys, said) in
        [("[[10, 1], [5, 2]]", "in the order of time"), ("[[-1, 1]]", "from 0 s on")]
    {
        let refused = link(&format!("radio.walk = {keys}")).unwrap_err();
        assert!(refused.contains(said), "{keys}: {refused}");
    }
}

//= S3.33
#[test]
fn flows_share_an_80211_link_and_leave_partly_covered_datagrams_approximate() {
    let flows = "[[flow]]\nname = \"video\"\ndst-port = 5\nreserve = \"2Mbps\"\n\
                 accept-damaged = true\n\
                 [[flow]]\nname = \"bulk\"\ndst-port = 6\nattempts = 3\n";
    let topology = link(flows).unwrap();
    let interface = &topology.network.links[0].ends[0].interface;
    assert_eq!(interface.discipline, Discipline::ELF);
    let rules = interface.rules.iter();
    let rules: Vec<_> = rules.map(|rule| (rule.partly_covered, rule.class.attempts)).collect();
    let attempts = NonZeroU8::new;
    let video = [(true, attempts(1)), (false, None)];
    let bulk = [(true, attempts(3)), (false, attempts(3))];
    assert_eq!(
        rules,
        [video, bulk].concat().into_iter().chain([(true, attempts(1))]).collect::<Vec<_>>()
    );
    // 28 µs of DIFS, 67.5 of backoff, 248 of the frame, 10 of SIFS, 28 of the ACK; a frame and an
    // ACK end with 6 µs of silence at 2.4 GHz.
    let weight = interface.flows[0].share.weight;
    let expected = 2e6 / (1_500.0 * 8.0 / 393.5e-6);
    assert!((weight / expected - 1.0).abs() < 1e-6, "{weight}, not {expected}");
    let too_much = link("[[flow]]\nname = \"video\"\nreserve = \"40Mbps\"\n").unwrap_err();
    assert!(too_much.contains("video"), "{too_much}");
}

#[test]
fn packets_wait_in_one_queue_unless_flows_or_an_access_point_ask_for_more() {
    let discipline = |keys: &str, end: usize| {
        link(keys).unwrap().network.links[0].ends[end].interface.discipline
    };
    assert_eq!(discipline("", 0), Discipline::FIFO);
    assert_eq!(discipline("queue = \"airtime,50\"", 0), Discipline::AIRTIME);
    let infrastructure = "radio.infrastructure = true";
    let both = [0, 1].map(|end| discipline(infrastructure, end));
    assert!(both.contains(&Discipline::ELF) && both.contains(&Discipline::FIFO), "{both:?}");
}

#[test]
fn every_key_reaches_the_station_or_the_air() {
    let keys = "rate = \"11Mbps\"\nuplink.rate = \"24Mbps\"\ndownlink.accept-damaged = true\n\
                arq = 2\n[link.radio]\nrts-threshold = 500\nfragment-threshold = 800\n\
                slot = \"long\"\npreamble = \"short\"\nbasic-rates = [\"6Mbps\", \"1Mbps\"]\n\
                backoff = \"mild\"\nwep = true\nobserve = true\npower = \"10dBm\"\nchannel = 1\n\
                path-loss = \"log 3.3\"\nwalls = [[2, -1, 2, 1, 5]]\nshadowing = 4.0\n\
                fading = \"rician 4 11\"\ndelay-spread = \"50ns\"\ncapture = 10.0\n\
                eifs = \"always\"\nrts-rate = \"2Mbps\"\n\
                errors = \"formula\"\npreamble-sinr = 4.0\n\
                distortion = -25.0\npreamble-power = \"-84dBm\"\n";
    let topology = link(keys).unwrap();
    let [near, far] = [0, 1].map(|place| &end(&topology, place).mac);
    assert_eq!(near.rate, PhyRate::Ofdm24);
    assert_eq!(far.rate, PhyRate::Cck11);
    assert!(near.accept_damaged && !far.accept_damaged);
    assert_eq!((near.retries.short.get(), near.retries.long.get()), (3, 3));
    assert_eq!((near.rts_threshold, near.fragment_threshold), (500, 800));
    assert_eq!(near.timing, Timing::G_LONG_SLOT);
    assert_eq!(near.preamble, Preamble::Short);
    assert_eq!(near.basic_rates, [PhyRate::Ofdm6, PhyRate::Dsss1]);
    assert_eq!(near.backoff, wifi::Backoff::Mild);
    assert_eq!(near.eifs, wifi::EifsPolicy::Always);
    assert_eq!(near.rts_rate, Some(PhyRate::Dsss2));
    assert!(near.wep && near.observe_radio);
    let air = air(&topology);
    assert_eq!((air.stations[0].power, air.stations[0].channel), (Dbm(10.0), 1));
    assert_eq!(air.path_loss, PathLoss::LogDistance { exponent: 3.3 });
    assert_eq!((air.walls.len(), air.walls[0].loss), (1, 5.0));
    assert_eq!(air.fading, Fading::Rician { k: 4.0, doppler: 11.0 });
    assert_eq!(air.delay_spread, Some(Duration::from_nanos(50)));
    assert_eq!(air.thresholds.capture, Some(10.0));
    assert_eq!((air.distortion, air.thresholds.preamble_power), (Some(-25.0), Dbm(-84.0)));
    assert_eq!(air.thresholds.preamble_sinr, 4.0);
    assert_eq!(air.thresholds.dsss_preamble_sinr, 4.0);
    assert_eq!(air.errors, Errors::Formula);
}

//= S2.19
#[test]
fn of_an_infrastructure_the_base_station_is_the_access_point() {
    let keys = "[link.radio]\ninfrastructure = true\nbeacon-interval = 50\npower-save = true\n";
    let topology = link(keys).unwrap();
    let [near, far] = [0, 1].map(|place| end(&topology, place).mac.role.clone());
    let ssid: Ssid = b"near-far".iter().copied().collect();
    assert_eq!(near, Role::Member { ssid: ssid.clone(), power_save: true });
    assert_eq!(far, Role::AccessPoint { ssid, interval: 50, channel: 6 });
    assert_eq!(end(&link("").unwrap(), 0).mac.role, Role::AdHoc);
}

#[test]
fn stations_of_which_no_two_share_a_channel_are_refused() {
    let text = "format = 1\n[[station]]\nname = \"a\"\nradio.channel = 1\n[[station]]\n\
                name = \"b\"\nradio.channel = 2\n[[link]]\nkind = \"wifi-g\"\n\
                stations = [\"a\", \"b\"]\n";
    let error = topology(text).expect_err("none hears");
    assert!(error.ends_with("no two stations share a channel"), "{error}");
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    let refused = |keys: &str| link(keys).expect_err(keys);
    let rate = refused("rate = \"22Mbps\"");
    assert!(rate.contains("802.11g has no rate of 22Mbps"), "{rate}");
    let rate = refused("kind = \"wifi-b\"");
    assert!(rate.contains("the key kind is given twice: remove one"), "{rate}");
    let distance = refused("radio.distance = 1e308");
    assert!(distance.contains("out of range: use a distance from 0m to 1000000m"), "{distance}");
    let distance = refused("radio.distance = \"-3m\"");
    assert!(distance.contains("0 or more"), "{distance}");
    for (keys, words) in [
        ("radio.rts-threshold = 3000", "rts-threshold of 3000 is out of range"),
        ("radio.fragment-threshold = 100", "use a whole number from 256 to 2347"),
        ("radio.channel = 15", "channel of 15 is out of range: use a whole number from 1 to 14"),
        ("radio.path-loss = \"far\"", "free-space"),
        ("radio.shadowing = -2.0", "shadowing of -2 is out of range"),
        ("radio.distortion = 3.0", "distortion of 3 is out of range: use a number from -80 to 0"),
        (
            "radio.preamble-sinr = 61",
            "preamble-sinr of 61 is out of range: use a number from -30 to 60",
        ),
        ("radio.rts-threshold = 500\nradio.rts-rate = \"7Mbps\"", "802.11g has no rate of 7Mbps"),
        ("radio.basic-rates = []", "basic-rates names no rate: name one"),
        (
            "radio.preamble-power = \"5dBm\"",
            "preamble-power of 5dBm is out of range: use a power from -110dBm",
        ),
        ("radio.distance = \"9km\"", "no station hears another"),
        ("radio.noise-figure = 60.0", "and -40.96 dBm are needed at 54Mbps"),
        ("mtu = 2304", "at most 2296"),
        ("ber = 1e-5", "no ber"),
        ("uplink.delay = \"1ms\"", "no delay"),
        (
            "radio.noise-figure = -1.0",
            "noise-figure of -1 is out of range: use a number from 0 to 60",
        ),
        ("radio.shadowing = -4.0", "shadowing of -4 is"),
        ("radio.capture = inf", "capture of inf is"),
        ("radio.walls = [[0, 1, 0, 2, 1e308]]", "use numbers from -1000000 to 1000000"),
        ("radio.walls = [[0, 1, 0, 2, -5]]", "loss of 0 dB or more"),
        ("radio.short-attempts = 0", "0 is not allowed"),
        ("radio.delay-spread = \"50ns\"", "add fading = \"rayleigh 11\""),
        ("radio.fading = \"none\"\nradio.delay-spread = \"50ns\"", "add a fading"),
        (
            "radio.fading = \"rayleigh 11\"\nradio.delay-spread = \"1us\"",
            "delay-spread of 1us is out of range: use a time from 0s to 200ns",
        ),
        ("radio.power-save = true", "add infrastructure = true"),
        (
            "radio.infrastructure = true\nradio.beacon-interval = 0",
            "beacon-interval of 0 is out of range",
        ),
        ("radio.slot = \"tiny\"", "unknown word \"tiny\""),
        ("radio.extended-gap = \"never\"", "unknown key \"extended-gap\": did you mean \"eifs\""),
    ] {
        let message = refused(keys);
        assert!(message.contains(words), "{keys}: {message}");
        assert!(!message.contains('\n'), "{message}");
    }
    let text = "format = 1\n[[station]]\nname = \"a\"\n[[station]]\nname = \"b\"\n\
                [[link]]\nstations = [\"a\", \"b\"]\nradio.distance = 3\n";
    let message = Scenario::parse("t.toml", text).unwrap_err().to_string();
    assert!(message.contains("only wifi links"), "{message}");
}

/// A cell of two stations of 802.11g and one of 802.11b.
fn mixed(keys: &str, of_b: &str) -> Result<Topology, String> {
    topology(&format!(
        "format = 1\n[[station]]\nname = \"g\"\n[[station]]\nname = \"h\"\n\
         [[station]]\nname = \"b\"\nradio.mode = \"b\"\n{of_b}\n\
         [[link]]\nkind = \"wifi-g\"\nstations = [\"g\", \"h\", \"b\"]\n{keys}"
    ))
}

#[test]
fn beside_a_station_of_802_11b_frames_are_protected_and_slots_long() {
    let topology = mixed("rate = \"54Mbps\"", "").expect("a cell");
    let [g, h, b] = [0, 1, 2].map(|place| &end(&topology, place).mac);
    assert_eq!((g.rate, h.rate, b.rate), (PhyRate::Ofdm54, PhyRate::Ofdm54, PhyRate::Cck11));
    assert_eq!((g.timing, b.timing), (Timing::G_LONG_SLOT, Timing::B));
    assert_eq!((g.protection, b.protection), (Some(Protection::CtsToSelf), None));
    assert_eq!((&*g.without_ofdm, &*b.without_ofdm), (&[b.address][..], &[][..]));
    for mac in [g, h, b] {
        assert_eq!(mac.basic_rates, [PhyRate::Dsss1, PhyRate::Dsss2]);
    }
    let reads = air(&topology).stations.iter().map(|station| station.reads_ofdm);
    assert_eq!(reads.collect::<Vec<_>>(), [true, true, false]);
    // By choice, or without such a station.
    let protection = |keys: &str| end(&mixed(keys, "").expect(keys), 0).mac.protection;
    assert_eq!(protection("radio.protection = \"rts-cts\""), Some(Protection::RtsCts));
    assert_eq!(protection("radio.protection = \"none\""), None);
    let alone = link("radio.protection = \"cts-to-self\"").expect("a link");
    assert_eq!(end(&alone, 0).mac.protection, Some(Protection::CtsToSelf));
    assert_eq!(end(&alone, 0).mac.timing, Timing::G_SHORT_SLOT);
    assert_eq!(end(&link("").expect("a link"), 0).mac.protection, None);
    // A rate of its own, and the rate controls of its own modulation.
    let own = mixed("rate = \"6Mbps\"", "radio.rate = \"2Mbps\"").expect("a cell");
    assert_eq!(end(&own, 2).mac.rate, PhyRate::Dsss2);
    let of_link = mixed("rate = \"6Mbps\"", "").expect("a cell");
    assert_eq!(end(&of_link, 2).mac.rate, PhyRate::Cck5_5);
    for keys in ["radio.rate-control = \"minstrel\"", "policy = \"joint\""] {
        let adaptive = mixed(keys, "").expect(keys);
        assert_eq!(end(&adaptive, 2).mac.highest_rate(), PhyRate::Cck11, "{keys}");
        assert_eq!(end(&adaptive, 0).mac.highest_rate(), PhyRate::Ofdm54, "{keys}");
    }
}

#[test]
fn what_a_station_of_802_11b_cannot_be_part_of_is_refused() {
    for (keys, of_b, words) in [
        ("radio.slot = \"short\"", "", "has long slots"),
        ("radio.basic-rates = [\"1Mbps\", \"6Mbps\"]", "", "the basic rate 6Mbps"),
        (
            "radio.rts-threshold = 500\nradio.rts-rate = \"24Mbps\"",
            "",
            "does not read RTS at 24Mbps",
        ),
        ("", "radio.rate = \"54Mbps\"", "802.11b has no rate of 54Mbps"),
    ] {
        let message = mixed(keys, of_b).expect_err(keys);
        assert!(message.contains(words), "{keys}{of_b}: {message}");
    }
    for (keys, words) in [
        ("radio.protection = \"rts-cts\"\nradio.basic-rates = [\"6Mbps\"]", "add 1Mbps or 2Mbps"),
        (
            "radio.protection = \"cts-to-self\"\n\
             radio.rts-threshold = 9\nradio.rts-rate = \"6Mbps\"",
            "which stations of 802.11b do not read",
        ),
        ("radio.protection = \"cts\"", "unknown word"),
    ] {
        let message = link(keys).expect_err(keys);
        assert!(message.contains(words), "{keys}: {message}");
    }
    let of_b = |station: &str, keys: &str| {
        topology(&format!(
            "format = 1\n[[station]]\nname = \"a\"\n{station}\n[[station]]\nname = \"b\"\n\
             [[link]]\nkind = \"wifi-b\"\nstations = [\"a\", \"b\"]\n{keys}"
        ))
    };
    let message = of_b("radio.mode = \"g\"", "").expect_err("it has no OFDM");
    assert!(message.contains("wifi-b has only stations of 802.11b"), "{message}");
    let message = of_b("", "radio.protection = \"none\"").expect_err("it has no OFDM");
    assert!(message.contains("wifi-b has none"), "{message}");
    assert!(of_b("radio.mode = \"b\"", "").is_ok());
}

#[test]
fn the_attempts_of_a_radio_have_one_setting() {
    for (keys, name) in [("attempts = 3", "attempts"), ("short-attempts = 2", "short-attempts")] {
        let error = link(&format!("arq = 3\n[link.radio]\n{keys}\n")).expect_err("both");
        assert!(error.contains(&format!("arq and {name} both say")), "{error}");
        assert!(link(&format!("[link.radio]\n{keys}\n")).is_ok());
    }
    assert!(link("arq = 3\n").is_ok());
}

#[test]
fn a_link_is_refused_by_the_preambles_of_the_rates_that_its_stations_use() {
    let at = |loss: &str, keys: &str| link(&format!("{keys}\nradio.path-loss = \"{loss}dB\"\n"));
    for (loss, keys) in [
        ("108.96", ""),
        ("109", "rate = \"1Mbps\""),
        ("110", "rate = \"2Mbps\""),
        // One of the two can be heard.
        ("109", "uplink.rate = \"1Mbps\""),
    ] {
        assert!(at(loss, keys).is_ok(), "{loss} dB, {keys}: {:?}", at(loss, keys).err());
    }
    for (loss, keys, words) in [
        ("109", "", "-94.00 dBm, and -93.96 dBm are needed at 54Mbps; bring the stations nearer"),
        ("109", "", "or raise the power, or set rate = \"1Mbps\", whose preamble they hear"),
        // Rate controls choose among the rates of OFDM.
        ("109", "rate = \"1Mbps\"\nradio.rate-control = \"arf\"", "are needed at 54Mbps"),
        ("109", "policy = \"joint\"", "are needed at 54Mbps"),
        ("110.01", "rate = \"1Mbps\"", "-95.01 dBm, and -95.00 dBm are needed at 1Mbps"),
    ] {
        let refused = at(loss, keys).expect_err("too far");
        assert!(refused.contains(words), "{loss} dB, {keys}: {refused}");
    }
}
