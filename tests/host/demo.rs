//! The demonstration's and the benchmark's SPIR-V modules are the ones their OpenCL C gives.

use std::path::Path;
use std::process::Command;

/// The modules are made by this compiler; another one may give others.
const CLANG: &str = "clang-22";

#[test]
fn spirv_is_fresh() {
    for (dir, stem) in [("demo", "scene"), ("bench", "small")] {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join(dir);
        let output = std::env::temp_dir().join(format!("clift-{stem}-{}.spv", std::process::id()));
        let status = Command::new(CLANG)
            .args(["-x", "cl", "-cl-std=CL1.2", "-target", "spirv64", "-O2", "-c", "-o"])
            .arg(&output)
            .arg(format!("{stem}.cl"))
            .current_dir(&dir)
            .status();
        let Ok(status) = status else {
            eprintln!("skipped: no {CLANG}");
            return;
        };
        assert!(status.success(), "{CLANG}: {status}");
        let fresh = std::fs::read(&output).expect("the compiler's output");
        std::fs::remove_file(&output).expect("a temporary file");
        let stored = dir.join(stem).with_extension("spv");
        if std::env::var_os("CLIFT_BLESS").is_some() {
            std::fs::write(&stored, &fresh).expect("the stored module");
        }
        assert!(
            std::fs::read(&stored).expect("the stored module") == fresh,
            "{} is not what {CLANG} makes of {stem}.cl: cargo xtask bless -p clift-tests --test host spirv_is_fresh",
            stored.display()
        );
    }
}
