use proptest::prelude::*;
use windfall_base::{Duration, Instant, Rate};
use windfall_channel::{Line, MediumConfig, PathConfig};
use windfall_settings::Get;

use super::*;
use crate::model::Scenario;
use crate::plan::Topology;

fn topology(changes: &str) -> Result<Topology, String> {
    of_link("rate = \"10Mbps\"", changes)
}

fn of_link(link: &str, changes: &str) -> Result<Topology, String> {
    let text = format!(
        "format = 1\n[[station]]\nname = \"a\"\n[[station]]\nname = \"b\"\n[[link]]\n\
         name = \"air\"\n\
         stations = [\"a\", \"b\"]\n{link}\ndelay = \"10ms\"\n{changes}"
    );
    let scenario = Scenario::parse("test.toml", &text).map_err(|error| error.to_string())?;
    let mut read = |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    scenario.topology(0, ("test.toml", &text), &mut read).map_err(|error| error.to_string())
}

/// The times in ms, rates in Mb/s and delays in ms of a direction.
fn steps(changes: &str, is_uplink: bool) -> Vec<(u64, f64, u64)> {
    let topology = topology(changes).expect("it is legal");
    let MediumConfig::Pipe(pipe) = &topology.network.links[0].medium else { return Vec::new() };
    let path = if is_uplink { &pipe.forward } else { &pipe.backward };
    let step = |(at, path): &(Instant, PathConfig)| {
        let Line::Rate(rate) = &path.line else { return (0, 0.0, 0) };
        (at.as_micros() / 1000, rate.as_bps() as f64 / 1e6, path.delay.as_micros() / 1000)
    };
    path.changes.iter().map(step).collect()
}

#[test]
fn changes_add_up_in_the_order_of_their_times() {
    let changes = "[[change]]\nat = \"20s\"\ndelay = \"50ms\"\n\
                   [[change]]\nat = \"10s\"\nrate = \"1Mbps\"\nuplink.delay = \"30ms\"\n";
    assert_eq!(steps(changes, true), [(10_000, 1.0, 30), (20_000, 1.0, 50)]);
    assert_eq!(steps(changes, false), [(10_000, 1.0, 10), (20_000, 1.0, 50)]);
}

#[test]
fn gradual_changes_move_in_steps_and_end_with_the_next_one() {
    let ramp = "[[change]]\nat = \"1s\"\nrate = \"2Mbps\"\nover = \"400ms\"\n";
    // Where nothing has changed yet there is no step.
    let moving = [(1_100, 8.0, 10), (1_200, 6.0, 10), (1_300, 4.0, 10)];
    assert_eq!(steps(ramp, true)[..3], moving);
    assert_eq!(steps(ramp, true)[3..], [(1_400, 2.0, 10)]);
    let cut = format!("{ramp}[[change]]\nat = \"1200ms\"\ndelay = \"20ms\"\n");
    // What the next one does not say goes on, in its steps.
    let on = [(1_200, 6.0, 20), (1_300, 4.0, 20), (1_400, 2.0, 20)];
    assert_eq!(steps(&cut, true), [&moving[..1], &on[..]].concat());
    let other = format!("{ramp}[[change]]\nat = \"1250ms\"\nuplink.loss = 0.1\n");
    assert_eq!(steps(&other, false), steps(ramp, false));
    assert_eq!(steps(&other, true)[2], (1_250, 6.0, 10));
    let back = format!("{ramp}[[change]]\nat = \"1200ms\"\nrate = \"10Mbps\"\n");
    assert_eq!(steps(&back, true), [moving[0], (1_200, 10.0, 10)]);
}

#[test]
fn the_steps_of_a_gradual_change_are_equal_in_time_and_value() {
    let ramp = |over: &str| {
        steps(&format!("[[change]]\nat = \"1s\"\nrate = \"4Mbps\"\nover = \"{over}\"\n"), true)
    };
    assert_eq!(ramp("60ms"), [(1_060, 4.0, 10)]);
    assert_eq!(ramp("150ms"), [(1_075, 7.0, 10), (1_150, 4.0, 10)]);
    assert_eq!(ramp("240ms"), [(1_080, 8.0, 10), (1_160, 6.0, 10), (1_240, 4.0, 10)]);
}

