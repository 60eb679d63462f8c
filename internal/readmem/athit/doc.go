// Package athit answers one question: which bytes did a pointer lead to at a hit, and how certain is that? It
// needs no BPF. The helper is a second process, which reads memory while threads are stopped (package helper).
//
// Before the run, the caller tells New which pointers each sampling has. At each hit, Take returns the most certain
// answer, which is one of:
//
//	recorded  the kernel's record has the bytes: the caller takes them from there
//	exact     the sample's copy of the user stack has them, or the helper read them while the thread was stopped
//	near      the helper read them, but the thread may have run in between
//	late      they were read when the record came, or when the hit was handled
//
// The data's way:
//
//	hit ─┬─ helper's event ─→ visitor.go, walk.go ─→ packed.go ─→ match.go ─┐
//	     │                                                                  ├─→ Take
//	     └─ caller's event ─→ Seen: stack copy or memory (late.go) ─────────┘
//
// match.go finds the sample that a reading of the helper belongs to. Take drops a late answer if the process ran
// another program before the read, or if the thread put another text in the same place (see overwritten). If hits
// come faster than the helper may read, the helper rests, and only late answers are left: see Reader.Rests.
package athit
