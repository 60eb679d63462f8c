// Package perfdata reads and writes recordings in perf's format. It reads files, the output of
// "perf record -o -" and directories of "perf record --threads". Create writes files, and
// NewPipeWriter writes pipes.
//
//	f, err := perfdata.Open("perf.data")
//	if err != nil {
//		return err
//	}
//	defer f.Close()
//	stats, err := f.Read(func(record perfevent.Record) error {
//		if s, ok := record.(*perfevent.Sample); ok {
//			fmt.Println(f.Events[s.Sampling].Name, s.TID, s.Time)
//		}
//		return nil
//	})
//
// # The data's way
//
//	Open ── header, attributes, features ──→ File                   file.go, feature.go
//	Read ── bytes ──→ records ──┬─ COMPRESSED: one zstd frame ─┐    walk.go, inflate.go
//	                            └──────────────────────────────┴──→ order of time ──→ decoder ──→ caller
//	                                                                order.go
//
// A recording may be cut off or hostile. Open fails only if the records cannot be understood at
// all. Read hands on every intact record before it returns an error with the offset at which
// the file stops making sense. Both take at most four times the file's size in memory. Packed
// recordings take up to 64 MiB of waiting records and 128 MiB for the zstd window instead, if
// that is more.
//
//	Create ── header, attributes, what is known of the machine ──→ Writer   write.go, writefeature.go, writepipe.go
//	Encoder ── records of what happened before, changed samples ──→ bytes    encode.go
//	Record, Round ── bytes ──→ buffer ── Flush ──→ one zstd frame, if asked for ──→ output    deflate.go
//	Close ── build ids, other sections ──→ output
//
// The package knows the format and nothing else: no symbols, no processes, and nothing about the
// machine that it runs on. The format is described in
// tools/perf/Documentation/perf.data-file-format.txt of the kernel's sources, and defined by
// tools/perf/util/header.c and session.c there.
package perfdata
