//! `windfall tcp`: Windfall's own TCP for real programs.

mod bulk;
mod forward;
mod record;
mod script;
mod settings;

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use windfall_base::Seed;
use windfall_live::Signals;
use windfall_live::tcp::{Engine, EngineSite};
use windfall_scenario::{DEFAULT_SEED, TcpSettings, TcpSettingsError};

use crate::exit::{CliError, Result};

/// Run real programs over Windfall's own TCP
///
/// The TCP engine runs inside a station of `windfall run` or `windfall up`, beside the kernel. It
/// has its own address, such as 10.177.0.1 beside 10.77.0.1. It connects to kernels and to other
/// engines across the link.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Forward(forward::Args),
    Send(bulk::SendArgs),
    Receive(bulk::ReceiveArgs),
    Script(script::Args),
    Settings(settings::Args),
}

pub(crate) fn run(args: &Args) -> Result {
    match &args.command {
        Command::Forward(args) => forward::run(args),
        Command::Send(args) => bulk::send(args),
        Command::Receive(args) => bulk::receive(args),
        Command::Script(args) => script::run(args),
        Command::Settings(args) => settings::run(args),
    }
}

impl Args {
    /// Tells whether the exit status is that of a program which it runs.
    pub(crate) fn is_wrapper(&self) -> bool {
        matches!(&self.command, Command::Forward(args) if args.has_command())
    }
}

/// Options of commands that run an engine.
#[derive(Debug, clap::Args)]
pub(crate) struct EngineOptions {
    /// Settings of the engine: "new-reno, min-rto=500ms". `windfall tcp settings` lists all. May be
    /// repeated [default: cubic]
    #[arg(long, value_name = "SETTINGS")]
    tcp: Vec<String>,
    /// IP address of the engine [default: beside the addresses of the station]
    #[arg(long, value_name = "ADDRESS")]
    address: Option<IpAddr>,
    /// Seed of sequence numbers, ports and bulk data
    ///
    /// [default: random numbers and ports, and the bulk data of seed 1]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<Seed>,
    /// Print the outcome of each connection as one line of JSON
    #[arg(long)]
    json: bool,
    /// Print errors only
    #[arg(long, short)]
    quiet: bool,
}

impl EngineOptions {
    fn settings(&self) -> Result<TcpSettings> {
        self.settings_with("")
    }

    /// Returns the settings; a setting of `default`, such as "nagle=off", holds unless the user
    /// gives another value.
    fn settings_with(&self, default: &str) -> Result<TcpSettings> {
        let (name, _) = default.split_once('=').unwrap_or((default, ""));
        let given = self.tcp.iter().flat_map(|text| text.split(','));
        let mut names = given.map(|setting| setting.split('=').next().unwrap_or("").trim());
        let is_given = names.any(|it| it == name);
        let added = (!is_given && !default.is_empty()).then_some(default);
        let texts: Vec<_> = self.tcp.iter().map(String::as_str).chain(added).collect();
        let settings = texts.join(",").parse();
        settings.map_err(|error: TcpSettingsError| CliError::from(error).into_usage())
    }

    fn place(&self) -> Result<EngineSite> {
        match self.address {
            Some(address) => Ok(EngineSite::at(address)),
            None => Ok(EngineSite::in_station()?),
        }
    }

    fn engine(&self, place: &EngineSite, settings: &TcpSettings) -> Result<Engine> {
        Ok(Engine::open(
            place,
            settings.config().clone(),
            self.engine_seed()?,
            Signals::take_over()?,
        )?)
    }

    /// Returns the seed of ports, sequence numbers and secrets: a random one unless one is given.
    fn engine_seed(&self) -> Result<Seed> {
        if let Some(seed) = self.seed {
            return Ok(seed);
        }
        let mut bytes = [0; 8];
        let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
        filled
            .map_err(|error| CliError::new(format!("the system has no random bytes: {error}")))?;
        Ok(Seed(u64::from_ne_bytes(bytes)))
    }

    /// Returns the seed of bulk data, which is the same at both ends by default.
    fn data_seed(&self) -> Seed {
        self.seed.unwrap_or(DEFAULT_SEED)
    }
}

/// Returns the error of a port that is a number out of range.
fn wrong_port(text: &str) -> Option<String> {
    let is_number = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    (is_number && text.parse::<u16>().is_err())
        .then(|| format!("port {text} is above {}", u16::MAX))
}

/// The address that a text names: a host and a port.
fn resolve(text: &str) -> Result<SocketAddr> {
    let why = |reason: &str| {
        let fix = "write it as 10.77.0.2:80";
        CliError::usage(format!("\"{text}\" is no address: {reason}; {fix}"))
    };
    let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
    if let Some(wrong) = wrong_port(port) {
        return Err(why(&wrong));
    }
    if host.is_empty() {
        return Err(why("it has no host or no port"));
    }
    let mut found = text.to_socket_addrs().map_err(|error| why(&error.to_string()))?;
    found.next().ok_or_else(|| why("the name is unknown"))
}

/// The address to connect to that a text names: port 0 is none.
fn resolve_target(text: &str) -> Result<SocketAddr> {
    let target = resolve(text)?;
    if target.port() == 0 {
        let message = format!("\"{text}\": no connection leads to port 0: write 1 to {}", u16::MAX);
        return Err(CliError::usage(message));
    }
    Ok(target)
}
