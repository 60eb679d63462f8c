package main

import (
	"strings"
	"testing"
)

func TestManyProbesHaveAQuickerCommand(t *testing.T) {
	for _, test := range []struct {
		about, definition, filter string
		sites                     int
		user, want                bool
	}{
		{about: "a thousand entries", definition: "p:*read*", sites: 1000, want: true},
		{about: "a few", definition: "p:vfs_*", sites: 60},
		{about: "returns", definition: "r:*read*", sites: 1000},
		{about: "arguments", definition: "p:*read* $arg1", sites: 1000},
		{about: "a filter", definition: "p:*read*", filter: "common_pid == 1", sites: 1000},
		{about: "user stacks", definition: "p:*read*", sites: 1000, user: true},
	} {
		got := quicker(test.definition, test.sites, test.filter, test.user)
		if strings.Contains(got, "functrace '*read*'") != test.want {
			t.Errorf("%s: %q", test.about, got)
		}
	}
}
