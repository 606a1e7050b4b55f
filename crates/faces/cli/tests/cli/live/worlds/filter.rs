//! The filter of system calls that Docker gives a container without further rights.
//!
//! Docker's default profile is a list of what is allowed. What is not in it, of the calls that
//! kernels have, stands here; so do the calls whose arguments it looks at. `clone3` it answers as a
//! kernel that has none, so that `clone` is used, whose flags it can read.

use std::io;
use std::process::{Command, Output};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

/// Calls that are forbidden whatever their arguments.
const FORBIDDEN: [libc::c_long; 38] = [
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_move_pages,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pivot_root,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
];
/// The flags of `clone` that make namespaces.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Runs a command behind the filter; this process stays without.
pub(crate) fn output(mut command: Command) -> io::Result<Output> {
    // A filter is of the thread that applies it and of the processes that it starts.
    let behind = std::thread::spawn(move || {
        for filter in filters() {
            apply_filter(&filter).expect("the kernel has filters");
        }
        command.output()
    });
    behind.join().expect("it does not panic")
}

fn filters() -> [BpfProgram; 2] {
    let flag = |flag: libc::c_int| {
        let flag = u64::from(flag.cast_unsigned());
        let is_set =
            SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(flag), flag);
        SeccompRule::new(vec![is_set.expect("a condition")]).expect("a rule")
    };
    let all = FORBIDDEN.map(|call| (call, Vec::new()));
    let clone = (libc::SYS_clone, NAMESPACES.map(flag).to_vec());
    [
        program(all.into_iter().chain([clone]).collect(), libc::EPERM),
        program(vec![(libc::SYS_clone3, Vec::new())], libc::ENOSYS),
    ]
}

fn program(rules: Vec<(libc::c_long, Vec<SeccompRule>)>, error: libc::c_int) -> BpfProgram {
    let filter = SeccompFilter::new(
        rules.into_iter().collect(),
        SeccompAction::Allow,
        SeccompAction::Errno(error.cast_unsigned()),
        std::env::consts::ARCH.try_into().expect("an architecture with filters"),
    );
    filter.expect("a filter").try_into().expect("a program")
}
