//! Runs a work-group, whose work-items are scheduled in turn and synchronized (`sync`) at barriers and collective operations,
//! or a plain function.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::memory::{Accessor, Memory};
use super::observe::{ItemId, Lanes, Observer};
use super::prepare::GlobalAddresses;
use super::step::{Flow, LaneVec, LaunchContext, Machine, Thread};
use super::sync::{ItemState, SyncPoint, WorkItem};
use super::{Interleave, InterpError, InterpOptions, Interpreter, Outcome};
use crate::entities::Func;
use crate::types::Space;

/// The sizes of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Dimensions, 1 to 3; higher ones have size 1 and offset 0.
    pub work_dim: u32,
    /// Work-items per dimension.
    pub global_size: [u64; 3],
    /// Offset of the global ids.
    pub global_offset: [u64; 3],
    /// Work-items of a full group per dimension.
    pub local_size: [u64; 3],
}

impl Geometry {
    /// A launch along x.
    pub fn linear(global_size: u64, local_size: u64) -> Geometry {
        Geometry {
            work_dim: 1,
            global_size: [global_size, 1, 1],
            global_offset: [0; 3],
            local_size: [local_size, 1, 1],
        }
    }

    /// Number of work-groups per dimension, the smaller last one included.
    pub fn num_groups(&self) -> [u64; 3] {
        [0, 1, 2].map(|d| self.global_size[d].div_ceil(self.local_size[d].max(1)))
    }

    /// Ids of all work-groups, x fastest.
    pub fn groups(&self) -> impl Iterator<Item = [u64; 3]> + use<> {
        let [x, y, z] = self.num_groups();
        (0..z).flat_map(move |z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z])))
    }

    /// Size of a group; the last group of a dimension may be smaller.
    pub fn group_size(&self, group: [u64; 3]) -> [u64; 3] {
        [0, 1, 2].map(|d| {
            let start = group[d].saturating_mul(self.local_size[d]);
            self.local_size[d].min(self.global_size[d].saturating_sub(start))
        })
    }
}

/// A work-group to run.
#[derive(Clone, Copy, Debug)]
pub struct GroupLaunch<'a> {
    /// Sizes of the launch.
    pub geometry: Geometry,
    /// Id of the group.
    pub group: [u64; 3],
    /// The argument block. Pointers are addresses in the interpreter's memory, local ones offsets from `local_base`.
    pub args: &'a [u8],
    /// Base address of local pointer arguments.
    pub local_base: u64,
}

