package machine_test

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestRefusedIsTold: a webhook denies the controller's writes to a machine, so the machine itself cannot
// report it. An event does, once as long as that event is kept.
func TestRefusedIsTold(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { refusedIsTold(openshiftRig(t)) })
	t.Run("gardener", func(t *testing.T) { refusedIsTold(gardenerRig(t)) })
}

func refusedIsTold[M client.Object](g *rig[M]) {
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "machines"}, "m-1", errors.New("policy denies it"))
	tries := func(n int, err error) (told []string) {
		g.Helper()
		g.control.refuse = func(string) error { return err }
		for range n {
			if _, got := g.try("m-1"); (got == nil) != (err == nil) {
				g.Fatalf("%v, want %v", got, err)
			}
		}
		for _, e := range g.told() {
			if strings.Contains(e, "policy denies it") {
				told = append(told, e)
			}
		}
		return told
	}
	if told := tries(3, denied); len(told) != 1 || !strings.HasPrefix(told[0], "Warning FailedUpdate ") {
		g.Errorf("told %q, want it once", told)
	}
	if g.cloud.count("Create") > 0 {
		g.Error("an instance was made for a machine that is not held")
	}
	if told := tries(1, apierrors.NewTooManyRequests("busy", 1)); len(told) > 0 {
		g.Errorf("told %q of a server that is busy", told)
	}
	tries(1, nil)
	g.delete()
	if told := tries(2, denied); len(told) != 1 {
		g.Errorf("told %q when it was denied anew, want it once", told)
	}
}
