package drain

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// oneByOne is the policy for drains that wait for volumes.
var oneByOne = Policy{VolumesOneByOne: true, DetachTimeout: 2 * time.Minute, ReattachTimeout: 90 * time.Second}

func theNode(ids ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1"}}
	for _, id := range ids {
		n.Status.VolumesAttached = append(n.Status.VolumesAttached, corev1.AttachedVolume{Name: corev1.UniqueVolumeName(id)})
	}
	return n
}

// namedPod makes a pod of its own name on the node, with edits.
func namedPod(name string, edits ...func(*corev1.Pod)) corev1.Pod {
	return pod(append([]func(*corev1.Pod){func(p *corev1.Pod) {
		p.Name, p.UID, p.Spec.NodeName = name, types.UID("uid-"+name), "w1"
	}}, edits...)...)
}

func claims(names ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for _, n := range names {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: n, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: n},
			}})
		}
	}
}

func withPriority(n int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Priority = &n }
}

func on(node string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = node } }

// volume is "pv-<claim>", bound to the claim.
func volume(claim string, edits ...func(*Volume)) Volume {
	v := Volume{Name: "pv-" + claim, Claim: types.NamespacedName{Namespace: "web", Name: claim}, ID: "kubernetes.io/csi/d^" + claim}
	for _, e := range edits {
		e(&v)
	}
	return v
}

func shared(v *Volume) { v.Shared = true }

func attachment(claim, node string) storagev1.VolumeAttachment {
	return storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: "va-" + claim + "-" + node, UID: types.UID("va-" + claim + "-" + node)},
		Spec:       storagev1.VolumeAttachmentSpec{NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr.To("pv-" + claim)}},
		Status:     storagev1.VolumeAttachmentStatus{Attached: true},
	}
}

// inline is an attachment of a volume that is part of a pod.
func inline(node string) storagev1.VolumeAttachment {
	a := attachment("inline", node)
	a.Spec.Source = storagev1.VolumeAttachmentSource{InlineVolumeSpec: &corev1.PersistentVolumeSpec{}}
	return a
}

// left is the passage of a volume whose pod left so long ago; with detached its
// volume did, too.
func left(claim string, ago, detached time.Duration) Passage {
	p := Passage{Volume: volume(claim), Pod: types.NamespacedName{Namespace: "web", Name: "gone"}, Attached: true, Left: now.Add(-ago)}
	if detached > 0 {
		p.Detached = now.Add(-detached)
	}
	return p
}

func passages(all ...Passage) map[string]Passage {
	out := map[string]Passage{}
	for _, p := range all {
		out[p.Name] = p
	}
	return out
}

// told summarizes a decision: which pods are evicted, which are waiting and why, and what is removed.
func told(d Decision) string {
	var out []string
	for _, t := range d.Evict {
		out = append(out, "evict "+t.Pod.Name)
	}
	for _, t := range d.Delete {
		out = append(out, "delete "+t.Pod.Name)
	}
	for _, a := range d.Detach {
		out = append(out, "detach "+a.Name)
	}
	for _, list := range [][]Blocker{d.Waiting, d.Blocked} {
		for _, b := range list {
			name := b.Pod.Name
			if b.Volume != "" {
				name = b.Volume
			}
			out = append(out, name+" "+string(b.Reason))
		}
	}
	if d.Done {
		out = append(out, "done")
	}
	return strings.Join(out, ", ")
}

