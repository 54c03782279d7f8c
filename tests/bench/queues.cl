// Pipes and device-side enqueue (OpenCL C 2.0).

kernel void put(write_only pipe int p) {
    int value = (int)get_global_id(0);
    write_pipe(p, &value);
}

kernel void take(read_only pipe int p, global int *out) {
    int value = -1;
    read_pipe(p, &value);
    out[get_global_id(0)] = value;
}

kernel void put_groups(write_only pipe int p) {
    reserve_id_t id = work_group_reserve_write_pipe(p, get_local_size(0));
    if (is_valid_reserve_id(id)) {
        int value = (int)get_global_id(0);
        write_pipe(p, id, get_local_id(0), &value);
        work_group_commit_write_pipe(p, id);
    }
}

kernel void take_groups(read_only pipe int p, global int *out) {
    int value = -1;
    reserve_id_t id = work_group_reserve_read_pipe(p, get_local_size(0));
    if (is_valid_reserve_id(id)) {
        read_pipe(p, id, get_local_id(0), &value);
        work_group_commit_read_pipe(p, id);
    }
    out[get_global_id(0)] = value;
}

// Enqueues as many children as the queue takes, at most `count`.
kernel void children(int count, global int *enqueued) {
    queue_t queue = get_default_queue();
    int done = 0;
    while (done < count && enqueue_kernel(queue, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), ^{}) == CLK_SUCCESS) done++;
    enqueued[0] = done;
}

#define LEAF 128

void sort_leaf(global int *a, int low, int high) {
    for (int i = low + 1; i < high; i++) {
        int value = a[i], j = i;
        for (; j > low && a[j - 1] > value; j--) a[j] = a[j - 1];
        a[j] = value;
    }
}

int parted(global int *a, int low, int high) {
    int pivot = a[low + (high - low) / 2], i = low - 1, j = high;
    for (;;) {
        do i++; while (a[i] < pivot);
        do j--; while (a[j] > pivot);
        if (i >= j) return j + 1;
        int value = a[i];
        a[i] = a[j];
        a[j] = value;
    }
}

kernel void quicksort(global int *a, int low, int high, global int *failed) {
    if (high - low <= LEAF) {
        sort_leaf(a, low, high);
        return;
    }
    int middle = parted(a, low, high);
    queue_t queue = get_default_queue();
    int status = enqueue_kernel(queue, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), ^{ quicksort(a, low, middle, failed); });
    status |= enqueue_kernel(queue, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), ^{ quicksort(a, middle, high, failed); });
    if (status != CLK_SUCCESS) failed[0] = 1;
}

// One step of the same for the host: the part's middle is 0 if it has been sorted.
kernel void quicksort_step(global int *a, int low, int high, global int *middles, int part) {
    if (high - low <= LEAF) {
        sort_leaf(a, low, high);
        middles[part] = 0;
    } else {
        middles[part] = parted(a, low, high);
    }
}

// The work-item's node of the frontier in a grid of `width` by `width` nodes: unvisited neighbours are the next frontier.
void visit(global int *depths, global int *frontiers, global int *counts, int depth, int width, int i) {
    int size = width * width;
    int node = frontiers[(depth & 1) * size + i], x = node % width;
    int near[4] = {x > 0 ? node - 1 : -1, x < width - 1 ? node + 1 : -1, node - width, node + width};
    for (int k = 0; k < 4; k++)
        if (near[k] >= 0 && near[k] < size && atomic_cmpxchg(&depths[near[k]], -1, depth + 1) == -1)
            frontiers[((depth + 1) & 1) * size + atomic_inc(&counts[depth + 1])] = near[k];
}

kernel void search(global int *depths, global int *frontiers, global int *counts, int depth, int width) {
    int count = counts[depth];
    if (count == 0) return;
    queue_t queue = get_default_queue();
    clk_event_t visited;
    int status = enqueue_kernel(queue, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(count), 0, NULL, &visited,
                                ^{ visit(depths, frontiers, counts, depth, width, (int)get_global_id(0)); });
    if (status != CLK_SUCCESS) return;
    enqueue_kernel(queue, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), 1, &visited, NULL,
                   ^{ search(depths, frontiers, counts, depth + 1, width); });
    release_event(visited);
}

kernel void search_step(global int *depths, global int *frontiers, global int *counts, int depth, int width) {
    visit(depths, frontiers, counts, depth, width, (int)get_global_id(0));
}
