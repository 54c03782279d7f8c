//! Runs a kernel twice, as it is with its work-items stepped and as a group function, and compares the resulting memory.

use std::mem::offset_of;

use clift_include::abi::{Resources, WgContext, has_bounded_ids};
use clift_kir::interp::{
    Fault, Geometry, GroupLaunch, InterpError, InterpOptions as RunOptions, Interpreter, Lanes, Memory, NoObserver,
    Outcome, PreparedModule, SimMemory, SimOptions, load_globals,
};
use clift_kir::verify::LOOPED_PARAMS;
use clift_kir::{Func, Module, Space, Type, verify};

use crate::Options;
use crate::spmd::workgroup::regions::Growth;
use crate::spmd::{GroupFunction, GroupFunctions, Ids, general, make as make_with, may_be_made_on_demand};
use crate::target::machine::Machine;

/// One launch: its sizes, the buffers behind the pointer arguments, and the rest of the argument block.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) geometry: Geometry,
    /// The content of the buffer whose address is at offset 8 * i of the argument block.
    pub(crate) buffers: Vec<Vec<u8>>,
    /// Bytes of local memory, the offset of which follows the buffers' addresses.
    pub(crate) local_bytes: u64,
    /// The rest of the argument block.
    pub(crate) rest: Vec<u8>,
}

/// The result of a run.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) outcome: Outcome,
    pub(super) buffers: Vec<Vec<u8>>,
}

const FUEL: u64 = 3_000_000;

fn options(seed: u64) -> RunOptions {
    RunOptions { fuel: FUEL, seed, max_faults: 20, ..RunOptions::default() }
}

impl Launch {
    fn addresses(&self, memory: &mut SimMemory) -> Result<Vec<u64>, InterpError> {
        self.buffers
            .iter()
            .map(|bytes| {
                let address = memory.allocate(Space::Global, bytes.len() as u64, 128)?;
                memory.initialize(address, bytes)?;
                Ok(address)
            })
            .collect()
    }

    fn block(&self, addresses: &[u64], local: u64) -> Vec<u8> {
        let mut block: Vec<u8> = addresses.iter().chain([&local]).flat_map(|a| a.to_le_bytes()).collect();
        block.extend(&self.rest);
        block
    }

    fn collect(&self, memory: &SimMemory, addresses: &[u64]) -> Vec<Vec<u8>> {
        addresses.iter().map(|&a| memory.bytes(a).expect("a buffer stays").to_vec()).collect()
    }

    /// Runs the kernel as it is, with sub-groups of some size.
    pub(super) fn run_kernel(&self, module: &Module, seed: u64, sub_group_size: u32) -> Ran {
        let prepared = PreparedModule::new(module);
        let interpreter = Interpreter::new(module, &prepared);
        let mut memory = SimMemory::new(SimOptions::default());
        let globals = load_globals(module, &mut memory).expect("globals");
        let addresses = self.addresses(&mut memory).expect("buffers");
        let args = self.block(&addresses, 0);
        let func = module.kernels[0].func;
        let mut outcome = Outcome::default();
        for group in self.geometry.groups() {
            let local_base = memory.allocate(Space::Local, self.local_bytes, 128).expect("local memory");
            let launch = GroupLaunch { geometry: self.geometry, group, args: &args, local_base };
            let ran = interpreter
                .run_group(
                    func,
                    &launch,
                    &globals,
                    &RunOptions { sub_group_size, ..options(seed) },
                    &mut memory,
                    &mut NoObserver,
                )
                .expect("the kernel runs");
            memory.release(local_base);
            outcome.out_of_fuel |= ran.out_of_fuel;
            outcome.faults.extend(ran.faults);
        }
        Ran { outcome, buffers: self.collect(&memory, &addresses) }
    }

