package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/forecast"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
	"github.com/millwright-dev/millwright/internal/plugin/connect"
	"github.com/millwright-dev/millwright/internal/plugin/survey"
)

var update = flag.Bool("update", false, "write the golden files anew")

var planNow = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

const planSpace = "blue"

func before(d time.Duration) metav1.Time { return metav1.NewTime(planNow.Add(-d)) }

// planWorld has, in the API, a set "mill" of three machines and a deployment "fleet" with a set of three; each machine has a node.
func planWorld(api string) []client.Object {
	if api == "openshift" {
		return openshiftWorld()
	}
	return gardenerWorld()
}

func meta(name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: planSpace, Name: name, UID: types.UID("uid-" + name), CreationTimestamp: before(24 * time.Hour), Generation: 1, Labels: labels}
}

// joined is the node of a machine that was made so long ago and took two minutes to be ready.
func joined(name string, age time.Duration) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: before(age - time.Minute)},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: before(age - 2*time.Minute)}}},
	}
}

// age is that of the machine of that number: all differ.
func age(i int) time.Duration { return time.Duration(10-i) * time.Hour }

func openshiftWorld() (out []client.Object) {
	template := machinev1.MachineTemplateSpec{
		ObjectMeta: machinev1.ObjectMeta{Labels: map[string]string{"pool": "mill"}},
		Spec:       machinev1.MachineSpec{ProviderSpec: machinev1.ProviderSpec{Value: &runtime.RawExtension{Raw: []byte(`{"size":"small"}`)}}},
	}
	s := &machinev1.MachineSet{ObjectMeta: meta("mill", nil), Spec: machinev1.MachineSetSpec{
		Replicas: ptr.To[int32](3), DeletePolicy: "Oldest", Selector: metav1.LabelSelector{MatchLabels: map[string]string{"pool": "mill"}}, Template: template,
	}}
	d := &v1beta1.MachineDeployment{ObjectMeta: meta("fleet", nil), Spec: v1beta1.MachineDeploymentSpec{
		Replicas: ptr.To[int32](3), Selector: metav1.LabelSelector{MatchLabels: map[string]string{"pool": "fleet"}}, Template: *template.DeepCopy(),
		Strategy: v1beta1.MachineDeploymentStrategy{RollingUpdate: &v1beta1.MachineRollingUpdateDeployment{MaxSurge: ptr.To(intstr.FromInt32(1)), MaxUnavailable: ptr.To(intstr.FromInt32(0))}},
	}}
	d.Spec.Template.Labels = map[string]string{"pool": "fleet"}
	owned := openshift.Deployments{}.Sets().New(d, rollout.SetWant{Replicas: 3, Revision: 1, Desired: ptr.To(3), Max: ptr.To(4)})
	owned.UID, owned.CreationTimestamp, owned.Generation = "uid-owned", before(24*time.Hour), 1
	d.Annotations = map[string]string{openshift.RevisionAnnotation: "1"}
	for _, s := range []*machinev1.MachineSet{s, owned} {
		s.Status = machinev1.MachineSetStatus{Replicas: 3, ReadyReplicas: 3, AvailableReplicas: 3, FullyLabeledReplicas: 3, ObservedGeneration: 1}
		for i := range 3 {
			name := fmt.Sprintf("%s-%c", s.Name, 'a'+i)
			m := openshift.Sets{}.NewMachine(s, name).(*machinev1.Machine)
			m.UID, m.CreationTimestamp, m.Generation = types.UID("uid-"+name), before(age(i)), 1
			m.Spec.ProviderID = ptr.To("test:///" + name)
			m.Status.Phase, m.Status.NodeRef = ptr.To(machinev1.PhaseRunning), &corev1.ObjectReference{Kind: "Node", Name: name}
			out = append(out, m, joined(name, age(i)))
		}
		out = append(out, s)
	}
	return append(out, d)
}

