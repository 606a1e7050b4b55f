//! `windfall bulk`: the test program of the TCP experiments; `windfall reproduce` runs it.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

use windfall_papers::experiment::bulk::{self, Sockets};

use crate::exit::{CliError, Completion, Result};

/// Move bytes over one TCP connection and time it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    end: End,
}

#[derive(Debug, clap::Subcommand)]
enum End {
    /// Take one connection and read it to its end
    Receive {
        #[command(flatten)]
        socket: Socket,
    },
    /// Send bytes, and print as JSON how long they took
    Send {
        /// The address of the receiver
        to: IpAddr,
        /// Number of bytes
        #[arg(long, default_value_t = 1_000_000)]
        bytes: u64,
        #[command(flatten)]
        socket: Socket,
    },
}

#[derive(Debug, clap::Args)]
struct Socket {
    /// Port of the receiver
    #[arg(long, default_value_t = 5001)]
    port: u16,
    /// Size of the socket buffers, in bytes [default: the kernel's]
    #[arg(long, value_name = "BYTES")]
    buffer: Option<usize>,
}

pub(crate) fn run(args: &Args) -> Result {
    match &args.end {
        End::Receive { socket } => {
            let at = SocketAddr::from((Ipv4Addr::UNSPECIFIED, socket.port));
            let listener = TcpListener::bind(at)
                .map_err(|error| CliError::new(format!("cannot listen on {at}: {error}")))?;
            bulk::receive(&listener, socket.options())?;
        }
        End::Send { to, bytes, socket } => {
            let outcome = bulk::send(SocketAddr::new(*to, socket.port), *bytes, socket.options())?;
            writeln!(std::io::stdout(), "{}", serde_json::to_string(&outcome)?)?;
        }
    }
    Ok(Completion::Success)
}

impl Socket {
    fn options(&self) -> Sockets {
        Sockets { buffer: self.buffer }
    }
}
