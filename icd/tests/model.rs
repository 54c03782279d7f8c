//! Random sequences of calls whose status and effects a model of the objects predicts: which handles are valid, which objects
//! belong to which context, what has been released how often, which commands fail with the events they wait for, and what
//! commands do to memory.
//!
//! The specification does not say in which order rules are checked. So the model names the errors of all rules that a call
//! violates: the status has to be one of them, and `CL_SUCCESS` if there are none. After each sequence all references are
//! released, and no object may be left. Handles without references are given to `clRelease*` only: what else they do is not
//! specified while something still needs the object. Calls whose behaviour is not defined are not made.
//!
//! `CLIFT_FUZZ_MS` says for how many milliseconds sequences are made. The number of calls is printed; `ARBTEST_SEED` repeats a
//! failure.
#![allow(unsafe_code, reason = "C calls and the pointers they take")]

#[path = "model/callbacks.rs"]
mod callbacks;
#[path = "model/chains.rs"]
mod chains;
#[path = "api/cl.rs"]
#[allow(dead_code, reason = "shared with the test `api`")]
mod cl;
#[path = "model/command_buffers.rs"]
mod command_buffers;
#[path = "model/commands.rs"]
mod commands;
#[path = "model/contents.rs"]
mod contents;
#[path = "model/images.rs"]
mod images;
#[path = "model/kernels.rs"]
mod kernels;
#[path = "model/objects.rs"]
mod objects;
#[path = "model/operations.rs"]
mod operations;
#[path = "model/semaphores.rs"]
mod semaphores;
#[path = "model/svm.rs"]
mod svm;
#[path = "model/world.rs"]
mod world;

use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

use arbtest::arbitrary::{Result, Unstructured};

use clift::ffi::handle::ClObject;
use clift::object::buffer::Mem;
use clift::object::command_buffer::{CommandBuffer, MutableCommand};
use clift::object::context::Context;
use clift::object::device::Device;
use clift::object::event::Event;
use clift::object::kernel::Kernel;
use clift::object::queue::Queue;
use clift::object::sampler::Sampler;
use clift::object::semaphore::Semaphore;

use cl::*;
use images::ImageLimits;
use world::{Common, Detail, Kind, World};

/// Bytes of the host memory that commands read and write.
const HOST_BYTES: usize = 16 << 10;

/// Commands after which all are waited for, because the model compares each with the others.
const MOST_PENDING: usize = 64;

/// Errors of the rules that a call violates.
#[derive(Debug, Default)]
pub(crate) struct Violated {
    errors: Vec<cl_int>,
    /// Errors that are possible although no rule is violated.
    allowed: Vec<cl_int>,
}

impl Violated {
    /// A rule, and the error when it is violated.
    pub(crate) fn rule(&mut self, holds: bool, error: cl_int) {
        if !holds {
            self.errors.push(error);
        }
    }

    /// An error that the specification permits, but does not require.
    pub(crate) fn allow(&mut self, permitted: bool, error: cl_int) {
        if permitted {
            self.allowed.push(error);
        }
    }

    /// Takes back the violation of a rule.
    pub(crate) fn forget(&mut self, error: cl_int) {
        self.errors.retain(|other| *other != error);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }
}

impl World {
    /// Compares the status of a call with the model. True if it succeeded.
    pub(crate) fn check(&mut self, call: String, violated: &Violated, status: cl_int) -> bool {
        self.calls.push(call);
        let (errors, allowed) = (&violated.errors, &violated.allowed);
        let as_predicted = if errors.is_empty() { status == CL_SUCCESS } else { errors.contains(&status) };
        if !as_predicted && !allowed.contains(&status) {
            let last = self.calls.len().saturating_sub(40);
            panic!(
                "status {status}, wanted {errors:?}, of the last of these calls:\n{}",
                self.calls[last..].join("\n")
            );
        }
        status == CL_SUCCESS
    }

