package atsample

import "testing"

func TestRequestsAreDecoded(t *testing.T) {
	for _, want := range []request{{kind: reqAttach, pid: 1}, {kind: reqMarkEnd, pid: 1 << 21, addr: 1 << 47}, {kind: reqMarkDead, pid: 3, addr: 1 << 46, end: 1 << 47}} {
		if got, ok := decodeRequest(want.encode()); got != want || !ok {
			t.Errorf("%+v %t, want %+v", got, ok, want)
		}
	}
	if _, ok := decodeRequest([]byte{reqAttach}); ok {
		t.Error("a request without a PID is decoded")
	}
}
