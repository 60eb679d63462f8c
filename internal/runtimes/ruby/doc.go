// Package ruby finds the calls of Ruby 2.5 to 4.0.
//
//	ruby_current_vm_ptr → rb_vm_t → rb_ractor_t, … → rb_thread_t, … ─→ rb_execution_context_t → rb_control_frame_t, …
//	                                                  └ pthread_self → thread id                 └ iseq, pc, ep
//
// A thread's frames lie one after another in its VM stack. Methods written in C have frames
// too, but these are left out: their C functions are in the native chain. Before 3.0 there are
// no ractors, and the VM has the list of threads.
//
// Functions have the names returned by Thread::Backtrace::Location#label. Since 3.4 the name
// includes the method's class, which ep leads to, and a rescue or ensure clause counts as its
// method. Frames of Ruby's own code, <internal:…>, are shown.
//
// Since 3.3 neither ruby_current_vm_ptr nor the loop, vm_exec, is exported. They are found
// through exported functions: ruby_vm_at_exit loads the first before anything else,
// rb_iseq_eval_main ends with a call of the second.
//
// Code compiled by YJIT is called by the loop, or by a function that the loop called. It has
// one native frame for all methods; the control frames say which. Such code stores its pc
// before it calls anything that may look at it. So the innermost method's line is that of its
// last call.
//
// The offsets are from the headers of each release, in datadog-ruby_core_source and in the
// releases themselves, compiled for both architectures. A test compares the calls found with
// what Ruby itself reports: 2.7.4, 3.1.2 and 3.1.7, 3.2.11, 3.3.8, 3.4.11, 4.0.5.
package ruby
