//! Figure 12: a station in trouble: who pays for it, and how the debt is cleared.

use super::slots::{Course, Flow, Losses, best_effort, reserved};
use windfall_experiment::{
    Basis, Claim, Context, ExperimentError, Extent, Figure, Finding, Verdict, VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig12",
    title: "Errors that ramp up at one of two stations",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run,
};

/// Steps of the ramp: 10 % to 90 %.
const STEPS: usize = 9;

/// The flows: video and FTP1 at the bad station, audio and FTP2 at the good one.
fn flows() -> [Flow; 4] {
    // What is left of the error-free link is for the best-effort flows alike.
    let rest = (1.0 - 0.01 - 0.44) / 2.0;
    [
        reserved("audio", 0.01, 3.0),
        reserved("video", 0.44, 1.4),
        best_effort("FTP1", 1.2, rest),
        best_effort("FTP2", 1.2, rest),
    ]
}

/// The error rate at the bad station in `slot`, with steps of `step` slots.
fn error(slot: usize, step: usize) -> f64 {
    match slot / step {
        0 => 0.0,
        n if n <= STEPS => 0.1 * n as f64,
        _ => 0.0,
    }
}

//= S3.41
//= S3.42
fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let step = match context.extent {
        Extent::Quick => 4_000,
        Extent::Paper => 10_000,
        Extent::Full => 100_000,
    };
    let flows = flows();
    let losses = Losses::new(context.seed, "fig12");
    let slots = step * (STEPS + 1) + 2 * step;
    let course = Course::run(figure.name, &flows, slots, |flow, slot| {
        let rate = if matches!(flow, 1 | 2) { error(slot, step) } else { 0.0 };
        losses.pass(slot, rate)
    })?;
    let claims = claims(&course, &flows, step);
    let method = format!(
        "Busy flows on a link of slots, as the paper simulates it: audio reserves 1 % at power \
         factor 3, video 44 % at 1.4, two FTPs share the rest at 1.2. Packets of video and \
         FTP1 are lost at random, {step} slots at each rate from 10 % to 90 %, between slots \
         without loss. Crossovers: 16.7 % for FTP1, 28.6 % for video (S3.30)."
    );
    Ok(Finding {
        claims,
        charts: vec![("", course.chart("Errors at one station", &flows, step / 2))],
        tables: vec![("", course.table(&flows, step / 2))],
        ..figure.finding(context, method)
    })
}

/// Judges what the prose says of each phase.
fn claims(course: &Course, flows: &[Flow; 4], step: usize) -> Vec<Claim> {
    // The fidelity of a flow during the n-th step; the first fifth is left to settle.
    let at = |flow: usize, n: usize| {
        course.share(flow, n * step + step / 5..(n + 1) * step) / flows[flow].expected
    };
    let after = STEPS + 1;
    let [audio, video, ftp1, ftp2] = [0, 1, 2, 3];
    let least_audio = (0..=STEPS).map(|n| at(audio, n)).fold(f64::INFINITY, f64::min);
    let pair =
        |n| format!("FTP1 {:.2}, FTP2 {:.2}, video {:.2}", at(ftp1, n), at(ftp2, n), at(video, n));
    vec![
        Claim::once(
            "S3.41",
            "at first all of video's burden and part of FTP1's shifts to FTP2: FTPs equal (10 %)",
            pair(1),
            (at(ftp1, 1) - at(ftp2, 1)).abs() < 0.06 && (at(video, 1) - 1.0).abs() < 0.04,
        ),
        Claim::once(
            "S3.41",
            "then FTP1 leaves its outcome region and loses relative to FTP2 (20 %)",
            pair(2),
            at(ftp1, 2) < at(ftp2, 2) && (at(video, 2) - 1.0).abs() < 0.04,
        ),
        Claim::once(
            "S3.41",
            "next, errors overwhelm video's power factor; video and FTP1 share any more (30 % on)",
            (3..=STEPS).map(|n| format!("{:.2}", at(video, n))).collect::<Vec<_>>().join(", "),
            (4..=STEPS).all(|n| at(video, n) < at(video, n - 1) && at(ftp1, n) < at(ftp1, n - 1)),
        ),
        Claim::once(
            "S3.41",
            "FTP2 is never starved, and audio is unharmed",
            format!("FTP2 {:.2} at 90 %, audio at least {least_audio:.2}", at(ftp2, STEPS)),
            at(ftp2, STEPS) > 0.5 && least_audio > 0.9,
        ),
        Claim::once(
            "S3.42",
            "when errors end, video exceeds its reservation to clear its lag, limited by its power \
             factor, and FTP1 gets more than FTP2",
            pair(after),
            at(video, after) > 1.05
                && at(video, after) <= 1.4 + 0.02
                && at(ftp1, after) > at(ftp2, after),
        ),
    ]
}
