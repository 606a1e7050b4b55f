//! `windfall tune`: the mode of a link that serves an application best over a measured channel.

mod energy;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use windfall_base::{Duration, Probability, Rate, Seed};
use windfall_scenario::{DEFAULT_SEED, Surroundings};
use windfall_tune::{
    Advice, ApplicationClass, CalibratedModel, MeasuredChannel, MeasuredLifetimes, TrafficNeeds,
    TunedLink,
};

use crate::exit::{CliError, Completion, Result};
use crate::input::{self, cannot_read};
use crate::times::with_unit;
use crate::usage::whole;
use crate::{json, options, progress};

/// Find the best link settings, or those that save energy
///
/// Without --for, it finds the mode of a link that serves an application best over a measured
/// channel. Each mode carries the traffic of the application in simulated time, over the errors of
/// the channel.
///
/// With --for, it finds the settings of TCP and of the radio that cost a scenario the least energy.
/// It prints them as options of Windfall and as commands of Linux. docs/guides/tune.md explains how
/// the best is chosen.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Channel, or scenario with --for and --calibrate
    ///
    /// A channel is an environment, such as gsm-bad or office, or a file. The file is an error
    /// trace, an event log, or a line for each radio block (1 damaged, 0 correct).
    #[arg(value_name = "CHANNEL|SCENARIO")]
    channel: PathBuf,
    /// Class of the application, which sets its needs (paper 001)
    #[arg(long, default_value = "adaptive", value_name = "CLASS")]
    #[arg(value_parser = PossibleValuesParser::new(ApplicationClass::ALL.map(|it| it.name())))]
    #[arg(help_heading = "Application")]
    application: String,
    /// Data rate of the application. A bare number is in Mbps [default: that of the class]
    #[arg(long, value_name = "RATE")]
    #[arg(help_heading = "Application")]
    rate: Option<Rate>,
    /// Data bytes in each datagram, 1 to 1400 [default: several sizes are tried]
    #[arg(long, value_name = "BYTES", value_parser = whole(1..=1_400_u32))]
    #[arg(help_heading = "Application")]
    size: Option<u32>,
    /// Age at which a datagram becomes useless, or none for no limit [default: that of the class]
    #[arg(long, value_name = "TIME", value_parser = deadline)]
    #[arg(help_heading = "Application")]
    deadline: Option<Deadline>,
    /// Share of datagrams that may be lost or late, 0..1 or with % [default: that of the class]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    #[arg(help_heading = "Application")]
    loss: Option<f64>,
    /// Share of datagrams that may be damaged, 0..1 or with % [default: that of the class]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    #[arg(help_heading = "Application")]
    damage: Option<f64>,
    /// Bytes at the front of each datagram that must be undamaged, 0 to 1400 [default: that of the
    /// class]
    #[arg(long, value_name = "BYTES", value_parser = whole(0..=1_400_u32))]
    #[arg(help_heading = "Application")]
    exact: Option<u32>,
    /// Kind of link [default: gsm for radio blocks, wavelan for the environments of its radio,
    /// otherwise pipe]
    #[arg(long, value_name = "KIND")]
    #[arg(value_parser = PossibleValuesParser::new(TunedLink::ALL.map(TunedLink::name)))]
    link: Option<String>,
    /// Rate of a pipe. A bare number is in Mbps [default: that of the trace, otherwise 2Mbps]
    #[arg(long, value_name = "RATE")]
    line_rate: Option<Rate>,
    /// Fit the energy model of SCENARIO to measured battery lifetimes, and print it:
    /// idle=223min,sending=110min
    #[arg(long, value_name = "LIFETIMES", conflicts_with_all = ["application", "rate", "size",
          "deadline", "loss", "damage", "exact", "link", "line_rate", "json", "goal"],
          hide_short_help = true)]
    calibrate: Option<MeasuredLifetimes>,
    #[command(flatten)]
    energy: energy::EnergyOptions,
    /// Seed of all random draws [default: 1, or that of the scenario]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<Seed>,
    /// Print the trials and the advice as JSON
    #[arg(long)]
    json: bool,
}

/// An age, or none for no limit.
#[derive(Clone, Copy, Debug)]
struct Deadline(Option<Duration>);

