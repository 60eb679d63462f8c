// Package python finds the calls of CPython 3.6 to 3.15.
//
//	_PyRuntime → PyInterpreterState → PyThreadState ─→ frame → frame → …
//	                                      │               └ PyCodeObject, instruction
//	                                      └ thread_id = pthread_self → thread id
//
// From 3.13 on, CPython itself says at which offsets its fields are (_Py_DebugOffsets). For
// earlier releases they are in a table, which a test compares with the releases' debug
// information. All patch releases of a minor release have the same offsets.
//
// Up to 3.10, a frame is an object in the heap. Later, frames lie one after another in chunks,
// and one C loop runs many. In builds without a global lock, from 3.14 on, each thread has its
// own copy of a function's instructions.
package python
