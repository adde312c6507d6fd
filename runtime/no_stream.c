// What lets the distribution's libjansson.a go into libtmagen.so: a stand-in for libc's stdin.
// That archive is built for programs and reaches stdin, which it only compares with, as a shared
// library cannot. The Makefile renames it to this, which no stream ever equals.
extern const void *tmg_no_stream;
const void *tmg_no_stream;
