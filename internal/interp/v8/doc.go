// Package v8 names the frames of V8, the engine of Node: those of its interpreter, of its
// compilers' code, and of its builtins.
//
//	version, v8dbg_… of the program ─ Detect ─→ layout   once per process
//	frame pointer ─→ marker, JSFunction, BytecodeArray
//	place of code ─→ Code ─→ inlined functions, positions
//	              ─→ SharedFunctionInfo ─→ name, script, line
//
// What a version of V8 does not export is in a table (editions). A version that is not in it
// is left alone.
//
// Every frame of V8's code has a frame pointer. The word below it is a context if the frame
// is a function's, and a small integer that tells what else it is.
//
// The collector moves objects. So an object is taken for what it should be only if its map
// says so, and what was read of it is believed again only while the words that it was read
// from are the same. What a frame has for its JSFunction may be another object when it is
// read: the function must lead to the frame's BytecodeArray, or to the code that runs.
//
// What the engine does as the processor wants it is in a table too (machine): amd64, and of
// arm64 the versions that were compared with a program's source.
//
// A program that was stripped tells by its exported functions where the builtins are and what
// they are called, up to V8 12.9, on amd64.
package v8
