//! The program `windfall`: real programs over links that damage bits, in real and simulated time.
//!
//! A table of contents: each command has its own file with its arguments and a `run` function, and
//! none has logic of its own beyond reading files and printing what the crates below found.

mod apply;
mod bulk;
mod camera;
mod completions;
mod control;
mod demo;
mod doctor;
mod dump;
mod exchange;
mod exec;
mod exit;
mod face;
mod help;
mod image;
mod input;
mod json;
mod link;
mod links;
mod manual;
mod options;
mod progress;
mod record;
mod relay;
mod reproduce;
mod run;
mod sap;
mod sim;
mod stream;
mod summary_text;
mod sweep;
mod tcp;
mod times;
mod trace;
mod track;
mod tune;
mod udplite;
mod up;
mod usage;
mod video;
mod watch;
mod web;
mod wsim;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::exit::Result;

/// The version and, where the sources are a repository, the commit that it was built from.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), env!("WINDFALL_COMMIT"));

/// Run real programs over emulated links that delay, lose and damage packets.
#[derive(Debug, Parser)]
#[command(name = "windfall", version = VERSION, propagate_version = true, max_term_width = 100)]
#[command(arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<run::Args>),
    Up(Box<up::Args>),
    Exec(exec::Args),
    Link(Box<link::Args>),
    Links(links::Args),
    Tcp(Box<tcp::Args>),
    Udplite(udplite::Args),
    Ls(control::ls::Args),
    Set(control::set::Args),
    Top(control::top::Args),
    Status(control::status::Args),
    Down(control::down::Args),
    Sim(Box<sim::Args>),
    Sweep(Box<sweep::Args>),
    Tune(tune::Args),
    Trace(Box<trace::Args>),
    Dump(dump::Args),
    Get(web::get::Args),
    Serve(web::serve::Args),
    Proxy(web::proxy::Args),
    Gateway(web::gateway::Args),
    Video(Box<video::Args>),
    Camera(camera::Args),
    Image(image::Args),
    Track(track::Args),
    Stream(stream::Args),
    Sap(sap::Args),
    Reproduce(reproduce::Args),
    Wsim(wsim::Args),
    Demo(demo::Args),
    Doctor(doctor::Args),
    Completions(completions::Args),
    #[command(hide = true)]
    Bulk(bulk::Args),
    #[command(hide = true)]
    Relay(relay::Args),
}

fn main() -> ExitCode {
    windfall_live::notice_children();
    let mut command = command();
    let arguments = usage::with_negative_numbers(std::env::args_os());
    let matches = command.try_get_matches_from_mut(arguments);
    let cli = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => {
            let words = std::env::args_os().skip(1);
            let words: Vec<_> = words.map(|it| it.to_string_lossy().into_owned()).collect();
            return exit::of_usage(&error, &usage::explain(&error, &command, &words));
        }
    };
    exit::of_result(cli.command.run(), cli.command.status_of_failure())
}

/// The definition of the command line, with the examples in its help.
fn command() -> clap::Command {
    help::complete(Cli::command())
}

impl Command {
    fn run(&self) -> Result {
        match self {
            Self::Run(args) => run::run(args),
            Self::Up(args) => up::run(args),
            Self::Exec(args) => exec::run(args),
            Self::Set(args) => control::set::run(args),
            Self::Status(args) => control::status::run(args),
            Self::Top(args) => control::top::run(args),
            Self::Ls(args) => control::ls::run(args),
            Self::Down(args) => control::down::run(args),
            Self::Sim(args) => sim::run(args),
            Self::Sweep(args) => sweep::run(args),
            Self::Link(args) => link::run(args),
            Self::Links(args) => links::run(args),
            Self::Tcp(args) => tcp::run(args),
            Self::Udplite(args) => udplite::run(args),
            Self::Sap(args) => sap::run(args),
            Self::Trace(args) => trace::run(args),
            Self::Stream(args) => stream::run(args),
            Self::Track(args) => track::run(args),
            Self::Image(args) => image::run(args),
            Self::Camera(args) => camera::run(args),
            Self::Serve(args) => web::serve::run(args),
            Self::Get(args) => web::get::run(args),
            Self::Proxy(args) => web::proxy::run(args),
            Self::Gateway(args) => web::gateway::run(args),
            Self::Video(args) => video::run(args),
            Self::Wsim(args) => wsim::run(args),
            Self::Tune(args) => tune::run(args),
            Self::Dump(args) => dump::run(args),
            Self::Reproduce(args) => reproduce::run(args),
            Self::Demo(args) => demo::run(args),
            Self::Doctor(args) => doctor::run(args),
            Self::Bulk(args) => bulk::run(args),
            Self::Relay(args) => relay::run(args),
            Self::Completions(args) => completions::run(args),
        }
    }

    /// Returns the exit status for a failure of the command.
    fn status_of_failure(&self) -> u8 {
        match self {
            Self::Run(_) | Self::Up(_) | Self::Exec(_) => exit::WRAPPER_FAILED,
            Self::Udplite(_) | Self::Link(_) => exit::WRAPPER_FAILED,
            Self::Tcp(args) if args.is_wrapper() => exit::WRAPPER_FAILED,
            Self::Stream(_) | Self::Track(_) | Self::Image(_) => exit::FAILED,
            Self::Get(_) | Self::Video(_) | Self::Camera(_) => exit::FAILED,
            _ => exit::CANNOT_RUN,
        }
    }
}
