//! The parent's side: starts the children for one source and compares what they report.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use clift_tests::driver::clift_library;
use clift_tests::ways::{self, WAYS, Way};

use crate::Args;
use crate::child::{Event, Outcome, Task};
use crate::compare::difference;
use crate::memory::initial;
use crate::plan::{KernelPlan, Launch, VALUES};
use crate::source;

/// The driver's environment in a survey: all checks, in the form that reports to a file.
const CHECKS: (&str, &str) = ("CLIFT_CHECK", "memory,uninit,race,barrier");
/// The driver's variable for a limit on a launch's time, and its value in seconds.
const LAUNCH_LIMIT: (&str, &str) = ("CLIFT_TIMEOUT", "2");

/// The way that executes kernels slowly.
const INTERPRETER: &str = "interp";

/// All ways.
pub(crate) struct Ways {
    survey: Way,
    own: Vec<Way>,
    peers: Vec<Way>,
}

/// What was found in a source.
#[derive(Default)]
pub(crate) struct Findings {
    /// The log, if no attempt to build it succeeded.
    pub(crate) not_built: Option<String>,
    /// Other drivers that build what this one does not.
    pub(crate) built_by: Vec<String>,
    /// Kernels, those with a launch to run, and launches.
    pub(crate) kernels: usize,
    pub(crate) run: usize,
    pub(crate) launches: usize,
    /// Launches that a check reported.
    pub(crate) reported: usize,
    /// Faults of this driver, for people to look at.
    pub(crate) faults: Vec<Fault>,
    /// Times of large launches.
    pub(crate) times: Vec<Times>,
    /// Times of builds by way, in seconds.
    pub(crate) builds: Vec<(String, f64)>,
}

/// The times of a launch.
pub(crate) struct Times {
    /// The kernel and the launch.
    pub(crate) place: String,
    /// Each way's name and time in nanoseconds.
    pub(crate) ways: Vec<(String, u64)>,
}

/// A way, and how its launches ended.
type Outcomes<'a> = (&'a Way, Vec<(String, Launch, Outcome)>);

/// A fault, or what looks like one.
pub(crate) struct Fault {
    pub(crate) class: Class,
    pub(crate) text: String,
}

/// Classes of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// A configuration of this driver died.
    Crash,
    /// One exceeded the time limit.
    Hang,
    /// One refused what another accepts.
    Refused,
    /// Two configurations of this driver differ.
    Different,
    /// As above, but the results may depend on the order of work-items.
    MayDiffer,
    /// As above, but only where work-groups have one work-item: no check sees races between groups.
    BetweenGroups,
    /// All configurations agree, and all other drivers have another result, in which they agree.
    Alone,
    /// Other drivers differ, from this one and maybe from each other.
    PeersDiffer,
}

impl Ways {
    pub(crate) fn new(args: &Args) -> Result<Self> {
        let library = args.clift.clone().unwrap_or_else(clift_library);
        for name in &args.ways {
            ensure!(WAYS.iter().any(|(known, _)| known == name), "no way {name}");
        }
        // In the order of the arguments, so that the interpreter can come first.
        let rows = args.ways.iter().flat_map(|wanted| WAYS.iter().filter(move |(name, _)| wanted == name));
        let own = rows.map(|(name, env)| Way::clift(name, &library, &[&[LAUNCH_LIMIT], *env].concat())).collect();
        let peers = args.peer.iter().map(|text| Way::peer(text)).collect();
        Ok(Self { survey: Way::clift("survey", &library, &[CHECKS, LAUNCH_LIMIT]), own, peers })
    }
}

/// What the children of one way reported.
struct Run {
    events: Vec<Event>,
    /// Launches and how they ended.
    outcomes: Vec<(String, Launch, Outcome)>,
    /// How the build ended, if it did not succeed.
    build: Option<Outcome>,
}

