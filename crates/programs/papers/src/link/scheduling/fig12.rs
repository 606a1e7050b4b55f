//! Figure 12: a station in trouble: who pays for it, and how the debt is cleared.

use windfall_base::Seed;
use windfall_report::Estimate;

use super::slots::{Course, Flow, Losses, MUTATION, best_effort, discipline, inputs, reserved};
use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, ExperimentInput, Extent, Figure, Finding,
    Verdict, VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig12",
    title: "Errors that ramp up at one of two stations",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 200),
    mutation: Some(MUTATION),
    run,
};

/// The slots of the ramp, and of what comes after it.
///
/// It begins at packet 1000. Its length is fitted: FTP1 leaves its outcome region, which it does at
/// 16.7 % by its power factor, at packet 2000 in the paper; so a smooth ramp from 10 % rises by 6.7
/// points in 1000 packets, and needs 12 000 to 90 %. What comes after it is long enough for
/// video, and then FTP1, to get back what they missed.
const RAMP: core::ops::Range<usize> = 1_000..13_000;
const SLOTS: usize = 40_000;
/// The error rates at its ends.
const RATES: [f64; 2] = [0.1, 0.9];
/// Slots that are averaged in the chart.
const WINDOW: usize = 500;
/// Slots after the ramp in which debts are cleared.
const AFTER: usize = 2_000;
/// The last slots, in which they have been.
const LAST: usize = 2_000;

const AUDIO: usize = 0;
const VIDEO: usize = 1;
const FTP1: usize = 2;
const FTP2: usize = 3;

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

/// The error rate at the bad station in `slot`.
fn error(slot: usize) -> f64 {
    if !RAMP.contains(&slot) {
        return 0.0;
    }
    let [first, last] = RATES;
    first + (last - first) * (slot - RAMP.start) as f64 / RAMP.len() as f64
}

/// The slots with error rates between two.
fn between(low: f64, high: f64) -> core::ops::Range<usize> {
    let [first, last] = RATES;
    let slot =
        |rate: f64| RAMP.start + (RAMP.len() as f64 * (rate - first) / (last - first)) as usize;
    slot(low)..slot(high)
}

//= S3.41
//= S3.42
fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let runs = match context.extent {
        Extent::Quick => 10,
        Extent::Paper => 200,
        Extent::Full => 1_000,
    };
    let flows = flows();
    let courses = context.replicate(runs, |seed| course(figure, context, seed));
    let courses: Vec<Course> = courses.into_iter().collect::<Result<_, _>>()?;
    let method = format!(
        "Busy flows on a link of slots, as the paper simulates it, {runs} times with other losses, \
         the first of which is drawn. Packets of video and FTP1 are lost at random, at a rate that \
         rises smoothly from 10 % to 90 %, between slots without loss."
    );
    Ok(Finding {
        inputs: all_inputs(&flows),
        claims: claims(&Courses { courses: &courses, flows: &flows }),
        charts: vec![("", courses[0].chart("Errors at one station", &flows, WINDOW))],
        tables: vec![("", courses[0].table(&flows, WINDOW))],
        ..figure.finding(context, method)
    })
}

fn course(figure: &Figure, context: &Context<'_>, seed: Seed) -> Result<Course, ExperimentError> {
    let losses = Losses::new(seed, "fig12");
    Course::run(figure.name, discipline(context), &flows(), SLOTS, |flow, slot| {
        let rate = if matches!(flow, VIDEO | FTP1) { error(slot) } else { 0.0 };
        losses.pass(slot, rate)
    })
}

fn all_inputs(flows: &[Flow]) -> Vec<ExperimentInput> {
    let mut all = inputs(flows, "paper 003, section 7, Figures 11 and 12");
    all.push(ExperimentInput::given(
        "error rates",
        format!("from 10 % to 90 %, from slot {} on", RAMP.start),
        "paper 003, section 7",
    ));
    all.push(ExperimentInput::fitted(
        "length of the ramp",
        format!("{} slots", RAMP.len()),
        "so that a power factor of 1.2 is used up at packet 2000, as section 7 says; the paper \
         gives no length",
    ));
    all
}

