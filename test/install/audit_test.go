package install

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/internal/verify/rights"
)

// maxWrites is the maximum number of writes of a program to one kind of object while it takes over the four machines of this
// fleet.
const maxWrites = 8

// audited returns the present length of the audit log.
func (h *machine) audited(t *testing.T) int64 {
	t.Helper()
	info, err := os.Stat(h.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// writes counts the writes of our programs since a position, by account and kind. A leader always writes its lease.
func (h *installation) writes(t *testing.T, from int64) map[string]int {
	t.Helper()
	log, err := os.Open(h.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	if _, err := log.Seek(from, 0); err != nil {
		t.Fatal(err)
	}
	account := "system:serviceaccount:" + h.namespace + ":"
	counts := map[string]int{}
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			Verb      string
			User      struct{ Username string }
			ObjectRef struct{ Resource, Subresource, APIGroup string }
		}
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue // the last line may be incomplete
		}
		who, ours := strings.CutPrefix(e.User.Username, account)
		switch {
		case !ours, e.Verb == "get", e.Verb == "list", e.Verb == "watch", e.ObjectRef.Resource == "leases":
		case e.ObjectRef.APIGroup == "authentication.k8s.io", e.ObjectRef.APIGroup == "authorization.k8s.io": // access reviews
		default:
			counts[strings.Join([]string{who, e.Verb, e.ObjectRef.Resource, e.ObjectRef.Subresource}, " ")]++
		}
	}
	return counts
}

// allowed finds requests of the programs that were forbidden.
func (h *installation) allowed(t *testing.T) {
	t.Helper()
	log, err := os.Open(h.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	if _, err := log.Seek(h.from, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	ledger := rights.NewLedger(nil)
	if err := rights.Read(log, ledger.Add); err != nil {
		t.Fatal(err)
	}
	for _, refused := range ledger.Refused(rights.Denied) {
		t.Errorf("roles that are shipped lack a right: %s", refused)
	}
}
