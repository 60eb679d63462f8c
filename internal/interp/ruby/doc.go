// Package ruby finds the calls of Ruby 2.5 to 4.0.
//
//	ruby_current_vm_ptr → rb_vm_t → rb_ractor_t, … → rb_thread_t, … ─→ rb_execution_context_t → rb_control_frame_t, …
//	                                                  └ pthread_self → thread id                 └ iseq, pc, ep
//
// The frames of a thread lie one behind the other in its VM stack. Methods that are
// written in C have frames too, which are left out: their C functions are in the native
// chain. Before 3.0 there are no ractors; the VM has the threads.
//
// Functions have the names that Thread::Backtrace::Location#label gives them. Since 3.4 these
// are with the class that has the method, which ep leads to, and a rescue or ensure clause
// stands for the method that it is in. Frames of Ruby's own code, <internal:…>, are shown.
//
// Since 3.3 neither ruby_current_vm_ptr nor the loop, vm_exec, is exported. Functions that are
// lead to them: ruby_vm_at_exit loads the one first, rb_iseq_eval_main ends with the other.
//
// Code that YJIT has compiled is called by the loop, or by a function that the loop has called, with one native
// frame for all methods. What they are is in the control frames. Such code writes its pc before it calls something
// that may look at it, so that the line of the innermost method is that of its last call.
//
// What lies where is from the headers of each release as datadog-ruby_core_source and the
// releases themselves have them, compiled for both architectures. A test compares what is
// found with what Ruby itself tells: 2.7.4, 3.1.2 and 3.1.7, 3.2.11, 3.3.8, 3.4.11, 4.0.5.
package ruby