func gardenerWorld() (out []client.Object) {
	template := v1alpha1.MachineTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"pool": "mill"}},
		Spec:       v1alpha1.MachineSpec{Class: v1alpha1.ClassSpec{Kind: "MachineClass", Name: "small"}},
	}
	s := &v1alpha1.MachineSet{ObjectMeta: meta("mill", nil), Spec: v1alpha1.MachineSetSpec{
		Replicas: 3, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"pool": "mill"}}, Template: template,
	}}
	s.Finalizers = []string{v1alpha1.FinalizerMachine}
	bounds := v1alpha1.UpdateConfiguration{MaxSurge: ptr.To(intstr.FromInt32(1)), MaxUnavailable: ptr.To(intstr.FromInt32(0))}
	d := &v1alpha1.MachineDeployment{ObjectMeta: meta("fleet", nil), Spec: v1alpha1.MachineDeploymentSpec{
		Replicas: 3, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"pool": "fleet"}}, Template: *template.DeepCopy(),
		Strategy: v1alpha1.MachineDeploymentStrategy{Type: v1alpha1.RollingUpdateMachineDeploymentStrategyType, RollingUpdate: &v1alpha1.RollingUpdateMachineDeployment{UpdateConfiguration: bounds}},
	}}
	d.Finalizers = []string{v1alpha1.FinalizerMachine}
	d.Spec.Template.Labels = map[string]string{"pool": "fleet"}
	owned := gardener.Deployments{}.Sets().New(d, rollout.SetWant{Replicas: 3, Revision: 1, Desired: ptr.To(3), Max: ptr.To(4)})
	owned.UID, owned.CreationTimestamp, owned.Generation = "uid-owned", before(24*time.Hour), 1
	d.Annotations = map[string]string{v1alpha1.AnnotationKeyRevision: "1"}
	for _, s := range []*v1alpha1.MachineSet{s, owned} {
		s.Status = v1alpha1.MachineSetStatus{Replicas: 3, ReadyReplicas: 3, AvailableReplicas: 3, FullyLabeledReplicas: 3, ObservedGeneration: 1}
		for i := range 3 {
			name := fmt.Sprintf("%s-%c", s.Name, 'a'+i)
			m := gardener.Sets{}.NewMachine(s, name).(*v1alpha1.Machine)
			m.UID, m.CreationTimestamp, m.Generation = types.UID("uid-"+name), before(age(i)), 1
			m.Spec.ProviderID = "test:///" + name
			m.Labels[v1alpha1.LabelKeyNode] = name
			m.Status.CurrentStatus = v1alpha1.CurrentStatus{Phase: v1alpha1.MachineRunning, LastUpdateTime: before(age(i))}
			out = append(out, m, joined(name, age(i)))
		}
		out = append(out, s)
	}
	class := func(name, machine string) *v1alpha1.MachineClass {
		return &v1alpha1.MachineClass{ObjectMeta: meta(name, nil), ProviderSpec: runtime.RawExtension{Raw: []byte(`{"size":"` + machine + `"}`)}}
	}
	return append(out, d, class("small", "s"), class("large", "l"))
}

// workload is a pod on a node that a disruption budget covers, which allows so many disruptions.
func workload(node string, n int, allowed int32, least string) (out []client.Object) {
	for i := range n {
		out = append(out, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "web", Name: fmt.Sprintf("web-%s-%d", node, i), UID: types.UID(fmt.Sprintf("uid-%s-%d", node, i)), Labels: map[string]string{"app": "web"},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "rs", Controller: ptr.To(true)}},
			},
			Spec: corev1.PodSpec{NodeName: node},
			Status: corev1.PodStatus{
				Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			},
		})
	}
	return append(out, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.Parse(least)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, ExpectedPods: 4, CurrentHealthy: 3, DesiredHealthy: 3},
	})
}

// removed are the events about a machine whose deletion took three minutes, the last of them after its drain.
func removed(api string) (out []client.Object) {
	of, _ := apis.Of(api)
	begin := of.Removal.Begins[0]
	for i, reason := range []string{begin, of.Removal.Ends} {
		at := before(time.Hour - 3*time.Minute*time.Duration(i))
		out = append(out, &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: planSpace, Name: fmt.Sprint("event-", i)}, Reason: reason, FirstTimestamp: at, LastTimestamp: at,
			InvolvedObject: corev1.ObjectReference{APIVersion: of.Name + "/" + of.Version, Kind: "Machine", Namespace: planSpace, Name: "mill-gone", UID: "uid-gone"},
		})
	}
	return out
}

// volumes are a pod on the oldest machine, its volume and another one, both attached there.
func volumes(string) []client.Object {
	out := workload("mill-a", 1, 1, "2")
	out[0].(*corev1.Pod).Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	for _, name := range []string{"pv-data", "pv-left"} {
		out = append(out, &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, ClaimRef: &corev1.ObjectReference{Namespace: "web", Name: strings.TrimPrefix(name, "pv-")},
			},
		}, &storagev1.VolumeAttachment{
			ObjectMeta: metav1.ObjectMeta{Name: "csi-" + name},
			Spec:       storagev1.VolumeAttachmentSpec{NodeName: "mill-a", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr.To(name)}},
			Status:     storagev1.VolumeAttachmentStatus{Attached: true},
		})
	}
	return out
}

