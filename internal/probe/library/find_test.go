package library

import (
	"debug/elf"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/internal/host/openfile"
)

// cachedRoot is a root directory with the libraries of testdata's caches.
func cachedRoot(t *testing.T, form string) string {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("the caches of testdata are for amd64")
	}
	root := t.TempDir()
	for _, path := range []string{
		"usr/lib/libone.so.1", "usr/lib/glibc-hwcaps/x86-64-v2/libone.so.1", "usr/lib/glibc-hwcaps/x86-64-v3/libone.so.1",
		"opt/a/libtwo.so.1", "opt/b/libtwo.so.1", "opt/b/libtwo.so.2",
	} {
		linkLibrary(t, filepath.Join(root, path), filepath.Base(path))
	}
	copyFile(t, "testdata/cache-"+form, filepath.Join(root, "etc/ld.so.cache"))
	return root
}

func TestALibraryIsTheOneOfTheCacheThatIsLoaded(t *testing.T) {
	for _, form := range []string{"compat", "new"} {
		root := cachedRoot(t, form)
		best := "usr/lib/libone.so.1"
		for _, level := range levelsOf(elf.EM_X86_64) {
			// The loader can't read the levels in the compatible form.
			if dir := "usr/lib/glibc-hwcaps/" + level; form == "new" && exists(filepath.Join(root, dir)) {
				best = dir + "/libone.so.1"
				break
			}
		}
		for name, want := range map[string]string{
			"libone": best, "libone.so.1": best, "libtwo.so.1": "opt/a/libtwo.so.1", "libtwo.so.2": "opt/b/libtwo.so.2",
		} {
			target, err := Find(name, Options{root: root})
			checkTarget(t, form+" "+name, target, err, filepath.Join(root, want))
		}
		_, err := Find("libtwo", Options{root: root})
		var ambiguous *AmbiguousError
		if !errors.As(err, &ambiguous) || len(ambiguous.paths) != 2 || !strings.Contains(err.Error(), "/opt/b/libtwo.so.2") {
			t.Errorf("%s libtwo: %v; want it ambiguous", form, err)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestTwoNamesOfOneFileAreNotAmbiguous(t *testing.T) {
	root := cachedRoot(t, "new")
	must(t, os.Remove(filepath.Join(root, "opt/b/libtwo.so.2")))
	must(t, os.Symlink("../a/libtwo.so.1", filepath.Join(root, "opt/b/libtwo.so.2")))
	target, err := Find("libtwo", Options{root: root})
	checkTarget(t, "libtwo", target, err, filepath.Join(root, "opt/a/libtwo.so.1"))
}

func TestAFileWithAnotherNameThanItsOwnGivesWay(t *testing.T) {
	root := cachedRoot(t, "new")
	linkLibrary(t, filepath.Join(root, "opt/b/libtwo.so.2"), "libtwo.so.2.5")
	target, err := Find("libtwo", Options{root: root})
	checkTarget(t, "libtwo", target, err, filepath.Join(root, "opt/a/libtwo.so.1"))
}

func TestALibraryOfAnotherMachineIsPassedOver(t *testing.T) {
	root := cachedRoot(t, "new")
	first := filepath.Join(root, "opt/a/libtwo.so.1")
	patch(t, first, 18, 0xb7) // e_machine becomes EM_AARCH64
	target, err := Find("libtwo.so.1", Options{root: root})
	checkTarget(t, "libtwo.so.1", target, err, filepath.Join(root, "opt/b/libtwo.so.1"))
	patch(t, filepath.Join(root, "opt/b/libtwo.so.1"), 4, 1) // a 32-bit class
	var none *NotFoundError
	if _, err := Find("libtwo.so.1", Options{root: root}); !errors.As(err, &none) {
		t.Errorf("of other machines only: %v; want not found", err)
	}
	writeFile(t, filepath.Join(root, "opt/a/libtwo.so.1"), "/* GNU ld script */", 0o644)
	if _, err := Find("libtwo.so.1", Options{root: root}); !errors.As(err, &none) {
		t.Errorf("a linker script: %v; want not found", err)
	}
}

func patch(t *testing.T, path string, at int64, b byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()
	_, err = f.WriteAt([]byte{b}, at)
	must(t, err)
}

func TestWithoutACacheTheLoadersDirectoriesAreSearched(t *testing.T) {
	arch, _ := archName(arch.Here.ELF)
	root := t.TempDir()
	in := func(path string) string { return filepath.Join(root, path) }
	linkLibrary(t, in("lib/ld-musl-"+arch+".so.1"), "libc.musl-"+arch+".so.1")
	must(t, os.Symlink("ld-musl-"+arch+".so.1", in("lib/libc.musl-"+arch+".so.1")))
	linkLibrary(t, in("opt/own/libown.so.1.2"), "libown.so.1")
	must(t, os.Symlink("libown.so.1.2", in("opt/own/libown.so.1")))
	linkLibrary(t, in("opt/own/libown.so.1.1"), "libown.so.0")
	writeFile(t, in("etc/ld-musl-"+arch+".path"), "/lib:/usr/lib\n/opt/own\n", 0o644)
	linkLibrary(t, in("usr/lib/"+arch+"-linux-gnu/libdeb.so.1"), "libdeb.so.1")
	linkLibrary(t, in("usr/lib64/libhat.so.1"), "libhat.so.1")
	for name, want := range map[string]string{
		"libc": "lib/ld-musl-" + arch + ".so.1", "libown": "opt/own/libown.so.1.2", "libown.so.1": "opt/own/libown.so.1.2",
		"libdeb": "usr/lib/" + arch + "-linux-gnu/libdeb.so.1", "libhat": "usr/lib64/libhat.so.1",
	} {
		target, err := Find(name, Options{root: root})
		checkTarget(t, name, target, err, in(want))
	}
}

func TestACommandComesBeforeALibrary(t *testing.T) {
	root := t.TempDir()
	linkLibrary(t, filepath.Join(root, "lib/tool.so.1"), "tool.so.1")
	target, err := Find("tool", Options{root: root})
	checkTarget(t, "the library alone", target, err, filepath.Join(root, "lib/tool.so.1"))

	t.Setenv("PATH", ".:/plain:/dir:/bin")
	writeFile(t, filepath.Join(root, "plain/tool"), "not executable", 0o644)
	must(t, os.MkdirAll(filepath.Join(root, "dir/tool"), 0o755))
	writeFile(t, filepath.Join(root, "bin/tool"), "executable", 0o755)
	target, err = Find("tool", Options{root: root})
	checkTarget(t, "both", target, err, filepath.Join(root, "bin/tool"))
}

func TestAScriptIsNamedAsSuch(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	tests := []struct{ line, interpreter string }{
		{"#!/bin/sh\n", "/bin/sh"},
		{"#! /usr/bin/perl -w\n", "/usr/bin/perl"},
		{"#!/usr/bin/env python3\nimport os\n", "python3"},
		{"#!/usr/bin/env -S A=1 node --x", "node"},
		{"#!\n", "an interpreter"},
	}
	for _, test := range tests {
		writeFile(t, filepath.Join(dir, "wrapper"), test.line, 0o755)
		for _, name := range []string{"wrapper", filepath.Join(dir, "wrapper")} {
			_, err := Find(name, Options{})
			var script *ScriptError
			if !errors.As(err, &script) || script.Interpreter != test.interpreter || script.path != filepath.Join(dir, "wrapper") {
				t.Errorf("%q as %s: %v; want a script of %s", test.line, name, err, test.interpreter)
			}
		}
	}
}

func TestAPathIsSeenFromWhereItIsSaid(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	writeFile(t, filepath.Join(dir, "sub/prog"), "host", 0o644)
	root := filepath.Join(dir, "root")
	writeFile(t, filepath.Join(root, "sub/prog"), "root", 0o644)
	writeFile(t, filepath.Join(root, dir, "sub/prog"), "root below our directory", 0o644)
	must(t, os.Symlink("/sub/prog", filepath.Join(root, "sub/link")))
	must(t, os.Symlink("../../../../../../../.."+dir+"/sub/secret", filepath.Join(root, "sub/out")))
	writeFile(t, filepath.Join(dir, "sub/secret"), "host", 0o644)
	tests := []struct{ name, root, want string }{
		{"sub/prog", "", "sub/prog"},
		{"./sub/prog", "/", "sub/prog"},
		{dir + "/sub/../sub/prog", "", "sub/prog"},
		{"/sub/prog", root, "root/sub/prog"},
		{"/sub/link", root, "root/sub/prog"},
		{"/../sub/prog", root, "root/sub/prog"},
		{"sub/prog", root, "root" + dir + "/sub/prog"},
		{"/proc/self/root" + dir + "/sub/prog", root, "sub/prog"},
		{"/proc/self/root" + dir + "/sub/prog", "", "sub/prog"},
	}
	for _, test := range tests {
		target, err := Find(test.name, Options{root: test.root})
		checkTarget(t, test.name+" in "+test.root, target, err, filepath.Join(dir, test.want))
	}
	for _, name := range []string{"/sub/out", "/sub/none", "/proc/self/root/../sub/none"} {
		if target, err := Find(name, Options{root: root}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %+v, %v; want that it does not exist", name, target, err)
		}
	}
}

func TestOnlyRegularFilesAreTargets(t *testing.T) {
	dir := t.TempDir()
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644))
	for _, name := range []string{dir, filepath.Join(dir, "fifo"), "/dev/null", "/"} {
		_, err := Find(name, Options{})
		var path *fs.PathError
		if !errors.As(err, &path) || !errors.Is(err, openfile.ErrNotRegular) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"", strings.Repeat("x", 10000), "/" + strings.Repeat("x", 10000), "..", "\x1b[2J"} {
		_, err := Find(name, Options{})
		if err == nil || strings.ContainsAny(err.Error(), "\x1b\n") || len(err.Error()) > 1000 {
			t.Errorf("%.20q…: %v", name, err)
		}
	}
}

func TestAMissingNameBringsItsNeighbours(t *testing.T) {
	root := t.TempDir()
	t.Setenv("PATH", "/bin")
	for _, command := range []string{"mysqld", "mysql", "postgres", "ls", "aerver", "servex"} {
		writeFile(t, filepath.Join(root, "bin", command), "", 0o755)
	}
	tests := []struct {
		name string
		want []string
	}{
		{"mysqldd", []string{"mysqld", "mysql"}}, {"postgre", []string{"postgres"}}, {"postgers", []string{"postgres"}},
		{"server", []string{"servex", "aerver"}}, {"zz", nil}, {"nothing-like-it", nil},
	}
	for _, test := range tests {
		_, err := Find(test.name, Options{root: root})
		var none *NotFoundError
		if !errors.As(err, &none) || !slices.Equal(none.near, test.want) {
			t.Errorf("%s: %v; want %q near", test.name, err, test.want)
		}
	}
}

func TestTheKernelsPathIsOneWordThatLeadsToTheFile(t *testing.T) {
	dir := t.TempDir()
	for name, plain := range map[string]bool{
		"plain": true, "libstdc++.so.6": true, "a(b)": true, "größe": true, "two words": false, "tab\there": false, "line\nend": false,
		"co:lon": false, "has#hash": false, "à": false, "esc\x1b[0m": false, strings.Repeat(strings.Repeat("d", 21)+"/", 100) + "deep": false,
	} {
		path := filepath.Join(dir, name)
		writeFile(t, path, name, 0o644)
		target, err := Find(path, Options{})
		checkTarget(t, name, target, err, path)
		if err == nil && (target.KernelPath == path) != plain {
			t.Errorf("%q: the kernel's path is %q", name, target.KernelPath)
		}
		if err == nil && strings.ContainsAny(target.KernelPath, " \t\n#à") {
			t.Errorf("%q: %q is not one word", name, target.KernelPath)
		}
	}
}
