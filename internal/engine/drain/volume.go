package drain

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// Volume is a persistent volume.
type Volume struct {
	// Name is that of the PersistentVolume.
	Name string
	// Claim is the PersistentVolumeClaim that it is bound to.
	Claim types.NamespacedName
	// Shared: several nodes may attach it at the same time. The drain does not wait for it.
	Shared bool
	// Local: it exists on one node only.
	Local bool
	// ID is the name under which node.status.volumesAttached lists it; empty if unknown.
	ID string
	// Part is a part of that name, if only that part is known; otherwise empty.
	Part string
}

// VolumeOf describes a PersistentVolume.
func VolumeOf(pv *corev1.PersistentVolume) Volume {
	v := Volume{Name: pv.Name, Local: pv.Spec.Local != nil || pv.Spec.HostPath != nil}
	if c := pv.Spec.ClaimRef; c != nil {
		v.Claim = types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
	}
	for _, m := range pv.Spec.AccessModes {
		v.Shared = v.Shared || m == corev1.ReadWriteMany || m == corev1.ReadOnlyMany
	}
	if c := pv.Spec.CSI; c != nil {
		v.ID = "kubernetes.io/csi/" + c.Driver + "^" + c.VolumeHandle
	}
	return v
}

// Claims returns the persistent volume claims that the pod uses, including generic ephemeral ones.
func Claims(p *corev1.Pod) (out []types.NamespacedName) {
	for _, v := range p.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			out = append(out, types.NamespacedName{Namespace: p.Namespace, Name: v.PersistentVolumeClaim.ClaimName})
		case v.Ephemeral != nil:
			out = append(out, types.NamespacedName{Namespace: p.Namespace, Name: p.Name + "-" + v.Name})
		}
	}
	return out
}

// sharedClaims returns the claims of volumes that several nodes may attach. If the volume is unknown, the
// claim does not count as shared: a cache may show the pod before the volume.
func sharedClaims(volumes []Volume) map[types.NamespacedName]bool {
	out := map[types.NamespacedName]bool{}
	for _, v := range volumes {
		if v.Shared && v.Claim.Name != "" {
			out[v.Claim] = true
		}
	}
	return out
}

// Passage is the detachment of a volume from the node.
type Passage struct {
	Volume
	// Inline: the volume has no PersistentVolume; its name is that of its attachment.
	Inline bool
	// Pod is the last pod of the node that used it; empty if unknown.
	Pod types.NamespacedName
	// Attached says that it was seen attached to the node.
	Attached bool
	// Left is since when no pod of the node uses it, Detached is since when it has been detached from the
	// node after that; zero: not yet.
	Left, Detached time.Time
}

// Seen returns the memory with the terminating pods and the volumes' passages of these facts. [Decide] calls
// it, too; the caller stores the result, so that waits have a start.
func (m Memory) Seen(now time.Time, f Facts, p Policy) Memory {
	if m.Begun.IsZero() {
		m.Begun = now
	}
	m.Ending = m.seenToEnd(now, f.Pods)
	if !p.VolumesOneByOne || f.Node == nil {
		return m
	}
	l := look{now: now, facts: f, memory: m, policy: p}
	m.Passages = maps.Clone(m.Passages)
	if m.Passages == nil {
		m.Passages = map[string]Passage{}
	}
	used := l.used(m.Passages)
	l.found(m.Passages)
	for name, v := range m.Passages {
		attached := l.attached(v)
		v.Attached = v.Attached || attached
		switch {
		case used[name]:
			v.Left, v.Detached = time.Time{}, time.Time{}
		case v.Left.IsZero():
			v.Left = now
		}
		switch {
		case attached:
			v.Detached = time.Time{}
		case v.Detached.IsZero() && !v.Left.IsZero():
			v.Detached = now
		}
		m.Passages[name] = v
	}
	return m
}

// look has the facts about a node's volumes.
type look struct {
	now    time.Time
	facts  Facts
	memory Memory
	policy Policy
}

