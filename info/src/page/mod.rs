//! The page: one file of HTML with all that it needs.
//!
//! - [`tables`]: the head, the tables and the slow paths;
//! - [`roofline`]: the chart that compares kernels with the machine;
//! - [`data`]: the pieces of the time line, for `script.js`, which draws them.
//!
//! Texts of the trace come from anywhere: templates escape them, and the script only sets them as text. The page's policy forbids
//! everything from elsewhere.

mod data;
mod roofline;
mod tables;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::peaks::Peaks;
use crate::trace::events::{Group, Trace};
use crate::trace::summary::Summary;
use crate::trace::timeline::Timeline;
use crate::units::{count, duration};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// Nothing is fetched, sent or embedded.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";
/// How many kernels have a colour of their own.
const COLOURS: usize = 8;

/// The page for a trace in a file of this name.
pub fn of(trace: &Trace, file: &str, peaks: Option<Peaks>) -> String {
    let summary = Summary::of(trace);
    let timeline = Timeline::of(trace);
    let title = if trace.process.is_empty() { file.to_owned() } else { format!("{}: {file}", trace.process) };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="color-scheme" content="light dark";
                title { "Clift report: " (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    (tables::head(trace, &summary, file))
                    (time_line(trace, &timeline))
                    (tables::kernels(&summary))
                    (roofline::section(&summary, peaks))
                    (tables::slow_paths(&summary))
                    (tables::others(&summary))
                }
                script type="application/json" id="data" { (PreEscaped(data::json(trace, &timeline, &summary))) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// The colour of a kernel: those that took most time have their own.
fn colour(summary: &Summary, kernel: &str) -> usize {
    summary.kernels.iter().take(COLOURS).position(|known| known.name == kernel).unwrap_or(COLOURS)
}

fn time_line(trace: &Trace, timeline: &Timeline) -> Markup {
    let legend = [
        ("call", "calls of OpenCL functions"),
        ("build", "stages of builds"),
        ("k0", "kernels: commands and work-groups, by colour"),
        ("command", "other commands"),
        ("wait-others", "waits for other commands"),
        ("wait-thread", "waits for a thread"),
    ];
    let has = |group: Group| trace.slices.iter().any(|slice| slice.group == group);
    html! {
        section id="timeline" {
            h2 { "Time line" }
            div.bar {
                span.buttons {
                    button type="button" data-do="in" title="zoom in" { "+" }
                    button type="button" data-do="out" title="zoom out" { "−" }
                    button type="button" data-do="left" title="earlier" { "←" }
                    button type="button" data-do="right" title="later" { "→" }
                    button type="button" data-do="whole" { "whole" }
                }
                span.hint { "Drag to move, Ctrl and wheel (or pinch) to zoom, double-click to enlarge a piece." }
            }
            div.chart {
                canvas.axis aria-hidden="true" {}
                div.scroll { canvas.rows tabindex="0" role="img" aria-label="What happened when, by queue and thread" {} }
            }
            ul.legend {
                @for (class, text) in legend { li { i class=(class) {} (text) } }
            }
            @if timeline.merged_below > 0.0 {
                p.note {
                    "The trace has " (count(timeline.slices as u64)) " slices. Those shorter than "
                    (duration(timeline.merged_below * 1000.0)) " are merged with their neighbours of the same kind."
                }
            }
            @if !has(Group::Command) { p.note { "The trace contains no commands." } }
            noscript { p.problem { "The time line is drawn by a script, which this browser does not run." } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::events::tests::SMALL;

    fn page(text: &str, peaks: Option<Peaks>) -> String {
        of(&Trace::read(text.as_bytes()).expect("a trace"), "trace.json", peaks)
    }

    #[test]
    fn texts_of_the_trace_are_escaped_everywhere() {
        let hostile = "</script><u>&\\\"'";
        let text = SMALL.replace("scale", hostile).replace("clBuildProgram", hostile).replace("\"app\"", "\"<i>app\"");
        let page = page(&text, None);
        assert!(!page.contains("<u>") && !page.contains("<i>app"), "unescaped text");
        assert_eq!(page.matches("</script>").count(), 2, "those of the page itself");
        assert!(page.contains("&lt;/script&gt;&lt;u&gt;&amp;"));
    }

    #[test]
    fn nothing_is_fetched() {
        let page = page(SMALL, None);
        for forbidden in ["http:", "https:", "src=", "@import", "url("] {
            let elsewhere = page.replace("http://www.w3.org/2000/svg", "");
            assert!(!elsewhere.contains(forbidden), "{forbidden}");
        }
    }

    #[test]
    fn the_page_shows_kernels_remarks_and_problems() {
        let peaks = Peaks { operations: 1e11, bandwidth: 1e10 };
        let page = page(&SMALL[..SMALL.len() - 10], Some(peaks));
        for text in
            ["A &lt;processor&gt; &amp; more", "scale", "it is &lt;small&gt;", "3, 5-7", "end of the trace is missing"]
        {
            assert!(page.contains(text), "{text}");
        }
    }

    #[test]
    fn a_page_of_many_events_has_a_reasonable_size() {
        let mut text = String::from("[\n");
        for number in 0..100_000 {
            let start = f64::from(number) * 3.0;
            text += &format!(
                "{{\"ph\":\"X\",\"cat\":\"work-groups\",\"name\":\"k{}\",\"tid\":{},\"ts\":{start},\"dur\":2.5,\"args\":{{\"first\":{number},\"count\":1}}}},\n",
                number % 7,
                number % 3
            );
        }
        let page = page(&text, None);
        assert!(page.len() < 3 << 20, "{} bytes", page.len());
    }
}
