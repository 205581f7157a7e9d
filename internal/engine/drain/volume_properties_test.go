package drain

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// anyFacts draws pods with and without volumes, some shared, some attached here,
// some elsewhere.
func anyFacts(t *rapid.T) Facts {
	f := Facts{Node: theNode(), Pods: anyPods(t)}
	for i := range f.Pods {
		f.Pods[i].Spec.NodeName = "w1"
		claim := rapid.SampledFrom([]string{"", "a", "b", "c", "rwx"}).Draw(t, "claim")
		if claim != "" {
			claims(claim)(&f.Pods[i])
		}
		if rapid.Bool().Draw(t, "ordered") {
			withOrder(rapid.SampledFrom([]string{"-1", "1", "1", "x"}).Draw(t, "order"))(&f.Pods[i])
		}
		if rapid.Bool().Draw(t, "important") {
			withPriority(rapid.Int32Range(-5, 5).Draw(t, "priority"))(&f.Pods[i])
		}
	}
	f.Volumes = []Volume{volume("a"), volume("b"), volume("c"), volume("rwx", shared)}
	for _, claim := range []string{"a", "b", "c", "rwx", "other"} {
		if node := rapid.SampledFrom([]string{"", "w1", "w2"}).Draw(t, "attached"); node != "" {
			f.Attachments = append(f.Attachments, attachment(claim, node))
		}
	}
	if rapid.Bool().Draw(t, "inline") {
		f.Attachments = append(f.Attachments, inline("w1"))
	}
	if rapid.Bool().Draw(t, "reported") {
		f.Node = theNode("kubernetes.io/csi/d^a")
	}
	if rapid.Bool().Draw(t, "wanted") {
		f.Claimants = []corev1.Pod{namedPod("elsewhere", claims("a", "b"), on("w2"))}
	}
	return f
}

func anyVolumePolicy(t *rapid.T) Policy {
	p := anyPolicy(t)
	p.VolumesOneByOne = rapid.Bool().Draw(t, "oneByOne")
	p.RemoveAttachments = rapid.Bool().Draw(t, "remove")
	p.DetachTimeout, p.ReattachTimeout = seconds(t, "detach", 0, 300), seconds(t, "reattach", 0, 300)
	p.CordonLead = seconds(t, "lead", 0, 60)
	return p
}

func anyMemory(t *rapid.T, f Facts) Memory {
	m := Memory{Begun: now.Add(-seconds(t, "begun", 0, 60)), Attempts: anyAttempts(t, f.Pods), Passages: map[string]Passage{}}
	for _, claim := range []string{"a", "b", "c"} {
		if rapid.Bool().Draw(t, "passage") {
			ago := seconds(t, "left", 1, 600)
			m.Passages["pv-"+claim] = left(claim, ago, rapid.SampledFrom([]time.Duration{0, ago / 2}).Draw(t, "detached"))
		}
	}
	return m
}

// serialOf reports whether only one node at a time can attach the pod's volume.
func serialOf(p corev1.Pod) bool {
	return slices.ContainsFunc(Claims(&p), func(c types.NamespacedName) bool { return c.Name == "a" || c.Name == "b" || c.Name == "c" })
}

