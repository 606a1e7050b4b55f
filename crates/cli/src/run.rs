//! `windfall run`: a real program over the link.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::net::IpAddr;
use std::path::PathBuf;

use windfall_live::{Ending, Plan, Program, Signals, Stage, WayOut, session};
use windfall_network::Network;
use windfall_scenario::{FAR, NEAR, Topology, engine_beside};

use crate::exit::{Outcome, Result, Trouble};
use crate::options::LinkOptions;
use crate::record::RecordOptions;
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
    /// Begin with the link of this scenario, which has two stations called near and far
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Let programs reach the host's network and resolver by way of the far end; the host itself is
    /// 10.0.2.2 (needs slirp4netns; IPv4 only)
    #[arg(long)]
    net: bool,
    #[command(flatten)]
    link: LinkOptions,
    #[command(flatten)]
    live: LiveOptions,
    #[command(flatten)]
    record: RecordOptions,
}

pub(crate) fn run(args: &Args) -> Result {
    let loaded = args.link.load(args.scenario.as_deref(), None)?;
    if args.link.generate {
        print!("{}", loaded.scenario.to_toml());
        return Ok(Outcome::Done);
    }
    let (topology, seed) = (loaded.topology()?, loaded.seed());
    let mut plan = Plan::new(&topology, &args.live.parameters()?);
    let station = |name: &str| {
        plan.station(name).ok_or_else(|| {
            Trouble::new(format!(
                "the scenario has no station \"{name}\": `run` needs {NEAR} and {FAR}; \
                 for other stations use `windfall up`"
            ))
        })
    };
    let (near, far) = (station(NEAR)?, station(FAR)?);
    if args.net {
        plan.lead_outside(near, far, v4_address(&topology, far)?);
    }
    let command = command(args, near, environment(&topology, far));
    let there = environment(&topology, near);
    let shell = |line: &OsString| Program {
        station: far,
        arguments: vec!["/bin/sh".into(), "-c".into(), line.clone()],
        environment: there.clone(),
        interactive: false,
    };
    let others = args.far.iter().map(shell).collect();
    let quiet = command.interactive || args.live.quiet;
    let mut network = Network::build(&topology.with_simulated_hosts(), seed)?;
    let recorder = args.record.recorder(&topology, &mut network, seed, epoch())?;
    let mut watcher = Watcher::new(recorder, quiet, &topology.flows);
    let (outcome, network) = Signals::take_over()
        .and_then(|signals| {
            let stage = Stage::build(plan, Some(command), others)?;
            let _way = args.net.then(|| WayOut::open(&stage, far)).transpose()?;
            session::run(stage, &signals, None, Ending::WithCommand, network, &mut watcher)
        })
        .map_err(|error| Trouble::of_run(&error))?;
    let status = outcome.status;
    let summary = watcher.finish(&topology, seed, &outcome, &network)?;
    args.live.publish(&summary, args.record.json)?;
    Ok(Outcome::Command(status))
}

/// The address by which others reach a station.
fn v4_address(topology: &Topology, station: usize) -> Result<IpAddr> {
    let interfaces = &topology.stations[station].interfaces;
    let addresses = interfaces.iter().flat_map(|interface| &interface.addresses);
    let mut addresses = addresses.map(|prefix| prefix.address);
    addresses.find(IpAddr::is_ipv4).ok_or_else(|| {
        Trouble::new(format!("--net needs an IPv4 address at {FAR}: the scenario gives it none"))
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
        return Program { station: near, arguments, environment, interactive: false };
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
    }
}
