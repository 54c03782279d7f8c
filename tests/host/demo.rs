//! The demonstration's SPIR-V module is the one its OpenCL C gives.

use std::path::Path;
use std::process::Command;

/// The module is made by this compiler; another one may give another module.
const CLANG: &str = "clang-22";

#[test]
fn spirv_is_fresh() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo");
    let output = std::env::temp_dir().join(format!("clift-demo-{}.spv", std::process::id()));
    let status = Command::new(CLANG)
        .args(["-x", "cl", "-cl-std=CL1.2", "-target", "spirv64", "-O2", "-c", "scene.cl", "-o"])
        .arg(&output)
        .current_dir(&dir)
        .status();
    let Ok(status) = status else {
        eprintln!("skipped: no {CLANG}");
        return;
    };
    assert!(status.success(), "{CLANG}: {status}");
    let fresh = std::fs::read(&output).expect("the compiler's output");
    std::fs::remove_file(&output).expect("a temporary file");
    let stored = dir.join("scene.spv");
    if std::env::var_os("CLIFT_BLESS").is_some() {
        std::fs::write(&stored, &fresh).expect("the stored module");
    }
    assert!(
        std::fs::read(&stored).expect("the stored module") == fresh,
        "{} is not what {CLANG} makes of scene.cl: cargo xtask bless -p clift-tests --test host spirv_is_fresh",
        stored.display()
    );
}
