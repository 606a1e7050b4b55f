//! `windfall get`: files over HTTP, their bodies over SAP where that is asked for.
#![expect(clippy::disallowed_methods, reason = "transfers are timed")]

mod transfer;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tokio::task::JoinSet;
use windfall_system::standard_output_was_closed;
use windfall_web::{
    AUTHORIZATION, FetchedFile, Fetcher, FetcherSettings, HeaderMap, HeaderName, HeaderValue,
    Repair, SapDirection, TypeList, Uri,
};

use self::transfer::Job;
use crate::exchange::SapTransport;
use crate::exit::{CliError, Completion, Result};
use crate::input::{self, cannot_write};
use crate::times::with_unit;
use crate::usage::whole;
use crate::web::{MemoryOptions, Signals, block_on};
use crate::{json, progress};

/// The memory that an address of a list takes: its parts and the name of its file, besides the
/// bytes, and the copies of its bytes in them.
const ADDRESS: usize = 400;
const COPIES: usize = 4;
/// The most files at the same time.
const AT_ONCE: usize = 64;

/// Download files over HTTP, damaged if you allow it
///
/// Without --approx or --force-precise, everything arrives undamaged over TCP.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Addresses of the files, such as http://HOST:PORT/PATH
    #[arg(required_unless_present = "input_file", value_parser = windfall_web::parse_address)]
    urls: Vec<Uri>,
    /// File with further addresses, one per line. - is the standard input
    #[arg(short, long, value_name = "FILE")]
    input_file: Option<PathBuf>,
    /// File to write. - is the standard output [default: the name in the address]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Media types that may arrive damaged, such as image/jpeg,audio/*
    #[arg(long, value_name = "TYPES")]
    #[arg(help_heading = "SAP")]
    approx: Option<TypeList>,
    /// Receive files undamaged over SAP. Applies to all types unless --approx names some
    #[arg(long)]
    #[arg(help_heading = "SAP")]
    force_precise: bool,
    /// UDP port at which the server connects to this end. Parallel files use the next ports. 0 is
    /// any port
    #[arg(long, default_value_t = 0, value_parser = whole(0..=u16::MAX), hide_short_help = true)]
    #[arg(help_heading = "SAP")]
    sap_port: u16,
    /// Open one SAP connection to the server, for all files [default for several files]
    #[arg(long, conflicts_with = "sap_port")]
    #[arg(help_heading = "SAP")]
    client_opens: bool,
    /// Let the server open a SAP connection for each file [default for one file]
    #[arg(long, conflicts_with = "client_opens", hide_short_help = true)]
    #[arg(help_heading = "SAP")]
    server_opens: bool,
    /// Damage to repair by requesting the bytes again [default: intolerable]
    #[arg(long, value_enum)]
    #[arg(help_heading = "SAP")]
    repair: Option<RepairName>,
    /// Write a report of the damage beside each file, as FILE.damage.json
    #[arg(long)]
    #[arg(help_heading = "SAP")]
    metadata: bool,
    /// Continue partial files from where they end
    #[arg(short = 'C', long = "continue")]
    #[arg(help_heading = "Requests")]
    continues: bool,
    /// Retry this many times after temporary failures
    ///
    /// The pauses before them are 1 s, 2 s, 4 s and so on.
    #[arg(long, default_value_t = 0, value_name = "NUMBER", value_parser = whole(0..=1_000_u32))]
    #[arg(help_heading = "Requests")]
    retries: u32,
    /// Give up a file if no byte arrives for this time, such as 10s [default: 60 s for the head of
    /// a reply, 30 s for its body]
    #[arg(long, value_name = "TIME", hide_short_help = true, value_parser = with_unit)]
    #[arg(help_heading = "Requests")]
    timeout: Option<windfall_base::Duration>,
    /// Give up a file after this time, such as 5min [default: never]
    #[arg(long, value_name = "TIME", hide_short_help = true, value_parser = with_unit)]
    #[arg(help_heading = "Requests")]
    max_time: Option<windfall_base::Duration>,
    /// Header of each request, such as "Accept-Language: de"
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = header)]
    #[arg(help_heading = "Requests")]
    headers: Vec<(HeaderName, HeaderValue)>,
    /// User and password for the server
    ///
    /// Others on the path can read them. Without a password, the variable WINDFALL_PASSWORD
    /// supplies it.
    #[arg(short, long, value_name = "NAME:PASSWORD")]
    #[arg(help_heading = "Requests")]
    user: Option<String>,
    /// Number of parallel downloads
    #[arg(long, default_value_t = 6, value_name = "NUMBER", hide_short_help = true,
          value_parser = whole(1..=AT_ONCE))]
    #[arg(help_heading = "Requests")]
    parallel: usize,
    /// Print a report of each file as JSON
    #[arg(long)]
    json: bool,
    /// Print neither reports nor progress, only errors
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
    #[command(flatten)]
    memory: MemoryOptions,
    #[command(flatten)]
    sap: SapTransport,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum RepairName {
    /// No damage
    None,
    /// Damage that breaks the structure of a JPEG
    Intolerable,
    /// All known damage
    All,
}