// Rows of the Gardener notes, section 2.8, about pods with claims, and what
// became of the defects C1, C3 and C4 there.
func TestVolumes(t *testing.T) {
	stateful := []corev1.Pod{namedPod("a", claims("a")), namedPod("b", claims("b")), namedPod("c", claims("c"))}
	volumes := []Volume{volume("a"), volume("b"), volume("c")}
	held := []storagev1.VolumeAttachment{attachment("a", "w1"), attachment("b", "w1"), attachment("c", "w1")}
	without := []corev1.Pod{stateful[1], stateful[2]} // a was deleted
	elsewhere := []corev1.Pod{namedPod("a2", claims("a"), on("w2"))}
	tests := []struct {
		reason   string
		facts    Facts
		memory   map[string]Passage
		attempts Attempts
		policy   func(*Policy)
		want     string
	}{
		{
			reason: "T12: of pods with volumes one is evicted, those without leave meanwhile",
			facts:  Facts{Pods: append([]corev1.Pod{namedPod("x"), namedPod("y", emptyDir)}, stateful...), Volumes: volumes, Attachments: held},
			want:   "evict a, evict x, evict y, b NotItsTurn, c NotItsTurn",
		},
		{
			reason: "sorted by priority, the highest first; a missing priority is 0 (C4)",
			facts: Facts{
				Pods:    []corev1.Pod{stateful[0], namedPod("b", claims("b"), withPriority(-1)), namedPod("c", claims("c"), withPriority(7))},
				Volumes: volumes, Attachments: held,
			},
			want: "evict c, a NotItsTurn, b NotItsTurn",
		},
		{
			reason: "T12: detach before next: the next one waits while the pod ends",
			facts:  Facts{Pods: append([]corev1.Pod{namedPod("a", claims("a"), ending(30*time.Second, 10*time.Second))}, without...), Volumes: volumes, Attachments: held},
			want:   "a Terminating, b NotItsTurn, c NotItsTurn",
		},
		{
			reason: "but not for ever: its grace and the detach timeout are what it has",
			facts:  Facts{Pods: append([]corev1.Pod{namedPod("a", claims("a"), ending(30*time.Second, -3*time.Minute))}, without...), Volumes: volumes, Attachments: held},
			want:   "evict b, a Terminating, c NotItsTurn",
		},
		{
			reason:   "an eviction that was granted and does not show yet is one pod's turn",
			facts:    Facts{Pods: stateful, Volumes: volumes, Attachments: held},
			attempts: Attempts{"uid-b": {At: now, Accepted: true}},
			want:     "a NotItsTurn, b Evicted, c NotItsTurn",
		},
		{
			reason:   "and that pod is asked again, not another one",
			facts:    Facts{Pods: stateful, Volumes: volumes, Attachments: held},
			attempts: Attempts{"uid-b": {At: now.Add(-time.Minute), Accepted: true}},
			want:     "evict b, a NotItsTurn, c NotItsTurn",
		},
		{
			reason:   "one that its budget refuses does not hold up the others",
			facts:    Facts{Pods: stateful, Volumes: volumes, Attachments: held},
			attempts: Attempts{"uid-a": *refused(time.Second, 1)},
			want:     "evict b, c NotItsTurn, a DisruptionBudget",
		},
		{
			reason:   "and goes on to be what blocks while it is not its turn",
			facts:    Facts{Pods: []corev1.Pod{stateful[0], namedPod("b", claims("b"), ending(30*time.Second, 10*time.Second))}, Volumes: volumes, Attachments: held[:2]},
			attempts: Attempts{"uid-a": *refused(time.Hour, 1)},
			want:     "b Terminating, a DisruptionBudget",
		},
		{
			reason: "T12: detach before next: the pod is gone, its volume is not",
			facts:  Facts{Pods: without, Volumes: volumes, Attachments: held},
			memory: passages(left("a", time.Minute, 0)),
			want:   "b NotItsTurn, c NotItsTurn, pv-a VolumeDetaching",
		},
		{
			reason: "the node's word that it has the volume counts as much as an attachment",
			facts:  Facts{Node: theNode("kubernetes.io/csi/d^a"), Pods: without, Volumes: volumes, Attachments: held[1:]},
			memory: passages(left("a", time.Minute, 0)),
			want:   "b NotItsTurn, c NotItsTurn, pv-a VolumeDetaching",
		},
		{
			reason: "C3: names of volumes are compared, not matched: neither a prefix nor a pattern is the volume",
			facts:  Facts{Node: theNode("kubernetes.io/csi/d^aa", "kubernetes.io/csi/d^.*", "kubernetes.io/csi/dXa"), Pods: without, Volumes: volumes, Attachments: held[1:]},
			memory: passages(left("a", time.Minute, 0)),
			want:   "evict b, c NotItsTurn",
		},
		{
			reason: "detach timeout: the next one goes on, and it is said that the volume is still there",
			facts:  Facts{Pods: without, Volumes: volumes, Attachments: held},
			memory: passages(left("a", 3*time.Minute, 0)),
			want:   "evict b, c NotItsTurn, pv-a VolumeStillAttached",
		},
		{
			reason: "C1: that deadline is no success: no pod is left and the volume is attached",
			facts:  Facts{Attachments: held[:1]},
			memory: passages(left("a", time.Hour, 0)),
			want:   "pv-a VolumeStillAttached",
		},
		{
			reason: "C1: unless the drain is forced",
			facts:  Facts{Attachments: held[:1]},
			memory: passages(left("a", time.Hour, 0)),
			policy: func(p *Policy) { p.Force = true },
			want:   "done",
		},
		{
			reason: "a volume that is attached and whose pod nobody saw is waited for like any other",
			facts:  Facts{Attachments: held[:1]},
			want:   "pv-a VolumeDetaching",
		},
		{
			reason: "without a timeout for ever",
			facts:  Facts{Pods: without, Volumes: volumes, Attachments: held},
			memory: passages(left("a", 30*24*time.Hour, 0)),
			policy: func(p *Policy) { p.DetachTimeout = 0 },
			want:   "b NotItsTurn, c NotItsTurn, pv-a VolumeDetaching",
		},
		{
			reason: "T12: reattach: the next one waits until the volume has come to the pod that wants it",
			facts:  Facts{Pods: without, Volumes: volumes, Attachments: held[1:], Claimants: elsewhere},
			memory: passages(left("a", time.Minute, 10*time.Second)),
			want:   "b NotItsTurn, c NotItsTurn, pv-a VolumeReattaching",
		},
		{
			reason: "where it is scheduled does not matter",
			facts:  Facts{Pods: without, Volumes: volumes, Attachments: held[1:], Claimants: []corev1.Pod{namedPod("a2", claims("a"), on(""))}},
			memory: passages(left("a", time.Minute, 10*time.Second)),
			want:   "b NotItsTurn, c NotItsTurn, pv-a VolumeReattaching",
		},
		{
			reason: "it has come",
			facts:  Facts{Pods: without, Volumes: volumes, Attachments: append(held[1:], attachment("a", "w2")), Claimants: elsewhere},
			memory: passages(left("a", time.Minute, 10*time.Second)),
			want:   "evict b, c NotItsTurn",
		},
		{
			reason: "T12: reattach wait bounded",
			facts:  Facts{Pods: without, Volumes: volumes, Attachments: held[1:], Claimants: elsewhere},
			memory: passages(left("a", 5*time.Minute, 2*time.Minute)),
			want:   "evict b, c NotItsTurn",
		},
		{
			reason: "P8: nobody waits for a volume that nobody wants",
			facts:  Facts{Pods: without, Volumes: volumes, Attachments: held[1:]},
			memory: passages(left("a", time.Minute, 10*time.Second)),
			want:   "evict b, c NotItsTurn",
		},
		{
			reason: "a pod that ends wants none",
			facts:  Facts{Pods: without, Volumes: volumes, Attachments: held[1:], Claimants: []corev1.Pod{namedPod("a2", claims("a"), on("w2"), ending(0, 0))}},
			memory: passages(left("a", time.Minute, 10*time.Second)),
			want:   "evict b, c NotItsTurn",
		},
		{
			reason: "the last volume need not come anywhere: the node may go",
			facts:  Facts{Claimants: elsewhere},
			memory: passages(left("a", time.Minute, 10*time.Second)),
			want:   "done",
		},
		{
			reason: "P8: where volumes are never attached nobody waits for attachments",
			facts:  Facts{Pods: without, Volumes: volumes, Claimants: elsewhere},
			memory: passages(Passage{Volume: volume("a"), Left: now.Add(-time.Second), Detached: now.Add(-time.Second)}),
			want:   "evict b, c NotItsTurn",
		},
		{
			reason: "T13: shared RWX PV: no wait on it, and no turn for its pods",
			facts: Facts{
				Pods:    []corev1.Pod{namedPod("a", claims("a")), namedPod("b", claims("a")), namedPod("c", claims("c"))},
				Volumes: []Volume{volume("a", shared), volume("c")}, Attachments: []storagev1.VolumeAttachment{attachment("a", "w1")},
			},
			want: "evict a, evict b, evict c",
		},
		{
			reason: "T13: nor does the node wait for it",
			facts:  Facts{Volumes: []Volume{volume("a", shared)}, Attachments: held[:1]},
			want:   "done",
		},
		{
			reason: "a volume that two pods of the node use is waited for when the last has left",
			facts: Facts{
				Pods:    []corev1.Pod{namedPod("a", claims("s")), namedPod("b", claims("b"))},
				Volumes: []Volume{volume("s"), volume("b")}, Attachments: []storagev1.VolumeAttachment{attachment("s", "w1")},
			},
			memory: passages(Passage{Volume: volume("s"), Attached: true}),
			want:   "evict a, b NotItsTurn",
		},
		{
			reason: "C4: an attachment without a PersistentVolume is waited for by its own name",
			facts:  Facts{Attachments: []storagev1.VolumeAttachment{inline("w1")}},
			want:   "va-inline-w1 VolumeDetaching",
		},
		{
			reason: "unless it may be that of a pod which stays",
			facts: Facts{
				Pods: []corev1.Pod{namedPod("d", ownedBy("DaemonSet"), func(p *corev1.Pod) {
					p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{AzureDisk: &corev1.AzureDiskVolumeSource{}}}}
				})},
				Attachments: []storagev1.VolumeAttachment{inline("w1")},
			},
			want: "done",
		},
		{
			reason: "the volume of a pod that stays stays",
			facts:  Facts{Pods: []corev1.Pod{namedPod("d", ownedBy("DaemonSet"), claims("a"))}, Volumes: volumes, Attachments: held[:1]},
			want:   "done",
		},
		{
			reason: "a pod that is written off holds its volume no longer, but the volume is attached",
			facts:  Facts{Pods: []corev1.Pod{namedPod("a", claims("a"), ending(0, -time.Hour))}, Volumes: volumes, Attachments: held[:1]},
			policy: func(p *Policy) { p.SkipTerminatingAfter = time.Minute },
			want:   "pv-a VolumeDetaching",
		},
		{
			reason: "attachments of other nodes are not this one's",
			facts:  Facts{Attachments: []storagev1.VolumeAttachment{attachment("a", "w2")}},
			want:   "done",
		},
		{
			reason: "forced: all pods in parallel, delete only, no waiting for volumes",
			facts:  Facts{Pods: stateful, Volumes: volumes, Attachments: held},
			policy: func(p *Policy) { p.Force = true },
			want:   "delete a, delete b, delete c",
		},
		{
			reason: "kubectl's way: all at once, with no look at volumes",
			facts:  Facts{Pods: stateful, Volumes: volumes, Attachments: held},
			policy: func(p *Policy) { *p = Policy{} },
			want:   "evict a, evict b, evict c",
		},
		{
			reason: "and done when the pods are gone",
			facts:  Facts{Attachments: held},
			policy: func(p *Policy) { *p = Policy{} },
			want:   "done",
		},
		{
			reason: "evictions that a budget refused too often are deletions, one after another all the same",
			facts:  Facts{Pods: stateful, Volumes: volumes, Attachments: held}, policy: func(p *Policy) { p.MaxEvictAttempts = 1 },
			attempts: Attempts{"uid-a": *refused(time.Hour, 1), "uid-b": *refused(time.Hour, 1)},
			want:     "delete a, c NotItsTurn, b DisruptionBudget",
		},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			p := oneByOne
			if tt.policy != nil {
				tt.policy(&p)
			}
			if tt.facts.Node == nil {
				tt.facts.Node = theNode()
			}
			d := Decide(now, tt.facts, Memory{Begun: now, Passages: tt.memory, Attempts: tt.attempts}, p)
			if got := told(d); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if d.Done != (d.Next == 0) || d.Done != (d.Message == "") {
				t.Errorf("done %v, next %v, message %q", d.Done, d.Next, d.Message)
			}
		})
	}
}

