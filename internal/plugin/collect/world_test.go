package collect_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/dialect/status"
	"github.com/millwright-dev/millwright/internal/engine/bootstrap"
	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
	"github.com/millwright-dev/millwright/internal/runtime/run"
	"github.com/millwright-dev/millwright/provider"
)

var now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

const ns = "blue"

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

// cluster returns a reader of an API server with the objects. The reader calls refuse before it reads a type, such as
// "*v1.PodList". refuse may be nil.
func cluster(t *testing.T, refuse func(what string) error, objects ...client.Object) client.Reader {
	t.Helper()
	b := fake.NewClientBuilder().WithScheme(run.Scheme()).WithObjects(objects...).
		WithIndex(&corev1.Event{}, "involvedObject.uid", func(o client.Object) []string { return []string{string(o.(*corev1.Event).InvolvedObject.UID)} }).
		WithIndex(&corev1.Event{}, "reason", func(o client.Object) []string { return []string{o.(*corev1.Event).Reason} }).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} })
	for _, o := range []client.Object{
		&machinev1.Machine{}, &machinev1.MachineSet{}, &v1beta1.MachineDeployment{},
		&v1alpha1.Machine{}, &v1alpha1.MachineSet{}, &v1alpha1.MachineDeployment{}, &v1alpha1.MachineClass{}, &lenient.MachineHealthCheck{},
	} {
		b = b.WithIndex(o, "metadata.name", func(o client.Object) []string { return []string{o.GetName()} })
	}
	return interceptor.NewClient(b.Build(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if err := refused(refuse, o); err != nil {
				return err
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			if err := refused(refuse, l); err != nil {
				return err
			}
			return c.List(ctx, l, opts...)
		},
	})
}

// lease returns a lease that was renewed at the given time before now. A lease with an empty holder is released.
func lease(name, holder string, renewed time.Duration) *coordinationv1.Lease {
	if strings.HasPrefix(holder, "pod-") { // controllers have such an identity
		holder += "_2b1f9c1e-6f5c-4d0e-9a60-0f4d5c1e7a10"
	}
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: ptr.To[int32](15), RenewTime: ptr.To(metav1.NewMicroTime(now.Add(-renewed))),
		},
	}
}

// atWork returns the leases of running controllers for both APIs.
func atWork() (out []client.Object) {
	for _, api := range apis.All {
		out = append(out, lease(api.MachineLease("test"), "pod-1", 2*time.Second), lease(api.SetLease(), "pod-2", 2*time.Second))
	}
	return out
}

func openshiftMachine(phase string, age time.Duration, change ...func(*machinev1.Machine)) *machinev1.Machine {
	m := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: ns, Name: "mill-a-x", UID: "uid-o", CreationTimestamp: ago(age), Generation: 1,
		Finalizers:      []string{machinev1.MachineFinalizer},
		Labels:          map[string]string{openshift.ClusterLabel: "blue"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "machine.openshift.io/v1beta1", Kind: "MachineSet", Name: "mill-a", UID: "uid-set-o", Controller: ptr.To(true)}},
	}}
	m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(`{}`)}
	if phase != "" {
		m.Status.Phase = &phase
	}
	for _, c := range change {
		c(m)
	}
	return m
}

func gardenerMachine(phase v1alpha1.MachinePhase, age time.Duration, change ...func(*v1alpha1.Machine)) *v1alpha1.Machine {
	m := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: ns, Name: "mill-b-y", UID: "uid-g", CreationTimestamp: ago(age), Generation: 1,
		Finalizers:      []string{v1alpha1.FinalizerMachine},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "machine.sapcloud.io/v1alpha1", Kind: "MachineSet", Name: "mill-b", UID: "uid-set-g", Controller: ptr.To(true)}},
	}}
	m.Spec.Class = v1alpha1.ClassSpec{Kind: "MachineClass", Name: "small"}
	m.Status.CurrentStatus.Phase = phase
	m.Status.CurrentStatus.LastUpdateTime = ago(age / 2)
	for _, c := range change {
		c(m)
	}
	return m
}

