//! Section 3.2: what finding the connection of a segment costs, in three ways (S2.14).

use core::net::Ipv4Addr;

use windfall_base::{Seed, Stream};
use windfall_report::{Axis, Chart, Estimate, Mark, Point, Series, Table, statistics};
use windfall_tcp::{ConnectionKey, Lookup, LookupCounts};

use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, ExperimentInput, Extent, Figure, Finding,
    Verdict, VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S2.14",
    title: "Finding the connection of a segment: one entry, twenty, hashing",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::ByConstruction, 10),
    mutation: Some("the hash table is searched as a list"),
    run,
};

/// The ways to find a connection.
const WAYS: [(&str, Lookup); 3] = [
    ("list, one entry remembered", Lookup::OneEntry),
    ("list, twenty remembered", Lookup::Recent(20)),
    ("hashed chains", Lookup::Hashed),
];
/// Open connections of the host.
const CONNECTIONS: [u32; 4] = [10, 100, 1_000, 10_000];
/// The number of connections that the statements are about, by its place.
const MANY: usize = 2;

/// The order in which segments arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// Trains of one to four segments of one connection; four trains of five belong to one of
    /// sixteen connections that are busy, the fifth to any, which is busy from then on.
    Trains,
    /// Each segment belongs to any connection: the worst case.
    Uniform,
}

impl Order {
    const ALL: [Self; 2] = [Self::Trains, Self::Uniform];

    const fn name(self) -> &'static str {
        match self {
            Self::Trains => "trains",
            Self::Uniform => "uniform",
        }
    }

    /// The connections of the segments, in the order of their arrival.
    fn trace(self, connections: u32, segments: usize, seed: Seed) -> Vec<u32> {
        let mut stream = Stream::new(seed, self.name());
        let mut any = |bound: u32| stream.below(u64::from(bound)) as u32;
        if self == Self::Uniform {
            return (0..segments).map(|_| any(connections)).collect();
        }
        let mut busy = [0; 16].map(|_: u32| any(connections));
        let mut trace = Vec::with_capacity(segments + 4);
        while trace.len() < segments {
            let place = any(16) as usize;
            if any(5) == 0 {
                busy[place] = any(connections);
            }
            let length = 1 + any(4) as usize;
            trace.extend(std::iter::repeat_n(busy[place], length));
        }
        trace.truncate(segments);
        trace
    }
}

/// The number of traces of each kind.
const TRACES: usize = 10;

/// The cost of one way, on several traces of a kind.
#[derive(Clone, Debug)]
struct Cost {
    order: Order,
    way: usize,
    connections: u32,
    /// One for each trace.
    counts: Vec<LookupCounts>,
}

impl Cost {
    /// Shares of the lookups that were answered by what was remembered.
    fn hits(&self) -> Vec<f64> {
        self.each(|counts| counts.remembered)
    }

    /// Keys compared in one lookup.
    fn compared(&self) -> Vec<f64> {
        self.each(|counts| counts.compared)
    }

    /// Returns a count by the number of lookups, for each trace.
    fn each(&self, of: fn(&LookupCounts) -> u64) -> Vec<f64> {
        let share = |counts| of(counts) as f64 / counts.lookups.max(1) as f64;
        self.counts.iter().map(share).collect()
    }
}

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let segments = match context.extent {
        Extent::Quick => 20_000,
        Extent::Paper => 200_000,
        Extent::Full => 2_000_000,
    };
    let mut costs = Vec::new();
    for order in Order::ALL {
        for connections in CONNECTIONS {
            (context.progress)(&format!("{} over {connections} connections", order.name()));
            for (way, (_, lookup)) in WAYS.into_iter().enumerate() {
                let lookup = if context.is_mutated { Lookup::OneEntry } else { lookup };
                let one =
                    |seed| look_up(lookup, connections, &order.trace(connections, segments, seed));
                let counts = context.replicate(TRACES, one);
                costs.push(Cost { order, way, connections, counts });
            }
        }
    }
    let method = format!(
        "The lookup table of Windfall's TCP over {TRACES} traces of {segments} segments of each \
         kind. *Trains*: one to four segments in a row for one connection; four trains of five \
         belong to one of sixteen busy connections, the fifth to any, which takes the place of a \
         busy one. *Uniform*: each segment belongs to any connection. A hashed chain remembers the \
         one found last by keeping it in front, so that its hits are lookups that ended there."
    );
    Ok(Finding {
        inputs: inputs(),
        claims: claims(&costs),
        charts: vec![("", chart(&costs))],
        tables: vec![("", table(&costs))],
        ..figure.finding(context, method)
    })
}

