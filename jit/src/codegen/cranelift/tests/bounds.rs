//! Accesses to the last elements before memory that cannot be accessed: no lane may go beyond its element, and inactive lanes
//! may not be accessed.

use clift_kir::{Elem, Imm, IntCond, MemInfo, Opcode, Type};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};

use super::{KernelBuilder, compile};

const ELEMS: [Elem; 7] = [Elem::I8, Elem::I16, Elem::I32, Elem::I64, Elem::F16, Elem::F32, Elem::F64];
const LANES: [u32; 6] = [2, 3, 4, 5, 8, 16];

/// Memory whose end is followed by a page that cannot be accessed.
struct GuardedMemory {
    start: *mut u8,
    bytes: usize,
}

impl GuardedMemory {
    fn new() -> GuardedMemory {
        let bytes = rustix::param::page_size();
        // SAFETY: a new mapping, at an address that the system chooses; its second page is this value's, too.
        let start = unsafe {
            let protection = ProtFlags::READ | ProtFlags::WRITE;
            let start = rustix::mm::mmap_anonymous(std::ptr::null_mut(), 2 * bytes, protection, MapFlags::PRIVATE);
            let start = start.unwrap().cast::<u8>();
            rustix::mm::mprotect(start.add(bytes).cast(), bytes, MprotectFlags::empty()).unwrap();
            start
        };
        GuardedMemory { start, bytes }
    }

    fn all(&mut self) -> &mut [u8] {
        // SAFETY: the first page of the mapping, which exists as long as this value.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.bytes) }
    }
}

impl Drop for GuardedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and nothing refers to it any more.
        unsafe { rustix::mm::munmap(self.start.cast(), 2 * self.bytes).unwrap() }
    }
}

/// Memory with a pattern.
fn patterned() -> (GuardedMemory, Vec<u8>) {
    let mut memory = GuardedMemory::new();
    memory.all().iter_mut().zip(0_usize..).for_each(|(byte, at)| *byte = (at % 251) as u8);
    let bytes = memory.all().to_vec();
    (memory, bytes)
}

#[test]
fn gathers() {
    let (memory, pattern) = patterned();
    for elem in ELEMS {
        for lanes in LANES {
            let (ty, bytes) = (Type::vector(elem, lanes), elem.bytes());
            let mut kernel = KernelBuilder::new("gathers");
            let [table, indices, output] = [0, 1, 2].map(|index| kernel.pointer(index));
            let mut b = kernel.at();
            let index = b.load(ty.with_elem(Elem::I64), indices, MemInfo::aligned(8));
            let from = b.addr(table, Some(index), bytes.into(), 0);
            let (all, other) = (b.iconst(ty.as_mask(), 1), b.undef(ty));
            let mem = Imm::Mem(MemInfo::aligned(bytes));
            let value = b.value(Opcode::Gather, &[from, all, other], mem, ty);
            b.store(output, value, MemInfo::aligned(1));
            let func = kernel.finish();
            // The last lanes get the last elements.
            let count = (pattern.len() / bytes as usize) as u64;
            let indices: Vec<u64> = (0..u64::from(lanes)).map(|lane| count - u64::from(lanes) + lane).collect();
            for compiled in compile(&func) {
                let mut output = vec![0u8; ty.bytes() as usize];
                let words = [memory.start as u64, indices.as_ptr() as u64, output.as_mut_ptr() as u64];
                compiled.call(&words, 0, 1);
                assert_eq!(output, pattern[pattern.len() - output.len()..], "{}: {ty}", compiled.backend);
            }
        }
    }
}

/// Loads and stores of all lanes, and of the first ones only.
#[test]
fn consecutive_elements() {
    let (mut memory, pattern) = patterned();
    for elem in ELEMS {
        for lanes in LANES {
            let (ty, bytes) = (Type::vector(elem, lanes), elem.bytes());
            let mut kernel = KernelBuilder::new("consecutive");
            let [whole, part, active, output] = [0, 1, 2, 3].map(|index| kernel.pointer(index));
            let mut b = kernel.at();
            let aligned = MemInfo::aligned(bytes);
            let flags = b.load(ty.with_elem(Elem::I8), active, MemInfo::aligned(1));
            let none = b.iconst(ty.with_elem(Elem::I8), 0);
            let mask = b.icmp(IntCond::Ne, flags, none);
            let all = b.load(ty, whole, aligned);
            b.store(whole, all, aligned);
            let other = b.iconst(ty, 0);
            let some = b.value(Opcode::MaskedLoad, &[part, mask, other], Imm::Mem(aligned), ty);
            b.inst(Opcode::MaskedStore, &[part, some, mask], Imm::Mem(aligned), &[]);
            b.store(output, all, MemInfo::aligned(1));
            let second = b.addr(output, None, 1, ty.bytes().into());
            b.store(second, some, MemInfo::aligned(1));
            let func = kernel.finish();
            let compiled = compile(&func);
            let end = memory.start as usize + pattern.len();
            for count in 0..=lanes {
                let active: Vec<u8> = (0..lanes).map(|lane| u8::from(lane < count)).collect();
                let (size, taken) = (ty.bytes() as usize, (count * bytes) as usize);
                let last = |length: usize| &pattern[pattern.len() - length..];
                let wanted = [last(size), last(taken), &vec![0; size - taken]].concat();
                for compiled in &compiled {
                    let mut output = vec![1u8; 2 * size];
                    let words = [end - size, end - taken, active.as_ptr() as usize, output.as_mut_ptr() as usize];
                    compiled.call(&words.map(|word| word as u64), 0, 1);
                    assert_eq!(output, wanted, "{}: {count} of {ty}", compiled.backend);
                }
            }
        }
    }
    assert_eq!(memory.all(), pattern);
}
