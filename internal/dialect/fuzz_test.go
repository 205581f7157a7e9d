package dialect_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/nodemeta"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// fuzzKeys are annotations and labels that a controller reads.
var fuzzKeys = strings.Fields(`
deployment.kubernetes.io/desired-replicas deployment.kubernetes.io/max-replicas deployment.kubernetes.io/revision
machine.openshift.io/cluster-api-cluster machine.openshift.io/delete-machine machine.openshift.io/exclude-node-draining
machine.openshift.io/instance-state machine.openshift.io/remediation-strategy machine.openshift.io/zone
machine.sapcloud.io/last-deployment-replica-change-by-scaler-time machine.sapcloud.io/marked-for-deletion-time
machinepriority.machine.sapcloud.io millwright.dev/abandon-instance millwright.dev/approve-mass-deletion
millwright.dev/target-cluster millwright.dev/cluster-defaults millwright.dev/cordon-lead millwright.dev/creation-timeout
millwright.dev/drain-order millwright.dev/drain-timeout millwright.dev/escalation millwright.dev/health-timeout
millwright.dev/max-deletion-share millwright.dev/node-conditions millwright.dev/outdated millwright.dev/rack-label
millwright.dev/reboot millwright.dev/reboot-request millwright.dev/reboot-timeout millwright.dev/remediation-backoff
millwright.dev/remediation-breaker millwright.dev/remediation-cooldown millwright.dev/remediation-rate
millwright.dev/remediation-storm-share millwright.dev/remediations millwright.dev/rollout-approved
millwright.dev/rollout-canary millwright.dev/rollout-canary-since millwright.dev/rollout-canary-soak
millwright.dev/rollout-estimate millwright.dev/rollout-failed millwright.dev/rollout-max-failures
millwright.dev/rollout-on-failure millwright.dev/rollout-overlap millwright.dev/rollout-ready-within
millwright.dev/skip-remediation millwright.dev/termination-deadline
millwright.dev/unrecorded-instances node.machine.sapcloud.io/candidate-for-update
node.machine.sapcloud.io/effective-creation-timeout node.machine.sapcloud.io/last-applied-anno-labels-taints
node.machine.sapcloud.io/last-applied-virtual-capacity node.machine.sapcloud.io/preserve
node.machine.sapcloud.io/selected-for-update node.machine.sapcloud.io/update-failed-reason
node.machine.sapcloud.io/update-result`)

// fuzzSeeds are what is put under them.
var fuzzSeeds = []string{
	"", "null", "-1", "9223372036854775808", "1h", "-1h", "9999999h", "100%", "-5%", "true", "2026-11-22T12:00:00Z", "9999-12-31T23:59:59-01:00",
	`{"at":"2026-11-22T12:00:00Z","until":"9999-12-31T23:59:59-01:00"}`, `{"x.io/v":"1e999999999"}`, `{"metadata":{"labels":null},"spec":{"taints":[null,{}]}}`,
	`{"begun":[{"uid":"u","machine":"m","at":"9999-12-31T23:59:59-01:00","again":-1}],"storms":[{"kind":"?","sick":-1,"of":-2}]}`,
}

const (
	fuzzMachine = `{"metadata":{"name":"m","namespace":"n","uid":"u","finalizers":["f"]},"spec":{"providerID":"p"},"status":{"phase":"Running","currentStatus":{"phase":"Running"}}}`
	fuzzNode    = `{"metadata":{"name":"w"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`
	fuzzLeaving = `{"metadata":{"name":"m","deletionTimestamp":"2026-11-22T12:00:00Z"},"spec":{"lifecycleHooks":{"preDrain":[{"name":"a","owner":"b"}]},"providerSpec":{"value":{"zone":1}}},"status":{"addresses":[{"type":"InternalIP","address":"x"}]}}`
)

// fuzzTime is what one input may cost, generously.
const fuzzTime = 2 * time.Second

