//! Figure 11: four flows behind walls, with FLEX below the scheduler.

use windfall_base::{Duration, PacketEventKind, Rate, Seed};
use windfall_network::{EventKind, Recording};
use windfall_queue::admission::{Admission, Reservation};
use windfall_report::Estimate;
use windfall_scenario::{Environment, PolicyKind};

use super::slots::{Course, Flow, Losses, MUTATION, best_effort, discipline, inputs, reserved};
use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, ExperimentInput, Extent, Figure, Finding,
    Verdict, VerdictRecord,
};
use crate::link::coding::coded::{self, Air};

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig11",
    title: "Audio, video and two FTPs behind walls",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::InPart, 10),
    mutation: Some(MUTATION),
    run,
};

/// Slots of one moving window.
const WINDOW: usize = 500;
/// Slots of one moving window for audio, and for small differences.
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
    let (traces, slots) = match context.extent {
        Extent::Quick => (3, 12_000),
        Extent::Paper => (10, 40_000),
        Extent::Full => (40, 200_000),
    };
    let courses = context.replicate(traces, |seed| Pair::of(figure, context, seed, slots));
    let courses: Vec<Pair> = courses.into_iter().collect::<Result<_, _>>()?;
    let (trace, harsh) = courses.into_iter().map(|pair| (pair.trace, pair.harsh)).unzip();
    let flows = flows();
    let trace = Courses { courses: trace, flows, slots };
    let harsh = Courses { courses: harsh, flows, slots };
    let mut claims = trace.claims();
    claims.extend(harsh.stress_claims());
    claims.extend([whole_link(), overcommitment()]);
    let method = format!(
        "Busy flows on a link of {slots} slots. Whether a slot delivers was taken, one after the \
         other, from the frames that FLEX sent behind walls in simulated time: a slot delivers if \
         its frame completes a packet. {traces} synthetic traces, the first of which is drawn. \
         Overcommit was asked for, since at worst the reserved flows take 101.1 % (S3.46). Apart \
         from that, a stress that is ours: the same with {:.0} % more lost in {} of every {PERIOD} \
         slots.",
        100.0 * HARSH,
        BURST.len()
    );
    let drawn = |courses: &Courses, title| courses.courses[0].chart(title, &flows, WINDOW);
    Ok(Finding {
        claims,
        inputs: all_inputs(&flows),
        charts: vec![
            ("", drawn(&trace, "Behind walls")),
            ("harsh", drawn(&harsh, "Behind walls, with harsh bursts added")),
        ],
        tables: vec![
            ("", trace.courses[0].table(&flows, WINDOW)),
            ("harsh", harsh.courses[0].table(&flows, WINDOW)),
        ],
        ..figure.finding(context, method)
    })
}

fn all_inputs(flows: &[Flow]) -> Vec<ExperimentInput> {
    let mut all = inputs(flows, "paper 003, section 7");
    all.push(ExperimentInput::given(
        "trace",
        "walls",
        "synthetic, with the totals of Table 1; the paper's own is not public",
    ));
    all
}

/// The slots over one trace, as it is and with harsh bursts.
struct Pair {
    trace: Course,
    harsh: Course,
}

impl Pair {
    fn of(
        figure: &Figure,
        context: &Context<'_>,
        seed: Seed,
        slots: usize,
    ) -> Result<Self, ExperimentError> {
        let outcomes = outcomes(context, figure.name, seed)?;
        let flows = flows();
        let count = outcomes.len().max(1);
        let delivers = |slot: usize| outcomes.get(slot % count).copied().unwrap_or(false);
        let losses = Losses::new(seed, "harsh");
        let burst = |slot: usize| if BURST.contains(&(slot % PERIOD)) { HARSH } else { 0.0 };
        let discipline = discipline(context);
        Ok(Self {
            trace: Course::run(figure.name, discipline, &flows, slots, |_, slot| delivers(slot))?,
            harsh: Course::run(figure.name, discipline, &flows, slots, |_, slot| {
                delivers(slot) && losses.pass(slot, burst(slot))
            })?,
        })
    }
}

