//! A user-defined policy: a table of states, each with a frame format and rules for transitions.
//!
//! A table contains no program. The outcome of a frame causes at most one transition, after at most
//! [`MOST_RULES`] comparisons over at most [`MOST_FRAMES`] remembered frames. So the cost for each
//! frame is small and bounded, whatever the table contains.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use windfall_wire_link::coded::{Fate, Level, MAX_BLOCKS};

use super::{Outcome, Plan, Policy, Request};

/// The maximum number of states in a table.
pub const MOST_STATES: usize = 32;
/// The maximum number of rules in a state.
pub const MOST_RULES: usize = 8;
/// The maximum number of recent frames that a rule may count.
pub const MOST_FRAMES: u8 = 64;

/// The maximum number of histories of a state that are searched for one that satisfies a rule.
const MOST_HISTORIES: usize = 8192;

/// The condition by which a rule counts frames of its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// The frame was not reported.
    Lost,
    /// At least one block is missing, because the frame was truncated.
    Cut,
    /// At least one block was received and failed.
    Failed,
    /// The frame was lost, was truncated, or had a failed block.
    Bad,
    /// Every block is good.
    Good,
    /// A block needed at least this number of corrected symbols, or failed.
    Tight(u8),
    /// Every block is good, and none needed more than this number of corrected symbols.
    Slack(u8),
}

impl Sight {
    /// Returns `true` if every frame that satisfies this condition also satisfies `other`.
    fn implies(self, other: Self) -> bool {
        match (self, other) {
            (Self::Lost | Self::Cut | Self::Failed, Self::Bad)
            | (Self::Slack(_), Self::Good)
            | (Self::Failed, Self::Tight(_)) => true,
            (Self::Tight(own), Self::Tight(others)) => own >= others,
            (Self::Slack(own), Self::Slack(others)) => own <= others,
            _ => self == other,
        }
    }

    /// Returns the reason if frames with this parity never satisfy the condition, or if a simpler
    /// condition has the same meaning.
    fn fault_at(self, level: Level) -> Option<String> {
        let most = level.correctable();
        match self {
            Self::Tight(_) | Self::Slack(_) if most == 0 => {
                Some("without parity no symbol is corrected: use failed or good".to_owned())
            }
            Self::Tight(0) => Some("every frame needs at least 0: use 1 or more".to_owned()),
            Self::Tight(symbols) if usize::from(symbols) > most => {
                Some(format!("the parity of the state corrects {most} symbols: use 1 to {most}"))
            }
            Self::Slack(symbols) if usize::from(symbols) >= most => Some(format!(
                "the parity of the state corrects {most} symbols: use 0 to {}, or good",
                most - 1
            )),
            _ => None,
        }
    }
}

/// A transition between two states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableRule {
    /// The condition of the counted frames.
    pub when: Sight,
    /// The number of such frames that triggers the transition, 1 to `of`.
    pub at_least: u8,
    /// The number of recent frames of the state among which they are counted, up to
    /// [`MOST_FRAMES`].
    pub of: u8,
    /// The index of the next state.
    pub to: usize,
}

/// A frame format, and the transitions to other states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableState {
    /// The format of the state's frames.
    pub plan: Plan,
    /// The index of the state whose frame format the last attempt of a packet uses.
    pub last: Option<usize>,
    /// The transitions, in order of priority.
    pub rules: Vec<TableRule>,
}

/// A fault of a table, and its location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct PolicyTableError {
    /// The index of the state.
    pub state: usize,
    /// The index of the rule in the state; `None` if the fault is not in a rule.
    pub rule: Option<usize>,
    /// The key that is missing or has an invalid value.
    pub key: &'static str,
    /// The fault, and the fix.
    pub problem: String,
}

/// A checked table: every state can be reached, and every rule can be satisfied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyTable {
    states: Vec<TableState>,
}

impl PolicyTable {
    /// Checks a table, whose first state is the initial one.
    ///
    /// # Errors
    /// Names the first invalid state, rule and key, and the fix.
    pub fn new(states: Vec<TableState>) -> Result<Self, PolicyTableError> {
        let count = states.len();
        if count == 0 || count > MOST_STATES {
            let problem = format!("a table has 1 to {MOST_STATES} states: this has {count}");
            // The first state beyond the limit.
            let state = count.min(MOST_STATES);
            return Err(PolicyTableError { state, rule: None, key: "name", problem });
        }
        for (place, state) in states.iter().enumerate() {
            check_state(state, place, count)?;
        }
        check_reached(&states)?;
        Ok(Self { states })
    }

