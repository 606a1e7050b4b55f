//! All layers over one axis of time as a page to look around in.

use core::fmt::Write as _;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use windfall_report::escape;

use crate::layers::log::{Act, LayerLog, LayerRow, LogLayer, LogWindow};

const STYLE: &str = include_str!("page/style.css");
/// Draws the events, zooms, and tells of the one under the pointer.
const SCRIPT: &str = include_str!("page/view.js");

const ACTS: [Act; 5] = [Act::Sent, Act::Again, Act::Arrived, Act::Damaged, Act::Lost];

/// Time, layer, sender, act, number, position, bytes, note: the last of them a place in a list.
type Row = (f64, usize, usize, usize, Option<u64>, Option<u64>, usize, usize);

/// The data that the script of the page reads.
#[derive(Serialize)]
struct PageData<'a> {
    span: [f64; 2],
    layers: Vec<&'a str>,
    acts: Vec<&'a str>,
    notes: Vec<&'a str>,
    rows: Vec<Row>,
}

impl LayerLog {
    //= S1.32
    /// Returns a page on which what each interface sends can be seen at all layers over time:
    /// zoomed, moved, and with the values of the event under the pointer. `sender` is shown first.
    /// No other file and no network is needed. Blocks that arrived undamaged are left out.
    #[must_use]
    pub fn page(&self, title: &str, sender: usize, window: LogWindow) -> String {
        let is_shown = |row: &&LayerRow| {
            let is_quiet = row.layer == LogLayer::Block && row.act == Act::Arrived;
            window.contains(row.time) && row.sender.is_some() && !is_quiet
        };
        let rows: Vec<&LayerRow> = self.rows.iter().filter(is_shown).collect();
        let data = self.page_data(&rows);
        let senders: BTreeSet<usize> = rows.iter().filter_map(|row| row.sender).collect();
        let layers: BTreeSet<LogLayer> = rows.iter().map(|row| row.layer).collect();
        let title = escape(title);
        let mut out = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
             <h1>{title}</h1>\n<fieldset><label>What <select id=\"sender\">"
        );
        for place in senders {
            let name = escape(self.elements.get(place).map_or("", String::as_str));
            let chosen = if place == sender { " selected" } else { "" };
            // Writing to a string cannot fail.
            let _ = write!(out, "<option value=\"{place}\"{chosen}>{name}</option>");
        }
        out.push_str("</select> sends:</label>\n");
        for (place, layer) in LogLayer::ALL.into_iter().enumerate() {
            if layers.contains(&layer) {
                let name = layer.name();
                let _ = writeln!(
                    out,
                    "<label><input type=\"checkbox\" data-layer=\"{place}\" checked> {name}</label>"
                );
            }
        }
        out.push_str("</fieldset>\n<fieldset>");
        for act in ACTS {
            let name = act.name();
            let _ = write!(out, "<span class=\"key {name}\">{name}</span>");
        }
        let tall = 60 + 130 * layers.len();
        let measures = self.measures_table(window).to_html();
        let _ = write!(
            out,
            "</fieldset>\n<div id=\"stage\"><canvas id=\"view\" tabindex=\"0\" \
             style=\"height: {tall}px\" aria-label=\"events of each layer over time\"></canvas>\n\
             <div id=\"told\" hidden></div></div>\n\
             <p>Each layer by its own bytes. Turn the wheel to zoom, drag to move, click twice for \
             all; keys: + − ← → 0. Triangles were sent again or damaged, crosses were lost; what \
             has no bytes of its own lies at the foot of its lane.</p>\n\
             {measures}<script type=\"application/json\" id=\"data\">{data}</script>\n\
             <script>\n{SCRIPT}</script>\n</main>\n</body>\n</html>\n"
        );
        out
    }

    /// The events as JSON that may stand inside a script.
    fn page_data(&self, rows: &[&LayerRow]) -> String {
        let mut notes = vec![""];
        let mut known = BTreeMap::from([("", 0)]);
        let mut all = Vec::with_capacity(rows.len());
        for row in rows {
            let note = *known.entry(row.note.as_str()).or_insert_with(|| {
                notes.push(row.note.as_str());
                notes.len() - 1
            });
            let layer = LogLayer::ALL.iter().position(|it| *it == row.layer).unwrap_or(0);
            let act = ACTS.iter().position(|it| *it == row.act).unwrap_or(0);
            let sender = row.sender.unwrap_or(0);
            let position = row.position.filter(|_| row.layer != LogLayer::Block);
            all.push((row.time, layer, sender, act, row.number, position, row.len, note));
        }
        let first = rows.first().map_or(0.0, |row| row.time);
        let last = rows.last().map_or(0.0, |row| row.time);
        let margin = 0.01 * (last - first).max(0.01);
        let data = PageData {
            span: [first - margin, last + margin],
            layers: LogLayer::ALL.map(LogLayer::name).to_vec(),
            acts: ACTS.map(Act::name).to_vec(),
            notes,
            rows: all,
        };
        // All of it are numbers and texts.
        serde_json::to_string(&data).unwrap_or_default().replace('<', "\\u003c")
    }
}

#[cfg(test)]
mod tests {
    use windfall_base::MemoryBudget;

    use super::*;

    const LOG: &str = include_str!("../../../../../fuzz/corpus/event_log/circuit");

    fn page(log: &str) -> String {
        let log = LayerLog::read(log, &mut MemoryBudget::default()).expect("a log");
        log.page("a < b", 0, LogWindow::ALL)
    }

    fn data(page: &str) -> serde_json::Value {
        let (_, rest) = page.split_once("id=\"data\">").expect("data");
        serde_json::from_str(rest.split_once("</script>").expect("an end").0).expect("JSON")
    }

    //= S1.32
    #[test]
    fn the_page_holds_each_event_of_a_direction_and_needs_nothing_else() {
        let page = page(LOG);
        let log = LayerLog::read(LOG, &mut MemoryBudget::default()).expect("a log");
        let shown = log
            .rows
            .iter()
            .filter(|row| {
                row.sender.is_some() && !(row.layer == LogLayer::Block && row.act == Act::Arrived)
            })
            .count();
        let data = data(&page);
        assert_eq!(data["rows"].as_array().expect("a list").len(), shown);
        let packet = &data["rows"].as_array().expect("a list")[0];
        assert_eq!(packet.as_array().expect("a row").len(), 8);
        assert!(page.contains("<title>a &lt; b</title>"));
        for elsewhere in ["http://", "https://", "src=", "@import"] {
            assert!(!page.contains(elsewhere), "{elsewhere}");
        }
    }

    #[test]
    fn no_note_of_a_log_ends_the_script() {
        let evil = LOG.replace("frame-check", "</script><b>");
        let page = page(&evil);
        assert_eq!(page.matches("</script>").count(), 2);
        let notes = data(&page)["notes"].clone();
        assert!(notes.as_array().expect("a list").iter().any(|it| it == "</script><b>"));
    }
}
