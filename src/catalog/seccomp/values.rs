//! Names of the kernel's constants, as reviewers know them, and their values on x86-64 and aarch64
//! (which agree on all of these). A name in, a number out.

/// Everything that a condition of a seccomp file may name.
const VALUES: [(&str, u64); 101] = [
    ("CLONE_PTRACE", 0x2000),
    ("CLONE_NEWNS", 0x2_0000),
    ("CLONE_NEWCGROUP", 0x200_0000),
    ("CLONE_NEWUTS", 0x400_0000),
    ("CLONE_NEWIPC", 0x800_0000),
    ("CLONE_NEWUSER", 0x1000_0000),
    ("CLONE_NEWPID", 0x2000_0000),
    ("CLONE_NEWNET", 0x4000_0000),
    ("ARCH_SET_GS", 0x1001),
    ("ARCH_SET_FS", 0x1002),
    ("ARCH_GET_FS", 0x1003),
    ("ARCH_GET_GS", 0x1004),
    ("PR_SET_PDEATHSIG", 1),
    ("PR_GET_PDEATHSIG", 2),
    ("PR_GET_DUMPABLE", 3),
    ("PR_SET_DUMPABLE", 4),
    ("PR_SET_NAME", 15),
    ("PR_GET_NAME", 16),
    ("PR_GET_SECCOMP", 21),
    ("PR_CAPBSET_READ", 23),
    ("PR_SET_TIMERSLACK", 29),
    ("PR_GET_TIMERSLACK", 30),
    ("PR_SET_CHILD_SUBREAPER", 36),
    ("PR_GET_CHILD_SUBREAPER", 37),
    ("PR_SET_NO_NEW_PRIVS", 38),
    ("PR_GET_NO_NEW_PRIVS", 39),
    ("PR_SET_THP_DISABLE", 41),
    ("PR_GET_THP_DISABLE", 42),
    ("PR_SET_VMA", 0x5356_4d41),
    ("PER_LINUX", 0),
    ("PER_LINUX32", 8),
    ("PER_QUERY", 0xffff_ffff),
    ("S_IFMT", 0o170_000),
    ("S_IFREG", 0o100_000),
    ("S_IFSOCK", 0o140_000),
    ("S_IFIFO", 0o010_000),
    ("TCGETS", 0x5401),
    ("TCSETS", 0x5402),
    ("TCSETSW", 0x5403),
    ("TCSETSF", 0x5404),
    ("TIOCGPGRP", 0x540f),
    ("TIOCSPGRP", 0x5410),
    ("TIOCGWINSZ", 0x5413),
    ("TIOCSWINSZ", 0x5414),
    ("FIONREAD", 0x541b),
    ("FIONBIO", 0x5421),
    ("FIONCLEX", 0x5450),
    ("FIOCLEX", 0x5451),
    ("FICLONE", 0x4004_9409),
    ("AF_UNIX", 1),
    ("AF_INET", 2),
    ("AF_INET6", 10),
    ("AF_NETLINK", 16),
    ("NETLINK_ROUTE", 0),
    ("SOCK_STREAM", 1),
    ("SOCK_DGRAM", 2),
    ("SOCK_RAW", 3),
    ("SOCK_SEQPACKET", 5),
    ("SOCK_TYPE_MASK", 0xf),
    ("IPPROTO_IP", 0),
    ("IPPROTO_ICMP", 1),
    ("IPPROTO_TCP", 6),
    ("IPPROTO_UDP", 17),
    ("IPPROTO_IPV6", 41),
    ("IPPROTO_ICMPV6", 58),
    ("SOL_SOCKET", 1),
    ("SO_DEBUG", 1),
    ("SO_REUSEADDR", 2),
    ("SO_TYPE", 3),
    ("SO_ERROR", 4),
    ("SO_DONTROUTE", 5),
    ("SO_BROADCAST", 6),
    ("SO_SNDBUF", 7),
    ("SO_RCVBUF", 8),
    ("SO_KEEPALIVE", 9),
    ("SO_OOBINLINE", 10),
    ("SO_LINGER", 13),
    ("SO_REUSEPORT", 15),
    ("SO_PASSCRED", 16),
    ("SO_PEERCRED", 17),
    ("SO_RCVLOWAT", 18),
    ("SO_RCVTIMEO", 20),
    ("SO_SNDTIMEO", 21),
    ("TCP_NODELAY", 1),
    ("TCP_MAXSEG", 2),
    ("TCP_CORK", 3),
    ("TCP_KEEPIDLE", 4),
    ("TCP_KEEPINTVL", 5),
    ("TCP_KEEPCNT", 6),
    ("TCP_DEFER_ACCEPT", 9),
    ("TCP_QUICKACK", 12),
    ("TCP_USER_TIMEOUT", 18),
    ("IP_TOS", 1),
    ("IP_TTL", 2),
    ("IP_MTU_DISCOVER", 10),
    ("IP_RECVERR", 11),
    ("IP_BIND_ADDRESS_NO_PORT", 24),
    ("IPV6_UNICAST_HOPS", 16),
    ("IPV6_MTU_DISCOVER", 23),
    ("IPV6_RECVERR", 25),
    ("IPV6_V6ONLY", 26),
];

/// Errors that a `[[fail]]` may give.
const ERRORS: [(&str, u32); 6] = [
    ("EPERM", 1),
    ("EACCES", 13),
    ("EINVAL", 22),
    ("ENOTTY", 25),
    ("ENOSYS", 38),
    ("EOPNOTSUPP", 95),
];

/// The value of a constant.
pub(super) fn value(name: &str) -> Option<u64> {
    VALUES.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

/// The number of an error.
pub(super) fn errno(name: &str) -> Option<u32> {
    ERRORS.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

/// The names of all constants.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    VALUES.iter().map(|(name, _)| *name)
}

/// The names of all errors.
pub(super) fn error_names() -> Vec<&'static str> {
    ERRORS.iter().map(|(name, _)| *name).collect()
}
