//! Figure 11: four flows behind walls, with FLEX below the scheduler.

use windfall_base::{Duration, Rate};
use windfall_experiment::{
    Basis, Claim, Context, ExperimentError, Extent, Figure, Finding, Verdict, VerdictRecord,
};
use windfall_network::{Recording, What};
use windfall_queue::admission::{Admission, Reservation};
use windfall_scenario::{Environment, PolicyKind};
use windfall_stack::InterfaceEvent;

use super::slots::{Course, Flow, Losses, best_effort, reserved};
use crate::coding::coded::{self, Air};

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig11",
    title: "Audio, video and two FTPs behind walls",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run,
};

/// Slots of one moving window.
const WINDOW: usize = 500;
/// The same where audio is looked at, or small differences.
const LONG_WINDOW: usize = 5_000;
/// Harsh bursts: one every [`PERIOD`] slots, over these slots of each period.
const PERIOD: usize = 4_000;
const BURST: core::ops::Range<usize> = 2_000..2_200;
/// The share lost in a harsh burst beside what is lost behind walls.
const HARSH: f64 = 0.7;

/// The flows, with the weights and power factors of the paper.
fn flows() -> [Flow; 4] {
    let rest = (1.0 - 0.01 - 0.44) / 2.0;
    [
        reserved("audio", 0.01, 3.0),
        reserved("video", 0.44, 2.23),
        best_effort("FTP1", 1.2, rest),
        best_effort("FTP2", 1.2, rest),
    ]
}

//= S3.39
//= S3.40
fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let slots = match context.extent {
        Extent::Quick => 12_000,
        Extent::Paper => 40_000,
        Extent::Full => 200_000,
    };
    let outcomes = outcomes(context, figure.name)?;
    let flows = flows();
    let count = outcomes.len().max(1);
    let delivers = |slot: usize| outcomes.get(slot % count).copied().unwrap_or(false);
    let losses = Losses::new(context.seed, "harsh");
    let burst = |slot: usize| if BURST.contains(&(slot % PERIOD)) { HARSH } else { 0.0 };
    let mild = Course::run(figure.name, &flows, slots, |_, slot| delivers(slot))?;
    let harsh = Course::run(figure.name, &flows, slots, |_, slot| {
        delivers(slot) && losses.pass(slot, burst(slot))
    })?;
    let mut claims = mild_claims(&mild, &flows, slots);
    claims.extend(harsh_claims(&harsh, &flows, slots));
    claims.push(overcommitment());
    let method = format!(
        "Busy flows on a link of slots. Whether a slot delivers was taken, one after the \
         other, from {count} frames that FLEX sent behind walls in simulated time: a slot \
         delivers if its frame completes a packet. Audio reserves 1 % at power factor 3, video \
         44 % at 2.23, two FTPs share the rest at 1.2; overcommit was asked for, since at \
         worst they take 101.1 % (S3.46). FLEX leaves only mild bursts over; for the harsher \
         ones of which the paper speaks, the same again with {:.0} % more lost in {} of every \
         {PERIOD} slots.",
        100.0 * HARSH,
        BURST.len()
    );
    Ok(Finding {
        claims,
        charts: vec![
            ("", mild.chart("Behind walls", &flows, WINDOW)),
            ("harsh", harsh.chart("Behind walls, with harsh bursts", &flows, WINDOW)),
        ],
        tables: vec![("", mild.table(&flows, WINDOW)), ("harsh", harsh.table(&flows, WINDOW))],
        ..figure.finding(context, method)
    })
}

const AUDIO: usize = 0;
const VIDEO: usize = 1;
const FTP1: usize = 2;
const FTP2: usize = 3;

/// Fidelities in moving windows, 1 for what may be expected without errors.
fn windows(course: &Course, flows: &[Flow; 4], flow: usize, window: usize) -> Vec<f64> {
    let points = course.fidelity(flow, flows[flow].expected, window, window / 10);
    points.iter().map(|point| point.y / 100.0).collect()
}

fn least(values: Vec<f64>) -> f64 {
    values.into_iter().fold(f64::INFINITY, f64::min)
}

fn audio(course: &Course, flows: &[Flow; 4], bursts: &str) -> Claim {
    let least = least(windows(course, flows, AUDIO, LONG_WINDOW));
    Claim::once(
        "S3.40",
        format!("{bursts} leave audio essentially unharmed: at least 97 % in every window"),
        format!("at least {:.1} %", 100.0 * least),
        least >= 0.97,
    )
}

