//! Launches of file tests and generated kernels on the backends, through the ABI that the runtime uses.
#![allow(unsafe_code, reason = "compiled kernels are called")]

use std::ffi::{CStr, c_void};
use std::fmt::Write as _;
use std::sync::Mutex;

use clift_include::abi::{ARENA_ALIGN, Callbacks, PrintfArg, PrintfArgKind, WgContext, unprotected};
use clift_kir::testing::run::{Arg, Fill, RunCase, RunResult};
use clift_kir::{Imm, MemScope, Module, Opcode, Stage};

use crate::pipeline::build;
use crate::spirv::{Imported, KernelDesc};
use crate::{BackendChoice, Kernel, Options, Program};

/// Memory aligned as buffers and arenas are.
struct Arena {
    words: Vec<u128>,
    bytes: usize,
}

impl Arena {
    fn new(bytes: usize) -> Arena {
        // Not zero: nothing may rely on it.
        Arena { words: vec![u128::MAX / 3; (bytes + 2 * ARENA_ALIGN) / 16], bytes }
    }

    fn base(&mut self) -> *mut u8 {
        let skip = self.words.as_ptr().align_offset(ARENA_ALIGN);
        self.words.as_mut_ptr().wrapping_add(skip).cast()
    }

    fn with(bytes: &[u8]) -> Arena {
        let mut arena = Arena::new(bytes.len());
        // SAFETY: the arena has room for them behind its base.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), arena.base(), bytes.len()) };
        arena
    }

    fn bytes(&mut self) -> Vec<u8> {
        let (base, bytes) = (self.base(), self.bytes);
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts(base, bytes) }.to_vec()
    }
}

/// What callbacks of a launch leave.
#[derive(Debug, Default)]
struct Heard {
    faults: Mutex<Vec<String>>,
    prints: Mutex<Vec<String>>,
}

unsafe extern "C" fn printf(
    ctx: *const WgContext,
    format: *const u8,
    args: *const PrintfArg,
    count: u64,
    data: *const u8,
) -> i32 {
    // SAFETY: the context leads to what the launch heard; code passes what the ABI says.
    unsafe {
        let heard = &*(*ctx).launch.cast::<Heard>();
        let mut line = format!("\"{}\"", CStr::from_ptr(format.cast()).to_string_lossy().escape_default());
        for i in 0..count as usize {
            let arg = *args.add(i);
            let size = usize::from(arg.elem_bytes);
            let lane = |lane: usize| {
                let mut word = [0u8; 8];
                std::ptr::copy_nonoverlapping(data.add(arg.offset as usize + lane * size), word.as_mut_ptr(), size);
                let bits = u64::from_le_bytes(word);
                let shift = 64 - 8 * size as u32;
                match arg.kind {
                    PrintfArgKind::Int => ((bits << shift) as i64 >> shift).to_string(),
                    PrintfArgKind::Float if size == 4 => format!("{:?}", f32::from_bits(bits as u32)),
                    PrintfArgKind::Float => format!("{:?}", f64::from_bits(bits)),
                    PrintfArgKind::Pointer => "pointer".to_owned(),
                }
            };
            let lanes: Vec<String> = (0..usize::from(arg.lanes)).map(lane).collect();
            let class = if arg.kind == PrintfArgKind::Float { 'f' } else { 'i' };
            let comma = if i > 0 { "," } else { "" };
            let _ = match lanes.as_slice() {
                [only] => write!(line, "{comma} {class}{} {only}", size * 8),
                many => write!(line, "{comma} {class}{}x{} [{}]", size * 8, many.len(), many.join(", ")),
            };
        }
        heard.prints.lock().unwrap().push(line);
    }
    0
}

unsafe extern "C" fn fault(ctx: *const WgContext, message: *const u8, len: u64) {
    // SAFETY: as above.
    unsafe {
        let heard = &*(*ctx).launch.cast::<Heard>();
        let message = std::slice::from_raw_parts(message, len as usize);
        heard.faults.lock().unwrap().push(String::from_utf8_lossy(message).into_owned());
    }
}

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

/// How to build and split a launch.
#[derive(Clone, Debug)]
pub struct How {
    /// For messages.
    pub name: &'static str,
    /// What executes it.
    pub backend: BackendChoice,
    /// Only the passes that correctness needs.
    pub opt_disable: bool,
    /// Whether the kernel goes through the canonical passes first, as if it had just been imported.
    pub from_imported: bool,
    /// Lanes per pack.
    pub width: Option<u32>,
    /// Groups per run, at most.
    pub run: u64,
    /// As [`Options::inline_limit`].
    pub inline_limit: Option<usize>,
}

