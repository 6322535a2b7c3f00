use super::*;

/// What the filter says of a call, by running it.
fn verdict(filter: &[Instruction], architecture: u32, call: i64, arguments: [u32; 3]) -> u32 {
    let (mut at, mut accumulator) = (0, 0);
    loop {
        let Instruction {
            code,
            if_true,
            if_false,
            value,
        } = filter[at];
        at += 1;
        let mut jump = |holds: bool| at += usize::from(if holds { if_true } else { if_false });
        match code {
            LOAD => {
                accumulator = match value {
                    NUMBER => number(call),
                    ARCHITECTURE => architecture,
                    place => arguments[ARGUMENTS.iter().position(|it| *it == place).unwrap()],
                }
            }
            AND => accumulator &= value,
            JUMP_EQUAL => jump(accumulator == value),
            JUMP_GREATER => jump(accumulator > value),
            RETURN => return value,
            other => panic!("no instruction {other:#x}"),
        }
    }
}

fn says(network: &Network, strict: bool, call: i64, arguments: [u32; 3]) -> u32 {
    verdict(&filter(network, strict), OWN_ARCHITECTURE, call, arguments)
}

const fn refused(error: u32) -> u32 {
    ERROR | error
}

#[test]
fn calls_that_change_the_system_are_refused_and_ordinary_ones_are_not() {
    for strict in [false, true] {
        let says = |call| says(&Network::Open, strict, call, [0; 3]);
        for call in FORBIDDEN {
            assert_eq!(says(*call), refused(EPERM), "{call}");
        }
        for call in ABSENT {
            assert_eq!(says(*call), refused(ENOSYS), "{call}");
        }
        for call in FORBIDDEN_STRICTLY {
            let wanted = if strict { refused(EPERM) } else { ALLOW };
            assert_eq!(says(*call), wanted, "{call}");
        }
        for call in [
            libc::SYS_read,
            libc::SYS_openat,
            libc::SYS_execve,
            libc::SYS_mmap,
            libc::SYS_socketpair,
            libc::SYS_mseal,
        ] {
            assert_eq!(says(call), ALLOW, "{call}");
        }
    }
}

#[test]
fn other_ways_to_number_calls_do_not_exist() {
    let filter = filter(&Network::Open, false);
    let x32 = 0x4000_0000;
    for number in [463, 1_000, x32 | libc::SYS_read, i64::from(u32::MAX)] {
        let said = verdict(&filter, OWN_ARCHITECTURE, number, [0; 3]);
        assert_eq!(said, refused(ENOSYS), "{number:#x}");
    }
    // 32-bit calls of x86 and ARM.
    for architecture in [0x4000_0003, 0x4000_0028] {
        let said = verdict(&filter, architecture, libc::SYS_read, [0; 3]);
        assert_eq!(said, refused(ENOSYS));
    }
}

#[test]
fn sockets_are_judged_by_family_type_and_protocol() {
    let none = Network::Only {
        ports: Vec::new(),
        udp: false,
    };
    let https = Network::Only {
        ports: vec![443],
        udp: false,
    };
    let with_udp = Network::Only {
        ports: Vec::new(),
        udp: true,
    };
    let says = |network: &Network, family, kind, protocol| {
        says(network, true, libc::SYS_socket, [family, kind, protocol])
    };
    let close_on_exec = 0x8_0000;
    for family in [INET, INET6] {
        for (network, tcp, udp) in [
            (&Network::Open, true, true),
            (&none, false, false),
            (&https, true, false),
            (&with_udp, false, true),
        ] {
            let wanted = |is_allowed| {
                if is_allowed { ALLOW } else { refused(EACCES) }
            };
            for protocol in [0, TCP] {
                let said = says(network, family, STREAM | close_on_exec, protocol);
                assert_eq!(said, wanted(tcp), "{network:?}");
            }
            for protocol in [0, UDP] {
                let said = says(network, family, DATAGRAM | close_on_exec, protocol);
                assert_eq!(said, wanted(udp), "{network:?}");
            }
            // Multipath TCP, SCTP, raw sockets, ping.
            for (kind, protocol) in [(STREAM, 262), (STREAM, 132), (3, 1), (DATAGRAM, 1)] {
                let said = says(network, family, kind, protocol);
                assert_eq!(said, refused(EACCES), "{network:?} {kind} {protocol}");
            }
        }
    }
    for network in [&Network::Open, &none] {
        assert_eq!(says(network, UNIX, STREAM, 0), refused(EACCES));
        assert_eq!(says(network, NETLINK, 3, NETLINK_ROUTE), ALLOW);
        assert_eq!(says(network, NETLINK, 3, 15), refused(EACCES));
        // Packets, vsock, the crypto interface of the kernel.
        for family in [17, 40, 38] {
            assert_eq!(says(network, family, STREAM, 0), refused(EAFNOSUPPORT));
        }
    }
}

#[test]
fn threads_and_processes_are_made_and_namespaces_are_not() {
    let says = |flags| says(&Network::Open, false, libc::SYS_clone, [flags, 0, 0]);
    let thread = 0x003d_0f00;
    assert_eq!(says(thread), ALLOW);
    assert_eq!(says(17), ALLOW);
    for flag in NEW_NAMESPACE {
        assert_eq!(says(flag | 17), refused(EPERM), "{flag:#x}");
    }
}

#[test]
fn no_terminal_is_typed_into() {
    let says = |request| says(&Network::Open, false, libc::SYS_ioctl, [0, request, 0]);
    for request in FORBIDDEN_IOCTLS {
        assert_eq!(says(request), refused(EPERM));
    }
    // The size of a window.
    assert_eq!(says(0x5413), ALLOW);
}
