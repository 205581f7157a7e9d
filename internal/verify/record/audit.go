package record

import (
	_ "embed" // the policy
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/millwright-dev/millwright/internal/verify/checker"
)

// Census is the user that lists all objects after a restore of etcd. The audit log has its lists with their objects.
const Census = "millwright-census"

//go:embed audit.yaml
var auditPolicy []byte

// AuditLog returns the file of the audit log in a folder.
func AuditLog(dir string) string { return filepath.Join(dir, "audit.log") }

// Audit writes a policy into the folder and returns the arguments of the API server. The API server then logs to [AuditLog] each
// write of machines, their owners, nodes and pods, with its answer.
func Audit(dir string) (args []string, err error) {
	policy := filepath.Join(dir, "audit.yaml")
	if err := os.WriteFile(policy, auditPolicy, 0o600); err != nil {
		return nil, fmt.Errorf("write the audit policy: %w", err)
	}
	return []string{
		"--audit-policy-file=" + policy, "--audit-log-path=" + AuditLog(dir), "--audit-log-mode=blocking", "--audit-log-maxsize=10000",
	}, nil
}

// Writes reads the audit log in a folder.
func Writes(dir string) ([]checker.Event, error) {
	file, err := os.Open(AuditLog(dir))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return checker.ParseAudit(file)
}

// promises are the checker's statements about drains, hooks and bounds, which need an audit log.
var promises = []string{"drain-first", "hooks", "wanted-stays", "held-first", "node-last", "released-last", "set-bound", "surge", "unavailable"}

// Judged is the result of [Promises].
type Judged struct {
	// Table is for people.
	Table string
	// Broken are the violations. A promise for which the checker accepts a falsified record is one, too.
	Broken []string
	// Unproven are the promises for which the run has no occasion to falsify its record: it says nothing about them.
	Unproven []string
}

// Promises judges drains, hooks and bounds by the events of a run and the audit log of a folder. Statements in except are not judged.
func Promises(run checker.Run, dir string, except ...string) (j Judged, err error) {
	writes, err := Writes(dir)
	if err != nil {
		return j, err
	}
	run.Events = slices.Concat(run.Events, writes)
	names := slices.DeleteFunc(slices.Clone(promises), func(name string) bool { return slices.Contains(except, name) })
	proofs := checker.Prove(run, names...)
	for n, v := range checker.Judge(run, names...) {
		j.Table += fmt.Sprintf("%-14s judged %d times, broken %d times, a falsified record is %s\n", v.Statement, v.Judged, len(v.Broken), proofs[n])
		for _, f := range v.Broken[:min(len(v.Broken), 10)] {
			j.Broken = append(j.Broken, v.Statement+": "+f.String())
		}
		switch proofs[n] {
		case checker.Unseen:
			j.Broken = append(j.Broken, v.Statement+": the checker does not see a falsified record")
		case checker.Nothing:
			j.Unproven = append(j.Unproven, v.Statement)
		}
	}
	return j, nil
}