/// The ways in which every launch must give the same, on this machine: no two are the same there.
pub fn ways() -> impl Iterator<Item = &'static How> {
    WAYS.iter().filter(|how| how.backend.is_distinct())
}

const WAYS: [How; 18] = [
    How { name: "cranelift", ..CRANELIFT },
    How { name: "cranelift, 4 lanes", width: Some(4), from_imported: false, run: 1, ..CRANELIFT },
    How { name: "cranelift, 8 lanes", width: Some(8), ..CRANELIFT },
    How { name: "cranelift, 16 lanes", width: Some(16), from_imported: false, ..CRANELIFT },
    How { name: "cranelift, no optimization", opt_disable: true, from_imported: false, run: 1, ..CRANELIFT },
    How { name: "host", backend: BackendChoice::Auto, ..CRANELIFT },
    How { name: "host, 4 lanes", backend: BackendChoice::Auto, width: Some(4), ..CRANELIFT },
    How {
        name: "host, 8 lanes",
        backend: BackendChoice::Auto,
        width: Some(8),
        from_imported: false,
        run: 1,
        ..CRANELIFT
    },
    How { name: "host, 16 lanes", backend: BackendChoice::Auto, width: Some(16), ..CRANELIFT },
    How { name: "host, 32 lanes", backend: BackendChoice::Auto, width: Some(32), from_imported: false, ..CRANELIFT },
    How { name: "avx2", backend: BackendChoice::Avx2, ..CRANELIFT },
    How { name: "avx2, 8 lanes", backend: BackendChoice::Avx2, width: Some(8), from_imported: false, ..CRANELIFT },
    How { name: "skylake", backend: BackendChoice::Skylake, ..CRANELIFT },
    How {
        name: "skylake, 16 lanes",
        backend: BackendChoice::Skylake,
        width: Some(16),
        from_imported: false,
        ..CRANELIFT
    },
    How { name: "interp", backend: BackendChoice::Interp, from_imported: false, run: 2, ..CRANELIFT },
    How { name: "cranelift, calls", inline_limit: Some(0), ..CRANELIFT },
    How { name: "host, calls", backend: BackendChoice::Auto, inline_limit: Some(0), ..CRANELIFT },
    How { name: "interp, calls", backend: BackendChoice::Interp, inline_limit: Some(0), run: 2, ..CRANELIFT },
];

/// Machine code for one work-item after the other, with all passes.
pub const CRANELIFT: How = How {
    name: "",
    backend: BackendChoice::Cranelift,
    opt_disable: false,
    width: Some(1),
    from_imported: true,
    run: u64::MAX,
    inline_limit: None,
};

impl How {
    /// Whether a launch may be run so: where sub-groups matter, packs are of their size.
    pub fn suits(&self, module: &Module, case: &RunCase) -> bool {
        let width = self.width.unwrap_or(1);
        // As a backend the interpreter starts from work-items; looped kernels it has run already.
        let looped = module.kernel(&case.kernel).is_some_and(|k| module.funcs[k.func].stage == Stage::Looped);
        let interprets = self.backend == BackendChoice::Interp;
        (case.sub_group_size == width || !names_sub_groups(module)) && !(looped && interprets)
    }
}

/// Whether a kernel asks for sub-groups or does something in them.
fn names_sub_groups(module: &Module) -> bool {
    let is_one = |op: Opcode| {
        [
            Opcode::SubGroupSize,
            Opcode::MaxSubGroupSize,
            Opcode::NumSubGroups,
            Opcode::EnqueuedNumSubGroups,
            Opcode::SubGroupId,
            Opcode::SubGroupLocalId,
            Opcode::GroupBallot,
            Opcode::GroupShuffle,
            Opcode::NamedBarrier,
        ]
        .contains(&op)
    };
    module.funcs.values().any(|func| {
        let insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
        insts.into_iter().map(|&inst| func.dfg.inst(inst)).any(|data| match &data.imm {
            Imm::Group(info) => info.scope == MemScope::SubGroup,
            _ => is_one(data.op),
        })
    })
}

/// Runs a launch in one of the ways.
pub fn execute(module: &Module, case: &RunCase, how: &How) -> Result<RunResult, String> {
    let mut module = module.clone();
    if how.from_imported {
        for func in module.funcs.values_mut().filter(|f| f.stage == Stage::Canonical) {
            func.stage = Stage::Imported;
        }
    }
    let options = Options {
        backend: how.backend,
        opt_disable: how.opt_disable,
        width: how.width,
        inline_limit: how.inline_limit,
        ..Options::default()
    };
    let program = make(module, &options)?;
    let kernel = program.kernels.iter().find(|k| k.name == case.kernel);
    let kernel = kernel.ok_or_else(|| format!("there is no kernel `{}`", case.kernel))?;
    let mut launch = Launch::new(kernel, case)?;
    launch.run(how.run);
    launch.result()
}