/// The locality of the traces, which decides how often a memory helps.
fn inputs() -> Vec<ExperimentInput> {
    let chosen = "so that twenty entries answer nine lookups of ten";
    vec![
        ExperimentInput::fitted("busy connections", "16", chosen),
        ExperimentInput::fitted("trains of busy connections", "four of five", chosen),
        ExperimentInput::given("segments of a train", "1 to 4, equally likely", "our choice"),
    ]
}

/// Looks every segment of a trace up.
fn look_up(lookup: Lookup, connections: u32, trace: &[u32]) -> LookupCounts {
    let key = |number: u32| ConnectionKey {
        local: Ipv4Addr::new(192, 0, 2, 1).into(),
        remote: Ipv4Addr::from_bits(0x0a00_0000 + number / 8).into(),
        local_port: 80,
        remote_port: 40_000 + (number % 8) as u16,
    };
    let mut table = windfall_tcp::ConnectionTable::new(lookup, [3, 5]);
    (0..connections).for_each(|number| table.insert(key(number), number));
    for &number in trace {
        let _ = table.find(&key(number));
    }
    *table.counts()
}

//= S2.14
fn claims(costs: &[Cost]) -> Vec<Claim> {
    let of = |order, way| {
        let mut own = costs.iter().filter(|cost| cost.order == order && cost.way == way);
        own.nth(MANY).map(Cost::compared).unwrap_or_default()
    };
    let many = CONNECTIONS[MANY];
    let ranking = Claim::paper(
        "S2.14",
        "section 3.2: “the most effective table lookup scheme is hashing using open chaining”",
        "hashed chains are more effective than a list",
    )
    .by_construction("a list looks at half of its keys, a chain at one or two: the schemes say so");
    let hashing = Claim::ours(
        "S2.14",
        format!("over {many} connections a list compares more keys in a lookup than a hash table"),
    );
    let reason = "an ordering: the list costs more";
    let hashing = Order::ALL.into_iter().fold(hashing, |claim, order| {
        [0, 1].into_iter().fold(claim, |claim, way| {
            let hashed = of(order, 2);
            let list = of(order, way);
            let ratios: Vec<f64> =
                list.iter().zip(&hashed).map(|(list, hash)| list / hash).collect();
            let label = format!("{}, {}: keys by those of the hash", WAYS[way].0, order.name());
            claim.compare(label, Estimate::geometric_mean(&ratios), Band::above(1.0, reason))
        })
    });
    let locality = "hits follow from the locality of the trace, and the paper has no trace: ours \
                    is made so that they come out";
    let memory =
        |quote, statement| Claim::paper("S2.14", quote, statement).by_construction(locality);
    vec![
        memory(
            "section 3.2: “one-back … caches have reported significant cache hit rates”",
            "a memory of one entry has a significant hit rate",
        ),
        memory(
            "section 3.2: “20 route entries is likely to yield a 90% hit rate”",
            "twenty entries answer nine lookups of ten",
        ),
        ranking,
        hashing,
        Claim::ours("S2.14", "a hash table needs no locality").compare(
            "keys compared in a lookup, uniform",
            Estimate::mean(&of(Order::Uniform, 2)),
            Band::to(3.0, "a chain holds less than two on average, and one more is looked at"),
        ),
    ]
}

fn mean(values: &[f64]) -> f64 {
    statistics::mean(values).unwrap_or(f64::NAN)
}

fn table(costs: &[Cost]) -> Table {
    let mut table = Table::new(["trace", "way", "connections", "hits %", "keys compared a lookup"]);
    for cost in costs {
        table.push([
            cost.order.name().to_owned(),
            WAYS[cost.way].0.to_owned(),
            cost.connections.to_string(),
            format!("{:.1}", 100.0 * mean(&cost.hits())),
            format!("{:.2}", mean(&cost.compared())),
        ]);
    }
    table
}

fn chart(costs: &[Cost]) -> Chart {
    let mut series = Vec::new();
    for (order, mark) in [(Order::Trains, Mark::LinePoints), (Order::Uniform, Mark::Dashed)] {
        for (way, (name, _)) in WAYS.iter().enumerate() {
            let own = costs.iter().filter(|cost| cost.order == order && cost.way == way);
            let point = |cost: &Cost| Point::of(f64::from(cost.connections), &cost.compared());
            let points = own.filter_map(point).collect();
            let name = format!("{name}, {}", order.name());
            series.push(Series::new(name, mark, points).with_color(way));
        }
    }
    Chart {
        title: "What finding a connection costs".to_owned(),
        subtitle: "segments in trains on few busy connections, and on any".to_owned(),
        x: Axis::log("open connections"),
        y: Axis::log("keys compared in a lookup"),
        series,
        rules: Vec::new(),
    }
}