// Attachments are removed if the API requires it, from a node that does not answer, after its pods were
// forcibly deleted, and never otherwise.
func TestAttachmentsAreRemoved(t *testing.T) {
	unreachable := Policy{Force: true, NodeUnreachable: true, RemoveAttachments: true, VolumesOneByOne: true}
	leaving := attachment("a", "w1")
	leaving.DeletionTimestamp = ptr.To(metav1.NewTime(now))
	tests := []struct {
		reason  string
		policy  Policy
		pods    []corev1.Pod
		more    []storagev1.VolumeAttachment
		attempt *Attempt
		want    string
	}{
		{"T14: a silent node that is forced out gives its volumes back", unreachable, nil, nil, nil, "detach va-a-w1"},
		{"T14: also those that are part of a pod, and no other node's", unreachable, nil, []storagev1.VolumeAttachment{inline("w1"), attachment("b", "w2"), leaving}, nil, "detach va-a-w1, detach va-inline-w1"},
		{"not before its pods are told to go", unreachable, []corev1.Pod{namedPod("a", claims("a"))}, nil, nil, "delete a"},
		{"not from a node that answers", Policy{Force: true, RemoveAttachments: true, VolumesOneByOne: true}, nil, nil, nil, "done"},
		{"not from one that is not forced", Policy{NodeUnreachable: true, RemoveAttachments: true, VolumesOneByOne: true}, nil, nil, nil, "pv-a VolumeDetaching"},
		{"not where the API does not say so", Policy{Force: true, NodeUnreachable: true}, nil, nil, nil, "done"},
		{"one request is enough: nobody waits for the detachment", unreachable, nil, nil, &Attempt{At: now.Add(-time.Minute), Accepted: true}, "done"},
		{"a failure is repeated after the pause", unreachable, nil, nil, &Attempt{At: now.Add(-7 * time.Second), Since: now.Add(-7 * time.Second)}, "detach va-a-w1"},
		{"and not before", unreachable, nil, nil, &Attempt{At: now, Since: now, Reply: "no"}, "pv-a EvictionRefused"},
		{"but does not hold up the machine", unreachable, nil, nil, &Attempt{At: now.Add(-7 * time.Second), Since: now.Add(-2 * time.Minute)}, "done"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			m := Memory{Begun: now}
			if tt.attempt != nil {
				m.Attempts = Attempts{"va-a-w1": *tt.attempt}
			}
			f := Facts{Node: theNode(), Pods: tt.pods, Attachments: append([]storagev1.VolumeAttachment{attachment("a", "w1")}, tt.more...)}
			if got := told(Decide(now, f, m, tt.policy)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestVolumeOf(t *testing.T) {
	tests := []struct {
		reason string
		spec   corev1.PersistentVolumeSpec
		want   Volume
	}{
		{
			"a CSI volume has the name that the node gives it",
			corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: "vol-1"}}},
			Volume{Name: "pv", ID: "kubernetes.io/csi/ebs.csi.aws.com^vol-1"},
		},
		{"its claim", corev1.PersistentVolumeSpec{ClaimRef: &corev1.ObjectReference{Namespace: "web", Name: "c"}}, Volume{Name: "pv", Claim: types.NamespacedName{Namespace: "web", Name: "c"}}},
		{"RWX is shared", corev1.PersistentVolumeSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadWriteMany}}, Volume{Name: "pv", Shared: true}},
		{"ROX is shared", corev1.PersistentVolumeSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany}}, Volume{Name: "pv", Shared: true}},
		{"RWO is not", corev1.PersistentVolumeSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}}, Volume{Name: "pv"}},
		{"a local one", corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{}}}, Volume{Name: "pv", Local: true}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			if got := VolumeOf(&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: tt.spec}); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestClaimsOfEphemeralVolumesHaveThePodsName(t *testing.T) {
	p := namedPod("a", claims("c"), func(p *corev1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}})
	})
	if got := Claims(&p); len(got) != 2 || got[0].Name != "c" || got[1].Name != "a-scratch" {
		t.Errorf("got %v", got)
	}
}

