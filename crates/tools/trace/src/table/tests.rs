use super::*;
use proptest::prelude::*;

const TABLE: &str = "\
Timestamp,Operator,DL bitrate,RTT
1600000000.5,a,1200,40
1600000001.5,b,9,9
1600000002.5,a,1200,-
1600000003.25,a,800.5,60
1600000004.5,a,800.5,60
";

fn changes(filters: &[&str]) -> TableChanges {
    TableChanges {
        time: "Timestamp".parse().expect("a column"),
        assignments: ["downlink rate=DL bitrate:kbps", "delay=RTT*0.5:ms"]
            .iter()
            .map(|it| it.parse().expect("an assignment"))
            .collect(),
        filters: filters.iter().map(|it| it.parse().expect("a filter")).collect(),
    }
}

#[test]
fn a_change_stands_for_each_row_in_which_something_changes() {
    let lines = changes(&["Operator=a"]).read(TABLE.as_bytes()).expect("changes").text;
    let expected = "\
0s: downlink rate 1200kbps, delay 20ms
2.75s: downlink rate 800.5kbps, delay 30ms
";
    assert_eq!(lines, expected);
}

#[test]
fn what_cannot_be_read_is_named() {
    let read = |table: &str| changes(&[]).read(table.as_bytes()).expect_err(table).to_string();
    let names = "Timestamp,Operator,DL bitrate,RTT\n";
    for (table, part) in [
        ("Time,RTT\n1,2\n", "no column \"Timestamp\"; there are: Time, RTT"),
        (&format!("{names}1,a,fast,4\n"), "line 2: \"fast\" in the column \"DL bitrate\""),
        (&format!("{names}200,a,1,4\n1,a,1,4\n"), "line 3: the time \"1\" lies before"),
        (&format!("{names}2,a,1,4,9\n"), "line 2: there are 5 cells, and the first line has 4"),
        (&format!("{names}2020-13-01T00:00,a,1,4\n"), "there is no such month"),
        (&format!("{names}02/03/2020 10:00,a,1,4\n"), "it may be of two days"),
        ("\u{0}a", "no text in UTF-8"),
        (names, "no row of the table gives a value"),
        ("", "the table is empty"),
        ("# a comment\n\n", "the table is empty"),
    ] {
        let said = read(table);
        assert!(said.contains(part), "{table}: {said}");
    }
    let none = changes(&["Operator=c"]).read(TABLE.as_bytes()).expect_err("no such row");
    assert!(none.to_string().contains("passes the filters"), "{none}");
    for text in ["a*0:ms", "a*x:ms", ":ms", ""] {
        assert!(text.parse::<Column>().is_err(), "{text}");
    }
    assert!("rate".parse::<Assignment>().is_err() && "a".parse::<Filter>().is_err());
}

proptest! {
    #[test]
    fn any_bytes_are_a_table_or_an_error(bytes: Vec<u8>) {
        let table = [b"Timestamp,Operator,DL bitrate,RTT\n", &bytes[..]].concat();
        let _ = changes(&[]).read(&table);
    }
}

#[test]
fn a_value_that_no_change_takes_is_refused_with_its_line() {
    let table = "Timestamp,Operator,DL bitrate,RTT\n1,a,5,4\n2,a,-,\n3,a,-5,4\n3,a,,6\n";
    let mut seen = Vec::new();
    let error = changes(&[]).read_checked(table.as_bytes(), &mut |change| {
        seen.push(change.to_owned());
        if change.contains('-') { Err("it is below 0".to_owned()) } else { Ok(()) }
    });
    assert_eq!(error, Err(MeasurementError::Line(4, "it is below 0".to_owned())));
    assert_eq!(seen, ["downlink rate 5kbps", "delay 2ms", "downlink rate -5kbps"]);
}

/// Returns the changes of a table for `--time t --set rate=dl:kbps`, or for other columns.
fn of(table: &str, time: &str, setting: &str) -> Result<MeasuredChanges, MeasurementError> {
    let setting: Assignment = setting.parse().expect("an assignment");
    let time = time.parse().expect("a column");
    let filters = Vec::new();
    TableChanges { time, assignments: vec![setting], filters }.read(table.as_bytes())
}

