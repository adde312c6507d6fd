// Groups, whose sizes are a tensor: `ends` of rows that lie behind each other, or `counts` of those
// that are used of each group's.

// Whether groups are parts of K.
static int along_k(const struct problem *p) { return number_of(p, "along_k", 0) > 0; }

// 1 + the first group whose size cannot be; 0: there is none, and no groups either.
static int64_t first_wrong(const struct problem *p) {
    const struct tensor *ends = tensor_of(p, "ends"), *counts = tensor_of(p, "counts");
    const struct tensor *sizes = ends ? ends : counts, *table = tensor_of(p, "problems");
    int64_t before = 0;
    for (int64_t i = 0; table && i < table->dims[0]; ++i)
        if (!can_be(p, matrices_of(table, i))) return i + 1;
    const int64_t most = sizes ? dim_of(p, along_k(p) ? "k" : "m") : 0;
    for (int64_t i = 0; sizes && i < sizes->dims[0]; ++i) {
        const int64_t size = int_at(sizes, i);
        if (size < before || size > most) return i + 1;
        if (ends) before = size;
    }
    return 0;
}

// Whether a group has the row at [place], whose problem gets its number where it is not known.
static int is_used(const struct problem *p, int64_t *place) {
    const struct tensor *table = tensor_of(p, "problems");
    if (table) return is_a_problems(p, table, place);
    const struct tensor *ends = tensor_of(p, "ends"), *counts = tensor_of(p, "counts");
    if (counts) return place[1] < int_at(counts, place[0]);
    if (along_k(p)) return 1;
    while (ends && place[0] < ends->dims[0] && place[1] >= int_at(ends, place[0])) ++place[0];
    return !ends || place[0] < ends->dims[0];
}

static void draw_sizes(const struct problem *p, const struct tensor *t) {
    const int64_t m = dim_of(p, along_k(p) ? "k" : "m"), groups = t->dims[0],
                  one = (int64_t)(bits_at(t, 0) >> 9);
    const int is_counts = same(t->name, "counts");
    const double rows = inputs_are(p, "rest") ? 0.75 * (double)m : (double)m;
    double all = 0, sum = 0;
    for (int pass = 0; pass < 2; ++pass) {
        for (int64_t i = 0; i < groups; ++i) {
            const uint64_t bits = bits_at(t, (uint64_t)i + 1);
            double share = bits % 4 == 0 ? 0 : share_of(bits_at(t, (uint64_t)i + 5000));
            if (inputs_are(p, "one")) share = i == one % groups;
            if (inputs_are(p, "full")) share = 1;
            if (pass == 0) all += share;
            if (pass == 1) sum += share;
            const double ends = all > 0 ? floor(sum / all * rows) : rows;
            put(t, i, is_counts ? ceil(share * (double)m) : i == groups - 1 ? floor(rows) : ends);
        }
    }
    if (!inputs_are(p, "bad")) return;
    // a group of those that a warp looks at second too
    const int64_t at = groups > 32 && one % 3 == 0 ? 32 : one % groups;
    const int64_t before = at > 0 && !is_counts ? int_at(t, at - 1) : 0;
    const double wrong[] = {(double)m + 1, (double)before - 1, 2147483647.0, -2147483648.0};
    put(t, at, wrong[one / groups % (m < 2147483647 ? 4 : 2)]);
}
