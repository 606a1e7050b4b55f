//! Claims, charts and the table.

use windfall_report::{Axis, Chart, Estimate, Mark, Point, Series, Table, number};

use super::air::Spread;
use super::outcome::Outcome;
use super::{
    BLOCK, BUDGETS, Cell, DAMAGED, DROPPING, ON_TOP, SUB_BLOCKS, THIRTY, TRUSTING, WINDOW, schemes,
};
use crate::experiment::{Band, Claim, Verdict};

/// devourer's shares of delivery at 25 % of parity, without and with sub-blocks.
const DEVOURER: [[f64; 5]; 2] = [[0.98, 0.89, 0.56, 0.26, 0.02], [1.0, 0.99, 0.93, 0.80, 0.41]];

/// The distance from them at which a share agrees.
const OFF: f64 = 0.05;
/// The requirement: schemes of others beside ours.
const ID: &str = "S0.66";

/// The runs of a scheme at the lower budget.
fn runs_in(cells: &[Cell], spread: Spread, damaged: usize, scheme: usize) -> &[Outcome] {
    let is_it =
        |it: &&Cell| (it.spread, it.budget, it.damaged, it.scheme) == (spread, 0, damaged, scheme);
    cells.iter().find(is_it).map_or(&[], |cell| &cell.runs)
}

fn runs(cells: &[Cell], damaged: usize, scheme: usize) -> &[Outcome] {
    runs_in(cells, Spread::Bursts, damaged, scheme)
}

fn mean(runs: &[Outcome], of: impl Fn(&Outcome) -> f64) -> Estimate {
    Estimate::mean(&runs.iter().map(of).collect::<Vec<_>>())
}

/// The mean difference of two schemes at 30 %.
fn less(cells: &[Cell], spread: Spread, schemes: [usize; 2], of: fn(&Outcome) -> f64) -> Estimate {
    let [one, other] = schemes.map(|scheme| runs_in(cells, spread, THIRTY, scheme));
    let pairs = one.iter().zip(other);
    Estimate::mean(&pairs.map(|(one, other)| of(one) - of(other)).collect::<Vec<_>>())
}

/// devourer's number for a scheme at a share of damaged frames, and what the model has.
fn beside(cells: &[Cell], place: usize) -> [(String, f64, Estimate); 2] {
    [(DROPPING, 0, "plain"), (ON_TOP, 1, "sub-blocks")].map(|(scheme, row, name)| {
        let label = format!("{name} at {:.0} %", 100.0 * DAMAGED[place]);
        let found = mean(runs(cells, place, scheme), Outcome::decoded_share);
        (label, DEVOURER[row][place], found)
    })
}

/// devourer's own comparison: what was fitted, and what follows.
fn of_devourer(cells: &[Cell]) -> [Claim; 2] {
    let each = beside(cells, THIRTY)
        .map(|(label, own, found)| format!("{label} {} for {}", number(found.value), number(own)));
    let fitted = Claim::ours(ID, "devourer's .26 and .80 of code words at 30 % damaged frames")
        .recorded(Verdict::ByConstruction)
        .because("the lost frames and the length of bursts were fitted to these two numbers")
        .stated(each.join("; "), Verdict::ByConstruction);
    let statement = "its shares at 5, 10, 20 and 50 %, to which nothing was fitted";
    let others = (0..DAMAGED.len()).filter(|place| *place != THIRTY);
    let predicted = others.flat_map(|place| beside(cells, place)).fold(
        Claim::ours(ID, statement),
        |claim, (label, own, found)| {
            let band = Band::between(own - OFF, own + OFF, format!("devourer: {}", number(own)));
            claim.compare(label, found, band)
        },
    );
    [fitted, predicted]
}

/// The usable video of our codes beside the others, with the same bytes on the air.
fn of_ours(cells: &[Cell], spread: Spread) -> [Claim; 3] {
    let against = |statement: String, other: usize| {
        let less = |one| less(cells, spread, [one, other], Outcome::usable);
        Claim::ours(ID, statement)
            .compare("blocks", less(BLOCK), Band::above(0.0, "an ordering"))
            .compare("window", less(WINDOW), Band::above(0.0, "an ordering"))
    };
    let damage = format!("30 % damaged, {}", spread.name());
    let dropping = against(format!("{damage}: more than wfb-ng's framing"), DROPPING);
    let trusting = against(format!("{damage}: more than RubyFPV's"), TRUSTING);
    let sub_blocks = against(format!("{damage}: more than devourer's sub-blocks"), SUB_BLOCKS);
    let lost = |claim: Claim, why: &str| claim.recorded(Verdict::NotReproduced).because(why);
    match spread {
        Spread::AllOver => [dropping, trusting, sub_blocks],
        Spread::Bursts => [
            dropping,
            lost(
                trusting,
                "it decodes with damaged frames as if they were whole: of nearly half of its \
                 blocks a part is wrong and not marked, and the rest of them counts as usable",
            ),
            lost(
                sub_blocks,
                "a check for each 32 bytes says where the damage is, so that a repair makes good \
                 one unknown; ours must find it as well, which takes two equations",
            ),
        ],
    }
}

