//! `windfall run`: a real program over the link.

use core::num::NonZeroU16;
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windfall_live::{
    ControlSocket, NatGateway, Program, ProgramOutput, RunEnd, Signals, Stations, control_socket,
    neighbour_variables, session,
};
use windfall_network::Network;
use windfall_scenario::{FAR, NEAR, Scenario, Topology};
use windfall_system::files::PendingFile;
use windfall_tune::AppliedSettings;

use crate::exit::{CliError, Completion, Result, tell};
use crate::input::cannot_write;
use crate::options::{LinkOptions, Loaded};
use crate::record::RecordOptions;
use crate::relay::PortOptions;
use crate::usage::{shell_quoted, whole};
use crate::watch::{LiveOptions, Watcher, epoch};
use crate::{apply, control, relay};

/// Run a program over an emulated link
///
/// The program runs at the near end of the link, in a network namespace, with your identity, files
/// and environment. Programs given by --far run at the far end. The variable WINDFALL_BASE holds
/// the address of the remote end. Without a program, your shell runs.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Program and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    /// Run a shell command at the far end. It starts before COMMAND, and gets SIGTERM after COMMAND
    /// has ended
    #[arg(long, value_name = "COMMAND")]
    far: Vec<OsString>,
    /// Start COMMAND after something listens on this port at the far end. Waits at most 30 s
    /// [default: any port, at most 1 s]
    #[arg(long, value_name = "PORT", requires = "far",
          value_parser = whole(NonZeroU16::MIN..=NonZeroU16::MAX))]
    wait_port: Vec<NonZeroU16>,
    /// Write the output of programs at the far end to this file. - is the standard output [default:
    /// the standard error, each line prefixed by "far: "]
    #[arg(long, value_name = "FILE", requires = "far")]
    far_output: Option<PathBuf>,
    /// Ignore failures of programs at the far end in the exit code
    #[arg(long, requires = "far")]
    far_may_fail: bool,
    /// Name of the run, for `windfall set` and `status` [default: run- and the process ID]
    #[arg(long, value_name = "NAME", value_parser = control::run_name)]
    name: Option<String>,
    /// Time zero of changes: the start of COMMAND, after its waits, or the start of the link
    #[arg(long, value_enum, default_value = "command", value_name = "START")]
    #[arg(help_heading = "Changes")]
    schedule_from: ScheduleStart,
    /// Start from this scenario file. It needs two stations, near and far
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Give programs the network and the resolver of the host, through the far end. IPv4 only,
    /// needs slirp4netns
    #[arg(long)]
    net: bool,
    /// With --net, give programs the servers on the loopback of the host, at 10.0.2.2
    #[arg(long, requires = "net")]
    net_host_loopback: bool,
    /// Under sudo, run programs as root instead of as the calling user
    #[arg(long)]
    as_root: bool,
    #[command(flatten)]
    link: LinkOptions,
    #[command(flatten)]
    live: LiveOptions,
    #[command(flatten)]
    ports: PortOptions,
    #[command(flatten)]
    record: RecordOptions,
}

/// The time from which a schedule counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ScheduleStart {
    /// The start of COMMAND
    Command,
    /// The start of the link
    Link,
}

pub(crate) fn run(args: &Args) -> Result {
    let (loaded, applied) = args.load()?;
    if args.link.generate {
        return args.print(&loaded);
    }
    args.check_files(&loaded)?;
    let topology = loaded.topology()?;
    let seed = loaded.seed();
    let mut plan = apply::plan(&applied, &topology, args.live.quiet || args.record.json);
    let station = |name: &str| {
        plan.station(name).ok_or_else(|| {
            CliError::usage(format!(
                "the scenario has no station \"{name}\": `run` needs {NEAR} and {FAR}; \
                 for other stations use `windfall up`"
            ))
        })
    };
    let near = station(NEAR)?;
    let far = station(FAR)?;
    plan.as_root = args.as_root;
    if args.net {
        plan.add_nat(near, far, v4_address(&topology, far)?);
    }
    args.ports.add_to(&mut plan, Some(FAR))?;
    let command = command(args, near, environment(&topology, far));
    plan.awaited = args.wait_port.iter().map(|port| (far, port.get())).collect();
    let far_output = args.far_output()?;
    let others = args.programs(far, &environment(&topology, near), far_output.as_ref());
    let quiet = command.interactive || args.live.quiet;
    let mut network = Network::build(&args.built(&loaded)?.with_simulated_hosts(), seed)?;
    let recorder = args.record.recorder(&topology, &mut network, seed, epoch())?;
    let name = args.name.clone().unwrap_or_else(control_socket::default_name);
    let mut control = control::of_run(&name, "run", &loaded, &topology)?;
    if args.schedule_from == ScheduleStart::Command {
        control.hold_schedule();
    }
    let mut watcher =
        Watcher::new(recorder, quiet, &topology.flows, (control, args.live.late_limit()));
    let network = args.live.with_faults(network, &topology, seed)?;
    let ports = args.ports.open(&topology, &mut plan)?;
    ControlSocket::plan(&name, &mut plan);
    let signals = Signals::take_over()?;
    let mut stations = Stations::build(plan, Some(command), others)?;
    // A file that cannot be emptied is written over.
    let _ = far_output.as_ref().map(PendingFile::begin);
    let gateway = args.net.then(|| NatGateway::open(&mut stations, args.net_host_loopback));
    let gateway = gateway.transpose()?;
    // The stations' processes must not hold it open when this one is gone. A run that has no name
    // of its own does without it where there is no place for it.
    let control_socket = match ControlSocket::open(&name, &mut stations) {
        Err(error) if args.name.is_some() => return Err(error.into()),
        opened => opened.ok(),
    };
    let helpers = relay::serve(ports, &mut stations)?;
    let socket = control_socket.as_ref();
    let ending = RunEnd::WithCommand;
    let (outcome, network) =
        session::run(stations, &signals, socket, ending, network, &mut watcher)?;
    let carried = relay::totals(&helpers);
    let lost = helpers.end();
    drop((gateway, control_socket));
    let mut summary = applied.noted(watcher.finish(&topology, seed, &outcome, &network));
    summary.ports = carried;
    let published = args.live.publish(&summary, args.record.json);
    if args.live.spares_stderr() && !args.far_may_fail {
        summary.failed.iter().for_each(tell);
    }
    if outcome.status == 0 {
        published?;
        args.live.check_outcome(&outcome, lost)?;
        args.record.check_acted(&summary)?;
    } else if let Err(error) = &published {
        tell(error);
    }
    let beside = summary.failed.first().filter(|_| !args.far_may_fail).map(|it| it.status);
    Ok(Completion::Program(match outcome.status {
        0 => beside.unwrap_or(0),
        status => status,
    }))
}

