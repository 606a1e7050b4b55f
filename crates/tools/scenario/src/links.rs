//! From what a scenario says of a link to its medium and the interfaces at its ends.

mod changes;
pub(crate) mod gsm;
pub(crate) mod wavelan;
pub(crate) mod wifi;

use core::num::NonZeroU32;
use std::sync::Arc;

use toml::Spanned;
use windfall_base::{Duration, Probability, Rate, Seed};
use windfall_channel::environment::ENVIRONMENT_FRAMES;
use windfall_channel::{
    AirConfig, Exposure, FlowPathConfig, Jitter, Line, MediumConfig, Model, ParseModelError,
    PathConfig, PipeMediumConfig, Slotting, Surroundings,
};
use windfall_files::traces::error_trace::{Counted, Origin};
use windfall_files::traces::{ErrorTrace, RateTrace};
use windfall_link::policy::{Cost, PolicyChoice};
use windfall_link::{Arq, Coding, Window};
use windfall_queue::Limits;
use windfall_settings::policy::{PolicyName, only_on_a_radio, parse_policy};
use windfall_settings::{Get, placed, value_if_set};
use windfall_stack::{ChecksumConfig, InterfaceConfig, RepairsConfig};

use crate::direction::{Checksums, Direction, FramePart};
use crate::error::SettingFault;
use crate::flows::{self, Capacity, Flow};
use crate::link::Link;
use crate::model::Scenario;
use crate::plan::Files;
use crate::queue::Queue;
use crate::side::Side;

/// A medium, and the interfaces at its ends in the order of the stations.
pub(crate) type Parts = (MediumConfig, Vec<InterfaceConfig>);

/// The overhead of the frame of a numbered packet: 15 bytes of header, 4 of frame check.
const FRAMING: usize = 19;

/// The wires of a pipe, with their changes.
pub(crate) fn pipe_medium(
    link: &Link,
    scenario: &Scenario,
    files: &mut Files<'_, '_>,
) -> Result<MediumConfig, SettingFault> {
    Ok(MediumConfig::Pipe(Box::new(PipeMediumConfig {
        forward: changing((link, Side::Uplink), scenario, files, Seed(1))?,
        backward: changing((link, Side::Downlink), scenario, files, Seed(2))?,
    })))
}

/// A wire for each direction.
pub(crate) fn pipe(
    link: &Link,
    scenario: &Scenario,
    files: &mut Files<'_, '_>,
) -> Result<Parts, SettingFault> {
    let [up, down] = Side::BOTH.map(|side| link.direction(side));
    let medium = pipe_medium(link, scenario, files)?;
    let mut end = |own: &Direction, others: &Direction| {
        let rate = own.constant_rate();
        let of_packets = |bytes: usize| {
            let around = own.overhead.value().map_or(FRAMING, |overhead| overhead as usize);
            let on_the_line = bytes + around;
            let on_the_line =
                value_if_set(&own.cell).map_or(on_the_line, |it| it.bytes_of(on_the_line));
            let share = bytes as f64 / on_the_line as f64;
            Rate::from_bps((rate?.as_bps() as f64 * share).round() as u64)
        };
        let capacity = Capacity { mtu: link.mtu(), of_packets: &of_packets, taken: 0.0 };
        let (rules, flows) =
            flows::admit(&scenario.flows, &capacity, scenario.run.admits_too_much())?;
        let pipe = windfall_stack::LinkLayerConfig::Pipe(pipe_end(link, [own, others], files)?);
        let counted = flows::counted(&scenario.flows);
        Ok(InterfaceConfig { rules, flows, counted, ..interface(link, [own, others], pipe) })
    };
    Ok((medium, vec![end(&up, &down)?, end(&down, &up)?]))
}

pub(crate) fn interface(
    link: &Link,
    [own, others]: [&Direction; 2],
    below: windfall_stack::LinkLayerConfig,
) -> InterfaceConfig {
    let repairs = RepairsConfig {
        send: value_if_set(&own.fec),
        receive: value_if_set(&others.fec),
        accept_damaged: others.accept_damaged.value().unwrap_or(false),
        by_destination: !link.kind().is_wire(),
    };
    let is = |direction: &Direction, what| direction.checksums.value() == Some(what);
    let checksums = ChecksumConfig {
        clears_sent: is(own, Checksums::Clear),
        clears_sent_fragments: is(own, Checksums::Mend),
        restores_received: is(others, Checksums::Mend),
        accepts_damaged: own.accept_damaged.value().unwrap_or(false),
    };
    let queue = own.queue.value().unwrap_or_default();
    InterfaceConfig {
        mtu: usize::from(link.mtu()),
        queue: limits(queue),
        discipline: queue.discipline.unwrap_or_default(),
        repairs,
        checksums,
        link: below,
        ..InterfaceConfig::default()
    }
}

