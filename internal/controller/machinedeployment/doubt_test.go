package machinedeployment_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestDoubtfulAnnotationsAreTold: a deployment says of an annotation that does not exist which
// was meant, once; that a rollout went without its canary is seen too late.
func TestDoubtfulAnnotationsAreTold(t *testing.T) { both(t, doubtful, doubtful) }

func doubtful[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	w.declare(2, func(d D) { d.SetAnnotations(map[string]string{"millwright.dev/rollout-cannary": "1"}) })
	r := w.controller()
	w.rest(r)
	w.rest(r)
	told := strings.Join(w.recorded(), "\n")
	if strings.Count(told, "Warning UnknownAnnotation") != 1 || !strings.Contains(told, "did you mean millwright.dev/rollout-canary?") {
		t.Errorf("told %q", told)
	}
}