#[test]
fn times_without_anything_between_their_digits_are_read_by_the_calendar() {
    for (one, other, apart) in [
        ("20200227173015", "20200227173016", "1"),
        ("20200227173059", "20200227173100", "1"),
        ("20200229235959", "20200301000000", "1"),
        ("20200227173015250", "20200227173015750", "0.5"),
        ("20200227173015000250", "20200227173015000750", "0.0005"),
        ("20200227173015.25", "20200227173015.75", "0.5"),
        ("20200227173015Z", "20200227183016+0100", "1"),
        ("20200227T173015", "20200227T173016", "1"),
        ("20200227T173015.5", "20200227T173016.25", "0.75"),
        ("20200227T173015250", "20200227T173015750Z", "0.5"),
        ("20200227 173015", "20200227_173100", "45"),
        ("20200227173015", "20200227T173016", "1"),
        // Times since 1970 keep all their digits.
        ("1582824615.123", "1582824615.124", "0.001"),
        ("2020-02-27T17:30:15.123", "2020-02-27T17:30:15.246", "0.123"),
    ] {
        let table = format!("t,dl\n{one},1\n{other},2\n");
        let text = of(&table, "t", "rate=dl:kbps").expect("changes").text;
        assert_eq!(text, format!("0s: rate 1kbps\n{apart}s: rate 2kbps\n"), "{one} {other}");
    }
    for (time, one, other, apart) in [
        ("t:ms", "1582824615123", "1582824615125", "0.002"),
        ("t:us", "1582824615123456", "1582824615123556", "0.0001"),
        ("t:ns", "1582824615123456789", "1582824615123459789", "0.000003"),
        // Less than a number of 64 bits can tell apart so far from 1970, by the binary point.
        ("t:ns", "1582824615123456789", "1582824615123456790", "0.000000001"),
        ("t:ns", "1582824615123456789", "1582824616123456789", "1"),
        ("t:ns", "1582824615123456789", "1582824616123456790", "1.000000001"),
        ("t:us", "1582824615123456.5", "1582824615123456.75", "0.00000025"),
        ("t", "1582824615.123456789", "1582824616.123456788", "0.999999999"),
        ("t", "20200227173015123456789", "20200227173015123456790", "0.000000001"),
        ("t", "2020-02-27T17:30:15.123456789", "2020-02-27T17:30:15.12345679", "0.000000001"),
        ("t*1e-6", "1582824615123456.789", "1582824615123456.79", "0.000000001"),
        ("t*60", "1", "2", "60"),
        // A number that would be a day and a time of day, were it not for its factor.
        ("t*1e-9", "20200227173015", "20200228173015", "0.001"),
    ] {
        let table = format!("t,dl\n{one},1\n{other},2\n");
        let text = of(&table, time, "rate=dl:kbps").expect("changes").text;
        assert_eq!(text, format!("0s: rate 1kbps\n{apart}s: rate 2kbps\n"), "{time}");
    }
}

#[test]
fn a_factor_or_a_unit_of_calendar_times_is_refused() {
    for cells in [
        ("2020-02-27T17:30:15", "2020-02-27T17:30:16"),
        ("17:30:15", "17:30:16"),
        ("20200227T173015", "20200227T173016"),
        ("27.02.2020", "28.02.2020"),
    ] {
        let table = format!("t,dl\n{},1\n{},2\n", cells.0, cells.1);
        assert!(of(&table, "t", "rate=dl:kbps").is_ok());
        for time in ["t:ms", "t:s", "t*2", "t*0.001:s"] {
            let error = of(&table, time, "rate=dl:kbps").expect_err(time).to_string();
            let said = "a factor or a unit is for numbers: name the column \"t\" alone";
            assert!(error.starts_with("line 2: ") && error.contains(said), "{time}: {error}");
        }
    }
}

proptest! {
    #[test]
    fn times_since_1970_keep_their_nanoseconds(
        start in 0_u64..4_000_000_000_000_000_000,
        apart in 1_u64..100_000_000_000,
    ) {
        let table = format!("t,dl\n{start},1\n{},2\n", start + apart);
        let text = of(&table, "t:ns", "rate=dl:kbps").expect("changes").text;
        let since = format!("{}.{:09}", apart / 1_000_000_000, apart % 1_000_000_000);
        let since = since.trim_end_matches('0').trim_end_matches('.');
        prop_assert_eq!(text, format!("0s: rate 1kbps\n{since}s: rate 2kbps\n"));
    }
}