//= S0.66
pub(super) fn claims(cells: &[Cell]) -> Vec<Claim> {
    let poisoned = |scheme| mean(runs(cells, THIRTY, scheme), Outcome::poisoned_share);
    let mut claims = of_devourer(cells).to_vec();
    claims.extend(Spread::ALL.into_iter().flat_map(|spread| of_ours(cells, spread)));
    let statement = "what decodes damaged frames as if they were whole decodes to wrong content, \
                     which a check of each decoded packet refuses";
    claims.push(
        Claim::ours(ID, statement)
            .compare("RubyFPV, blocks", poisoned(TRUSTING), Band::from(0.1, "a tenth: ours"))
            .compare("our blocks, packets", poisoned(BLOCK), Band::to(1e-4, "one in 10 000"))
            .compare("our window, packets", poisoned(WINDOW), Band::to(1e-4, "one in 10 000")),
    );
    claims.push(
        Claim::ours(ID, "repairs between the packets bring the median packet no later than blocks")
            .compare(
                "window less blocks, ms",
                less(cells, Spread::Bursts, [WINDOW, BLOCK], |it| it.delay(0.5)),
                Band::to(0.0, "an ordering"),
            )
            .recorded(Verdict::NotReproduced)
            .because(
                "packets keep their order, and at 30 % one of the last 40 ms nearly always waits \
                 for a repair",
            ),
    );
    claims
}

fn chart(cells: &[Cell], title: String, y: Axis, of: fn(&Outcome) -> f64, spread: Spread) -> Chart {
    let series = schemes(0).into_iter().enumerate().map(|(scheme, way)| {
        let own =
            cells.iter().filter(|it| (it.spread, it.budget, it.scheme) == (spread, 0, scheme));
        let points = own.filter_map(|cell| {
            let each: Vec<f64> = cell.runs.iter().map(of).collect();
            Point::of(100.0 * DAMAGED[cell.damaged], &each)
        });
        Series::new(way.name, Mark::LinePoints, points.collect())
    });
    Chart {
        title,
        subtitle: format!("damage {}, {} of bytes beside the video", spread.name(), BUDGETS[0]),
        x: Axis::linear("damaged frames (%)"),
        y,
        series: series.collect(),
        rules: Vec::new(),
    }
}

pub(super) fn usable(cells: &[Cell], spread: Spread) -> Chart {
    let axis = Axis::linear("usable bytes of video").from_zero();
    chart(
        cells,
        "Usable video by treatment of damaged frames".to_owned(),
        axis,
        Outcome::usable,
        spread,
    )
}

pub(super) fn poisoned(cells: &[Cell]) -> Chart {
    let axis = Axis::linear("blocks with wrong content").from_zero();
    let title = "Blocks that decode to something else".to_owned();
    chart(cells, title, axis, Outcome::poisoned_share, Spread::Bursts)
}

pub(super) fn table(cells: &[Cell]) -> Table {
    let mut table = Table::new([
        "damage",
        "budget",
        "damaged frames (%)",
        "scheme",
        "usable bytes (%)",
        "wrong and not marked (%)",
        "code words decoded (%)",
        "poisoned blocks (%)",
        "delay, median (ms)",
        "delay, 95 % (ms)",
        "delay, 99 % (ms)",
    ]);
    for cell in cells {
        let percent = |of: fn(&Outcome) -> f64| {
            let Estimate { value, low, high, .. } = mean(&cell.runs, of);
            let [value, low, high] = [value, low, high].map(|it| 100.0 * it.clamp(0.0, 1.0).abs());
            format!("{value:.1} ({low:.1} to {high:.1})")
        };
        let delay = |share: f64| format!("{:.1}", mean(&cell.runs, |it| it.delay(share)).value);
        table.push([
            cell.spread.name().to_owned(),
            BUDGETS[cell.budget].to_owned(),
            format!("{:.0}", 100.0 * DAMAGED[cell.damaged]),
            schemes(cell.budget)[cell.scheme].name.to_owned(),
            percent(Outcome::usable),
            percent(Outcome::unmarked),
            percent(Outcome::decoded_share),
            percent(Outcome::poisoned_share),
            delay(0.5),
            delay(0.95),
            delay(0.99),
        ]);
    }
    table
}