#[test]
fn a_rate_moves_from_a_rate_and_not_from_none() {
    let ramp = "[[change]]\nat = \"1s\"\nrate = \"1Mbps\"\nover = \"400ms\"\n";
    let error = of_link("", ramp).expect_err("there is none to begin with");
    assert!(error.contains("without a rate before: add it, or remove over"), "{error}");
    // One that is set at the same time, or before, is a beginning.
    for at in ["500ms", "1s"] {
        let first = format!("[[change]]\nat = \"{at}\"\nrate = \"5Mbps\"\n");
        of_link("", &format!("{first}{ramp}")).expect(at);
        let moving = [(1_100, 4.0, 10), (1_200, 3.0, 10), (1_300, 2.0, 10), (1_400, 1.0, 10)];
        assert!(steps(&format!("{first}{ramp}"), true).ends_with(&moving), "{at}");
    }
    of_link("", "[[change]]\nat = \"1s\"\ndelay = \"1ms\"\nover = \"1s\"\n").expect("a delay");
    let away = "[[change]]\nat = \"1s\"\nrate = \"none\"\nover = \"1s\"\n";
    let error = of_link("rate = \"1Mbps\"\n", away).expect_err("there is no way to none");
    assert!(error.contains("no rate leads to rate = \"none\""), "{error}");
}

#[test]
fn a_change_takes_parts_away() {
    let said = "slots 20ms,reorder 5%,bucket 20kB,cell 48+5,onoff 5s 500ms,jitter 2ms,burst 5/100,\
                loss-state 1% 25%,gemodel 1% 10%,bit-gemodel 1e-5 0.01,window 10% 256 5%";
    let parts: Vec<_> = said.split(',').filter_map(|part| part.split_once(' ')).collect();
    let text = |name: &str, value: &str| format!("{name} = \"{value}\"\n");
    let link: String = parts.iter().map(|(name, value)| text(name, value)).collect();
    let link = format!("rate = \"10Mbps\"\n{link}");
    let change: Vec<String> = parts.iter().map(|(name, _)| text(name, "none")).collect();
    let topology = of_link(&link, &format!("[[change]]\nat = \"1s\"\n{}", change.concat()));
    let topology = topology.expect("it is legal");
    let MediumConfig::Pipe(pipe) = &topology.network.links[0].medium else { panic!("a pipe") };
    let PathConfig { line, delay, changes, .. } = &pipe.forward;
    assert!(pipe.forward.slot.is_some() && pipe.forward.cell.is_some());
    let plain = PathConfig { line: line.clone(), delay: *delay, ..PathConfig::default() };
    assert_eq!(changes[..], [(Instant::START + Duration::from_secs(1), plain)]);
    // What is not there needs nothing.
    of_link("bucket = \"none\"\nreorder = \"none\"\ncell = \"none\"", "").expect("nothing");
}

#[test]
fn text_says_the_same_as_a_file() {
    let text = "10s: rate 1Mbps, uplink loss 5% 25%, downlink delay 7ms, over 2s, link air";
    let change: Change = text.parse().expect("a change");
    assert_eq!(*change.at.get_ref(), Duration::from_secs(10));
    assert_eq!(change.both.constant_rate(), Rate::from_mbps(1));
    assert_eq!(change.uplink.loss.value(), Some("5% 25%".parse().expect("a chance")));
    assert_eq!(change.downlink.delay.value(), Some(Duration::from_millis(7)));
    assert_eq!(change.over.value(), Some(Duration::from_secs(2)));
    assert_eq!(change.link.value().as_deref(), Some("air"));
    let file = "# a handover\n\n10s: rate 1Mbps\n 15s: rate 20Mbps, loss 0 \n";
    assert_eq!(Change::read_all(file).expect("changes").len(), 2);
    let error = Change::read_all("1s: rate 1\n2s: rat 1\n").expect_err("a wrong line");
    assert!(error.starts_with("line 2: "), "{error}");
}

#[test]
fn on_a_command_line_the_times_of_a_change_need_their_units_and_in_a_file_they_do_not() {
    for (text, bare) in [
        ("10: rate 1Mbps", "10"),
        ("10s: delay 5", "5"),
        ("10s: rate 1, downlink delay 5", "5"),
        ("10s: delay 5ms, over 2", "2"),
        ("10s: jitter 5 25% normal", "5"),
        ("10s: uplink onoff 5s 500", "500"),
        ("10s: slots 20 40ms packets 32", "20"),
    ] {
        let refused = Change::by_option(text).expect_err(text);
        assert_eq!(refused, format!("write its unit: {bare}s or {bare}ms"), "{text}");
        let of_file = Change::read_all(text).expect(text);
        assert_eq!(of_file, Change::read_all(&of_file[0].to_string()).expect(text), "{text}");
    }
    for text in ["10s: rate 1, loss 5%", "0: delay 0, jitter none", "1s: delay 5ms, link air"] {
        assert_eq!(Change::by_option(text), text.parse().map_err(|_| String::new()), "{text}");
    }
    for (name, value) in [("delay", "5"), ("over", "2"), ("jitter", "5 25%"), ("onoff", "5 9")] {
        assert!(Change::check_units(name, value).is_err(), "{name}");
    }
    for (name, value) in [("delay", "5ms"), ("rate", "5"), ("loss", "0.5"), ("nosuch", "5")] {
        assert_eq!(Change::check_units(name, value), Ok(()), "{name}");
    }
}