// used records the volumes of the node's pods, and returns their names. Ended pods use no volume, nor do pods
// that the drain no longer waits for.
func (l look) used(passages map[string]Passage) map[string]bool {
	byClaim := map[types.NamespacedName]Volume{}
	for _, v := range l.facts.Volumes {
		byClaim[v.Claim] = v
	}
	out := map[string]bool{}
	for _, q := range questions(l.now, l.facts, l.memory, l.policy) {
		if r := q.stays(); r == ReasonGone || r == ReasonStuck || q.finished() {
			continue
		}
		for _, c := range Claims(q.pod) {
			if v, ok := byClaim[c]; ok {
				was := passages[v.Name]
				passages[v.Name] = Passage{Volume: v, Pod: q.name(), Attached: was.Attached, Left: was.Left, Detached: was.Detached}
				out[v.Name] = true
			}
		}
	}
	return out
}

// found adds the attached volumes that no pod uses.
func (l look) found(passages map[string]Passage) {
	byName := map[string]Volume{}
	for _, v := range l.facts.Volumes {
		byName[v.Name] = v
	}
	keep := inlineStays(l.facts.Pods)
	for i := range l.facts.Attachments {
		a := &l.facts.Attachments[i]
		name, inline := source(a)
		if _, known := passages[name]; known || a.Spec.NodeName != l.facts.Node.Name || inline && keep {
			continue
		}
		v, ok := byName[name]
		if !ok {
			v = Volume{Name: name}
		}
		passages[name] = Passage{Volume: v, Inline: inline}
	}
}

// source names the volume of an attachment: its PersistentVolume, or the attachment itself if the volume is
// part of a pod.
func source(a *storagev1.VolumeAttachment) (name string, inline bool) {
	if pv := ptr.Deref(a.Spec.Source.PersistentVolumeName, ""); pv != "" {
		return pv, false
	}
	return a.Name, true
}

// inlineStays reports whether a pod that may stay has an inline volume attached to the node. Its attachment
// cannot be identified.
func inlineStays(pods []corev1.Pod) bool {
	for i := range pods {
		q := input{pod: &pods[i]}
		if r := q.stays(); r != ReasonDaemonSet && r != ReasonMirror {
			continue
		}
		if slices.ContainsFunc(pods[i].Spec.Volumes, attachedInline) {
			return true
		}
	}
	return false
}

func attachedInline(v corev1.Volume) bool {
	return v.AWSElasticBlockStore != nil || v.AzureDisk != nil || v.GCEPersistentDisk != nil || v.Cinder != nil ||
		v.VsphereVolume != nil || v.PortworxVolume != nil || v.ISCSI != nil || v.FC != nil || v.RBD != nil
}

// attached reports whether the volume is attached to the node, by an attachment or by the node's status.
func (l look) attached(p Passage) bool {
	for i := range l.facts.Attachments {
		a := &l.facts.Attachments[i]
		if name, inline := source(a); name == p.Name && inline == p.Inline && a.Spec.NodeName == l.facts.Node.Name {
			return true
		}
	}
	return slices.ContainsFunc(l.facts.Node.Status.VolumesAttached, func(v corev1.AttachedVolume) bool {
		return p.ID != "" && string(v.Name) == p.ID || p.Part != "" && strings.Contains(string(v.Name), p.Part)
	})
}

// moving returns why the drain waits for a volume; empty if it does not. Volumes that were never attached
// here are mounted over a network, or not at all.
func (l look) moving(p Passage) Reason {
	switch {
	case p.Shared, !p.Attached, p.Left.IsZero():
		return ""
	case p.Detached.IsZero() && l.policy.DetachTimeout > 0 && l.policy.Connectivity.Remaining(p.Left, l.policy.DetachTimeout, l.now) < 0:
		return ReasonStillAttached
	case p.Detached.IsZero():
		return ReasonDetaching
	case l.policy.Connectivity.Remaining(p.Detached, l.policy.ReattachTimeout, l.now) > 0 && l.wanted(p) && !l.elsewhere(p):
		return ReasonReattaching
	}
	return ""
}

