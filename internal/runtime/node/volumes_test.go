package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/millwright-dev/millwright/internal/engine/drain"
)

var volumesCount = drain.Policy{VolumesOneByOne: true, DetachTimeout: 2 * time.Minute, ReattachTimeout: 90 * time.Second, RemoveAttachments: true}

// stateful is a pod of the node with a claim of its own name, bound to a volume
// that is attached there.
func stateful(nodeName, name string) []client.Object {
	p := podOn(nodeName, name)
	p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
	}}}
	pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv-" + name}}
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-" + name}, Spec: corev1.PersistentVolumeSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, ClaimRef: &corev1.ObjectReference{Namespace: "web", Name: name},
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: name}},
	}}
	return []client.Object{p, pvc, pv, attachment(name, nodeName)}
}

func attachment(name, nodeName string) *storagev1.VolumeAttachment {
	return &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: "va-" + name + "-" + nodeName, UID: types.UID("va-" + name + "-" + nodeName)},
		Spec:       storagev1.VolumeAttachmentSpec{NodeName: nodeName, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr.To("pv-" + name)}},
		Status:     storagev1.VolumeAttachmentStatus{Attached: true},
	}
}

func (w *world) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// T12 of the Gardener notes: one after another, detach before next, reattach
// before next.
func TestDrainMovesVolumesOneAfterAnother(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, append(stateful("w1", "a"), append(stateful("w1", "b"), podOn("w1", "x"))...)...)
	look := func(after time.Duration, evicts, waits string) drain.Decision {
		t.Helper()
		w.clock.SetTime(w.clock.Now().Add(after))
		d, err := w.Drain(t.Context(), node("w1"), volumesCount)
		var got, why []string
		for _, e := range d.Evict {
			got = append(got, e.Pod.Name)
		}
		for _, b := range d.Waiting {
			why = append(why, string(b.Reason))
		}
		if err != nil || strings.Join(got, " ") != evicts || !strings.Contains(strings.Join(why, " "), waits) {
			t.Fatalf("evicted %v, waiting %v, want %q, %q: %s, %v", got, why, evicts, waits, d.Message, err)
		}
		return d
	}
	look(0, "a x", "NotItsTurn")
	look(time.Second, "", "NotItsTurn VolumeDetaching")
	w.must(t, w.Client.Delete(t.Context(), attachment("a", "w1")))
	wanting := stateful("w2", "a")[0].(*corev1.Pod)
	wanting.UID = "uid-a2"
	w.must(t, w.Client.Create(t.Context(), wanting))
	look(time.Second, "", "NotItsTurn VolumeReattaching")
	if got := w.DrainsWaitingFor(attachment("a", "w2")); !slices.Equal(got, []string{"w1", "w2"}) {
		t.Errorf("an attachment elsewhere concerns %v", got)
	}
	w.must(t, w.Client.Create(t.Context(), attachment("a", "w2")))
	look(time.Second, "b", "")
	look(time.Second, "", "VolumeDetaching")
	if d := look(10*time.Minute, "", ""); d.Done || !strings.Contains(d.Message, "volume pv-b of web/b is still attached for more than 2m0s, since 2026-03-01T12:00:04Z") {
		t.Errorf("C1: a deadline is no success: %+v", d)
	}
	w.must(t, w.Client.Delete(t.Context(), attachment("b", "w1")))
	if d := look(time.Second, "", ""); !d.Done || len(w.memory) != 0 {
		t.Errorf("nothing is left: %+v, remembered %v", d, w.memory)
	}
}

func TestDrainSurvivesLossOfMemory(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, stateful("w1", "a")...)
	if _, err := w.Drain(t.Context(), node("w1"), volumesCount); err != nil {
		t.Fatal(err)
	}
	w.Cluster = New(w.Client, w.Client, w.clock)
	d, err := w.Drain(t.Context(), node("w1"), volumesCount)
	if err != nil || d.Done || len(d.Waiting) != 1 || d.Waiting[0].Volume != "pv-a" {
		t.Errorf("another process knows as much of the volume: %+v, %v", d, err)
	}
}

func TestDrainDoesNotLookAtVolumesUnasked(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, append(stateful("w1", "a"), stateful("w1", "b")...)...)
	d, err := w.Drain(t.Context(), node("w1"), noPolicy)
	if err != nil || len(d.Evict) != 2 {
		t.Fatalf("got %+v, %v", d, err)
	}
	if d, err = w.Drain(t.Context(), node("w1"), noPolicy); err != nil || !d.Done {
		t.Errorf("got %+v, %v", d, err)
	}
}

