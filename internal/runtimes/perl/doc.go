// Package perl finds the calls of Perl 5.28 to 5.44, in builds with support for threads, as
// distributions have them, if the program has not loaded threads.
//
//	PL_curinterp ─ PL_curcop ─→ COP: file, line that runs
//	             └ PL_curstackinfo → PERL_SI → PERL_SI → …
//	                                  └ PERL_CONTEXT, …: CV, COP of the call
//
// Each PERL_SI has an array of contexts. Contexts of calls are used; those of loops and blocks
// are not. As in caller(), eval counts as a call, and C functions (XS) do not appear.
//
// The offsets of fields are in a table, taken from opentelemetry-ebpf-profiler at b442421. A
// test compares the calls found with what Perl itself reports: 5.32.1, 5.36.0, 5.40.1, 5.42.3
// and 5.44.0.
package perl