// For any facts: there is a decision, no pod that would be created again on the node is evicted, and of pods
// with volumes at most one is newly evicted, and none while another one terminates.
func TestAtMostOnePodWithVolumesLeaves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, p := anyFacts(t), anyVolumePolicy(t)
		m := anyMemory(t, f)
		d := Decide(now, f, m, p)
		byUID := map[types.UID]corev1.Pod{}
		for _, pod := range f.Pods {
			byUID[pod.UID] = pod
		}
		asked := 0
		for _, x := range slices.Concat(d.Evict, d.Delete) {
			pod := byUID[x.UID]
			if q := (input{pod: &pod}); q.stays() == ReasonMirror || q.stays() == ReasonDaemonSet {
				t.Fatalf("pod %s would come back and is asked to leave", x.Pod)
			}
			if pod.DeletionTimestamp == nil && serialOf(pod) && !m.Attempts[x.UID].Accepted {
				asked++
			}
		}
		if d.Done != (d.Next == 0) || d.Done != (d.Message == "") || d.Next > pollMost {
			t.Fatalf("done %v, next %v, message %q", d.Done, d.Next, d.Message)
		}
		if !p.VolumesOneByOne || p.Force {
			return
		}
		onTheWay := slices.ContainsFunc(d.Waiting, func(b Blocker) bool {
			pod := byUID[types.UID(b.Pod.Name)]
			over := p.DetachTimeout > 0 && pod.DeletionTimestamp != nil && now.After(pod.DeletionTimestamp.Add(p.DetachTimeout))
			return b.Reason == ReasonDetaching || serialOf(pod) && !over && (b.Reason == ReasonTerminating || b.Reason == ReasonEvicted)
		})
		if asked > 1 || asked == 1 && onTheWay {
			t.Fatalf("%d pods with volumes are asked, another on its way: %v: %s", asked, onTheWay, told(d))
		}
		for _, a := range f.Attachments {
			if name, _ := source(&a); a.Spec.NodeName == "w1" && d.Done && !inUseByStaying(f, name) && name != "pv-rwx" {
				t.Fatalf("done with %s attached", a.Name)
			}
		}
	})
}

// inUseByStaying: pods that stay keep their volumes.
func inUseByStaying(f Facts, name string) bool {
	return slices.ContainsFunc(f.Pods, func(p corev1.Pod) bool {
		q := input{pod: &p}
		r := q.stays()
		return (r == ReasonDaemonSet || r == ReasonMirror) && slices.ContainsFunc(Claims(&p), func(c types.NamespacedName) bool { return "pv-"+c.Name == name })
	})
}

// A whole drain with volumes that detach late, or never, or are never attached elsewhere: with a timeout, all
// pods are evicted in the end, one after another; and the drain is done only once no volume is attached.
func TestVolumesNeverHoldPodsForEver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Policy{VolumesOneByOne: true, DetachTimeout: seconds(t, "detach", 1, 300), ReattachTimeout: seconds(t, "reattach", 0, 300)}
		n := rapid.IntRange(1, 5).Draw(t, "pods")
		f := Facts{Node: theNode()}
		detaches := map[string]time.Duration{} // after its pod is deleted; longer than the drain: never
		for i := range n {
			name := fmt.Sprint("p", i)
			f.Pods = append(f.Pods, namedPod(name, claims(name)))
			f.Volumes = append(f.Volumes, volume(name))
			f.Attachments = append(f.Attachments, attachment(name, "w1"))
			detaches["pv-"+name] = seconds(t, "detaches", 0, 10_000)
			if rapid.Bool().Draw(t, "wanted") {
				f.Claimants = append(f.Claimants, namedPod("new-"+name, claims(name), on("w2")))
			}
		}
		m, at, gone := Memory{Attempts: Attempts{}}, now, map[string]time.Time{}
		limit := now.Add(time.Duration(n) * (p.DetachTimeout + p.ReattachTimeout + time.Minute))
		for len(f.Pods) > 0 {
			d := Decide(at, f, m, p)
			if d.Done || at.After(limit) {
				t.Fatalf("after %v with %d pods: %s", at.Sub(now), len(f.Pods), told(d))
			}
			if len(d.Evict) > 1 {
				t.Fatalf("two at once: %s", told(d))
			}
			m = m.Seen(at, f, p)
			for _, x := range d.Evict {
				m.Attempts[x.UID] = Attempt{At: at, Accepted: true}
				f.Pods = slices.DeleteFunc(f.Pods, func(o corev1.Pod) bool { return o.UID == x.UID })
				gone["pv-"+x.Pod.Name] = at
			}
			at = at.Add(d.Next)
			f.Attachments = slices.DeleteFunc(f.Attachments, func(a storagev1.VolumeAttachment) bool {
				name, _ := source(&a)
				since, left := gone[name]
				return left && at.Sub(since) >= detaches[name]
			})
		}
		m = m.Seen(at, f, p)
		if d := Decide(at, f, m, p); d.Done != (len(f.Attachments) == 0) {
			t.Fatalf("done %v with %d attached", d.Done, len(f.Attachments))
		}
		p.Force = true
		if d := Decide(at, f, m, p); !d.Done {
			t.Fatalf("forced: %s", told(d))
		}
	})
}
