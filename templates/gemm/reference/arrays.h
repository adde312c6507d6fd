// Arrays of problems that share nothing: a table of where their matrices lie.

// A problem of an array, a row of the table: offsets in bytes where the device has addresses.
struct matrices {
    int64_t a, b, d, m, n, k, a_stride, b_stride, d_stride;
};

REFERENCE const struct matrices *matrices_of(const struct tensor *table, int64_t problem) {
    return (const struct matrices *)(const void *)table->data + problem;
}

// Whether a matrix lies in [t], as TMA takes it.
REFERENCE int lies_in(const struct tensor *t, int64_t offset, int64_t rows, int64_t columns,
                      int64_t stride) {
    const int64_t bytes = bytes_of(t->type), piece = 16 / bytes, all = t->dims[0] * t->dims[1];
    return offset >= 0 && offset % 16 == 0 && stride % piece == 0 && stride >= columns &&
           stride <= all && columns <= all - offset / bytes &&
           rows - 1 <= (all - offset / bytes - columns) / stride;
}

REFERENCE int can_be(const struct problem *p, const struct matrices *of) {
    const int64_t most = (int64_t)1 << 30;
    if (of->m < 0 || of->n < 0 || of->k < 0 || of->m > most || of->n > most || of->k > most)
        return 0;
    if (of->m == 0 || of->n == 0) return 1;
    return of->n % tensor_of(p, "d")->dims[1] == 0 &&
           lies_in(tensor_of(p, "d"), of->d, of->m, of->n, of->d_stride) &&
           (of->k == 0 || (lies_in(tensor_of(p, "a"), of->a, of->m, of->k, of->a_stride) &&
                           lies_in(tensor_of(p, "b"), of->b, of->n, of->k, of->b_stride)));
}

// Whether the element of D at [place], a piece of 16 bytes and an element of it, is a problem's;
// the place is that one's then.
REFERENCE int is_a_problems(const struct problem *p, const struct tensor *table, int64_t *place) {
    const struct tensor *d = tensor_of(p, "d");
    for (int64_t i = 0; i < table->dims[0]; ++i) {
        const struct matrices *of = matrices_of(table, i);
        const int64_t at = place[1] * d->dims[1] + place[2] - of->d / bytes_of(d->type);
        if (of->m == 0 || of->n == 0 || at < 0) continue;
        if (at / of->d_stride >= of->m || at % of->d_stride >= of->n) continue;
        place[0] = i, place[1] = at / of->d_stride, place[2] = at % of->d_stride;
        return 1;
    }
    return 0;
}

// 1 to [most], 0 if that is none
REFERENCE int64_t drawn_size(uint64_t bits, int64_t most) {
    return most > 0 ? 1 + (int64_t)(share_of(bits) * (double)most) : 0;
}

// A problem on the edge of what can be: the [last]'s D ends where the memory does, and nobody asks
// where matrices lie of which nothing is read, or how large the other sizes of an empty D are.
REFERENCE void draw_edge(const struct tensor *d, int64_t *fields, int last) {
    const int64_t all = d->dims[0] * d->dims[1];
    const int empty = fields[3] == 0 || fields[4] == 0;
    if (last && !empty)
        fields[2] = (all - (fields[3] - 1) * fields[8] - fields[4]) * bytes_of(d->type);
    if (fields[5] == 0 || empty) fields[0] = fields[1] = -16, fields[6] = fields[7] = 1;
    for (int j = 3; j < 6 && empty; ++j) fields[j] = fields[j] > 0 ? (int64_t)1 << 30 : 0;
}

// Row [i] of an array: each problem has its part of the memory, some are empty.
REFERENCE void draw_problem(const struct problem *p, const struct tensor *table, int64_t i) {
    const struct tensor *t[] = {tensor_of(p, "a"), tensor_of(p, "b"), tensor_of(p, "d")};
    const uint64_t base = (uint64_t)i * 16;
    int64_t room[3], fields[9] = {0};
    for (int j = 0; j < 3; ++j) {
        const int64_t pieces = t[j]->dims[0] / table->dims[0];
        room[j] = pieces * t[j]->dims[1];
        fields[j] = i * pieces * 16;
    }
    const int64_t piece = t[0]->dims[1], d_piece = t[2]->dims[1];
    const double least = (double)(room[0] < room[1] ? room[0] : room[1]);
    const int64_t k = drawn_size(bits_at(table, base), (int64_t)(1.5 * sqrt(least)));
    const int64_t stride =
        (k + piece - 1) / piece * piece + (int64_t)(bits_at(table, base) % 2) * piece;
    const int64_t most = stride > 0 ? room[1] / stride / d_piece : 0;
    const int64_t n = drawn_size(bits_at(table, base + 1), most) * d_piece;
    const int64_t d_stride = n + (int64_t)(bits_at(table, base) / 2 % 2) * d_piece;
    int64_t rows = stride > 0 && d_stride > 0 ? room[2] / d_stride : 0;
    if (stride > 0 && room[0] / stride < rows) rows = room[0] / stride;
    const uint64_t odd = bits_at(table, base + 3) >> 20;
    fields[3] = drawn_size(bits_at(table, base + 2), rows);
    fields[4] = n, fields[5] = k, fields[6] = stride, fields[7] = stride, fields[8] = d_stride;
    if (odd % 8 < 3) fields[3 + odd % 8] = 0;
    const int64_t chosen = (int64_t)((bits_at(table, 9000) >> 9) % (uint64_t)table->dims[0]);
    if (inputs_are(p, "bad") && i == chosen) {
        const int64_t wrong[][2] = {{3, -1},
                                    {3, (int64_t)1 << 40},
                                    {2, 16 * t[2]->dims[0]},
                                    {2, -16},
                                    {2, 2},
                                    {8, fields[8] + 1},
                                    {4, fields[4] - 1},
                                    {8, (int64_t)1 << 40},
                                    {4, (int64_t)1 << 40}};
        const int which = (int)(odd / 8 % 9);
        for (int j = 3; j < 5; ++j) fields[j] = fields[j] > 0 ? fields[j] : 1;
        if (which > 6) fields[3] = 8 - which;  // a row, or none
        fields[wrong[which][0]] = wrong[which][1];
    }
    if (inputs_are(p, "edge")) draw_edge(t[2], fields, i == table->dims[0] - 1);
    for (int j = 0; j < 9; ++j) put_bits(table, i * 9 + j, (uint64_t)fields[j]);
}
