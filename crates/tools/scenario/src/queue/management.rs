//! The names and parameters of what keeps a queue short.

use core::num::NonZeroU16;

use windfall_base::Duration;
use windfall_queue::Management;
use windfall_queue::management::{CodelConfig, FairConfig, PieConfig};

/// The parameters that have a value.
const PARAMETERS: [&str; 6] = ["target", "interval", "update", "burst", "flows", "quantum"];
/// Congestion is told by drops alone.
const NO_ECN: &str = "noecn";
/// The greatest number of queues of flows.
const MOST_FLOWS: u16 = 16_384;

/// Returns the management of this name, with its usual parameters; that of tc counts too.
pub(super) fn named(name: &str) -> Option<Management> {
    let name = if name == "fq_codel" { "fq-codel" } else { name };
    Management::ALL.into_iter().find(|it| it.name() == name)
}

/// Tells whether a part of a queue's text is a parameter of its management.
pub(super) fn is_parameter(part: &str) -> bool {
    let name = part.split_once(':').map(|(name, _)| name);
    part == NO_ECN || name.is_some_and(|name| PARAMETERS.contains(&name))
}

/// Sets the parameter that `part` names.
///
/// # Errors
/// How to put it right.
pub(super) fn set(management: &mut Management, part: &str) -> Result<(), &'static str> {
    let foreign = "use target, interval and noecn with codel; target, update, burst and noecn with \
                   pie; target, interval, flows, quantum and noecn with fq-codel";
    let (name, value) = part.split_once(':').unwrap_or((part, ""));
    match (management, name) {
        (Management::Codel(codel), _) => set_codel(codel, name, value, foreign),
        (Management::FqCodel(fair), "flows") => {
            let fix = "use 1 to 16384 queues, such as flows:1024";
            let flows = count(value).filter(|flows| *flows <= MOST_FLOWS);
            flows.map(|flows| fair.flows = flows).ok_or(fix)
        }
        (Management::FqCodel(fair), "quantum") => {
            let fix = "use 1 to 65535 bytes, such as quantum:1514";
            count(value).map(|bytes| fair.quantum = bytes).ok_or(fix)
        }
        (Management::FqCodel(fair), _) => set_codel(&mut fair.codel, name, value, foreign),
        (Management::Pie(pie), NO_ECN) => {
            pie.ecn = false;
            Ok(())
        }
        (Management::Pie(pie), "target") => time(value).map(|time| pie.target = time),
        (Management::Pie(pie), "update") => time(value).map(|time| pie.update = time),
        (Management::Pie(pie), "burst") => time(value).map(|time| pie.burst = time),
        _ => Err(foreign),
    }
}

fn set_codel(
    codel: &mut CodelConfig,
    name: &str,
    value: &str,
    foreign: &'static str,
) -> Result<(), &'static str> {
    match name {
        NO_ECN => codel.ecn = false,
        "target" => codel.target = time(value)?,
        "interval" => codel.interval = time(value)?,
        _ => return Err(foreign),
    }
    Ok(())
}

/// Refuses parameters that do not fit each other.
///
/// # Errors
/// How to put them right.
pub(super) fn check(management: &Management) -> Result<(), &'static str> {
    match management {
        Management::Codel(codel) | Management::FqCodel(FairConfig { codel, .. })
            if codel.target > codel.interval =>
        {
            Err("the target is longer than the interval within which it is to be reached: use \
                 about a twentieth of the interval, such as target:5ms,interval:100ms")
        }
        _ => Ok(()),
    }
}

/// Reads a time from a millisecond to a minute.
fn time(text: &str) -> Result<Duration, &'static str> {
    let range = Duration::from_millis(1)..=Duration::from_secs(60);
    let time = text.parse().ok().filter(|time| range.contains(time));
    time.ok_or("use a time from 1ms to 60s, such as 20ms")
}

fn count(text: &str) -> Option<u16> {
    text.parse().ok().map(NonZeroU16::get)
}

/// Writes a management with the parameters that are not the usual ones.
pub(super) fn to_text(management: Management) -> String {
    let mut text = management.name().to_owned();
    let mut say = |name: &str, value: String, usual: String| {
        if value != usual {
            text += &format!(",{name}:{value}");
        }
    };
    let ecn = match management {
        Management::DropTail | Management::DropHead => true,
        Management::Codel(codel) => {
            say_codel(&mut say, codel);
            codel.ecn
        }
        Management::FqCodel(fair) => {
            say_codel(&mut say, fair.codel);
            let usual = FairConfig::USUAL;
            say("flows", fair.flows.to_string(), usual.flows.to_string());
            say("quantum", fair.quantum.to_string(), usual.quantum.to_string());
            fair.codel.ecn
        }
        Management::Pie(pie) => {
            let usual = PieConfig::USUAL;
            say("target", pie.target.to_string(), usual.target.to_string());
            say("update", pie.update.to_string(), usual.update.to_string());
            say("burst", pie.burst.to_string(), usual.burst.to_string());
            pie.ecn
        }
    };
    if !ecn {
        text = format!("{text},{NO_ECN}");
    }
    text
}

fn say_codel(say: &mut impl FnMut(&str, String, String), codel: CodelConfig) {
    let usual = CodelConfig::USUAL;
    say("target", codel.target.to_string(), usual.target.to_string());
    say("interval", codel.interval.to_string(), usual.interval.to_string());
}
