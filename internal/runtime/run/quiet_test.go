package run

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestQuietKeepsCallers: a line says where it was written, whatever kind it is of.
func TestQuietKeepsCallers(t *testing.T) {
	var got []string
	log := Quiet(funcr.New(func(_, args string) { got = append(got, args) }, funcr.Options{Verbosity: 1, LogCaller: funcr.All}))
	_, _, line, _ := runtime.Caller(0)
	log.Info("a")
	log.Error(errors.New("quota"), "b")
	log.Error(apierrors.NewConflict(schema.GroupResource{}, "m", errors.New("modified")), "c")
	for i, args := range got {
		if want := fmt.Sprintf(`"caller"={"file"="quiet_test.go" "line"=%d}`, line+1+i); !strings.Contains(args, want) {
			t.Errorf("%s, want %s", args, want)
		}
	}
	if len(got) != 3 {
		t.Errorf("%d lines", len(got))
	}
}

// TestQuiet: M7. An error in the log is something to look at.
func TestQuiet(t *testing.T) {
	conflict := fmt.Errorf("save machine: %w", apierrors.NewConflict(schema.GroupResource{Resource: "machines"}, "m", errors.New("modified")))
	for name, c := range map[string]struct {
		reason    string
		verbosity int
		err       error
		msg       string
		want      string
	}{
		"conflict":           {"somebody else wrote, and the pass is made again", 0, conflict, "Reconciler error", ""},
		"conflict, told":     {"whoever asks is told", 1, conflict, "Reconciler error", "level"},
		"other error":        {"it is one", 0, errors.New("quota"), "Reconciler error", "error"},
		"end":                {"it was asked for", 0, errors.New("leader election lost"), endedAtStop, ""},
		"no end":             {"nobody asked for it", 0, errors.New("leader election lost"), "problem running manager", "error"},
		"no error is passed": {"it is one all the same", 0, nil, "unexpected", "error"},
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			log := funcr.New(func(_, args string) { got = args }, funcr.Options{Verbosity: c.verbosity})
			Quiet(log).WithName("n").WithValues("a", "b").Error(c.err, c.msg)
			is := ""
			switch {
			case got == "":
			case got[:7] == `"level"`:
				is = "level"
			default:
				is = "error"
			}
			if is != c.want {
				t.Errorf("%s: logged %q, want %q", c.reason, got, c.want)
			}
		})
	}
}
