package placement

import (
	"path/filepath"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

const goSource = `package main

import ("fmt"; "os"; "strconv")

//go:noinline
func Small(a, b int) int { return len(fmt.Sprint(a, b)) }

//go:noinline
func Medium(a int) int { var buf [1000]byte; buf[a] = 1; return Use(buf[:]) }

//go:noinline
func Large(a int) int { var buf [100000]byte; buf[a] = 1; return Use(buf[:2000]) }

//go:noinline
func Use(b []byte) int { n := 0; for _, c := range b { n += int(c) + len(strconv.Itoa(int(c))) }; return n }

//go:noinline
func Deep(n int) int { var pad [64]byte; if n == 0 { return int(pad[n]) }; return Deep(n-1) + 1 }

func main() {
	if len(os.Args) > 1 {
		var b [1]byte
		os.Stdin.Read(b[:])
		times, _ := strconv.Atoi(os.Args[1])
		for range times {
			done := make(chan int)
			go func() { done <- Deep(1000) + Small(1, 2) + Medium(3) + Large(4) }() // on a new, small stack
			<-done
		}
	}
}
`

// goProgram builds the program and returns its path, which is shared.
func goProgram(t testing.TB, arch string) string {
	t.Helper()
	dir := compiled.Recipe{
		Sources:  map[string]string{"main.go": goSource},
		Commands: [][]string{{"go", "build", "-o", "go", "main.go"}},
		Env:      []string{"GOARCH=" + arch, "CGO_ENABLED=0"},
	}.Dir(t)
	return filepath.Join(dir, "go")
}
