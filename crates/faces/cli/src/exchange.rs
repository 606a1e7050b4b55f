//! The options of `stream`, `track` and `image`: protocol, addresses, and files for results.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs as _};
use std::path::Path;

use windfall_socket::{Carrier, Profile, SapConfig, SapOptions};
use windfall_system::files::PendingFile;
use windfall_system::interrupt;
use windfall_video::streams::{KeyChoice, RecordReceiver, RecordSender};

use crate::exit::{CliError, Completion, Result, tell};
use crate::input::cannot_write;
use crate::usage::whole;

/// The default port of receivers.
const PORT: u16 = 5004;

/// The protocols that can carry the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Protocol {
    /// SAP messages that arrive at once or never, and may be damaged
    Sap,
    /// SAP messages that arrive whole and in order
    SapPrecise,
    /// The kernel's TCP
    Tcp,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ProfileName {
    /// With a window and congestion control
    Standard,
    /// As in paper 000: one precise message at a time
    Paper,
}

/// The ends of an exchange, each a command with its own description.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum End<S: clap::Args, R: clap::Args> {
    Send(S),
    Receive(R),
}

/// Options that sender and receiver have in common.
#[derive(Debug, clap::Args)]
struct Transport {
    /// Protocol that carries the records
    #[arg(long, value_enum, default_value = "sap")]
    over: Protocol,
    #[command(flatten)]
    sap: SapTransport,
}

/// Options of SAP itself.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "SAP")]
pub(crate) struct SapTransport {
    /// Carrier of SAP datagrams: kernel, raw or udp. Both ends need the same one
    ///
    /// [default: udp]
    #[arg(long, value_name = "CARRIER")]
    carrier: Option<Carrier>,
    /// SAP profile: the mechanisms that this end uses
    ///
    /// [default: standard]
    #[arg(long, value_enum, hide_short_help = true)]
    profile: Option<ProfileName>,
    /// File with the key of both ends, written by `windfall sap keygen`, or none
    ///
    /// [default: ~/.config/windfall/sap.key, if it exists]
    #[arg(long, value_name = "FILE", value_parser = KeyChoice::parse)]
    key: Option<KeyChoice>,
}

/// Options for the destination of a sender.
#[derive(Debug, clap::Args)]
pub(crate) struct DestinationOptions {
    /// Address or name of the receiver
    #[arg(value_parser = host)]
    to: IpAddr,
    /// Port of the receiver
    #[arg(long, default_value_t = PORT, value_parser = whole(0..=u16::MAX))]
    port: u16,
    #[command(flatten)]
    transport: Transport,
}

impl DestinationOptions {
    /// Refuses `option`, which is one of SAP, where another protocol carries the records.
    pub(crate) fn check_sap(&self, option: &str) -> Result<()> {
        match self.transport.over {
            Protocol::Tcp => of_sap(option),
            Protocol::Sap | Protocol::SapPrecise => Ok(()),
        }
    }

    /// Connects to the receiver.
    pub(crate) fn connect(&self) -> Result<RecordSender> {
        self.transport.connect(SocketAddr::new(self.to, self.port))
    }
}

/// Options for the address and the report of a receiver.
#[derive(Debug, clap::Args)]
pub(crate) struct ListenOptions {
    /// Address to listen on
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::UNSPECIFIED), value_name = "ADDRESS")]
    on: IpAddr,
    /// Port to listen on
    #[arg(long, default_value_t = PORT, value_parser = whole(0..=u16::MAX))]
    port: u16,
    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    transport: Transport,
}

impl ListenOptions {
    /// Accepts a sender, whose plan has `len` bytes.
    pub(crate) fn accept(&self, len: usize) -> Result<(Vec<u8>, RecordReceiver)> {
        let mut receiver = self.transport.accept(SocketAddr::new(self.on, self.port))?;
        let plan = receiver.plan(len)?;
        Ok((plan, receiver))
    }
}

/// The address of a host, which may have a name; of several one of IPv4, on which receivers listen
/// by default.
fn host(text: &str) -> std::result::Result<IpAddr, String> {
    let found = (text, 0).to_socket_addrs().map(|found| found.map(|it| it.ip()).collect());
    let found: Vec<IpAddr> = found.unwrap_or_default();
    let chosen = found.iter().find(|address| address.is_ipv4()).or(found.first());
    chosen
        .copied()
        .ok_or_else(|| "no host has this name: write an address such as 10.77.0.2".into())
}

/// The refusal of an option that only SAP has.
fn of_sap(option: &str) -> Result<()> {
    let message =
        format!("{option} is an option of SAP, and TCP has none: remove it or --over tcp");
    Err(CliError::usage(message))
}

impl SapTransport {
    /// Returns whether SAP is as in the paper.
    pub(crate) fn is_of_the_paper(&self) -> bool {
        matches!(self.profile, Some(ProfileName::Paper))
    }

    /// Returns the options of sockets, with the key of the user if there is one.
    pub(crate) fn options(&self) -> Result<SapOptions> {
        crate::input::limit_messages()?;
        let profile = match self.profile {
            None | Some(ProfileName::Standard) => Profile::Standard,
            Some(ProfileName::Paper) => Profile::Paper,
        };
        let carrier = Some(self.carrier.unwrap_or(Carrier::Udp));
        let key = KeyChoice::key(self.key).map_err(CliError::usage)?;
        Ok(SapOptions::default().with(|it| {
            it.config = SapConfig::of(profile);
            it.carrier = carrier;
            it.key = key;
        }))
    }
}

impl Transport {
    fn connect(&self, to: SocketAddr) -> Result<RecordSender> {
        let precise = self.over == Protocol::SapPrecise;
        if self.over == Protocol::Tcp {
            self.check_tcp()?;
            return Ok(RecordSender::over_tcp(to)?);
        }
        Ok(RecordSender::over_sap(&self.sap.options()?, to, precise)?)
    }

    fn accept(&self, on: SocketAddr) -> Result<RecordReceiver> {
        let announce = |at| tell(format!("waiting on {at}"));
        let precise = self.over == Protocol::SapPrecise;
        if self.over == Protocol::Tcp {
            self.check_tcp()?;
            return Ok(RecordReceiver::over_tcp(on, announce)?);
        }
        Ok(RecordReceiver::over_sap(&self.sap.options()?, on, precise, announce)?)
    }

    /// Refuses options of SAP, which TCP would not keep; a key would encrypt nothing.
    fn check_tcp(&self) -> Result<()> {
        let given = [
            ("--key", self.sap.key.is_some()),
            ("--carrier", self.sap.carrier.is_some()),
            ("--profile", self.sap.profile.is_some()),
        ];
        given.into_iter().filter(|(_, is_given)| *is_given).try_for_each(|(it, _)| of_sap(it))
    }
}

/// Returns the completion of a receiver that has summed up: that of a signal if one asked for it.
pub(crate) fn completed(completion: Completion) -> Completion {
    interrupt::noted().map_or(completion, |signal| Completion::Program(128 + signal as u8))
}

/// A file for the result of a receiver, opened early so that it fails before any sender comes.
pub(crate) struct Output(PendingFile);

impl Output {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = PendingFile::open(path).map_err(|error| cannot_write(path, &error))?;
        Ok(Self(file))
    }

    /// Writes `bytes` in place of what the file held, all of them or none.
    pub(crate) fn write(self, bytes: &[u8]) -> Result<()> {
        let path = self.0.path().to_owned();
        self.0.fill(bytes).map_err(|error| cannot_write(&path, &error))
    }
}
