//! What the search found, confirmed with seeds that it has not seen.

use serde::Serialize;
use windfall_report::{Estimate, Table, number};
use windfall_scenario::Scenario;

use super::linux::{LinuxAdvice, mtu_of};
use super::measure::Taken;
use super::search::{Choice, Search, changed, cost};
use super::tuned::{JOINT, TunedSetting};
use super::{EnergyGoal, EnergyTuneError};

/// The setting that takes the least energy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EnergyAdvice {
    /// The goal at which it is best.
    pub goal: EnergyGoal,
    /// Every setting that was turned.
    pub settings: Vec<SettingAdvice>,
    /// The seeds of the search; as many others confirm it.
    pub seeds: usize,
    /// The simulations that were made.
    pub simulations: usize,
    /// The savings of the best setting, measure by measure.
    pub savings: Vec<EnergySaving>,
    /// The options of `windfall sim` and `run` that choose the radio's settings.
    pub link_options: Option<String>,
    /// The settings of TCP, as a scenario's `tcp` takes them.
    pub tcp: Option<String>,
    /// Those of them that the TCP of a kernel has.
    pub kernel_tcp: Option<String>,
    /// The ways to tell Linux of each.
    pub linux: Vec<LinuxAdvice>,
    /// Values that cannot run, with the reason.
    pub refused: Vec<String>,
    /// The scenario with the best setting.
    #[serde(skip)]
    pub scenario: Scenario,
}

/// A setting that was turned.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SettingAdvice {
    /// The name of the setting.
    pub setting: &'static str,
    /// Its value in the scenario as it stands.
    pub before: String,
    /// The best value.
    pub best: String,
    /// The values that were tried.
    pub tried: Vec<String>,
    /// The share of the cost that this value alone saves among the others; none where it stays.
    pub saving: Option<f64>,
    /// The lower end of its interval; not finite of one seed.
    pub saving_low: Option<f64>,
    /// The upper end of its interval.
    pub saving_high: Option<f64>,
}

/// One measure, in the scenario as it stands and with the best setting.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EnergySaving {
    /// The name of the measure, which ends in its unit.
    pub measure: &'static str,
    /// The mean in the scenario as it stands.
    pub before: f64,
    /// The mean with the best setting.
    pub after: f64,
    /// The latter as a multiple of the former, the geometric mean of all seeds.
    pub ratio: f64,
    /// The lower end of the interval of the ratio; not finite of one seed.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A measure of a run, by its name in the JSON and in the text.
type Measure = (&'static str, &'static str, fn(&Taken) -> f64);

/// The measures whose saving is told; a run that has no such measure gives no number.
const MEASURES: [Measure; 6] = [
    ("joules_per_byte", "J a byte", |it| it.joules / it.bytes),
    ("lifetime_seconds", "lifetime, s", lifetime),
    ("battery_bytes", "bytes of a battery", |it| it.bytes / it.seconds * lifetime(it)),
    ("goodput_bytes_per_second", "bytes a second", |it| it.bytes / it.seconds),
    ("packets_per_byte", "packets a byte", |it| it.packets / it.bytes),
    ("airtime_seconds_per_byte", "air time, s a byte", |it| it.airtime * it.seconds / it.bytes),
];

fn lifetime(taken: &Taken) -> f64 {
    taken.lifetime.unwrap_or(f64::NAN)
}

