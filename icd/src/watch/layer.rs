//! Receives messages.

use clift_runtime::clock::now_ns;
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use super::activity::Activity;
use crate::trace::message_of;

/// Passes messages on to the list of what the process does.
pub struct WatchLayer {
    activity: &'static Activity,
}

impl WatchLayer {
    pub(super) fn new(activity: &'static Activity) -> Self {
        Self { activity }
    }
}

impl<S: Subscriber> Layer<S> for WatchLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        // The locks of the parent may be locked forever in the child of a fork.
        if self.activity.is_of_this_process()
            && let Some(message) = message_of(event)
        {
            self.activity.learn(message, now_ns());
        }
    }
}
