package rehearsal

import (
	"strings"
	"testing"
	"time"
)

// TestBroken: the story could not fail if what it counts were never found wrong.
func TestBroken(t *testing.T) {
	of := func(uid, id string, ended bool) instance {
		i := instance{ID: id, Name: "m-" + id, Tags: map[string]string{"cloud.example.com/machine-uid": uid}, Since: time.Unix(1, 0)}
		if ended {
			i.Ended = time.Unix(2, 0)
		}
		return i
	}
	for _, test := range []struct {
		reason string
		lives  []instance
		want   string
	}{
		{"each machine had one", []instance{of("u1", "a", true), of("u2", "b", false), of("u3", "foreign", false)}, ""},
		{"two at a time", []instance{of("u1", "a", false), of("u1", "b", false)}, "machine u1 had two instances: a"},
		{"one after the other", []instance{of("u1", "a", true), of("u2", "b", false), of("u1", "c", true)}, "machine u1 had two instances: a"},
		{"twice under one ID, as where IDs are names", []instance{of("u1", "a", true), of("u1", "a", false)}, "machine u1 had two instances: a"},
		{"what is another cluster's was ended", []instance{of("u3", "foreign", true)}, "m-foreign of another cluster ended"},
		{"nobody can tell whose one is", []instance{{ID: "a"}}, "instance a () does not say whose it is"},
	} {
		got := broken(test.lives, map[string]bool{"foreign": true})
		if (got == "") != (test.want == "") || !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %q, want %q", test.reason, got, test.want)
		}
	}
}