/// Runs what was found, and the same without each change, with seeds that the search has not seen.
pub(super) fn confirm(
    search: &mut Search<'_, '_>,
    settings: &[(TunedSetting, Vec<String>)],
    found: &Choice,
) -> Result<EnergyAdvice, EnergyTuneError> {
    let seeds = search.tuning.seeds(true);
    let base = Choice::new();
    let scenario = search.tuning.scenario;
    let (found, turned) = &confirmed(search, settings, found)?;
    search.make(&[base.clone(), found.clone()], &seeds)?;
    let mut savings = Vec::new();
    for (measure, _, of) in MEASURES {
        let mean = |choice| Some(Estimate::mean(&search.values(choice, &seeds, of)?).value);
        let ratio = search.ratio(found, &base, &seeds, of);
        if let (Some(before), Some(after), Some(ratio)) = (mean(&base), mean(found), ratio) {
            let Estimate { value: ratio, low, high, .. } = ratio;
            savings.push(EnergySaving { measure, before, after, ratio, low, high });
        }
    }
    let best = changed(scenario, found).map_err(EnergyTuneError::Scenario)?;
    let linux: Vec<(TunedSetting, LinuxAdvice)> = found
        .iter()
        .map(|(setting, it)| {
            (*setting, LinuxAdvice::of(found, *setting, it, longer(scenario, *setting, it)))
        })
        .collect();
    let of_kernel = |(setting, it): &&(TunedSetting, LinuxAdvice)| it.is_of_kernel(*setting);
    let applied =
        linux.iter().filter(of_kernel).map(|(_, it)| format!("{}={}", it.setting, it.value));
    let of_tcp = found.iter().filter(|(setting, _)| setting.is_of_tcp());
    let joined = |parts: Vec<String>, by: &str| (!parts.is_empty()).then(|| parts.join(by));
    let refused = search.refused.iter();
    Ok(EnergyAdvice {
        goal: search.tuning.goal,
        settings: turned.clone(),
        seeds: seeds.len(),
        simulations: search.made,
        savings,
        link_options: joined(link_options(scenario, found), " "),
        tcp: joined(of_tcp.map(|(setting, it)| format!("{}={it}", setting.name())).collect(), ", "),
        kernel_tcp: joined(applied.collect(), ", "),
        linux: linux.into_iter().map(|(_, it)| it).collect(),
        refused: refused
            .map(|((setting, value), why)| format!("{}={value}: {why}", setting.name()))
            .collect(),
        scenario: best,
    })
}

/// Drops settings that save nothing with these seeds, and returns what is left with the outcomes.
fn confirmed(
    search: &mut Search<'_, '_>,
    settings: &[(TunedSetting, Vec<String>)],
    found: &Choice,
) -> Result<(Choice, Vec<SettingAdvice>), EnergyTuneError> {
    let mut found = found.clone();
    let seeds = search.tuning.seeds(true);
    loop {
        search.make(core::slice::from_ref(&found), &seeds)?;
        let each = settings.iter();
        let turned = each.map(|(setting, values)| turned(search, *setting, values, &found));
        let turned = turned.collect::<Result<Vec<_>, _>>()?;
        let saves =
            |it: &SettingAdvice| it.saving_low.is_none_or(|low| low > 0.0 || !low.is_finite());
        let before = found.len();
        found.retain(|setting, _| {
            turned.iter().find(|it| it.setting == setting.name()).is_none_or(saves)
        });
        // Each may have been of use beside one that is gone: at last none is left.
        if found.len() == before {
            return Ok((found, turned));
        }
    }
}

/// The outcome for a setting, and the cost of giving back its value alone.
fn turned(
    search: &mut Search<'_, '_>,
    setting: TunedSetting,
    values: &[String],
    found: &Choice,
) -> Result<SettingAdvice, EnergyTuneError> {
    let seeds = search.tuning.seeds(true);
    let goal = search.tuning.goal;
    let before = setting.current(search.tuning.scenario);
    let mut kept = None;
    if found.contains_key(&setting) {
        let mut without = found.clone();
        without.remove(&setting);
        search.make(core::slice::from_ref(&without), &seeds)?;
        kept = search.ratio(found, &without, &seeds, |taken| cost(taken, goal));
    }
    Ok(SettingAdvice {
        setting: setting.name(),
        best: found.get(&setting).unwrap_or(&before).clone(),
        before,
        tried: values.to_vec(),
        saving: kept.map(|it| 1.0 - it.value),
        saving_low: kept.map(|it| 1.0 - it.high),
        saving_high: kept.map(|it| 1.0 - it.low),
    })
}

