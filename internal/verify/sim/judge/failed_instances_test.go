package judge

import (
	"slices"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

func openshiftMachine(name string, edits ...func(*machinev1.Machine)) *machinev1.Machine {
	m := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	m.Spec.ProviderID = ptr.To("sim:///i-1")
	for _, edit := range edits {
		edit(m)
	}
	return m
}

func failsWith(message string, reason machinev1.MachineStatusError) func(*machinev1.Machine) {
	return func(m *machinev1.Machine) {
		m.Status.Phase, m.Status.ErrorMessage, m.Status.ErrorReason = ptr.To(machinev1.PhaseFailed), &message, &reason
	}
}

// crashes is the status of a machine of Gardener after a failed creation.
func crashes(phase v1alpha1.MachinePhase, text, code string) func(*v1alpha1.Machine) {
	return func(m *v1alpha1.Machine) {
		m.Spec.ProviderID = "sim:///i-1"
		m.Status.CurrentStatus.Phase = phase
		m.Status.LastOperation = v1alpha1.LastOperation{Type: v1alpha1.MachineOperationCreate, State: v1alpha1.MachineStateFailed, Description: text, ErrorCode: code}
	}
}

// bothAPIs creates a scene with a failed instance of m.
func bothAPIs(c Cause) *scene {
	s := newScene()
	s.judge.APIs[0].JoinTimeout = 20 * time.Minute
	s.judge.APIs = append(s.judge.APIs, API{Machine: &machinev1.Machine{}, Set: &machinev1.MachineSet{}, Finalizer: "machine.machine.openshift.io"})
	c.Since = s.now
	s.instances = []Instance{{ID: "i-1", UID: "m", ProviderID: "sim:///i-1", NodeName: "m", Created: s.now, Cause: c}}
	return s
}

func TestCauseIsTold(t *testing.T) {
	room := Cause{Text: "no room", Room: true, Final: true}
	unfit, mending := Cause{Text: "no image", Final: true}, Cause{Text: "the host restarts"}
	waits := func(m *machinev1.Machine) {
		m.Status.Conditions = []machinev1.Condition{{Type: machinev1.InstanceExistsCondition, Status: corev1.ConditionTrue, Message: "given up: the host restarts"}}
	}
	for name, c := range map[string]struct {
		cause  Cause
		m      client.Object
		after  time.Duration
		edit   func(*scene)
		broken bool
	}{
		"openshift says nothing":              {room, openshiftMachine("m"), time.Hour, nil, true},
		"openshift says nothing yet":          {room, openshiftMachine("m"), time.Minute, nil, false},
		"openshift says it":                   {room, openshiftMachine("m", failsWith("given up: no room", machinev1.InsufficientResourcesMachineError)), time.Hour, nil, false},
		"openshift says another reason":       {room, openshiftMachine("m", failsWith("given up: no room", machinev1.CreateMachineError)), time.Hour, nil, true},
		"openshift says another cause":        {unfit, openshiftMachine("m", failsWith("given up: no room", machinev1.CreateMachineError)), time.Hour, nil, true},
		"openshift only remarks what is over": {Cause{Text: "the host restarts", Final: true}, openshiftMachine("m", waits), time.Hour, nil, true},
		"openshift waits and says for what":   {mending, openshiftMachine("m", waits), time.Hour, nil, false},
		"openshift waits and does not say":    {mending, openshiftMachine("m"), time.Hour, nil, true},
		"gardener says nothing":               {unfit, gardenerMachine("m", crashes(v1alpha1.MachinePending, "creating", "")), time.Hour, nil, true},
		"gardener says it":                    {room, gardenerMachine("m", crashes(v1alpha1.MachineCrashLoopBackOff, "no room", "ResourceExhausted")), time.Hour, nil, false},
		"gardener says it without the code":   {room, gardenerMachine("m", crashes(v1alpha1.MachineCrashLoopBackOff, "no room", "Internal")), time.Hour, nil, true},
		"it goes":                             {room, openshiftMachine("m", func(m *machinev1.Machine) { m.DeletionTimestamp = &metav1.Time{} }), time.Hour, nil, false},
		"it has another instance": {
			room, openshiftMachine("m"), time.Hour,
			func(s *scene) { s.instances = append(s.instances, Instance{ID: "i-2", UID: "m"}) }, false,
		},
		"it recorded another instance": {room, openshiftMachine("m", func(m *machinev1.Machine) { m.Spec.ProviderID = ptr.To("sim:///i-7") }), time.Hour, nil, false},
		"a node of that name": {
			room, openshiftMachine("m"), time.Hour,
			func(s *scene) { s.write(nil, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "node"}}) }, false,
		},
		"it had failed before": {
			room, openshiftMachine("m", failsWith("too late", machinev1.JoinClusterTimeoutMachineError)), time.Hour,
			func(s *scene) { s.instances[0].Cause.Since = s.now.Add(time.Minute) }, false,
		},
		"gardener said it until it ran out of time": {
			room, gardenerMachine("m", crashes(v1alpha1.MachineCrashLoopBackOff, "no room", "ResourceExhausted")), time.Hour,
			func(s *scene) {
				s.write(nil, gardenerMachine("m", crashes(v1alpha1.MachineFailed, "too late", "DeadlineExceeded")))
			}, false,
		},
		"the faults have just stopped": {room, openshiftMachine("m"), time.Hour, func(s *scene) { s.judge.calm = s.now.Add(59 * time.Minute) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := bothAPIs(c.cause)
			s.write(nil, c.m)
			if c.edit != nil {
				c.edit(s)
			}
			s.now = s.now.Add(c.after)
			s.judge.judgeCauses()
			if got := slices.Contains(s.broken, CauseReported); got != c.broken {
				t.Errorf("broken: %v, want %v", s.broken, c.broken)
			}
		})
	}
}