func seed(f *testing.F, objects ...string) {
	f.Helper()
	for _, o := range objects {
		for i, key := range fuzzKeys {
			f.Add([]byte(o), []byte(fuzzNode), key, fuzzSeeds[i%len(fuzzSeeds)])
			f.Add([]byte(o), []byte(fuzzNode), key, fuzzSeeds[(i*7+3)%len(fuzzSeeds)])
		}
	}
}

// decode decodes an object and puts an annotation and a label on it; false when
// an API server would not hand it out.
func decode(raw []byte, key, value string, into ...client.Object) bool {
	for _, o := range into {
		if len(raw) > 1<<18 || json.Unmarshal(raw, o) != nil {
			return false
		}
		dialect.SetAnnotation(o, key, value)
		labels := o.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[key] = value
		o.SetLabels(labels)
	}
	return true
}

func size(t *testing.T, o any) int {
	t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatalf("cannot be stored: %v", err)
	}
	return len(raw)
}

// lens is what is fuzzed of both APIs' lenses.
type lens[M client.Object] interface {
	View(M) lifecycle.Machine
	Policy(M) lifecycle.Policy
	Record(M, lifecycle.Outcome)
	Events(before, after M, o lifecycle.Outcome) []dialect.Event
	Want(M, dialect.Class) nodemeta.Want
}

// life lets a machine be seen, judged and recorded.
func life[M client.Object](t *testing.T, l lens[M], m M, n *corev1.Node) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for range 3 {
		v, p := l.View(m), l.Policy(m)
		w := lifecycle.World{Instances: lifecycle.Instances{Looked: true}, Node: lifecycle.Node{Looked: true, Object: n}}
		if k, ok := dialect.As[dialect.Preserver](l); ok {
			w.Node.Preservation = k.NodePreservation(n)
		}
		if u, ok := dialect.As[dialect.InPlaceUpdater](l); ok {
			w.Node.Update = u.Update(n)
		}
		d := lifecycle.DecideLife(now, v, w, p)
		d.Preserve = lifecycle.Preserve(now, v, w, p)
		o := lifecycle.Outcome{Decision: d, World: w, At: now}
		before := m.DeepCopyObject().(M)
		l.Record(m, o)
		if grew := size(t, m) - size(t, before); grew > 64<<10 {
			t.Errorf("recording makes the machine %d bytes longer", grew)
		}
		if before.GetName() != m.GetName() || before.GetUID() != m.GetUID() || !reflect.DeepEqual(before.GetOwnerReferences(), m.GetOwnerReferences()) {
			t.Error("recording changes what the machine is")
		}
		for _, e := range l.Events(before, m, o) {
			if e.Reason == "" {
				t.Errorf("an event without a reason: %+v", e)
			}
		}
		// What is recorded once is recorded: another time it costs no write.
		again := m.DeepCopyObject().(M)
		o.Preserve = lifecycle.Preserve(now, l.View(again), w, p)
		l.Record(again, o)
		l.Record(again, o)
		twice := again.DeepCopyObject().(M)
		l.Record(twice, o)
		if !reflect.DeepEqual(again, twice) {
			t.Errorf("recorded again, %s differs", m.GetName())
		}
		plan(t, n, l.Want(m, dialect.Class{}))
		now = now.Add(time.Hour)
	}
}

// plan brings a node in step, which it is then.
func plan(t *testing.T, n *corev1.Node, w nodemeta.Want) {
	t.Helper()
	edited, _, err := w.Plan(n)
	if err != nil {
		return
	}
	if grew := size(t, edited) - size(t, n); grew > 3*size(t, w)+(4<<10) {
		t.Errorf("the node grows by %d bytes", grew)
	}
	if _, changed, err := w.Plan(edited); err != nil || changed {
		t.Errorf("a node in step is not in step: %v", err)
	}
}

func inTime(t *testing.T, f func()) {
	t.Helper()
	at := time.Now()
	f()
	if took := time.Since(at); took > fuzzTime {
		t.Errorf("took %v", took)
	}
}

