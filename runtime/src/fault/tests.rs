//! Machine code that faults, entered as generated code is.
#![allow(unsafe_code, reason = "machine code that accesses bad addresses")]

use core::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use clift_include::abi::{GroupRunFn, WgContext};

use super::{AccessKind, Cause, CodeLookup, Fault, StopReason, Work, access, enter, set_code_lookup, stop_launch};
use crate::memory::{HostBuffer, MemSlice, MemoryError};

/// A page of machine code, which counts as generated.
static CODE_START: AtomicUsize = AtomicUsize::new(0);

/// Bytes of a function in the page.
const FUNCTION: usize = 32;

/// Functions that fault: they have the parameters of an entry.
const FUNCTIONS: [&[u8]; 6] = [
    // mov eax, [rsi]; ret
    &[0x8b, 0x06, 0xc3],
    // mov dword ptr [rsi], 1; ret
    &[0xc7, 0x06, 1, 0, 0, 0, 0xc3],
    // ud2
    &[0x0f, 0x0b],
    // jmp to itself
    &[0xeb, 0xfe],
    // Fills the callee-saved registers and pushes for ever: mov rbx, rsi; mov rbp, rsi; mov r12, rsi; push rax; jmp -3
    &[0x48, 0x89, 0xf3, 0x48, 0x89, 0xf5, 0x49, 0x89, 0xf4, 0x50, 0xeb, 0xfd],
    // std; mov eax, [rsi]
    &[0xfd, 0x8b, 0x06],
];

static CODE: LazyLock<Vec<GroupRunFn>> = LazyLock::new(|| {
    // SAFETY: a new mapping, which is filled before it is executed and never unmapped.
    let page = unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let page = libc::mmap(core::ptr::null_mut(), 4096, protection, flags, -1, 0).cast::<u8>();
        for (number, code) in FUNCTIONS.iter().enumerate() {
            page.add(number * FUNCTION).copy_from_nonoverlapping(code.as_ptr(), code.len());
        }
        assert_eq!(libc::mprotect(page.cast::<c_void>(), 4096, libc::PROT_READ | libc::PROT_EXEC), 0);
        page
    };
    CODE_START.store(page.addr(), Ordering::SeqCst);
    set_code_lookup(CodeLookup {
        contains: |pc| pc.wrapping_sub(CODE_START.load(Ordering::Relaxed)) < 4096,
        place: |pc| {
            let offset = pc.wrapping_sub(CODE_START.load(Ordering::Relaxed));
            (offset < 4096).then(|| format!("byte {}", offset % FUNCTION))
        },
    });
    (0..FUNCTIONS.len())
        // SAFETY: the code conforms to the signature.
        .map(|number| unsafe { core::mem::transmute::<*mut u8, GroupRunFn>(page.add(number * FUNCTION)) })
        .collect()
});

/// Runs a function with an address as its second argument.
fn run(function: usize, address: usize) -> Result<(), Fault> {
    // SAFETY: the function accesses nothing but this address.
    unsafe {
        enter(
            &Work::current(),
            CODE[function],
            core::ptr::null::<WgContext>(),
            core::ptr::without_provenance(address),
            0,
            1,
        )
    }
}

fn access_at(address: usize, kind: AccessKind, mapped: bool) -> Cause {
    Cause::Access { address: Some(address), kind, mapped }
}

#[test]
fn faults_return_to_the_caller() {
    let word = 5u32;
    assert!(run(0, (&raw const word).addr()).is_ok());
    for _ in 0..3 {
        assert_eq!(run(0, 16).unwrap_err().cause, access_at(16, AccessKind::Read, false));
        assert_eq!(run(1, 4096).unwrap_err().cause, access_at(4096, AccessKind::Write, false));
        let code = CODE_START.load(Ordering::Relaxed);
        assert_eq!(run(1, code).unwrap_err().cause, access_at(code, AccessKind::Write, true));
        let odd = run(0, 1 << 60).unwrap_err().cause;
        assert!(matches!(odd, Cause::Access { address: None, .. }), "{odd:?}");
        assert_eq!(run(2, 0).unwrap_err().cause, Cause::IllegalInstruction);
        // The direction flag is cleared: code of the library relies on it.
        assert!(run(5, 16).is_err());
        assert_eq!(vec![7u8; 1000].iter().map(|b| usize::from(*b)).sum::<usize>(), 7000);
    }
    let fault = run(0, 16).unwrap_err();
    assert_eq!(fault.pc, CODE_START.load(Ordering::Relaxed));
}

#[test]
fn a_stack_overrun_is_a_fault_of_the_kernel() {
    let small = std::thread::Builder::new().stack_size(64 << 10).spawn(|| {
        for _ in 0..3 {
            let Cause::Access { address: Some(address), kind: AccessKind::Write, .. } = run(4, 0).unwrap_err().cause
            else {
                panic!("no access");
            };
            assert!(super::threads::is_guard_of_stack(address));
        }
    });
    small.expect("a thread").join().expect("it survives");
}

#[test]
fn endless_code_is_stopped() {
    let threads: Vec<_> = (0..3)
        .map(|_| {
            std::thread::spawn(|| {
                let work = Work::begin(4711, 0, 0);
                let left = run(3, 0);
                drop(work);
                left.unwrap_err().cause
            })
        })
        .collect();
    // Requests before the threads have begun have no effect.
    while threads.iter().any(|thread| !thread.is_finished()) {
        stop_launch(4711);
        std::thread::sleep(Duration::from_millis(1));
    }
    for thread in threads {
        assert_eq!(thread.join().expect("it survives"), Cause::Stopped(StopReason::Failed));
    }
}

#[test]
fn copies_of_bad_addresses_fail() {
    let buffer = Arc::new(HostBuffer::new(10_000, 64).expect("memory"));
    let bad = |address: usize, len| {
        // SAFETY: deliberately not; the access fails.
        unsafe { MemSlice::from_raw(core::ptr::without_provenance_mut(address), len) }.expect("not null")
    };
    let inaccessible = |result: Result<(), MemoryError>| matches!(result, Err(MemoryError::Inaccessible(_)));
    for len in [1, 17, 300, 10_000] {
        let part = buffer.part(0, len).expect("it is inside");
        assert!(inaccessible(part.copy_from(&bad(4096, len))));
        assert!(inaccessible(bad(4096, len).copy_from(&part)));
        assert!(inaccessible(bad(4096, len).fill(&[3])));
        assert!(inaccessible(bad(1 << 62, len).copy_from(&part)));
    }
    let error = bad(4096, 8).fill(&[1, 2]).unwrap_err().to_string();
    assert_eq!(error, "a command on memory: write to address 0x1000, which is not mapped");
    // SAFETY: as above.
    assert!(unsafe { access::string_length(core::ptr::without_provenance(77), 10) }.is_err());
    // SAFETY: a string.
    assert_eq!(unsafe { access::string_length(c"four".as_ptr().cast(), 10) }.expect("a string"), 4);
}
