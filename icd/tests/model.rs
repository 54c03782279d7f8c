//! Random sequences of calls whose status a small model of the objects predicts: which handles are valid, which objects belong to which
//! context, what has been released how often, and which commands fail with the events they wait for.
//!
//! The specification does not say in which order rules are checked. So the model names the errors of all rules that a call violates: the
//! status has to be one of them, and `CL_SUCCESS` if there are none. After each sequence all references are released, and no object may be
//! left. Handles without references are given to `clRelease*` only: what else they do is not specified while something still needs the object.
//!
//! `CLIFT_FUZZ_MS` says for how many milliseconds sequences are made. The number of calls is printed; `ARBTEST_SEED` repeats a failure.
#![allow(unsafe_code, reason = "C calls and the pointers they take")]

#[path = "api/cl.rs"]
#[allow(dead_code, reason = "shared with the test `api`")]
mod cl;
#[path = "model/commands.rs"]
mod commands;
#[path = "model/objects.rs"]
mod objects;
#[path = "model/world.rs"]
mod world;

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

use arbtest::arbitrary::{Result, Unstructured};

use clift::ffi::handle::ClObject;
use clift::object::buffer::Mem;
use clift::object::context::Context;
use clift::object::event::Event;
use clift::object::kernel::Kernel;
use clift::object::queue::Queue;
use clift::object::sampler::Sampler;

use cl::*;
use world::{Kind, World};

/// A kernel with arguments of four kinds, which accesses no memory.
const SOURCE: &str =
    "kernel void k(global int *p, uint n, local int *l, sampler_t s) { if (n == 77 && p && l) p[0] = n; }";

/// Bytes of the memory that commands read and write.
const SCRATCH: usize = 4096;

/// Errors of the rules that a call violates.
#[derive(Debug, Default)]
pub(crate) struct Violated(Vec<cl_int>);

impl Violated {
    /// A rule, and the error when it is violated.
    pub(crate) fn rule(&mut self, holds: bool, error: cl_int) {
        if !holds {
            self.0.push(error);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl World {
    /// Compares the status of a call with the model. True if it succeeded.
    pub(crate) fn check(&mut self, call: String, violated: &Violated, status: cl_int) -> bool {
        self.calls.push(call);
        let as_predicted = if violated.0.is_empty() { status == CL_SUCCESS } else { violated.0.contains(&status) };
        if !as_predicted {
            let last = self.calls.len().saturating_sub(30);
            panic!(
                "status {status}, wanted {:?}, of the last of these calls:\n{}",
                violated.0,
                self.calls[last..].join("\n")
            );
        }
        status == CL_SUCCESS
    }

    fn step(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        match u.int_in_range(0..=15)? {
            0..=3 => self.create(u),
            4 => self.retain_or_release(u),
            5 => self.query(u),
            6 => self.set_user_event(u),
            7 => self.kernel_step(u),
            _ => self.command(u),
        }
    }

    /// Releases everything that the sequence has made, each object as often as it has references.
    fn end(&mut self) {
        self.settle();
        for queue in self.all(Kind::Queue) {
            assert_eq!(clFinish(queue), CL_SUCCESS);
        }
        for kind in [Kind::Kernel, Kind::Sampler, Kind::Mem, Kind::Event, Kind::Queue, Kind::Context] {
            for handle in self.all(kind) {
                let object = self.get(kind, handle).expect("it is live").clone();
                let refs = if handle == self.base { object.refs - 1 } else { object.refs };
                for _ in 0..refs {
                    assert_eq!(objects::release(kind, handle), CL_SUCCESS, "{object:?} has too few references");
                }
                if handle != self.base {
                    assert_eq!(objects::release(kind, handle), kind.invalid(), "{object:?} has too many references");
                    self.remove(handle);
                }
            }
        }
    }
}

/// Numbers of live objects.
fn live() -> [usize; 6] {
    fn of<T: ClObject>() -> usize {
        T::registry().len()
    }
    [of::<Context>(), of::<Queue>(), of::<Mem>(), of::<Event>(), of::<Sampler>(), of::<Kernel>()]
}

#[test]
fn calls_do_as_the_model_says() {
    let base = made(|e| clCreateContext(null(), 1, &device(), None, null_mut(), e));
    // The driver, which is linked into this program, prints no panics.
    drop(std::panic::take_hook());
    let text = SOURCE.as_ptr().cast();
    let program = made(|e| clCreateProgramWithSource(base, 1, &text, &SOURCE.len(), e));
    assert_eq!(clBuildProgram(program, 0, null(), null(), None, null_mut()), CL_SUCCESS);
    // Commands of one sequence may still run when the next begins: the memory stays for good.
    let scratch: *mut c_void = vec![0u128; SCRATCH / 16].leak().as_mut_ptr().cast();
    let before = live();
    let (mut calls, mut sequences) = (0, 0);
    let milliseconds = std::env::var("CLIFT_FUZZ_MS").ok().and_then(|ms| ms.parse().ok()).unwrap_or(1000);
    arbtest::arbtest(|u| {
        let mut world = World::new(base, program, scratch);
        let mut result = Ok(());
        while result.is_ok() && !u.is_empty() {
            result = world.step(u);
        }
        world.end();
        calls += world.calls.len();
        sequences += 1;
        let deadline = Instant::now() + Duration::from_secs(10);
        while live() != before && Instant::now() < deadline {
            std::thread::yield_now();
        }
        let kinds = "contexts, queues, memory objects, events, samplers, kernels";
        assert_eq!(live(), before, "{kinds} are left after these calls:\n{}", world.calls.join("\n"));
        result
    })
    .size_max(1 << 14)
    .budget_ms(milliseconds);
    println!("{calls} calls in {sequences} sequences");
}