#[test]
fn a_time_that_cannot_be_represented_is_refused() {
    for (one, other, why) in [
        ("20201327173015", "20201327173016", "too far away in seconds: name its unit"),
        ("1582824615123", "1582824615125", "too far away in seconds: name its unit"),
        ("1e300", "2e300", "too far away"),
        ("0", "18000000000", "more than 500 years after the first one"),
        ("1200-01-01", "2020-01-01", "more than 500 years"),
        ("20200227T176015", "20200227T173016", "no such time of day"),
        ("00:01.5", "00:03.0", "minutes and seconds"),
    ] {
        let table = format!("t,dl\n{one},1\n{other},2\n");
        let error = of(&table, "t", "rate=dl:kbps").expect_err(one).to_string();
        assert!(error.contains(why), "{one}: {error}");
    }
}

#[test]
fn zeros_are_pauses_and_gaps_change_nothing() {
    let table = "t,dl\n0,1000\n1,0\n\n2,-\n3,500\n4\n5,NaN\n";
    let changes = of(table, "t", "rate=dl:kbps").expect("changes");
    assert_eq!(changes.text, "0s: rate 1000kbps\n1s: rate 0kbps\n3s: rate 500kbps\n");
    assert_eq!(changes.notes, Vec::<String>::new());
    let timeless = of("t,dl\n0,1\n-,2\n3,4\n", "t", "rate=dl:kbps").expect("changes");
    assert_eq!(timeless.notes, ["1 row has no time, and is left out"]);
    let timeless = of("t,dl\n0,1\n-,2\n-,2\n3,4\n", "t", "rate=dl:kbps").expect("changes");
    assert_eq!(timeless.notes, ["2 rows have no time, and are left out"]);
}

#[test]
fn tables_of_spreadsheets_say_their_separator_and_end_lines_as_they_like() {
    let expected = "0s: rate 1.5Mbps\n2s: rate 3Mbps\n";
    for table in [
        "sep=;\r\nt;dl\r\n0;1,5\r\n2;3,0\r\n",
        "\u{feff}sep=,\nt,dl\n0,1.5\n2,3\n",
        "SEP=\t\nt\tdl\n0\t1.5\n2\t3\n",
        "\"sep=|\"\nt|dl\n0|1.5\n2|3\n",
        "sep=;\rt;dl\r0;1.5\r2;3\r",
        "t,dl\r0,1.5\r2,3",
        "t,dl\r\r\n0,1.5\r\r\n2,3\r\r\n",
        "t,dl\n0,1.5\r2,3\r\n",
    ] {
        let changes = of(table, "t", "rate=dl:Mbps").expect(table);
        assert_eq!(changes.text, expected, "{table:?}");
        assert_eq!(changes.notes, Vec::<String>::new(), "{table:?}");
    }
    // The line of the separator counts, so that errors name the line of the file.
    let error = of("sep=;\rt;dl\r0;fast\r", "t", "rate=dl:Mbps").expect_err("no number");
    assert!(error.to_string().contains("line 3"), "{error}");
    // A column may have this name all the same.
    let named = of("sep=,dl\n0,1\n", "sep=", "rate=dl:Mbps").expect("a table");
    assert_eq!(named.text, "0s: rate 1Mbps\n");
}

#[test]
fn cells_are_separated_by_what_the_table_has() {
    let expected = "0s: rate 1.5Mbps\n2s: rate 3Mbps\n";
    for table in [
        "t,dl\n0,1.5\n2,3\n",
        "\u{feff}t;dl\n0;1,5\n2;3,0\n",
        "t\tdl\r\n0\t1.5\r\n2\t3\r\n",
        "  t   dl\n  0  1.5\n  2    3\n",
        "# a comment\nt,dl\n0,1.5\n# another\n2,3\n",
        "# t dl\n0 1.5\n2 3\n",
        "\"t\",\"dl\"\n\"0\",\"1.5\"\n\"2\",\"3\"\n",
    ] {
        let changes = of(table, "t", "rate=dl:Mbps").expect(table);
        assert_eq!(changes.text, expected, "{table}");
    }
}

