package rehearsal

import (
	"net/http"
	"net/http/httptest"
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

// TestWriteOf: what changes nothing is no step, and leases and events go on while nothing happens to machines.
func TestWriteOf(t *testing.T) {
	for _, test := range []struct{ method, path, want string }{
		{"PATCH", "/apis/machine.sapcloud.io/v1alpha1/namespaces/default/machines/m/status", "PATCH machines/m/status"},
		{"POST", "/api/v1/namespaces/kube-system/secrets", "POST secrets"},
		{"PATCH", "/api/v1/nodes/n", "PATCH nodes/n"},
		{"DELETE", "/api/v1/namespaces/n", "DELETE namespaces/n"},
		{"GET", "/api/v1/nodes/n", ""},
		{"PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/l", ""},
		{"POST", "/api/v1/namespaces/default/events", ""},
		{"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", ""},
	} {
		if got := writeOf(httptest.NewRequest(test.method, test.path, http.NoBody)); got != test.want {
			t.Errorf("%s %s is %q, want %q", test.method, test.path, got, test.want)
		}
	}
}
