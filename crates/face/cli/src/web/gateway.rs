//! `windfall gateway`: SAP before a server that knows nothing of it.

use std::net::{IpAddr, Ipv4Addr};

use windfall_web::{Gateway, Uri};

use crate::exchange::SapTransport;
use crate::exit::Result;
use crate::usage::whole;
use crate::web::{LogOptions, block_on, deliver, listen, run_server};

/// Stand before a web server, and send its bodies over SAP to clients that ask for it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Address of the web server, such as http://127.0.0.1:80
    origin: Uri,
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
    block_on(async {
        let listener = listen(args.on, args.port).await?;
        let delivery = deliver(&listener, &args.sap)?;
        let gateway = Gateway::new(&args.origin, delivery);
        let gateway = gateway.map_err(|error| crate::exit::CliError::from(error).into_usage())?;
        let what = format!("a gateway to {}", args.origin);
        run_server(listener, &what, gateway, log).await
    })
}
