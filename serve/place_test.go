package serve

import (
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/provider"
)

// TestOnlyMachinesThatTheProviderMakesAreServed: under every name, a program serves only APIs whose machines the
// provider creates.
func TestOnlyMachinesThatTheProviderMakesAreServed(t *testing.T) {
	both, openshift, gardener := []string(nil), []string{provider.OpenShift}, []string{provider.Gardener}
	for _, c := range []struct {
		program string
		apis    []string
		want    string // the APIs; empty for all
		metrics string
	}{
		{program: "machine-controller-shelf", apis: both},
		{program: "machine-controller-shelf", apis: gardener, want: provider.Gardener},
		{program: "/bin/anything", apis: openshift, want: provider.OpenShift},
		{program: "machine-controller", apis: both, want: provider.Gardener},
		{program: "machine-controller", apis: gardener, want: provider.Gardener},
		{program: "machine-controller", apis: openshift, want: provider.OpenShift},
		{program: "machine-controller-manager", apis: openshift, want: provider.OpenShift, metrics: ":8081"},
		{program: "machine-controller-manager", apis: gardener, want: provider.Gardener},
		{program: "machine-controller-manager", apis: both, want: provider.OpenShift, metrics: ":8081"},
	} {
		at := Plugin{Name: "shelf", APIs: c.apis}.place(c.program)
		if got := strings.Join(at.APIs, " "); got != c.want || at.Metrics != c.metrics || at.Port != port {
			t.Errorf("%s with the APIs %v: serves %q, metrics at %q and port %d, want %q and %q", c.program, c.apis, got, at.Metrics, at.Port, c.want, c.metrics)
		}
	}
}

// TestMachinesThatTheProviderDoesNotMakeAreRefused: the program fails at its start, before it connects to a cluster.
func TestMachinesThatTheProviderDoesNotMakeAreRefused(t *testing.T) {
	refusal := "--apis: shelf makes machines of machine.sapcloud.io only, not of machine.openshift.io"
	p := Plugin{Name: "shelf", APIs: []string{provider.Gardener}}
	for _, args := range []string{"--apis=openshift", "--apis=gardener,openshift", "--apis=machine.openshift.io"} {
		c := Command(p)
		c.SetArgs([]string{args, "--kubeconfig=/nowhere"})
		if err := c.ExecuteContext(t.Context()); err == nil || err.Error() != refusal {
			t.Errorf("%q: error %v, want %q", args, err, refusal)
		}
	}
	if err := p.makes(p.place("machine-controller-shelf").APIs); err != nil {
		t.Error(err)
	}
}
