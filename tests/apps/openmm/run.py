"""Forces and energies on OpenCL in single, mixed and double precision beside those of the Reference platform."""

import numpy as np
import openmm as mm
from openmm import app, unit

from common import QUICK, case, version

version(mm.Platform.getOpenMMVersion())
for message in mm.Platform.getPluginLoadFailures():
    print(message)
STEP = 0.001 * unit.picoseconds


def evaluate(system, positions, platform, properties=None, box=None):
    integrator = mm.VerletIntegrator(STEP)
    context = mm.Context(system, integrator, mm.Platform.getPlatformByName(platform), properties or {})
    if box is not None:
        context.setPeriodicBoxVectors(*box)
    context.setPositions(positions)
    context.computeVirtualSites()
    state = context.getState(getForces=True, getEnergy=True)
    forces = state.getForces(asNumpy=True).value_in_unit(unit.kilojoule_per_mole / unit.nanometer)
    return state.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole), forces


def water(edge, forcefield, model):
    """A box of water; its density does not matter here."""
    modeller = app.Modeller(app.Topology(), [] * unit.nanometer)
    field = app.ForceField(forcefield)
    modeller.addSolvent(app.ForceField("tip3p.xml") if model == "tip3p" else field, model=model, boxSize=mm.Vec3(edge, edge, edge) * unit.nanometer)
    return field, modeller


def alkane_chain(count):
    """A flexible charged chain, with bonds, angles, torsions and exceptions."""
    system = mm.System()
    bonds, angles, torsions, nonbonded = mm.HarmonicBondForce(), mm.HarmonicAngleForce(), mm.PeriodicTorsionForce(), mm.NonbondedForce()
    random = np.random.default_rng(1)
    at, positions = np.zeros(3), []
    for i in range(count):
        system.addParticle(12.0)
        nonbonded.addParticle(0.3 * (-1) ** i, 0.3, 0.4)
        positions.append(at.copy())
        at = at + [0.12, 0.09 * (-1) ** i, 0.05 * random.standard_normal()]
    for i in range(count - 1):
        bonds.addBond(i, i + 1, 0.15, 200000.0)
    for i in range(count - 2):
        angles.addAngle(i, i + 1, i + 2, 1.9, 400.0)
    for i in range(count - 3):
        torsions.addTorsion(i, i + 1, i + 2, i + 3, 3, 0.0, 6.0)
    nonbonded.createExceptionsFromBonds([(i, i + 1) for i in range(count - 1)], 0.5, 0.5)
    for force in (bonds, angles, torsions, nonbonded):
        system.addForce(force)
    return system, positions


def systems():
    yield "bonded chain", *alkane_chain(300), None

    def with_method(method, **more):
        field, modeller = water(2.4, "tip3p.xml", "tip3p")
        system = field.createSystem(modeller.topology, nonbondedMethod=method, nonbondedCutoff=0.9 * unit.nanometer, **more)
        return system, modeller.positions, modeller.topology.getPeriodicBoxVectors()

    yield "water with PME", *with_method(app.PME, ewaldErrorTolerance=1e-5)
    yield "water with reaction field", *with_method(app.CutoffPeriodic)
    yield "flexible water with PME", *with_method(app.PME, rigidWater=False)
    if not QUICK:
        yield "water with Lennard-Jones PME", *with_method(app.LJPME, ewaldErrorTolerance=1e-5)
        yield "water with Ewald sums", *with_method(app.Ewald)
        field, modeller = water(2.0, "amoeba2018.xml", "tip3p")
        for polarization in ("mutual", "direct"):
            system = field.createSystem(
                modeller.topology, nonbondedMethod=app.PME, nonbondedCutoff=0.7 * unit.nanometer,
                polarization=polarization, mutualInducedTargetEpsilon=1e-6,
            )  # fmt: skip
            yield f"AMOEBA water, {polarization} polarization", system, modeller.positions, modeller.topology.getPeriodicBoxVectors()
        system = field.createSystem(modeller.topology, nonbondedMethod=app.NoCutoff)
        yield "AMOEBA water without cutoff", system, modeller.positions, None
    system, positions = alkane_chain(200)
    born = mm.GBSAOBCForce()
    for i in range(200):
        born.addParticle(0.3 * (-1) ** i, 0.17, 0.8)
    system.addForce(born)
    yield "implicit solvent", system, positions, None
    system, positions = alkane_chain(200)
    custom = mm.CustomNonbondedForce("a*exp(-r/b)*step(1-r)+log(1+r^2)*sin(r); a=sqrt(a1*a2); b=0.1")
    custom.addPerParticleParameter("a")
    for i in range(200):
        custom.addParticle([1.0 + i % 3])
    custom.addInteractionGroup(range(0, 200, 2), range(1, 200, 2))
    system.addForce(custom)
    hydrogen_like = mm.CustomCompoundBondForce(3, "k*(distance(p1,p2)-0.3)^2*cos(angle(p1,p2,p3))")
    hydrogen_like.addGlobalParameter("k", 40.0)
    for i in range(0, 198, 5):
        hydrogen_like.addBond([i, i + 1, i + 2])
    system.addForce(hydrogen_like)
    yield "custom forces", system, positions, None


