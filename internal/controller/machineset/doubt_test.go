package machineset_test

import (
	"strings"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// TestDoubtfulAnnotationsAreTold: a set says of an annotation that does not exist which was
// meant, once until it changes.
func TestDoubtfulAnnotationsAreTold(t *testing.T) {
	eachAPI(t, doubtStory[*machinev1.MachineSet], doubtStory[*v1alpha1.MachineSet])
}

func doubtStory[S client.Object](t *testing.T, g *guarded[S]) {
	told := func() (out []string) {
		for len(g.recorder.Events) > 0 {
			if e := <-g.recorder.Events; strings.Contains(e, "Annotation") {
				out = append(out, e)
			}
		}
		return out
	}
	g.passes(t)
	if got := told(); len(got) > 0 {
		t.Fatalf("without an annotation it tells %q", got)
	}
	for key, meant := range map[string]string{"max-deletion-shares": "max-deletion-share", "fall-back": "fallback"} {
		g.annotate(t, "millwright.dev/"+key, "30%")
		g.passes(t)
		got := told()
		if len(got) != 1 || !strings.Contains(got[0], "Warning UnknownAnnotation") || !strings.Contains(got[0], "did you mean millwright.dev/"+meant+"?") {
			t.Fatalf("told %q", got)
		}
		g.scale(t, 11)
		g.passes(t)
		if got := told(); len(got) > 0 {
			t.Fatalf("told again when it was scaled: %q", got)
		}
	}
}