impl<'m> Interpreter<'m> {
    /// Runs one work-group of a kernel (or any function without parameters) at a stage before the looped one.
    ///
    /// # Errors
    /// If the program cannot be run. Faults of the program are in the outcome.
    pub fn run_group(
        &self,
        func: Func,
        launch: &GroupLaunch<'_>,
        globals: &GlobalAddresses,
        options: &InterpOptions,
        memory: &mut dyn Memory,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, InterpError> {
        let function = self.module.funcs.get(func).ok_or(InterpError::NoFunction(func))?;
        if !function.param_types().is_empty() {
            return Err(InterpError::BadLaunch(format!("`{}` has parameters", function.name)));
        }
        let local_size = launch.geometry.group_size(launch.group);
        let count = local_size.iter().try_fold(1u64, |n, &size| n.checked_mul(size)).unwrap_or(u64::MAX);
        if count == 0 || count > MAX_ITEMS {
            return Err(InterpError::BadLaunch(format!("{count} work-items in group {:?}", launch.group)));
        }
        let mut globals = globals.clone();
        let mut owned: SmallVec<[u64; 8]> = SmallVec::new();
        for &global in self.prepared.locals(func) {
            let data = &self.module.globals[global];
            let address = memory.allocate(Space::Local, data.size, data.align)?;
            globals.set(global, address);
            owned.push(address);
        }
        let mut arg_block = 0;
        if self.prepared.func(func).arg_addr {
            arg_block = memory.allocate(Space::Host, launch.args.len() as u64, ARG_ALIGN)?;
            memory.initialize(arg_block, launch.args)?;
            owned.push(arg_block);
        }
        let place = LaunchContext {
            work_dim: launch.geometry.work_dim,
            global_size: launch.geometry.global_size,
            global_offset: launch.geometry.global_offset,
            enqueued_local_size: launch.geometry.local_size,
            num_groups: launch.geometry.num_groups(),
            local_size,
            args: launch.args,
            arg_block,
            local_base: launch.local_base,
        };
        let mut machine = self.machine(globals, place, options, memory, observer);
        machine.yields = options.interleave == Interleave::Accesses;
        machine.group(func, launch, count as u32)?;
        let Machine { outcome, memory, .. } = machine;
        owned.into_iter().for_each(|address| memory.release(address));
        Ok(outcome)
    }

    /// Runs all work-groups of a launch in order and combines the outcomes.
    ///
    /// # Errors
    /// As [`Self::run_group`].
    pub fn run_launch(
        &self,
        func: Func,
        launch: &GroupLaunch<'_>,
        globals: &GlobalAddresses,
        options: &InterpOptions,
        memory: &mut dyn Memory,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, InterpError> {
        let mut whole = Outcome::default();
        for group in launch.geometry.groups() {
            let launch = GroupLaunch { group, ..*launch };
            let options = InterpOptions {
                fuel: options.fuel.saturating_sub(whole.steps),
                seed: if options.seed == 0 { 0 } else { options.seed.wrapping_add(whole.steps) | 1 },
                ..*options
            };
            let outcome = self.run_group(func, &launch, globals, &options, memory, observer)?;
            whole.steps += outcome.steps;
            whole.out_of_fuel |= outcome.out_of_fuel;
            whole.too_many_faults |= outcome.too_many_faults;
            for report in outcome.faults {
                let same = |r: &&mut super::Report| {
                    r.func == report.func && r.inst == report.inst && r.fault.kind() == report.fault.kind()
                };
                match whole.faults.iter_mut().find(same) {
                    Some(known) => known.count += report.count,
                    None => whole.faults.push(report),
                }
            }
            if whole.out_of_fuel || whole.faults.len() >= options.max_faults {
                break;
            }
        }
        Ok(whole)
    }

    /// Runs a function with arguments to its end and returns its results, or none if it did not reach its end. A looped kernel is
    /// such a function.
    ///
    /// # Errors
    /// If the program cannot be run. Faults of the program are in the outcome.
    pub fn run_function(
        &self,
        func: Func,
        args: &[Lanes],
        globals: &GlobalAddresses,
        options: &InterpOptions,
        memory: &mut dyn Memory,
        observer: &mut dyn Observer,
    ) -> Result<(Outcome, Vec<Lanes>), InterpError> {
        let function = self.module.funcs.get(func).ok_or(InterpError::NoFunction(func))?;
        let params = function.param_types();
        let fits =
            |(lanes, ty): (&Lanes, &crate::types::Type)| lanes.ty == *ty && lanes.bits.len() == ty.lanes() as usize;
        if args.len() != params.len() || !args.iter().zip(&params).all(fits) {
            return Err(InterpError::BadLaunch(format!("arguments do not fit `{}`", function.name)));
        }
        let mut machine = self.machine(globals.clone(), LaunchContext::default(), options, memory, observer);
        let mut thread =
            Thread { frames: Vec::new(), id: None, access: Accessor::default(), yielded: false, returned: Vec::new() };
        let args: Vec<LaneVec> = args.iter().map(|lanes| LaneVec::from_slice(&lanes.bits)).collect();
        machine.enter(&mut thread, func, &args)?;
        while matches!(machine.run(&mut thread)?, Flow::Wait | Flow::Yield | Flow::GiveWay) {
            // There are no other threads to wait for.
            machine.execute_alone(&mut thread);
        }
        while machine.leave(&mut thread).is_some() {}
        let returned = function.returns.iter().zip(thread.returned);
        let returned = returned.map(|(&ty, bits)| Lanes { ty, bits: bits.to_vec() }).collect();
        Ok((machine.outcome, returned))
    }

    fn machine<'r>(
        &self,
        globals: GlobalAddresses,
        place: LaunchContext<'r>,
        options: &InterpOptions,
        memory: &'r mut dyn Memory,
        observer: &'r mut dyn Observer,
    ) -> Machine<'m, 'r> {
        Machine {
            interpreter: *self,
            options: *options,
            memory,
            observer,
            globals,
            place,
            outcome: Outcome::default(),
            seen: FxHashMap::default(),
            yields: false,
        }
    }
}

/// Maximum number of work-items of a group.
const MAX_ITEMS: u64 = 1 << 20;

/// Alignment of the argument block.
const ARG_ALIGN: u32 = 128;

impl<'m> Machine<'m, '_> {
    /// Runs the work-items of a group from one synchronization point to the next.
    fn group(&mut self, func: Func, launch: &GroupLaunch<'_>, count: u32) -> Result<(), InterpError> {
        let mut rng = fastrand::Rng::with_seed(self.options.seed);
        let mut epochs = (0, 0);
        let mut items: Vec<WorkItem<'m>> = (0..count).map(|linear| self.item(launch, linear)).collect();
        loop {
            let mut ready: Vec<usize> =
                (0..items.len()).filter(|&i| matches!(items[i].state, ItemState::Ready)).collect();
            if ready.is_empty() {
                break;
            }
            for &i in &ready {
                items[i].thread.access.local_epoch = epochs.0;
                items[i].thread.access.global_epoch = epochs.1;
            }
            // Work-items are taken from the end.
            ready.reverse();
            while !ready.is_empty() {
                let at = if self.options.seed == 0 {
                    // Ascending order, or round-robin with interleaving.
                    ready.len() - 1
                } else {
                    rng.usize(..ready.len())
                };
                let last = ready.len() - 1;
                ready.swap(at, last);
                let item = &mut items[ready[last]];
                if !item.started {
                    item.started = true;
                    self.enter(&mut item.thread, func, &[])?;
                }
                match self.run(&mut item.thread)? {
                    Flow::Yield => {
                        if self.options.seed == 0 {
                            ready.rotate_right(1);
                        }
                    }
                    // It is ready again in the next round, after the barriers at which all others wait.
                    Flow::GiveWay => {
                        ready.pop();
                    }
                    Flow::Wait => {
                        item.state = ItemState::Waiting(SyncPoint::of(&item.thread));
                        ready.pop();
                    }
                    Flow::End | Flow::Next | Flow::Moved => {
                        item.state = ItemState::Done;
                        ready.pop();
                    }
                    Flow::Stop => {
                        for item in &mut items {
                            while self.leave(&mut item.thread).is_some() {}
                        }
                        return Ok(());
                    }
                }
            }
            self.synchronize(&mut items, &mut epochs);
        }
        Ok(())
    }

    fn item(&self, launch: &GroupLaunch<'_>, linear: u32) -> WorkItem<'m> {
        let [width, height, _] = self.place.local_size;
        let number = u64::from(linear);
        let local = [number % width, number / width % height, number / width / height];
        let global = [0, 1, 2].map(|d| {
            let start = launch.group[d].wrapping_mul(launch.geometry.local_size[d]);
            launch.geometry.global_offset[d].wrapping_add(start).wrapping_add(local[d])
        });
        let [x, y, z] = launch.group;
        let [groups_x, groups_y, _] = self.place.num_groups;
        let group = z.wrapping_mul(groups_y).wrapping_add(y).wrapping_mul(groups_x).wrapping_add(x);
        let access = Accessor { group, item: linear, ..Accessor::default() };
        let id = Some(ItemId { group: launch.group, local, global });
        let thread = Thread { frames: Vec::new(), id, access, yielded: false, returned: Vec::new() };
        WorkItem { thread, state: ItemState::Ready, started: false }
    }
}
