package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// at is a number of milliseconds after noon.
func at(ms int) time.Time { return noon.Add(time.Duration(ms) * time.Millisecond) }

// line is a line of the audit log as the API server writes it. The request was answered ms
// after noon, and took one millisecond.
func line(ms int, agent, verb, resource, name string, code int) string {
	resource, sub, _ := strings.Cut(resource, "/")
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":"ResponseComplete","verb":%q,`+
		`"user":{"username":"u"},"userAgent":%q,"objectRef":{"resource":%q,"namespace":"default","name":%q,"subresource":%q},`+
		`"responseStatus":{"metadata":{},"code":%d},"requestReceivedTimestamp":%q,"stageTimestamp":%q}`,
		verb, agent, resource, name, sub, code, at(ms-1).Format(time.RFC3339Nano), at(ms).Format(time.RFC3339Nano)) + "\n"
}

// logOf is an audit log on disk, with a function that appends to it.
func logOf(t *testing.T) (*auditLog, func(string)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.log")
	grow := func(text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	grow("")
	return &auditLog{path: path}, grow
}

func TestAuditLogKeepsWrites(t *testing.T) {
	cases := []struct {
		reason string
		line   string
		want   []write
	}{
		{
			"a write of an object", line(5, "machine-controller-manager/v0", "create", "machines", "m", 201),
			[]write{{Asked: at(4), Done: at(5), Verb: "create", Agent: "machine-controller-manager/v0", Resource: "machines", Name: "m", Code: 201}},
		},
		{
			"a write of a part is told from one of the whole", line(5, "kwok/v0", "patch", "nodes/status", "n", 200),
			[]write{{Asked: at(4), Done: at(5), Verb: "patch", Agent: "kwok/v0", Resource: "nodes/status", Name: "n", Code: 200}},
		},
		{
			"a refused write is kept with its code", line(5, "a/v0", "patch", "nodes", "n", 409),
			[]write{{Asked: at(4), Done: at(5), Verb: "patch", Agent: "a/v0", Resource: "nodes", Name: "n", Code: 409}},
		},
		{"reading is no write", line(5, "a/v0", "get", "machines", "m", 200), nil},
		{"nor is listing", line(5, "a/v0", "list", "machines", "", 200), nil},
		{"nor is watching", line(5, "a/v0", "watch", "machines", "", 200), nil},
		{"leases are nobody's work", line(5, "a/v0", "update", "leases", "l", 200), nil},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			log, grow := logOf(t)
			grow(c.line)
			if err := log.read(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, log.writes); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAuditLogGrowsWhileItIsRead(t *testing.T) {
	log, grow := logOf(t)
	first, second := line(1, "a/v0", "create", "machines", "first", 201), line(2, "a/v0", "create", "machines", "second", 201)
	for i, step := range []struct {
		text string
		want int
	}{{first + second[:40], 1}, {"", 1}, {second[40:], 2}, {first, 3}} {
		grow(step.text)
		if err := log.read(); err != nil {
			t.Fatal(err)
		}
		if len(log.writes) != step.want {
			t.Errorf("after step %d: %d writes, want %d", i, len(log.writes), step.want)
		}
	}
	if got := log.last().Name; got != "first" {
		t.Errorf("the last write is of %q, want first", got)
	}
	if got := log.since(at(2)); len(got) != 1 || got[0].Name != "second" {
		t.Errorf("since the second: %v, want that alone", got)
	}
}

// lease is a line about a lease in the namespace.
func lease(verb, namespace string, code int) string {
	return strings.Replace(line(1, "kwok/v0", verb, "leases", "n", code), `"namespace":"default"`, fmt.Sprintf(`"namespace":%q`, namespace), 1)
}

func TestAuditLogCountsRenewedLeasesOfNodes(t *testing.T) {
	for _, c := range []struct {
		reason, line string
		want         int
	}{
		{"renewed", lease("update", "kube-node-lease", 200), 1},
		{"renewed by a patch", lease("patch", "kube-node-lease", 200), 1},
		{"made", lease("create", "kube-node-lease", 201), 0},
		{"refused", lease("update", "kube-node-lease", 409), 0},
		{"looked at", lease("get", "kube-node-lease", 200), 0},
		{"a leader's", lease("update", "kube-system", 200), 0},
		{"another object of that namespace", strings.Replace(lease("update", "kube-node-lease", 200), "leases", "secrets", 1), 0},
	} {
		log, grow := logOf(t)
		grow(c.line)
		if err := log.read(); err != nil {
			t.Fatal(err)
		}
		if log.renewals != c.want {
			t.Errorf("%s: %d renewals, want %d", c.reason, log.renewals, c.want)
		}
	}
}

func TestAuditLogSaysWhatIsWrong(t *testing.T) {
	log, grow := logOf(t)
	grow("{\"verb\":\"create\"\n")
	if err := log.read(); err == nil {
		t.Error("a damaged line was read without an error")
	}
	log.path += ".missing"
	if err := log.read(); err == nil {
		t.Error("a missing log was read without an error")
	}
	if got := (&auditLog{}).last(); got != (write{}) {
		t.Errorf("the last of no writes is %v", got)
	}
}

func TestWriteIs(t *testing.T) {
	w := write{Verb: "patch", Resource: "machines/status", Agent: "machine-controller-kubemark/v0.1", Code: 200}
	cases := []struct {
		reason string
		got    bool
		want   bool
	}{
		{"its own kind", w.is("patch machines/status"), true},
		{"one of several kinds", w.is("delete nodes", "patch machines/status"), true},
		{"the whole is another kind than a part", w.is("patch machines"), false},
		{"refused is not written", write{Verb: "patch", Resource: "nodes", Code: 409}.is("patch nodes"), false},
		{"its own program", w.by("machine-controller-kubemark"), true},
		{"a program whose name begins alike", w.by("machine-controller"), false},
	}
	for _, c := range cases {
		if c.got != c.want {
			t.Errorf("%s: %t, want %t", c.reason, c.got, c.want)
		}
	}
}
