package read

import (
	"errors"
	"strings"
	"testing"
)

// small is the fields of a profile in JSON, which tests replace.
var small = []struct{ key, value string }{
	{"schema", `"ringtap-profile"`},
	{"version", `2`},
	{"metrics", `[{"name":"n","type":"t","unit":"counts","scale":1}]`},
	{"objects", `[{"path":"/bin/a"}]`},
	{"frames", `[{"object":0,"address":"0x10","name":"f"}]`},
	{"stacks", `[{"frames":[0]}]`},
	{"processes", `[{"pid":1,"nspid":1,"tgid":1,"comm":"a"}]`},
	{"rows", `[{"process":0,"user":0,"kernel":-1,"values":[3]}]`},
	{"accounts", `[{"event":"e","received":3}]`},
	{"notes", `["note"]`},
}

func smallJSON(key, value string) string {
	var fields []string
	for _, f := range small {
		if f.key == key {
			f.value = value
		}
		fields = append(fields, `"`+f.key+`": `+f.value)
	}
	return "{" + strings.Join(fields, ",\n") + "}"
}

func TestJSONOfOtherWriters(t *testing.T) {
	backwards := []string{}
	for _, f := range small {
		backwards = append([]string{`"` + f.key + `":` + f.value}, backwards...)
	}
	for name, text := range map[string]string{
		"indented":        "\n " + smallJSON("", ""),
		"keys in reverse": "{" + strings.Join(backwards, ",") + "}",
		"unknown fields":  strings.Replace(smallJSON("", ""), "{", `{"new":{"a":[1,{}]},`, 1),
	} {
		if got := foldedText(t, read(t, []byte(text)), ""); got != "a;f 3\n" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestBadJSONIsAnError(t *testing.T) {
	for _, tt := range []struct{ key, value, want string }{
		{"version", "3", "the JSON is of version 3: this ringtap reads version 2"},
		{"metrics", "[]", "row 0 has 1 values for 0 metrics"},
		{"metrics", `[{"name":"n","unit":"percent"}]`, "no metric that can be added up"},
		{"metrics", "7", "want a list, not 7"},
		{"metrics", `[{}]`, "a metric has no name"},
		{"frames", `[{"object":1,"address":"0x10"}]`, "frame 0 is in object 1 of 1"},
		{"frames", `[{"object":-1,"address":"0x10"}]`, "frame 0 is in object -1 of 1"},
		{"frames", `[{"object":0,"address":"10"}]`, `a frame's address is "10"`},
		{"stacks", `[{"frames":[1]}]`, "stack 0 holds frame 1 of 1"},
		{"stacks", `[{}]`, "a stack has no frames"},
		{"rows", `[{"process":1,"user":0,"kernel":-1,"values":[3]}]`, "row 0 is of process 1 of 1"},
		{"rows", `[{"process":0,"user":1,"kernel":-1,"values":[3]}]`, "row 0 has stack 1 of 1"},
		{"rows", `[{"process":0,"user":-2,"kernel":-1,"values":[3]}]`, "row 0 has stack -2 of 1"},
		{"rows", `[{"process":0,"user":0,"kernel":-1,"values":[3,4]}]`, "row 0 has 2 values for 1 metrics"},
		{"rows", `[{"process":0,"user":0,"kernel":-1,"values":[-3]}]`, "JSON, byte "},
		{"rows", `[{"process":0,"user":0,"values":[3]}]`, "a row has no process, stacks or values"},
		{"processes", `[{}]`, "a process has no pid"},
		{"accounts", `[{}]`, "an account has no event"},
		{"notes", `[], "notes": []`, "a field is there twice"},
		{"notes", `["`, "unexpected EOF"},
	} {
		_, err := Profile("p", strings.NewReader(smallJSON(tt.key, tt.value)))
		if err == nil || !strings.Contains(err.Error(), tt.want) || errors.As(err, new(*UnknownError)) {
			t.Errorf("%s %s: %v, want %s", tt.key, tt.value, err, tt.want)
		}
	}
}