fn deadline(text: &str) -> std::result::Result<Deadline, String> {
    if text == "none" {
        return Ok(Deadline(None));
    }
    let time = with_unit(text)?;
    if time == Duration::ZERO {
        return Err("use a time above 0, or none".to_owned());
    }
    Ok(Deadline(Some(time)))
}

fn share(text: &str) -> std::result::Result<f64, String> {
    let share: Probability = text.parse().map_err(|error| format!("{error}"))?;
    Ok(share.get())
}

//= S1.52
pub(crate) fn run(args: &Args) -> Result {
    if let Some(goal) = args.energy.goal {
        return energy::run(&args.channel, (&args.energy, goal), args.seed, args.json);
    }
    let seed = args.seed.unwrap_or(DEFAULT_SEED);
    if let Some(lifetimes) = args.calibrate {
        let [idle, sending] = options::with_and_without_traffic(&args.channel)?;
        let fitted = CalibratedModel::fit([&idle, &sending], lifetimes, seed);
        let text = fitted.map_err(|error| CliError::usage(error.to_string()))?.to_text();
        std::io::stdout().write_all(text.as_bytes())?;
        return Ok(Completion::Success);
    }
    let class = ApplicationClass::ALL.into_iter().find(|it| it.name() == args.application);
    let class = class.unwrap_or(ApplicationClass::Adaptive);
    let mut channel = args.channel(&args.channel)?;
    if let Some(rate) = args.line_rate {
        if channel.link != TunedLink::Pipe {
            return Err(CliError::usage("only a pipe has a rate of its own: add --link pipe"));
        }
        channel.rate = rate;
    }
    let spinner = progress::spinner()?;
    let advice = Advice::of(&channel, &args.needs(class)?, Some(class), seed, &mut |made, all| {
        spinner.set_message(format!("trial {} of {all}", made + 1));
        spinner.tick();
    });
    spinner.finish_and_clear();
    let advice = advice.map_err(|error| CliError::usage(error.to_string()))?;
    let object = serde_json::to_value(&advice)?;
    json::print(args.json, json::TUNE, object, &advice.to_text())?;
    Ok(Completion::Success)
}

impl Args {
    /// The channel by the name of an environment, or by a file.
    fn channel(&self, path: &Path) -> Result<MeasuredChannel> {
        let named = |it: &TunedLink| self.link.as_deref() == Some(it.name());
        let link = TunedLink::ALL.into_iter().find(named);
        let environment = path.to_str().map(str::parse::<Surroundings>);
        if let Some(Ok(environment)) = environment {
            let channel =
                MeasuredChannel::of_environment(environment, self.seed.unwrap_or(DEFAULT_SEED));
            if link.is_some_and(|link| link != channel.link) {
                let own = channel.link.name();
                return Err(CliError::usage(format!(
                    "{environment} is an environment of --link {own}: leave out --link"
                )));
            }
            return Ok(channel);
        }
        let mut budget = input::budget()?;
        let bytes = input::read(path, &mut budget).map_err(|error| match environment {
            Some(Err(unknown)) if error.kind() == std::io::ErrorKind::NotFound => {
                CliError::usage(format!("there is no file {}, and of {unknown}", path.display()))
            }
            _ => cannot_read(path, &error),
        })?;
        let channel = MeasuredChannel::read(&path.display().to_string(), &bytes, link, &mut budget);
        channel.map_err(|error| cannot_read(path, &error))
    }

    fn needs(&self, class: ApplicationClass) -> Result<TrafficNeeds> {
        let own = class.needs();
        let exact = self.exact.unwrap_or(own.exact);
        if let (Some(size), Some(exact)) = (self.size, self.exact)
            && exact > size
        {
            return Err(CliError::usage(format!(
                "--exact {exact} is more than the {size} bytes of a datagram"
            )));
        }
        Ok(TrafficNeeds {
            rate: self.rate.unwrap_or(own.rate),
            size: self.size,
            deadline: self.deadline.map_or(own.deadline, |it| it.0),
            loss: self.loss.unwrap_or(own.loss),
            damage: self.damage.unwrap_or(own.damage),
            exact,
        })
    }
}
