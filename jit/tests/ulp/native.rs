//! One function as a kernel over buffers, compiled and called directly.

#![allow(unsafe_code, reason = "calls generated code")]

use clift_include::abi::{ARENA_ALIGN, Callbacks, PrintfArg, WgContext, unprotected};
use clift_jit::builtins::{self, Operand};
use clift_jit::pipeline::build;
use clift_jit::spirv::{Imported, KernelDesc};
use clift_jit::{Kernel, Options, Program};
use clift_kir::{Builder, Elem, Function as Code, KernelData, MemInfo, Module, Opcode, Space, Type, Value};

use crate::inputs::{BATCH, Batch};
use crate::reference::{Function, Operands};

/// Work-items of a group.
const GROUP: u64 = 64;

/// A compiled function.
pub(crate) struct Compiled {
    program: Program,
    elem: Elem,
    operands: Operands,
}

impl Compiled {
    /// Compiles `out[i] = function(x[i], y[i])`.
    pub(crate) fn new(function: &Function, elem: Elem, width: Option<u32>) -> Result<Compiled, String> {
        let mut code = Code::new("f", &[]);
        let block = code.append_block();
        let mut b = Builder::at_end(&mut code, block);
        let index = b.query(Opcode::GlobalId, 0);
        let ty = Type::scalar(elem);
        let place = |b: &mut Builder<'_>, argument: u32, ty: Type| {
            let base = b.arg(8 * argument, Type::ptr(Space::Global));
            b.addr(base, Some(index), u64::from(ty.bytes()), 0)
        };
        let read = |b: &mut Builder<'_>, argument: u32, ty: Type| -> Value {
            let place = place(b, argument, ty);
            b.load(ty, place, MemInfo::aligned(ty.bytes()))
        };
        let mut args = vec![Operand::Value(read(&mut b, 0, ty))];
        match function.operands() {
            Operands::One => {}
            Operands::Two => args.push(Operand::Value(read(&mut b, 1, ty))),
            Operands::WithInt => args.push(Operand::Value(read(&mut b, 1, Type::I32))),
        }
        let result = builtins::expand(&mut b, function.op, &args, Some(ty))?.ok_or("no value")?;
        let out = place(&mut b, 2, ty);
        b.store(out, result, MemInfo::aligned(ty.bytes()));
        b.ret(&[]);
        let mut module = Module::default();
        let func = module.funcs.push(code);
        module.kernels.push(KernelData { func, arg_block_bytes: 24, required_local_size: None });
        let kernels = vec![KernelDesc { name: "f".to_owned(), ..KernelDesc::default() }];
        let options = Options { width, ..Options::default() };
        let program = build(Imported { module, kernels }, &options).map_err(|error| error.to_string())?;
        Ok(Compiled { program, elem, operands: function.operands() })
    }

    /// Results for the arguments of a batch.
    pub(crate) fn run(&self, batch: &Batch) -> Vec<u64> {
        let wide = self.elem == Elem::F64;
        let x = Buffer::new(&batch.x, wide);
        let y = Buffer::new(&batch.y, wide && self.operands == Operands::Two);
        let mut out = Buffer::new(&vec![0; BATCH], wide);
        let block = [x.base(), y.base(), out.base()];
        launch(&self.program.kernels[0], &block);
        out.values(BATCH)
    }
}

/// Aligned memory of 32- or 64-bit numbers.
struct Buffer {
    words: Vec<u64>,
    start: usize,
    wide: bool,
}

impl Buffer {
    fn new(values: &[u64], wide: bool) -> Buffer {
        let mut words = vec![0u64; values.len() + 2 * ARENA_ALIGN];
        let start = words.as_ptr().align_offset(ARENA_ALIGN);
        for (i, &value) in values.iter().enumerate() {
            if wide {
                words[start + i] = value;
            } else {
                words[start + i / 2] |= (value & 0xffff_ffff) << (32 * (i % 2));
            }
        }
        Buffer { words, start, wide }
    }

    fn base(&self) -> u64 {
        self.words[self.start..].as_ptr() as u64
    }

    fn values(&mut self, count: usize) -> Vec<u64> {
        let words = std::hint::black_box(&self.words[self.start..]);
        let value = |i: usize| if self.wide { words[i] } else { words[i / 2] >> (32 * (i % 2)) & 0xffff_ffff };
        (0..count).map(value).collect()
    }
}

unsafe extern "C" fn printf(_: *const WgContext, _: *const u8, _: *const PrintfArg, _: u64, _: *const u8) -> i32 {
    -1
}

unsafe extern "C" fn fault(_: *const WgContext, _: *const u8, _: u64) {}

extern "C" fn check(_: *const WgContext, _: u64, _: u64, _: u64, _: u64) -> i32 {
    1
}

unsafe extern "C" fn request(_: *const WgContext, _: u32, _: *const u64, _: u64) -> u64 {
    0
}

extern "C" fn clock() -> u64 {
    0
}

static CALLBACKS: Callbacks =
    Callbacks { printf, fault, request, clock, enter: unprotected::enter, copy: unprotected::copy, check };

/// Runs a kernel over a batch.
fn launch(kernel: &Kernel, block: &[u64; 3]) {
    let (global_size, local_size) = ([BATCH as u64, 1, 1], [GROUP, 1, 1]);
    let scratch_bytes = kernel.resources.scratch_bytes_for(local_size).expect("scratch memory of a small kernel");
    let mut scratch = vec![0u128; scratch_bytes as usize / 16 + 2 * ARENA_ALIGN];
    let skip = scratch.as_ptr().align_offset(ARENA_ALIGN);
    let groups = BATCH as u64 / GROUP;
    let context = WgContext {
        work_dim: 1,
        reserved: 0,
        global_size,
        global_offset: [0; 3],
        local_size,
        num_groups: [groups, 1, 1],
        group_y: 0,
        group_z: 0,
        local_mem: std::ptr::null_mut(),
        local_mem_bytes: 0,
        scratch: scratch[skip..].as_mut_ptr().cast(),
        scratch_bytes,
        callbacks: &CALLBACKS,
        launch: std::ptr::null(),
        entry_data: kernel.entry.data,
    };
    let packed = kernel.resources.packed_groups(global_size, [0; 3], local_size);
    // SAFETY: context and block are what the kernel's resources ask for, and all buffers are as long as the launch.
    unsafe {
        match kernel.entry.packed {
            Some(entry) if packed == groups => entry(&context, block.as_ptr().cast(), 0, groups),
            _ => (kernel.entry.run)(&context, block.as_ptr().cast(), 0, groups),
        }
    }
}
