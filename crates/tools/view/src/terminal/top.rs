//! The live view of a run: rates, queues, delays and losses of the last minutes, drawn by ratatui.

use std::collections::{BTreeMap, VecDeque};

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Sparkline, Widget as _};
use windfall_base::text::visible;
use windfall_control::protocol::{LinkStatus, RunStatus, Samples};
use windfall_output::series::Sample;

/// The most windows that are kept of each direction and flow: five minutes.
const KEPT: usize = 1200;
/// Rows of a direction: its settings, the last window, its counts, three charts, none.
const ROWS: u16 = 7;

/// A chart: its label, its colour, and its value of a window.
type Chart = (&'static str, Color, fn(&Sample) -> f64);

/// The history of a run, as it comes in replies of its control socket.
#[derive(Clone, Debug, Default)]
pub struct RunView {
    name: String,
    status: RunStatus,
    /// The windows of each direction and flow, by link and flow.
    windows: BTreeMap<(String, String), VecDeque<Sample>>,
    last: f64,
    notice: String,
}

impl RunView {
    /// The view of the run of this name, of which nothing is known yet.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: visible(name).into_owned(), ..Self::default() }
    }

    /// The end of the last window that is known, in seconds.
    #[must_use]
    pub fn last(&self) -> f64 {
        self.last
    }

    /// Takes a status.
    pub fn take_status(&mut self, status: RunStatus) {
        self.status = status;
    }

    /// Takes the windows that ended since.
    pub fn take_samples(&mut self, reply: Samples) {
        for sample in reply.samples {
            let link = sample.link.clone();
            let flow = sample.flow.clone().unwrap_or_default();
            self.last = self.last.max(sample.t);
            let windows = self.windows.entry((link, flow)).or_default();
            if windows.len() >= KEPT {
                windows.pop_front();
            }
            windows.push_back(sample);
        }
    }

    /// Shows this in the last line.
    pub fn set_notice(&mut self, notice: &str) {
        self.notice = visible(notice).into_owned();
    }

    /// Draws the view.
    pub fn draw(&self, frame: &mut Frame<'_>) {
        let area = frame.area();
        self.render(area, frame.buffer_mut());
    }

    /// Draws the view of this size once, as text.
    #[must_use]
    pub fn to_text(&self, width: u16, height: u16) -> String {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        self.render(area, &mut buffer);
        let row = |y| {
            let cells = (0..width).map(|x| buffer[(x, y)].symbol().to_owned());
            cells.collect::<String>().trim_end().to_owned()
        };
        let mut rows: Vec<String> = (0..height).map(row).collect();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows.join("\n") + "\n"
    }

    fn render(&self, area: Rect, buffer: &mut Buffer) {
        let [head, body, foot] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)])
                .areas(area);
        self.head().render(head, buffer);
        let mut top = body.y;
        for link in &self.status.links {
            let room = body.bottom().saturating_sub(top);
            if room < 2 {
                break;
            }
            let place = Rect { y: top, height: ROWS.min(room), ..body };
            self.direction(link, place, buffer);
            top += place.height;
        }
        for flow in self.flows() {
            if top >= body.bottom() {
                break;
            }
            let place = Rect { y: top, height: 1, ..body };
            Line::from(flow).render(place, buffer);
            top += 1;
        }
        let help = if self.notice.is_empty() { "q quits" } else { &self.notice };
        Line::styled(help, Style::new().add_modifier(Modifier::DIM)).render(foot, buffer);
    }

    fn head(&self) -> Paragraph<'_> {
        let RunStatus { t, changes, lateness: late, .. } = &self.status;
        let count = late.late_deliveries;
        let all = late.delivered;
        let mut text = format!(" {t:.0} s  changed {changes}  late {count} of {all}");
        if late.disturbed {
            text.push_str("  disturbed");
        }
        let name = Span::styled(&self.name, Style::new().add_modifier(Modifier::BOLD));
        Paragraph::new(Line::from(vec![name, Span::raw(text)]))
    }

    fn direction(&self, link: &LinkStatus, area: Rect, buffer: &mut Buffer) {
        let name = &link.summary.name;
        let windows = self.windows.get(&(name.clone(), String::new()));
        let last = windows.and_then(VecDeque::back).cloned().unwrap_or_default();
        let settings = link.settings.iter().map(|(key, it)| format!("{key}={it}"));
        let settings: Vec<String> = settings.collect();
        let title = format!("{}  {}", visible(name), visible(&settings.join(" ")));
        let bold = Style::new().fg(Color::Cyan).add_modifier(Modifier::BOLD);
        let lines =
            [Line::styled(title, bold), Line::raw(of_window(&last)), Line::raw(of_counts(link))];
        for (row, line) in (0..).zip(lines) {
            if row < area.height {
                line.render(Rect { y: area.y + row, height: 1, ..area }, buffer);
            }
        }
        let charts: [Chart; 3] = [
            ("rate  ", Color::Green, |it| it.rate_bps),
            ("delay ", Color::Yellow, |it| it.delay.map_or(0.0, |delay| delay.p95) * 1e6),
            ("air   ", Color::Magenta, |it| it.busy.unwrap_or(0.0) * 1e4),
        ];
        for (row, (label, colour, value)) in (3..).zip(charts) {
            if row >= area.height {
                break;
            }
            let line = Rect { y: area.y + row, height: 1, ..area };
            let [left, right] =
                Layout::horizontal([Constraint::Length(6), Constraint::Min(0)]).areas(line);
            Line::raw(label).render(left, buffer);
            let shown = windows.into_iter().flatten().map(|it| value(it) as u64);
            let shown: Vec<u64> = shown.collect();
            let from = shown.len().saturating_sub(usize::from(right.width));
            Sparkline::default().data(&shown[from..]).style(colour).render(right, buffer);
        }
    }

    /// A line for each flow of each direction.
    fn flows(&self) -> impl Iterator<Item = String> {
        let of_flows = self.windows.iter().filter(|((_, flow), _)| !flow.is_empty());
        of_flows.filter_map(|((link, flow), windows)| {
            let last = windows.back()?;
            Some(format!(
                "{} on {}: {}",
                visible(flow),
                visible(link),
                of_window(last).trim_start()
            ))
        })
    }
}

