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

// maxWrites is how often a program may write one kind of object while it takes over the four machines of this fleet.
const maxWrites = 8

// audited is how long the log of requests is now.
func (h *machine) audited(t *testing.T) int64 {
	t.Helper()
	info, err := os.Stat(h.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// writes counts what our programs wrote since, by account and kind. Leases are written as long as somebody leads.
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
			continue // the last line may be half written
		}
		who, ours := strings.CutPrefix(e.User.Username, account)
		switch {
		case !ours, e.Verb == "get", e.Verb == "list", e.Verb == "watch", e.ObjectRef.Resource == "leases":
		case e.ObjectRef.APIGroup == "authentication.k8s.io", e.ObjectRef.APIGroup == "authorization.k8s.io": // questions
		default:
			counts[strings.Join([]string{who, e.Verb, e.ObjectRef.Resource, e.ObjectRef.Subresource}, " ")]++
		}
	}
	return counts
}

// allowed looks for what the programs asked for without having the right.
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
