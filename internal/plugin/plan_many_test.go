package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/millwright-dev/millwright/internal/plugin/survey"
)

// TestPlanOfMany: whatever the number, the answer comes at once: most machines are counted and
// not listed, the time is that at the pace which was seen, and who mistyped the number hears so.
func TestPlanOfMany(t *testing.T) {
	for _, api := range []string{"openshift", "gardener"} {
		for _, object := range []string{"machineset/mill", "machinedeployment/fleet"} {
			for _, n := range []int{1000, 1_000_000} {
				t.Run(fmt.Sprintf("%s/%s/%d", api, object, n), func(t *testing.T) {
					text, code := ask(planCluster(nil, planWorld(api)), "", object, "--api="+api, fmt.Sprintf("--replicas=%d", n))
					flat := strings.Join(strings.Fields(text), " ")
					for _, want := range []string{
						fmt.Sprintf("%d machines created", n-3), fmt.Sprintf("%d machines in the end", n), "counted, not listed",
						"times as many: check the number", "at the observed pace: 2 at once",
					} {
						if !strings.Contains(flat, want) {
							t.Errorf("does not say %q:\n%s", want, text)
						}
					}
					if strings.Contains(flat, "Duration: about 2m") || code != 1 {
						t.Errorf("exits with %d:\n%s", code, text)
					}
				})
			}
		}
	}
}

// TestPlanOfHeldGrowth: a plan knows the guard of growth.
func TestPlanOfHeldGrowth(t *testing.T) {
	for _, api := range []string{"openshift", "gardener"} {
		t.Run(api, func(t *testing.T) {
			for _, object := range []string{"machineset/mill", "machinedeployment/fleet"} {
				objects := planWorld(api)
				for _, o := range objects {
					if o.GetName() == "mill" || o.GetName() == "fleet" {
						a := o.GetAnnotations()
						if a == nil {
							a = map[string]string{}
						}
						a["millwright.dev/max-creation-share"] = "50%"
						o.SetAnnotations(a)
					}
				}
				text, _ := ask(planCluster(nil, objects), "", object, "--api="+api, "--replicas=1000000")
				if flat := strings.Join(strings.Fields(text), " "); !strings.Contains(flat, "no machine is created") || !strings.Contains(flat, "999997 machines would be added to 3") {
					t.Errorf("%s of %s:\n%s", object, api, text)
				}
			}
		})
	}
}

// TestPlanOfFew: who asks for a few machines more is not warned.
func TestPlanOfFew(t *testing.T) {
	text, _ := ask(planCluster(nil, planWorld("gardener")), "", "machineset/mill", "--api=gardener", "--replicas=20")
	if strings.Contains(text, "check the number") || strings.Contains(text, "counted, not") {
		t.Error(text)
	}
}

// TestPlanEndsInTime: steps are looked at for a while only, and the plan says that there are more.
func TestPlanEndsInTime(t *testing.T) {
	streams, _, out, _ := genericiooptions.NewTestIOStreams()
	p := newPlan(streams)
	p.patience = 0
	p.now = func() time.Time { return planNow }
	p.connect = func() (survey.Clusters, string, error) {
		return planCluster(nil, planWorld("gardener")), planSpace, nil
	}
	c := p.command("test")
	c.SetArgs([]string{"machinedeployment/fleet", "--api=gardener", "--class=large"})
	c.SilenceErrors, c.SilenceUsage = true, true
	if err := c.Execute(); err == nil || !strings.Contains(out.String(), "no further steps were examined") {
		t.Errorf("ended with %v:\n%s", err, out)
	}
}

// TestPlanEndsOnSignal: a long plan ends on a signal, and prints nothing then.
func TestPlanEndsOnSignal(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	streams, _, out, _ := genericiooptions.NewTestIOStreams()
	p := newPlan(streams)
	p.patience = time.Hour
	p.now = func() time.Time { cancel(); return planNow } // a signal comes when the objects are read
	p.connect = func() (survey.Clusters, string, error) {
		return planCluster(nil, planWorld("gardener")), planSpace, nil
	}
	c := p.command("test")
	c.SetArgs([]string{"machineset/mill", "--api=gardener", "--replicas=1"})
	c.SilenceErrors, c.SilenceUsage = true, true
	began := time.Now()
	err := c.ExecuteContext(ctx)
	if err == nil || out.Len() > 0 {
		t.Errorf("ended with %v:\n%s", err, out)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("took %s", took)
	}
}

// TestInterrupted: who ends a command by a signal is not told of contexts.
func TestInterrupted(t *testing.T) {
	if got := Message(planFailed(fmt.Errorf("list machines: %w", context.Canceled))); got != "interrupted" {
		t.Error(got)
	}
	if got := Message(errors.New("list machines: forbidden")); got != "list machines: forbidden" {
		t.Error(got)
	}
}
