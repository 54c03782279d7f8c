//! Sums over a trace: for each kernel, other command, function and stage of builds.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::events::{Group, Note, Slice, Trace};

/// Sums over a trace.
#[derive(Debug, Default)]
pub struct Summary {
    /// The kernels that were launched or built, those that took most time first.
    pub kernels: Vec<Kernel>,
    /// Other commands, by name.
    pub commands: Vec<Sum>,
    /// Calls of OpenCL functions, by name.
    pub calls: Vec<Sum>,
    /// Stages of builds, by name.
    pub stages: Vec<Sum>,
    /// Time that threads spent in work-groups.
    pub work_ns: f64,
    /// Time of all launches, each for itself.
    pub kernel_ns: f64,
    /// Time of whole builds.
    pub build_ns: f64,
    /// Threads that executed work-groups.
    pub working_threads: usize,
    /// The most bytes that were allocated at a time.
    pub allocated: f64,
}

/// How often something happened, and how long it took.
#[derive(Clone, Debug, Default)]
pub struct Sum {
    /// What.
    pub name: String,
    /// How often.
    pub count: u64,
    /// How long in all.
    pub total_ns: f64,
    /// The longest time.
    pub max_ns: f64,
    /// How often it failed.
    pub failed: u64,
}

/// What is known of a kernel. Kernels of the same name are one.
#[derive(Debug, Default)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// The time of each launch that was executed, ascending.
    pub times: Vec<f64>,
    /// Launches that failed.
    pub failed: u64,
    /// Sum of the times.
    pub total_ns: f64,
    /// Share of the time of all launches, from 0 to 1.
    pub share: f64,
    /// Work-items of all launches; `None` if the trace does not say.
    pub items: Option<f64>,
    /// Work-groups of all launches.
    pub groups: Option<f64>,
    /// The most bytes that the arguments of a launch referred to.
    pub argument_bytes: Option<f64>,
    /// What all work-items compute and access, as the compiler counted it; `None` if it did not.
    pub work: Option<Counts>,
    /// Whether they do more than that, because trip counts of loops are unknown.
    pub is_bound: bool,
    /// How commands of this kernel waited for others, and for a thread.
    pub waits: [f64; 2],
    /// The code that was made for it.
    pub code: Option<Code>,
}

/// What the compiler made of a kernel: the last of its builds, and the lanes of all.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// Lanes per pack, of all forms of its code.
    pub lanes: BTreeSet<u64>,
    /// The code generators.
    pub backends: BTreeSet<String>,
    /// Why it has one lane.
    pub one_lane: Option<String>,
    /// The vectorizer's remarks.
    pub remarks: Vec<Remark>,
}

/// Operations and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Floating-point operations.
    pub floats: f64,
    /// Integer operations.
    pub ints: f64,
    /// Bytes of global and constant memory.
    pub bytes: f64,
}

/// A remark of the vectorizer's report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Its kind, such as `gather`.
    pub kind: String,
    /// The source lines; empty if they are unknown.
    pub lines: String,
    /// The sentence.
    pub text: String,
}

impl Counts {
    /// Floating-point operations per byte; `None` if no memory is accessed.
    pub fn intensity(&self) -> Option<f64> {
        (self.bytes > 0.0).then(|| self.floats / self.bytes)
    }
}

impl Kernel {
    /// The time in the middle.
    pub fn median_ns(&self) -> Option<f64> {
        let middle = self.times.len() / 2;
        let upper = *self.times.get(middle)?;
        Some(if self.times.len() % 2 == 1 { upper } else { f64::midpoint(self.times[middle - 1], upper) })
    }

    /// The shortest time.
    pub fn min_ns(&self) -> Option<f64> {
        self.times.first().copied()
    }

    /// Number of launches that were executed.
    pub fn launches(&self) -> usize {
        self.times.len()
    }

    /// Work-items per second.
    pub fn item_rate(&self) -> Option<f64> {
        self.items.filter(|_| self.total_ns > 0.0).map(|items| items * 1e9 / self.total_ns)
    }

