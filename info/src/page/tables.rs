//! The head of the page, the tables, and the slow paths.

use maud::{Markup, html};

use super::colour;
use crate::trace::events::Trace;
use crate::trace::summary::{Code, Kernel, Sum, Summary};
use crate::units::{count, duration, metric, size};

/// The kinds of remarks, those that usually cost most first.
const KINDS: [(&str, &str); 8] = [
    ("one lane", "The kernel is not vectorized: each work-item runs by itself."),
    ("lane by lane", "An operation without a vector form: one lane after the other."),
    ("scatter", "A store to an address for each lane."),
    ("gather", "A load from an address for each lane."),
    ("tested", "An access as a row if a test allows it, lane by lane otherwise."),
    ("mask", "A block that only some lanes execute."),
    ("private variables", "Private variables in memory."),
    ("barrier", "A barrier splits the loop over the work-group."),
];

/// A kernel with the square of its colour.
pub(super) fn swatch(summary: &Summary, kernel: &str) -> Markup {
    html! { i class=(format!("swatch k{}", colour(summary, kernel))) {} code { (kernel) } }
}

/// Percent, with one digit below ten.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// What ran where, and how long.
pub(super) fn head(trace: &Trace, summary: &Summary, file: &str) -> Markup {
    let fact = |name: &str| trace.facts.get(name).map_or("unknown", String::as_str);
    let span = trace.span * 1000.0;
    let threads = trace.facts.get("threads").and_then(|threads| threads.parse::<f64>().ok());
    let threads = threads.unwrap_or(summary.working_threads as f64);
    let busy = if span > 0.0 && threads > 0.0 { summary.work_ns / (span * threads) } else { 0.0 };
    let launches: u64 = summary.kernels.iter().map(|kernel| kernel.launches() as u64).sum();
    let failed: u64 = summary.kernels.iter().map(|kernel| kernel.failed).sum();
    let cards = [
        ("time span", duration(span), String::new()),
        (
            "launches",
            count(launches),
            format!("of {} kernels", summary.kernels.iter().filter(|k| k.launches() > 0).count()),
        ),
        ("in kernels", duration(summary.kernel_ns), format!("{} of the span", percent(ratio(summary.kernel_ns, span)))),
        ("in builds", duration(summary.build_ns), format!("{} of the span", percent(ratio(summary.build_ns, span)))),
        ("threads busy", percent(busy.min(1.0)), format!("with work-groups, of {threads}")),
        ("allocated", size(summary.allocated as u64), "at most".to_owned()),
    ];
    html! {
        header {
            h1 { (if trace.process.is_empty() { "Clift report" } else { &trace.process }) }
            p.facts {
                span { b { "device " } (fact("device")) }
                span { b { "driver " } "Clift " (fact("driver")) }
                span { b { "backend " } (fact("backend")) }
                span { b { "threads " } (fact("threads")) }
                span { b { "trace " } (file) }
            }
            @for problem in &trace.problems { p.problem role="alert" { (problem) } }
            @if failed > 0 { p.problem { (count(failed)) " launches failed; their times do not count." } }
            div.cards {
                @for (name, value, more) in cards {
                    div { span { (name) } b { (value) } small { (more) } }
                }
            }
        }
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// A row for each kernel that was launched.
pub(super) fn kernels(summary: &Summary) -> Markup {
    let launched: Vec<&Kernel> = summary.kernels.iter().filter(|kernel| kernel.launches() > 0).collect();
    let some = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
    html! {
        section id="kernels" {
            h2 { "Kernels" }
            @if launched.is_empty() {
                p.note { "No kernel was launched." }
            } @else {
                div.wide {
                    table {
                        thead {
                            tr {
                                th { "kernel" } th { "share" } th.n { "launches" } th.n { "total" } th.n { "median" } th.n { "shortest" }
                                th.n { "lanes" } th.n { "work-groups" } th.n { "work-items/s" }
                                th.n title="floating-point operations, estimated" { "FLOP/s " sup { "e" } }
                                th.n title="bytes of global memory that work-items ask for, estimated" { "B/s " sup { "e" } }
                                th.n title="the most bytes that the arguments of a launch referred to" { "arguments" }
                            }
                        }
                        tbody {
                            @for kernel in &launched {
                                @let least = if kernel.is_bound { "≥ " } else { "" };
                                @let rates = kernel.rates();
                                @let launches = kernel.launches() as f64;
                                tr {
                                    th scope="row" { (swatch(summary, &kernel.name)) }
                                    td.share { meter min="0" max="1" value=(format!("{:.4}", kernel.share)) {} span { (percent(kernel.share)) } }
                                    td.n { (count(kernel.launches() as u64)) }
                                    td.n { (duration(kernel.total_ns)) }
                                    td.n { (some(kernel.median_ns().map(duration))) }
                                    td.n { (some(kernel.min_ns().map(duration))) }
                                    td.n { (some(kernel.code.as_ref().map(lanes))) }
                                    td.n { (some(kernel.groups.map(|groups| count((groups / launches).round() as u64)))) }
                                    td.n { (some(kernel.item_rate().map(metric))) }
                                    td.n { (some(rates.filter(|rates| rates.floats > 0.0).map(|rates| format!("{least}{}", metric(rates.floats))))) }
                                    td.n { (some(rates.filter(|rates| rates.bytes > 0.0).map(|rates| format!("{least}{}", metric(rates.bytes))))) }
                                    td.n { (some(kernel.argument_bytes.filter(|bytes| *bytes > 0.0).map(|bytes| size(bytes as u64)))) }
                                }
                            }
                        }
                    }
                }
                p.note {
                    "Work-groups are those of a launch, on average. " sup { "e" } " Estimates: the compiler counted the operations and \
                     bytes of a work-item in its code, loops to a constant or a kernel argument as often as they run, and one \
                     iteration of all others (≥). Bytes are those that work-items ask for, whether a cache has them or not."
                }
            }
        }
    }
}

/// The lanes of all forms of a kernel's code.
fn lanes(code: &Code) -> String {
    code.lanes.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

/// What slows each kernel, by its share of the time.
pub(super) fn slow_paths(summary: &Summary) -> Markup {
    let remarked: Vec<(&Kernel, Vec<_>)> = summary
        .kernels
        .iter()
        .map(|kernel| (kernel, kernel.remarks()))
        .filter(|(_, remarks)| !remarks.is_empty())
        .collect();
    let known = summary.kernels.iter().any(|kernel| kernel.code.is_some());
    html! {
        section id="slow" {
            h2 { "Slow paths" }
            @if !known {
                p.note { "The trace says nothing about the code of kernels." }
            } @else if remarked.is_empty() {
                p.note { "The vectorizer has no remarks: all kernels run as packs, without gathers, scatters, masks and barriers." }
            } @else {
                p.note {
                    "The remarks of the vectorizer, by the kernel's share of the time. Costly code may be costly for good reason: a \
                     measurement says whether it matters."
                }
                @for (kernel, remarks) in remarked {
                    article {
                        h3 {
                            (swatch(summary, &kernel.name)) " "
                            span { @if kernel.launches() > 0 { (percent(kernel.share)) " of the time in kernels" } @else { "not launched" } }
                            @if let Some(code) = &kernel.code {
                                span { (lanes(code)) " lanes, " (code.backends.iter().map(String::as_str).collect::<Vec<_>>().join(", ")) }
                            }
                        }
                        ul.remarks {
                            @for remark in remarks {
                                @let title = KINDS.iter().find(|(kind, _)| *kind == remark.kind).map_or("", |(_, title)| title);
                                @let (what, hint) = sentence(&remark.text);
                                li {
                                    span.kind title=(title) data-kind=(remark.kind) { (remark.kind) }
                                    span.lines { @if !remark.lines.is_empty() { "line " (remark.lines) } }
                                    span.text { (what) @if let Some(hint) = hint { em { (hint) } } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A remark without its kind, which is in front of a colon, and what to change, which follows a semicolon.
fn sentence(text: &str) -> (&str, Option<&str>) {
    match text.split_once("; ") {
        Some((what, hint)) => (what, Some(hint)),
        None => (text, None),
    }
}

/// Builds, calls and other commands.
pub(super) fn others(summary: &Summary) -> Markup {
    html! {
        section id="others" {
            h2 { "Builds, calls, other commands" }
            (sums("Stages of builds", "stage", &summary.stages))
            (sums("Calls of OpenCL functions", "function", &summary.calls))
            (sums("Other commands", "command", &summary.commands))
        }
    }
}

fn sums(title: &str, what: &str, sums: &[Sum]) -> Markup {
    let total: f64 = sums.iter().map(|sum| sum.total_ns).sum();
    html! {
        @if !sums.is_empty() {
            details {
                summary { (title) " " small { (count(sums.iter().map(|sum| sum.count).sum())) " in " (duration(total)) } }
                div.wide {
                    table {
                        thead { tr { th { (what) } th.n { "count" } th.n { "total" } th.n { "mean" } th.n { "longest" } th.n { "failed" } } }
                        tbody {
                            @for sum in sums {
                                tr {
                                    th scope="row" { code { (sum.name) } }
                                    td.n { (count(sum.count)) }
                                    td.n { (duration(sum.total_ns)) }
                                    td.n { (duration(sum.total_ns / sum.count.max(1) as f64)) }
                                    td.n { (duration(sum.max_ns)) }
                                    td.n { @if sum.failed > 0 { (count(sum.failed)) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
