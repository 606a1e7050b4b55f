use super::*;

/// Serves the flow whose turn it is, at this effort; returns it.
fn serve(scheduler: &mut Deficit, effort: f64) -> usize {
    let flow = scheduler.choose().expect("both have packets");
    scheduler.charge(flow, Service { effort, outcome: effort });
    flow
}

#[test]
fn an_expensive_service_is_owed_and_makes_no_bursts_afterwards() {
    let mut scheduler = Deficit::new(1.0);
    let equal = FlowConfig { weight: 1.0, power_factor: 1.0, reserved: false };
    let flows = [0, 1].map(|_| scheduler.add(equal).expect("it can be scheduled"));
    flows.iter().for_each(|&flow| scheduler.arrive(flow));
    let expensive = serve(&mut scheduler, 20.0);
    let then: Vec<usize> = (0..60).map(|_| serve(&mut scheduler, 1.0)).collect();
    let (debt, rest) = then.split_at(19);
    assert!(debt.iter().all(|flow| *flow != expensive), "the other has as much: {then:?}");
    assert!(rest[2..].windows(2).all(|two| two[0] != two[1]), "they take turns: {then:?}");
}

#[test]
fn flows_that_all_owe_much_still_get_their_weights() {
    let mut scheduler = Deficit::new(1e-6);
    let weighted = |weight| FlowConfig { weight, power_factor: 1.0, reserved: false };
    let flows = [1.0, 3.0].map(|weight| scheduler.add(weighted(weight)).expect("it can be"));
    flows.iter().for_each(|&flow| scheduler.arrive(flow));
    let served: Vec<usize> = (0..4_000).map(|_| serve(&mut scheduler, 1.0)).collect();
    let first = served.iter().filter(|flow| **flow == flows[0]).count();
    assert!((995..=1_005).contains(&first), "{first}");
}
