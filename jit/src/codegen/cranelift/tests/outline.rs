//! Tests of outlined cold functions.

use std::sync::Arc;

use clift_kir::{BlockCall, Elem, FloatCond, Function, MemInfo, Module, Opcode, Type, Value};

use super::{KernelBuilder, compile, compile_elsewhere, legal};
use crate::codegen::cranelift::CraneliftBackend;
use crate::codegen::data::ProgramData;
use crate::codegen::{AcceptedStage, Backend, KernelCode, KernelFunction};

const FLOATS: Type = Type::scalar(Elem::F32);

/// A number; if it is large in any lane, a cold block recomputes it. The block has a mask as its second result.
fn reduced(kernel: &mut KernelBuilder, x: Value, factor: Value, cold_stores: Option<Value>) -> Value {
    let lanes = kernel.func.dfg.ty(x);
    let (cold, join) = (kernel.func.append_block(), kernel.func.append_block());
    kernel.func.layout.set_cold(cold);
    let mut b = kernel.at();
    let limit = b.fconst(lanes, 100.0);
    let large = b.fcmp(FloatCond::Ogt, x, limit);
    let any = b.any(large);
    b.branch(any, BlockCall::new(cold, &[]), BlockCall::new(join, &[x, large]));
    b.switch_to(cold);
    let mut y = x;
    for _ in 0..6 {
        let scaled = b.float2(Opcode::Fmul, y, factor);
        y = b.float2(Opcode::Fsub, scaled, limit);
    }
    let y = b.select(large, y, x);
    let negative = b.fcmp(FloatCond::Olt, y, factor);
    if let Some(place) = cold_stores {
        b.store(place, y, MemInfo::aligned(4));
    }
    b.jump(join, &[y, negative]);
    kernel.block = join;
    let y = kernel.func.dfg.append_param(join, lanes);
    let mask = kernel.func.dfg.append_param(join, lanes.as_mask());
    let mut b = kernel.at();
    let opposite = b.float1(Opcode::Fneg, y);
    b.select(mask, opposite, y)
}

/// Two such cold blocks in a loop.
fn twice(lanes: u32, cold_stores: bool) -> Function {
    let mut kernel = KernelBuilder::new("twice");
    let (from, to, aside) = (kernel.pointer(0), kernel.pointer(1), kernel.pointer(2));
    let ty = FLOATS.with_lanes(lanes);
    kernel.repeat(4, |kernel, index| {
        let scale = u64::from(ty.bytes());
        let mut b = kernel.at();
        let address = b.addr(from, Some(index), scale, 0);
        let x = b.load(ty, address, MemInfo::aligned(4));
        let factor = b.load(FLOATS, from, MemInfo::aligned(4));
        let factor = b.splat(factor, lanes);
        let once = reduced(kernel, x, factor, cold_stores.then_some(aside));
        let again = reduced(kernel, once, factor, cold_stores.then_some(aside));
        let mut b = kernel.at();
        let sum = b.float2(Opcode::Fadd, again, x);
        let address = b.addr(to, Some(index), scale, 0);
        b.store(address, sum, MemInfo::aligned(4));
    });
    kernel.finish()
}

/// The listing of a function.
fn listing(func: &Function) -> String {
    let backend = CraneliftBackend::host().unwrap();
    let AcceptedStage::Legal(caps) = backend.accepted_stage() else { unreachable!() };
    let module = Module::default();
    let general = KernelFunction::Legal(Box::new(legal(&module, func, caps)));
    let code = KernelCode { name: "twice".to_owned(), general, packed: None, keeps_lanes: true };
    let data = Arc::new(ProgramData::new(&module).unwrap());
    backend.compile(&module, vec![code], data, &["asm".to_owned()]).unwrap().log
}

#[test]
fn equal_outlined_functions_are_shared() {
    let log = listing(&twice(8, false));
    assert_eq!(log.matches("; asm outlined cold code\n").count(), 1, "{log}");
    assert_eq!(log.matches("; asm twice\n").count(), 1, "{log}");
    if cfg!(target_arch = "x86_64") {
        assert_eq!(log.matches("  call ").count(), 2, "{log}");
    }
}

#[test]
fn blocks_with_memory_accesses_are_not_outlined() {
    let log = listing(&twice(8, true));
    assert_eq!(log.matches("; asm ").count(), 1, "{log}");
}

#[test]
fn outlined_functions_compute_the_same() {
    for lanes in [1, 2, 3, 4, 8, 16] {
        for cold_stores in [false, true] {
            if lanes == 1 {
                continue;
            }
            let func = twice(lanes, cold_stores);
            compile_elsewhere(&func);
            // Some vectors have large lanes, others none.
            let input: Vec<f32> = (0..4 * lanes)
                .map(|i| if i / lanes % 2 == 0 && i % 3 == 1 { 101.5 + i as f32 } else { 3.0 + i as f32 })
                .collect();
            for compiled in compile(&func) {
                let mut output = vec![0f32; input.len()];
                let mut aside = [0f32; 16];
                let args = [input.as_ptr() as u64, output.as_mut_ptr() as u64, aside.as_mut_ptr() as u64];
                compiled.call(&args, 0, 1);
                let factor = input[0];
                for (n, chunk) in input.chunks(lanes as usize).enumerate() {
                    let once = one(chunk, factor);
                    let again = one(&once, factor);
                    for (lane, (&x, &y)) in chunk.iter().zip(&again).enumerate() {
                        let got = output[n * lanes as usize + lane];
                        assert_eq!(got, y + x, "lane {lane} of vector {n} of {lanes} lanes\n{func}");
                    }
                }
            }
        }
    }
}

/// What [`reduced`] computes.
fn one(x: &[f32], factor: f32) -> Vec<f32> {
    let any = x.iter().any(|&x| x > 100.0);
    let lane = |&x: &f32| {
        let large = x > 100.0;
        if !any {
            return x;
        }
        let long = (0..6).fold(x, |y, _| y * factor - 100.0);
        let y = if large { long } else { x };
        if y < factor { -y } else { y }
    };
    x.iter().map(lane).collect()
}