#[test]
fn what_cannot_change_is_refused_with_the_fix() {
    for (change, fix) in [
        ("at = \"1s\"", "add rate = "),
        ("at = \"1s\"\nqueue = \"5\"", "set queue on the link"),
        ("at = \"1s\"\narq = 3", "set arq on the link"),
        ("at = \"1s\"\nlink = \"airs\"\nrate = \"1Mbps\"", "did you mean \"air\"?"),
        ("at = \"1s\"\nloss = 0.1\nover = \"1s\"", "add one of them"),
        ("at = \"1s\"\nrate = \"1Mbps\"\nover = \"2000s\"", "use several"),
        ("at = \"1s\"\njitter-table = \"x\"", "without jitter"),
        ("at = \"1s\"\nslots-table = \"x\"", "without slots"),
        ("at = \"1s\"\nloss-ecn = true", "without loss"),
        ("rate = \"1Mbps\"", "at"),
    ] {
        let error = topology(&format!("[[change]]\n{change}\n")).expect_err(change);
        assert!(error.contains(fix), "{change}: {error}");
    }
    for text in [
        "10s",
        "x: rate 1",
        "10s: rat 1",
        "10s: queue 5",
        "10s: rate x",
        "10s: uplink",
        "1s: loss 1%, loss 2%",
    ] {
        assert!(text.parse::<Change>().is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[ -~]{0,60}") {
        let _ = text.parse::<Change>();
        let _ = Change::read_all(&text);
    }
}

#[test]
fn a_change_without_any_link_asks_for_one() {
    for link in ["", "link = \"air\"\n"] {
        let text = format!(
            "format = 1\n[[station]]\nname = \"a\"\n[[change]]\nat = \"1s\"\n{link}loss = 0.1\n"
        );
        let error = crate::Scenario::parse("t.toml", &text).expect_err("nothing can change");
        let expected = "t.toml:5: there is no link to change: add [[link]], or remove the change";
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn of_two_changes_at_one_instant_the_first_never_acts() {
    let idle = |changes: &str| {
        let text = format!(
            "format = 1\n[[station]]\nname = \"a\"\n[[station]]\nname = \"b\"\n[[link]]\n\
             stations = [\"a\", \"b\"]\n{changes}"
        );
        let scenario = Scenario::parse("test.toml", &text).expect(changes);
        let met =
            |_: usize, _: crate::side::Side| vec![Instant::START + Duration::from_millis(1500)];
        scenario.idle_changes(&met).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let change = |text: &str| format!("[[change]]\nat = \"1s\"\n{text}\n");
    let [three, five, late] = ["loss = \"3%\"", "loss = \"5%\"", "delay = \"9ms\""].map(change);
    assert_eq!(idle(&[&*three, &five].concat()), ["1s: loss 0.03"]);
    assert_eq!(idle(&[&*five, &three].concat()), ["1s: loss 0.05"]);
    assert_eq!(idle(&[&*three, &late].concat()), [""; 0], "each says something of its own");
}

#[test]
fn a_change_to_what_already_holds_never_acts() {
    let idle = |changes: &[&str]| {
        let changes = changes.concat();
        let text = format!(
            "format = 1\n[[station]]\nname = \"a\"\n[[station]]\nname = \"b\"\n[[link]]\n\
             stations = [\"a\", \"b\"]\nrate = \"1Mbps\"\ndelay = \"5ms\"\n{changes}"
        );
        let scenario = Scenario::parse("test.toml", &text).expect(&changes);
        // Another change was met later.
        let met = |_: usize, _: crate::side::Side| {
            [1, 3].map(|at| Instant::START + Duration::from_secs(at)).to_vec()
        };
        scenario.idle_changes(&met).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let at = |at: &str, text: &str| format!("[[change]]\nat = \"{at}\"\n{text}\n");
    let other = at("3s", "duplicate = \"1%\"");
    for same in [
        "rate = \"1000kbps\"",
        "delay = 5",
        "loss = 0",
        "loss = \"0%\"",
        "jitter = \"none\"",
        "rate = \"1Mbps\"\ndelay = \"5ms\"",
        "rate = \"1Mbps\"\nover = \"1s\"",
        "uplink.rate = \"1Mbps\"",
    ] {
        assert_eq!(idle(&[&at("1s", same), &other]).len(), 1, "{same}");
    }
    for new in ["rate = \"none\"", "delay = 6", "loss = 0.1", "uplink.rate = \"2Mbps\""] {
        assert_eq!(idle(&[&at("1s", new), &other]), [""; 0], "{new}");
    }
    // What holds is that of the changes before, in the order of time.
    let new = at("1s", "loss = \"3%\"");
    let again = at("2s", "loss = 0.03");
    assert_eq!(idle(&[&again, &new, &other]), ["2s: loss 0.03"]);
}