/// The longest packet that a link takes once segments of this size are sent, if it took less.
fn longer(scenario: &Scenario, setting: TunedSetting, value: &str) -> Option<u16> {
    let mtu = mtu_of(value).filter(|_| setting == TunedSetting::Mss)?;
    scenario.links.iter().any(|link| link.mtu() < mtu).then_some(mtu)
}

/// The options that choose what the links need.
fn link_options(scenario: &Scenario, found: &Choice) -> Vec<String> {
    let option =
        |(setting, value): (&TunedSetting, &String)| match longer(scenario, *setting, value) {
            Some(mtu) => Some(format!("--mtu {mtu}")),
            None if setting.is_of_tcp() => None,
            None if *setting == TunedSetting::Rate && value == JOINT => {
                Some(format!("--policy {value}"))
            }
            None => Some(format!("--{} {value}", setting.name())),
        };
    found.iter().filter_map(option).collect()
}

impl EnergyAdvice {
    /// Returns the saving of a measure, by its name in the JSON.
    #[must_use]
    pub fn saving(&self, measure: &str) -> Option<&EnergySaving> {
        self.savings.iter().find(|it| it.measure == measure)
    }

    /// Returns the advice in words: the settings as a table, the saving, and how to have it.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = self.setting_table().to_text();
        text +=
            &format!("\nby {} further seeds, {} simulations:\n\n", self.seeds, self.simulations);
        text += &self.saving_table().to_text();
        text += &self.instructions();
        self.refused.iter().for_each(|it| text += &format!("not tried: {it}\n"));
        text
    }

    fn setting_table(&self) -> Table {
        let mut table = Table::new(["setting", "as it stands", "best", "saves alone"]);
        for it in &self.settings {
            let percent = |share: f64| format!("{:.1}", 100.0 * share);
            let saving = match (it.saving, it.saving_low, it.saving_high) {
                (Some(saving), Some(low), Some(high)) if low.is_finite() && high.is_finite() => {
                    format!("{} % ({} to {})", percent(saving), percent(low), percent(high))
                }
                (Some(saving), ..) => format!("{} %", percent(saving)),
                _ => "–".to_owned(),
            };
            table.push([it.setting.to_owned(), it.before.clone(), it.best.clone(), saving]);
        }
        table
    }

    fn saving_table(&self) -> Table {
        let mut table = Table::new(["measure", "as it stands", "best", "ratio"]);
        for it in &self.savings {
            let name = MEASURES.iter().find(|(measure, ..)| *measure == it.measure);
            let name = name.map_or(it.measure, |(_, name, _)| name);
            let ratio = if it.low.is_finite() && it.high.is_finite() {
                format!("{:.4} ({:.4} to {:.4})", it.ratio, it.low, it.high)
            } else {
                format!("{:.4} (one seed: no interval)", it.ratio)
            };
            table.push([name.to_owned(), number(it.before), number(it.after), ratio]);
        }
        table
    }

    fn instructions(&self) -> String {
        if self.linux.is_empty() {
            return "\nnothing that was tried saves anything: leave it as it is\n".to_owned();
        }
        let mut text = "\nin Windfall:\n".to_owned();
        if let Some(tcp) = &self.tcp {
            text += &format!("  tcp = \"{tcp}\", at every [[station]]\n");
        }
        if let Some(options) = &self.link_options {
            text += &format!("  {options}\n");
        }
        text += "on Linux, at both ends:\n";
        for it in &self.linux {
            it.commands.iter().for_each(|command| text += &format!("  {command}\n"));
            if let Some(call) = &it.socket_call {
                text += &format!("  or in a program: {call}\n");
            }
            if let Some(why) = &it.cannot {
                text += &format!("  not {}={}: {why}\n", it.setting, it.value);
            }
        }
        text
    }
}
