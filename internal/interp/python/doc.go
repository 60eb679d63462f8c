// Package python finds the calls of CPython 3.6 to 3.15.
//
//	_PyRuntime → PyInterpreterState → PyThreadState ─→ frame → frame → …
//	                                      │               └ PyCodeObject, instruction
//	                                      └ thread_id = pthread_self → thread id
//
// What lies where CPython says itself from 3.13 on (_Py_DebugOffsets). Of the releases
// before it is in a table, which a test compares with their debug information: it is the
// same in all patch releases of a minor one.
//
// A frame is an object of its own in the heap up to 3.10; later frames lie one behind
// the other in chunks, and one loop of C runs many. Where threads run without a global
// lock, from 3.14 on each has its own copy of the instructions of a function.
package python
