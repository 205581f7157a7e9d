package disruption_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	budgets "github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/config"
	"github.com/millwright-dev/millwright/internal/controller/disruption"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

func TestMain(m *testing.M) {
	logf.SetLogger(logr.Discard())
	os.Exit(devplanetest.Main(m, devplanetest.Options{}))
}

// box is a real API server with the kind and its rights.
type box struct {
	client.Client
	namespace string
	config    *rest.Config
}

func newBox(t *testing.T) *box {
	t.Helper()
	env := devplanetest.Start(t)
	crds, err := config.OptionalCRDs()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := envtest.InstallCRDs(env.Config, envtest.CRDInstallOptions{CRDs: crds, MaxTime: time.Minute}); err != nil {
		t.Fatal(err)
	}
	b := &box{namespace: devplanetest.Namespace(t), config: env.Config}
	if b.Client, err = client.New(env.Config, client.Options{Scheme: scheme(t)}); err != nil {
		t.Fatal(err)
	}
	b.rights(t)
	t.Cleanup(func() {
		if err := b.DeleteAllOf(context.Background(), &budgets.MachineDisruptionBudget{}); err != nil {
			t.Error(err)
		}
	})
	return b
}

// scheme has the kinds of both APIs, of Kubernetes, and the budgets.
func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := run.Scheme()
	if err := budgets.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// rights installs the manifest with the rights, and gives the controllers the right to read machines, which they have anyway.
func (b *box) rights(t *testing.T) {
	t.Helper()
	raw, err := config.FS.ReadFile("disruption-budgets/rights.yaml")
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "millwright-system"}}
	objects := []client.Object{namespace, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "reads-machines"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"machine.openshift.io", "machine.sapcloud.io"}, Resources: []string{"machines"}, Verbs: []string{"get", "list"}}},
	}, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reads-machines"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "reads-machines"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "millwright-system", Name: "machine-controller"}},
	}}
	for document := range strings.SplitSeq(string(raw), "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), u); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, u)
	}
	for _, o := range objects {
		if err := b.Create(t.Context(), o); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
}

