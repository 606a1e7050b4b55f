//! Section 6: whether compression saves energy (S2.42).

use windfall_report::{Axis, Chart, Estimate, Mark, Point, Series, Table};

use crate::energy::laptops::{self, Laptops, SENDER};
use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, ExperimentInput, Figure, Finding, Verdict,
    VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S2.42",
    title: "Cycles for a byte up to which compression saves the sender's battery",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 10),
    mutation: Some("compressing takes no energy beside the platform's"),
    run,
};

/// The clock of the processor, in Hz.
const CLOCK: f64 = 90e6;
/// The power of the processor above that of an idle one, in watts: typical and greatest.
const WATTS: [f64; 2] = [3.0, 9.0];
/// Ratios of compressed to plain length.
const RATIOS: [f64; 8] = [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
/// Compressors: name, cycles for a byte of text on a Pentium, ratio.
const COMPRESSORS: [(&str, f64, f64); 2] =
    [("deflate, as gzip", 300.0, 0.4), ("a fast dictionary, as LZO", 50.0, 0.55)];
/// The place of the one that a thesis of 2000 had at hand.
const DEFLATE: usize = 0;

/// The power of a laptop and what it costs to send a byte.
struct Costs {
    /// Joules for each byte that arrives, one for each seed.
    sending: Vec<f64>,
    /// Watts of a laptop that does not send: platform and listening radio.
    idle: f64,
}

impl Costs {
    /// Returns the joules of compressing a byte with a processor that draws `watts` more than idle.
    ///
    /// The sender compresses before it sends: its time has the power of a waiting laptop, too.
    fn compressing(&self, cycles: f64, watts: f64) -> f64 {
        cycles / CLOCK * (self.idle + watts)
    }

    /// Returns the joules for a plain byte with compression, by those without, of each seed.
    fn ratio(&self, cycles: f64, ratio: f64, watts: f64) -> Estimate {
        let of = |sending: &f64| (self.compressing(cycles, watts) + ratio * sending) / sending;
        Estimate::mean(&self.sending.iter().map(of).collect::<Vec<_>>())
    }

    /// Returns the cycles for a byte at which compression costs what it saves, of each seed.
    fn break_even(&self, ratio: f64, watts: f64) -> Vec<f64> {
        let of = |sending: &f64| (1.0 - ratio) * sending / self.compressing(1.0, watts);
        self.sending.iter().map(of).collect()
    }
}

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let laptops = Laptops::new(figure.name, context);
    let model = laptops::model(figure.name)?;
    let idle = Laptops { idle: true, ..laptops.clone() }.run(context.seed)?;
    let idle = model.energy(&idle.usage[SENDER]).total() / idle.usage[SENDER].span.as_secs_f64();
    let runs = laptops.replicate(context)?;
    let sending = runs.iter().map(laptops::joules(&model, SENDER)).collect();
    let costs = Costs { sending, idle: if context.is_mutated { 0.0 } else { idle } };
    let watts = if context.is_mutated { [0.0; 2] } else { WATTS };
    let method = format!(
        "The joules for a byte that the laptop of S2.fig5.1 sends in packets of 1500 bytes ({} for \
         each of {} seeds), against those of compressing it first: cycles at 90 MHz, with the \
         power of the processor at work, {} to {} W above idle, and of the laptop that waits for \
         it. Sending fewer bytes takes as much less energy. The break-even line is what follows.",
        laptops.duration,
        laptops::runs(context),
        WATTS[0],
        WATTS[1],
    );
    let given = ExperimentInput::given;
    let mut inputs = laptops::inputs();
    inputs.extend([
        given("processor at work", "3 to 9 W", "assumed: a Pentium of 90 MHz, typical to greatest"),
        given("deflate", "300 cycles for a byte, 0.4 of it left", "assumed: text, in 1995"),
        given("a fast dictionary", "50 cycles, 0.55 left", "assumed: the same text"),
    ]);
    Ok(Finding {
        inputs,
        claims: claims(&costs, watts),
        charts: vec![("", chart(&costs, watts))],
        tables: vec![("", table(&costs, watts))],
        ..figure.finding(context, method)
    })
}

//= S2.42
fn claims(costs: &Costs, watts: [f64; 2]) -> Vec<Claim> {
    let compared = |claim: Claim, place: usize, band: &Band| {
        let (_, cycles, ratio) = COMPRESSORS[place];
        watts.into_iter().fold(claim, |claim, watts| {
            let label = format!("joules with it by those without, {watts} W");
            claim.compare(label, costs.ratio(cycles, ratio, watts), band.clone())
        })
    };
    let paper = Claim::paper(
        "S2.42",
        "section 6: “more battery power was consumed in compressing the data and sending it rather \
         than sending uncompressed data directly”",
        "on a processor of 90 MHz deflate costs more than it saves",
    )
    .because("the paper names no compressor; the cycles are assumed, the break-even line is not");
    let ours = Claim::ours("S2.42", "a compressor that takes 50 cycles for a byte saves energy")
        .because("so the result hangs on the compressor and not on compression as such");
    vec![
        compared(paper, DEFLATE, &Band::above(1.0, "an ordering: more")),
        compared(ours, DEFLATE + 1, &Band::below(1.0, "an ordering: less")),
    ]
}

fn table(costs: &Costs, watts: [f64; 2]) -> Table {
    let columns = watts.map(|it| format!("cycles for a byte at most, {it} W"));
    let mut table =
        Table::new(["compressed by plain length".to_owned()].into_iter().chain(columns));
    for ratio in RATIOS {
        let cells = watts
            .map(|watts| format!("{:.0}", Estimate::mean(&costs.break_even(ratio, watts)).value));
        table.push([ratio.to_string()].into_iter().chain(cells));
    }
    table
}

fn chart(costs: &Costs, watts: [f64; 2]) -> Chart {
    let lines = watts.map(|watts| {
        let points = RATIOS.iter().filter_map(|it| Point::of(*it, &costs.break_even(*it, watts)));
        Series::new(format!("break-even, {watts} W"), Mark::LinePoints, points.collect())
    });
    let compressors = COMPRESSORS.map(|(name, cycles, ratio)| {
        Series::new(name, Mark::Points, vec![Point::new(ratio, cycles)])
    });
    Chart {
        title: "Cycles for a byte up to which compression saves energy".to_owned(),
        subtitle: "a laptop of 2000 with a processor of 90 MHz; below a line it saves".to_owned(),
        x: Axis::linear("compressed by plain length").from_zero(),
        y: Axis::linear("cycles for a byte").from_zero(),
        series: lines.into_iter().chain(compressors).collect(),
        rules: Vec::new(),
    }
}
