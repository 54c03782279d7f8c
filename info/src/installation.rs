//! Where the driver is registered, and what is wrong with that.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Error, anyhow};

/// The directory of registered drivers.
const VENDORS: &str = "/etc/OpenCL/vendors";

/// The library of the driver that is mapped into this process.
pub fn mapped_library() -> Option<String> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| {
        let path = &line[line.find('/')?..];
        path.rsplit('/').next().is_some_and(|name| name.contains("libclift")).then(|| path.to_owned())
    })
}

/// Adds the reason why the loader shows no platform of the driver, as far as the registered drivers tell.
pub fn explain(missing: Error) -> Error {
    let vendors = std::env::var_os("OCL_ICD_VENDORS").map_or_else(|| PathBuf::from(VENDORS), PathBuf::from);
    anyhow!("{missing}: {}", reason(&vendors))
}

fn reason(vendors: &Path) -> String {
    let registered = match registered(vendors) {
        Ok(registered) => registered,
        Err(error) => return format!("{}: {error}", vendors.display()),
    };
    let Some((file, library)) = registered.into_iter().find(|(_, library)| library.contains("clift")) else {
        return format!("no file in {} names libclift.so", vendors.display());
    };
    match crate::opencl::try_open(&library) {
        Err(error) => format!("{} names {library}: {error}", file.display()),
        Ok(()) => format!("{} names {library}, which can be opened, but the loader does not use it", file.display()),
    }
}

/// The files of a directory of registered drivers, or a single one, and the libraries they name.
fn registered(vendors: &Path) -> std::io::Result<Vec<(PathBuf, String)>> {
    let mut files = if vendors.is_dir() {
        fs::read_dir(vendors)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?
    } else {
        vec![vendors.to_owned()]
    };
    files.retain(|file| file.extension().is_some_and(|extension| extension == "icd"));
    files.sort();
    files.into_iter().map(|file| Ok((file.clone(), fs::read_to_string(&file)?.trim().to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn the_reason_names_the_place() {
        assert!(super::reason(Path::new("/nonexistent.icd")).contains("/nonexistent.icd"));
    }
}