/// Tells whether the receiver of a direction takes damaged packets, if only to repair them.
pub(crate) fn takes_damaged(others: &Direction) -> bool {
    value_if_set(&others.fec).is_some() || others.accept_damaged.value().unwrap_or(false)
}

pub(crate) fn arq(direction: &Direction, default: Arq) -> Arq {
    direction.arq.value().unwrap_or(default)
}

/// One end of a pipe: how it sends is its own direction's matter, what it accepts the other's.
fn pipe_end(
    link: &Link,
    [own, others]: [&Direction; 2],
    files: &mut Files<'_, '_>,
) -> Result<windfall_link::PipeConfig, SettingFault> {
    let rate = own.constant_rate();
    let delay = |direction: &Direction| direction.delay.value().unwrap_or(Duration::ZERO);
    // The window is for the whole way there and back.
    let round_trip = delay(own).saturating_add(delay(others));
    let window = |direction: &Direction| match direction.constant_rate() {
        Some(rate) => Window::of_pipe(rate, round_trip / 2, usize::from(link.mtu())),
        None => Window::default(),
    };
    // An end must keep as much out of order as the other may send beyond it.
    let window = window(own).max(window(others));
    let policy = policy(own, others, files)?;
    let default = match policy {
        Some(_) => Arq::Persistent,
        None => Arq::None,
    };
    let padded = own.padded.value().unwrap_or(false);
    let cost = pipe_cost(rate);
    Ok(windfall_link::PipeConfig {
        arq: arq(own, default),
        accept_damaged: takes_damaged(others),
        combine: others.combine.value().unwrap_or(false),
        increments: others.increments.value().unwrap_or(false),
        window,
        coding: policy.map(|policy| Coding { policy, padded, cost }),
    })
}

/// The name of the policy of one end.
pub(crate) fn policy_name(own: &Direction, others: &Direction) -> Option<Spanned<PolicyName>> {
    placed(&own.policy).or_else(|| placed(&others.policy))
}

/// The policy of one end: frames are coded in both directions if in one.
pub(crate) fn policy(
    own: &Direction,
    others: &Direction,
    files: &mut Files<'_, '_>,
) -> Result<Option<PolicyChoice>, SettingFault> {
    let Some(name) = policy_name(own, others) else { return Ok(None) };
    let fault = |message: String| SettingFault::at(name.span(), message);
    let file = match name.get_ref() {
        PolicyName::Kind(kind) => return Ok(Some((*kind).into())),
        PolicyName::Radio(_) => return Err(fault(only_on_a_radio(name.get_ref()))),
        PolicyName::File(file) => file,
    };
    let bytes = files.read(file).map_err(fault)?;
    files.budget.give_back(bytes.len());
    let table = parse_policy(file, &bytes).map_err(|error| fault(error.to_string()))?;
    Ok(Some(PolicyChoice::Table(Arc::new(table))))
}

/// The cost of a coded frame on a pipe beside its blocks: header and report, about 60 bytes. Where
/// bytes take no time, only their proportion counts.
fn pipe_cost(rate: Option<Rate>) -> Cost {
    let per_byte = rate.map_or(Duration::ZERO, |rate| rate.time_of(1));
    let per_byte = per_byte.max(Duration::from_nanos(1));
    Cost { per_frame: per_byte * 60, per_byte }
}

fn limits(Queue { length, mark, management, .. }: Queue) -> Limits {
    let of_packets = |n: Option<NonZeroU32>| n.map_or(usize::MAX, |n| n.get() as usize);
    let limits = length.map_or_else(Limits::default, |length| Limits {
        packets: of_packets(length.packets),
        bytes: length.bytes.map_or(usize::MAX, |n| usize::try_from(n.0).unwrap_or(usize::MAX)),
        ..Limits::default()
    });
    Limits { mark: of_packets(mark), management: management.unwrap_or_default(), ..limits }
}

/// One direction of a pipe, with its changes.
fn changing(
    side: (&Link, Side),
    scenario: &Scenario,
    files: &mut Files<'_, '_>,
    trace_salt: Seed,
) -> Result<PathConfig, SettingFault> {
    let first = path(&side.0.direction(side.1), &scenario.flows, files, trace_salt)?;
    let changes = changes::of_path(side, &first, scenario, files, trace_salt)?;
    Ok(PathConfig { changes, ..first })
}

/// One direction of a pipe, as it is without changes.
fn path(
    direction: &Direction,
    flows: &[Flow],
    files: &mut Files<'_, '_>,
    trace_salt: Seed,
) -> Result<PathConfig, SettingFault> {
    let mut paths = Vec::new();
    for (flow, impaired) in flows::impaired(flows) {
        let way = wire(&impaired.impairments.on(direction), files, trace_salt)?;
        paths.push(FlowPathConfig { flow, name: impaired.name.get_ref().clone(), way });
    }
    Ok(PathConfig { flows: paths, ..wire(direction, files, trace_salt)? })
}