var class = &v1alpha1.MachineClass{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "small"}}

// withNodeO and withNodeG give a machine an instance, and link it to node n-1.
func withNodeO(m *machinev1.Machine) {
	m.Spec.ProviderID = ptr.To("test:///i-1")
	m.Status.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: "n-1", UID: "uid-n"}
}

func withNodeG(m *v1alpha1.Machine) {
	m.Spec.ProviderID = "test:///i-1"
	m.Labels = map[string]string{v1alpha1.LabelKeyNode: "n-1"}
}

func provisionedO(m *machinev1.Machine) { m.Spec.ProviderID = ptr.To("test:///i-1") }

func stoppedO(m *machinev1.Machine) {
	m.Annotations = map[string]string{dialect.StoppedAnnotation: "exited"}
}

// deletedO and deletedG start the deletion of a machine at the given time before now.
func deletedO(d time.Duration) func(*machinev1.Machine) {
	return func(m *machinev1.Machine) { m.DeletionTimestamp = ptr.To(ago(d)) }
}

func deletedG(d time.Duration) func(*v1alpha1.Machine) {
	return func(m *v1alpha1.Machine) { m.DeletionTimestamp = ptr.To(ago(d)) }
}

// startedO and startedG record that a step of the deletion began at the given time before now.
func startedO(step lifecycle.DeletionStep, d time.Duration) func(*machinev1.Machine) {
	return conditionO(dialect.StartedCondition(step), corev1.ConditionTrue, "", "", d)
}

func startedG(step lifecycle.DeletionStep, d time.Duration) func(*v1alpha1.Machine) {
	return func(m *v1alpha1.Machine) {
		m.Status.Conditions = append(m.Status.Conditions, corev1.NodeCondition{
			Type: corev1.NodeConditionType(dialect.StartedCondition(step)), Status: corev1.ConditionTrue, LastTransitionTime: ago(d),
		})
	}
}

func conditionO(kind string, status corev1.ConditionStatus, reason, message string, since time.Duration) func(*machinev1.Machine) {
	return func(m *machinev1.Machine) {
		m.Status.Conditions = append(m.Status.Conditions, machinev1.Condition{
			Type: machinev1.ConditionType(kind), Status: status, Reason: reason, Message: message, LastTransitionTime: ago(since),
		})
	}
}

func operationG(op v1alpha1.MachineOperationType, state v1alpha1.MachineState, code, text string) func(*v1alpha1.Machine) {
	return func(m *v1alpha1.Machine) {
		m.Status.LastOperation = v1alpha1.LastOperation{Type: op, State: state, ErrorCode: code, Description: text, LastUpdateTime: ago(time.Minute)}
	}
}

func node(status corev1.ConditionStatus, reason, message string, since time.Duration) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n-1", UID: "uid-n", CreationTimestamp: ago(since)},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure"},
			{Type: corev1.NodeReady, Status: status, Reason: reason, Message: message, LastTransitionTime: ago(since)},
		}},
	}
}

func cordoned(n *corev1.Node) *corev1.Node {
	n.Spec.Unschedulable = true
	return n
}

// updateFailed marks a node whose update in place has failed.
func updateFailed(n *corev1.Node) *corev1.Node {
	n.Labels = map[string]string{
		v1alpha1.LabelKeyNodeCandidateForUpdate: "true", v1alpha1.LabelKeyNodeSelectedForUpdate: "true", v1alpha1.LabelKeyNodeUpdateResult: v1alpha1.LabelValueNodeUpdateFailed,
	}
	n.Status.Conditions = append(n.Status.Conditions, gardener.Machines{}.Marked(inplace.MarkFailed))
	return n
}

func pod(name string, onNode string, ready corev1.ConditionStatus, message string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "web", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"app": "web"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "rs", Controller: ptr.To(true)}},
		},
		Spec:   corev1.PodSpec{NodeName: onNode},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, Message: message}}},
	}
}

