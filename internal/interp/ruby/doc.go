// Package ruby finds the calls of Ruby 3.1.
//
//	ruby_single_main_ractor → rb_thread_t → … ─→ rb_execution_context_t → rb_control_frame_t, …
//	                           └ thread_id = pthread_self → thread id      └ iseq, pc
//
// The frames of a thread lie one behind the other in its VM stack. Methods that are
// written in C have frames too, which are left out: their C functions are in the native
// chain. Programs with several ractors are not known.
//
// What lies where is from the headers of 3.1.0 as debase-ruby_core_source has them. A
// test compares what is found with what Ruby itself tells, which was 3.1.7.
package ruby