/// The courses with all losses.
struct Courses<'a> {
    courses: &'a [Course],
    flows: &'a [Flow; 4],
}

impl Courses<'_> {
    fn mean(&self, of: impl Fn(&Course) -> f64) -> Estimate {
        Estimate::mean(&self.courses.iter().map(of).collect::<Vec<_>>())
    }

    /// The throughput of a flow as a share of what it may expect.
    fn fidelity(&self, flow: usize, slots: core::ops::Range<usize>) -> Estimate {
        self.mean(|course| course.share(flow, slots.clone()) / self.flows[flow].expected)
    }

    /// The throughput of FTP1 as a share of that of FTP2.
    fn ftps(&self, slots: core::ops::Range<usize>) -> Estimate {
        self.mean(|course| course.share(FTP1, slots.clone()) / course.share(FTP2, slots.clone()))
    }

    /// The fidelity of a flow in some slots less that in others.
    fn change(
        &self,
        flow: usize,
        slots: core::ops::Range<usize>,
        before: core::ops::Range<usize>,
    ) -> Estimate {
        let expected = self.flows[flow].expected;
        self.mean(|course| {
            (course.share(flow, slots.clone()) - course.share(flow, before.clone())) / expected
        })
    }
}

fn kept() -> Band {
    Band::from(0.95, "its rate, within the noise of a Figure")
}

/// Judges what the prose says of each phase.
fn claims(courses: &Courses<'_>) -> Vec<Claim> {
    vec![
        at_first(courses),
        then(courses),
        next(courses),
        from_now_on(courses),
        limited(courses),
        lag(courses),
        ill_fated(courses),
        long_term(courses),
        Claim::ours("S3.41", "audio, which has no errors, is unharmed").compare(
            "audio",
            courses.fidelity(AUDIO, RAMP),
            kept(),
        ),
    ]
}

fn at_first(courses: &Courses<'_>) -> Claim {
    let slots = between(0.1, 1.0 - 1.0 / 1.2);
    Claim::paper(
        "S3.41",
        "section 7: “From packet 1000 to packet 2000, the scheduler shifts all of the video \
         flow's error burden and some of FTP1's burden to FTP2 so the best-effort flows \
         experience equal throughput”",
        "up to 16.7 %, which the ramp was made to reach at packet 2000, video keeps its rate and \
         the FTPs have equal rates",
    )
    .compare("video", courses.fidelity(VIDEO, slots.clone()), kept())
    .compare("FTP1 / FTP2", courses.ftps(slots.clone()), Band::near(1.0, 0.05, "equal"))
    .compare("FTP2", courses.fidelity(FTP2, slots), Band::to(0.95, "it pays"))
}

fn then(courses: &Courses<'_>) -> Claim {
    let slots = between(1.0 - 1.0 / 1.2, 1.0 - 1.0 / 1.4);
    Claim::paper(
        "S3.41",
        "section 7: “Then, however, flow ‘FTP1’ exhausts its outcome region and begins to lose \
         throughput relative to ‘FTP2’”",
        "from 16.7 to 28.6 % FTP1 loses relative to FTP2, and video still keeps its rate",
    )
    .compare("FTP1 / FTP2", courses.ftps(slots.clone()), Band::to(0.97, "less"))
    .compare("video", courses.fidelity(VIDEO, slots), kept())
}

fn next(courses: &Courses<'_>) -> Claim {
    let less = || Band::to(0.0, "less than before");
    Claim::paper(
        "S3.41",
        "section 7: “Next, errors begin to overwhelm the video flow's ability to demand extra \
         link time”",
        "beyond 28.6 % video has less and less",
    )
    .compare(
        "at 29 to 40 % less than at 17 to 29 %",
        courses.change(VIDEO, between(0.29, 0.4), between(0.17, 0.29)),
        less(),
    )
    .compare(
        "at 40 to 60 % less than at 29 to 40 %",
        courses.change(VIDEO, between(0.4, 0.6), between(0.29, 0.4)),
        less(),
    )
    .compare(
        "at 60 to 90 % less than at 40 to 60 %",
        courses.change(VIDEO, between(0.6, 0.9), between(0.4, 0.6)),
        less(),
    )
}

