//! Figure 11: four flows behind walls, with FLEX below the scheduler.

use windfall_base::{Duration, Rate};
use windfall_network::{Recording, What};
use windfall_queue::admission::{Admission, Reservation};
use windfall_report::{Claim, Finding, Verdict};
use windfall_scenario::{Environment, Policy};
use windfall_stack::EventKind;

use super::coded;
use super::slots::{Course, Flow, best_effort, reserved};
use crate::error::Error;
use crate::figure::{Basis, Context, Effort, Figure};

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig11",
    title: "Audio, video and two FTPs behind walls",
    basis: Basis::Simulated,
    expected: Verdict::Reproduced,
    run,
};

/// Slots of one moving window: audio has fifty packets in it.
const WINDOW: usize = 5_000;

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
fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, Error> {
    let slots = match context.effort {
        Effort::Quick => 12_000,
        Effort::Paper => 40_000,
        Effort::Full => 200_000,
    };
    let outcomes = outcomes(context, figure.name)?;
    let flows = flows();
    let count = outcomes.len().max(1);
    let course = Course::run(figure.name, &flows, slots, |_, slot| {
        outcomes.get(slot % count).copied().unwrap_or(false)
    })?;
    Ok(Finding {
        figure: figure.name,
        title: figure.title.to_owned(),
        method: format!(
            "Busy flows on a link of slots. Whether a slot delivers was taken, one after the \
             other, from {count} frames that FLEX sent behind walls in simulated time: a slot \
             delivers if its frame completes a packet. Audio reserves 1 % at power factor 3, video \
             44 % at 2.23, two FTPs share the rest at 1.2; overcommit was asked for, since at \
             worst they take 101.1 % (S3.46)."
        ),
        claims: claims(&course, &flows, slots),
        expected: figure.expected,
        charts: vec![("", course.chart("Behind walls", &flows, WINDOW))],
        tables: Vec::new(),
        provenance: figure.provenance(context),
    })
}

fn claims(course: &Course, flows: &[Flow; 4], slots: usize) -> Vec<Claim> {
    let windows = |flow: usize| -> Vec<f64> {
        let points = course.fidelity(flow, flows[flow].expected, WINDOW, WINDOW / 10);
        points.iter().map(|point| point.y / 100.0).collect()
    };
    let least = |flow| windows(flow).into_iter().fold(f64::INFINITY, f64::min);
    let long = |flow: usize| course.share(flow, 0..slots) / flows[flow].expected;
    let [audio, video, ftp1, ftp2] = [0, 1, 2, 3];
    let apart = windows(ftp1).into_iter().zip(windows(ftp2)).map(|(a, b)| (a - b).abs());
    let apart = apart.fold(0.0, f64::max);
    let claim = |requirement, paper: &str, measured: String, holds| Claim {
        requirement,
        paper: paper.to_owned(),
        measured,
        verdict: Verdict::of(holds),
    };
    vec![
        claim(
            "S3.40",
            "error bursts leave audio essentially unharmed: at least 97 % in every window",
            format!("at least {:.1} %", 100.0 * least(audio)),
            least(audio) >= 0.97,
        ),
        claim(
            "S3.40",
            "video dips briefly at most and is compensated",
            format!("at least {:.1} %, {:.1} % in all", 100.0 * least(video), 100.0 * long(video)),
            long(video) >= 0.99 && least(video) >= 0.9,
        ),
        claim(
            "S3.40",
            "the burden is divided equally between the FTPs",
            format!(
                "{:.1} % and {:.1} %, never more than {:.1} points apart",
                100.0 * long(ftp1),
                100.0 * long(ftp2),
                100.0 * apart
            ),
            apart < 0.03,
        ),
        overcommitment(),
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
    let (strict, forced) = (ask(false), ask(true));
    Claim {
        requirement: "S3.46",
        paper: "the reserved flows take the whole link at worst: 0.01 · 3 + 0.44 · 2.23".to_owned(),
        measured: format!(
            "{:.3}: {} unless overcommit is asked for",
            forced.unwrap_or(0.0),
            if strict.is_none() { "refused" } else { "admitted" }
        ),
        verdict: Verdict::of(strict.is_none() && forced.is_some_and(|w| (w - 1.011).abs() < 1e-3)),
    }
}

/// Of each frame that FLEX sends behind walls whether it completed a packet.
fn outcomes(context: &Context<'_>, figure: &'static str) -> Result<Vec<bool>, Error> {
    let length = match context.effort {
        Effort::Quick => Duration::from_secs(60),
        _ => Duration::from_secs(200),
    };
    let mut simulation =
        coded::spraying(context, figure, Environment::Walls, Policy::Flex, length)?;
    simulation.network_mut().record(Recording { events: true, packets: false });
    let near = simulation.network().interfaces().next();
    let mut outcomes = Vec::new();
    let end = simulation.end();
    let observed = simulation.run(end, &mut |event| {
        if Some(event.element) == near
            && let What::Interface(event) = &event.what
        {
            match event.kind {
                EventKind::Sent { .. } => outcomes.push(false),
                EventKind::Acknowledged { .. } => {
                    if let Some(last) = outcomes.last_mut() {
                        *last = true;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    });
    observed.map_err(|error| Error::Scenario { figure, message: error.to_string() })?;
    Ok(outcomes)
}
