// expression.h: what a text such as "x > 0 ? x : 0.5 * (exp(x) - 1)" comes to, so that a row of a
// table can say what an op computes. A part of reference.h, which includes it, and as that C99 and
// CUDA at once: without recursion, because a GPU's stack is short.
#ifndef REFERENCE_EXPRESSION_H
#define REFERENCE_EXPRESSION_H

enum { EXPRESSION_DEPTH = 24, EXPRESSION_POINTS = 5 };

// What evaluate_all() is at: the text that is left, numbers for each point, and the operators that
// wait for more of it. 'n' is a minus before its operand, 'l' and 'g' are <= and >=, 'A' to 'F'
// open parentheses.
struct expression {
    const char *at;
    double values[EXPRESSION_DEPTH][EXPRESSION_POINTS];
    char waiting[EXPRESSION_DEPTH];
    int points, value_count, waiting_count;
};

REFERENCE int is_digit(char c) { return c >= '0' && c <= '9'; }
REFERENCE int digit_of(char c) {
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

// Takes [word] and the spaces behind it, if it is next.
REFERENCE int take(struct expression *e, const char *word) {
    const char *at = e->at;
    while (*word && *at == *word) ++at, ++word;
    if (*word) return 0;
    while (*at == ' ') ++at;
    e->at = at;
    return 1;
}

// A number: 12.5, or 0x1p-11.
REFERENCE double take_number(struct expression *e) {
    const int base = e->at[0] == '0' && e->at[1] == 'x' ? 16 : 10;
    double value = 0, unit = 1;
    int exponent = 0, sign = 1;
    if (base == 16) e->at += 2;
    for (; digit_of(*e->at) < base; ++e->at) value = value * base + digit_of(*e->at);
    if (*e->at == '.') {
        for (++e->at; digit_of(*e->at) < base; ++e->at) {
            value = value * base + digit_of(*e->at);
            unit *= base;
        }
    }
    if (base == 16 && *e->at == 'p') {
        if (*++e->at == '-') sign = -1, ++e->at;
        for (; is_digit(*e->at); ++e->at) exponent = exponent * 10 + digit_of(*e->at);
    }
    take(e, "");
    return exponent ? ldexp(value / unit, sign * exponent) : value / unit;
}

// How tightly an operator binds; 0 for what opens a parenthesis.
REFERENCE int rank_of(char op) {
    switch (op) {
    case '?': return 1;
    case ':': return 2;
    case '<':
    case '>':
    case 'l':
    case 'g': return 3;
    case '+':
    case '-': return 4;
    case '*':
    case '/': return 5;
    case 'n': return 6;
    default: return 0;
    }
}

// The numbers that it takes. A ? is no operator yet, as long as its : is to come.
REFERENCE int arity_of(char op) { return op == ':' ? 3 : rank_of(op) > 2 && op != 'n' ? 2 : 1; }

// The operator's value for point [i], whose operands are in the rows from [v] on.
REFERENCE double applied(char op, double (*v)[EXPRESSION_POINTS], int i) {
    switch (op) {
    case ':': return v[0][i] != 0 ? v[1][i] : v[2][i];
    case '<': return v[0][i] < v[1][i];
    case '>': return v[0][i] > v[1][i];
    case 'l': return v[0][i] <= v[1][i];
    case 'g': return v[0][i] >= v[1][i];
    case '+': return v[0][i] + v[1][i];
    case '-': return v[0][i] - v[1][i];
    case '*': return v[0][i] * v[1][i];
    case '/': return v[0][i] / v[1][i];
    case 'n': return -v[0][i];
    case 'A': return fabs(v[0][i]);
    case 'B': return sqrt(v[0][i]);
    case 'C': return exp(v[0][i]);
    case 'D': return tanh(v[0][i]);
    case 'E': return erf(v[0][i]);
    default: return v[0][i];
    }
}

// Puts the value of the operator that waits last in the place of its operands.
REFERENCE void reduce(struct expression *e) {
    const char op = e->waiting[--e->waiting_count];
    e->value_count -= arity_of(op) - 1;
    double(*v)[EXPRESSION_POINTS] = &e->values[e->value_count - 1];
    for (int i = 0; i < e->points; ++i) v[0][i] = applied(op, v, i);
}

// Reduces all that bind as tightly as [rank]; the one that waits then, 0 where there is none.
REFERENCE char reduce_to(struct expression *e, int rank) {
    while (e->waiting_count && rank_of(e->waiting[e->waiting_count - 1]) >= rank) reduce(e);
    return e->waiting_count ? e->waiting[e->waiting_count - 1] : (char)0;
}

REFERENCE int wait_for(struct expression *e, char op) {
    if (e->waiting_count == EXPRESSION_DEPTH) return 0;
    e->waiting[e->waiting_count++] = op;
    return 1;
}

// Takes what may stand before an operand; whether there is room for it.
REFERENCE int take_before(struct expression *e) {
    const char *const before[] = {"-", "fabs(", "sqrt(", "exp(", "tanh(", "erf(", "("};
    const char codes[] = "nABCDEF";
    for (int i = 0; i < 7 && *e->at != 'x' && *e->at != 'y' && !is_digit(*e->at); ++i) {
        if (!take(e, before[i])) continue;
        if (!wait_for(e, codes[i])) return 0;
        i = -1;  // another may follow
    }
    return 1;
}

// Takes an operand with what stands before it; whether there is one.
REFERENCE int take_operand(struct expression *e, const double *x, const double *y) {
    if (!take_before(e) || e->value_count == EXPRESSION_DEPTH) return 0;
    double *values = e->values[e->value_count++];
    const int is_number = is_digit(*e->at);
    const double number = is_number ? take_number(e) : 0;
    for (int i = 0; i < e->points; ++i)
        values[i] = is_number ? number : *e->at == 'x' ? x[i] : y[i];
    return is_number || take(e, "x") || take(e, "y");
}

// Takes an operator of two operands; whether there is one, and nothing that it needs is missing.
REFERENCE int take_operator(struct expression *e) {
    char op = *e->at++;
    if (rank_of(op) == 0 || (op >= 'a' && op <= 'z')) return 0;
    if ((op == '<' || op == '>') && take(e, "=")) op = op == '<' ? 'l' : 'g';
    take(e, "");
    const char waits = reduce_to(e, op == '?' ? 3 : rank_of(op));
    if (op == ':') {
        if (waits != '?') return 0;
        --e->waiting_count;  // now all three are known, or will be
    }
    return wait_for(e, op);
}

// What evaluate_all() does; 0 where the text is something else.
REFERENCE int take_all(struct expression *e, const double *x, const double *y) {
    for (;;) {
        if (!take_operand(e, x, y)) return 0;
        while (take(e, ")")) {
            if (!reduce_to(e, 1)) return 0;
            reduce(e);
        }
        if (!*e->at) break;
        if (!take_operator(e)) return 0;
    }
    return !reduce_to(e, 1) && e->value_count == 1;
}

// The values of [text], C of numbers, x, y, + - * /, comparisons with ?:, and fabs, sqrt, exp, tanh
// and erf, at the first [points] of [x] and [y]; NaN where it is something else. So that a row of a
// table can say what an op computes.
REFERENCE_ONCE void evaluate_all(const char *text, int points, const double *x, const double *y,
                                 double *values) {
    struct expression e;
    e.at = text;
    e.points = points;
    e.value_count = e.waiting_count = 0;
    const int whole = take_all(&e, x, y);
    for (int i = 0; i < points; ++i) values[i] = whole ? e.values[0][i] : NAN;
}

// Its value at one.
REFERENCE_ONCE double evaluate(const char *text, double x, double y) {
    double value;
    evaluate_all(text, 1, &x, &y, &value);
    return value;
}

// A value on its way through the epilogue: what it should be, and how far off it may be.
struct passing {
    double x, off;
};

// The larger distance of two values from [now].
REFERENCE double further(const double *two, double now) {
    const double below = fabs(two[0] - now), above = fabs(two[1] - now);
    return below > above ? below : above;
}

// What [exact] is at a point, and the most that it moves by where x and y are off by so much, forth
// and back: together, and against each other.
REFERENCE_ONCE struct passing moved(const char *exact, double x, double y, double off_x,
                                    double off_y) {
    const double xs[] = {x, x - off_x, x + off_x, x - off_x, x + off_x};
    const double ys[] = {y, y - off_y, y + off_y, y + off_y, y - off_y};
    const int points = off_y != 0 ? 5 : off_x != 0 ? 3 : 1;
    double values[EXPRESSION_POINTS];
    evaluate_all(exact, points, xs, ys, values);
    const double along = points > 1 ? further(values + 1, values[0]) : 0;
    const double across = points > 3 ? further(values + 3, values[0]) : along;
    const struct passing at = {values[0], along > across ? along : across};
    return at;
}

#define LEAST 0x1p-149  // of fp32, above 0

// Whether [exact] is the same where x and y move by so much, forth and back; NaN is as NaN.
REFERENCE_ONCE int certain(const char *exact, double x, double y, double off_x, double off_y) {
    const double now = evaluate(exact, x, y);
    const double below = evaluate(exact, x - off_x, y - off_y);
    const double above = evaluate(exact, x + off_x, y + off_y);
    return isnan(now) ? isnan(below) && isnan(above) : below == now && above == now;
}

#endif
