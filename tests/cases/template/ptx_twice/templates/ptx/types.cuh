// types.cuh: a type that is there already.

// not ours
using uint8_t = char;