    /// Operations and bytes per second, at least.
    pub fn rates(&self) -> Option<Counts> {
        let Counts { floats, ints, bytes } = self.work.filter(|_| self.total_ns > 0.0)?;
        let rate = |count: f64| count * 1e9 / self.total_ns;
        Some(Counts { floats: rate(floats), ints: rate(ints), bytes: rate(bytes) })
    }

    /// The remarks, that on its one lane first.
    pub fn remarks(&self) -> Vec<Remark> {
        let Some(code) = &self.code else { return Vec::new() };
        let one_lane = code.one_lane.iter().map(|reason| Remark {
            kind: "one lane".to_owned(),
            lines: String::new(),
            text: format!("one lane per pack: {reason}"),
        });
        one_lane.chain(code.remarks.iter().cloned()).collect()
    }
}

impl Summary {
    /// Adds up a trace.
    pub fn of(trace: &Trace) -> Summary {
        let mut kernels: BTreeMap<&str, Kernel> = BTreeMap::new();
        let [mut commands, mut calls, mut stages]: [BTreeMap<&str, Sum>; 3] = Default::default();
        let mut summary = Summary::default();
        let mut working = BTreeSet::new();
        for slice in &trace.slices {
            let ns = slice.duration * 1000.0;
            match slice.group {
                Group::Command if slice.is_launch() => kernels.entry(&slice.name).or_default().add(slice),
                Group::Command => add(&mut commands, slice, status(slice) < 0.0),
                Group::Call => {
                    add(&mut calls, slice, slice.text("result").is_some_and(|result| result != "CL_SUCCESS"))
                }
                Group::Build => {
                    add(&mut stages, slice, false);
                    if slice.name == "whole build" {
                        summary.build_ns += ns;
                    }
                }
                Group::WorkGroups => {
                    summary.work_ns += ns;
                    working.insert(slice.track);
                }
            }
        }
        for note in &trace.notes {
            let code = kernels.entry(&note.kernel).or_default().code.get_or_insert_default();
            code.add(note);
        }
        summary.kernel_ns = kernels.values().map(|kernel| kernel.total_ns).sum();
        summary.kernels = kernels
            .into_iter()
            .map(|(name, mut kernel)| {
                kernel.name = name.to_owned();
                kernel.times.sort_by(f64::total_cmp);
                kernel.share = if summary.kernel_ns > 0.0 { kernel.total_ns / summary.kernel_ns } else { 0.0 };
                kernel
            })
            .collect();
        summary.kernels.sort_by(|a, b| b.total_ns.total_cmp(&a.total_ns));
        [summary.commands, summary.calls, summary.stages] = [commands, calls, stages].map(longest_first);
        summary.working_threads = working.len();
        summary.allocated = trace.allocated.iter().map(|(_, bytes)| *bytes).fold(0.0, f64::max);
        summary
    }
}

fn status(slice: &Slice) -> f64 {
    slice.number("status").unwrap_or(0.0)
}

fn add<'a>(sums: &mut BTreeMap<&'a str, Sum>, slice: &'a Slice, failed: bool) {
    let sum = sums.entry(&slice.name).or_default();
    let ns = slice.duration * 1000.0;
    sum.count += 1;
    sum.total_ns += ns;
    sum.max_ns = sum.max_ns.max(ns);
    sum.failed += u64::from(failed);
}

fn longest_first(sums: BTreeMap<&str, Sum>) -> Vec<Sum> {
    let mut sums: Vec<Sum> = sums.into_iter().map(|(name, sum)| Sum { name: name.to_owned(), ..sum }).collect();
    sums.sort_by(|a, b| b.total_ns.total_cmp(&a.total_ns));
    sums
}