pub(crate) fn run(args: &Args) -> Result {
    let urls = args.addresses()?;
    if args.output.is_some() && urls.len() > 1 {
        return Err(CliError::usage("--output names one file: give one address"));
    }
    args.check_options(urls.len())?;
    let is_stdout = args.output.as_deref().is_some_and(|path| path == Path::new("-"));
    if is_stdout && (args.json || args.metadata) {
        let message = "the standard output holds the file: --json and --metadata need another -o";
        return Err(CliError::usage(message));
    }
    if is_stdout && standard_output_was_closed() {
        return Err(CliError::new("cannot write the standard output: it is closed"));
    }
    if is_stdout && (args.continues || args.retries > 0) {
        let message = "-o -: what was written cannot be taken back: leave out -C and --retries";
        return Err(CliError::usage(message));
    }
    let settings = args.settings(urls.len())?;
    let headers = args.request_headers()?;
    let bar = if args.quiet { indicatif::ProgressBar::hidden() } else { progress::spinner()? };
    block_on(async {
        let mut signals = Signals::take_over()?;
        let mut fetches = JoinSet::new();
        let mut waiting = urls.iter().zip(args.targets(&urls));
        let fetcher = Arc::new(Fetcher::new(settings));
        let mut failure = None;
        loop {
            while fetches.len() < args.parallel
                && let Some((url, target)) = waiting.next()
            {
                let job = args.job(url, target, &headers);
                fetches.spawn(transfer::fetch(Arc::clone(&fetcher), job, bar.clone()));
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
    fn check_options(&self, files: usize) -> Result<()> {
        let is_repaired = !matches!(self.repair, None | Some(RepairName::None));
        let useless = [
            ("--sap-port", self.sap_port > 0),
            ("--client-opens", self.client_opens),
            ("--server-opens", self.server_opens),
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
        let ports = files.min(self.parallel).saturating_sub(1);
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

    /// Returns the names of the files, no two of which are the same: another one of a name gets a
    /// number behind it.
    fn targets(&self, urls: &[Uri]) -> Vec<PathBuf> {
        // The names, and the numbers that were given to further files of each.
        let mut taken = BTreeSet::new();
        let mut given = BTreeMap::new();
        let names = urls.iter().map(|url| match &self.output {
            Some(output) => output.clone(),
            None => PathBuf::from(windfall_web::file_name(url)),
        });
        let distinct = names.map(|name| {
            if taken.insert(name.clone()) {
                return name;
            }
            let last = given.entry(name.clone()).or_insert(0_u32);
            loop {
                *last += 1;
                let mut numbered = name.clone().into_os_string();
                numbered.push(format!(".{last}"));
                let numbered = PathBuf::from(numbered);
                if taken.insert(numbered.clone()) {
                    return numbered;
                }
            }
        });
        distinct.collect()
    }

    /// The addresses of the command line and of the file.
    fn addresses(&self) -> Result<Vec<Uri>> {
        let mut urls = self.urls.clone();
        let Some(path) = &self.input_file else { return Ok(urls) };
        let mut budget = input::budget()?;
        let text = input::read_list(path, "list of addresses", &mut budget)?;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            budget
                .take(ADDRESS + COPIES * line.len())
                .map_err(|error| input::cannot_read(path, &error))?;
            let url = windfall_web::parse_address(line).map_err(|error| {
                CliError::usage(format!("{}, line {}: {error}", path.display(), number + 1))
            })?;
            urls.push(url);
        }
        if urls.is_empty() {
            let message = format!("{} has no addresses: write one per line", path.display());
            return Err(CliError::usage(message));
        }
        Ok(urls)
    }

    /// The headers of each request.
    fn request_headers(&self) -> Result<HeaderMap> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            headers.append(name, value.clone());
        }
        if let Some(user) = &self.user {
            let mut user = user.clone();
            if !user.contains(':') {
                let password = std::env::var("WINDFALL_PASSWORD").map_err(|_| {
                    let message = "write NAME:PASSWORD, or set WINDFALL_PASSWORD";
                    CliError::usage(format!("--user {user} has no password: {message}"))
                })?;
                user = format!("{user}:{password}");
            }
            let value = format!("Basic {}", BASE64_STANDARD.encode(user));
            let mut value = HeaderValue::from_str(&value)?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        Ok(headers)
    }

    /// Returns the job of fetching an address.
    fn job(&self, url: &Uri, target: PathBuf, headers: &HeaderMap) -> Job {
        Job {
            url: url.clone(),
            target,
            headers: headers.clone(),
            repair: self.repair(),
            continues: self.continues,
            retries: self.retries,
            silence: self.timeout.map(Into::into),
            longest: self.max_time.map(Into::into),
        }
    }

    fn settings(&self, files: usize) -> Result<FetcherSettings> {
        // One connection spares several files a handshake and a slow start each.
        let is_called = self.server_opens || self.sap_port > 0 || self.sap.is_of_the_paper();
        let opens = self.client_opens || files > 1 && !is_called;
        let way = match (self.is_over_tcp(), opens) {
            (true, _) => SapDirection::Tcp,
            (false, true) => SapDirection::ClientOpens,
            (false, false) => SapDirection::ServerCalls(self.sap_port),
        };
        let types = self.approx.clone();
        let is_precise = self.force_precise;
        let options = self.sap.options()?;
        let memory = self.memory.share()?;
        Ok(FetcherSettings { options, types, is_precise, way, memory })
    }

    fn repair(&self) -> Repair {
        match self.repair {
            Some(RepairName::None) => Repair::None,
            None | Some(RepairName::Intolerable) => Repair::Intolerable,
            Some(RepairName::All) => Repair::All,
        }
    }

    fn tell(&self, outcome: &FetchedFile) -> Result<()> {
        let report = outcome.to_json();
        if self.metadata {
            let beside = format!("{}.damage.json", outcome.file);
            let text = json::line(json::GET, report.clone());
            let written = windfall_system::files::write(Path::new(&beside), text.as_bytes());
            written.map_err(|error| cannot_write(Path::new(&beside), &error))?;
        }
        if self.quiet || self.output.as_deref() == Some(Path::new("-")) {
            return Ok(());
        }
        let line = if self.json { json::line(json::GET, report) } else { outcome.to_text() };
        Ok(std::io::stdout().write_all(line.as_bytes())?)
    }
}

/// Reads a header of requests.
fn header(text: &str) -> std::result::Result<(HeaderName, HeaderValue), String> {
    let (name, value) = text.split_once(':').ok_or("write NAME: VALUE")?;
    let name: HeaderName = name.trim().parse().map_err(|error| format!("{name:?}: {error}"))?;
    let own = ["connection", "content-length", "transfer-encoding", "range", "if-range", "upgrade"];
    if own.contains(&name.as_str()) || name.as_str().starts_with("x-sap-") {
        return Err(format!("{name} is written by windfall itself"));
    }
    let value = value.trim().parse().map_err(|error| format!("the value of {name}: {error}"))?;
    Ok((name, value))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn as_many_files_of_one_name_as_a_list_may_have_are_numbered() {
        // Each was compared with all numbers before it, which is five thousand million paths.
        let files = 100_000;
        let program = Program::parse_from(["get", "http://localhost:1/x"]);
        let url = program.args.addresses().expect("addresses").remove(0);
        let targets = program.args.targets(&vec![url; files]);
        assert_eq!((targets.len(), targets[0].as_path()), (files, Path::new("x")));
        for number in [1, 2, files / 2, files - 1] {
            assert_eq!(targets[number], PathBuf::from(format!("x.{number}")));
        }
    }

    #[test]
    fn a_list_is_charged_for_what_is_held_of_it() {
        let folder = windfall_testkit::folder::Folder::new("get-list");
        let list = folder.path().join("list");
        let lines = (0..100_000).map(|number| format!("http://localhost:8080/{number:06}\n"));
        std::fs::write(&list, lines.collect::<String>()).expect("a list");
        let path = list.to_string_lossy();
        let program = Program::parse_from(["get", "-i", &path]);
        assert_eq!(program.args.addresses().expect("addresses").len(), 100_000);
        std::fs::write(&list, "http://localhost:8080/a\n".repeat(300_000)).expect("a list");
        let error = program.args.addresses().expect_err("too many").to_string();
        assert!(error.contains("more than the limit"), "{error}");
    }

    #[test]
    fn files_of_one_name_are_written_to_several() {
        let paths = ["a/x.jpg", "x.jpg.1", "b/x.jpg", "c/x.jpg", "x.jpg.1", "y.jpg", "", "d/"];
        let urls = paths.map(|path| format!("http://localhost:1/{path}"));
        let program = Program::parse_from(["get"].into_iter().chain(urls.iter().map(|it| &**it)));
        let targets = program.args.targets(&program.args.addresses().expect("addresses"));
        let names: Vec<_> = targets.iter().map(|it| it.display().to_string()).collect();
        let expected =
            ["x.jpg", "x.jpg.1", "x.jpg.2", "x.jpg.3", "x.jpg.1.1", "y.jpg", "index.html"];
        assert_eq!((&names[..7], &*names[7]), (&expected.map(str::to_owned)[..], "index.html.1"));
    }
}
