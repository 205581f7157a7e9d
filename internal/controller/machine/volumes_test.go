package machine_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// attached is a volume that is attached to the machine's node.
func (g *rig[M]) attached(claim string) *storagev1.VolumeAttachment {
	g.Helper()
	va := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "va-" + claim, UID: "va"}}
	va.Spec.NodeName, va.Spec.Source.PersistentVolumeName, va.Status.Attached = "node-1", ptr.To("pv-"+claim), true
	pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: claim}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv-" + claim}}
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-" + claim}}
	pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "web", Name: claim}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: claim, UID: "pod-uid"}, Spec: corev1.PodSpec{NodeName: "node-1"}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}}}
	for _, o := range []client.Object{va, pvc, pv, pod} {
		if err := g.target.WithWatch.Create(g.Context(), o); err != nil {
			g.Fatal(err)
		}
	}
	return va
}

func (g *rig[M]) attachments() int {
	g.Helper()
	var list storagev1.VolumeAttachmentList
	if err := g.target.List(g.Context(), &list); err != nil {
		g.Fatal(err)
	}
	return len(list.Items)
}

// silence makes the node's kubelet silent since so long ago.
func (g *rig[M]) silence(ago time.Duration) {
	g.Helper()
	var n corev1.Node
	if err := g.target.Get(g.Context(), client.ObjectKey{Name: "node-1"}, &n); err != nil {
		g.Fatal(err)
	}
	n.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionUnknown, LastTransitionTime: metav1.NewTime(g.clock.Now().Add(-ago)),
	}}
	if err := g.target.WithWatch.Status().Update(g.Context(), &n); err != nil {
		g.Fatal(err)
	}
}

// C1 of the Gardener notes: no instance goes while a volume is attached to it,
// however long that takes, before the drain timeout.
func TestInstanceStaysWhileVolumesAreAttached(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	va := g.attached("db")
	g.delete()
	for range 3 {
		g.clock.Step(g.pass().RequeueAfter)
	}
	if d := g.read().Status.LastOperation.Description; g.cloud.count("Delete") != 0 || !strings.Contains(d, "volume pv-db of web/db is being detached, since ") {
		t.Fatalf("%d deletions, lastOperation %q", g.cloud.count("Delete"), d)
	}
	g.clock.Step(time.Hour)
	g.pass()
	if d := g.read().Status.LastOperation.Description; g.cloud.count("Delete") != 0 || !strings.Contains(d, "volume pv-db of web/db is still attached for more than 2m0s") {
		t.Fatalf("%d deletions, lastOperation %q", g.cloud.count("Delete"), d)
	}
	if got := g.r.Nodes.DrainsWaitingFor(va); len(got) != 1 || got[0] != "node-1" || !g.r.WaitsForPods(g.read()) {
		t.Errorf("the attachment wakes %v", got)
	}
	if err := g.target.WithWatch.Delete(t.Context(), va); err != nil {
		t.Fatal(err)
	}
	g.pass()
	if g.cloud.count("Delete") != 1 {
		t.Errorf("the volume is detached: %d deletions", g.cloud.count("Delete"))
	}
}

func TestForcedInstanceGoesWithItsVolumes(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	g.attached("db")
	g.delete()
	g.clock.Step(g.pass().RequeueAfter)
	g.change(func(m *v1alpha1.Machine) { m.Labels["force-deletion"] = "true" })
	g.pass()
	if g.cloud.count("Delete") != 1 || g.attachments() != 1 {
		t.Errorf("%d deletions, %d attachments: a node that answers gives its volumes back itself", g.cloud.count("Delete"), g.attachments())
	}
}

// T14 of the Gardener notes: NotReady node > 5m.
func TestUnreachableNodeIsLeftQuickly(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	g.attached("db")
	g.silence(6 * time.Minute)
	g.delete()
	began := g.clock.Now()
	for range 5 {
		if g.cloud.count("Delete") > 0 {
			break
		}
		g.clock.Step(g.pass().RequeueAfter)
	}
	if g.cloud.count("Delete") != 1 || g.attachments() != 0 {
		t.Errorf("%d deletions, %d attachments", g.cloud.count("Delete"), g.attachments())
	}
	if took := g.clock.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

// A node that is only updated keeps its volumes: it goes on to use them.
func TestUpdateLeavesVolumesAttached(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	g.attached("db")
	g.label(candidateLabel, "true", selectedLabel, "true")
	g.pass()
	g.silence(6 * time.Minute)
	for range 4 {
		g.clock.Step(max(g.pass().RequeueAfter, time.Second))
	}
	if g.attachments() != 1 {
		t.Error("the attachment of a machine that stays was removed")
	}
}

// machine.openshift.io drains as kubectl does, which looks at no volume.
func TestOpenShiftDoesNotWaitForVolumes(t *testing.T) {
	g := openshiftRig(t)
	g.settle()
	g.attached("db")
	g.delete()
	for range 3 {
		g.clock.Step(g.pass().RequeueAfter)
	}
	if g.cloud.count("Delete") != 1 || g.attachments() != 1 {
		t.Errorf("%d deletions, %d attachments", g.cloud.count("Delete"), g.attachments())
	}
}

// The objects that will block a drain are reported once, when it begins.
func TestObstaclesAreToldOnce(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { toldOnce(openshiftRig(t)) })
	t.Run("gardener", func(t *testing.T) { toldOnce(gardenerRig(t)) })
}

func toldOnce[M client.Object](g *rig[M]) {
	g.settle()
	g.pod("db-0", true)
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "strict"}}
	b.Spec.Selector, b.Spec.MaxUnavailable = &metav1.LabelSelector{}, ptr.To(intstr.FromInt32(0))
	if err := g.target.WithWatch.Create(g.Context(), b); err != nil {
		g.Fatal(err)
	}
	g.delete()
	told := 0
	for range 4 {
		g.clock.Step(g.pass().RequeueAfter)
		for _, e := range g.told() {
			if strings.HasPrefix(e, "Warning DrainObstacle ") && strings.Contains(e, "disruption budget db/strict allows no disruption") {
				told++
			}
		}
	}
	if told != 1 {
		g.Errorf("told %d times", told)
	}
}
