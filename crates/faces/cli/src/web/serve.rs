//! `windfall serve`: the files of a folder over HTTP, approximately where a client asks for it.

use std::path::PathBuf;

use windfall_web::{HeaderValue, Site};

use crate::exit::{CliError, Result};
use crate::web::{WebServerOptions, block_on, deliver, listen, run_server};

/// Serve a folder over HTTP, and over SAP to clients that ask
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder to serve. Files outside it are never served, not even through symbolic links
    folder: PathBuf,
    /// Cache-Control header of the files, such as max-age=3600 [default: caches choose]
    #[arg(long, value_name = "DIRECTIVES")]
    cache_control: Option<HeaderValue>,
    #[command(flatten)]
    server: WebServerOptions,
}

pub(crate) fn run(args: &Args) -> Result {
    let server = &args.server;
    let log = server.log.open()?;
    let shown = args.folder.display();
    block_on(async {
        let listener = listen(server.on, server.port).await?;
        let delivery = deliver(&listener, server)?;
        let site = Site::new(&args.folder, Some(delivery));
        let site =
            site.map_err(|error| CliError::usage(format!("cannot serve {shown}: {error}")))?;
        let site = site.with_cache_control(args.cache_control.clone());
        run_server(listener, &format!("serving {shown}"), site, &args.server.memory, log).await
    })
}