    /// Creates the policy in its initial state.
    #[must_use]
    pub fn build(self: Arc<Self>) -> Box<dyn Policy> {
        Box::new(Tabled { table: self, now: 0, softens: false, seen: VecDeque::new() })
    }
}

fn check_state(state: &TableState, place: usize, count: usize) -> Result<(), PolicyTableError> {
    let fault =
        |key, problem: String| Err(PolicyTableError { state: place, rule: None, key, problem });
    let Plan { blocks, level, uncoded, .. } = state.plan;
    if !(1..=MAX_BLOCKS).contains(&usize::from(blocks)) {
        return fault("blocks", format!("a frame has 1 to {MAX_BLOCKS} blocks"));
    }
    if uncoded && level != Level::NONE {
        return fault("parity", "an uncoded frame has no parity: remove one of them".to_owned());
    }
    if uncoded && blocks != 1 {
        return fault("blocks", "an uncoded frame is one piece: remove one of them".to_owned());
    }
    if state.last.is_some_and(|last| last == place || last >= count) {
        return fault("last", "it names another state of the table".to_owned());
    }
    if state.rules.len() > MOST_RULES {
        return fault("rules", format!("a state has up to {MOST_RULES} rules"));
    }
    // The checks of rules against each other need legal numbers, so all numbers are checked first.
    let numbers = |at| fault_of_numbers(&state.rules[at], level, place, count);
    let ways = |at| fault_of_way(&state.rules, at, level);
    let all = 0..state.rules.len();
    for (at, found) in all.clone().map(|at| (at, numbers(at))).chain(all.map(|at| (at, ways(at)))) {
        if let Some((key, problem)) = found {
            return Err(PolicyTableError { state: place, rule: Some(at), key, problem });
        }
    }
    Ok(())
}

/// Returns a fault of the numbers of a rule in state `place` of `count`.
fn fault_of_numbers(
    rule: &TableRule,
    level: Level,
    place: usize,
    count: usize,
) -> Option<(&'static str, String)> {
    let TableRule { when, at_least, of, to } = *rule;
    if to == place || to >= count {
        return Some(("to", "a rule leads to another state of the table".to_owned()));
    }
    // A rule without `of` counts among exactly as many frames as it needs, so `at_least` is checked
    // first.
    if !(1..=MOST_FRAMES).contains(&at_least) {
        return Some(("at-least", format!("use 1 to {MOST_FRAMES} frames")));
    }
    if !(1..=MOST_FRAMES).contains(&of) {
        return Some(("of", format!("use 1 to {MOST_FRAMES} frames")));
    }
    if at_least > of {
        return Some(("at-least", format!("of {of} frames there are 1 to {of}")));
    }
    when.fault_at(level).map(|problem| ("symbols", problem))
}

/// Returns a fault if the other rules of its state prevent a rule from ever being satisfied.
fn fault_of_way(rules: &[TableRule], at: usize, level: Level) -> Option<(&'static str, String)> {
    let rule = &rules[at];
    let TableRule { when, at_least, .. } = *rule;
    let before = &rules[..at];
    let behind = &rules[at + 1..];
    if let Some(other) = before.iter().position(|other| holds_first(other, rule, true)) {
        let problem = format!("rule {} of the state holds whenever this one does", other + 1);
        return Some(("when", problem + ": remove one, or change their order"));
    }
    if let Some(other) = behind.iter().position(|other| holds_first(other, rule, false)) {
        let other = at + other + 2;
        let problem = format!("rule {other} of the state leads away before this one can hold");
        return Some(("when", problem + ": remove one, or change their numbers of frames"));
    }
    let at_once = |rules: &[TableRule], seen: &Seen| {
        rules.iter().any(|it| it.at_least == 1 && seen.is(it.when))
    };
    let counted: Vec<Seen> = Seen::all(level).filter(|seen| seen.is(when)).collect();
    let none_last = counted.iter().all(|seen| at_once(before, seen));
    let none_before = at_least > 1 && counted.iter().all(|seen| at_once(rules, seen));
    if none_last || none_before {
        let problem = "after each frame that it counts another rule leads away at once";
        return Some(("when", format!("{problem}: remove this rule")));
    }
    (!can_be_taken(rules, at, level)).then(|| {
        let problem = "whatever the frames, other rules of the state lead away before this one";
        ("when", format!("{problem}: remove this rule, or change their numbers of frames"))
    })
}

