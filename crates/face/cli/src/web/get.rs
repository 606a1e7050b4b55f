//! `windfall get`: files over HTTP, their bodies over SAP where that is asked for.
#![expect(clippy::disallowed_methods, reason = "transfers are timed")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use tokio::task::JoinSet;
use windfall_files::Replacement;
use windfall_web::{
    Fetched, FetchedFile, Fetcher, FetcherSettings, HeaderMap, Repair, TypeList, Uri, Way,
};

use crate::exchange::SapTransport;
use crate::exit::{CliError, Completion, Result};
use crate::input::cannot_write;
use crate::usage::whole;
use crate::web::{Signals, block_on};
use crate::{json, progress};

/// The most files at the same time.
const AT_ONCE: usize = 64;
/// The time between two movements of the progress bar.
const TICK: Duration = Duration::from_millis(100);

/// Fetch files over HTTP, approximately where damage is tolerated
///
/// Without --approx or --force-precise everything comes over TCP.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Addresses of the files, such as http://HOST:PORT/PATH
    #[arg(required = true, value_parser = windfall_web::parse_address)]
    urls: Vec<Uri>,
    /// Write the file here; - is the standard output [default: the name in the address]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Media types whose damage is tolerated, such as image/jpeg,audio/*
    #[arg(long, value_name = "TYPES")]
    approx: Option<TypeList>,
    /// Receive over SAP as precise messages, all types unless --approx names some
    #[arg(long)]
    force_precise: bool,
    /// UDP port where this end waits for the server's call, and the following ones if several
    /// files come at once; 0: any
    #[arg(long, default_value_t = 0, value_parser = whole(0..=u16::MAX))]
    sap_port: u16,
    /// Open the SAP connection to the server, one for all files, since it cannot call this end
    #[arg(long, conflicts_with = "sap_port")]
    client_opens: bool,
    /// Damage to repair: ask for it again, precisely
    #[arg(long, value_enum, default_value = "none")]
    repair: RepairName,
    /// Write what is known of the damage beside each file, as FILE.damage.json
    #[arg(long)]
    metadata: bool,
    /// Number of files at once
    #[arg(long, default_value_t = 6, value_name = "NUMBER", value_parser = whole(1..=AT_ONCE))]
    parallel: usize,
    /// Print a report of each file as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    sap: SapTransport,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum RepairName {
    /// No damage
    None,
    /// Damage that the structure of a JPEG does not bear
    Intolerable,
    /// All damage that is known
    All,
}