/// Runs a task, and starts another child after each one that died in a launch.
fn run(args: &Args, way: &Way, mut task: Task, scratch: &Path) -> Result<Run> {
    let (mut events, mut outcomes) = (Vec::new(), Vec::new());
    let limit = Duration::from_secs(if way.name == INTERPRETER { args.limit / 4 } else { args.limit });
    let path = scratch.join("task.json");
    let reports = scratch.join("reports");
    loop {
        std::fs::write(&task.result, "")?;
        std::fs::write(&reports, "")?;
        std::fs::write(&path, serde_json::to_vec(&task)?)?;
        let mut command = way.command(scratch)?;
        let mut child = command.arg("--task").arg(&path).env(crate::CHECK_OUTPUT, &reports).spawn()?;
        let status = ways::wait(&mut child, &task.result, limit)?;
        let mut open = None;
        let mut is_built = false;
        for line in std::fs::read(&task.result)?.split(|byte| *byte == b'\n') {
            // The last line may be incomplete.
            let Ok(event) = serde_json::from_slice::<Event>(line) else { continue };
            match event {
                Event::Begin(name, launch) => open = Some((name, launch)),
                Event::End(outcome) => {
                    let (name, launch) = open.take().expect("a launch ends after its begin");
                    outcomes.push((name, launch, outcome));
                }
                Event::Plan(plan) => {
                    task.skip.push(plan.name.clone());
                    events.push(Event::Plan(plan));
                }
                Event::Built(..) | Event::NotBuilt(_) => {
                    is_built = true;
                    events.push(event);
                }
                Event::Building => {}
            }
        }
        let outcome = match status {
            Some(status) if status.success() => return Ok(Run { events, outcomes, build: None }),
            Some(status) => Outcome::Crash(status.to_string()),
            None => Outcome::Hang,
        };
        match open {
            Some((name, launch)) => {
                if let Some(kernels) = &task.kernels {
                    let before = kernels.iter().take_while(|plan| plan.name != name);
                    task.skip.extend(before.map(|plan| plan.name.clone()));
                }
                task.skip.push(name.clone());
                outcomes.push((name, launch, outcome));
            }
            None if is_built => return Ok(Run { events, outcomes, build: None }),
            None => return Ok(Run { events, outcomes, build: Some(outcome) }),
        }
    }
}

/// Processes a source.
pub(crate) fn process(args: &Args, ways: &Ways, file: &Path, scratch: &Path) -> Result<Findings> {
    let mut found = Findings::default();
    let mut task = Task {
        file: file.to_owned(),
        options: args.options.clone(),
        kernels: None,
        skip: Vec::new(),
        measure: args.measure,
        result: scratch.join("result"),
    };
    let _ = std::fs::remove_dir_all(scratch.join("cache"));
    let survey = run(args, &ways.survey, task.clone(), scratch)?;
    let mut plans: Vec<KernelPlan> = Vec::new();
    for event in survey.events {
        match event {
            Event::Built(options, _) => task.options = options,
            Event::NotBuilt(log) => found.not_built = Some(log),
            Event::Plan(plan) => plans.push(plan),
            Event::Building | Event::Begin(..) | Event::End(_) => {}
        }
    }
    if let Some(outcome) = survey.build {
        found.fault_of("survey", &outcome, "the build");
    }
    for (name, launch, outcome) in &survey.outcomes {
        match outcome {
            Outcome::Reported(_) => found.reported += 1,
            Outcome::Crash(_) | Outcome::Hang => found.fault_of("survey", outcome, &show(name, launch)),
            Outcome::Done(..) | Outcome::Failed(_) => {}
        }
    }
    if found.not_built.is_some() {
        let text = String::from_utf8_lossy(&std::fs::read(file)?).into_owned();
        if text.contains("kernel") {
            task.kernels = Some(Vec::new());
            task.options = source::include_options(file) + &args.options;
            for way in &ways.peers {
                let peer = run(args, way, task.clone(), scratch)?;
                if peer.events.iter().any(|event| matches!(event, Event::Built(..))) {
                    found.built_by.push(way.name.clone());
                }
            }
        }
        return Ok(found);
    }
    found.kernels = plans.len();
    plans.retain(|plan| !plan.launches.is_empty() && args.kernel.as_ref().is_none_or(|only| *only == plan.name));
    found.run = plans.len();
    found.launches = plans.iter().map(|plan| plan.launches.len()).sum();
    if plans.is_empty() {
        return Ok(found);
    }
    let mut runs = Vec::new();
    for way in ways.own.iter().chain(&ways.peers) {
        let _ = std::fs::remove_dir_all(scratch.join("cache"));
        let mut plans = plans.clone();
        if way.name == INTERPRETER {
            // Large launches take too long in the interpreter.
            plans.iter_mut().for_each(|plan| plan.launches.retain(|launch| !VALUES[launch.values].is_large));
        }
        task.kernels = Some(plans);
        let run = run(args, way, task.clone(), scratch)?;
        if let (Some(outcome), true) = (&run.build, way.is_clift) {
            found.fault_of(&way.name, outcome, "the build");
        }
        for event in &run.events {
            match event {
                Event::Built(_, seconds) => found.builds.push((way.name.clone(), *seconds)),
                Event::NotBuilt(log) if way.is_clift => {
                    found.faults.push(Fault {
                        class: Class::Refused,
                        text: format!("{}: {}", way.name, source::first_error(log)),
                    });
                }
                Event::NotBuilt(_) | Event::Building | Event::Begin(..) | Event::End(_) | Event::Plan(_) => {}
            }
        }
        runs.push((way, run.outcomes));
    }
    let text = String::from_utf8_lossy(&std::fs::read(file)?).into_owned();
    for plan in &plans {
        for launch in &plan.launches {
            judge(plan, launch, &runs, &text, &mut found);
        }
    }
    Ok(found)
}