/// Builds a module made by hand.
pub fn make(module: Module, options: &Options) -> Result<Program, String> {
    let kernels = module
        .kernels
        .iter()
        .map(|kernel| KernelDesc { name: module.funcs[kernel.func].name.clone(), ..KernelDesc::default() });
    let imported = Imported { kernels: kernels.collect(), module };
    build(imported, options).map_err(|e| e.to_string())
}

/// A launch with its memory.
pub struct Launch<'a> {
    kernel: &'a Kernel,
    case: &'a RunCase,
    heard: Heard,
    buffers: Vec<(u32, Arena)>,
    block: Arena,
    scratch: Arena,
    local: Arena,
}

impl<'a> Launch<'a> {
    /// Allocates and fills what a launch needs.
    pub fn new(kernel: &'a Kernel, case: &'a RunCase) -> Result<Launch<'a>, String> {
        let mut block = vec![0u8; kernel.resources.arg_block_bytes as usize];
        let mut local_bytes = kernel.resources.local_bytes;
        let mut buffers = Vec::new();
        for (offset, arg) in &case.args {
            let bytes = match arg {
                Arg::Buffer { ty, count, fill } => {
                    let mut buffer = Arena::with(&fill.bytes(*ty, *count));
                    let address = buffer.base() as u64;
                    buffers.push((*offset, buffer));
                    address.to_le_bytes().to_vec()
                }
                Arg::Value(lanes) => Fill::Repeat(lanes.bits.clone()).bytes(lanes.ty, 1),
                Arg::Local(size) => {
                    let at = local_bytes.next_multiple_of(ARENA_ALIGN as u64);
                    local_bytes = at + size;
                    at.to_le_bytes().to_vec()
                }
            };
            let at = *offset as usize;
            let place = block.get_mut(at..at + bytes.len());
            place.ok_or_else(|| format!("argument {offset} lies beyond the argument block"))?.copy_from_slice(&bytes);
        }
        let scratch_bytes = kernel.resources.scratch_bytes_for(case.geometry.local_size);
        let scratch_bytes = scratch_bytes.ok_or("scratch memory overflows")?;
        Ok(Launch {
            kernel,
            case,
            heard: Heard::default(),
            buffers,
            block: Arena::with(&block),
            scratch: Arena::new(scratch_bytes as usize),
            local: Arena::new(local_bytes as usize),
        })
    }

    /// Runs all groups, in runs of at most `run`.
    pub fn run(&mut self, run: u64) {
        let geometry = &self.case.geometry;
        let [groups_x, groups_y, groups_z] = geometry.num_groups();
        let resources = &self.kernel.resources;
        let packed_groups = resources.packed_groups(geometry.global_size, geometry.global_offset, geometry.local_size);
        for (group_y, group_z) in (0..groups_z).flat_map(|z| (0..groups_y).map(move |y| (y, z))) {
            let mut first = 0;
            while first < groups_x {
                let groups = run.min(groups_x - first);
                let (entry, count) = match self.kernel.entry.packed {
                    Some(packed) => {
                        let (count, whole) = resources.next_call(first, groups, packed_groups);
                        (if whole { packed } else { self.kernel.entry.run }, count)
                    }
                    None => (self.kernel.entry.run, groups),
                };
                let context = WgContext {
                    work_dim: geometry.work_dim,
                    reserved: 0,
                    global_size: geometry.global_size,
                    global_offset: geometry.global_offset,
                    local_size: geometry.local_size,
                    num_groups: geometry.num_groups(),
                    group_y,
                    group_z,
                    local_mem: self.local.base(),
                    local_mem_bytes: self.local.bytes as u64,
                    scratch: self.scratch.base(),
                    scratch_bytes: self.scratch.bytes as u64,
                    callbacks: &CALLBACKS,
                    launch: (&raw const self.heard).cast::<c_void>(),
                    entry_data: self.kernel.entry.data,
                };
                // SAFETY: context and block are what the kernel's resources ask for; the program is alive.
                unsafe { entry(&context, self.block.base(), first, count) };
                first += count;
            }
        }
    }

    /// What the launch left.
    pub fn result(self) -> Result<RunResult, String> {
        let faults = self.heard.faults.into_inner().unwrap_or_default();
        if !faults.is_empty() {
            return Err(format!("faults: {faults:#?}"));
        }
        Ok(RunResult {
            buffers: self.buffers.into_iter().map(|(offset, mut buffer)| (offset, buffer.bytes())).collect(),
            faults: Vec::new(),
            prints: Some(self.heard.prints.into_inner().unwrap_or_default()),
        })
    }
}
