//! `windfall dump`: the headers before a packet of video, as Figure 3 of paper 001 shows them.

use std::io::Write as _;

use windfall_report::Table;
use windfall_video::{HeaderLayout, WsimProtocol};

use crate::exit::{Completion, Result};
use crate::video::ProtocolName;

/// Print the headers before a packet of video with their offsets
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Transport protocol
    #[arg(long, value_enum, default_value = "udplite", value_name = "PROTOCOL")]
    protocol: ProtocolName,
    /// The count of the paper: seven bytes each for PPP and RTP, 42 in all
    #[arg(long)]
    literal: bool,
}

//= S1.64
pub(crate) fn run(args: &Args) -> Result {
    let count = if args.literal { HeaderLayout::literal } else { HeaderLayout::exact };
    let layout = count(WsimProtocol::from(args.protocol));
    let mut table = Table::new(["offset", "bytes", "field"]);
    for part in &layout.parts {
        table.push([part.offset.to_string(), part.length.to_string(), part.name.to_owned()]);
    }
    let text = format!("{}{} bytes of headers\n", table.to_text(), layout.total());
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(Completion::Success)
}
