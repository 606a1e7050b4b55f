use super::*;
use crate::fetch_error::FetchError;

const TOKEN: TransferToken = [3; 16];

/// A list of one range.
fn only(range: Range<usize>) -> Vec<Range<usize>> {
    core::iter::once(range).collect()
}

fn body() -> Vec<u8> {
    (1..=100).collect()
}

fn message(number: u32, data: &[u8]) -> Received {
    Received {
        stream: 1,
        kind: MessageKind::Approximate,
        number,
        data: Bytes::copy_from_slice(data),
        exact: Vec::new(),
        integrity: Integrity::Intact,
        missing: Vec::new(),
    }
}

/// A plan, and the first of its exact bytes.
fn plan_with(first: Range<usize>) -> Control {
    let plan = BodyPlan { token: TOKEN, piece: 30, length: 100, exact: vec![0..10, 50..55] };
    Control::Plan(plan, body()[first].to_vec().into())
}

fn plan() -> Control {
    plan_with(0..0)
}

/// The bytes that are not exact, in pieces of 30.
fn pieces() -> Vec<Received> {
    let body = body();
    let joined = [&body[10..50], &body[55..]].concat();
    joined.chunks(30).zip(0..).map(|(data, number)| message(number, data)).collect()
}

fn exact(range: Range<usize>) -> Control {
    Control::Exact(Bytes::from(body()[range].to_vec()))
}

#[test]
fn a_body_is_put_together_in_any_order() {
    let mut assembler = Assembler::new(TOKEN, false, BodyMemory::default());
    let [first, second, third] = pieces().try_into().expect("three");
    assembler.piece(third);
    assembler.control(plan_with(0..4));
    assembler.piece(first.clone());
    assembler.piece(first);
    assert!(!assembler.has_last_piece(), "exact bytes are on their way");
    assembler.control(Control::Exact([&body()[4..10], &body()[50..55]].concat().into()));
    assert!(!assembler.is_complete() && assembler.has_last_piece());
    assembler.piece(second);
    assert!(assembler.is_complete() && assembler.has_ended());
    let delivered = assembler.finish().expect("a body");
    assert!(delivered.damage.is_none() && delivered.ended);
    assert_eq!(bytes_of(delivered), body());
}

/// Returns the bytes of a body of which enough has arrived.
fn bytes_of(body: DeliveredBody) -> Bytes {
    body.into_bytes().expect("enough of it")
}

#[test]
fn loss_and_damage_are_ranges_of_the_body() {
    let mut assembler = Assembler::new(TOKEN, false, BodyMemory::default());
    assembler.control(plan_with(0..10));
    let [first, _, third] = &mut pieces()[..] else { panic!("three") };
    first.integrity = Integrity::Suspect(vec![0..5, 20..30]);
    third.missing = only(0..4);
    third.integrity = Integrity::Unknown;
    assembler.piece(first.clone());
    assembler.piece(third.clone());
    let delivered = assembler.finish().expect("a body");
    let mut damage = delivered.damage;
    assert!(!delivered.ended);
    // The second piece covers 40 to 50 and 55 to 75; the exact bytes between did not come.
    assert_eq!(damage.missing, only(40..79));
    assert_eq!(damage.suspect, [10..15, 30..40]);
    assert_eq!(damage.unchecked, 21);
    assert_eq!(damage.bytes(), (39, 15));
    assert_eq!(damage.ranges(), [10..15, 30..79]);
    damage.repaired(&(12..60));
    assert_eq!((damage.missing, damage.suspect), (only(60..79), only(10..12)));
}

#[test]
fn what_does_not_belong_to_the_transfer_is_refused() {
    let mut other = Assembler::new([4; 16], false, BodyMemory::default());
    other.control(plan());
    assert!(other.is_complete() && other.finish().is_none());
    let mut assembler = Assembler::new(TOKEN, false, BodyMemory::default());
    assembler.control(plan());
    assembler.piece(message(0, &[1; 29]));
    assembler.piece(message(3, &[1; 30]));
    assembler.piece(message(u32::MAX, &[1; 30]));
    assembler.control(Control::Exact(vec![1; 16].into()));
    assert!(assembler.is_complete());
    let delivered = assembler.finish().expect("a body");
    assert!(!delivered.ended);
    assert!(bytes_of(delivered).iter().all(|byte| *byte == 0));
}

