//! `windfall run`: a real program over the link.

use core::cell::Cell;
use core::num::NonZeroU16;
use std::ffi::OsString;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windfall_live::{
    Ending, LivePlan, NatGateway, Program, ProgramOutput, Signals, Stations, session,
};
use windfall_network::Network;
use windfall_scenario::{FAR, NEAR, Topology, engine_beside};

use crate::evidence;
use crate::exit::{Outcome, Result, Trouble};
use crate::options::LinkOptions;
use crate::record::RecordOptions;
use crate::usage::{shell_quoted, whole};
use crate::watch::{LiveOptions, Watcher, epoch};

/// Run a program over the link, in a network namespace of its own
///
/// The program runs at the near end, with your own identity, files and environment; programs given
/// by --far run at the far end. The variable WINDFALL_BASE tells where the far end is. Without a
/// program, your shell.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The program and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    /// Run a command line at the far end; it starts first, and is told to end after COMMAND
    #[arg(long, value_name = "COMMAND")]
    far: Vec<OsString>,
    /// Wait until something listens on this port at the far end before COMMAND starts, 30 s at most
    /// [default: until something listens there, 1 s at most]
    #[arg(long, value_name = "PORT", requires = "far",
          value_parser = whole(NonZeroU16::MIN..=NonZeroU16::MAX))]
    wait_port: Vec<NonZeroU16>,
    /// Write what programs at the far end print to this file, - for the standard output [default:
    /// the standard error, each line behind "far: "]
    #[arg(long, value_name = "FILE", requires = "far")]
    far_output: Option<PathBuf>,
    /// Keep programs at the far end that fail out of the exit code
    #[arg(long, requires = "far")]
    far_may_fail: bool,
    /// Begin with the link of this scenario, which has two stations called near and far
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Let programs reach the host's network and resolver by way of the far end (needs slirp4netns;
    /// IPv4 only)
    #[arg(long)]
    net: bool,
    /// With --net, let them reach what listens on the host's own loopback, as 10.0.2.2
    #[arg(long, requires = "net")]
    net_host_loopback: bool,
    /// Under sudo, run programs as root instead of as the user who called it
    #[arg(long)]
    as_root: bool,
    #[command(flatten)]
    link: LinkOptions,
    #[command(flatten)]
    live: LiveOptions,
    #[command(flatten)]
    record: RecordOptions,
}

pub(crate) fn run(args: &Args) -> Result {
    let loaded = args.link.load(args.scenario.as_deref(), args.live.flags())?;
    if args.link.generate {
        let text = format!("{}{}", args.beside_the_file(), loaded.generated()?);
        std::io::stdout().write_all(text.as_bytes())?;
        return Ok(Outcome::Done);
    }
    let (topology, seed) = (loaded.topology()?, loaded.seed());
    let mut plan = LivePlan::new(&topology);
    let station = |name: &str| {
        plan.station(name).ok_or_else(|| {
            Trouble::of_arguments(format!(
                "the scenario has no station \"{name}\": `run` needs {NEAR} and {FAR}; \
                 for other stations use `windfall up`"
            ))
        })
    };
    let (near, far) = (station(NEAR)?, station(FAR)?);
    plan.as_root = args.as_root;
    if args.net {
        plan.add_nat(near, far, v4_address(&topology, far)?);
    }
    let command = command(args, near, environment(&topology, far));
    plan.awaited = args.wait_port.iter().map(|port| (far, port.get())).collect();
    let far_output = args.far_output()?;
    let others = args.programs(far, &environment(&topology, near), far_output.as_ref());
    let quiet = command.interactive || args.live.quiet;
    let mut network = Network::build(&topology.with_simulated_hosts(), seed)?;
    let recorder = args.record.recorder(&topology, &mut network, seed, epoch())?;
    let mut watcher = Watcher::new(recorder, quiet, &topology.flows);
    let (outcome, network) = Signals::take_over()
        .and_then(|signals| {
            let stations = Stations::build(plan, Some(command), others)?;
            far_output.iter().for_each(FarOutput::begin);
            let _gateway = args
                .net
                .then(|| NatGateway::open(&stations, far, args.net_host_loopback))
                .transpose()?;
            session::run(stations, &signals, None, Ending::WithCommand, network, &mut watcher)
        })
        .map_err(|error| Trouble::of_run(&error))?;
    let summary = watcher.finish(&topology, seed, &outcome, &network);
    args.live.publish(&summary, args.record.json);
    if args.live.spares_stderr() && !args.far_may_fail {
        summary.failed.iter().for_each(|failed| eprintln!("windfall: {failed}"));
    }
    let beside = summary.failed.first().filter(|_| !args.far_may_fail).map(|it| it.status);
    Ok(Outcome::Command(match outcome.status {
        0 => beside.unwrap_or(0),
        status => status,
    }))
}

/// The file for what programs at the far end print. What it held before stays until the stations
/// stand: a run that cannot start takes nothing away.
#[derive(Debug)]
struct FarOutput {
    path: PathBuf,
    file: Arc<File>,
    /// Whether the file is to vanish with a run that does not begin.
    is_new: Cell<bool>,
}

