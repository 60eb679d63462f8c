package main

import (
	"encoding/gob"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/dev/vmrun/wire"
)

func TestWhatAGuestSaysIsHandedOnUntilItHangs(t *testing.T) {
	for _, test := range []struct {
		name string
		says []wire.FromGuest
		end  bool // the connection ends, as with the guest
		up   bool
		want string // of the error
	}{
		{"it is done", []wire.FromGuest{{Kind: wire.Up}, {Kind: wire.Output}, {Kind: wire.Exit}}, false, true, ""},
		{"it hangs", []wire.FromGuest{{Kind: wire.Up}, {Kind: wire.Output}}, false, true, "hangs"},
		{"it dies", []wire.FromGuest{{Kind: wire.Up}}, true, true, "ended before it was done"},
		{"it dies while it boots", nil, true, false, "ended before it was done"},
		{"it can't do what it is told", []wire.FromGuest{{Kind: wire.Broken, Text: "no port"}}, false, false, "in the guest: no port"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "control")
			listener, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			conn, err := net.Dial("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			messages := gob.NewEncoder(conn)
			for _, m := range test.says {
				if err := messages.Encode(m); err != nil {
					t.Fatal(err)
				}
			}
			if test.end {
				conn.Close()
			}
			up, handled := false, 0
			silence := time.Minute
			if test.want == "hangs" {
				silence = time.Second
			}
			err = converse(listener, time.Minute, silence, func() { up = true }, nil, func(m wire.FromGuest) (bool, error) {
				handled++
				return m.Kind == wire.Exit, nil
			})
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if wanted := max(0, len(test.says)-1); up != test.up || handled != wanted {
				t.Errorf("up: %t, %d messages handed on; want %t, %d", up, handled, test.up, wanted)
			}
		})
	}
}

func TestAGuestHasRoomForItsFilesOrIsNotBooted(t *testing.T) {
	for _, test := range []struct {
		name          string
		files, memory int // MiB
		want          int
		wantErr       string
	}{
		{"room", 400, 1536, 1536, ""},
		{"no size", 400, 0, 1350 + 1024, ""},
		{"too little", 1022, 3072, 3072, "needs --memory 3245"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := &guest{initrd: filepath.Join(t.TempDir(), "initrd"), pages: int64(test.files) << 20 / pageSize, memory: test.memory}
			if err := os.WriteFile(g.initrd, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(g.initrd, int64(test.files)<<20); err != nil {
				t.Fatal(err)
			}
			err := g.sizeMemory()
			if g.memory != test.want || (err == nil) != (test.wantErr == "") || err != nil && !strings.Contains(err.Error(), test.wantErr) {
				t.Errorf("%d MiB, error %v; want %d, %q", g.memory, err, test.want, test.wantErr)
			}
		})
	}
}
