//! What a run has outside its stations: names of their namespaces, and what is attached.

use std::process::{Command, Output, Stdio};

use crate::live::{Folder, is_installed, pair, require, until};
use crate::support::WINDFALL;

/// Skips the test where this user may not mount anything, as an ordinary one.
macro_rules! require_root {
    ($($program:literal),*) => {
        require!($($program),*);
        if !rustix::process::geteuid().is_root() || !is_installed("unshare") {
            windfall_testkit::skip!("only root attaches anything, and names namespaces");
        }
    };
}

/// Runs a script of the shell with `w` for the program, in mount and network namespaces of its own,
/// so that nothing of the machine is touched, and in a folder with the scenario `link.toml`.
fn outside(folder: &Folder, script: &str) -> Output {
    folder.write("link.toml", pair("delay = \"5ms\""));
    let begin = "set -e; mkdir run; chmod 700 run; export XDG_RUNTIME_DIR=$PWD/run\n\
                 mount -t tmpfs none /run; mkdir /run/netns; ip link set lo up\n";
    let mut command = Command::new("unshare");
    command.args(["--mount", "--net", "sh", "-c"]).stdin(Stdio::null());
    let script = format!("{begin}{}", script.replace("windfall", WINDFALL));
    command.arg(script).current_dir(folder.path()).output().expect("a shell")
}

