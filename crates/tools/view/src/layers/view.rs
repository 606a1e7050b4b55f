//! All layers over one axis of time.

use windfall_report::{Axis, Chart, Mark, Point, Series};

use crate::layers::log::{Act, LayerLog, LayerRow, LogLayer, LogWindow};

/// The series of the drawing: layer, events, name and mark.
const SERIES: [(LogLayer, &[Act], &str, Mark); 10] = [
    (LogLayer::Application, &[Act::Sent], "datagram sent", Mark::Points),
    (LogLayer::Rtp, &[Act::Sent], "RTP sent", Mark::Points),
    (LogLayer::Rtp, &[Act::Arrived, Act::Damaged], "RTP arrived", Mark::Points),
    (LogLayer::Ip, &[Act::Sent], "packet entered", Mark::Points),
    (LogLayer::Ip, &[Act::Arrived, Act::Damaged], "packet arrived", Mark::Points),
    (LogLayer::Ip, &[Act::Lost], "packet lost", Mark::Points),
    (LogLayer::Rlp, &[Act::Sent], "RLP frame sent", Mark::Dots),
    (LogLayer::Rlp, &[Act::Again], "RLP frame sent again", Mark::Points),
    (LogLayer::Rlp, &[Act::Arrived], "RLP frame arrived", Mark::Dots),
    (LogLayer::Block, &[Act::Damaged, Act::Lost], "damaged block", Mark::Points),
];

impl LayerLog {
    /// Returns the direction with the most packets in a window, or none if there is no packet.
    #[must_use]
    pub fn busiest(&self, window: LogWindow) -> Option<usize> {
        let measures = self.measures(window);
        let busiest = measures.iter().max_by_key(|it| it.entered)?;
        self.elements.iter().position(|name| *name == busiest.sender)
    }

    //= S1.32
    /// Draws what an interface sends at all layers over time: each by its own bytes from the
    /// beginning of the window, damaged blocks along the axis.
    #[must_use]
    pub fn view(&self, sender: usize, window: LogWindow) -> Chart {
        let rows: Vec<&LayerRow> = self
            .rows
            .iter()
            .filter(|row| row.sender == Some(sender) && window.contains(row.time))
            .collect();
        let base = |layer: LogLayer| {
            let of_layer = rows.iter().filter(|row| row.layer == layer);
            of_layer.filter_map(|row| row.position).min().unwrap_or(0)
        };
        let bases = LogLayer::ALL.map(base);
        let point = |row: &&&LayerRow| {
            let place = LogLayer::ALL.iter().position(|layer| *layer == row.layer).unwrap_or(0);
            let position = match row.layer {
                LogLayer::Block => 0,
                _ => row.position? - bases[place],
            };
            Some(Point::new(row.time, position as f64))
        };
        let series = SERIES.iter().enumerate().map(|(color, (layer, acts, name, mark))| {
            let points = rows
                .iter()
                .filter(|row| row.layer == *layer && acts.contains(&row.act))
                .filter_map(|row| point(&row))
                .collect();
            Series::new(*name, *mark, points).with_color(color)
        });
        let name = self.elements.get(sender).map_or("", String::as_str);
        Chart {
            title: format!("What {name} sends, layer by layer"),
            subtitle: "bytes of each layer from the beginning of the view".to_owned(),
            x: Axis::linear("time (s)"),
            y: Axis::linear("bytes").from_zero(),
            series: series.filter(|series| !series.points.is_empty()).collect(),
            rules: Vec::new(),
        }
    }
}
