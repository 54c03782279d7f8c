//! Listings of machine code.

use std::sync::Arc;

use clift_kir::{Function, Loc, MemInfo, Module, Opcode, Type};

use super::{KernelBuilder, legal};
use crate::codegen::cranelift::CraneliftBackend;
use crate::codegen::data::ProgramData;
use crate::codegen::{AcceptedStage, Backend, KernelCode, KernelFunction};

#[test]
fn locations_labels_and_constants() {
    let mut kernel = KernelBuilder::new("listed");
    let pointer = kernel.pointer(0);
    kernel.repeat(10, |kernel, index| {
        let ty = Type::vector(clift_kir::Elem::I32, 4);
        let mut b = kernel.at();
        b.set_loc(Loc { word: 3, line: 12, column: 5, call: 0 });
        let address = b.addr(pointer, Some(index), 16, 0);
        let value = b.load(ty, address, MemInfo::aligned(4));
        b.set_loc(Loc { word: 4, line: 13, column: 1, call: 0 });
        let seven = b.iconst(ty, 7);
        let sum = b.int2(Opcode::Iadd, value, seven);
        b.store(address, sum, MemInfo::aligned(4));
    });
    let log = listing(&kernel.finish());
    assert!(log.contains("; asm listed"), "{log}");
    if cfg!(target_arch = "x86_64") {
        for wanted in ["; line 12\n", "; line 13\n", "\nL", "ret", "; 00000007 in every word"] {
            assert!(log.contains(wanted), "no {wanted:?} in\n{log}");
        }
    }
}

/// A loop with more constants than registers reads some of them from memory, and the listing shows their values.
#[test]
fn constants_of_the_pool() {
    let mut kernel = KernelBuilder::new("listed");
    let pointer = kernel.pointer(0);
    kernel.repeat(10, |kernel, index| {
        let ty = Type::vector(clift_kir::Elem::I32, 4);
        let mut b = kernel.at();
        let address = b.addr(pointer, Some(index), 16, 0);
        let mut value = b.load(ty, address, MemInfo::aligned(4));
        for bits in 0x100..0x120 {
            let constant = b.iconst(ty, bits);
            let sum = b.int2(Opcode::Iadd, value, constant);
            value = b.int2(Opcode::Imul, sum, value);
        }
        b.store(address, value, MemInfo::aligned(4));
    });
    let log = listing(&kernel.finish());
    if cfg!(target_arch = "x86_64") {
        for bits in 0x100..0x120 {
            assert!(log.contains(&format!("; {bits:08x} in every word")), "no {bits:x} in\n{log}");
        }
    }
}

/// Upper halves of 32-bit products use the widening multiply instruction.
#[test]
fn widening_multiplies() {
    let mut kernel = KernelBuilder::new("listed");
    let pointer = kernel.pointer(0);
    let ty = Type::vector(clift_kir::Elem::I32, 8);
    let mut b = kernel.at();
    let value = b.load(ty, pointer, MemInfo::aligned(4));
    let factor = b.iconst(ty, 0x5251_1f53);
    let high = b.int2(Opcode::Umulh, value, factor);
    b.store(pointer, high, MemInfo::aligned(4));
    let log = listing(&kernel.finish());
    if cfg!(target_arch = "x86_64") {
        assert!(log.contains("pmuludq") && !log.contains("pmullq"), "{log}");
    }
}

/// The listing of a function.
fn listing(func: &Function) -> String {
    let backend = CraneliftBackend::host().unwrap();
    let AcceptedStage::Legal(caps) = backend.accepted_stage() else { unreachable!() };
    let module = Module::default();
    let general = KernelFunction::Legal(Box::new(legal(&module, func, caps)));
    let code = KernelCode { name: "listed".to_owned(), general, packed: None, keeps_lanes: true };
    let data = Arc::new(ProgramData::new(&module).unwrap());
    backend.compile(&module, vec![code], data, &["asm".to_owned()]).unwrap().log
}
