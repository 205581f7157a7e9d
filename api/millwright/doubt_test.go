package millwright_test

import (
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/api/millwright"
)

func TestDoubts(t *testing.T) {
	const ours = millwright.Prefix
	for _, c := range []struct {
		reason string
		of     millwright.Carrier
		// want is how each doubt begins and, after a bar, what it has in it.
		want []string
	}{
		{"nothing is there", millwright.Carrier{Kind: "Machine"}, nil},
		{"keys of others are theirs", millwright.Carrier{Kind: "Machine", Annotations: map[string]string{"example.com/rollout-cannary": "1"}}, nil},
		{
			"a letter too many",
			millwright.Carrier{Kind: "MachineDeployment", Annotations: map[string]string{ours + "rollout-cannary": "1"}},
			[]string{"metadata.annotations[millwright.dev/rollout-cannary]: there is no such annotation|did you mean millwright.dev/rollout-canary?"},
		},
		{"a plural", millwright.Carrier{Kind: "MachineSet", Annotations: map[string]string{ours + "max-deletion-shares": "30%"}}, []string{"metadata.annotations[|did you mean millwright.dev/max-deletion-share?"}},
		{"nothing is near", millwright.Carrier{Kind: "Machine", Annotations: map[string]string{ours + "colour": "blue"}}, []string{"metadata.annotations[millwright.dev/colour]: there is no such annotation, and it has no effect|effect"}},
		{"an invalid share", millwright.Carrier{Kind: "MachineSet", Annotations: map[string]string{millwright.MaxDeletionShare: "30"}}, []string{`metadata.annotations[millwright.dev/max-deletion-share]: must be a percentage from "1%" to "100%", is "30"|20% is in force`}},
		{"a word beside a form", millwright.Carrier{Kind: "Machine", Annotations: map[string]string{millwright.DrainTimeout: "never"}}, nil},
		{"a duration without a unit", millwright.Carrier{Kind: "Machine", Annotations: map[string]string{millwright.DrainTimeout: "90"}}, []string{"metadata.annotations[|must be a duration above zero"}},
		{"no document", millwright.Carrier{Kind: "MachineClass", Annotations: map[string]string{millwright.Fallback: "[{"}}, []string{"metadata.annotations[|must be a list of merge patches"}},
		{"a key of another kind", millwright.Carrier{Kind: "MachineSet", Annotations: map[string]string{millwright.RolloutCanary: "1"}}, []string{"metadata.annotations[|has no effect on a MachineSet: it is for MachineDeployment"}},
		{"a deployment hands its keys down", millwright.Carrier{Kind: "MachineSet", Owned: true, Annotations: map[string]string{millwright.RolloutCanary: "1"}}, nil},
		{"but not those that do not exist", millwright.Carrier{Kind: "MachineSet", Owned: true, Annotations: map[string]string{ours + "rollout-cannary": "1"}}, []string{"metadata.annotations[|rollout-canary"}},
		{"in the template", millwright.Carrier{Kind: "MachineSet", Template: map[string]string{ours + "skip-remediations": "true"}}, []string{"spec.template.metadata.annotations[|did you mean millwright.dev/skip-remediation?"}},
		{"the template is that of a machine", millwright.Carrier{Kind: "MachineSet", Template: map[string]string{millwright.MaxDeletionShare: "30%"}}, []string{"spec.template.metadata.annotations[|no effect on a Machine"}},
		{"as a label", millwright.Carrier{Kind: "Machine", Labels: map[string]string{millwright.SkipRemediation: "true"}}, []string{"metadata.labels[millwright.dev/skip-remediation]: it is an annotation|no effect as a label"}},
		{"controllers write what they like", millwright.Carrier{Kind: "Machine", Annotations: map[string]string{millwright.Origin: "?", millwright.OnNode: "?"}}, nil},
		{"infrastructures write on nodes", millwright.Carrier{Kind: "Node", Annotations: map[string]string{ours + "kubemark-instance": "x"}}, nil},
		{"a person's key on a node", millwright.Carrier{Kind: "Node", Annotations: map[string]string{millwright.SkipRemediation: "true"}}, []string{"metadata.annotations[|has no effect on a Node: it is for Machine"}},
		{"a key of an earlier version", millwright.Carrier{Kind: "MachineSet", Annotations: map[string]string{ours + "capacity-labels": "x"}}, nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got := millwright.Doubts(c.of)
			if len(got) != len(c.want) {
				t.Errorf("%s: %v, want %d", c.reason, got, len(c.want))
				return
			}
			for i, want := range c.want {
				begins, has, _ := strings.Cut(want, "|")
				if text := got[i].String(); !strings.HasPrefix(text, begins) || !strings.Contains(text, has) {
					t.Errorf("%s: %q, want %q", c.reason, text, want)
				}
				if typo := strings.Contains(got[i].Message, "there is no such"); typo != got[i].Unknown {
					t.Errorf("%s: unknown is %v", c.reason, got[i].Unknown)
				}
			}
		})
	}
}

// TestNearest: each key is found with a letter lost, doubled or changed, and a key is nearest to itself.
func TestNearest(t *testing.T) {
	for _, k := range millwright.Keys() {
		if k.By == millwright.Controller {
			continue
		}
		n := len(k.Name)
		for _, typed := range []string{k.Name, k.Name + "s", k.Name[:n-1], k.Name[:n-2] + k.Name[n-1:], k.Name[:n-1] + "x"} {
			if got := millwright.Nearest(typed); got != k.Name {
				t.Errorf("%s is nearest to %q", typed, got)
			}
		}
	}
	if got := millwright.Nearest("millwright.dev/something-else-entirely"); got != "" {
		t.Errorf("%s is near", got)
	}
}
