//! Changes that nothing has met.

use windfall_base::{Duration, Instant};
use windfall_settings::{Setting, Settings};

use crate::change::Change;
use crate::direction::Direction;
use crate::link::Link;
use crate::model::Scenario;
use crate::side::Side;

impl Scenario {
    /// Returns the changes that no frame has met: those that came at the end of the run or later,
    /// changed nothing, or were undone before anything was sent.
    ///
    /// `met` gives for the place of a link and a direction the times of the changes which a frame
    /// has met before the end.
    #[must_use]
    pub fn idle_changes(&self, met: &dyn Fn(usize, Side) -> Vec<Instant>) -> Vec<&Change> {
        let is_idle = |change: &&Change| {
            let mut links = self.links.iter().enumerate().filter(|(_, link)| change.is_of(link));
            !links.any(|(place, link)| {
                Side::BOTH.into_iter().any(|side| {
                    let from = *change.at.get_ref();
                    let until = self.undone(change, link, side);
                    let holds = |at: &Instant| {
                        let since = *at - Instant::START;
                        from <= since && until.is_none_or(|until| since < until)
                    };
                    self.differs(change, link, side) && met(place, side).iter().any(holds)
                })
            })
        };
        self.changes.iter().filter(is_idle).collect()
    }

    /// Tells whether a direction is another one after a change than before it.
    fn differs(&self, change: &Change, link: &Link, side: Side) -> bool {
        let place = self.changes.iter().position(|it| std::ptr::eq(it, change));
        let of_link = self.changes.iter().enumerate().filter(|(_, it)| it.is_of(link));
        let earlier =
            of_link.filter(|(at, it)| (it.at.get_ref(), Some(*at)) < (change.at.get_ref(), place));
        let mut earlier: Vec<&Change> = earlier.map(|(_, it)| it).collect();
        earlier.sort_by_key(|it| *it.at.get_ref());
        let mut before = link.direction(side);
        earlier.into_iter().for_each(|it| before.overlay(&it.of_side(side)));
        let mut after = before.clone();
        after.overlay(&change.of_side(side));
        Direction::TABLE.iter().any(|it| effect(it, &before) != effect(it, &after))
    }

    /// Returns when a later change says everything anew that a change says of a direction.
    fn undone(&self, change: &Change, link: &Link, side: Side) -> Option<Duration> {
        let said = change.of_side(side);
        let says_all = |later: &&Change| {
            let new = later.of_side(side);
            Direction::TABLE.iter().all(|it| !it.is_set(&said) || it.is_set(&new))
        };
        // Of two changes at one instant that which stands later in the file comes later.
        let place = self.changes.iter().position(|it| std::ptr::eq(it, change));
        let of_link = self.changes.iter().enumerate().filter(|(_, it)| it.is_of(link));
        let later =
            of_link.filter(|(at, it)| (it.at.get_ref(), Some(*at)) > (change.at.get_ref(), place));
        later.map(|(_, it)| it).filter(says_all).map(|it| *it.at.get_ref()).min()
    }
}

/// Returns the value of a setting as text: that by default where it is unset, or taken away.
fn effect(setting: &Setting<Direction>, direction: &Direction) -> Option<String> {
    let has_effect = |text: &String| !["none", "off"].contains(&text.as_str());
    let said = setting.text(direction).filter(has_effect);
    said.or_else(|| {
        let default = Some(setting.default).filter(|text| !text.is_empty())?;
        let mut unset = Direction::unset();
        setting.set(&mut unset, default).ok()?;
        setting.text(&unset).filter(has_effect)
    })
}