#[test]
fn an_end_before_the_exact_bytes_and_what_is_malformed_end_a_transfer() {
    let mut assembler = Assembler::new(TOKEN, false, BodyMemory::default());
    assembler.control(plan_with(0..10));
    assembler.control(Control::End);
    assert!(assembler.is_complete());
    assert!(!assembler.finish().expect("what there is").ended);
    let mut assembler = Assembler::new(TOKEN, false, BodyMemory::default());
    assembler.control(plan());
    assembler.refuse(BodyMessageError::Kind(9).into());
    assert!(assembler.is_complete());
    assert_eq!(assembler.void(), Some(VoidBody::Malformed(BodyMessageError::Kind(9))));
    assert!(assembler.finish().is_none());
}

/// Takes pieces of ten bytes of sixty, and an end if there is one.
fn of_six(numbers: &[u32], has_end: bool) -> Assembler {
    let mut assembler = Assembler::new(TOKEN, false, BodyMemory::default());
    let plan = BodyPlan { token: TOKEN, piece: 10, length: 60, exact: Vec::new() };
    assembler.control(Control::Plan(plan, Bytes::new()));
    numbers.iter().for_each(|&number| assembler.piece(message(number, &[1; 10])));
    if has_end {
        assembler.control(Control::End);
    }
    assembler
}

#[test]
fn after_the_end_no_piece_is_waited_for_that_three_later_messages_have_passed() {
    for lost in 0..6 {
        let numbers: Vec<u32> = (0..6).filter(|number| *number != lost).collect();
        let [without, with] = [false, true].map(|has_end| of_six(&numbers, has_end));
        // Of three one is the end; what is close to the end may be late.
        assert_eq!((without.is_complete(), with.is_complete()), (false, lost < 4), "{lost}");
        // Without the end the piece may be sent again.
        assert_eq!((without.has_ended(), with.has_ended()), (false, true), "{lost}");
        assert_eq!(without.has_last_piece(), lost < 5, "{lost}");
    }
    for has_end in [false, true] {
        let reordered = of_six(&[1, 0, 3, 4, 5], has_end);
        assert!(!reordered.is_complete(), "the path changes the order");
        let whole = of_six(&[1, 0, 2, 3, 4, 5], has_end);
        assert!(whole.is_complete() && whole.has_ended());
    }
}

#[test]
fn a_precise_body_is_read_as_it_arrives() {
    let mut assembler = Assembler::new(TOKEN, true, BodyMemory::default());
    let whole = BodyPlan {
        token: TOKEN,
        piece: 30,
        length: 100,
        exact: core::iter::once(0..100).collect(),
    };
    assembler.control(Control::Plan(whole, body()[..20].to_vec().into()));
    let mut reader = assembler.take_begun().expect("it has begun");
    assert_eq!((reader.length(), assembler.take_begun().is_some()), (100, false));
    let read = |reader: &mut ArrivingBody| value_now(reader.next()).expect("no error");
    assert_eq!(read(&mut reader).expect("those of the plan"), body()[..20]);
    assembler.control(exact(20..60));
    assert_eq!(read(&mut reader).expect("the next ones"), body()[20..60]);
    assembler.control(exact(60..100));
    assert!(assembler.is_complete() && !assembler.is_abandoned());
    drop(assembler);
    assert_eq!(read(&mut reader).expect("the rest"), body()[60..]);
    assert_eq!((read(&mut reader), reader.taken()), (None, 100));
    // An approximate body is put together, whatever was asked for.
    let mut assembler = Assembler::new(TOKEN, true, BodyMemory::default());
    assembler.control(plan());
    assert!(assembler.take_begun().is_none());
    assembler.control(exact(0..10));
    assert_eq!(bytes_of(assembler.finish().expect("a body"))[..10], body()[..10]);
}