fn from_now_on(courses: &Courses<'_>) -> Claim {
    let some = between(0.4, 0.6);
    let more = between(0.7, 0.9);
    Claim::paper(
        "S3.41",
        "section 7: “From this point on, any increase in the error rate is shared by ‘Video’ and \
         ‘FTP1’”",
        "from there on video and FTP1 have less, and FTP2 has not",
    )
    .compare(
        "video, at 70 to 90 % less than at 40 to 60 %",
        courses.change(VIDEO, more.clone(), some.clone()),
        Band::to(0.0, "less"),
    )
    .compare("FTP1", courses.change(FTP1, more.clone(), some.clone()), Band::to(0.0, "less"))
    .compare("FTP2", courses.change(FTP2, more, some), Band::between(-0.05, 0.05, "the same"))
}

//= S3.31
/// Beyond its crossover a flow has P (1 − E) of its share.
fn limited(courses: &Courses<'_>) -> Claim {
    let slots = between(0.4, 0.9);
    // The ramp is linear: the mean of the share that arrives is that of its middle.
    let arrive = 1.0 - 0.65;
    let video = courses
        .mean(|course| course.share(VIDEO, slots.clone()) / courses.flows[VIDEO].expected / arrive);
    let ftp = courses.mean(|course| {
        course.share(FTP1, slots.clone()) / course.share(FTP2, slots.clone()) / arrive
    });
    let near = |power: f64| Band::near(power, 0.03, "the power factor, within 3 %");
    Claim::paper(
        "S3.31",
        "section 6.2: T = A / ΣA · B · (1 − E), A = min(W / (1 − E), P · W)",
        "beyond its crossover a flow has P (1 − E) of its share: the factor P, from 40 to 90 %",
    )
    .compare("FTP1", ftp, near(1.2))
    .compare("video", video, near(1.4))
}

//= S3.42
fn lag(courses: &Courses<'_>) -> Claim {
    let slots = RAMP.end..RAMP.end + AFTER;
    Claim::paper(
        "S3.42",
        "section 7: “the video flow receives throughput beyond its reservation so it can clear its \
         lag, but its power factor still limits its link time so that the FTP flows are not \
         starved”",
        "when errors end video has more than it reserved, up to 1.4 times, and the FTPs something",
    )
    .compare(
        "video",
        courses.fidelity(VIDEO, slots.clone()),
        Band::between(1.05, 1.42, "beyond 1, and its power factor with one packet in fifty more"),
    )
    .compare("FTP2", courses.fidelity(FTP2, slots), Band::from(0.5, "half of its share"))
    .compare(
        "and its reservation again at the end",
        courses.fidelity(VIDEO, SLOTS - LAST..SLOTS),
        Band::near(1.0, 0.02, "its lag is cleared"),
    )
}

//= S3.42
/// Counted over all slots, debts and their repayment.
fn long_term(courses: &Courses<'_>) -> Claim {
    let fair = || Band::near(1.0, 0.03, "long-term fairness, within 3 %: ours");
    Claim::paper(
        "S3.42",
        "section 7: “so it can clear its lag”; “so it can achieve long-term fairness with ‘FTP2’”",
        "in the end video has had what it reserved, and FTP1 as much as FTP2",
    )
    .compare("video, of its reservation, over all", courses.fidelity(VIDEO, 0..SLOTS), fair())
    .compare("FTP1 / FTP2, over all", courses.ftps(0..SLOTS), fair())
}

//= S3.42
fn ill_fated(courses: &Courses<'_>) -> Claim {
    let slots = RAMP.end..RAMP.end + AFTER;
    Claim::paper(
        "S3.42",
        "section 7: “Likewise, the ill-fated ‘FTP1’ flow receives more throughput than ‘FTP2’ … \
         limited by its power factor”",
        "FTP1 has more than FTP2 then, up to 1.2 times",
    )
    .compare(
        "FTP1 / FTP2",
        courses.ftps(slots),
        Band::between(1.05, 1.24, "beyond 1, and its power factor with a few packets more"),
    )
}