/// One direction of a pipe, as it is for the frames of all flows.
fn wire(
    direction: &Direction,
    files: &mut Files<'_, '_>,
    trace_salt: Seed,
) -> Result<PathConfig, SettingFault> {
    let line = match (&direction.rate, &direction.rate_trace) {
        (Some(rate), _) => Line::from(*rate.get_ref()),
        (None, Some(trace)) => {
            let name = trace.get_ref();
            let fault = |message: String| SettingFault::at(trace.span(), message);
            let bytes = files.read(name).map_err(fault)?;
            let trace = RateTrace::from_bytes_within(&bytes, &mut files.budget);
            files.budget.give_back(bytes.len());
            let trace = trace.map_err(|e| fault(format!("{name}: {e}")))?;
            Line::Trace(if direction.once.value() == Some(true) { trace.once() } else { trace })
        }
        (None, None) => Line::Instant,
    };
    let slots = value_if_set(&direction.slots);
    let jitter = value_if_set(&direction.jitter);
    let slot = tabled(slots, &direction.slots_table, files, Slotting::with_table)?;
    let jitter = tabled(jitter, &direction.jitter_table, files, Jitter::with_table)?;
    Ok(PathConfig {
        line,
        bucket: value_if_set(&direction.bucket),
        onoff: value_if_set(&direction.onoff),
        slot,
        delay: direction.delay.value().unwrap_or(Duration::ZERO),
        jitter,
        reorder: value_if_set(&direction.reorder),
        duplicate: direction.duplicate.value().filter(|it| it.probability != Probability::ZERO),
        overhead: direction.overhead.value(),
        cell: value_if_set(&direction.cell),
        air: air(direction, files, trace_salt)?,
        flows: Vec::new(),
        changes: Vec::new(),
    })
}

/// Returns `value` with the distribution of a table, if there is one.
fn tabled<T: Clone>(
    value: Option<T>,
    table: &Option<Spanned<String>>,
    files: &mut Files<'_, '_>,
    with_table: fn(T, &str) -> Result<T, ParseModelError>,
) -> Result<Option<T>, SettingFault> {
    let (Some(named), Some(table)) = (value.clone(), table) else { return Ok(value) };
    let name = table.get_ref();
    let fault = |message: String| SettingFault::at(table.span(), message);
    let bytes = files.read(name).map_err(fault)?;
    files.budget.give_back(bytes.len());
    let value = with_table(named, &String::from_utf8_lossy(&bytes));
    Ok(Some(value.map_err(|e| fault(format!("{name}: {e}")))?))
}

/// The air of one direction: losses first, then what happens to the bits of the rest; `trace_salt`
/// tells traces of the same environment apart.
pub(crate) fn air(
    direction: &Direction,
    files: &mut Files<'_, '_>,
    trace_salt: Seed,
) -> Result<AirConfig, SettingFault> {
    let AirConfig { mut models, range, .. } = direction.errors();
    let exposed = direction.expose.value().unwrap_or_default();
    let mut exposure = Exposure {
        header: exposed.contains(&FramePart::Header),
        trailer: exposed.contains(&FramePart::Trailer),
        control: exposed.contains(&FramePart::Control),
    };
    if let Some(trace) = &direction.error_trace {
        let name = trace.get_ref();
        let fault = |message: String| SettingFault::at(trace.span(), message);
        let bytes = files.read(name).map_err(fault)?;
        let trace = ErrorTrace::from_bytes_within(&bytes, &mut files.budget);
        files.budget.give_back(bytes.len());
        let trace = trace.map_err(|e| fault(format!("{name}: {e}")))?;
        // What a trace tells of must be exposed, or its events would hit other frames and bits.
        let is_whole = trace.header().origin == Origin::Frame;
        exposure.header |= is_whole;
        exposure.trailer |= is_whole;
        exposure.control |= trace.header().frames == Counted::All;
        models.push(Model::Replay(Arc::new(trace)));
    }
    //= S3.17
    //= S1.37
    models.extend(direction.environment.value().map(|surroundings| match surroundings {
        // Every run replays one trace, as it would a recorded one.
        Surroundings::Radio(environment) => {
            Model::Replay(Arc::new(environment.synthesize(trace_salt, ENVIRONMENT_FRAMES)))
        }
        Surroundings::Gsm(environment) => Model::Gsm(environment.config()),
    }));
    Ok(AirConfig { models, exposure, range, marks: direction.loss_ecn.value() == Some(true) })
}
