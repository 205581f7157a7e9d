package controlplanemachineset

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/dialect/failuredomain"
	"github.com/millwright-dev/millwright/internal/engine/controlplane"
)

func TestMain(m *testing.M) {
	logf.SetLogger(logr.Discard())
	os.Exit(devplanetest.Main(m, devplanetest.Options{}))
}

// stage is a namespace of a real API server with a control plane of three machines, whose kubelets and cloud the test plays.
type stage struct {
	client.Client
	*testing.T
	namespace string
	r         *Reconciler
	options   Options
	events    *events.FakeRecorder
	// fate decides what happens to a write of the controller; nil: it is carried out.
	fate func() fate
	// delays: the next creation of a machine reaches the API server only after the next pass has listed the machines. late is that creation.
	delays bool
	late   func() error
	// created and deleted are the machines that the controller created and deleted, by name.
	created, deleted []string
}

// fate is what happens to a write.
type fate int

const (
	carriedOut fate = iota
	lostRequest
	lostReply
)

// errKilled ends a pass like the end of its process.
var errKilled = errors.New("killed")

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{T: t, namespace: devplanetest.Namespace(t), events: events.NewFakeRecorder(1000)}
	config := devplanetest.Start(t).Config
	_, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{Paths: []string{"../../../config/control-plane-machine-set/machine.openshift.io_controlplanemachinesets.yaml"}, MaxTime: time.Minute})
	s.must(err)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, machinev1beta1.Install, AddToScheme} {
		s.must(add(scheme))
	}
	direct, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	s.must(err)
	s.Client = direct
	s.options = Options{Client: s.fated(direct), Live: s.listing(direct), Nodes: direct, Namespace: s.namespace, Recorder: s.events, Release: "1.2.3"}
	s.r = New(s.options)
	t.Cleanup(s.clean)
	return s
}

// clean removes the nodes, which all tests of the package share.
func (s *stage) clean() {
	var nodes corev1.NodeList
	if err := s.List(context.Background(), &nodes); err != nil {
		s.Error(err)
	}
	for i := range nodes.Items {
		if err := client.IgnoreNotFound(s.Delete(context.Background(), &nodes.Items[i])); err != nil {
			s.Error(err)
		}
	}
}

// listing returns a client whose list of machines is followed by a late creation.
func (s *stage) listing(c client.WithWatch) client.Client {
	return interceptor.NewClient(c, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			if _, is := list.(*machinev1beta1.MachineList); is && s.late != nil && err == nil {
				err, s.late = s.late(), nil
			}
			return err
		},
	})
}

