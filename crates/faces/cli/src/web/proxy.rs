//! `windfall proxy`: SAP for browsers and other programs that know nothing of it.

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use windfall_web::{DeliveryRules, FetcherSettings, Proxy, SapDirection};

use crate::exchange::SapTransport;
use crate::exit::{CliError, Result};
use crate::input;
use crate::usage::whole;
use crate::web::{LogOptions, MemoryOptions, block_on, listen, run_server};

/// Fetch damage-tolerant content for a browser, as its HTTP proxy
///
/// Servers that know SAP, such as `windfall serve` and `windfall gateway`, send pictures, sound and
/// films over SAP. These may arrive damaged. Everything else arrives undamaged over TCP. A damaged
/// body has the header X-SAP-Damage. HTTPS passes through unchanged.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Address to listen on. Any host that reaches it can use the proxy
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_name = "ADDRESS")]
    on: IpAddr,
    /// Port to listen on
    #[arg(long, default_value_t = 3128, value_parser = whole(0..=u16::MAX))]
    port: u16,
    /// File of rules: the types that may arrive damaged, and the damage to repair
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// Let servers open the SAP connections, one per body. This fails behind NAT
    #[arg(long)]
    server_opens: bool,
    #[command(flatten)]
    memory: MemoryOptions,
    #[command(flatten)]
    log: LogOptions,
    #[command(flatten)]
    sap: SapTransport,
}

pub(crate) fn run(args: &Args) -> Result {
    let log = args.log.open()?;
    let rules = args.rules.as_deref().map_or_else(
        || Ok(DeliveryRules::default()),
        |path| {
            let text = input::read_tree(path, "rules")?;
            let named = |error| CliError::usage(format!("{}: {error}", path.display()));
            DeliveryRules::parse(&text).map_err(named)
        },
    )?;
    let way =
        if args.server_opens { SapDirection::ServerCalls(0) } else { SapDirection::ClientOpens };
    let options = args.sap.options()?;
    let memory = args.memory.share()?;
    let settings = FetcherSettings { options, types: None, is_precise: false, way, memory };
    block_on(async {
        let listener = listen(args.on, args.port).await?;
        if !args.on.is_loopback() {
            let _ = writeln!(
                std::io::stderr(),
                "windfall: any host that reaches this address may use the proxy"
            );
        }
        run_server(listener, "a proxy", Proxy::new(settings, rules), &args.memory, log).await
    })
}
