//! What builds cost, by the compiler's stages: processor time, so that other load of the machine matters little.

use std::fmt::Write;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};
use tracing::field::{Field, Visit};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// Processor time of this thread so far.
pub(crate) fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// The times of the stages of builds.
static STAGES: Mutex<StageTimes> = Mutex::new(StageTimes { stages: Vec::new(), last: Duration::ZERO });

/// Processor times by stage.
struct StageTimes {
    /// In the order in which the stages ended first.
    stages: Vec<(String, Duration)>,
    /// When the last stage ended.
    last: Duration,
}

/// Begins to collect the times of stages.
pub(crate) fn collect() {
    // Another one is there if a build has been measured before.
    let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(Stages));
    take();
}

/// The times of the stages since the last call, as text; stages of less than 1 % are left out.
pub(crate) fn take() -> String {
    let times = &mut *STAGES.lock();
    let stages = std::mem::take(&mut times.stages);
    times.last = processor_time();
    let all: Duration = stages.iter().map(|(_, time)| *time).sum();
    let mut text = String::new();
    for (stage, time) in stages.iter().filter(|(_, time)| 100 * *time >= all) {
        let separator = if text.is_empty() { "" } else { ", " };
        let _ = write!(text, "{separator}{stage} {:.2} ms", time.as_secs_f64() * 1000.0);
    }
    text
}

/// Collects the times at which the compiler's stages end.
struct Stages;

impl<S: Subscriber> Layer<S> for Stages {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.target() == "clift::time"
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut ended = StageName::default();
        event.record(&mut ended);
        // Other messages are about a part of a stage.
        if ended.0.is_empty() {
            return;
        }
        let times = &mut *STAGES.lock();
        let now = processor_time();
        let took = now.saturating_sub(std::mem::replace(&mut times.last, now));
        match times.stages.iter_mut().find(|(stage, _)| *stage == ended.0) {
            Some((_, time)) => *time += took,
            None => times.stages.push((ended.0, took)),
        }
    }
}

/// The stage that a message is about.
#[derive(Default)]
struct StageName(String);

impl Visit for StageName {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "stage" {
            value.clone_into(&mut self.0);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "stage" {
            self.0 = format!("{value:?}");
        }
    }
}