#[test]
fn columns_without_names_have_numbers() {
    let expected = "0s: rate 1.5Mbps\n2s: rate 3Mbps\n";
    for table in ["7,x,1.5\n9,x,3\n", "7 x 1.5\n9 x 3\n", "time;who;dl\n7;x;1,5\n9;x;3\n"] {
        let changes = of(table, "1", "rate=3:Mbps").expect(table);
        assert_eq!(changes.text, expected, "{table}");
    }
    let error = of("7,1\n", "1", "rate=3:Mbps").expect_err("there are two");
    assert!(error.to_string().contains("no column \"3\""), "{error}");
}

#[test]
fn times_of_the_calendar_are_read() {
    for (first, second, since) in [
        ("2019.11.25_15.34.34", "2019.11.25_15.34.36", "2"),
        ("2020-02-28T23:59:59Z", "2020-02-29T00:00:01Z", "2"),
        ("2020-02-28 23:59:59.25", "2020-02-29 00:00:01.75", "2.5"),
        ("2020-03-29T01:59:59+01:00", "2020-03-29T03:00:00+02:00", "1"),
        ("2020-02-28T23:59:59", "20200229T000002", "3"),
        ("31.12.2019 23:59:59", "01.01.2020 00:00:00", "1"),
        ("2020/01/01 10:00", "2020/01/01 10:01", "60"),
        ("23:59:59", "00:00:02", "3"),
        ("1582824615.5", "1582824617", "1.5"),
    ] {
        let table = format!("t,dl\n{first},1\n{second},2\n");
        let changes = of(&table, "t", "rate=dl:Mbps").expect(first);
        assert_eq!(changes.text, format!("0s: rate 1Mbps\n{since}s: rate 2Mbps\n"), "{first}");
    }
}

#[test]
fn rows_of_one_time_are_one_change_and_rows_are_sorted() {
    let table = "t,dl\n5,1\n5,2\n7,3\n6,4\n6,-\n";
    let changes = of(table, "t", "rate=dl:Mbps").expect("changes");
    assert_eq!(changes.text, "0s: rate 2Mbps\n1s: rate 4Mbps\n2s: rate 3Mbps\n");
    let note = "2 rows have a time before the one above: the rows are sorted by time";
    assert_eq!(changes.notes, [note]);
}

/// The clock of a system has no time for a leap second: it is that of the second behind it.
#[test]
fn the_rows_of_a_leap_second_and_of_the_second_behind_it_are_one_change() {
    let expected = "0s: rate 1Mbps, delay 10ms\n1s: rate 3Mbps, delay 20ms\n2s: rate 4Mbps\n";
    for [first, leap, next, last] in [
        ["23:59:59", "23:59:60", "00:00:00", "00:00:01"],
        [
            "2016-12-31T23:59:59Z",
            "2016-12-31T23:59:60Z",
            "2017-01-01T00:00:00Z",
            "2017-01-01T00:00:01Z",
        ],
    ] {
        let table = format!("t,dl,rtt\n{first},1,10\n{leap},2,20\n{next},3,-\n{last},4,20\n");
        let changes = TableChanges {
            time: "t".parse().expect("a column"),
            assignments: ["rate=dl:Mbps", "delay=rtt:ms"].map(|it| it.parse().expect(it)).into(),
            filters: Vec::new(),
        };
        let changes = changes.read(table.as_bytes()).expect(first);
        assert_eq!((changes.text.as_str(), changes.notes), (expected, Vec::new()));
    }
}

#[test]
fn blanks_separate_cells_only_where_nothing_else_does() {
    let expected = "0s: rate 1000kbps\n1s: rate 2000kbps\n";
    for separator in [",", ";", "\t", " ; ", ", "] {
        let table =
            format!("2020-02-27 17:30:15{separator}1000\n2020-02-27 17:30:16{separator}2000\n");
        let changes = of(&table, "1", "rate=2:kbps").expect(separator);
        assert_eq!(changes.text, expected, "{separator:?}");
    }
    for table in ["0;0,5\n1;1,5\n", "0 0,5\n1 1,5\n", "0\t0,5\n1\t1,5\n"] {
        let changes = of(table, "1", "rate=2:kbps").expect(table);
        assert_eq!(changes.text, "0s: rate 0.5kbps\n1s: rate 1.5kbps\n", "{table}");
    }
}