/// Returns the value of a future that has one at once.
fn value_now<T>(future: impl Future<Output = T>) -> T {
    use core::task::{Context, Poll, Waker};
    let future = core::pin::pin!(future);
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

/// The messages of a body of the longest length of which hardly anything ever comes.
fn announced(
    piece: u32,
    numbers: &[u32],
    exact: Vec<Range<u32>>,
) -> (Assembler, BodyMemory, usize) {
    let memory = BodyMemory::default();
    let mut assembler = Assembler::new(TOKEN, false, memory.clone());
    let plan = BodyPlan { token: TOKEN, piece, length: 1 << 28, exact };
    let mut received = 29 + 8 * plan.exact.len();
    assembler.control(Control::Plan(plan, Bytes::new()));
    for &number in numbers {
        received += 40 + piece as usize;
        assembler.piece(message(number, &vec![1; piece as usize]));
    }
    (assembler, memory, received)
}

#[test]
fn a_body_holds_no_more_than_a_few_times_what_was_received() {
    let last = (1 << 28) / 512 - 1;
    for (piece, numbers, exact) in [
        (512, vec![], vec![]),
        (512, vec![last - 2, last - 1, last], vec![]),
        (512, (0..500).map(|at| at * 1_000).collect(), vec![]),
        (1, (0..5_000).map(|at| at * 50_000).collect(), vec![]),
        (1, (0..5_000).rev().collect(), vec![]),
        (512, vec![0], (0..60_000).map(|at| at * 4_000..at * 4_000 + 1).collect()),
    ] {
        let (assembler, memory, received) = announced(piece, &numbers, exact);
        let bound = 12 * received + 2_000;
        assert!(memory.held() <= bound, "{piece}: {} of {received}", memory.held());
        let mut body = assembler.finish().expect("a body");
        assert_eq!((body.length(), body.bytes.contiguous().is_some()), (1 << 28, false));
        assert!(memory.held() <= bound, "{piece}: {} of {received}", memory.held());
        // It can be read all the same, in chunks of zeros that are one.
        let mut length = 0;
        while let Some(chunk) = body.bytes.next_chunk() {
            length += chunk.len();
            assert!(memory.held() <= bound, "{piece}: {} of {received}", memory.held());
        }
        assert_eq!(length, 1 << 28);
        drop(body);
        assert_eq!(memory.held(), 0);
    }
}

#[test]
fn bodies_that_exceed_the_memory_of_all_come_otherwise() {
    let memory = BodyMemory::new(100_000);
    let plan = BodyPlan { token: TOKEN, piece: 10_000, length: 100_000, exact: Vec::new() };
    let begin = |memory: &BodyMemory| {
        let mut assembler = Assembler::new(TOKEN, false, memory.clone());
        assembler.control(Control::Plan(plan.clone(), Bytes::new()));
        assembler
    };
    let mut one = begin(&memory);
    let mut other = begin(&memory);
    let mut fill = |number: u32| {
        one.piece(message(number, &[1; 10_000]));
        other.piece(message(number, &[1; 10_000]));
    };
    (0..9).for_each(&mut fill);
    let is_void =
        |it: &Assembler| it.is_complete() && matches!(it.void(), Some(VoidBody::Memory(_)));
    assert!(is_void(&one) != is_void(&other), "one of them has room");
    assert!(memory.held() <= 100_000, "{}", memory.held());
    drop((one, other));
    assert_eq!(memory.held(), 0);
    // What waits for its plan counts as well.
    let mut early = Assembler::new(TOKEN, false, memory.clone());
    (0..20).for_each(|number| early.piece(message(number, &[1; 10_000])));
    assert!(is_void(&early) && memory.held() == 0);
    // And what waits for its reader.
    let mut unread = Assembler::new(TOKEN, true, memory.clone());
    let whole = BodyPlan { exact: core::iter::once(0..100_000).collect(), ..plan };
    unread.control(Control::Plan(whole, vec![1; 60_000].into()));
    let mut reader = unread.take_begun().expect("it has begun");
    unread.control(Control::Exact(vec![1; 40_000].into()));
    assert!(is_void(&unread));
    let before = value_now(reader.next()).expect("what came before");
    assert_eq!((before.map(|it| it.len()), reader.lacks_memory()), (Some(60_000), false));
    assert!(matches!(value_now(reader.next()), Err(FetchError::BrokeOff)));
    assert!(reader.lacks_memory());
    assert_eq!(memory.held(), 0);
}
