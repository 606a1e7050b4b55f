//! `windfall tcp forward`: the kernel's TCP towards programs, the engine towards the link.

use std::ffi::OsString;
use std::io::Write;
use std::net::SocketAddr;

use windfall_live::tcp::engine::{HelperProcess, Interruption};
use windfall_live::tcp::{Engine, ListenService};

use super::{EngineOptions, record, resolve, resolve_target, wrong_port};
use crate::exit::{CliError, Completion, Result, WRAPPER_FAILED, tell};

/// The word in LISTEN for the addresses of the engine.
const ENGINE: &str = "engine";

/// Forward connections between the kernel's TCP and Windfall's
///
/// Accepts connections at LISTEN, and forwards each to TARGET. If LISTEN is an address of the
/// kernel, such as 127.0.0.1:8080 or 8080, the engine (Windfall's TCP) connects to TARGET. If
/// LISTEN is engine:8080, the kernel connects to TARGET.
///
/// With a COMMAND, it forwards until that program ends. Without one, it forwards until you
/// interrupt it. It then delivers the rest of the data of closed connections. A signal ends that
/// too.
///
/// It reports bytes that are lost after a program closed its connection. The exit status is then 1,
/// or 125 if COMMAND ended with 0. Nagle's algorithm is off unless --tcp says nagle=on.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Addresses to listen on and to connect to, in one or more pairs
    #[arg(required = true, value_names = ["LISTEN", "TARGET"], num_args = 2..)]
    pairs: Vec<String>,
    /// Under sudo, run COMMAND as root instead of as the calling user
    #[arg(long)]
    as_root: bool,
    /// Program to run meanwhile. Its exit code becomes the exit code
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    #[command(flatten)]
    options: EngineOptions,
}

impl Args {
    pub(super) fn has_command(&self) -> bool {
        !self.command.is_empty()
    }

    /// Returns the stream for JSON: the standard output, unless that is the program's.
    fn json_out(&self) -> Box<dyn Write> {
        if self.has_command() { Box::new(std::io::stderr()) } else { Box::new(std::io::stdout()) }
    }
}

/// A pair of LISTEN and TARGET.
#[derive(Debug)]
enum Rule {
    ByKernel(SocketAddr, SocketAddr),
    ByEngine(u16, SocketAddr),
}

fn rules(pairs: &[String]) -> Result<Vec<Rule>> {
    let rule = |pair: &[String]| {
        let [listen, target] = pair else {
            let message = format!("LISTEN {} has no TARGET: write pairs", pair.join(" "));
            return Err(CliError::usage(message));
        };
        let target = resolve_target(target)?;
        if let Some((ENGINE, port)) = listen.split_once(':') {
            let wrong = wrong_port(port).unwrap_or_else(|| "it has no port".to_owned());
            let port = port.parse().ok().filter(|port| *port > 0);
            let fix = || CliError::usage(format!("\"{listen}\": {wrong}: write engine:8080"));
            return Ok(Rule::ByEngine(port.ok_or_else(fix)?, target));
        }
        let port = listen.parse::<u16>().map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        let listen = port.map_or_else(|_| resolve(listen), Ok)?;
        Ok(Rule::ByKernel(listen, target))
    };
    pairs.chunks(2).map(rule).collect()
}

pub(crate) fn run(args: &Args) -> Result {
    let rules = rules(&args.pairs)?;
    let settings = args.options.settings_with("nagle=off")?;
    let place = args.options.place()?;
    let mut engine = args.options.engine(&place, &settings)?;
    for rule in &rules {
        match *rule {
            Rule::ByKernel(listen, target) => {
                let listen = engine.listen_by_kernel(listen, target)?;
                say(args, &format!("{listen} to {target}, by the engine from there on"));
            }
            Rule::ByEngine(port, target) => {
                engine.listen(port, ListenService::Kernel(target))?;
                for address in place.addresses() {
                    let listen = SocketAddr::new(*address, port);
                    say(args, &format!("{listen} to {target}, by the kernel from there on"));
                }
            }
        }
    }
    let mut command = match &args.command[..] {
        [] => None,
        command => Some(HelperProcess::start(&mut engine, command, args.as_root)?),
    };
    let tcp = settings.to_string();
    let mut lost = 0;
    loop {
        let interruption = engine.turn(None)?;
        lost += report(args, &mut engine, &tcp)?;
        if engine.take_shortage() {
            tell(
                "no file descriptor is left for another connection; new ones wait until others \
                 end (`ulimit -n` raises the limit)",
            );
        }
        let outcome = match (interruption, &mut command) {
            (Some(Interruption::Signal(signal)), Some(command)) => {
                command.pass_on(signal);
                None
            }
            (Some(Interruption::Signal(_)), None) => Some(Completion::Success),
            (Some(Interruption::Command), Some(command)) => {
                command.status().map(Completion::Program)
            }
            _ => None,
        };
        if let Some(outcome) = outcome {
            engine.drain()?;
            lost += report(args, &mut engine, &tcp)?;
            return Ok(completion(outcome, lost));
        }
    }
}

/// Returns the completion of a forward that lost bytes for which it had to answer.
fn completion(outcome: Completion, lost: u64) -> Completion {
    if lost == 0 {
        return outcome;
    }
    tell(format!(
        "{lost} bytes were lost after their programs had closed the connections or the engine had \
         acknowledged them"
    ));
    match outcome {
        Completion::Success => Completion::Negative,
        Completion::Program(0) => Completion::Program(WRAPPER_FAILED),
        other => other,
    }
}

fn say(args: &Args, text: &str) {
    if !args.options.quiet && !args.has_command() {
        // A standard error that is closed is ignored.
        let _ = writeln!(std::io::stderr(), "{text}");
    }
}

/// Prints the outcome of the connections that are over; returns the bytes that they lost.
fn report(args: &Args, engine: &mut Engine, tcp: &str) -> Result<u64> {
    let mut lost = 0;
    for one in engine.take_records() {
        lost += one.lost;
        if args.options.json {
            let mut out = args.json_out();
            record::json(&mut out, &one, tcp, args.options.seed)?;
            out.flush()?;
        } else if !args.options.quiet {
            record::line(&mut std::io::stderr(), &one)?;
        }
    }
    Ok(lost)
}