# The share of the forces' root mean square that differences may have. In double precision forces differ from the
# Reference platform's by up to 4.3e-7, by the same amount on Clift and Intel; why is not shown.
TOLERANCE = {"single": 2e-4, "mixed": 2e-4, "double": 1e-6}


def main():
    opencl = mm.Platform.getPlatformByName("OpenCL")
    for name, system, positions, box in systems():
        energy, forces = evaluate(system, positions, "Reference", box=box)
        scale = np.sqrt((forces**2).mean())
        for precision, tolerance in TOLERANCE.items():
            if "AMOEBA" in name or "PME" in name or "Ewald" in name:
                # Meshes and solvers agree to their own tolerances only.
                tolerance = max(tolerance, 1e-3)
            with case(f"{name}, {precision}"):
                found, found_forces = evaluate(system, positions, "OpenCL", {"Precision": precision}, box)
                error = np.sqrt(((found_forces - forces) ** 2).mean()) / scale
                assert error < tolerance, f"forces differ by {error:.2g} of their mean; energy {found} instead of {energy}"
                assert abs(found - energy) < max(1e-4, tolerance) * max(abs(energy), 1), f"energy {found} instead of {energy}"
    with case("energy is conserved over 500 steps"):
        system, positions = alkane_chain(100)
        context = mm.Context(system, mm.VerletIntegrator(0.0002), opencl, {"Precision": "mixed"})
        context.setPositions(positions)
        mm.LocalEnergyMinimizer.minimize(context, 10, 50)
        context.setVelocitiesToTemperature(300, 1)
        total = []
        for _ in range(10):
            context.getIntegrator().step(50)
            state = context.getState(getEnergy=True)
            total.append((state.getPotentialEnergy() + state.getKineticEnergy()).value_in_unit(unit.kilojoule_per_mole))
        assert max(total) - min(total) < 0.02 * abs(np.mean(total)) + 2, f"from {min(total)} to {max(total)}"
    with case("random numbers: Langevin dynamics keeps its temperature"):
        field, modeller = water(2.0, "tip3p.xml", "tip3p")
        system = field.createSystem(modeller.topology, nonbondedMethod=app.CutoffPeriodic, nonbondedCutoff=0.8 * unit.nanometer)
        integrator = mm.LangevinMiddleIntegrator(300, 20.0, 0.002)
        context = mm.Context(system, integrator, opencl)
        context.setPositions(modeller.positions)
        mm.LocalEnergyMinimizer.minimize(context, 100, 20)
        context.setVelocitiesToTemperature(300, 1)
        integrator.step(100)
        kinetic = []
        for _ in range(20):
            integrator.step(10)
            kinetic.append(context.getState(getEnergy=True).getKineticEnergy().value_in_unit(unit.kilojoule_per_mole))
        freedom = 3 * system.getNumParticles() - system.getNumConstraints()
        temperature = 2 * np.mean(kinetic) / (freedom * 0.00831446)
        assert 280 < temperature < 320, f"{temperature} K"


main()