fn mild_claims(course: &Course, flows: &[Flow; 4], slots: usize) -> Vec<Claim> {
    let video = least(windows(course, flows, VIDEO, WINDOW));
    let long = |flow: usize| 100.0 * course.share(flow, 0..slots) / flows[flow].expected;
    let pair = [FTP1, FTP2].map(|flow| windows(course, flows, flow, LONG_WINDOW));
    let apart = pair[0].iter().zip(&pair[1]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    vec![
        audio(course, flows, "error bursts"),
        Claim::once(
            "S3.40",
            "video is not affected by mild error bursts",
            format!("at least {:.1} %, {:.1} % in all", 100.0 * video, long(VIDEO)),
            video >= 0.95 && long(VIDEO) >= 99.0,
        ),
        Claim::once(
            "S3.40",
            "the burden is divided equally between the FTPs",
            format!(
                "{:.1} % and {:.1} %, never more than {:.1} points apart",
                long(FTP1),
                long(FTP2),
                100.0 * apart
            ),
            apart < 0.03,
        ),
    ]
}

fn harsh_claims(course: &Course, flows: &[Flow; 4], slots: usize) -> Vec<Claim> {
    let starts = (BURST.start..slots).step_by(PERIOD);
    let video = |start: usize, length: usize| {
        course.share(VIDEO, start..(start + length).min(slots)) / flows[VIDEO].expected
    };
    let during = starts.clone().map(|start| video(start, BURST.len()));
    let during = during.fold(0.0, f64::max);
    let after = least(starts.map(|start| video(start, 2 * BURST.len())).collect());
    vec![
        audio(course, flows, "harsher ones, too,"),
        Claim::once(
            "S3.40",
            "harsher ones reduce video's throughput for a while, which is quickly compensated",
            format!(
                "at most {:.1} % in each burst of {} slots, at least {:.1} % with as many after it",
                100.0 * during,
                BURST.len(),
                100.0 * after
            ),
            during < 0.9 && after >= 0.97,
        ),
    ]
}

/// The paper's own parameters fail its own admission rule.
//= S3.46
fn overcommitment() -> Claim {
    let link = Rate::from_bps(800_000);
    let ask = |overcommit| {
        let mut admission = Admission::new(overcommit);
        let flows = [(8_000, 3.0), (352_000, 2.23)];
        for (rate, power_factor) in flows {
            let rate = Rate::from_bps(rate)?;
            admission.admit(link?, Reservation { rate, power_factor }).ok()?;
        }
        Some(admission.worst_case())
    };
    let strict = ask(false);
    let forced = ask(true);
    Claim::once(
        "S3.46",
        "the reserved flows take the whole link at worst: 0.01 · 3 + 0.44 · 2.23",
        format!(
            "{:.3}: {} unless overcommit is asked for",
            forced.unwrap_or(0.0),
            if strict.is_none() { "refused" } else { "admitted" }
        ),
        strict.is_none() && forced.is_some_and(|w| (w - 1.011).abs() < 1e-3),
    )
}

/// Of each frame that FLEX sends behind walls whether it completed a packet.
fn outcomes(context: &Context<'_>, figure: &'static str) -> Result<Vec<bool>, ExperimentError> {
    let length = match context.extent {
        Extent::Quick => Duration::from_secs(60),
        _ => Duration::from_secs(200),
    };
    let air = Air::own(Environment::Walls);
    let mut simulation = coded::spraying(context, figure, air, PolicyKind::Flex, length)?;
    simulation.network_mut().record(Recording { events: true, packets: false });
    let near = simulation.network().interfaces().next();
    let mut outcomes = Vec::new();
    let end = simulation.end();
    let observed = simulation.run(end, &mut |event| {
        if Some(event.element) == near
            && let What::Interface(event) = &event.what
        {
            match event {
                InterfaceEvent::Sent { .. } => outcomes.push(false),
                InterfaceEvent::Acknowledged { .. } => {
                    if let Some(last) = outcomes.last_mut() {
                        *last = true;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    });
    observed.map_err(|error| ExperimentError::Scenario { figure, message: error.to_string() })?;
    Ok(outcomes)
}