/// Returns `true` if some history of frames satisfies a rule of a state. Also returns `true` if
/// [`MOST_HISTORIES`] did not suffice for an answer.
fn can_be_taken(rules: &[TableRule], at: usize, level: Level) -> bool {
    // Only the set of rules that count a frame matters: bit i is rule i.
    let kinds: BTreeSet<u8> = Seen::all(level)
        .map(|seen| (0..).zip(rules).map(|(i, it)| u8::from(seen.is(it.when)) << i).sum())
        .collect();
    // The search tries the last kind first, which this rule counts and few other rules do.
    let mut kinds: Vec<u8> = kinds.into_iter().collect();
    kinds.sort_by_key(|kind| (kind >> at & 1, u32::MAX - kind.count_ones()));
    let longest = longest_stay(rules, &kinds);
    // For each rule the recent frames, the latest at bit 0; a bit is set if the rule counts the
    // frame.
    let mut open = vec![[0_u64; MOST_RULES]];
    let mut known = BTreeSet::new();
    while let Some(history) = open.pop() {
        for kind in &kinds {
            let mut next = history;
            for (i, rule) in rules.iter().enumerate() {
                let counts = kind >> i & 1;
                // No frame leaves the range of this rule while the state lasts, so the count of
                // frames suffices.
                if counts == 1 || u32::from(rule.of) < longest {
                    next[i] = next[i] << 1 | u64::from(counts);
                }
            }
            let holds = |i: &usize| {
                let among = next[*i] & (u64::MAX >> (MOST_FRAMES - rules[*i].of));
                among.count_ones() >= u32::from(rules[*i].at_least)
            };
            match (0..rules.len()).find(holds) {
                Some(first) if first == at => return true,
                Some(_) => continue,
                None => {}
            }
            for (frames, rule) in next.iter_mut().zip(rules) {
                // The oldest frame leaves the range when the next one arrives.
                *frames &= (u64::MAX >> (MOST_FRAMES - rule.of)) >> 1;
            }
            if known.insert(next) {
                open.push(next);
            }
        }
        if known.len() > MOST_HISTORIES {
            return true;
        }
    }
    false
}

/// Returns the number of frames after which some rule is certainly satisfied; `u32::MAX` if there
/// is no such number.
///
/// If the rules together count frames of every kind, one is satisfied at the latest when each of
/// them lacks only one frame, provided that the first frame is still in the range of all.
fn longest_stay(rules: &[TableRule], kinds: &[u8]) -> u32 {
    let some = (1..1_u16 << rules.len()).filter_map(|set| {
        let set: Vec<_> = (0..rules.len()).filter(|i| set >> i & 1 == 1).collect();
        let frames = 1 + set.iter().map(|i| u32::from(rules[*i].at_least) - 1).sum::<u32>();
        let all_counted = kinds.iter().all(|kind| set.iter().any(|i| kind >> i & 1 == 1));
        let all_seen = set.iter().all(|i| u32::from(rules[*i].of) >= frames);
        (all_counted && all_seen).then_some(frames)
    });
    some.min().unwrap_or(u32::MAX)
}

/// Returns `true` if one rule of a state is satisfied whenever another one is: at the same frame if
/// the first rule `is_before` the other, or earlier.
fn holds_first(first: &TableRule, other: &TableRule, is_before: bool) -> bool {
    // If both are satisfied at the same frame, their order decides.
    let last = u8::from(!is_before);
    let frames = other.at_least - last;
    let among = other.of - last;
    if !other.when.implies(first.when) || first.at_least > frames {
        return false;
    }
    // However the counted frames are distributed, some consecutive ones are at most this far apart.
    let others = first.at_least - 1;
    others == 0 || (among - 1) / ((frames - 1) / others) < first.of
}

/// Checks that transitions lead from the first state to every other state, and that a state used
/// only for last attempts has no rules.
fn check_reached(states: &[TableState]) -> Result<(), PolicyTableError> {
    let mut is_entered = vec![false; states.len()];
    let mut open = vec![0];
    while let Some(place) = open.pop() {
        if !core::mem::replace(&mut is_entered[place], true) {
            open.extend(states[place].rules.iter().map(|rule| rule.to));
        }
    }
    let entered = || states.iter().zip(&is_entered).filter(|(_, it)| **it);
    for (state, place) in states.iter().zip(0..).filter(|(_, place)| !is_entered[*place]) {
        let fault = |rule, key, problem: &str| {
            Err(PolicyTableError { state: place, rule, key, problem: problem.to_owned() })
        };
        if !entered().any(|(it, _)| it.last == Some(place)) {
            let problem = "no rule leads here from the first state: add one, or remove the state";
            return fault(None, "name", problem);
        }
        let problem = "only last attempts have this state, so it is never left: remove this, or \
                       add a rule that leads here";
        if !state.rules.is_empty() {
            return fault(Some(0), "when", problem);
        }
        if state.last.is_some() {
            return fault(None, "last", problem);
        }
    }
    Ok(())
}

