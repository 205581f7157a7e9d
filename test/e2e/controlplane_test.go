package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/admission/certs"
	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

const (
	controlPlaneOperator = "control-plane-machine-set-operator"
	controlPlaneManifest = "../../config/control-plane-machine-set/"
	millwrightSystem     = "millwright-system"
)

// mastersOf is a cluster whose control plane is three machines of the simulated cloud.
type mastersOf struct {
	place
	plane     *devplane.ControlPlane
	namespace string
	limited   place // with the rights of the operator
	// name and args are the command line of the operator.
	name     string
	args     []string
	operator *started
	// seen are all machines that ever existed, joined those whose node is ready.
	seen, joined map[string]bool
}

// manifestObjects are the objects of a manifest.
func manifestObjects(t *testing.T, file string) (out []*unstructured.Unstructured) {
	t.Helper()
	raw, err := os.ReadFile(filepath.FromSlash(controlPlaneManifest + file))
	if err != nil {
		t.Fatal(err)
	}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096); ; {
		o := &unstructured.Unstructured{}
		if err := decoder.Decode(&o.Object); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		if len(o.Object) > 0 {
			out = append(out, o)
		}
	}
}

// TestControlPlaneMachineSet: the real programs, with the rights of the manifests, replace the machines of a control plane one after the other. A hook holds each old machine, as
// etcd's operator does, the operator is killed at each step, and the webhook refuses invalid sets.
func TestControlPlaneMachineSet(t *testing.T) {
	t.Parallel()
	m := newMasters(t, millwrightSystem)
	for _, file := range []string{"service_account.yaml", "rights.yaml", "secret.yaml"} {
		for _, o := range manifestObjects(t, file) {
			m.place.create(t, o)
		}
	}
	for _, file := range []string{"deployment.yaml", "service.yaml"} { // no kubelet runs them
		for _, o := range manifestObjects(t, file) {
			if err := m.Create(t.Context(), o, client.DryRunAll); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.limit(t, "system:serviceaccount:"+millwrightSystem+":"+controlPlaneOperator)
	m.webhook(t, nil)
	m.args = append(m.args, "--namespace="+millwrightSystem, "--webhook-cert-dir="+t.TempDir())
	m.replacesAll(t, controlPlaneOperator)
	m.operator.ends(t)
}

// TestInPlaceOfControlPlaneMachineSetOperator: the program has the name, the command line, the roles and the certificate of the original.
func TestInPlaceOfControlPlaneMachineSetOperator(t *testing.T) {
	t.Parallel()
	m := newMasters(t, fleet.OpenShiftNamespace)
	const user = "system:serviceaccount:" + fleet.OpenShiftNamespace + ":" + controlPlaneOperator
	m.grant(t, user, "testdata/originals/control-plane-roles.yaml")
	m.limit(t, user)
	dir := t.TempDir()
	made, err := certs.Material{}.Renewed(time.Now(), []string{"127.0.0.1"})
	for name, raw := range map[string][]byte{"tls.crt": made.Cert, "tls.key": made.Key} {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), raw, 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	m.webhook(t, made.Bundle)
	m.args = append(m.args, "--leader-elect=true", "--leader-elect-resource-namespace="+fleet.OpenShiftNamespace, "--webhook-cert-dir="+dir)
	m.replacesAll(t, "manager")
	m.missesRights(t)
}

// replacesAll is the story of both tests.
func (m *mastersOf) replacesAll(t *testing.T, name string) {
	t.Helper()
	m.name = name
	m.begin(t)
	m.leads(t, m.namespace, "control-plane-machine-set-leader")
	m.masters(t)
	m.refuses(t)
	m.place.create(t, m.masterSet("m5"))
	m.settles(t, "at rest", "True AllReplicasAvailable", "False AllReplicasUpdated")
	if len(m.seen) != 3 {
		t.Fatalf("machines %v", m.seen)
	}
	m.hook(t, true)

	set := m.set(t)
	before := set.DeepCopy()
	set.Spec.Template.OpenShiftMachineV1Beta1Machine.Spec.ProviderSpec.Value = masterSpec("m6")
	if err := m.Patch(t.Context(), set, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	for index := range 3 {
		m.awaits(t, fmt.Sprintf("index %d: the replacement runs, and the hook holds the old machine", index), func(machines []machinev1beta1.Machine) string {
			var old, replacement bool
			for _, o := range machines {
				ours := strings.HasSuffix(o.Name, fmt.Sprint("-", index))
				old = old || ours && o.DeletionTimestamp != nil
				replacement = replacement || ours && o.DeletionTimestamp == nil && ptr.Deref(o.Status.Phase, "") == machinev1beta1.PhaseRunning
			}
			if !old || !replacement || len(machines) != 4 {
				return fmt.Sprintf("%d machines, old %v, replacement %v", len(machines), old, replacement)
			}
			return ""
		})
		m.killed(t)
		m.hook(t, false)
	}
	m.settles(t, "done", "True AllReplicasAvailable", "False AllReplicasUpdated")
	if len(m.seen) != 6 {
		t.Errorf("machines %v, want three old and three new ones", m.seen)
	}
	m.rests(t, 8*time.Second, machinev1beta1.GroupVersion.WithKind("Machine"), machinev1.GroupVersion.WithKind("ControlPlaneMachineSet"))
}

// missesRights stops the operator, whose log has no errors besides those about the rights that the original's role lacks: to read the DNS of the cluster, and to record events of
// events.k8s.io, such as that of the lease.
func (m *mastersOf) missesRights(t *testing.T) {
	t.Helper()
	_ = m.operator.Process.Signal(syscall.SIGTERM)
	if err := <-m.operator.done; err != nil {
		t.Errorf("the operator ended with %v", err)
	}
	for line := range strings.Lines(m.operator.said(t)) {
		known := strings.Contains(line, "dnses.config.openshift.io") || strings.Contains(line, "events.events.k8s.io is forbidden") || strings.Contains(line, "context canceled")
		if strings.HasPrefix(line, "E") && !known {
			t.Errorf("the operator logs an error: %s", line)
		}
	}
}

func newMasters(t *testing.T, namespace string) *mastersOf {
	t.Helper()
	p, plane := bare(t)
	m := &mastersOf{place: p, plane: plane, limited: p, namespace: namespace, seen: map[string]bool{}, joined: map[string]bool{}}
	if err := machinev1.Install(p.Scheme()); err != nil {
		t.Fatal(err)
	}
	p.install(t, machinev1beta1.GroupName, "MachineDeployment")
	p.create(t, manifestObjects(t, "machine.openshift.io_controlplanemachinesets.yaml")[0])
	if namespace == millwrightSystem {
		p.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	}
	return m
}

// grant gives a user the roles of a file, and creates the namespace.
func (m *mastersOf) grant(t *testing.T, user, roles string) {
	t.Helper()
	m.place.grant(t, user, roles, m.namespace)
}

// limit lets the operator run as a user.
func (m *mastersOf) limit(t *testing.T, user string) {
	t.Helper()
	raw, err := m.plane.Kubeconfig(user)
	m.limited.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err == nil {
		err = os.WriteFile(m.limited.kubeconfig, raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// webhook installs the configuration of the webhook, with a CA; nil: the operator writes it.
func (m *mastersOf) webhook(t *testing.T, ca []byte) {
	t.Helper()
	port := devplanetest.FreePort(t)
	hook := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(manifestObjects(t, "validating.yaml")[0].Object, hook); err != nil {
		t.Fatal(err)
	}
	call := &hook.Webhooks[0].ClientConfig
	call.URL, call.Service, call.CABundle = ptr.To(fmt.Sprintf("https://127.0.0.1:%d%s", port, *call.Service.Path)), nil, ca
	m.place.create(t, hook)
	m.args = []string{
		"--v=2", "--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=500ms",
		"--metrics-bind-address=" + devplanetest.FreeAddress(t), fmt.Sprintf("--webhook-port=%d", port),
	}
}

// masters creates three machines, and waits until they run.
func (m *mastersOf) masters(t *testing.T) {
	t.Helper()
	m.place.start(t, fleet.Machines, "machine-controller-manager", "", "--namespace="+m.namespace, "--kubemark-backend=memory", "--leader-elect=false",
		"--metrics-bind-address="+devplanetest.FreeAddress(t), "--health-addr="+devplanetest.FreeAddress(t))
	for i := range 3 {
		o := &machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: fmt.Sprintf("old-master-%d", i), Labels: ofMasters()}}
		o.Spec.ProviderSpec.Value = masterSpec("m5")
		m.place.create(t, o)
	}
	m.awaits(t, "machines run", func(machines []machinev1beta1.Machine) string {
		running := 0
		for _, o := range machines {
			if ptr.Deref(o.Status.Phase, "") == machinev1beta1.PhaseRunning {
				running++
			}
		}
		if running != 3 {
			return fmt.Sprintf("%d run", running)
		}
		return ""
	})
}

// begin starts the operator.
func (m *mastersOf) begin(t *testing.T) {
	t.Helper()
	health := devplanetest.FreeAddress(t)
	m.operator = m.limited.start(t, controlPlaneOperator, m.name, health, append(slices.Clone(m.args), "--health-probe-bind-address="+health)...)
	m.operator.answers(t, "/healthz", 200)
}

// killed kills the operator, without a chance to end anything, and starts another process.
func (m *mastersOf) killed(t *testing.T) {
	t.Helper()
	if err := m.operator.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-m.operator.done
	m.begin(t)
}

func ofMasters() map[string]string {
	return map[string]string{
		machinev1beta1.MachineClusterIDLabel: "c1", "machine.openshift.io/cluster-api-machine-role": "master", "machine.openshift.io/cluster-api-machine-type": "master",
	}
}

func masterSpec(instance string) *runtime.RawExtension {
	return &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"apiVersion": "kubemarkproviderconfig.k8s.io/v1beta1", "kind": "KubemarkMachineProviderConfig", "instanceType": %q}`, instance)}
}

func (m *mastersOf) masterSet(instance string) *machinev1.ControlPlaneMachineSet {
	return &machinev1.ControlPlaneMachineSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "cluster"},
		Spec: machinev1.ControlPlaneMachineSetSpec{
			Replicas: ptr.To(int32(3)), State: machinev1.ControlPlaneMachineSetStateActive, Selector: metav1.LabelSelector{MatchLabels: ofMasters()},
			Template: machinev1.ControlPlaneMachineSetTemplate{
				MachineType: machinev1.OpenShiftMachineV1Beta1MachineType,
				OpenShiftMachineV1Beta1Machine: &machinev1.OpenShiftMachineV1Beta1MachineTemplate{
					ObjectMeta: machinev1.ControlPlaneMachineSetTemplateObjectMeta{Labels: ofMasters()},
					Spec:       machinev1beta1.MachineSpec{ProviderSpec: machinev1beta1.ProviderSpec{Value: masterSpec(instance)}},
				},
			},
		},
	}
}

func (m *mastersOf) set(t *testing.T) *machinev1.ControlPlaneMachineSet {
	t.Helper()
	set := &machinev1.ControlPlaneMachineSet{}
	if err := m.Get(t.Context(), client.ObjectKey{Namespace: m.namespace, Name: "cluster"}, set); err != nil {
		t.Fatal(err)
	}
	return set
}

// refuses waits until the webhook refuses sets that the schema accepts.
func (m *mastersOf) refuses(t *testing.T) {
	t.Helper()
	for about, c := range map[string]struct {
		change func(*machinev1.ControlPlaneMachineSet)
		want   string
	}{
		"another name":  {func(s *machinev1.ControlPlaneMachineSet) { s.Name = "other" }, "control plane machine set name must be cluster"},
		"five machines": {func(s *machinev1.ControlPlaneMachineSet) { s.Spec.Replicas = ptr.To(int32(5)) }, "control plane machine set replicas (5) does not match the current number of control plane machines (3)"},
		"other labels":  {func(s *machinev1.ControlPlaneMachineSet) { s.Spec.Selector.MatchLabels = map[string]string{"a": "b"} }, "selector does not match template labels"},
	} {
		eventually(t, about, func(ctx context.Context) (string, error) {
			set := m.masterSet("m5")
			c.change(set)
			if err := m.Create(ctx, set, client.DryRunAll); err == nil || !strings.Contains(err.Error(), c.want) {
				return fmt.Sprintf("the answer is %v", err), nil
			}
			return "", nil
		})
	}
}

// hook adds the hook of etcd to all machines that stay, or removes it from those under deletion.
func (m *mastersOf) hook(t *testing.T, add bool) {
	t.Helper()
	var list machinev1beta1.MachineList
	if err := m.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		o := &list.Items[i]
		before := o.DeepCopy()
		switch {
		case add && o.DeletionTimestamp == nil:
			o.Spec.LifecycleHooks.PreDrain = []machinev1beta1.LifecycleHook{{Name: "EtcdQuorumOperator", Owner: "clusteroperator/etcd"}}
		case !add && o.DeletionTimestamp != nil:
			o.Spec.LifecycleHooks.PreDrain = nil
		default:
			continue
		}
		if err := client.IgnoreNotFound(m.Patch(t.Context(), o, client.MergeFrom(before))); err != nil {
			t.Fatal(err)
		}
	}
}

// awaits waits for a state of the machines. Meanwhile instances join, and no index may have a second replacement.
func (m *mastersOf) awaits(t *testing.T, about string, look func([]machinev1beta1.Machine) string) {
	t.Helper()
	eventually(t, about, func(ctx context.Context) (string, error) {
		var list machinev1beta1.MachineList
		if err := m.List(ctx, &list); err != nil {
			return "", err
		}
		stays := 0
		for _, o := range list.Items {
			m.seen[o.Name] = true
			if o.DeletionTimestamp == nil {
				stays++
			}
			if id := ptr.Deref(o.Spec.ProviderID, ""); id != "" && !m.joined[o.Name] && o.DeletionTimestamp == nil {
				if err := m.join(ctx, o.Name, id); err != nil {
					return "", err
				}
				m.joined[o.Name] = true
			}
		}
		if stays > 4 {
			t.Fatalf("%d machines stay", stays)
		}
		return look(list.Items), nil
	})
}

// settles waits until the set reports the conditions.
func (m *mastersOf) settles(t *testing.T, about, available, progressing string) {
	t.Helper()
	m.awaits(t, about, func([]machinev1beta1.Machine) string {
		set, got := m.set(t), map[string]string{}
		for _, c := range set.Status.Conditions {
			got[c.Type] = string(c.Status) + " " + c.Reason
		}
		if got["Available"] != available || got["Progressing"] != progressing || got["Degraded"] != "False AsExpected" || set.Status.ObservedGeneration != set.Generation || set.Status.Replicas != 3 {
			return fmt.Sprint(got, set.Status.Replicas)
		}
		return ""
	})
}