func FuzzMachines(f *testing.F) {
	seed(f, fuzzMachine, fuzzLeaving)
	f.Fuzz(func(t *testing.T, raw, rawNode []byte, key, value string) {
		var o machinev1.Machine
		var g v1alpha1.Machine
		var n corev1.Node
		inTime(t, func() {
			if !decode(rawNode, key, value, &n) {
				return
			}
			if decode(raw, key, value, &o) {
				life(t, openshift.Machines{}, &o, &n)
			}
			if decode(raw, key, value, &g) {
				life(t, gardener.Machines{Defaults: gardener.StandardDefaults()}, &g, &n)
			}
		})
	})
}

func FuzzSets(f *testing.F) {
	seed(f, `{"metadata":{"name":"s"},"spec":{"replicas":3,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}}}},"status":{"replicas":2}}`)
	f.Fuzz(func(t *testing.T, raw, rawNode []byte, key, value string) {
		var n corev1.Node
		nodes := func(string) *corev1.Node { return &n }
		inTime(t, func() {
			if !decode(rawNode, key, value, &n) {
				return
			}
			var s machinev1.MachineSet
			var m machinev1.Machine
			if decode(raw, key, value, &s) && decode(rawNode, key, value, &m) {
				_, _ = openshift.Sets{}.View(&s), openshift.Sets{}.Member(&s, &m, nodes)
			}
			var gs v1alpha1.MachineSet
			var gm v1alpha1.Machine
			if decode(raw, key, value, &gs) && decode(rawNode, key, value, &gm) {
				_, _ = gardener.Sets{}.View(&gs), gardener.Sets{}.Member(&gs, &gm, nodes)
				_ = dialect.ReadDeletionGuard(&gs)
			}
		})
	})
}

func FuzzDeployments(f *testing.F) {
	seed(f, `{"metadata":{"name":"d"},"spec":{"replicas":3,"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":"50%","maxUnavailable":1}}}}`)
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	bounds := func(t *testing.T, d rollout.Deployment) {
		if surge, unavailable := rollout.Bounds(d); surge < 0 || unavailable < 0 || d.Replicas > 0 && unavailable > d.Replicas {
			t.Errorf("bounds %d, %d of %d", surge, unavailable, d.Replicas)
		}
	}
	f.Fuzz(func(t *testing.T, raw, _ []byte, key, value string) {
		inTime(t, func() {
			var o v1beta1.MachineDeployment
			if decode(raw, key, value, &o) {
				bounds(t, openshift.Deployments{}.View(&o, now).Deployment)
				_, _ = dialect.ReadGuard(o.Annotations)
				notes := dialect.ReadNotes(o.Annotations)
				dialect.WriteNotes(&o, notes)
				if again := dialect.ReadNotes(o.Annotations); !reflect.DeepEqual(again, notes) {
					t.Errorf("notes %+v are read back as %+v", notes, again)
				}
			}
			var g v1alpha1.MachineDeployment
			if decode(raw, key, value, &g) {
				bounds(t, gardener.Deployments{}.View(&g, now).Deployment)
			}
		})
	})
}

func FuzzHealthChecks(f *testing.F) {
	seed(f, `{"metadata":{"name":"c"},"spec":{"nodeStartupTimeout":"10m","maxUnhealthy":"40%","unhealthyConditions":[{"type":"Ready","status":"False","timeout":"300s"}]}}`)
	f.Fuzz(func(t *testing.T, raw, _ []byte, key, value string) {
		inTime(t, func() {
			var c lenient.MachineHealthCheck
			if !decode(raw, key, value, &c) {
				return
			}
			_ = openshift.HealthChecks{}.View(&c, dialect.CommonConditions{})
			memory := dialect.ReadMemory(&c)
			dialect.WriteMemory(&c, memory)
			if n := size(t, &c); n > 2*len(raw)+2*len(value)+(64<<10) {
				t.Errorf("the memory makes %d bytes of %d", n, len(raw)+len(value))
			}
			_, _ = dialect.ReadBreaker(c.Annotations)
			_, _ = dialect.ReadEscalation(c.Annotations, time.Minute)
			_, _ = dialect.ReadOwn(c.Annotations), dialect.RackLabel(&c)
			_, _ = dialect.ReadRebooting(&c), dialect.DrainWishOf(&c)
		})
	})
}
