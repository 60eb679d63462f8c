package io

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/testkit/tabletest"
	"github.com/ringtap/ringtap/perfevent"
)

// tracefs is one with these tracepoints, SYSTEM/EVENT.
func tracefs(t *testing.T, events ...string) *ftrace.FS {
	t.Helper()
	dir := t.TempDir()
	for _, event := range events {
		at := filepath.Join(dir, "events", event)
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		text := "name: " + filepath.Base(event) + "\nID: 7\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\tfield:long ret;\toffset:8;\tsize:8;\tsigned:1;\n\nprint fmt: \"%ld\", REC->ret\n"
		if err := os.WriteFile(filepath.Join(at, "format"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return ftrace.At(dir)
}

func TestTheFormatsAreThoseThatTheKernelHas(t *testing.T) {
	calls := []string{"raw_syscalls/sys_enter", "raw_syscalls/sys_exit"}
	for _, test := range []struct {
		name             string
		more             []string
		messages, uring  bool
		submission, fail string
	}{
		{name: "Linux 6.12", more: []string{"sock/sock_send_length", "sock/sock_recv_length", "io_uring/io_uring_submit_req", "io_uring/io_uring_complete"},
			messages: true, uring: true, submission: "io_uring_submit_req"},
		{name: "Linux 6.3", more: []string{"sock/sock_send_length", "sock/sock_recv_length", "io_uring/io_uring_submit_sqe", "io_uring/io_uring_complete"},
			messages: true, uring: true, submission: "io_uring_submit_sqe"},
		{name: "Linux 6.1", more: []string{"io_uring/io_uring_submit_sqe", "io_uring/io_uring_complete"}, uring: true, submission: "io_uring_submit_sqe"},
		{name: "without io_uring"},
	} {
		got, err := ReadFormats(tracefs(t, append(calls, test.more...)...))
		if err != nil || got.Enter == nil || got.Exit == nil || (got.received != nil) != test.messages || (got.Complete != nil) != test.uring {
			t.Errorf("%s: %+v, %v", test.name, got, err)
		} else if test.uring && got.Submit.Name != test.submission {
			t.Errorf("%s: submissions are %s", test.name, got.Submit.Name)
		}
	}
	if _, err := ReadFormats(tracefs(t, calls[0])); err == nil {
		t.Error("a kernel without the ends of system calls is taken")
	}
}

func TestAnOpeningCallTellsItsPathOnce(t *testing.T) {
	format := tabletest.Format("dfd", printfmt.SyscallText("filename"), printfmt.SyscallTextLate("filename"))
	source := &probe.Source{Format: format, Record: func(dst []byte, s *perfevent.Sample) []byte { return append(dst, s.Raw...) }}
	o := &opens{first: 2, opening: make(map[uint32]opened), calls: []openCall{{source: source, path: "filename"}}}
	record := func(path string, late byte) *perfevent.Sample {
		raw := append([]byte{5, 0, 0, 0, 0, 0, 0, 0}, path...)
		return &perfevent.Sample{Header: perfevent.Header{TID: 9}, Raw: append(raw, late, 0, 0, 0, 0, 0, 0, 0)}
	}
	o.open(2, record("file.txt", 1))
	if open, ok := o.take(9); !ok || open != (opened{dir: 5, path: "file.txt", late: true}) {
		t.Errorf("opened %+v, %t", open, ok)
	}
	if _, ok := o.take(9); ok {
		t.Error("a path is told twice")
	}
	if o.open(2, record("\x01\x02\x03\x04\x05\x06\x07\x08", 1)); len(o.opening) > 0 {
		t.Error("what is no text is a path")
	}
	if o.open(2, record("\x01\x02\x03\x04\x05\x06\x07\x08", 0)); len(o.opening) != 1 {
		t.Error("a path that the kernel itself has read is none")
	}
}