impl FarOutput {
    fn open(path: &Path) -> std::io::Result<Self> {
        let (file, is_new) = evidence::open(path)?;
        Ok(Self { path: path.to_owned(), file: Arc::new(file), is_new: Cell::new(is_new) })
    }

    /// The run begins, and the file is its own.
    fn begin(&self) {
        self.is_new.set(false);
        let _ = evidence::empty(&self.file);
    }
}

impl Drop for FarOutput {
    fn drop(&mut self) {
        if self.is_new.get() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Args {
    /// The file for what programs at the far end print, if they have one.
    fn far_output(&self) -> Result<Option<FarOutput>> {
        let path = self.far_output.as_deref().filter(|path| *path != Path::new("-"));
        let open = |path: &Path| {
            FarOutput::open(path).map_err(|error| {
                Trouble::of_arguments(format!("cannot write {}: {error}", path.display()))
            })
        };
        path.map(open).transpose()
    }

    /// The programs at the far end.
    fn programs(
        &self,
        far: usize,
        environment: &[(OsString, OsString)],
        file: Option<&FarOutput>,
    ) -> Vec<Program> {
        let output = match (file, &self.far_output) {
            (Some(output), _) => ProgramOutput::File(Arc::clone(&output.file)),
            (None, Some(_)) => ProgramOutput::Inherit,
            (None, None) => ProgramOutput::Prefixed(format!("{FAR}: ")),
        };
        let shell = |line: &OsString| Program {
            station: far,
            arguments: vec!["/bin/sh".into(), "-c".into(), line.clone()],
            environment: environment.to_vec(),
            interactive: false,
            output: output.clone(),
        };
        self.far.iter().map(shell).collect()
    }

    /// The options that belong to programs and not to a scenario, as a comment to put before it.
    fn beside_the_file(&self) -> String {
        let mut words = Vec::new();
        let quoted = |text: &str| shell_quoted(text);
        words.extend(self.far.iter().map(|it| format!("--far {}", quoted(&it.to_string_lossy()))));
        words.extend(self.wait_port.iter().map(|port| format!("--wait-port {port}")));
        let output = self.far_output.iter().map(|path| quoted(&path.to_string_lossy()));
        words.extend(output.map(|path| format!("--far-output {path}")));
        words.extend(self.far_may_fail.then(|| "--far-may-fail".to_owned()));
        for (name, is_given) in [
            ("--net", self.net),
            ("--net-host-loopback", self.net_host_loopback),
            ("--as-root", self.as_root),
        ] {
            words.extend(is_given.then(|| name.to_owned()));
        }
        if !self.command.is_empty() {
            let command = self.command.iter().map(|it| quoted(&it.to_string_lossy()));
            words.push(format!("-- {}", command.collect::<Vec<_>>().join(" ")));
        }
        match words.is_empty() {
            true => String::new(),
            // A comment is one line.
            false => format!("# beside this file: {}\n", words.join(" ").replace('\n', " ")),
        }
    }
}

/// The address by which others reach a station.
fn v4_address(topology: &Topology, station: usize) -> Result<IpAddr> {
    let interfaces = &topology.stations[station].interfaces;
    let addresses = interfaces.iter().flat_map(|interface| &interface.addresses);
    let mut addresses = addresses.map(|prefix| prefix.address);
    addresses.find(IpAddr::is_ipv4).ok_or_else(|| {
        Trouble::of_arguments(format!(
            "--net needs an IPv4 address at {FAR}: the scenario gives it none"
        ))
    })
}

/// What programs are told of where they are: the address of the other end, and of the TCP engine
/// that may stand there.
fn environment(topology: &Topology, other: usize) -> Vec<(OsString, OsString)> {
    let mut addresses = topology.stations[other].interfaces.iter().flat_map(|i| &i.addresses);
    let base = addresses.next().map(|prefix| prefix.address);
    let text = |address: IpAddr| OsString::from(address.to_string());
    let mut variables = vec![("WINDFALL_BASE".into(), base.map(text).unwrap_or_default())];
    let engine = base.and_then(engine_beside);
    variables.extend(engine.map(|engine| ("WINDFALL_ENGINE".into(), text(engine))));
    variables
}

/// The program at the near end: the one that was given, or a shell.
fn command(args: &Args, near: usize, mut environment: Vec<(OsString, OsString)>) -> Program {
    if !args.command.is_empty() {
        let arguments = args.command.clone();
        let output = ProgramOutput::Inherit;
        return Program { station: near, arguments, environment, interactive: false, output };
    }
    // Shells that read files of their own at the start would put another prompt over this one, so
    // bash gets it afterwards.
    let prompt = r#"PS1="[windfall] $PS1"; unset PROMPT_COMMAND"#;
    environment.push(("PROMPT_COMMAND".into(), prompt.into()));
    environment.push(("PS1".into(), "[windfall] $ ".into()));
    let shell = std::env::var_os("SHELL").filter(|shell| !shell.is_empty());
    Program {
        station: near,
        arguments: vec![shell.unwrap_or_else(|| "/bin/sh".into())],
        environment,
        interactive: std::io::stdin().is_terminal(),
        output: ProgramOutput::Inherit,
    }
}

#[cfg(test)]
mod tests;
