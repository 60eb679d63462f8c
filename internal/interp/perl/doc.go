// Package perl finds the calls of Perl 5.28 to 5.44, in builds with support for threads as
// distributions have them, while there are none.
//
//	PL_curinterp ─ PL_curcop ─→ COP: file, line that runs
//	             └ PL_curstackinfo → PERL_SI → PERL_SI → …
//	                                  └ PERL_CONTEXT, …: CV, COP of the call
//
// Each PERL_SI has an array of contexts: of calls, which are taken, and of loops and
// blocks. As caller() does, eval is shown as a call, and functions of C (XS) are not.
//
// What lies where is in a table, from the offsets that opentelemetry-ebpf-profiler has at
// b442421. A test compares what is found with what Perl itself tells: 5.32.1, 5.36.0, 5.40.1, 5.42.3
// and 5.44.0.
package perl