// fated returns a client whose writes have a fate.
func (s *stage) fated(c client.WithWatch) client.Client {
	write := func(do func() error) error {
		f := carriedOut
		if s.fate != nil {
			f = s.fate()
		}
		if f == lostRequest {
			return errKilled
		}
		if err := do(); err != nil || f == carriedOut {
			return err
		}
		return errKilled
	}
	return interceptor.NewClient(c, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			_, machine := o.(*machinev1beta1.Machine)
			do := func() error {
				err := c.Create(ctx, o, opts...)
				if machine && err == nil {
					s.created = append(s.created, o.GetName())
				}
				return err
			}
			if machine && s.delays {
				s.delays, s.late = false, do
				return errKilled
			}
			return write(do)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return write(func() error {
				if _, is := o.(*machinev1beta1.Machine); is {
					s.replaced(o.GetName())
					s.deleted = append(s.deleted, o.GetName())
				}
				return c.Delete(ctx, o, opts...)
			})
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return write(func() error { return c.Patch(ctx, o, p, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			return write(func() error { return c.SubResource(sub).Patch(ctx, o, p, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			return write(func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
		},
	})
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// replaced fails the test unless another machine of the index is ready and stays.
func (s *stage) replaced(name string) {
	index, _ := controlplane.Index(name)
	for _, m := range s.machines() {
		other, _ := controlplane.Index(m.Name)
		if other == index && m.Name != name && m.DeletionTimestamp == nil && ptr.Deref(m.Status.Phase, "") == machinev1beta1.PhaseRunning {
			return
		}
	}
	s.Errorf("machine %s is deleted before its replacement is ready", name)
}

const (
	cluster  = "c1"
	template = `{"apiVersion": "machine.openshift.io/v1beta1", "kind": "AWSMachineProviderConfig", "instanceType": %q, "later": {"kept": true}, "placement": {"region": "r"%s}}`
)

func rawSpec(instance, zone string) []byte {
	if zone != "" {
		zone = fmt.Sprintf(`, "availabilityZone": %q`, zone)
	}
	return fmt.Appendf(nil, template, instance, zone)
}

func masterLabels() map[string]string {
	return map[string]string{machinev1beta1.MachineClusterIDLabel: cluster, failuredomain.RoleLabel: failuredomain.Master, failuredomain.TypeLabel: failuredomain.Master}
}

// masters creates a running machine in each zone.
func (s *stage) masters(zones ...string) {
	s.Helper()
	for i, zone := range zones {
		m := &machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: fmt.Sprintf("old-master-%d", i), Labels: masterLabels()}}
		m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: rawSpec("m5", zone)}
		s.must(s.Create(s.Context(), m))
	}
	s.live(nil)
}

// set creates an active set with the failure domains a, b and c.
func (s *stage) set(change func(*machinev1.ControlPlaneMachineSet)) *machinev1.ControlPlaneMachineSet {
	s.Helper()
	set := &machinev1.ControlPlaneMachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: Name}}
	list := []machinev1.AWSFailureDomain{}
	for _, zone := range []string{"a", "b", "c"} {
		list = append(list, machinev1.AWSFailureDomain{Placement: machinev1.AWSFailureDomainPlacement{AvailabilityZone: zone}})
	}
	set.Spec = machinev1.ControlPlaneMachineSetSpec{
		Replicas: ptr.To(int32(3)), State: machinev1.ControlPlaneMachineSetStateActive, Selector: metav1.LabelSelector{MatchLabels: masterLabels()},
		Template: machinev1.ControlPlaneMachineSetTemplate{
			MachineType: machinev1.OpenShiftMachineV1Beta1MachineType,
			OpenShiftMachineV1Beta1Machine: &machinev1.OpenShiftMachineV1Beta1MachineTemplate{
				FailureDomains: &machinev1.FailureDomains{Platform: configv1.AWSPlatformType, AWS: &list},
				ObjectMeta:     machinev1.ControlPlaneMachineSetTemplateObjectMeta{Labels: masterLabels(), Annotations: map[string]string{"note": "kept"}},
				Spec:           machinev1beta1.MachineSpec{ProviderSpec: machinev1beta1.ProviderSpec{Value: &runtime.RawExtension{Raw: rawSpec("m5", "")}}},
			},
		},
	}
	if change != nil {
		change(set)
	}
	s.must(s.Create(s.Context(), set))
	return set
}

func onDelete(set *machinev1.ControlPlaneMachineSet) { set.Spec.Strategy.Type = machinev1.OnDelete }

func instance(kind string) func(*machinev1.ControlPlaneMachineSet) {
	return func(set *machinev1.ControlPlaneMachineSet) {
		set.Spec.Template.OpenShiftMachineV1Beta1Machine.Spec.ProviderSpec.Value.Raw = rawSpec(kind, "")
	}
}

// edit changes the set, as a user does.
func (s *stage) edit(change func(*machinev1.ControlPlaneMachineSet)) {
	s.Helper()
	set := s.read()
	before := set.DeepCopy()
	change(set)
	s.must(s.Patch(s.Context(), set, client.MergeFrom(before)))
}

func (s *stage) read() *machinev1.ControlPlaneMachineSet {
	s.Helper()
	set := &machinev1.ControlPlaneMachineSet{}
	s.must(s.Get(s.Context(), client.ObjectKey{Namespace: s.namespace, Name: Name}, set))
	return set
}

// condition is the status and the reason of a condition of the set.
func (s *stage) condition(kind string) string {
	s.Helper()
	c := meta.FindStatusCondition(s.read().Status.Conditions, kind)
	if c == nil {
		return "absent"
	}
	return string(c.Status) + " " + c.Reason
}

func (s *stage) machines() []machinev1beta1.Machine {
	s.Helper()
	var list machinev1beta1.MachineList
	s.must(s.List(s.Context(), &list, client.InNamespace(s.namespace)))
	slices.SortFunc(list.Items, func(a, b machinev1beta1.Machine) int {
		x, _ := controlplane.Index(a.Name)
		y, _ := controlplane.Index(b.Name)
		return cmp.Or(cmp.Compare(x, y), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), -cmp.Compare(a.Name, b.Name))
	})
	return list.Items
}