/// The standard output of a script that must succeed.
#[track_caller]
fn said(folder: &Folder, script: &str) -> String {
    let output = outside(folder, script);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {errors}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn programs_outside_use_the_stations_namespaces_by_their_names() {
    require_root!("ip", "ping");
    let folder = Folder::new("netns-dir");
    let script = "windfall up -q -d link.toml --netns-dir /run/netns\n\
        ip netns list | sort\n\
        ip netns exec a ping -n -c 1 -W 30 10.77.0.2 | grep -o '1 received'\n\
        nsenter --net=/run/netns/b ip -o -4 address show wf0 | grep -o 10.77.0.2\n\
        windfall up -q link.toml --name other --netns-dir /run/netns 2>&1 || echo \"ended $?\"\n\
        windfall down --all; ls /run/netns; echo gone";
    let said = said(&folder, script);
    let taken = "windfall: --netns-dir: /run/netns/a is there already: end the run that has made \
                 it, name another folder, or remove it by `umount /run/netns/a; rm /run/netns/a`";
    assert_eq!(said, format!("a\nb\n1 received\n10.77.0.2\n{taken}\nended 125\ngone\n"));
}

#[test]
fn names_are_taken_back_from_a_run_that_is_killed() {
    require_root!();
    let folder = Folder::new("netns-dir-killed");
    let gone = until("! -e names");
    let script = format!(
        "windfall run -q --netns-dir names -- sh -c 'echo $PPID >pid; kill -9 $$' || true\n\
         test ! -e names\n\
         windfall up -q link.toml --netns-dir names & {}\n\
         ls names; kill -9 $!; wait $! || true; {gone}\n\
         test ! -e names && echo gone\n\
         mkdir names; touch names/near\n\
         windfall run -q --netns-dir names -- true 2>/dev/null || ls names; echo left",
        until("-e names/b")
    );
    // What stood there before stays.
    assert_eq!(said(&folder, &script), "a\nb\ngone\nnear\nleft\n");
}

/// Lines of the shell that find the keeper of the run `$RUN`, the child which leads a session.
const KEEPER: &str = "KEEPER=; for child in $(cat /proc/$RUN/task/$RUN/children); do\n\
    test \"$(cut -d' ' -f6 /proc/$child/stat)\" != $child || KEEPER=$child; done\n";

#[test]
fn names_of_a_run_that_was_killed_with_its_keeper_are_replaced() {
    require_root!("ip");
    let folder = Folder::new("netns-dir-dead");
    let script = format!(
        "ip netns add b\n\
         windfall up -q link.toml --netns-dir names & RUN=$!; {up}\n\
         {KEEPER}kill -9 $KEEPER $RUN; wait $RUN || true\n\
         ls names; until nsenter --net=names/b ip link show wf0 2>&1 | grep -q 'not exist'; do\n\
         sleep 0.01; done\n\
         windfall run -q --netns-dir names -- true 2>&1; ls names; echo others\n\
         windfall up -q -d link.toml --netns-dir names --output log; cat log\n\
         ip netns exec b true; nsenter --net=names/b ip -o link show wf0 | grep -o wf0\n\
         windfall up -q link.toml --name second --netns-dir names 2>&1 || echo \"ended $?\"\n\
         windfall up -q link.toml --name third --netns-dir /run/netns 2>&1 || echo \"ended $?\"\n\
         windfall down --all; ls names; ip netns list",
        up = "until nsenter --net=names/b ip link show wf0 >/dev/null 2>&1; do sleep 0.01; done",
    );
    let said = said(&folder, &script);
    let left = |name: &str| {
        format!("windfall: names/{name} was left by a run that was killed: replacing it\n")
    };
    let replaced = format!("a\nb\na\nb\nothers\n{}{}wf0\n", left("a"), left("b"));
    let rest = said.strip_prefix(&replaced).unwrap_or_else(|| panic!("{said}"));
    // A name that is in use stays, and so does one that another program has made.
    assert!(rest.contains("names/a is there already"), "{rest}");
    assert!(rest.contains("/run/netns/b is there already"), "{rest}");
    assert!(rest.ends_with("ended 125\nb\n"), "{rest}");
}

#[test]
fn a_run_whose_keeper_is_killed_takes_everything_back_itself() {
    require_root!("ip", "nsenter");
    let folder = Folder::new("keeper-killed");
    let script = format!(
        "{DEVICE}state >before\n\
         windfall up -q link.toml --attach b:out --netns-dir names 2>errors & RUN=$!; {up}\n\
         until ! ip link show out 2>/dev/null; do sleep 0.01; done\n\
         {KEEPER}kill -9 $KEEPER\n\
         until grep -q 'was ended by SIGKILL: the run takes them back' errors; do\n\
         sleep 0.01; done; ls names\n\
         kill -INT $RUN; wait $RUN || echo \"ended $?\"\n\
         test ! -e names; state | cmp - before; cat errors\n\
         windfall run -q --netns-dir names -- sh -c 'sleep 1; exit 3' 2>errors & RUN=$!\n\
         until nsenter --net=names/near true 2>/dev/null; do\n\
         sleep 0.01; done\n\
         {KEEPER}kill -9 $KEEPER; wait $RUN || echo \"ended $?\"\n\
         wc -l <errors; test ! -e names && echo gone",
        up = "until nsenter --net=names/b ip link show wf0 >/dev/null 2>&1; do sleep 0.01; done",
    );
    let said = said(&folder, &script);
    // At once, while it goes on; the exit status says so if the command has none of its own.
    let expected = "a\nb\nended 125\nwindfall: the process ";
    assert!(said.starts_with(expected), "{said}");
    assert!(said.contains("the run has taken them back itself"), "{said}");
    assert!(said.ends_with("\nended 3\n1\ngone\n"), "{said}");
}

#[test]
fn an_ordinary_user_hears_that_names_need_root() {
    require_root!("setpriv");
    let folder = Folder::new("netns-dir-user");
    let script = "cp windfall /run/w; cd /; unset XDG_RUNTIME_DIR\n\
        setpriv --reuid 12345 --regid 12345 --clear-groups \
        /run/w run --netns-dir /tmp/names -- true 2>&1 || echo \"ended $?\"";
    let said = said(&folder, script);
    assert!(said.contains("--netns-dir mounts namespaces, as `ip netns` does, and so"), "{said}");
    assert!(said.ends_with("ended 125\n"), "{said}");
}

/// Lines of the shell that start a process in a namespace of its own, `$P`, connected to this one
/// by the interface `out` with an address and a route that lead there.
const DEVICE: &str = "unshare --net sleep 600 & P=$!\n\
    until ! test /proc/$P/ns/net -ef /proc/self/ns/net; do sleep 0.01; done\n\
    trap 'kill $P' EXIT\n\
    in_device() { nsenter --net=/proc/$P/ns/net \"$@\"; }\n\
    quiet=/proc/sys/net/ipv6/conf/default/addr_gen_mode\n\
    echo 1 >$quiet; in_device sh -c \"echo 1 >$quiet\"\n\
    ip link add out type veth peer name in netns $P\n\
    ip address add 192.0.2.1/24 dev out; ip address add 2001:db8::1/64 dev out nodad\n\
    ip link set out up\n\
    in_device ip address add 192.0.2.2/24 dev in; in_device ip link set in up\n\
    ip route add 198.51.100.0/24 via 192.0.2.2\n\
    ip route add 203.0.113.0/24 nexthop via 192.0.2.2 dev out nexthop via 192.0.2.3 dev out\n\
    ip route add default via 192.0.2.2 table 99\n\
    ip neigh add 192.0.2.9 lladdr 02:00:00:00:00:09 dev out nud permanent\n\
    echo 2 >/proc/sys/net/ipv4/conf/out/rp_filter\n\
    in_device ip route add default via 192.0.2.1\n\
    state() { ip -o address show dev out | sed 's/^[0-9]*//'; ip route; ip -6 route\n\
    ip route show table 99; ip neigh show nud permanent; \
    cat /proc/sys/net/ipv4/conf/out/rp_filter; }\n";

#[test]
fn a_processs_namespace_is_an_end_of_a_link_and_then_what_it_was() {
    require_root!("ip", "ping", "nsenter");
    let folder = Folder::new("attach-pid");
    let script = format!(
        "{DEVICE}in_device ip -o address >before\n\
         windfall up -q -d link.toml --attach b:$P\n\
         in_device ip -o -4 address show wf0 | grep -o 10.77.0.2\n\
         windfall exec a -- ping -n -c 1 -W 30 b | grep -o '1 received'\n\
         in_device ping -n -c 1 -W 30 10.77.0.1 | grep -o '1 received'\n\
         windfall exec b -- ip -o address show in | grep -o 192.0.2.2\n\
         windfall down; in_device ip -o address | cmp - before\n\
         windfall run -q --attach $P --far 'ip -o address show in | grep -o 192.0.2.2' \
         --far-output - -- sleep 0.2\n\
         in_device ip -o address | cmp - before; echo restored\n\
         windfall up -q link.toml --attach b:$P --attach a:$P 2>&1 || echo \"ended $?\"\n\
         windfall up -q link.toml --attach $P 2>&1 || echo \"ended $?\""
    );
    let said = said(&folder, &script);
    let (good, bad) = said.split_once("restored\n").expect(&said);
    assert_eq!(good, "10.77.0.2\n1 received\n1 received\n192.0.2.2\n192.0.2.2\n");
    assert!(bad.contains("is another station's already\nended 2\n"), "{bad}");
    assert!(
        bad.ends_with("name a station before it, with a colon: one of a, b\nended 2\n"),
        "{bad}"
    );
}

#[test]
fn a_real_interface_is_an_end_of_a_link_and_then_what_it_was() {
    require_root!("ip", "ping", "nsenter");
    let folder = Folder::new("attach-interface");
    let script = format!(
        "{DEVICE}state >before\n\
         windfall up -q -d link.toml --attach b:out\n\
         ip link show out 2>/dev/null || echo away\n\
         windfall exec a -- ping -n -c 1 -W 30 192.0.2.2 | grep -o '1 received'\n\
         windfall exec a -- ip route get 198.51.100.7 | grep -o 'via 10.77.0.2'\n\
         in_device ping -n -c 1 -W 30 10.77.0.1 | grep -o '1 received'\n\
         PID=$(windfall ls --json | grep -o '\"pid\":[0-9]*' | grep -o '[0-9]*')\n\
         kill -9 $PID; until state 2>/dev/null | cmp -s before; do sleep 0.02; done\n\
         echo restored\n\
         windfall run -q --attach out -- ping -n -c 1 -W 30 192.0.2.2 | grep -o '1 received'\n\
         state | diff before - && echo restored\n\
         ip link add bridge type bridge; ip link set out master bridge\n\
         windfall run -q --attach out -- true 2>&1 || echo \"ended $?\"\n\
         windfall run -q --attach no-such -- true 2>&1 || echo \"ended $?\""
    );
    let said = said(&folder, &script);
    let expected = "away\n1 received\nvia 10.77.0.2\n1 received\nrestored\n1 received\nrestored\n\
        windfall: --attach: the interface out: it is part of a bridge or another device\nended 2\n";
    let rest = said.strip_prefix(expected).unwrap_or_else(|| panic!("{said}"));
    assert!(rest.contains("--attach: the interface no-such: No such device"), "{rest}");
}