func TestDrainOfVolumesKnowsNothingAfterAFailedRead(t *testing.T) {
	denied := apierrors.NewForbidden(corev1.Resource("persistentvolumes"), "pv-a", errors.New("no"))
	w := newWorld(t, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, ok := o.(*corev1.PersistentVolume); ok {
				return denied
			}
			return c.Get(ctx, key, o, opts...)
		},
	}, stateful("w1", "a")...)
	if d, err := w.Drain(t.Context(), node("w1"), volumesCount); err == nil || d.Done || len(w.writes) != 0 {
		t.Errorf("got %+v, %v, writes %v", d, err, w.writes)
	}
}

func TestDrainTakesMissingClaimsAndVolumesForNone(t *testing.T) {
	for _, missing := range []int{1, 2} {
		objects := stateful("w1", "a")
		w := newWorld(t, interceptor.Funcs{}, slices.Concat(objects[:missing], objects[missing+1:3])...)
		d, err := w.Drain(t.Context(), node("w1"), volumesCount)
		if err != nil || len(d.Evict) != 1 {
			t.Errorf("without %T: %+v, %v", objects[missing], d, err)
		}
	}
}

// T14 of the Gardener notes.
func TestForcedDrainOfAnUnreachableNodeGivesVolumesBack(t *testing.T) {
	inline := attachment("i", "w1")
	inline.Spec.Source = storagev1.VolumeAttachmentSource{InlineVolumeSpec: &corev1.PersistentVolumeSpec{}}
	w := newWorld(t, interceptor.Funcs{}, append(stateful("w1", "a"), attachment("b", "w2"), inline)...)
	policy := volumesCount
	policy.Force, policy.NodeUnreachable = true, true
	for range 4 {
		w.clock.SetTime(w.clock.Now().Add(time.Second))
		d, err := w.Drain(t.Context(), node("w1"), policy)
		if err != nil {
			t.Fatal(err)
		}
		if d.Done {
			break
		}
	}
	var left storagev1.VolumeAttachmentList
	w.must(t, w.Client.List(t.Context(), &left))
	if len(left.Items) != 1 || left.Items[0].Spec.NodeName != "w2" || !slices.Equal(w.writes, []string{"delete", "delete", "delete"}) {
		t.Errorf("left %d attachments after %v", len(left.Items), w.writes)
	}
}

// A node that is forced out does not stay for an API server that refuses.
func TestForcedDrainGivesUpOnAttachmentsThatCannotBeRemoved(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			return apierrors.NewForbidden(corev1.Resource("volumeattachments"), "a", errors.New("no"))
		},
	}, attachment("a", "w1"))
	policy := volumesCount
	policy.Force, policy.NodeUnreachable = true, true
	for range 20 {
		d, err := w.Drain(t.Context(), node("w1"), policy)
		if d.Done {
			if err != nil || len(w.writes) < 2 {
				t.Errorf("done after %v: %v", w.writes, err)
			}
			return
		}
		w.clock.SetTime(w.clock.Now().Add(6 * time.Second))
	}
	t.Error("never done")
}

func TestVacantMindsVolumes(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, attachment("a", "w1"))
	for p, want := range map[*drain.Policy]bool{&volumesCount: false, &noPolicy: true} {
		if got, err := w.Vacant(t.Context(), node("w1"), *p); got != want || err != nil {
			t.Errorf("vacant %v, %v, want %v", got, err, want)
		}
	}
}

// The first look says what could be foreseen; asking beforehand says the same.
func TestDrainForesees(t *testing.T) {
	b := pdb()
	b.Spec.MaxUnavailable = ptr.To(intOrString(0))
	w := newWorld(t, refusing(budgetRefusal), podOn("w1", "a"), b)
	foreseen, err := w.Foresee(t.Context(), node("w1"), noPolicy)
	if err != nil || len(foreseen) != 1 || foreseen[0].Reason != drain.ReasonBudgetNever || len(w.writes) != 0 {
		t.Fatalf("foreseen %+v, %v, writes %v", foreseen, err, w.writes)
	}
	d, err := w.Drain(t.Context(), node("w1"), noPolicy)
	if err != nil || !d.Began || len(d.Obstacles) != 1 || d.Obstacles[0] != foreseen[0] {
		t.Errorf("first look: %+v, %v", d, err)
	}
	if d.Message != "1 pod has to leave: web/a (disruption budget web/pdb allows no disruption even with all pods healthy: maxUnavailable is 0, since 2026-03-01T12:00:00Z)" {
		t.Errorf("message %q", d.Message)
	}
	if d, err = w.Drain(t.Context(), node("w1"), noPolicy); err != nil || d.Began || len(d.Obstacles) != 0 {
		t.Errorf("second look: %+v, %v", d, err)
	}
}

