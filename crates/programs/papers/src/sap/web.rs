//! Section 4.3 with a web server: `windfall serve` and `windfall get` in the office, in real time.

pub(crate) mod fig5;
pub(crate) mod fig6;
pub(crate) mod lower_rate;
mod requests;
pub(crate) mod table1;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use windfall_base::Seed;

use super::bulk::Times;
use requests::{Fetch, PATIENCE, Requests, Way};

use crate::experiment::{Context, ExperimentError};

/// The ways, the first three in the order of [`super::bulk::PROTOCOLS`].
pub(super) const WAYS: [Way; 5] = [
    Way { name: "SAP, approximate", options: "--approx */*", profile: "paper" },
    Way { name: "TCP", options: "", profile: "paper" },
    Way { name: "SAP, precise", options: "--force-precise", profile: "paper" },
    Way { name: "SAP, approximate, standard", options: "--approx */*", profile: "standard" },
    Way { name: "SAP, precise, standard", options: "--force-precise", profile: "standard" },
];
/// The precise way in place of each.
const PRECISE: [usize; 5] = [2, 1, 2, 4, 4];
/// The indexes of the ways in the order of the paper's requests, and then those of the standard
/// profile.
const ORDER: [usize; 5] = [1, 2, 0, 4, 3];
/// The mutation of these figures.
pub(super) const MUTATION: &str = "approximate bodies are asked for as precise ones";

/// A file, and where and how often it is asked for.
pub(super) struct Plan {
    /// The name of what is measured.
    name: &'static str,
    places: Vec<Place>,
    /// The number of [`ORDER`]'s ways.
    ways: usize,
    bytes: usize,
    runs: usize,
    /// Seconds from the end of a request to the next one.
    pause: f64,
}

/// A distance in metres, the radio's rate there in Mb/s, and the requests of a run by each way.
#[derive(Clone, Copy)]
struct Place {
    metres: f64,
    mbps: u64,
    requests: usize,
}

/// The replies to all requests.
pub(super) struct Measured {
    /// By run, by way, by place.
    runs: Vec<Vec<Vec<Vec<Fetch>>>>,
}

impl Measured {
    /// Returns the seconds in the shape of the simulated figures: the first requests of all runs,
    /// then the second ones, and so on; NaN where there were fewer.
    pub(super) fn times(&self) -> Vec<Times> {
        let most = self.runs.iter().flatten().flatten().map(Vec::len).max().unwrap_or(0);
        let seconds = |fetches: &Vec<Fetch>, request: usize| {
            fetches.get(request).map_or(f64::NAN, |fetch| fetch.seconds)
        };
        let of = |run: &Vec<Vec<Vec<Fetch>>>, request: usize| -> Times {
            run.iter().map(|way| way.iter().map(|it| seconds(it, request)).collect()).collect()
        };
        (0..most).flat_map(|request| self.runs.iter().map(move |run| of(run, request))).collect()
    }

    /// Returns the replies by a way at a place, both by their index.
    pub(super) fn at(&self, way: usize, at: usize) -> Vec<Fetch> {
        self.runs.iter().flat_map(|run| run[way][at].iter().copied()).collect()
    }

    /// Makes the requests of a plan; the same for all figures of a process.
    pub(super) fn of(context: &Context<'_>, plan: &Plan) -> Result<Arc<Self>, ExperimentError> {
        type Known = BTreeMap<(&'static str, u64, String, bool), Arc<Measured>>;
        static KNOWN: Mutex<Known> = Mutex::new(BTreeMap::new());
        let key = (plan.name, context.seed.0, context.extent.to_string(), context.is_mutated);
        // Two figures at the same time measure one after the other.
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(measured) = known.get(&key) {
            return Ok(Arc::clone(measured));
        }
        let runs = context.replicate(plan.runs, |seed| plan.run(context, seed));
        let measured = Arc::new(Self { runs: runs.into_iter().collect::<Result<_, _>>()? });
        known.insert(key, Arc::clone(&measured));
        Ok(measured)
    }
}

impl Plan {
    /// Makes the requests of one seed; returns the replies by way and by place.
    fn run(
        &self,
        context: &Context<'_>,
        seed: Seed,
    ) -> Result<Vec<Vec<Vec<Fetch>>>, ExperimentError> {
        let mut fetches = vec![vec![Vec::new(); self.places.len()]; self.ways];
        for (at, &place) in self.places.iter().enumerate() {
            for &way in &ORDER[..self.ways] {
                fetches[way][at] = self.fetch(context, way, place, seed)?;
            }
        }
        Ok(fetches)
    }

    /// Asks for the file by a way at a place; the mutation makes approximate ways precise.
    fn fetch(
        &self,
        context: &Context<'_>,
        way: usize,
        Place { metres, mbps, requests }: Place,
        seed: Seed,
    ) -> Result<Vec<Fetch>, ExperimentError> {
        (context.progress)(&format!("{metres} m, {mbps} Mb/s, {}", WAYS[way].name));
        let way = &WAYS[if context.is_mutated { PRECISE[way] } else { way }];
        let Self { bytes, pause, .. } = *self;
        let program = &context.program;
        Requests { program, way, metres, mbps, bytes, count: requests, pause, seed }.run()
    }

    /// Describes what all figures with a server have in common.
    fn method(&self) -> String {
        format!(
            "A file of {:.1} MB, random bytes, from windfall serve to windfall get in two network \
             namespaces over windfall run: real sockets and the kernel's TCP (CUBIC), in real \
             time; {} runs with a pause of {} s after each request. Two requests by the cable come \
             first, so that the file is in the server's cache. The time is that of the client, \
             from before it connects until the file is there. The paper's harness takes the end of \
             the request as the beginning, and the sender's FIN as the end. Both stations send at \
             one rate, packets of 1500 bytes. A request without a reply after {PATIENCE} s counts \
             as infinitely long.",
            self.bytes as f64 / 1e6,
            self.runs,
            self.pause,
        )
    }
}
