package kprobe

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// bigKernel writes the lists of a kernel with that many functions and as many
// variables.
func bigKernel(b *testing.B, functions int) (root string) {
	b.Helper()
	root = b.TempDir()
	var kallsyms, list bytes.Buffer
	for i := range functions {
		fmt.Fprintf(&kallsyms, "ffffffff%08x t subsystem_%d_do_the_thing_%d\n", 0x81000000+i*64, i%997, i)
		fmt.Fprintf(&list, "subsystem_%d_do_the_thing_%d\n", i%997, i)
	}
	for i := range functions {
		fmt.Fprintf(&kallsyms, "ffffffff%08x d variable_%d\n", 0x91000000+i*8, i)
	}
	for name, text := range map[string][]byte{"proc/kallsyms": kallsyms.Bytes(), "sys/kernel/tracing/available_filter_functions": list.Bytes()} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return root
}

// BenchmarkFunctions looks a pattern up among 150,000 symbols, half of them
// functions.
func BenchmarkFunctions(b *testing.B) {
	root := bigKernel(b, 75000)
	for _, pattern := range []string{"subsystem_17_*", "*_thing_7*", "subsystem_17_do_the_thing_17"} {
		b.Run(pattern, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Functions(pattern, Options{Root: root}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLiveFunctions looks a pattern up in the running kernel, where making
// the text of the lists is most of the time.
func BenchmarkLiveFunctions(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Functions("vfs_*", Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