// volumesMove reports whether the next pod with volumes has to wait for a volume.
func (l look) volumesMove() bool {
	for _, p := range l.memory.Passages {
		if r := l.moving(p); r == ReasonDetaching || r == ReasonReattaching {
			return true
		}
	}
	return false
}

// wanted reports whether a pod that is not on the node uses the volume.
func (l look) wanted(p Passage) bool {
	return slices.ContainsFunc(l.facts.Claimants, func(c corev1.Pod) bool {
		q := input{pod: &c}
		return c.Spec.NodeName != l.facts.Node.Name && c.DeletionTimestamp == nil && !q.finished() &&
			slices.Contains(Claims(&c), p.Claim)
	})
}

// elsewhere reports whether the volume is attached to another node.
func (l look) elsewhere(p Passage) bool {
	for i := range l.facts.Attachments {
		a := &l.facts.Attachments[i]
		if name, inline := source(a); name == p.Name && inline == p.Inline && a.Spec.NodeName != l.facts.Node.Name && a.Status.Attached {
			return true
		}
	}
	return false
}

// volumes adds the volumes that the drain waits for. Under Force it waits for no volume. Whether a volume is
// attached to another node matters only to pods whose turn comes next.
func (l look) volumes(d *Decision) {
	if l.policy.Force || l.policy.Past(l.now) || !l.policy.VolumesOneByOne || l.facts.Node == nil {
		return
	}
	for _, name := range slices.SortedFunc(maps.Keys(l.memory.Passages), strings.Compare) {
		p := l.memory.Passages[name]
		b := Blocker{Pod: p.Pod, Volume: p.Name, Reason: l.moving(p), Since: p.Left, Until: l.now.Add(pollMost)}
		switch b.Reason {
		case ReasonStillAttached:
			b.Detail = "for more than " + l.policy.DetachTimeout.String()
			d.Blocked = append(d.Blocked, b)
		case ReasonDetaching:
			b.Until = soonest(b.Until, p.Left, l.policy.DetachTimeout)
			d.Waiting = append(d.Waiting, b)
		case ReasonReattaching:
			if !slices.ContainsFunc(d.Waiting, func(w Blocker) bool { return w.Reason == ReasonTurn }) {
				continue
			}
			b.Since, b.Until = p.Detached, soonest(b.Until, p.Detached, l.policy.ReattachTimeout)
			d.Waiting = append(d.Waiting, b)
		}
	}
}

// soonest returns until, or the moment after the time span that began at since if that is earlier; a zero
// since is ignored.
func soonest(until, since time.Time, span time.Duration) time.Time {
	if end := since.Add(span + time.Millisecond); span > 0 && end.Before(until) {
		return end
	}
	return until
}

// detachTries is how long a failing deletion of an attachment is retried: a forced drain does not wait
// longer.
const detachTries = time.Minute

// detach requests the detachment of the volumes left on an unreachable node whose pods were forcibly deleted.
func (l look) detach(d *Decision) {
	p := l.policy
	if !p.Force || !p.NodeUnreachable || !p.RemoveAttachments || l.facts.Node == nil ||
		len(d.Evict)+len(d.Delete)+len(d.Waiting)+len(d.Blocked) > 0 {
		return
	}
	for i := range l.facts.Attachments {
		a := &l.facts.Attachments[i]
		tried := l.memory.Attempts[a.UID]
		q := input{now: l.now, pod: &corev1.Pod{}, attempt: tried, policy: p}
		switch {
		case a.Spec.NodeName != l.facts.Node.Name, a.DeletionTimestamp != nil, tried.Gone, tried.Accepted:
		case tried.At.IsZero(), !q.tooEarly() && l.now.Sub(tried.Since) < detachTries:
			d.Detach = append(d.Detach, Attached{Name: a.Name, UID: a.UID})
		case q.tooEarly() && !p.Past(l.now):
			d.Blocked = append(d.Blocked, Blocker{Volume: sourceName(a), Reason: ReasonRefused, Detail: tried.Reply, Since: tried.Since, Until: q.again()})
		}
	}
}

func sourceName(a *storagev1.VolumeAttachment) string {
	name, _ := source(a)
	return name
}
