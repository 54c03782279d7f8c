//! Developer tasks: `cargo xtask <task>`.
//!
//! Each task is one module with one `run`. Common parts are in [`sh`] (commands and paths), [`packages`] (the required packages)
//! and [`driver`] (building `libclift.so` and making a loader use it). Tasks contain no logic of the driver or of the tests,
//! which are in their own crates.

mod apps;
mod bench;
mod bless;
mod book;
mod corpus;
mod cts;
mod demo;
mod dependencies;
mod driver;
mod faults;
mod fuzz;
mod install;
mod models;
mod package;
mod packages;
mod peers;
mod piglit;
mod setup;
mod sh;
mod soak;
mod test;
mod ulp;

use clap::{Parser, Subcommand};

/// Developer tasks of Clift.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Install missing Debian packages.
    Setup(setup::Args),
    /// Install missing packages, build the driver, and render a picture with it through the OpenCL loader.
    Demo(demo::Args),
    /// Install missing packages and run all tests.
    Test(test::Args),
    /// Build the driver and register it with the OpenCL loader: for all programs, or for one shell.
    Install(install::Args),
    /// Make the Debian package, the Python wheel and the RPM package.
    Package(package::Args),
    /// Render the documents as HTML.
    Book(book::Args),
    /// Run piglit's OpenCL tests and compare with the committed list of programs that pass.
    Piglit(piglit::Args),
    /// Run an already built Khronos conformance test suite.
    Cts(cts::Args),
    /// Measure kernels and latencies side by side with other drivers.
    Bench(bench::Args),
    /// Run real programs on this driver and on others.
    Apps(apps::Args),
    /// Compare random programs in OpenCL C between configurations of the driver, and with other drivers.
    Fuzz(fuzz::Args),
    /// Run the kernels of folders of OpenCL C in the configurations of the driver and on other drivers, and compare the results.
    Corpus(corpus::Args),
    /// Run the fault suite on this driver and on others, and write the tables of docs/reliability.md.
    Faults(faults::Args),
    /// Run what finds rare faults for long: damaged inputs, random calls and programs, stress, sanitizers.
    Soak(soak::Args),
    /// Run the concurrent parts of the driver in all orders of their threads' steps.
    Models(models::Args),
    /// Measure the errors of the transcendental functions.
    Ulp(ulp::Args),
    /// Check that the manifests list no unused dependencies.
    Dependencies(dependencies::Args),
    /// Rewrite the golden files from the current results.
    Bless(bless::Args),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().task {
        Task::Setup(args) => setup::run(&args),
        Task::Demo(args) => demo::run(&args),
        Task::Test(args) => test::run(&args),
        Task::Install(args) => install::run(&args),
        Task::Package(args) => package::run(&args),
        Task::Book(args) => book::run(&args),
        Task::Piglit(args) => piglit::run(&args),
        Task::Cts(args) => cts::run(&args),
        Task::Bench(args) => bench::run(&args),
        Task::Apps(args) => apps::run(&args),
        Task::Fuzz(args) => fuzz::run(&args),
        Task::Corpus(args) => corpus::run(&args),
        Task::Faults(args) => faults::run(&args),
        Task::Soak(args) => soak::run(&args),
        Task::Models(args) => models::run(&args),
        Task::Ulp(args) => ulp::run(&args),
        Task::Dependencies(args) => dependencies::run(&args),
        Task::Bless(args) => bless::run(&args),
    }
}