func TestHaste(t *testing.T) {
	final, mending := Cause{Text: "no room", Final: true}, Cause{Text: "the host restarts"}
	failed := failsWith("x", machinev1.CreateMachineError)
	patient := func(m *machinev1.Machine) { m.Annotations = map[string]string{creationTimeout: "5m"} }
	for name, c := range map[string]struct {
		cause    Cause
		old, now client.Object
		after    time.Duration
		broken   bool
	}{
		"gardener at once": {final, gardenerMachine("m", crashes("Pending", "", "")), gardenerMachine("m", crashes("Failed", "", "")), time.Minute, true},
		"gardener in time": {final, gardenerMachine("m", crashes("Pending", "", "")), gardenerMachine("m", crashes("Failed", "", "")), 20 * time.Minute, false},
		"gardener again":   {final, gardenerMachine("m", crashes("Failed", "", "")), gardenerMachine("m", crashes("Failed", "", "")), time.Minute, false},
		"gardener, of another instance": {
			Cause{}, gardenerMachine("m", crashes("Pending", "", "")), gardenerMachine("m", crashes("Failed", "", "")), time.Minute, false,
		},
		"openshift at once":                  {final, openshiftMachine("m"), openshiftMachine("m", failed), time.Minute, false},
		"openshift, what may be mended":      {mending, openshiftMachine("m"), openshiftMachine("m", failed), time.Hour, true},
		"openshift, with a timeout":          {mending, openshiftMachine("m", patient), openshiftMachine("m", patient, failed), 5 * time.Minute, false},
		"openshift, sooner than its timeout": {mending, openshiftMachine("m", patient), openshiftMachine("m", patient, failed), time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := bothAPIs(c.cause)
			s.write(nil, c.old)
			s.now = s.now.Add(c.after)
			s.judge.MachineWritten(s.begin(Machines, 1), c.old, c.now)
			if got := slices.Contains(s.broken, NoHaste); got != c.broken {
				t.Errorf("broken: %v, want %v", s.broken, c.broken)
			}
		})
	}
}

// TestHasteAboutWhatIsGone: the cloud repairs only existing instances. In the API that fails machines without an instance, a
// machine fails at once, even if the cloud had announced a repair; in the other API it waits for its timeout (world 100315687).
func TestHasteAboutWhatIsGone(t *testing.T) {
	failed := failsWith("can't find created instance: the host restarts", machinev1.CreateMachineError)
	patient := func(m *machinev1.Machine) { m.Annotations = map[string]string{creationTimeout: "5m"} }
	pending, lost := gardenerMachine("m", crashes("Pending", "", "")), gardenerMachine("m", crashes("Failed", "", ""))
	for name, c := range map[string]struct {
		old, now client.Object
		gone     time.Duration
		broken   bool
	}{
		"openshift, gone":                 {openshiftMachine("m"), openshiftMachine("m", failed), 30 * time.Second, false},
		"openshift, gone this moment":     {openshiftMachine("m"), openshiftMachine("m", failed), time.Minute, false},
		"openshift, about to go":          {openshiftMachine("m"), openshiftMachine("m", failed), time.Minute + time.Second, true},
		"openshift, gone, with a timeout": {openshiftMachine("m", patient), openshiftMachine("m", patient, failed), 30 * time.Second, false},
		"gardener, gone":                  {pending, lost, 30 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := bothAPIs(Cause{Text: "the host restarts"})
			s.instances[0].Gone, s.instances[0].Died = s.now.Add(c.gone), true
			s.write(nil, c.old)
			s.now = s.now.Add(time.Minute)
			s.judge.MachineWritten(s.begin(Machines, 1), c.old, c.now)
			if got := slices.Contains(s.broken, NoHaste); got != c.broken {
				t.Errorf("broken: %v, want %v", s.broken, c.broken)
			}
		})
	}
}