pub(crate) fn run(args: &Args) -> Result {
    if args.output.is_some() && args.urls.len() > 1 {
        return Err(CliError::usage("--output names one file: give one address"));
    }
    args.check_options()?;
    args.check_names()?;
    let is_stdout = args.output.as_deref().is_some_and(|path| path == Path::new("-"));
    if is_stdout && (args.json || args.metadata) {
        let message = "the standard output holds the file: --json and --metadata need another -o";
        return Err(CliError::usage(message));
    }
    let settings = args.settings()?;
    let bar = progress::spinner()?;
    block_on(async {
        let mut signals = Signals::take_over()?;
        let mut fetches = JoinSet::new();
        let mut waiting = args.urls.iter();
        let fetcher = Arc::new(Fetcher::new(settings));
        let mut failure = None;
        loop {
            while fetches.len() < args.parallel
                && let Some(url) = waiting.next()
            {
                fetches.spawn(fetch(
                    Arc::clone(&fetcher),
                    url.clone(),
                    args.target(url),
                    args.repair(),
                    bar.clone(),
                ));
            }
            let outcome = tokio::select! {
                outcome = fetches.join_next() => outcome,
                // Tasks that end drop the files that they have begun.
                signal = signals.next() => {
                    fetches.shutdown().await;
                    return Ok(Completion::Program(128 + signal));
                }
            };
            let Some(outcome) = outcome else { break };
            match outcome.map_err(CliError::from).and_then(|outcome| outcome) {
                Ok(outcome) => bar.suspend(|| args.tell(&outcome))?,
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        bar.finish_and_clear();
        failure.map_or(Ok(Completion::Success), Err)
    })
}

impl Args {
    /// Refuses options of SAP where nothing is asked for over it.
    fn check_options(&self) -> Result<()> {
        let is_repaired = !matches!(self.repair, RepairName::None);
        let useless = [
            ("--sap-port", self.sap_port > 0),
            ("--client-opens", self.client_opens),
            ("--repair", is_repaired),
        ];
        let useless = useless.into_iter().find(|(_, is_given)| *is_given && self.is_over_tcp());
        if let Some((name, _)) = useless {
            let message =
                format!("{name} is of use over SAP alone: add --approx TYPES or --force-precise");
            return Err(CliError::usage(message));
        }
        if is_repaired && self.force_precise {
            let message = "--repair: what --force-precise brings is not damaged";
            return Err(CliError::usage(message));
        }
        if (1..1_024).contains(&self.sap_port) {
            let message = format!(
                "--sap-port {}: servers call the ports 1024 to 65535 (0: any)",
                self.sap_port
            );
            return Err(CliError::usage(message));
        }
        let ports = self.urls.len().min(self.parallel) - 1;
        if self.sap_port > 0 && usize::from(self.sap_port) + ports > usize::from(u16::MAX) {
            let last = usize::from(u16::MAX) - ports;
            let message = format!(
                "--sap-port {}: each of {} files at once needs a port of its own, so that the \
                 first is {last} at most; or give a smaller --parallel",
                self.sap_port,
                ports + 1
            );
            return Err(CliError::usage(message));
        }
        Ok(())
    }

    fn is_over_tcp(&self) -> bool {
        self.approx.is_none() && !self.force_precise
    }

    /// Checks that no two files have the same name.
    fn check_names(&self) -> Result<()> {
        let mut names = std::collections::BTreeMap::new();
        for url in &self.urls {
            let name = self.target(url);
            if let Some(other) = names.insert(name.clone(), url) {
                let name = name.display();
                let message = format!("{other} and {url} would both be written to {name}");
                return Err(CliError::usage(message));
            }
        }
        Ok(())
    }

    fn settings(&self) -> Result<FetcherSettings> {
        let way = match (self.is_over_tcp(), self.client_opens) {
            (true, _) => Way::Tcp,
            (false, true) => Way::ClientOpens,
            (false, false) => Way::ServerCalls(self.sap_port),
        };
        let (types, is_precise) = (self.approx.clone(), self.force_precise);
        Ok(FetcherSettings { options: self.sap.options()?, types, is_precise, way })
    }

    fn repair(&self) -> Repair {
        match self.repair {
            RepairName::None => Repair::None,
            RepairName::Intolerable => Repair::Intolerable,
            RepairName::All => Repair::All,
        }
    }

    fn target(&self, url: &Uri) -> PathBuf {
        self.output.clone().unwrap_or_else(|| PathBuf::from(windfall_web::file_name(url)))
    }

    fn tell(&self, outcome: &FetchedFile) -> Result<()> {
        let report = outcome.to_json();
        if self.metadata {
            let beside = format!("{}.damage.json", outcome.file);
            let text = json::line(json::GET, report.clone());
            let written = std::fs::write(&beside, text);
            written.map_err(|error| cannot_write(Path::new(&beside), &error))?;
        }
        if self.output.as_deref() == Some(Path::new("-")) {
            return Ok(());
        }
        let line = if self.json { json::line(json::GET, report) } else { outcome.to_text() };
        Ok(std::io::stdout().write_all(line.as_bytes())?)
    }
}

async fn fetch(
    fetcher: Arc<Fetcher>,
    url: Uri,
    target: PathBuf,
    repair: Repair,
    bar: ProgressBar,
) -> Result<FetchedFile> {
    let began = Instant::now();
    let (headers, counter) = (HeaderMap::new(), Arc::new(AtomicU64::new(0)));
    let named = |error: CliError| error.of(&url);
    let get = fetcher.follow(&url, &headers, &counter);
    let fetched = watched(get, &counter, &url, &bar).await;
    let (found, mut fetched) = fetched.map_err(|error| named(error.into()))?;
    let again = fetcher.mend(repair, &found, &headers, &mut fetched).await;
    let repaired = again.map_err(|error| named(error.into()))?;
    let damage = fetched.body.damage();
    let write = write((&*fetcher, &found, &headers), &mut fetched, &target, &counter);
    let bytes = watched(write, &counter, &url, &bar).await.map_err(named)?;
    let repaired = repaired + fetched.body.repaired();
    let (media_type, fallback) = (fetched.media_type(), fetched.fallback);
    let (seconds, file) = (began.elapsed().as_secs_f64(), target.display().to_string());
    Ok(FetchedFile { file, bytes, seconds, media_type, damage, repaired, fallback, url, found })
}

/// Waits for a future, and shows meanwhile how much has arrived.
async fn watched<T>(
    future: impl Future<Output = T>,
    counter: &AtomicU64,
    url: &Uri,
    bar: &ProgressBar,
) -> T {
    let mut future = std::pin::pin!(future);
    loop {
        match tokio::time::timeout(TICK, &mut future).await {
            Ok(done) => return done,
            Err(_) => {
                bar.set_message(format!("{url}: {} bytes", counter.load(Ordering::Relaxed)));
                bar.tick();
            }
        }
    }
}

/// Writes a body from an address as it comes; returns its length.
async fn write(
    (fetcher, url, headers): (&Fetcher, &Uri, &HeaderMap),
    fetched: &mut Fetched,
    target: &Path,
    counter: &AtomicU64,
) -> Result<u64> {
    let cannot = |error: std::io::Error| cannot_write(target, &error);
    let is_stdout = target == Path::new("-");
    let mut file = (!is_stdout).then(|| Replacement::begin(target)).transpose().map_err(cannot)?;
    let mut length = 0;
    while let Some(bytes) = fetcher.next(url, headers, fetched).await? {
        length += bytes.len() as u64;
        counter.store(length, Ordering::Relaxed);
        match &mut file {
            Some(file) => file.write_all(&bytes).map_err(cannot)?,
            None => std::io::stdout().write_all(&bytes)?,
        }
    }
    file.map_or(Ok(()), Replacement::place).map_err(cannot)?;
    Ok(length)
}