/// The outcome of a frame.
#[derive(Clone, Copy, Debug)]
struct Seen {
    is_lost: bool,
    is_cut: bool,
    has_failed: bool,
    /// The maximum number of symbols that a block needed.
    symbols: u8,
}

impl Seen {
    /// Returns all possible outcomes of a frame with this parity.
    fn all(level: Level) -> impl Iterator<Item = Self> {
        let lost = Self { is_lost: true, is_cut: false, has_failed: false, symbols: 0 };
        let reported = (0..=level.correctable() as u8).flat_map(|symbols| {
            [(false, false), (false, true), (true, false), (true, true)]
                .map(|(is_cut, has_failed)| Self { is_lost: false, is_cut, has_failed, symbols })
        });
        core::iter::once(lost).chain(reported)
    }

    fn of(outcome: Outcome<'_>) -> Option<Self> {
        let none = Self { is_lost: false, is_cut: false, has_failed: false, symbols: 0 };
        let fates = match outcome {
            Outcome::Silence => return Some(Self { is_lost: true, ..none }),
            // The receiver already had the packet, so the report does not describe this frame.
            Outcome::Report([]) => return None,
            Outcome::Report(fates) => fates,
        };
        Some(fates.iter().fold(none, |seen, fate| match fate {
            Fate::Good(symbols) => Self { symbols: seen.symbols.max(*symbols), ..seen },
            Fate::Missing => Self { is_cut: true, ..seen },
            // The parity of this copy did not suffice, whatever happened to the block.
            Fate::Failed | Fate::Combined | Fate::Damaged => Self { has_failed: true, ..seen },
        }))
    }

    fn is(self, sight: Sight) -> bool {
        let Self { is_lost, is_cut, has_failed, symbols } = self;
        let is_bad = is_lost || is_cut || has_failed;
        match sight {
            Sight::Lost => is_lost,
            Sight::Cut => is_cut,
            Sight::Failed => has_failed,
            Sight::Bad => is_bad,
            Sight::Good => !is_bad,
            Sight::Tight(least) => has_failed || symbols >= least,
            Sight::Slack(most) => !is_bad && symbols <= most,
        }
    }
}

/// A table in operation.
#[derive(Debug)]
struct Tabled {
    table: Arc<PolicyTable>,
    now: usize,
    /// A packet in this state had an owner that accepts damage, so its frames had weaker parity.
    softens: bool,
    /// The outcomes of the frames in this state, the latest first.
    seen: VecDeque<Seen>,
}

impl Tabled {
    fn state(&self) -> &TableState {
        &self.table.states[self.now]
    }
}

impl Policy for Tabled {
    fn plan(&mut self, request: &Request) -> Option<Plan> {
        self.softens |= request.welcomes_damage;
        let state = self.state();
        let last = state.last.filter(|_| request.tries_left == Some(1));
        let plan = last.map_or(state.plan, |place| self.table.states[place].plan);
        // A packet in several pieces is sent in blocks.
        let uncoded = plan.uncoded && request.may_be_uncoded;
        let blocks = if plan.uncoded && !uncoded { MAX_BLOCKS as u8 } else { plan.blocks };
        Some(Plan { uncoded, blocks, ..plan })
    }

    fn learn(&mut self, plan: Plan, _bytes: usize, outcome: Outcome<'_>) {
        // Frames that were sent in another state do not count. If damage is accepted, the level is
        // two below that of the state, and a packet in several pieces is sent in blocks.
        let own = self.state().plan;
        let is_weaker = self.softens && plan.level == own.level.weaker().weaker();
        let is_own =
            (plan.level == own.level || is_weaker) && (plan.blocks == own.blocks || own.uncoded);
        let Some(seen) = Seen::of(outcome).filter(|_| is_own) else { return };
        self.seen.push_front(seen);
        self.seen.truncate(usize::from(MOST_FRAMES));
        let holds = |rule: &&TableRule| {
            let among = self.seen.iter().take(usize::from(rule.of));
            among.filter(|it| it.is(rule.when)).count() >= usize::from(rule.at_least)
        };
        let next = self.state().rules.iter().find(holds).map(|rule| rule.to);
        if let Some(next) = next {
            (self.now, self.softens) = (next, false);
            self.seen.clear();
        }
    }
}

#[cfg(test)]
mod tests;