#[test]
fn what_would_be_read_wrongly_is_refused() {
    for (table, time, part) in [
        (
            "Date;Clock;dl\n2020-02-27;17:30:15;1000\n2020-02-27;17:30:16;2000\n",
            "Date",
            "line 3: the column \"Date\" has dates alone",
        ),
        (
            "Time,dl\n0,1000\n2020-03-01T00:00:00Z,2000\n",
            "Time",
            "line 3: the time \"2020-03-01T00:00:00Z\" is a date, where the first one is a number",
        ),
        ("Time,dl\n10:00,1\n2020-03-01 10:01,2\n", "Time", "the first one is a time of day"),
        (
            "Time,dl\n13/03/2020 10:00,1\n03/14/2020 10:00,2\n",
            "Time",
            "line 3: the time \"03/14/2020 10:00\" has its date as month, day, year, \
             the first one as day, month, year",
        ),
        (
            "Time,dl\n2020-03-13 10:00,1\n14.03.2020 10:00,2\n",
            "Time",
            "has its date as day, month, year",
        ),
        ("Time,dl,dl\n0,1,2\n1,3,4\n", "Time", "called \"dl\", those of the numbers 2, 3"),
    ] {
        let error = of(table, time, "rate=dl:kbps").expect_err(table).to_string();
        assert!(error.contains(part), "{table}: {error}");
    }
    // A row each day is no fault, nor is midnight without its time of day.
    for table in
        ["Time,dl\n2020-02-27,1\n2020-02-28,2\n", "Time,dl\n2020-02-27,1\n2020-02-28 00:00:00,2\n"]
    {
        let changes = of(table, "Time", "rate=dl:kbps").expect(table);
        assert_eq!(changes.text, "0s: rate 1kbps\n86400s: rate 2kbps\n", "{table}");
    }
}

#[test]
fn a_comma_that_may_separate_thousands_is_refused() {
    let read = |table: &str| {
        let time = "t".parse().expect("a column");
        let assignment = "rate=r:kbps".parse().expect("an assignment");
        TableChanges { time, assignments: vec![assignment], filters: Vec::new() }
            .read(table.as_bytes())
            .map(|changes| changes.text)
            .map_err(|error| error.to_string())
    };
    let refused = Err("line 3: \"1,000\" may be 1.000 or 1000: write one of them".to_owned());
    assert_eq!(read("t;r\n1;5\n2;1,000\n"), refused);
    assert_eq!(read("t\tr\n1\t5\n2\t1,000\n"), refused);
    // Another number shows that commas are decimal.
    for other in ["1,5", "0,500", "1234,567"] {
        let changes = read(&format!("t;r\n1;{other}\n2;1,000\n")).expect("changes");
        assert!(changes.ends_with("1s: rate 1kbps\n"), "{other}: {changes}");
    }
    let times = read("t;r\n0,000;5\n1,000;6\n").expect("changes");
    assert_eq!(times, "0s: rate 5kbps\n1s: rate 6kbps\n");
    assert!(read("t;r\n10,250;5\n11,250;6\n").is_err());
}

#[test]
fn a_number_that_may_be_a_date_is_refused_until_its_unit_is_named() {
    let read = |time: &str, first: &str| {
        let time = time.parse().expect("a column");
        let assignment = "rate=r:kbps".parse().expect("an assignment");
        TableChanges { time, assignments: vec![assignment], filters: Vec::new() }
            .read(format!("t,r\n{first},1\n20200228,2\n").as_bytes())
            .map(|changes| changes.text)
            .map_err(|error| error.to_string())
    };
    let error = read("t", "20200227").expect_err("it may be a date");
    assert!(error.contains("\"20200227\" may be a date") && error.contains("\"t:s\""), "{error}");
    assert_eq!(read("t:s", "20200227"), Ok("0s: rate 1kbps\n1s: rate 2kbps\n".to_owned()));
}