// controller is the client of a machine controller.
func (b *box) controller(t *testing.T) client.Client {
	t.Helper()
	c := rest.CopyConfig(b.config)
	c.Impersonate.UserName = "system:serviceaccount:millwright-system:machine-controller"
	c.QPS = -1
	k, err := client.New(c, client.Options{Scheme: scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (b *box) openshift(t *testing.T) ledger {
	k := b.controller(t)
	return disruption.New(disruption.Options[*machinev1.Machine]{Budgets: k, Cached: k, Live: k, Clock: clock.RealClock{}, Dialect: openshift.Machines{}})
}

func (b *box) gardener(t *testing.T) ledger {
	k := b.controller(t)
	return disruption.New(disruption.Options[*v1alpha1.Machine]{Budgets: k, Cached: k, Live: k, Clock: clock.RealClock{}, Dialect: gardener.Machines{}, Namespace: b.namespace})
}

// create stores n machines of an API.
func (b *box) create(t *testing.T, n int, build func(name, pool string) client.Object) (out []client.Object) {
	t.Helper()
	for i := range n {
		m := build(fmt.Sprintf("m-%02d", i), b.namespace)
		stored := m.DeepCopyObject().(client.Object)
		stored.SetUID("")
		stored.SetNamespace(b.namespace)
		if err := b.Create(t.Context(), stored); err != nil {
			t.Fatal(err)
		}
		out = append(out, stored)
	}
	return out
}

// TestRaceForTheLastPermit: three processes of each API ask for 12 machines of each at the same time. The budget is never exceeded, and
// each machine gets its turn.
func TestRaceForTheLastPermit(t *testing.T) {
	b := newBox(t)
	if err := b.Create(t.Context(), budget("race", "3", only(b.namespace))); err != nil {
		t.Fatal(err)
	}
	machines := map[string][]client.Object{"openshift": b.create(t, 12, anOpenshiftMachine), "gardener": b.create(t, 12, aGardenerMachine)}
	var inUse, most, refusals atomic.Int64
	var all sync.WaitGroup
	for api, list := range machines {
		for p := range 3 {
			var l ledger
			if l = b.openshift(t); api == "gardener" {
				l = b.gardener(t)
			}
			for _, m := range list[p*4 : p*4+4] {
				all.Go(func() {
					for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
						got := l.Ask(t.Context(), m, deletion(m, start))
						if !got.Permitted {
							refusals.Add(1)
							continue
						}
						n := inUse.Add(1)
						for was := most.Load(); n > was && !most.CompareAndSwap(was, n); was = most.Load() {
						}
						time.Sleep(300 * time.Millisecond)
						inUse.Add(-1)
						for l.Over(t.Context(), m.GetUID()) != nil {
							time.Sleep(10 * time.Millisecond)
						}
						return
					}
					t.Errorf("%s %s got no permit", api, m.GetName())
				})
			}
		}
	}
	all.Wait()
	if got := most.Load(); got > 3 || got < 2 {
		t.Errorf("%d machines at the same time, want at most 3, and more than one", got)
	}
	var now budgets.MachineDisruptionBudget
	if err := b.Get(t.Context(), client.ObjectKey{Name: "race"}, &now); err != nil || len(now.Status.Disruptions) > 0 {
		t.Errorf("%v, permits that are left: %+v", err, now.Status.Disruptions)
	}
	t.Logf("at most %d at the same time, %d refusals", most.Load(), refusals.Load())
}

// TestRightsAreEnough: a permit, its end, and the status, with the rights of the manifest; and nothing else.
func TestRightsAreEnough(t *testing.T) {
	b := newBox(t)
	if err := b.Create(t.Context(), budget("rights", "50%", only(b.namespace))); err != nil {
		t.Fatal(err)
	}
	machines, l := b.create(t, 2, aGardenerMachine), b.gardener(t)
	l.Due(t.Context())
	if got := l.Ask(t.Context(), machines[0], deletion(machines[0], start)); got.Permitted || !strings.Contains(got.Message, "permits no manual") {
		t.Errorf("no node has joined: %+v", got)
	}
	m := machines[1].(*v1alpha1.Machine)
	m.Status.CurrentStatus.Phase = v1alpha1.MachineRunning
	if err := b.Status().Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	another := b.gardener(t)
	if got := another.Ask(t.Context(), m, deletion(m, start)); !got.Permitted {
		t.Errorf("%+v", got)
	}
	var now budgets.MachineDisruptionBudget
	if err := b.Get(t.Context(), client.ObjectKey{Name: "rights"}, &now); err != nil || now.Status.Machines != 1 || now.Status.InUse != 1 || now.Status.Disruptions[0].Reason != budgets.ReasonManual {
		t.Errorf("%v, %+v", err, now.Status)
	}
	if err := another.Over(t.Context(), m.GetUID()); err != nil {
		t.Error(err)
	}
	now.Spec.Paused = true
	if err := b.controller(t).Update(t.Context(), &now); err == nil {
		t.Error("a machine controller may change the spec of a budget")
	}
}

// TestSchema: what the API server refuses.
func TestSchema(t *testing.T) {
	b := newBox(t)
	for _, c := range []struct{ reason, spec, want string }{
		{"the example", `{budgets: [{nodes: "10%", reasons: [Rollout, Remediation, ScaleDown, Interruption, Reboot, Manual], schedule: "0 9 * * mon-fri", duration: 8h, timeZone: Europe/Berlin}], message: why}`, ""},
		{"an empty spec", `{}`, ""},
		{"a number", `{budgets: [{nodes: 3}, {nodes: "3"}, {nodes: 0}, {nodes: 100%}]}`, ""},
		{"minutes", `{budgets: [{nodes: 1, schedule: "@daily", duration: 1h30m}, {nodes: 1, schedule: "*/5 * * * *", duration: 4m}]}`, ""},
		{"negative", `{budgets: [{nodes: -1}]}`, "nodes must not be negative"},
		{"too many percent", `{budgets: [{nodes: 101%}]}`, "spec.budgets[0].nodes"},
		{"a word", `{budgets: [{nodes: all}]}`, "spec.budgets[0].nodes"},
		{"no nodes", `{budgets: [{reasons: [Rollout]}]}`, "spec.budgets[0].nodes"},
		{"an unknown reason", `{budgets: [{nodes: 1, reasons: [Drifted]}]}`, "spec.budgets[0].reasons[0]"},
		{"a reason twice", `{budgets: [{nodes: 1, reasons: [Rollout, Rollout]}]}`, "spec.budgets[0].reasons[1]"},
		{"a schedule without a duration", `{budgets: [{nodes: 1, schedule: "@daily"}]}`, "schedule and duration must be set together"},
		{"a duration without a schedule", `{budgets: [{nodes: 1, duration: 1h}]}`, "schedule and duration must be set together"},
		{"a zone without a schedule", `{budgets: [{nodes: 1, timeZone: UTC}]}`, "timeZone needs a schedule"},
		{"four fields", `{budgets: [{nodes: 1, schedule: "0 9 * *", duration: 1h}]}`, "spec.budgets[0].schedule"},
		{"an interval", `{budgets: [{nodes: 1, schedule: "@every 1h", duration: 1h}]}`, "spec.budgets[0].schedule"},
		{"a zone in the schedule", `{budgets: [{nodes: 1, schedule: "TZ=UTC 0 9 * * *", duration: 1h}]}`, "spec.budgets[0].schedule"},
		{"seconds", `{budgets: [{nodes: 1, schedule: "@daily", duration: 90s}]}`, "spec.budgets[0].duration"},
		{"an unknown field", `{budgets: [{nodes: 1, weekdays: [mon]}]}`, "unknown field"},
	} {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(`{apiVersion: millwright.dev/v1alpha1, kind: MachineDisruptionBudget, metadata: {generateName: schema-}, spec: `+c.spec+`}`), &u.Object); err != nil {
			t.Fatal(err)
		}
		err := client.WithFieldValidation(b.Client, metav1.FieldValidationStrict).Create(t.Context(), u)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.reason, err, c.want)
		}
	}
}