func TestAttachmentMoved(t *testing.T) {
	before, after := attachment("a", "w1"), attachment("a", "w1")
	before.Status.Attached = false
	for name, tt := range map[string]struct{ got, want bool }{
		"made":     {AttachmentMoved(nil, before), false},
		"attached": {AttachmentMoved(before, after), true},
		"marked":   {AttachmentMoved(after, after.DeepCopy()), false},
		"gone":     {AttachmentMoved(after, nil), true},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.got != tt.want {
				t.Errorf("%s: passes %v", name, tt.got)
			}
		})
	}
}

func TestVolumesLeft(t *testing.T) {
	with := func(ids ...string) *corev1.Node {
		n := node("w1")
		for _, id := range ids {
			n.Status.VolumesAttached = append(n.Status.VolumesAttached, corev1.AttachedVolume{Name: corev1.UniqueVolumeName(id)})
		}
		return n
	}
	for _, tt := range []struct {
		before, after *corev1.Node
		want          bool
	}{
		{with("a", "b"), with("b"), true},
		{with("a"), with("b"), true},
		{with("a"), with("a", "b"), false},
		{with("a", "b"), with("b", "a"), false},
		{nil, with("a"), false},
		{with("a"), nil, false},
	} {
		if got := VolumesLeft(tt.before, tt.after); got != tt.want {
			t.Errorf("%v to %v: %v", tt.before, tt.after, got)
		}
	}
}

// Two nodes are two drains: each moves its own pods and volumes.
func TestVolumesOfTwoNodesMoveInParallel(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, append(stateful("w1", "a"), stateful("w2", "b")...)...)
	for i, name := range []string{"w1", "w2"} {
		d, err := w.Drain(t.Context(), node(name), volumesCount)
		if err != nil || len(d.Evict) != 1 {
			t.Errorf("node %d: %s", i, fmt.Sprint(d, err))
		}
	}
}

// namer is an infrastructure that knows the name of a volume, or fails to tell.
type namer struct {
	part string
	err  error
}

func (n namer) VolumeIDs(_ context.Context, v *corev1.PersistentVolumeSpec) ([]string, error) {
	if v.Cinder == nil || n.err != nil {
		return nil, n.err
	}
	return []string{n.part}, nil
}

// TestVolumesOfOldAreFollowedByTheNode: a volume of a plugin within Kubernetes has no attachment where that was not migrated to CSI, and its
// PersistentVolume does not say how the node lists it.
func TestVolumesOfOldAreFollowedByTheNode(t *testing.T) {
	for _, c := range []struct {
		reason string
		names  VolumeNamer
		waits  bool
	}{
		{"nobody knows its name", nil, false},
		{"the infrastructure knows a part of it", namer{part: "v-1"}, true},
		{"the infrastructure fails to tell", namer{part: "v-1", err: errors.New("it is away")}, false},
		{"another volume's is known", namer{part: "v-2"}, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			objects := stateful("w1", "a")[:3]
			objects[2].(*corev1.PersistentVolume).Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{
				Cinder: &corev1.CinderPersistentVolumeSource{VolumeID: "v-1"},
			}
			w := newWorld(t, interceptor.Funcs{}, objects...)
			w.Volumes = c.names
			n := node("w1")
			n.Status.VolumesAttached = []corev1.AttachedVolume{{Name: "kubernetes.io/cinder/v-1"}}
			if _, err := w.Drain(t.Context(), n, volumesCount); err != nil {
				t.Fatal(err)
			}
			w.must(t, client.IgnoreNotFound(w.Client.Delete(t.Context(), objects[0])))
			w.clock.SetTime(w.clock.Now().Add(time.Second))
			d, err := w.Drain(t.Context(), n, volumesCount)
			if err != nil || d.Done == c.waits {
				t.Errorf("%s: done %v, error %v: %s", c.reason, d.Done, err, d.Message)
			}
		})
	}
}