const AUDIO: usize = 0;
const VIDEO: usize = 1;
const FTP1: usize = 2;
const FTP2: usize = 3;

/// The courses over all traces.
struct Courses {
    courses: Vec<Course>,
    flows: [Flow; 4],
    slots: usize,
}

fn least(values: Vec<f64>) -> f64 {
    values.into_iter().fold(f64::INFINITY, f64::min)
}

impl Courses {
    fn mean(&self, of: impl Fn(&Course) -> f64) -> Estimate {
        Estimate::mean(&self.courses.iter().map(of).collect::<Vec<_>>())
    }

    /// Fidelities in moving windows, 1 for what may be expected without errors.
    fn windows(&self, course: &Course, flow: usize, window: usize) -> Vec<f64> {
        let points = course.fidelity(flow, self.flows[flow].expected, window, window / 10);
        points.iter().map(|point| point.y / 100.0).collect()
    }

    fn least(&self, flow: usize, window: usize) -> Estimate {
        self.mean(|course| least(self.windows(course, flow, window)))
    }

    fn audio(&self, claim: Claim) -> Claim {
        let of = "least fidelity in a window of fifty packets";
        let band = Band::from(0.97, "S3.40: 97 % in every window");
        claim.compare(of, self.least(AUDIO, LONG_WINDOW), band)
    }

    /// Claims about the trace as it is.
    fn claims(&self) -> Vec<Claim> {
        let whole = |flow: usize| {
            self.mean(|course| course.share(flow, 0..self.slots) / self.flows[flow].expected)
        };
        let loses = || Band::to(0.95, "it bears a part of the burden: ours");
        let apart = self.mean(|course| {
            let pair = [FTP1, FTP2].map(|flow| self.windows(course, flow, LONG_WINDOW));
            let apart = pair[0].iter().zip(&pair[1]).map(|(one, other)| (one - other).abs());
            apart.fold(0.0, f64::max)
        });
        vec![
            self.unharmed(),
            Claim::paper(
                "S3.40",
                "section 7: “the video flow is not affected by mild error bursts”",
                "video is not affected by mild error bursts",
            )
            .compare(
                format!("least fidelity in a window of {WINDOW} slots"),
                self.least(VIDEO, WINDOW),
                Band::from(0.97, "not affected: as S3.40 has it for audio"),
            ),
            self.reductions(),
            Claim::paper(
                "S3.40",
                "section 7: “the scheduler divides the error burden equally between the two \
                 best-effort flows”",
                "the FTPs bear the burden, and alike",
            )
            .compare("FTP1, fidelity in all", whole(FTP1), loses())
            .compare("FTP2, fidelity in all", whole(FTP2), loses())
            .compare(
                "greatest difference of fidelities",
                apart,
                Band::to(0.03, "small: ours"),
            ),
        ]
    }

    /// The claim of the paper on drops of the link that this trace does not have.
    fn unharmed(&self) -> Claim {
        let audio = self.least(AUDIO, LONG_WINDOW).value;
        let link = self.mean(|course| least(course.links(WINDOW))).value;
        Claim::paper(
            "S3.40",
            "section 7: “error bursts, visible as sharp throughput drops on the ‘Link’ plot, leave \
             the audio flow essentially unharmed”",
            "error bursts leave audio essentially unharmed",
        )
        .not_comparable(
            format!(
                "{:.0} % in its worst window of fifty packets, while the link has {:.0} % at least",
                100.0 * audio,
                100.0 * link
            ),
            "the synthetic traces have no such drops; a stress of our own has",
        )
    }

