//! `windfall serve`: the files of a folder over HTTP, approximately where a client asks for it.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use windfall_web::Site;

use crate::exchange::SapTransport;
use crate::exit::{CliError, Result};
use crate::usage::whole;
use crate::web::{LogOptions, block_on, deliver, listen, run_server};

/// Serve the files of a folder over HTTP, and over SAP to clients that ask for it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder whose files are served; nothing outside it is, not even by a symbolic link
    folder: PathBuf,
    /// Address to listen on
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::UNSPECIFIED), value_name = "ADDRESS")]
    on: IpAddr,
    /// Port to listen on, of TCP and of UDP
    #[arg(long, default_value_t = 8080, value_parser = whole(0..=u16::MAX))]
    port: u16,
    #[command(flatten)]
    log: LogOptions,
    #[command(flatten)]
    sap: SapTransport,
}

pub(crate) fn run(args: &Args) -> Result {
    let log = args.log.open()?;
    let shown = args.folder.display();
    block_on(async {
        let listener = listen(args.on, args.port).await?;
        let delivery = deliver(&listener, &args.sap)?;
        let site = Site::new(&args.folder, Some(delivery));
        let site =
            site.map_err(|error| CliError::usage(format!("cannot serve {shown}: {error}")))?;
        run_server(listener, &format!("serving {shown}"), site, log).await
    })
}