    /// Runs the group function, in runs of at most `run` groups.
    pub(super) fn run_groups(&self, module: &Module, made: &GroupFunctions, run: u64) -> Ran {
        let mut module = module.clone();
        let resources = resources(made);
        let Geometry { global_size, global_offset, local_size, .. } = self.geometry;
        let one_row = made.one_row.as_ref().filter(|_| resources.sub_groups_cross_rows(global_size, local_size));
        let general: Func = module.funcs.push(one_row.unwrap_or(general_of(made)).func.clone());
        let packed = made.packed.as_ref().map(|packed| module.funcs.push(packed.func.clone()));
        let packed_groups = resources.packed_groups(global_size, global_offset, local_size);
        let prepared = PreparedModule::new(&module);
        let interpreter = Interpreter::new(&module, &prepared);
        let mut memory = SimMemory::new(SimOptions::default());
        let globals = load_globals(&module, &mut memory).expect("globals");
        let addresses = self.addresses(&mut memory).expect("buffers");
        let args = self.block(&addresses, resources.local_bytes);
        let args_at = memory.allocate(Space::Host, args.len() as u64, 128).expect("arguments");
        memory.initialize(args_at, &args).expect("arguments");
        let scratch_bytes = resources.scratch_bytes_for(local_size).expect("scratch size");
        let local_bytes = resources.local_bytes + self.local_bytes;
        let [x, y, z] = self.geometry.num_groups();
        let mut whole = Outcome::default();
        for (z, y) in (0..z).flat_map(|z| (0..y).map(move |y| (z, y))) {
            let mut first = 0;
            while first < x {
                let groups = run.min(x - first);
                let (count, takes_packed) = match packed {
                    Some(_) => resources.next_call(first, groups, packed_groups),
                    None => (groups, false),
                };
                let func = packed.filter(|_| takes_packed).unwrap_or(general);
                // New arenas for each run: a run must not depend on what an earlier one left. Odd bases reveal alignment beyond
                // the arena's.
                let _gap = memory.allocate(Space::Private, 128, 128).expect("gap");
                let scratch = memory.allocate(Space::Private, scratch_bytes, 128).expect("scratch");
                let local = memory.allocate(Space::Local, local_bytes, 128).expect("local memory");
                let context = self.context([y, z], (local, local_bytes), (scratch, scratch_bytes));
                let ctx = memory.allocate(Space::Host, context.len() as u64, 8).expect("context");
                memory.initialize(ctx, &context).expect("context");
                let params: Vec<Lanes> = [ctx, args_at, first, count]
                    .into_iter()
                    .zip(LOOPED_PARAMS)
                    .map(|(bits, ty)| Lanes { ty, bits: vec![bits] })
                    .collect();
                let (outcome, _) = interpreter
                    .run_function(func, &params, &globals, &options(0), &mut memory, &mut NoObserver)
                    .expect("the group function runs");
                memory.clear_history();
                whole.steps += outcome.steps;
                whole.out_of_fuel |= outcome.out_of_fuel;
                whole.faults.extend(outcome.faults);
                first += count;
                memory.release(scratch);
                memory.release(local);
            }
        }
        Ran { outcome: whole, buffers: self.collect(&memory, &addresses) }
    }

    fn context(&self, group: [u64; 2], local: (u64, u64), scratch: (u64, u64)) -> Vec<u8> {
        let mut bytes = vec![0; size_of::<WgContext>()];
        let mut put = |offset: usize, value: u64| bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
        put(offset_of!(WgContext, work_dim), u64::from(self.geometry.work_dim));
        let groups = self.geometry.num_groups();
        for (d, &groups) in groups.iter().enumerate() {
            put(offset_of!(WgContext, global_size) + 8 * d, self.geometry.global_size[d]);
            put(offset_of!(WgContext, global_offset) + 8 * d, self.geometry.global_offset[d]);
            put(offset_of!(WgContext, local_size) + 8 * d, self.geometry.local_size[d]);
            put(offset_of!(WgContext, num_groups) + 8 * d, groups);
        }
        put(offset_of!(WgContext, group_y), group[0]);
        put(offset_of!(WgContext, group_z), group[1]);
        put(offset_of!(WgContext, local_mem), local.0);
        put(offset_of!(WgContext, local_mem_bytes), local.1);
        put(offset_of!(WgContext, scratch), scratch.0);
        put(offset_of!(WgContext, scratch_bytes), scratch.1);
        bytes
    }
}

/// The resources of all group functions of a kernel.
fn resources(made: &GroupFunctions) -> Resources {
    let others = made.packed.iter().chain(&made.one_row).map(|made| made.resources);
    others.fold(general_of(made).resources, Resources::max)
}

/// The function for any work-group, which tests always ask for.
pub(super) fn general_of(made: &GroupFunctions) -> &GroupFunction {
    made.general.as_ref().expect("it was asked for")
}

/// Makes and verifies the general group function of the first kernel.
pub(super) fn make(module: &Module, options: &Options, growth: Growth) -> GroupFunction {
    general_of(&make_all(module, options, growth)).clone()
}

