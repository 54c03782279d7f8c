//! The message about a fault.

use std::fmt::Write;

use super::{AccessKind, CODE, Cause, Fault, KnownMemory, StopReason, threads};

/// Where a launch was when it was left.
#[derive(Clone, Debug)]
pub(crate) struct LaunchPlace<'a> {
    /// The kernel's name, if known.
    pub(crate) kernel: Option<&'a str>,
    /// The first and the last work-item of the work-groups, by global id.
    pub(crate) items: ([u64; 3], [u64; 3]),
    /// The first and the last of these work-groups.
    pub(crate) groups: ([u64; 3], [u64; 3]),
    /// Memory that the launch can access.
    pub(crate) memory: Vec<KnownMemory>,
}

/// Farther from an object, its name does not help.
const FAR: usize = 16 << 20;

/// The message about a fault in generated code.
pub(crate) fn describe(fault: &Fault, place: &LaunchPlace<'_>) -> String {
    let mut text = match place.kernel {
        Some(name) => format!("kernel `{name}`: "),
        None => "a kernel: ".to_owned(),
    };
    text += &access(fault);
    if let Cause::Access { address: Some(address), .. } = fault.cause {
        if threads::is_guard_of_stack(address) {
            text += ", the end of the stack";
        } else if let Some(near) = nearest(address, &place.memory) {
            let _ = write!(text, ", {near}");
        }
    }
    if let Some(line) = CODE.get().and_then(|code| (code.place)(fault.pc)) {
        let _ = write!(text, "; at {line}");
    }
    let (groups, items) = (range("work-group", place.groups), range("work-item", place.items));
    let _ = write!(text, "; in {groups}, {items}");
    text
}

/// What happened, without the place.
pub(super) fn access(fault: &Fault) -> String {
    match fault.cause {
        Cause::Access { address, kind, mapped } => {
            let kind = match kind {
                AccessKind::Read => "read from",
                AccessKind::Write => "write to",
                AccessKind::Execute => "jump to",
            };
            match address {
                Some(address) if mapped => format!("{kind} address {address:#x}, which does not permit it"),
                Some(address) => format!("{kind} address {address:#x}, which is not mapped"),
                None => "access to an address that cannot exist".to_owned(),
            }
        }
        Cause::IllegalInstruction => "illegal instruction".to_owned(),
        Cause::Exception(signal) => format!("exception of the processor (signal {signal})"),
        Cause::Stopped(StopReason::TimeLimit) => "stopped, because it has exceeded the time limit".to_owned(),
        Cause::Stopped(StopReason::Failed) => "stopped, because it has failed on another thread".to_owned(),
        Cause::Stopped(StopReason::Terminated) => "stopped, because its context was terminated".to_owned(),
    }
}

/// The position of an address relative to the nearest known memory.
fn nearest(address: usize, memory: &[KnownMemory]) -> Option<String> {
    let distance = |known: &&KnownMemory| {
        let end = known.start.saturating_add(known.len);
        if address < known.start { known.start - address } else { (address + 1).saturating_sub(end) }
    };
    let known = memory.iter().min_by_key(distance).filter(|known| distance(known) <= FAR)?;
    let KnownMemory { name, start, len } = known;
    let end = start.saturating_add(*len);
    Some(if address < *start {
        format!("{} bytes before {name} ({len} bytes at {start:#x})", start - address)
    } else if address < end {
        format!("byte {} of {name} ({len} bytes at {start:#x})", address - start)
    } else {
        format!("{} bytes after the end of {name} ({len} bytes at {start:#x})", address - end)
    })
}

/// One place, or the range of places.
fn range(what: &str, (first, last): ([u64; 3], [u64; 3])) -> String {
    let [x, y, z] = first;
    if first == last {
        return format!("{what} ({x}, {y}, {z})");
    }
    let [to_x, to_y, to_z] = last;
    format!("one of the {what}s ({x}, {y}, {z}) to ({to_x}, {to_y}, {to_z})")
}

#[cfg(test)]
mod tests {
    use super::{AccessKind, Cause, Fault, KnownMemory, LaunchPlace, describe};

    #[test]
    fn names_kernel_address_memory_and_place() {
        let cause = Cause::Access { address: Some(0x2040), kind: AccessKind::Write, mapped: false };
        let memory = |start, name: &str| KnownMemory { name: name.to_owned(), start, len: 0x40 };
        let place = LaunchPlace {
            kernel: Some("scale"),
            items: ([0, 0, 0], [63, 0, 0]),
            groups: ([2, 0, 0], [2, 0, 0]),
            memory: vec![memory(0x100, "argument `in`"), memory(0x2000, "argument `out`")],
        };
        assert_eq!(
            describe(&Fault { cause, pc: 0 }, &place),
            "kernel `scale`: write to address 0x2040, which is not mapped, 0 bytes after the end of argument `out` (64 bytes at \
             0x2000); in work-group (2, 0, 0), one of the work-items (0, 0, 0) to (63, 0, 0)"
        );
        let cause = Cause::Access { address: Some(0x20), kind: AccessKind::Read, mapped: true };
        let text = describe(&Fault { cause, pc: 0 }, &LaunchPlace { kernel: None, ..place.clone() });
        assert!(
            text.contains("read from address 0x20, which does not permit it, 224 bytes before argument `in`"),
            "{text}"
        );
        let cause = Cause::Access { address: Some(1 << 40), kind: AccessKind::Read, mapped: false };
        let text = describe(&Fault { cause, pc: 0 }, &place);
        assert!(!text.contains("argument"), "{text}");
    }
}
