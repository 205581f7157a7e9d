package collect_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	machinev1 "github.com/openshift/api/machine/v1beta1"

	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
	"github.com/millwright-dev/millwright/provider"
)

func TestParse(t *testing.T) {
	for arg, want := range map[string]collect.Question{
		"machine/a":                            {Kind: "Machine", Name: "a"},
		"Machines/a":                           {Kind: "Machine", Name: "a"},
		"ms/a":                                 {Kind: "MachineSet", Name: "a"},
		"machinedeployment/a.b":                {Kind: "MachineDeployment", Name: "a.b"},
		"machines.machine.openshift.io/a":      {Kind: "Machine", Name: "a", API: provider.OpenShift},
		"md.v1alpha1.machine.sapcloud.io/mill": {Kind: "MachineDeployment", Name: "mill", API: provider.Gardener},
	} {
		if got, err := collect.Parse(arg); err != nil || got != want {
			t.Errorf("%s: question %+v, error %v; want %+v", arg, got, err, want)
		}
	}
	for arg, want := range map[string]string{
		"a": "want <kind>/<name>", "machine/": "want <kind>/<name>", "machine/a/b": "want <kind>/<name>",
		"pod/a": `unknown kind "pod"`, "machines.cluster.x-k8s.io/a": `unknown API "cluster.x-k8s.io"`,
	} {
		t.Run(arg, func(t *testing.T) {
			if _, err := collect.Parse(arg); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %s", arg, err, want)
			}
		})
	}
}

func ask(t *testing.T, c client.Reader, q collect.Question) (explain.Answer, error) {
	t.Helper()
	return collect.Ask(t.Context(), now, collect.Clusters{Control: c, Target: c}, q)
}

// TestOneAPIOnly: an API that is not installed causes no error and no gap.
func TestOneAPIOnly(t *testing.T) {
	missing := func(what string) error {
		if strings.HasPrefix(what, "*v1alpha1.") {
			return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: provider.Gardener, Kind: "Machine"}}
		}
		return nil
	}
	c := cluster(t, missing, openshiftMachine("Running", time.Hour, withNodeO), node("True", "", "", time.Hour))
	a, err := ask(t, c, collect.Question{Kind: "Machine", Name: "mill-a-x"})
	if err != nil || a.State != explain.Healthy || len(a.Gaps) > 0 {
		t.Errorf("answer %+v, error %v", a, err)
	}
}

// TestUnreachable: if an API server does not answer, Ask fails or the answer has a gap. Ask does not answer that the
// object does not exist.
func TestUnreachable(t *testing.T) {
	c := cluster(t, func(string) error { return errors.New("connection refused") })
	if _, err := ask(t, c, collect.Question{Kind: "Machine", Name: "mill-a-x"}); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("error %v, want that the API server cannot be reached", err)
	}
	half := func(what string) error {
		if strings.HasPrefix(what, "*v1alpha1.") {
			return errors.New("conversion webhook failed")
		}
		return nil
	}
	c = cluster(t, half, openshiftMachine("Running", time.Hour, withNodeO), node("True", "", "", time.Hour))
	a, err := ask(t, c, collect.Question{Kind: "Machine", Name: "mill-a-x"})
	if err != nil || a.State != explain.Healthy || len(a.Gaps) != 1 || !strings.Contains(a.Gaps[0], "conversion webhook failed") {
		t.Errorf("answer %+v, error %v; want an answer with a gap", a, err)
	}
}

// narrow refuses to list objects in all namespaces.
type narrow struct{ client.Reader }

func (n narrow) List(ctx context.Context, l client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	if o.Namespace == "" {
		return forbid("*v1.x")("*v1.x")
	}
	return n.Reader.List(ctx, l, opts...)
}

// TestOwnNamespaceOnly: a user who may not read all namespaces gets answers and evidence from the home namespace.
func TestOwnNamespaceOnly(t *testing.T) {
	c := narrow{cluster(t, nil, gardenerMachine("", 10*time.Second), class, kept(t, provider.Gardener, "gone", "u"))}
	a, err := ask(t, c, collect.Question{Kind: "Machine", Name: "mill-b-y", Home: ns})
	if err != nil || a.State != explain.Progressing || a.Namespace != ns {
		t.Errorf("answer %+v, error %v; want the machine in the home namespace", a, err)
	}
	a, err = ask(t, c, collect.Question{Kind: "Machine", Name: "gone", Home: ns})
	if err != nil || a.State != explain.Gone {
		t.Errorf("answer %+v, error %v; want the evidence in the home namespace", a, err)
	}
	a, err = ask(t, c, collect.Question{Kind: "Machine", Name: "mill-b-y", Home: "elsewhere"})
	if err != nil || a.State != explain.Unknown {
		t.Errorf("answer %+v, error %v; want not found", a, err)
	}
}