impl Kernel {
    fn add(&mut self, slice: &Slice) {
        let [queued, submit, start] = ["queued_ns", "submit_ns", "start_ns"].map(|name| slice.number(name));
        if status(slice) < 0.0 {
            self.failed += 1;
            return;
        }
        let ns = slice.duration * 1000.0;
        self.times.push(ns);
        self.total_ns += ns;
        let mut sum = |sum: fn(&mut Kernel) -> &mut Option<f64>, name: &str| {
            if let Some(number) = slice.number(name) {
                *sum(self).get_or_insert_default() += number;
            }
        };
        sum(|kernel| &mut kernel.items, "items");
        sum(|kernel| &mut kernel.groups, "groups");
        if let Some(bytes) = slice.number("argument_bytes") {
            self.argument_bytes = Some(self.argument_bytes.unwrap_or(0.0).max(bytes));
        }
        let number = |name: &str| slice.number(name).filter(|number| number.is_finite() && *number >= 0.0);
        if let (Some(items), Some(floats), Some(ints), Some(bytes)) =
            (number("items"), number("float_operations"), number("int_operations"), number("bytes"))
        {
            let work = self.work.get_or_insert_default();
            work.floats += floats * items;
            work.ints += ints * items;
            work.bytes += bytes * items;
            self.is_bound |= slice.args.get("is_bound").and_then(Value::as_bool).unwrap_or(false);
        }
        if let (Some(queued), Some(submit), Some(start)) = (queued, submit, start) {
            self.waits[0] += (submit - queued).max(0.0);
            self.waits[1] += (start - submit).max(0.0);
        }
    }
}

impl Code {
    fn add(&mut self, note: &Note) {
        let Note { is_remark, args, .. } = note;
        let text = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        if *is_remark {
            let remark = Remark { kind: text("remark"), lines: text("lines"), text: text("text") };
            if !self.remarks.contains(&remark) {
                self.remarks.push(remark);
            }
            return;
        }
        // Code for work-groups of one work-item is additional.
        let is_other_form = args.get("groups").and_then(Value::as_bool).unwrap_or(false);
        self.lanes.extend(args.get("lanes").and_then(Value::as_u64));
        self.backends.insert(text("backend"));
        if !is_other_form {
            self.remarks.clear();
            self.one_lane = args.get("one_lane").and_then(Value::as_str).map(str::to_owned);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::events::tests::SMALL;
    use super::*;

    fn small() -> Summary {
        Summary::of(&Trace::read(SMALL.as_bytes()).expect("a trace"))
    }

    #[test]
    fn kernels_are_ordered_by_time_and_failures_do_not_count() {
        let summary = small();
        let names: Vec<&str> = summary.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        assert_eq!(names, ["scale", "sum"]);
        let scale = &summary.kernels[0];
        assert_eq!((scale.launches(), scale.median_ns(), scale.min_ns()), (2, Some(30_000.0), Some(20_000.0)));
        assert_eq!((scale.share, scale.items, scale.argument_bytes), (1.0, Some(2048.0), Some(4096.0)));
        assert_eq!(scale.waits, [4000.0, 50_000.0]);
        let sum = &summary.kernels[1];
        assert_eq!((sum.launches(), sum.failed, sum.median_ns()), (0, 1, None));
    }

    #[test]
    fn work_of_all_work_items_is_added_up() {
        let summary = small();
        let scale = &summary.kernels[0];
        let work = Counts { floats: 2.0 * 2048.0, ints: 3.0 * 2048.0, bytes: 8.0 * 2048.0 };
        assert_eq!((scale.work, scale.is_bound, work.intensity()), (Some(work), true, Some(0.25)));
        let rates = scale.rates().expect("rates");
        assert!((rates.floats - 2.0 * 2048.0 / 60e-6).abs() < 1.0, "{rates:?}");
        assert_eq!(summary.kernels[1].work, None, "it failed");
    }

    #[test]
    fn remarks_begin_with_the_reason_for_one_lane() {
        let remarks = small().kernels[1].remarks();
        assert_eq!(remarks.iter().map(|remark| remark.kind.as_str()).collect::<Vec<_>>(), ["one lane", "gather"]);
        assert!(remarks[0].text.contains("it is <small>") && remarks[1].lines == "3, 5-7");
    }

    #[test]
    fn other_slices_are_added_up_by_name() {
        let summary = small();
        assert_eq!((summary.commands[0].name.as_str(), summary.commands[0].count), ("CL_COMMAND_READ_BUFFER", 1));
        assert_eq!(summary.calls.iter().map(|call| call.total_ns).sum::<f64>(), 105_000.0);
        assert_eq!((summary.stages[0].name.as_str(), summary.working_threads), ("front end", 1));
    }
}