// planCluster is a cluster that refuses what refuse names: "list *v1.NodeList", "patch *v1alpha1.MachineSet".
func planCluster(refuse []string, objects []client.Object) survey.Clusters {
	b := fake.NewClientBuilder().WithScheme(connect.Scheme()).WithObjects(objects...).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }).
		WithIndex(&corev1.Event{}, "involvedObject.kind", func(o client.Object) []string { return []string{o.(*corev1.Event).InvolvedObject.Kind} })
	for _, o := range []client.Object{
		&machinev1.Machine{}, &machinev1.MachineSet{}, &v1beta1.MachineDeployment{}, &lenient.MachineHealthCheck{},
		&v1alpha1.Machine{}, &v1alpha1.MachineSet{}, &v1alpha1.MachineDeployment{}, &v1alpha1.MachineClass{},
	} {
		b = b.WithIndex(o, "metadata.name", func(o client.Object) []string { return []string{o.GetName()} })
	}
	refused := func(verb string, o any) error {
		for _, r := range refuse {
			if r == fmt.Sprintf("%s %T", verb, o) {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", errors.New("not allowed"))
			}
		}
		return nil
	}
	c := interceptor.NewClient(b.Build(), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			if err := refused("list", l); err != nil {
				return err
			}
			return c.List(ctx, l, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := refused("create", o); err != nil {
				return err
			}
			return c.Create(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := refused("patch", o); err != nil {
				return err
			}
			return try(ctx, c, o, p)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if err := refused("delete", o); err != nil {
				return err
			}
			return c.Delete(ctx, o, opts...)
		},
	})
	return survey.Clusters{Control: c, Target: c}
}

// try answers as an API server that is asked for a trial: with the object as it would be. The fake one answers with what it has.
func try(ctx context.Context, c client.Client, o client.Object, p client.Patch) error {
	data, err := p.Data(o)
	if err != nil {
		return err
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return err
	}
	raw, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if raw, err = jsonpatch.MergePatch(raw, data); err != nil {
		return err
	}
	return json.Unmarshal(raw, o)
}

// ask runs the command and returns what it prints and its exit code.
func ask(c survey.Clusters, in string, args ...string) (text string, code int) {
	var out, errs bytes.Buffer
	p := newPlan(genericiooptions.IOStreams{In: strings.NewReader(in), Out: &out, ErrOut: &errs})
	p.connect = func() (survey.Clusters, string, error) { return c, planSpace, nil }
	p.now = func() time.Time { return planNow }
	p.patience = time.Minute // what a plan says does not depend on how fast the machine is
	cmd := p.command(name)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	err := cmd.ExecuteContext(context.Background())
	code, untold := ExitCode(err)
	if untold {
		fmt.Fprintln(&out, "error:", err)
	}
	return out.String() + errs.String(), code
}

// roll is another template.
var roll = map[string][]string{
	"openshift": {"--patch", `{"spec":{"template":{"spec":{"providerSpec":{"value":{"size":"large"}}}}}}`},
	"gardener":  {"--class", "large"},
}

const manifestOpenShift = `
apiVersion: machine.openshift.io/v1beta1
kind: MachineSet
metadata: {name: more}
spec:
  replicas: 2
  selector: {matchLabels: {pool: more}}
  template:
    metadata: {labels: {pool: more}}
    spec: {providerSpec: {value: {size: large}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
`

const manifestGardener = `
apiVersion: machine.sapcloud.io/v1alpha1
kind: MachineClass
metadata: {name: small}
providerSpec: {size: xl}
---
apiVersion: machine.sapcloud.io/v1alpha1
kind: MachineSet
metadata: {name: mill}
spec: {replicas: 4}
`

var manifests = map[string]string{"openshift": manifestOpenShift, "gardener": manifestGardener}

