use super::*;

fn file(text: &[u8], numbers: usize) -> Vec<u8> {
    let mut file = b"\x93NUMPY\x03\x00".to_vec();
    file.extend((text.len() as u32).to_le_bytes());
    file.extend(text);
    file.extend((0..numbers).map(|at| at as u8));
    file
}

#[test]
fn a_header_is_read_in_every_spelling_of_python() {
    for text in [
        &b"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }\n"[..],
        b"{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (3, 2)}",
        b"{u'shape': (3L, 2L), u'fortran_order': True, u'descr': u'<f4'}\n",
        b"  {'shape':(3,2,),'descr':'<f4','fortran_order':False}",
        b"{'shape': # rows\n  (3,\n 2),\n\t'descr'\n: ('<f4'), \\\n'fortran_order': False,\n}\n\n",
        b"{'sha' \"pe\": [0x3, 2], '''descr''': r'<f4', 'x': -1.5}",
        b"{'\\x64escr': b'<f4', 'shape': 6, 'fortran_order': None}",
        b"{'descr': '<f4', 'shape': (6,), 'a': {'b': [(), [],], }, 'e\\'f': 'g\"h'}",
        b"{'descr': [('\xc3\xa9', '<f2'), ('b', '|S2')], 'shape': (6,)}",
        b"{'descr': [('\xe9', '<u2', (2,))], 'shape': (2, 3)}",
        b"{'descr': [(('title', 'name'), [('a', '|i1'), ('', '|V3')])], 'shape': (6,)}",
        b"{'descr': ('|u1', (2, 2)), 'shape': (6,)}",
        b"{'descr': '<U1', 'shape': (6,)}",
        b"{'descr': '<M4[ns]', 'shape': (6,)}",
    ] {
        let data = [file(text, 24), file(text, 24)].concat();
        let (arrays, rest) = arrays(&data);
        let name = String::from_utf8_lossy(text);
        assert_eq!((arrays.len(), rest), (2, data.len()), "{name}");
        assert_eq!(arrays[1].numbers, data.len() - 24..data.len(), "{name}");
        if name.contains("<f4") {
            assert_eq!(arrays[0].kind.as_deref(), Some("<f4"), "{name}");
        }
    }
}

#[test]
fn what_is_no_header_of_an_array_has_no_type() {
    for text in [
        &b"{'a'}\n"[..],
        b"",
        b"{'descr': '<f4'}",
        b"{'descr': '<f4', 'shape': (3,)",
        b"{'descr': '<f4', 'shape': (3,)} more",
        b"{'descr': '<f4\n', 'shape': (3,)}",
        b"{'descr': '<f4', 'shape': (word,)}",
    ] {
        let data = [file(text, 24), file(b"{'descr': '<f4', 'shape': ()}", 4)].concat();
        let (arrays, _) = arrays(&data);
        assert_eq!(arrays[0].kind, None);
        assert_eq!(arrays[1].header.start, 12 + text.len() + 24, "the next one is found");
    }
    for bracket in ["[", "(", "{", "{1:", "[1,(", "{(),:["] {
        let deep = format!("{{'descr': {}", bracket.repeat(60_000 / bracket.len()));
        assert_eq!(arrays(&file(deep.as_bytes(), 8)).0[0].kind, None, "{bracket}");
    }
}

#[test]
fn an_array_of_unknown_length_is_the_last_one() {
    for kind in ["'|O'", "[('a', '|O')]", "'f4,f4'", "'d'", "'<f4', 'shape': (-3,), 'a': 0"] {
        let text =
            format!("{{'descr': {kind}, 'shape': (3,)}}").replace("'a': 0, 'shape': (3,)", "");
        let data = [file(text.as_bytes(), 24), file(b"{}", 4)].concat();
        let (arrays, rest) = arrays(&data);
        assert_eq!((arrays.len(), rest), (1, 12 + text.len()), "{text}");
    }
}

#[test]
fn a_header_longer_than_any_of_numpy_is_none() {
    let text = |length: usize| {
        let text = b"{'descr': '<f4', 'shape': (2,)}";
        [&text[..], &b" ".repeat(length - text.len())].concat()
    };
    let longest = file(&text(LONGEST_HEADER), 8);
    assert_eq!(arrays(&longest).0.len(), 1);
    let longer = file(&text(LONGEST_HEADER + 1), 8);
    assert_eq!(arrays(&longer), (Vec::new(), 0));
    // Its brackets alone would take many times its bytes.
    let brackets = file(&b"[],".repeat(1_000_000), 0);
    assert_eq!(arrays(&brackets), (Vec::new(), 0));
    let deep = [b"{'descr': ".to_vec(), b"[".repeat(100_000)].concat();
    assert_eq!(arrays(&file(&deep, 8)), (Vec::new(), 0));
}

#[test]
fn no_more_arrays_are_told_apart_than_memory_is_kept_for() {
    let empty = b"\x93NUMPY\x01\x00\x00\x00";
    let scalar = file(b"{'descr': '|u1', 'shape': ()}", 1);
    let strange =
        file(format!("{{'descr': '<f{}4', 'shape': 0}}", "0".repeat(9_000)).as_bytes(), 0);
    for (array, count) in [(&empty[..], 100_000), (&scalar, 20_000), (&strange, 5_000)] {
        let many = array.repeat(count);
        let (arrays, rest) = arrays(&many);
        assert_eq!((arrays.len(), rest), (MOST_ARRAYS, MOST_ARRAYS * array.len()));
        let kinds = arrays.iter().filter_map(|it| it.kind.as_ref()).map(String::capacity);
        assert!(kinds.sum::<usize>() <= MOST_ARRAYS * 2 * LONGEST_KIND);
    }
}
