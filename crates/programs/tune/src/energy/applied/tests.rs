use proptest::prelude::*;
use windfall_ip::RouteMetric;
use windfall_scenario::Get as _;

use super::*;

fn read(text: &str) -> AppliedSettings {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn error(text: &str) -> String {
    text.parse::<AppliedSettings>().expect_err(text)
}

fn scenario(kind: &str) -> Scenario {
    let text = format!(
        "format = 1\n[[station]]\nname = \"near\"\n[[station]]\nname = \"far\"\n\
         [[link]]\nkind = \"{kind}\"\nstations = [\"near\", \"far\"]\n"
    );
    Scenario::parse("test.toml", &text).expect("a scenario")
}

/// The advice of a search, as text and as JSON.
const TEXT: &str = "\
setting  as it stands  best  saves alone
in Windfall:
  tcp = \"mss=2256, delayed-ack=time:200ms\", at every [[station]]
  --mtu 2296 --rts-threshold 500
on Linux, at both ends:
  ip link set dev DEV mtu 2296
";
const JSON: &str = "{\"format\": \"windfall-energy-tune/1\", \"linux\": [\
    {\"setting\": \"mss\", \"value\": \"2256\"}, \
    {\"setting\": \"delayed-ack\", \"value\": \"time:200ms\"}, \
    {\"setting\": \"rts-threshold\", \"value\": \"500\"}]}";

#[test]
fn an_advice_is_read_as_text_as_json_and_as_a_list() {
    let list = "# found\nmss=2256\ndelayed-ack = time:200ms, rts-threshold=500 # frames\n";
    for text in [TEXT, JSON, list] {
        let applied = read(text);
        let [mss, acks] = applied.tcp() else { panic!("{applied:?}") };
        assert_eq!(mss.way, KernelWay::Route(RouteMetric::AdvMss(2_256)));
        assert!(matches!(acks.way, KernelWay::Cannot(_)), "{acks:?}");
        let mut scenario = scenario("wifi-b");
        applied.change_links(&mut scenario).expect("a radio");
        assert_eq!(scenario.links[0].mtu(), 2_296);
        assert_eq!(scenario.links[0].radio.rts_threshold.value(), Some(500));
    }
}

#[test]
fn an_advice_to_change_nothing_changes_nothing() {
    let nothing = "\nnothing that was tried saves anything: leave it as it is\n";
    assert_eq!(read(nothing), AppliedSettings::default());
    assert_eq!(
        read("{\"format\": \"windfall-energy-tune/1\", \"linux\": []}"),
        AppliedSettings::default()
    );
}

#[test]
fn what_a_link_has_not_is_refused_and_a_pipe_keeps_its_packets() {
    let refusal = read("power=5dBm").change_links(&mut scenario("pipe")).expect_err("no radio");
    assert!(refusal.contains("power=5dBm: no link of 802.11"), "{refusal}");
    let mut pipe = scenario("pipe");
    read("mss=2256").change_links(&mut pipe).expect("it stays");
    assert_eq!(pipe.links[0].mtu(), 1_500);
    read("mtu=2296").change_links(&mut pipe).expect("it was asked for");
    assert_eq!(pipe.links[0].mtu(), 2_296);
    let refusal = read("rate=fast").change_links(&mut scenario("wifi-b")).expect_err("no rate");
    assert!(refusal.contains("rate=fast: "), "{refusal}");
}

#[test]
fn settings_that_fit_each_other_are_taken_and_all_are_said() {
    read("window-scale=off, receive-buffer=65535B");
    read("window-scale=on, receive-buffer=1MiB");
    let said = read("mss=960, mtu=1000, rate=2Mbps").summaries();
    let said: Vec<String> = said.iter().map(ToString::to_string).collect();
    assert_eq!(said[0], "applied: mss=960, as advmss 960");
    assert_eq!(said[1], "applied: mtu=1000, as mtu of every link");
    assert_eq!(said[2], "applied: rate=2Mbps, as rate of every link of 802.11");
}

#[test]
fn errors_name_the_setting_and_the_fix() {
    for (text, said) in [
        ("", "it has no setting: write NAME=VALUE"),
        ("new-reno", "\"new-reno\" is no setting: write NAME=VALUE"),
        ("sck=off", "there is no setting \"sck\": did you mean sack?"),
        ("mss=7", "\"7\" is no value of the TCP setting mss: write bytes of data"),
        ("sack=off\nsack=on", "the setting sack is given twice"),
        ("rate=1Mbps, rate=2Mbps", "the setting rate is given twice"),
        ("mtu=1000, mss=2256", "mss=2256 does not fit into packets of mtu=1000: write mss=960"),
        ("mss=961, mtu=1000", "write mss=960 or less"),
        ("window-scale=off, receive-buffer=64KiB", "exclude each other"),
        ("{\"format\": \"windfall-tune/1\"}", "it is no advice of windfall tune --for GOAL"),
        ("{\"format\": ", "it is no JSON"),
        ("in Windfall:\n  --mtu", "--mtu has no value"),
        ("in Windfall:\n  mtu 1", "\"mtu 1\" is no line of an advice"),
    ] {
        let error = error(text);
        assert!(error.contains(said), "{text}: {error}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "(in Windfall:\n)?[a-z0-9=,:\"{}\n -]{0,80}") {
        match text.parse::<AppliedSettings>() {
            Ok(applied) => drop(applied.change_links(&mut scenario("wifi-b"))),
            Err(why) => prop_assert!(!why.is_empty()),
        }
    }

    #[test]
    fn as_many_settings_as_a_list_has_are_read(
        mss in 88_u16.., retries in any::<u8>(), sack in any::<bool>(), lines in any::<bool>(),
    ) {
        let pairs = [
            format!("mss={mss}"),
            format!("retries={retries}"),
            format!("sack={}", if sack { "on" } else { "off" }),
        ];
        let applied = read(&pairs.join(if lines { "\n" } else { ", " }));
        let said: Vec<_> =
            applied.tcp().iter().map(|it| format!("{}={}", it.setting.name, it.value)).collect();
        prop_assert_eq!(said, pairs);
    }
}