impl Findings {
    fn fault_of(&mut self, way: &str, outcome: &Outcome, place: &str) {
        let (class, text) = match outcome {
            Outcome::Crash(status) => (Class::Crash, format!("{way}: {place}: {status}")),
            Outcome::Hang => (Class::Hang, format!("{way}: {place}")),
            Outcome::Failed(error) => (Class::Refused, format!("{way}: {place}: {error}")),
            Outcome::Done(..) | Outcome::Reported(_) => return,
        };
        self.faults.push(Fault { class, text });
    }
}

/// A launch in a report.
fn show(name: &str, launch: &Launch) -> String {
    format!("{name} {:?}/{:?} values {}", launch.global, launch.local, launch.values)
}

/// Compares the outcomes of a launch of a kernel of the source `text`.
fn judge(plan: &KernelPlan, launch: &Launch, runs: &[Outcomes<'_>], text: &str, found: &mut Findings) {
    let (order, exact) = (source::depends_on_order(text), !source::depends_on_instructions(text));
    let place = show(&plan.name, launch);
    let values = &VALUES[launch.values];
    let before = |arg: usize| initial(plan.args[arg], arg, values);
    let (mut own, mut peers, mut times) = (Vec::new(), Vec::new(), Vec::new());
    for (way, outcomes) in runs {
        let outcome =
            outcomes.iter().find(|(name, other, _)| *name == plan.name && other == launch).map(|(.., outcome)| outcome);
        match outcome {
            Some(Outcome::Done(outputs, time)) => {
                times.extend(time.map(|time| (way.name.clone(), time)));
                if way.is_clift { own.push((way, outputs)) } else { peers.push((way, outputs)) }
            }
            // The interpreter may be too slow, and it refuses undefined behaviour for which there is no check, such as
            // misaligned accesses.
            Some(Outcome::Hang) if way.name == INTERPRETER => {}
            Some(Outcome::Failed(_)) if way.name == INTERPRETER => {
                found.reported += 1;
                return;
            }
            Some(outcome) if way.is_clift => found.fault_of(&way.name, outcome, &place),
            Some(_) | None => {}
        }
    }
    if !times.is_empty() {
        found.times.push(Times { place: place.clone(), ways: times });
    }
    let Some(((first, reference), rest)) = own.split_first() else { return };
    for (way, outputs) in rest {
        if let Some(text) = difference(reference, outputs, exact, &before) {
            let single = launch.local.iter().all(|size| *size == 1);
            let class = match (order, single) {
                (true, _) => Class::MayDiffer,
                (false, true) => Class::BetweenGroups,
                (false, false) => Class::Different,
            };
            found.faults.push(Fault { class, text: format!("{place}: {} and {}: {text}", first.name, way.name) });
            return;
        }
    }
    let differences: Vec<String> = peers
        .iter()
        .filter_map(|(way, outputs)| {
            difference(reference, outputs, false, &before)
                .map(|text| format!("{place}: {} and {}: {text}", first.name, way.name))
        })
        .collect();
    if differences.is_empty() || order {
        return;
    }
    let agree = peers.windows(2).all(|pair| difference(pair[0].1, pair[1].1, false, &before).is_none());
    let class = if differences.len() == peers.len() && agree { Class::Alone } else { Class::PeersDiffer };
    found.faults.push(Fault { class, text: differences.join("; ") });
}
