//! The same cell in real time: three stations under `windfall up`, and the kernel's TCP (S3.43).

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use windfall_report::{Claim, Finding, Verdict};

use super::cell::{FLOWS, FTP1, FTP2, RESERVED, SCENARIO, VIDEO};
use super::method_of_kernel;
use crate::error::Error;
use crate::figure::{Basis, Context, Effort, Figure};
use crate::scratch::Scratch;

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.43",
    title: "The kernel's TCP to two stations, one of them bad, under real programs",
    basis: Basis::RealTime,
    expected: Verdict::Reproduced,
    run,
};

/// The losses at the bad station, one run each.
const LOSSES: [f64; 2] = [0.1, 0.5];
/// Where each flow goes: the station, its address, the port.
const WAYS: [(&str, &str, u16); 3] =
    [("bad", "10.77.0.3", 5004), ("bad", "10.77.0.3", 5001), ("good", "10.77.0.2", 5002)];

//= S3.43
fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, Error> {
    let seconds = match context.effort {
        Effort::Quick => 8,
        Effort::Paper => 30,
        Effort::Full => 120,
    };
    let mut rates = Vec::new();
    for loss in LOSSES {
        (context.progress)(&format!("{}: {:.0} % lost", figure.name, 100.0 * loss));
        rates.push(measure(context, loss, seconds)?);
    }
    Ok(Finding {
        figure: figure.name,
        title: figure.title.to_owned(),
        method: format!(
            "Three stations under `windfall up`. {} Here a base station sends video, which \
             reserves {RESERVED} kb/s at power factor 1.4, and FTP1 to one station and FTP2 to \
             another at 1.2, for {seconds} s; what the first station hears is lost at the rate \
             named.",
            method_of_kernel()
        ),
        claims: claims(&rates),
        expected: figure.expected,
        charts: Vec::new(),
        tables: Vec::new(),
        provenance: figure.provenance(context),
    })
}

fn claims(rates: &[[f64; 3]]) -> Vec<Claim> {
    let [light, heavy] = [rates[0], rates[1]];
    let video = |rates: [f64; 3]| rates[VIDEO] / RESERVED;
    let ftps = |rates: [f64; 3]| rates[FTP1] / rates[FTP2].max(1e-9);
    let shown = |rates: [f64; 3]| {
        let each = FLOWS.iter().zip(rates).map(|(name, rate)| format!("{name} {rate:.0} kb/s"));
        each.collect::<Vec<_>>().join(", ")
    };
    let claim = |requirement, paper: &str, measured, holds| Claim {
        requirement,
        paper: paper.to_owned(),
        measured,
        verdict: Verdict::of(holds),
    };
    vec![
        claim(
            "S3.43",
            "at 10 % extra effort makes up for all errors: video keeps its rate, the FTPs share",
            shown(light),
            video(light) > 0.85 && (0.8..1.25).contains(&ftps(light)),
        ),
        claim(
            "S3.43",
            "at 50 % power factors limit it: video gets 0.7 of its rate, FTP1 0.6 of FTP2's",
            shown(heavy),
            (0.5..0.85).contains(&video(heavy)) && (0.4..0.8).contains(&ftps(heavy)),
        ),
        claim(
            "S3.43",
            "the good station is not starved",
            format!("FTP2 {:.0} kb/s at 10 %, {:.0} at 50 %", light[FTP2], heavy[FTP2]),
            heavy[FTP2] > 0.4 * light[FTP2],
        ),
    ]
}

/// What each flow got through in `seconds` seconds, in kb/s.
fn measure(context: &Context<'_>, loss: f64, seconds: u64) -> Result<[f64; 3], Error> {
    let cell = Cell::up(context, loss)?;
    let program = context.program.display();
    let (mut senders, mut receivers) = (Vec::new(), Vec::new());
    for (station, _, port) in WAYS {
        let line = format!("exec {program} bulk receive --port {port} --buffer 16384");
        receivers.push(cell.exec(context, station, &line)?);
    }
    for (_, address, port) in WAYS {
        // More than the link carries in that time.
        let line = format!(
            "exec timeout {seconds} {program} bulk send {address} --port {port} --buffer 16384 \
             --bytes {}",
            seconds * 1_000_000
        );
        senders.push(cell.exec(context, "base", &line)?);
    }
    // The senders end when their time is over, the receivers with the run.
    senders.iter_mut().for_each(|sender| drop(sender.wait()));
    let summary = cell.down()?;
    receivers.iter_mut().for_each(|receiver| drop(receiver.wait()));
    let flows = summary["flows"].as_array().cloned().unwrap_or_default();
    Ok(["video", "ftp1", "ftp2"].map(|name| {
        let own = flows.iter().find(|flow| flow["name"] == name && flow["link"] == "cell/base");
        let bytes = own.and_then(|flow| flow["bytes"].as_f64()).unwrap_or(0.0);
        bytes * 8e-3 / seconds as f64
    }))
}

/// A run of `windfall up`; killed if it is dropped before its end.
struct Cell {
    run: Child,
    errors: BufReader<ChildStderr>,
    name: String,
    _files: Scratch,
}

impl Cell {
    fn up(context: &Context<'_>, loss: f64) -> Result<Self, Error> {
        let files = Scratch::new()?;
        let path = files.0.join("cell.toml");
        let text = SCENARIO.replace("\nloss = 0\n", &format!("\nloss = {loss}\n"));
        std::fs::write(&path, text).map_err(|source| Error::File { path: path.clone(), source })?;
        let name = format!("figure-{}-{:.0}", std::process::id(), 100.0 * loss);
        let mut command = Command::new(&context.program);
        command.args(["up", "--json", "--name", &name, "--seed", &context.seed.to_string()]);
        command.args(["--tcp-congestion", "reno", "--sysctl", "net.ipv4.tcp_sack=0"]).arg(&path);
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        let mut run = start(&mut command)?;
        let Some(errors) = run.stderr.take() else { return Err(silent("nothing was heard of it")) };
        let mut cell = Self { run, errors: BufReader::new(errors), name, _files: files };
        let mut line = String::new();
        while !line.contains(" is up") {
            let last = core::mem::take(&mut line);
            if !matches!(cell.errors.read_line(&mut line), Ok(1..)) {
                return Err(silent(last.trim()));
            }
        }
        Ok(cell)
    }

    fn exec(&self, context: &Context<'_>, station: &str, line: &str) -> Result<Child, Error> {
        let mut command = Command::new(&context.program);
        command.args(["exec", "--run", &self.name, station, "--", "sh", "-c", line]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        start(&mut command)
    }

    /// Ends the run and gives its summary.
    fn down(mut self) -> Result<serde_json::Value, Error> {
        let _ = kill_process(Pid::from_child(&self.run), Signal::INT);
        let mut text = String::new();
        let _ = self.errors.read_to_string(&mut text);
        serde_json::from_str(&text).map_err(|_| silent(text.lines().last().unwrap_or_default()))
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.run), Signal::INT);
        let _ = self.run.wait();
    }
}

fn start(command: &mut Command) -> Result<Child, Error> {
    let shown = format!("{command:?}").replace('"', "");
    command.spawn().map_err(|source| Error::Start { command: shown, source })
}

fn silent(message: &str) -> Error {
    Error::Run { command: "windfall up".to_owned(), message: message.to_owned() }
}
