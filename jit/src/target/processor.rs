//! What processors of the same instruction set do differently: facts about the one that this process runs on.

/// How a machine executes accesses whose lanes have addresses of their own, if all lanes are active, and masked stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScatteredAccesses {
    /// Whether a gather is faster than a load for each lane.
    pub(crate) gathers: bool,
    /// Whether a scatter is faster than a store for each lane.
    pub(crate) scatters: bool,
    /// Whether a store masked by a vector is faster than a store for each lane.
    pub(crate) masked_stores: bool,
}

impl ScatteredAccesses {
    /// All are fast: Sapphire Rapids and its successors.
    pub(crate) const FAST: ScatteredAccesses = ScatteredAccesses { gathers: true, scatters: true, masked_stores: true };

    /// Those of the processor that this process runs on.
    pub(crate) fn host() -> ScatteredAccesses {
        #[cfg(target_arch = "x86_64")]
        {
            let cpuid = raw_cpuid::CpuId::new();
            let vendor = cpuid.get_vendor_info();
            let features = cpuid.get_feature_info();
            if let (Some(vendor), Some(features)) = (vendor, features) {
                return Self::of(vendor.as_str(), features.family_id(), features.model_id());
            }
        }
        Self::FAST
    }

    /// Those of a processor by its CPUID.
    ///
    /// - AMD: gathers and scatters are microcode on Zen 4 and Zen 5 (*Software Optimization Guide for the AMD Zen4
    ///   Microarchitecture*, table of instruction latencies): on Zen 4 kernels with random gathers took 1.6 times as long as
    ///   with a load for each lane, with scatters 1.7 times. Stores masked by vectors are microcode, too: on Zen 3 a bitonic
    ///   sort in local memory took 2.1 times as long with them as with a store for each lane.
    /// - Intel, Skylake to Ice Lake, Tiger Lake and Rocket Lake: the microcode against Gather Data Sampling (CVE-2022-40982)
    ///   makes gathers wait for their data. Scatters are not affected.
    fn of(vendor: &str, family: u8, model: u8) -> ScatteredAccesses {
        /// Skylake and Cascade Lake servers, Ice Lake (two servers, two clients), Tiger Lake (two), Rocket Lake.
        const DATA_SAMPLING: [u8; 8] = [0x55, 0x6a, 0x6c, 0x7d, 0x7e, 0x8c, 0x8d, 0xa7];
        match (vendor, family) {
            ("AuthenticAMD", _) => ScatteredAccesses { gathers: false, scatters: false, masked_stores: false },
            ("GenuineIntel", 6) => ScatteredAccesses { gathers: !DATA_SAMPLING.contains(&model), ..Self::FAST },
            _ => Self::FAST,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ScatteredAccesses;

    #[test]
    fn processors_by_cpuid() {
        let gathers = |vendor, family, model| ScatteredAccesses::of(vendor, family, model).gathers;
        assert!(!gathers("AuthenticAMD", 0x19, 0x11), "Zen 4");
        assert!(!gathers("GenuineIntel", 6, 0x6a), "Ice Lake");
        assert!(gathers("GenuineIntel", 6, 0xcf), "Emerald Rapids");
    }
}