// TestNamespaces: a name that two namespaces have is ambiguous unless the question has a namespace.
func TestNamespaces(t *testing.T) {
	other := openshiftMachine("Provisioning", time.Minute, func(m *machinev1.Machine) { m.Namespace = "green" })
	c := cluster(t, nil, openshiftMachine("Running", time.Hour, withNodeO), other, node("True", "", "", time.Hour))
	a, err := ask(t, c, collect.Question{Kind: "Machine", Name: "mill-a-x"})
	if err != nil || a.State != explain.Ambiguous || !strings.Contains(a.Next, "-n ") {
		t.Errorf("answer %+v, error %v; want a next step with -n", a, err)
	}
	a, err = ask(t, c, collect.Question{Kind: "Machine", Name: "mill-a-x", Namespace: "green"})
	if err != nil || a.State != explain.Progressing || a.Namespace != "green" {
		t.Errorf("answer %+v, error %v; want the machine in namespace green", a, err)
	}
}

// TestEvidenceOfAnother: the answer about a machine has no evidence of an earlier machine with the same name.
func TestEvidenceOfAnother(t *testing.T) {
	c := cluster(t, nil, class, gardenerMachine("Failed", time.Hour), kept(t, provider.Gardener, "mill-b-y", "uid-earlier"))
	a, err := ask(t, c, collect.Question{Kind: "Machine", Name: "mill-b-y"})
	if err != nil || a.State != explain.Failed || a.Evidence != nil {
		t.Errorf("answer %+v, error %v; want no evidence", a, err)
	}
}

// TestNamesAreListedByAPI: the next step names the kind with each API. Without an API, kubectl lists the kind of only
// one API.
func TestNamesAreListedByAPI(t *testing.T) {
	for kind, want := range map[string]string{
		"Machine": "`kubectl get machines.machine.openshift.io,machines.machine.sapcloud.io`", "MachineClass": "`kubectl get machineclasses.machine.sapcloud.io`",
	} {
		t.Run(kind, func(t *testing.T) {
			a, err := ask(t, cluster(t, nil), collect.Question{Kind: kind, Name: "none"})
			if err != nil || !strings.Contains(a.Next, want) {
				t.Errorf("%s: next %q, error %v; want %s", kind, a.Next, err, want)
			}
		})
	}
}

// TestNames: a shell completes the names of existing objects, of one API or both. It completes no name if the names
// cannot be read.
func TestNames(t *testing.T) {
	c := cluster(t, nil, openshiftMachine("Running", time.Hour), gardenerMachine("Running", time.Hour), class, check("workers"), openshiftSet(1, 1, 1), gardenerDeployment(), node("True", "", "", time.Hour), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})
	for _, test := range []struct {
		reason string
		q      collect.Question
		want   []string
	}{
		{"both APIs", collect.Question{Kind: "Machine"}, []string{"mill-a-x", "mill-b-y"}},
		{"one API", collect.Question{Kind: "Machine", API: provider.Gardener}, []string{"mill-b-y"}},
		{"a class", collect.Question{Kind: "MachineClass"}, []string{"small"}},
		{"a health check", collect.Question{Kind: "MachineHealthCheck"}, []string{"workers"}},
		{"a set", collect.Question{Kind: "MachineSet"}, []string{"mill-a"}},
		{"a deployment", collect.Question{Kind: "MachineDeployment"}, []string{"mill"}},
		{"a node has no namespace", collect.Question{Kind: "Node", Namespace: "green"}, []string{"n-1"}},
		{"a namespace", collect.Question{Kind: "Namespace"}, []string{ns}},
		{"another namespace", collect.Question{Kind: "Machine", Namespace: "green"}, nil},
	} {
		if got := collect.Names(t.Context(), collect.Clusters{Control: c, Target: c}, test.q); !slices.Equal(got, test.want) {
			t.Errorf("%s: names %v, want %v", test.reason, got, test.want)
		}
	}
	if got := collect.Namespaces(t.Context(), c); !slices.Equal(got, []string{ns}) {
		t.Errorf("namespaces %v, want %s", got, ns)
	}
	refuse := func(string) error { return errors.New("no") }
	mute := cluster(t, refuse, class)
	if got := collect.Names(t.Context(), collect.Clusters{Control: mute, Target: mute}, collect.Question{Kind: "Machine"}); got != nil {
		t.Errorf("names %v of an unreadable cluster, want none", got)
	}
}