// Each wait starts with an observation, not with a request.
func TestPassagesRemember(t *testing.T) {
	f := Facts{Node: theNode(), Pods: []corev1.Pod{namedPod("a", claims("a"))}, Volumes: []Volume{volume("a")}, Attachments: []storagev1.VolumeAttachment{attachment("a", "w1")}}
	m := Memory{}.Seen(now, f, oneByOne)
	if p := m.Passages["pv-a"]; !p.Left.IsZero() || !p.Attached || p.Pod.Name != "a" {
		t.Fatalf("in use: %+v", p)
	}
	f.Pods = nil
	at := now.Add(time.Minute)
	m = m.Seen(at, f, oneByOne).Seen(at.Add(time.Second), f, oneByOne)
	if p := m.Passages["pv-a"]; !p.Left.Equal(at) || !p.Detached.IsZero() || p.Pod.Name != "a" {
		t.Fatalf("left: %+v", p)
	}
	f.Attachments = nil
	m = m.Seen(at.Add(time.Minute), f, oneByOne).Seen(at.Add(time.Hour), f, oneByOne)
	if p := m.Passages["pv-a"]; !p.Left.Equal(at) || !p.Detached.Equal(at.Add(time.Minute)) {
		t.Fatalf("detached: %+v", p)
	}
	f.Pods = []corev1.Pod{namedPod("a", claims("a"))}
	if p := m.Seen(at.Add(2*time.Hour), f, oneByOne).Passages["pv-a"]; !p.Left.IsZero() || !p.Detached.IsZero() {
		t.Errorf("in use once more: %+v", p)
	}
	if !m.Begun.Equal(now) {
		t.Errorf("begun %v", m.Begun)
	}
}
