//! `windfall gateway`: SAP before a server that knows nothing of it.

use windfall_web::{Gateway, Uri};

use crate::exit::Result;
use crate::web::{WebServerOptions, block_on, deliver, listen, run_server};

/// Send the content of a web server over SAP
///
/// The gateway forwards each request to the web server. Clients that ask for SAP get the bodies
/// over SAP.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Address of the web server, such as http://127.0.0.1:80
    origin: Uri,
    #[command(flatten)]
    server: WebServerOptions,
}

pub(crate) fn run(args: &Args) -> Result {
    let server = &args.server;
    let log = server.log.open()?;
    block_on(async {
        let listener = listen(server.on, server.port).await?;
        let delivery = deliver(&listener, server)?;
        let gateway = Gateway::new(&args.origin, delivery);
        let gateway = gateway.map_err(|error| crate::exit::CliError::from(error).into_usage())?;
        let what = format!("a gateway to {}", args.origin);
        run_server(listener, &what, gateway, &args.server.memory, log).await
    })
}