// text is the index, the type, the zone and the state of each machine.
func (s *stage) text() string {
	s.Helper()
	var out []string
	for _, m := range s.machines() {
		var spec struct {
			InstanceType string
			Placement    struct{ AvailabilityZone string }
		}
		s.must(json.Unmarshal(m.Spec.ProviderSpec.Value.Raw, &spec))
		index, _ := controlplane.Index(m.Name)
		text := fmt.Sprintf("%d %s %s", index, spec.InstanceType, spec.Placement.AvailabilityZone)
		if m.DeletionTimestamp != nil {
			text += " deleting"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// pass makes one pass. After a fatal write, a new process continues.
func (s *stage) pass() {
	s.Helper()
	_, err := s.r.Reconcile(s.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: s.namespace, Name: Name}})
	if errors.Is(err, errKilled) {
		s.r = New(s.options)
		return
	}
	s.must(err)
}

const hold = "machine.machine.openshift.io"

// live lets machines run and gives them nodes, and removes those under deletion that no hook holds. It acts for machines that wants selects; nil: for all.
func (s *stage) live(wants func(machinev1beta1.Machine) bool) {
	s.Helper()
	for _, m := range s.machines() {
		if wants != nil && !wants(m) {
			continue
		}
		before := m.DeepCopy()
		switch {
		case m.DeletionTimestamp != nil && len(m.Spec.LifecycleHooks.PreDrain) == 0:
			s.must(client.IgnoreNotFound(s.Delete(s.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.node(m.Name)}})))
			m.Finalizers = nil
			s.must(s.Patch(s.Context(), &m, client.MergeFrom(before)))
		case m.DeletionTimestamp == nil && m.Status.NodeRef == nil:
			m.Finalizers = []string{hold}
			s.must(s.Patch(s.Context(), &m, client.MergeFrom(before)))
			s.join(m.Name, corev1.ConditionTrue)
			before = m.DeepCopy()
			m.Status.Phase, m.Status.NodeRef = ptr.To(machinev1beta1.PhaseRunning), &corev1.ObjectReference{Kind: "Node", Name: s.node(m.Name)}
			s.must(s.Status().Patch(s.Context(), &m, client.MergeFrom(before)))
		}
	}
}

func (s *stage) node(machine string) string { return s.namespace + "-" + machine }

// join creates a node of the control plane.
func (s *stage) join(machine string, ready corev1.ConditionStatus) {
	s.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.node(machine), Labels: map[string]string{nodeRoles[0]: ""}}}
	s.must(s.Create(s.Context(), n))
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour))}}
	s.must(s.Status().Update(s.Context(), n))
}

// settle makes passes and lets machines live until the machines and the set do not change any more.
func (s *stage) settle(live func(machinev1beta1.Machine) bool) {
	s.Helper()
	before, rest := "", 0
	for range 200 {
		s.pass()
		s.live(live)
		s.onePerIndex()
		set := s.read()
		now := fmt.Sprint(set.ResourceVersion, s.text())
		if rest++; now != before {
			before, rest = now, 0
		}
		if rest > 3 {
			return
		}
	}
	s.Fatalf("the control plane does not come to rest: %s", s.text())
}

// onePerIndex fails the test if an index has two machines of the same spec that stay, or if there are more than four machines that stay.
func (s *stage) onePerIndex() {
	s.Helper()
	seen, stays := map[string]bool{}, 0
	for _, m := range s.machines() {
		index, _ := controlplane.Index(m.Name)
		key := fmt.Sprint(index, string(m.Spec.ProviderSpec.Value.Raw))
		if m.DeletionTimestamp != nil {
			continue
		}
		if stays++; seen[key] || stays > 4 {
			s.Fatalf("a second replacement: %s", s.text())
		}
		seen[key] = true
	}
}

// published is the folder of the module github.com/openshift/api.
func published(t *testing.T) string {
	t.Helper()
	raw, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/openshift/api").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Clean(strings.TrimSpace(string(raw)))
}

func devplaneConfig(t *testing.T) *rest.Config { return devplanetest.Start(t).Config }
