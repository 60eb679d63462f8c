// Package v8 names the frames of V8, the engine of Node: those of its interpreter, of compiled
// code, and of its builtins.
//
//	version, v8dbg_… of the program ─ Detect ─→ layout   once per process
//	frame pointer ─→ marker, JSFunction, BytecodeArray
//	place of code ─→ Code ─→ inlined functions, positions
//	              ─→ SharedFunctionInfo ─→ name, script, line
//
// Offsets that V8 does not export are in a table by version (editions). Versions that are not
// in the table are not supported.
//
// Every frame of V8's code has a frame pointer. The word below it is a context in a function's
// frame. In other frames it is a small integer with the frame's type.
//
// The garbage collector moves objects. So an object is used only if its map says that it has
// the expected type. A cached result is reused only if the words it was read from have not
// changed. The JSFunction in a frame may be another object by the time it is read: it must lead
// to the frame's BytecodeArray, or to the code that runs.
//
// What depends on the processor is in a table too (machine). It covers amd64, and on arm64 the
// versions that were compared with a program's source.
//
// In a stripped program, exported functions tell where the builtins are and what their names
// are. That works up to V8 12.9, on amd64.
package v8
