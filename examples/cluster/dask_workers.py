"""Pieces of work on the processes of a Dask cluster, each with an OpenCL device of its own.

pip install pyopencl distributed; then run this program. On real machines, start `dask scheduler` and `dask worker` there, and give
the scheduler's address to Client.
"""
import math
import time

from distributed import Client, LocalCluster

import integral

PIECES = 16


def main():
    alone = [integral.piece(number, PIECES) for number in range(PIECES)]
    start = time.perf_counter()
    for number in range(PIECES):
        integral.piece(number, PIECES)
    here = time.perf_counter() - start
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        client.upload_file(integral.__file__)
        # The first piece of each worker builds the program.
        client.run(integral.piece, 0, PIECES)
        start = time.perf_counter()
        pieces = client.gather(client.map(integral.piece, range(PIECES), [PIECES] * PIECES, pure=False))
        there = time.perf_counter() - start
    assert pieces == alone, "the workers' results differ from this process's"
    assert math.isclose(math.fsum(pieces), math.pi, rel_tol=1e-12)
    print(f"{PIECES} pieces by 2 workers: {there / PIECES * 1e3:.2f} ms each; in one process: {here / PIECES * 1e3:.2f} ms each")
    print("the integral is", round(math.fsum(pieces), 9))


if __name__ == "__main__":
    main()