func TestPlanGolden(t *testing.T) {
	cases := []struct {
		name   string
		more   func(api string) []client.Object
		refuse []string
		args   func(api string) []string
		in     map[string]string
		code   int
	}{
		{name: "nothing", args: words("machineset/mill --replicas=3"), code: 0},
		{name: "grow", args: words("machineset/mill --replicas=5"), code: 1},
		{name: "shrink", args: words("machineset/mill --replicas=1"), code: 1},
		{name: "roll", args: func(api string) []string { return append([]string{"machinedeployment/fleet"}, roll[api]...) }, code: 1},
		{name: "scale-deployment", args: words("machinedeployment/fleet --replicas=2"), code: 1},
		{
			name: "full-budget", more: func(string) []client.Object { return workload("mill-a", 2, 0, "3") },
			args: words("machine/mill-a --delete"), code: 1,
		},
		{
			name: "endless-budget", more: func(string) []client.Object { return workload("mill-a", 2, 0, "100%") },
			args: words("machineset/mill --replicas=2"), code: 1,
		},
		{
			name: "shared-budget", more: func(string) []client.Object {
				return append(workload("mill-a", 1, 1, "3"), workload("mill-b", 1, 1, "3")[0])
			},
			args: words("machineset/mill --replicas=1"), code: 1,
		},
		{name: "observed", more: removed, args: words("machineset/mill --replicas=1"), code: 1},
		{
			name: "observed-drain", more: func(api string) []client.Object { return append(removed(api), workload("mill-a", 2, 2, "2")...) },
			args: words("machineset/mill --replicas=2"), code: 1,
		},
		{name: "volumes", more: volumes, args: words("machineset/mill --replicas=2"), code: 1},
		{name: "unread-volumes", more: volumes, refuse: []string{"list *v1.VolumeAttachmentList"}, args: words("machineset/mill --replicas=2"), code: 1},
		{name: "unread-events", refuse: []string{"list *v1.EventList"}, args: words("machineset/mill --replicas=2"), code: 1},
		{name: "unread-nodes", refuse: []string{"list *v1.NodeList"}, args: words("machineset/mill --replicas=2"), code: 1},
		{name: "unread-budgets", refuse: []string{"list *v1.PodDisruptionBudgetList"}, args: words("machineset/mill --replicas=2"), code: 1},
		{
			name: "unread-machines", refuse: []string{"list *v1beta1.MachineList", "list *v1alpha1.MachineList"},
			args: words("machineset/mill --replicas=2"), code: 2,
		},
		{
			name: "untried", refuse: []string{"patch *v1beta1.MachineSet", "patch *v1alpha1.MachineSet"},
			args: words("machineset/mill --replicas=4"), code: 1,
		},
		{name: "delete-set", args: words("machineset/mill --delete"), code: 1},
		{name: "delete-deployment", args: words("machinedeployment/fleet --delete"), code: 1},
		{name: "owned-set", args: func(string) []string { return []string{"-f", "-"} }, in: manifests, code: 1},
		{name: "absent", args: words("machineset/none --replicas=2"), code: 2},
		{name: "no-change", args: words("machineset/mill"), code: 2},
		{name: "unknown-flag", args: words("machineset/mill --bogus"), code: 2},
	}
	for _, c := range cases {
		for _, api := range []string{"openshift", "gardener"} {
			t.Run(c.name+"/"+api, func(t *testing.T) {
				objects := planWorld(api)
				if c.more != nil {
					objects = append(objects, c.more(api)...)
				}
				text, code := ask(planCluster(c.refuse, objects), c.in[api], c.args(api)...)
				if code != c.code {
					t.Errorf("exit code %d, want %d", code, c.code)
				}
				golden(t, filepath.Join("testdata", "plan", c.name+"-"+api+".txt"), fmt.Sprintf("%sexit %d\n", text, code))
				for i, line := range strings.Split(text, "\n") {
					if n := len([]rune(line)); n > 80 && !strings.HasPrefix(line, "error:") {
						t.Errorf("line %d has %d characters: %s", i+1, n, line)
					}
				}
			})
		}
	}
}

func words(line string) func(string) []string {
	return func(string) []string { return strings.Fields(line) }
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update writes it anew):\n%s", path, got)
	}
}

// TestPlanForScripts: the document has what the text has, and the exit code is the same.
func TestPlanForScripts(t *testing.T) {
	text, code := ask(planCluster(nil, planWorld("gardener")), "", "machinedeployment/fleet", "--class", "large", "-o", "json")
	if code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	var r forecast.Report
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if len(r.Plans) != 1 || r.Plans[0].Created != 3 || r.Plans[0].Deleted != 3 || r.Plans[0].Root.Name != "fleet" || len(r.Changes) != 1 {
		t.Errorf("the document says otherwise: %s", text)
	}
}

// TestPlanStoresNothing: an API server is asked for trials only.
func TestPlanStoresNothing(t *testing.T) {
	for _, api := range []string{"openshift", "gardener"} {
		t.Run(api, func(t *testing.T) {
			c := planCluster(nil, planWorld(api))
			for _, args := range [][]string{{"machineset/mill", "--replicas=1"}, {"machineset/mill", "--delete"}, {"-f", "-"}, append([]string{"machinedeployment/fleet"}, roll[api]...)} {
				if _, code := ask(c, manifests[api], args...); code != 1 {
					t.Errorf("%s: %v: exit code %d, want 1", api, args, code)
				}
			}
			if text, code := ask(c, "", "machineset/mill", "--replicas=3"); code != 0 {
				t.Errorf("%s: something was stored: exit code %d: %s", api, code, text)
			}
			if _, code := ask(c, "", "machineset/more", "--replicas=3"); code != 2 {
				t.Errorf("%s: the set of the manifest was stored", api)
			}
		})
	}
}
