package btf

import (
	"os"
	"testing"
)

// kernelData is the running kernel's type information.
func kernelData(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile(Dir + "/vmlinux")
	if err != nil {
		t.Skip(err)
	}
	return string(data)
}

func kernelSpec(t testing.TB) *Spec {
	t.Helper()
	s, err := Parse(kernelData(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func BenchmarkReadOfTheKernel(b *testing.B) {
	kernelData(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(Dir); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseOfTheKernel(b *testing.B) {
	data := kernelData(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(data, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFindOfAFunctionThatIsNotThere(b *testing.B) {
	s := kernelSpec(b)
	b.ReportAllocs()
	for b.Loop() {
		for range s.Find(Func, "vfs_reed") {
			b.Fatal("found")
		}
	}
}

func BenchmarkFieldOfTaskStruct(b *testing.B) {
	s := kernelSpec(b)
	for task := range s.Find(Struct, "task_struct") {
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := task.Field("thread"); !ok {
				b.Fatal("not found")
			}
		}
		return
	}
}
