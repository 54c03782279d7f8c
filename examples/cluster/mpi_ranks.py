"""Pieces of work on the ranks of an MPI program, each with processors of its own.

pip install pyopencl mpi4py mpich; then: mpiexec -n 2 python3 mpi_ranks.py

A rank sets its affinity mask before its first OpenCL call; its device then has these processors only. Launchers that bind ranks
themselves (`mpiexec --bind-to numa`) have the same effect.
"""
import math
import os

from mpi4py import MPI

PIECES = 16


def main():
    world = MPI.COMM_WORLD
    processors = sorted(os.sched_getaffinity(0))
    own = processors[world.rank :: world.size] or processors
    os.sched_setaffinity(0, own)

    import integral

    assert integral.threads() == len(own)
    integral.piece(0, PIECES)
    world.Barrier()
    start = MPI.Wtime()
    pieces = {number: integral.piece(number, PIECES) for number in range(world.rank, PIECES, world.size)}
    seconds = MPI.Wtime() - start
    gathered = world.gather((pieces, len(own), seconds))
    if world.rank == 0:
        every = {number: value for part, _, _ in gathered for number, value in part.items()}
        alone = {number: integral.piece(number, PIECES) for number in range(PIECES)}
        assert every == alone, "the ranks' results differ from this process's"
        for rank, (part, processors, seconds) in enumerate(gathered):
            print(f"rank {rank}: {processors} processors, {len(part)} pieces, {seconds / len(part) * 1e3:.2f} ms each")
        print("the integral is", round(math.fsum(every.values()), 9))


main()