func budget(healthy, desired, expected int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt32(desired)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		Status:     policyv1.PodDisruptionBudgetStatus{CurrentHealthy: healthy, DesiredHealthy: desired, ExpectedPods: expected},
	}
}

func attachment() *storagev1.VolumeAttachment {
	return &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: "csi-1"},
		Spec:       storagev1.VolumeAttachmentSpec{Attacher: "csi.example", NodeName: "n-1", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr.To("pv-1")}},
		Status: storagev1.VolumeAttachmentStatus{Attached: true, DetachError: &storagev1.VolumeError{
			Time: ago(10 * time.Minute), Message: "rpc error: device is busy",
		}},
	}
}

// request returns the certificate request of a kubelet that boots with the token of the machine with this UID.
func request(t *testing.T, uid, nodeName string, age time.Duration, usages ...certificatesv1.KeyUsage) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "system:node:" + nodeName, Organization: []string{"system:nodes"}},
	}, key)
	if err != nil {
		t.Fatal(err)
	}
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "csr-1", CreationTimestamp: ago(age)},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
			Username: "system:bootstrap:" + bootstrap.TokenID(uid, 0), Groups: []string{"system:bootstrappers", "system:authenticated"},
			Usages: append([]certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature}, usages...),
		},
	}
}

func token(uid, key string) client.Object {
	return bootstrap.Token{ID: bootstrap.TokenID(uid, 0), Secret: strings.Repeat("0", 16), Owner: bootstrap.Owner{Key: key, UID: uid}}.Object()
}

func told(uid, reason, message string, since time.Duration) *corev1.Event {
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "event-" + strings.ToLower(reason)}, InvolvedObject: corev1.ObjectReference{UID: types.UID(uid)},
		Type: "Warning", Reason: reason, Message: message, LastTimestamp: ago(since),
	}
}

// kept returns stored evidence about a machine that never joined.
func kept(t *testing.T, api, name, uid string) *corev1.ConfigMap {
	t.Helper()
	r := postmortem.Record{
		API: api, Namespace: ns, Name: name, UID: uid, Owner: "MachineSet/mill", Cause: postmortem.NeverJoined, Taken: now.Add(-2 * time.Hour),
		Phase: "Pending", Summary: "no node has joined", Moments: []postmortem.Moment{{What: postmortem.MomentCreated, At: now.Add(-2*time.Hour - 12*time.Minute)}},
		Requests: []postmortem.Request{{Name: "csr-9", Reason: "TokenGone", Verdict: "Refuse", Message: "bootstrap token abcdef does not exist", Created: now.Add(-2*time.Hour - 5*time.Minute)}},
		Instance: &postmortem.Instance{ID: "i-1", State: "Running"},
		Console:  "booting\nkubelet: cannot reach the API server\n",
	}
	raw, err := postmortem.Encode(r, postmortem.NewRedactor(), postmortem.DefaultPolicy().Size)
	if err != nil {
		t.Fatal(err)
	}
	c := status.Stored(r, raw, now.Add(6*24*time.Hour+22*time.Hour))
	c.CreationTimestamp = ago(2 * time.Hour)
	return c
}

// keptFor returns stored evidence about a machine that has worked.
func keptFor(t *testing.T, cause postmortem.Cause, summary string) *corev1.ConfigMap {
	t.Helper()
	r := postmortem.Record{
		API: provider.Gardener, Namespace: ns, Name: "mill-b-gone", UID: "uid-gone", Owner: "MachineSet/mill-b", Cause: cause, Taken: now.Add(-time.Hour),
		Phase: "Terminating", Summary: summary, Moments: []postmortem.Moment{{What: postmortem.MomentCreated, At: now.Add(-9 * time.Hour)}},
	}
	raw, err := postmortem.Encode(r, postmortem.NewRedactor(), postmortem.DefaultPolicy().Size)
	if err != nil {
		t.Fatal(err)
	}
	return status.Stored(r, raw, now.Add(6*24*time.Hour))
}