/// The machine for which packs of so many lanes are made: with many, one that has masked accesses.
fn machine(options: &Options) -> Machine {
    let masks = options.width.is_some_and(|lanes| lanes >= 16);
    Machine { masked_store_bits: masks.then_some(8), ..Machine::COMMON }
}

/// Makes and verifies the group functions of the first kernel.
pub(super) fn make_all(module: &Module, options: &Options, growth: Growth) -> GroupFunctions {
    verify::module(module).unwrap_or_else(|e| panic!("{e}\n{module}"));
    let made = make_with(module, &module.kernels[0], options, &machine(options), (growth, true))
        .unwrap_or_else(|e| panic!("{e}"));
    for made in [&made.general, &made.packed, &made.one_row].into_iter().flatten() {
        verify::function(module, &made.func).unwrap_or_else(|e| panic!("{e}\n{module}\n{}", made.func));
    }
    made
}

/// Runs a kernel both ways and compares the results.
///
/// # Panics
/// If anything differs, or if the group function ends with a fault though the kernel does not.
pub(super) fn compare(what: &str, module: &Module, options: &Options, growth: Growth, launches: &[Launch]) {
    for width in options.width.map_or(WIDTHS.to_vec(), |width| vec![width]) {
        let options = Options { width: Some(width), ..options.clone() };
        compare_at(&format!("{what}, {width} lanes"), module, &options, growth, launches);
        for &(_, rows) in ROWS.iter().filter(|&&(with, _)| with == width) {
            let options = Options { rows: Some(rows), ..options.clone() };
            compare_at(&format!("{what}, {width} lanes, {rows} rows"), module, &options, growth, launches);
        }
    }
}

/// Widths that are also tried with several rows at once, and how many.
const ROWS: [(u32, u32); 2] = [(4, 2), (8, 4)];

/// Lanes per pack that are tried for every kernel, unless the options ask for one width.
const WIDTHS: [u32; 5] = [1, 4, 8, 16, 32];

fn compare_at(what: &str, module: &Module, options: &Options, growth: Growth, launches: &[Launch]) {
    let made = make_all(module, options, growth);
    // As it is made on demand for launches with bounded ids.
    let on_demand = |packed: &&GroupFunction| !options.single_items && may_be_made_on_demand(packed);
    let bounded = made.packed.as_ref().filter(on_demand).map(|packed| {
        let (kernel, lanes) = (&module.kernels[0], packed.resources.width);
        let general = general(module, kernel, options, &machine(options), lanes, Ids::Bounded);
        let general = general.unwrap_or_else(|e| panic!("{e}\n{module}"));
        GroupFunctions { general: Some(general), ..made.clone() }
    });
    for launch in launches {
        let expected = launch.run_kernel(module, 1, resources(&made).width);
        let show = || {
            let packed = made.packed.as_ref().map_or(String::new(), |packed| packed.func.to_string());
            format!("{what} {:?}\n{module}\n{}\n{packed}", launch.geometry, general_of(&made).func)
        };
        assert!(!expected.outcome.out_of_fuel, "the kernel does not end\n{}", show());
        for report in &expected.outcome.faults {
            let divergent = matches!(report.fault, Fault::DivergentBarrier { .. });
            assert!(divergent, "the kernel itself is wrong: {report}\n{}", show());
        }
        let Geometry { global_size, global_offset, .. } = launch.geometry;
        let bounded = bounded.as_ref().filter(|_| has_bounded_ids(global_size, global_offset, Type::MAX_LANES.into()));
        let ways = [(u64::MAX, Some(&made)), (1, Some(&made)), (u64::MAX, bounded)];
        for (run, made) in ways.into_iter().filter_map(|(run, made)| Some((run, made?))) {
            let got = launch.run_groups(module, made, run);
            let faults: Vec<String> = got.outcome.faults.iter().map(ToString::to_string).collect();
            assert!(got.outcome.is_clean(), "{faults:?} fuel {}\n{}", got.outcome.out_of_fuel, show());
            for (i, (a, b)) in expected.buffers.iter().zip(&got.buffers).enumerate() {
                let first = a.iter().zip(b).position(|(a, b)| a != b);
                assert!(first.is_none(), "buffer {i} differs from byte {first:?}: {a:?} and {b:?}\n{}", show());
            }
        }
    }
}