    fn step(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        if self.timeline.pending() > MOST_PENDING {
            self.quiesce();
        }
        match u.int_in_range(0..=31)? {
            0..=5 => self.create(u),
            6 if u.ratio(1, 4)? => self.chain(u),
            6 => self.create(u),
            7 => self.retain_or_release(u),
            8 | 9 => self.query(u),
            10 => self.set_user_event(u),
            11..=14 => self.kernel_step(u),
            15 | 16 => self.svm_step(u),
            17..=21 => self.command_buffer_step(u),
            22 => self.callback_step(u),
            23 => self.semaphore_step(u),
            _ => self.command(u),
        }
    }

    /// Compares all contents, and releases everything that the sequence has made, each object as often as it has references.
    fn end(&mut self) {
        self.quiesce();
        self.calls.push("-- the end".to_owned());
        self.compare_pointers();
        for mem in self.all(Kind::Mem) {
            self.compare_memory(mem);
        }
        self.free_svm();
        let mut kinds = Kind::ALL;
        // Any order is valid.
        let first = self.calls.len() % kinds.len();
        kinds.rotate_left(first);
        for kind in kinds {
            for handle in self.all(kind) {
                let object = self.get(kind, handle).expect("it is live").clone();
                let refs = if handle == self.common.base { object.refs - 1 } else { object.refs };
                if matches!(object.detail, Detail::Queue(_)) {
                    assert_eq!(clFinish(handle), CL_SUCCESS);
                }
                for _ in 0..refs {
                    assert_eq!(objects::release(kind, handle), CL_SUCCESS, "{object:?} has too few references");
                }
                if handle != self.common.base {
                    let too_many = "has too many references";
                    assert_eq!(objects::release(kind, handle), kind.invalid(), "{object:?} {too_many}");
                    self.remove(handle);
                }
            }
        }
    }
}

/// Numbers of live objects.
fn live() -> [usize; 10] {
    fn of<T: ClObject>() -> usize {
        T::registry().len()
    }
    [
        of::<Device>(),
        of::<Context>(),
        of::<Queue>(),
        of::<Mem>(),
        of::<Event>(),
        of::<Sampler>(),
        of::<Kernel>(),
        of::<CommandBuffer>(),
        of::<MutableCommand>(),
        of::<Semaphore>(),
    ]
}

#[test]
fn calls_do_as_the_model_says() {
    let base = made(|e| clCreateContext(null(), 1, &device(), None, null_mut(), e));
    // The driver, which is linked into this program, prints no panics.
    drop(std::panic::take_hook());
    let source = kernels::SOURCE;
    let text = source.as_ptr().cast();
    let program = made(|e| clCreateProgramWithSource(base, 1, &text, &source.len(), e));
    assert_eq!(clBuildProgram(program, 0, null(), kernels::OPTIONS.as_ptr(), None, null_mut()), CL_SUCCESS);
    let host: *mut u8 = vec![0u128; HOST_BYTES / 16].leak().as_mut_ptr().cast();
    let common = Common { base, program, host, limits: ImageLimits::new(base) };
    let before = live();
    let (mut calls, mut sequences, mut compared) = (0, 0, [0; 2]);
    let milliseconds = std::env::var("CLIFT_FUZZ_MS").ok().and_then(|ms| ms.parse().ok()).unwrap_or(1000);
    arbtest::arbtest(|u| {
        let mut world = World::new(&common);
        let mut result = Ok(());
        while result.is_ok() && !u.is_empty() {
            result = world.step(u);
        }
        world.end();
        calls += world.calls.len();
        sequences += 1;
        compared = [0, 1].map(|at| compared[at] + world.compared[at]);
        let deadline = Instant::now() + Duration::from_secs(10);
        while (live() != before || !world.all_called()) && Instant::now() < deadline {
            std::thread::yield_now();
        }
        let kinds = "devices, contexts, queues, memory objects, events, samplers, kernels, command buffers, their commands, \
            semaphores";
        assert_eq!(live(), before, "{kinds} are left after these calls:\n{}", world.calls.join("\n"));
        world.check_callbacks();
        result
    })
    .size_max(1 << 14)
    .budget_ms(milliseconds);
    let [all, known] = compared;
    println!("{calls} calls in {sequences} sequences; {all} bytes compared, {known} of them known");
}
