package main

import (
	"runtime/debug"
	"testing"
)

func TestTheCommitIsThatOfTheBuild(t *testing.T) {
	for _, test := range []struct {
		settings map[string]string
		want     string
	}{
		{nil, ""},
		{map[string]string{"vcs.revision": "81fd96d"}, "81fd96d"},
		{map[string]string{"vcs.revision": "81fd96d", "vcs.time": "2026-11-22T10:53:55Z", "vcs.modified": "false"}, "81fd96d of 2026-11-22T10:53:55Z"},
		{map[string]string{"vcs.revision": "81fd96d", "vcs.modified": "true"}, "81fd96d, with local changes"},
	} {
		var info debug.BuildInfo
		for key, value := range test.settings {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: key, Value: value})
		}
		if got := commitOf(&info); got != test.want {
			t.Errorf("%v: %q, want %q", test.settings, got, test.want)
		}
	}
}