    fn reductions(&self) -> Claim {
        let least = self.least(VIDEO, WINDOW);
        Claim::paper(
            "S3.40",
            "section 7: “harsher ones result in temporary throughput reductions”",
            "harsher bursts reduce video's throughput for a while",
        )
        .compare(
            format!("least fidelity in a window of {WINDOW} slots"),
            least,
            Band::to(0.9, "a reduction that can be seen"),
        )
        .recorded(Verdict::NotReproduced)
        .because(
            "the synthetic traces have no harsh bursts: Table 1 gives totals and not how far they \
             vary as a person walks through the signal's path, and FLEX repairs all but mild ones. \
             What the scheduler does in harsher ones is shown by a stress of our own",
        )
    }

    /// Claims about the stress.
    fn stress_claims(&self) -> Vec<Claim> {
        let starts = || (BURST.start..self.slots).step_by(PERIOD);
        let video = |course: &Course, start: usize, length: usize| {
            let end = (start + length).min(self.slots);
            course.share(VIDEO, start..end) / self.flows[VIDEO].expected
        };
        let during = self.mean(|course| {
            starts().map(|start| video(course, start, BURST.len())).fold(0.0, f64::max)
        });
        let after = self.mean(|course| {
            least(starts().map(|start| video(course, start, 2 * BURST.len())).collect())
        });
        let length = BURST.len();
        vec![
            self.audio(Claim::ours("S3.40", "stress: harsh bursts leave audio unharmed")),
            Claim::ours("S3.40", "stress: they reduce video's throughput, which is made good")
                .compare("most in a burst", during, Band::to(0.9, "a reduction"))
                .compare(
                    format!("least in a burst and {length} slots after it"),
                    after,
                    Band::from(0.97, "made good"),
                ),
        ]
    }
}

//= S3.46
/// The error rate at which the reserved flows take the whole link.
fn whole_link() -> Claim {
    // 0.01 / (1 − E) + 0.44 / (1 − E) = 1.
    let rate = 1.0 - (0.01 + 0.44);
    Claim::paper(
        "S3.46",
        "section 7: “the two protected flows will consume the entire link when the error rate is \
         50 % or more”",
        "audio and video take the whole link from 50 % of errors on",
    )
    .compare("error rate", Estimate::exact(rate), Band::near(0.5, 0.01, "50 %"))
    .recorded(Verdict::NotReproduced)
    .because("the paper's own numbers give 55 %, as its section 5.1 says of the same flows")
}

//= S3.46
/// The paper's own parameters fail its own admission rule.
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
    let found = format!(
        "{:.3}: {} unless overcommit is asked for",
        forced.unwrap_or(0.0),
        if strict.is_none() { "refused" } else { "admitted" }
    );
    let holds = strict.is_none() && forced.is_some_and(|worst| (worst - 1.011).abs() < 1e-3);
    Claim::ours("S3.46", "at worst they take more than the link: 0.01 · 3 + 0.44 · 2.23")
        .fact(found, holds)
}

/// Of each frame that FLEX sends behind walls whether it completed a packet.
fn outcomes(
    context: &Context<'_>,
    figure: &'static str,
    seed: Seed,
) -> Result<Vec<bool>, ExperimentError> {
    let length = match context.extent {
        Extent::Quick => Duration::from_secs(30),
        Extent::Paper | Extent::Full => Duration::from_secs(200),
    };
    let air = Air::new(Environment::Walls, seed);
    let mut simulation = coded::spraying(figure, air, &coded::settings(PolicyKind::Flex), length)?;
    simulation.network_mut().record(Recording { events: true, packets: false });
    let near = simulation.network().interfaces().next();
    let mut outcomes = Vec::new();
    let end = simulation.end();
    let observed = simulation.run(end, &mut |event| {
        if Some(event.element) == near
            && let EventKind::Packet(event) = &event.what
        {
            match event.kind {
                PacketEventKind::Sent { .. } => outcomes.push(false),
                PacketEventKind::Acknowledged => {
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
