use proptest::prelude::*;

use super::*;

fn chart() -> Chart {
    Chart {
        title: "TCP with local retransmission".into(),
        subtitle: "mean and range of five 1 MB runs".into(),
        x: Axis::linear("packet loss (%)"),
        y: Axis::linear("throughput (KB/s)"),
        series: vec![
            Series::curve("ideal", Mark::Dashed, (0.0, 100.0), 1, |p| 100.0 - p),
            Series::new(
                "measured",
                Mark::LinePoints,
                vec![Point::of(0.0, &[95.0, 97.0, 99.0]).unwrap(), Point::new(50.0, 48.0)],
            ),
        ],
        rules: vec![(80.0, "available".into())],
    }
}

#[test]
fn the_drawing_names_title_axes_series_and_rules() {
    let svg = chart().to_svg();
    for part in [
        "TCP with local retransmission",
        "mean and range of five 1 MB runs",
        "packet loss (%)",
        "throughput (KB/s)",
        ">ideal<",
        ">measured<",
        ">available<",
    ] {
        assert!(svg.contains(part), "{part} is missing");
    }
    assert_eq!(svg, chart().to_svg(), "the same chart gives the same bytes");
}

//= S3.5
#[test]
fn a_point_is_the_mean_and_its_bar_the_range() {
    let point = Point::of(5.0, &[90.0, 100.0, 95.0, 91.0, 99.0]).unwrap();
    assert_eq!((point.y, point.spread), (95.0, Some((90.0, 100.0))));
    assert_eq!(Point::of(5.0, &[]), None);
    let with = chart().to_svg().matches("<line").count();
    let mut bare = chart();
    bare.series[1].points[0].spread = None;
    assert_eq!(with - bare.to_svg().matches("<line").count(), 3, "a bar and its two ends");
}

#[test]
fn each_marker_says_its_value() {
    let svg = chart().to_svg();
    let value = "measured: packet loss (%) 0, throughput (KB/s) 97 (95 to 99)";
    assert!(svg.contains(&format!("<title>{value}</title>")), "{svg}");
}

#[test]
fn a_series_behind_another_shows_on_both_sides_of_it() {
    let line = |name: &str, y| {
        Series::new(name, Mark::LinePoints, vec![Point::new(0.0, y), Point::new(1.0, y)])
    };
    let with = |series: Vec<Series>| Chart { series, ..chart() }.to_svg();
    let apart = with(vec![line("a", 1.0), line("b", 2.0)]);
    assert!(!apart.contains("stroke-width=\"5\""), "{apart}");
    let alike = with(vec![line("a", 1.0), line("b", 1.0), line("c", 2.0)]);
    assert_eq!(alike.matches("stroke-width=\"5\"").count(), 1, "{alike}");
    let markers = |svg: &str| svg.matches("a5.70 5.70").count();
    assert_eq!((markers(&apart), markers(&alike)), (0, 4), "{alike}");
}

#[test]
fn ten_series_differ_in_colour_or_shape() {
    let series = (0..10)
        .map(|i| Series::new(format!("{i}"), Mark::Points, vec![Point::new(f64::from(i), 0.0)]));
    let svg = Chart { series: series.collect(), ..Chart::default() }.to_svg();
    let markers = svg.lines().filter(|line| line.starts_with("<path"));
    // Without lengths: the commands of the shape, their signs, and the colour.
    let look = |line: &str| -> Option<String> {
        let (shape, color) = line.split_once(" fill=")?;
        let shape = shape.chars().filter(|it| it.is_ascii_alphabetic() || *it == '-');
        Some(shape.chain(color.chars()).collect())
    };
    let looks: std::collections::BTreeSet<_> = markers.map(look).collect();
    assert_eq!(looks.len(), 10, "{looks:?}");
}

#[test]
fn a_value_that_cannot_be_shown_interrupts_the_line() {
    let mut chart = chart();
    chart.y = Axis::log("loss");
    let values = [(0.0, 1.0), (1.0, 0.1), (2.0, 0.0), (3.0, 0.1), (4.0, 1.0)];
    let points = values.map(|(x, y)| Point::new(x, y)).to_vec();
    chart.series = vec![Series::new("loss", Mark::Line, points)];
    assert_eq!(chart.to_svg().matches("<polyline").count(), 2);
}

#[test]
fn bars_stand_on_zero_beside_each_other() {
    let bars = |name: &str, y| Series::new(name, Mark::Bars, vec![Point::new(0.0, y)]);
    let chart = Chart {
        x: Axis::names("policy", vec!["BOLD".into(), "FLEX".into()]),
        series: vec![bars("TCP", 40.0), bars("UDP", 44.0)],
        ..Chart::default()
    };
    let svg = chart.to_svg();
    // The background, two bars, two entries of the legend and the clip.
    assert_eq!(svg.matches("<rect").count(), 6);
    assert!(svg.contains(">BOLD<") && svg.contains(">0<"));
}

proptest! {
    #[test]
    fn any_values_give_a_drawing(
        values in prop::collection::vec((any::<f64>(), any::<f64>()), 0..20),
        logarithmic in any::<bool>(),
        mark in prop::sample::select(vec![
            Mark::Line, Mark::Dashed, Mark::LinePoints, Mark::Points, Mark::Dots, Mark::Bars,
        ]),
    ) {
        let points = values.iter().map(|&(x, y)| Point { x, y, spread: Some((x, y)) }).collect();
        let axis = if logarithmic { Axis::log("y") } else { Axis::linear("y") };
        let series = vec![Series::new("a", mark, points)];
        let chart = Chart { y: axis, series, ..Chart::default() };
        let svg = chart.to_svg();
        prop_assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        prop_assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
}

#[test]
fn a_picture_stands_between_its_corners_with_its_caption() {
    let chart = Chart {
        x: Axis::names("way", vec!["a".to_owned(), "b".to_owned()]),
        y: Axis::names("rate", vec!["c".to_owned()]),
        series: vec![
            Series::picture("first", (0.0, 0.0), (0.4, 0.4), b"Man".to_vec()),
            Series::picture("second", (1.0, 0.0), (0.4, 0.4), b"Ma".to_vec()),
            Series::picture("missing", (1.0, 0.0), (0.4, 0.4), Vec::new()),
        ],
        ..Chart::default()
    };
    let svg = chart.to_svg();
    // The example of RFC 4648, and padding.
    assert!(svg.contains("href=\"data:image/jpeg;base64,TWFu\"/>"), "{svg}");
    assert!(svg.contains("base64,TWE=\"/>"), "{svg}");
    assert_eq!(svg.matches(">first<").count(), 1, "no legend: {svg}");
    assert_eq!(svg.matches("<image").count(), 2);
}