impl Args {
    /// Prints the scenario, with the options that no scenario has as a comment.
    fn print(&self, loaded: &Loaded) -> Result {
        let text = format!("{}{}", self.overrides_of_file(), loaded.generated()?);
        std::io::stdout().write_all(text.as_bytes())?;
        Ok(Completion::Success)
    }

    /// The scenario as the options change it, and the settings of the kernels.
    fn load(&self) -> Result<(Loaded, AppliedSettings)> {
        let loaded = self.link.load(self.scenario.as_deref(), self.live.settings())?;
        self.live.apply.apply(loaded)
    }

    /// The network as it is built: without changes whose times count from a start to come.
    fn built(&self, loaded: &Loaded) -> Result<Topology> {
        match self.schedule_from {
            ScheduleStart::Link => loaded.topology(),
            ScheduleStart::Command => {
                let scenario = Scenario { changes: Vec::new(), ..loaded.scenario.clone() };
                loaded.varied(&scenario).topology()
            }
        }
    }

    /// Refuses a file with two uses.
    fn check_files(&self, loaded: &Loaded) -> Result<()> {
        let mut used = self.link.files(self.scenario.as_deref(), loaded)?;
        self.record.check(&mut used, &self.link)?;
        self.live.check_files(&mut used)?;
        let far = self.far_output.as_ref().filter(|path| *path != Path::new("-"));
        far.map_or(Ok(()), |path| used.write("--far-output", path)).map_err(CliError::usage)
    }

    /// The file for what programs at the far end print, if they have one.
    fn far_output(&self) -> Result<Option<PendingFile>> {
        let path = self.far_output.as_deref().filter(|path| *path != Path::new("-"));
        let Some(path) = path else { return Ok(None) };
        Ok(Some(PendingFile::open(path).map_err(|error| cannot_write(path, &error))?))
    }

    /// The programs at the far end.
    fn programs(
        &self,
        far: usize,
        environment: &[(OsString, OsString)],
        file: Option<&PendingFile>,
    ) -> Vec<Program> {
        let output = match (file, &self.far_output) {
            (Some(output), _) => ProgramOutput::File(Arc::clone(output.file())),
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
    fn overrides_of_file(&self) -> String {
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
        if words.is_empty() {
            return String::new();
        }
        // A comment is one line.
        format!("# beside this file: {}\n", words.join(" ").replace('\n', " "))
    }
}

/// The address by which others reach a station.
fn v4_address(topology: &Topology, station: usize) -> Result<IpAddr> {
    let interfaces = &topology.stations[station].interfaces;
    let addresses = interfaces.iter().flat_map(|interface| &interface.addresses);
    let mut addresses = addresses.map(|prefix| prefix.address);
    addresses.find(IpAddr::is_ipv4).ok_or_else(|| {
        CliError::usage(format!("--net needs an IPv4 address at {FAR}: the scenario gives it none"))
    })
}

/// Returns the environment of programs, which find there the address of the other station.
fn environment(topology: &Topology, other: usize) -> Vec<(OsString, OsString)> {
    let mut addresses = topology.stations[other].interfaces.iter().flat_map(|i| &i.addresses);
    neighbour_variables(addresses.next().map(|prefix| prefix.address))
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
