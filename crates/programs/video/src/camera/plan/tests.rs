use super::*;

fn plan() -> CameraPlan {
    let plan = CameraPlan::of_rate(30.0, 4e6, Duration::from_secs(2), 1_200);
    plan.expect("a plan")
}

#[test]
fn a_rate_makes_pictures_of_whole_datagrams() {
    let plan = plan();
    // 4 Mb/s are 16667 bytes a picture, 13.9 datagrams.
    assert_eq!((plan.per_picture, plan.stream.count), (14, 60 * 14));
    assert_eq!((plan.due(13), plan.due(14)), (Duration::ZERO, plan.interval));
    let seconds = plan.length().as_secs_f64();
    assert!((seconds - 2.0).abs() < 1e-6, "{seconds}");
}

#[test]
fn rates_that_are_none_make_no_plan() {
    let second = Duration::from_secs(1);
    for (pictures, bits) in [(0.0, 1e6), (f64::NAN, 1e6), (30.0, f64::INFINITY), (30.0, 1e18)] {
        let plan = CameraPlan::of_rate(pictures, bits, second, 1_200);
        assert!(plan.is_err(), "{pictures} pictures of {bits}");
    }
    assert!(CameraPlan::of_rate(30.0, 1e6, second, 0).is_err());
    assert!(CameraPlan::of_rate(1e6, 1e6, second, 1_200).is_err());
}

#[test]
fn what_is_written_is_read_and_any_inverted_bit_of_the_header_is_noticed() {
    let header = CameraHeader { plan: plan(), began: 1 << 60, number: 77 };
    let datagram = header.datagram();
    let data = header.plan.stream.datagram(77);
    assert_eq!(CameraHeader::parse(&datagram), Some((header, &data[..])));
    for bit in 0..8 * CameraHeader::LEN {
        let mut damaged = datagram.clone();
        damaged[bit / 8] ^= 0x80 >> (bit % 8);
        assert_eq!(CameraHeader::parse(&damaged), None, "bit {bit}");
    }
    for length in 0..datagram.len() {
        assert_eq!(CameraHeader::parse(&datagram[..length]), None, "{length} bytes");
    }
}

#[test]
fn headers_of_forgers_are_no_plan() {
    let header = CameraHeader { plan: plan(), began: 0, number: 0 };
    let forged = |change: &dyn Fn(&mut CameraHeader)| {
        let mut header = header;
        let mut datagram = header.datagram();
        change(&mut header);
        let written = CameraHeader { plan: CameraPlan { ..header.plan }, ..header };
        // The data stay those of the true plan, so that the forger's claims cost no memory here.
        let stream = StreamPlan { size: 0, ..written.plan.stream };
        let empty = CameraHeader { plan: CameraPlan { stream, ..written.plan }, ..written };
        let mut bytes = empty.datagram();
        bytes[12..16].copy_from_slice(&written.plan.stream.size.to_be_bytes());
        let check = crc32fast::hash(&bytes[..CameraHeader::LEN - 4]).to_be_bytes();
        bytes[CameraHeader::LEN - 4..].copy_from_slice(&check);
        datagram[..CameraHeader::LEN].copy_from_slice(&bytes);
        CameraHeader::parse(&datagram).is_some()
    };
    assert!(forged(&|_| ()));
    assert!(!forged(&|it| it.plan.per_picture = 0));
    assert!(!forged(&|it| it.plan.interval = Duration::ZERO));
    assert!(!forged(&|it| it.plan.interval = Duration::from_secs(11)));
    assert!(!forged(&|it| it.plan.stream.count = u32::MAX));
    assert!(!forged(&|it| it.plan.stream.size = u32::MAX));
    assert!(!forged(&|it| it.number = it.plan.stream.count));
}