/// The rate, the queue, the delays and the losses of a window.
fn of_window(sample: &Sample) -> String {
    let rate = sample.rate_bps * 1e-6;
    let dropped = sample.dropped_in_all() as f64;
    let entered = sample.entered as f64;
    let loss = if entered > 0.0 { 100.0 * (dropped / entered).clamp(0.0, 1.0) } else { 0.0 };
    let queue = sample.queue_packets;
    let mut text = format!("  {rate:.2} Mbps  queue {queue}  loss {loss:.1} %");
    if let Some(busy) = sample.busy {
        text.push_str(&format!("  air {:.1} %", 100.0 * busy));
    }
    if let Some(delay) = sample.delay {
        let [half, most, rare] = [delay.p50, delay.p95, delay.p99].map(|it| 1e3 * it);
        text.push_str(&format!("  delay {half:.2} / {most:.2} / {rare:.2} ms"));
    }
    let bits = sample.bits_inverted;
    let again = sample.retransmitted;
    text.push_str(&format!("  bit errors {bits}  retransmitted {again}"));
    text
}

fn of_counts(link: &LinkStatus) -> String {
    let counts = &link.summary;
    let mut text = format!("  {} packets, {} delivered", counts.entered, counts.delivered);
    for (reason, count) in &counts.dropped {
        text.push_str(&format!(", {reason} {count}"));
    }
    text.push_str(&format!(", in flight {}", counts.in_flight));
    text
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn view() -> RunView {
        let mut view = RunView::new("office");
        let status = json!({
            "t": 12.0, "changes": 2, "lateness": {"late_deliveries": 1, "delivered": 90},
            "links": [{"name": "a-b/a", "settings": {"rate": "2Mbps"}, "entered": 50,
                       "delivered": 40, "dropped": {"lost": 9}, "in_flight": 1}],
        });
        view.take_status(serde_json::from_value(status).expect("a status"));
        let sample = |t: f64, rate: f64| {
            json!({
                "t": t, "link": "a-b/a", "rate_bps": rate, "queue_packets": 7, "entered": 10,
                "dropped": {"lost": 2}, "delay": {"p50": 0.01, "p95": 0.02, "p99": 0.03},
                "bits_inverted": 4, "retransmitted": 3, "busy": 0.125,
            })
        };
        let samples: Vec<Value> =
            (1..=8).map(|it| sample(f64::from(it), f64::from(it) * 1e5)).collect();
        let samples = json!({ "samples": samples });
        view.take_samples(serde_json::from_value(samples).expect("windows"));
        view
    }

    #[test]
    fn a_direction_has_its_settings_its_window_its_counts_and_its_charts() {
        let view = view();
        assert!((view.last() - 8.0).abs() < 1e-9);
        let text = view.to_text(120, 24);
        for part in [
            "office 12 s  changed 2  late 1 of 90",
            "a-b/a  rate=2Mbps",
            "0.80 Mbps  queue 7  loss 20.0 %  air 12.5 %  delay 10.00 / 20.00 / 30.00 ms",
            "50 packets, 40 delivered, lost 9, in flight 1",
            "rate  ▁▂▃▄▅▆▇█",
            "delay ████████",
            "air   ████████",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }

    #[test]
    fn any_size_is_drawn() {
        for (width, height) in [(1, 1), (20, 2), (40, 5), (80, 9), (300, 80)] {
            let text = view().to_text(width, height);
            assert!(text.lines().all(|line| line.chars().count() <= usize::from(width)));
            assert!(text.lines().count() <= usize::from(height));
        }
        assert!(RunView::new("\u{1b}[31m").to_text(80, 4).find('\u{1b}').is_none());
    }
}
