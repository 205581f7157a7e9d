package judge

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// others reports whether the instance belongs to another control plane, or to a namespace for which no controller runs
// here.
func (j *Judge) others(i Instance) bool {
	return i.Owner != "" && (i.Owner != j.Owner || i.Namespace != j.Namespace)
}

// untagged reports whether an instance or part of the machine with the UID has no owner tag: then only users can know
// its owner.
func (j *Judge) untagged(uid string) bool {
	return slices.ContainsFunc(j.Instances(), func(i Instance) bool { return i.UID == uid && i.Owner == "" }) ||
		slices.ContainsFunc(j.Parts(), func(p Part) bool { return p.UID == uid && p.Owner == "" })
}

// foreign reports whether the part was created for a machine that never existed here.
func (j *Judge) foreign(p Part) bool { return len(j.log[types.UID(p.UID)]) == 0 }

// sameID reports whether two provider IDs name the same instance. It compares the last path elements only, and ignores
// case and the number of slashes.
func sameID(a, b string) bool {
	last := func(id string) string {
		scheme, rest, _ := strings.Cut(strings.ToLower(id), "://")
		return scheme + " " + rest[strings.LastIndex(rest, "/")+1:]
	}
	return a != "" && last(a) == last(b)
}

// judgeAbsence judges that a machine with an instance fails. If the machine's node was ready all the time, no timeout has
// passed: the only reason can be an empty answer of the cloud, which is wrong. A machine that did not run may have
// waited for something else.
func (j *Judge) judgeAbsence(p *Pass, old, now machine) {
	if !old.running || !now.failed || old.provider == "" || p.By.Late {
		return
	}
	n := j.node(old.node)
	since, is := readyAt(n)
	if n == nil || !is || j.Now().Sub(since) < j.ViewLag+2*j.Pause || !sameID(n.Spec.ProviderID, old.provider) {
		return
	}
	for _, c := range j.log[n.UID] {
		if c.was != nil && c.n > p.began && !sameReady(c.was.(*corev1.Node), n) {
			return
		}
	}
	for _, i := range j.existing(string(old.GetUID())) {
		if i.ProviderID == old.provider {
			j.Broken(ReadyCounts, "%s failed, but its instance %s runs and node %s is ready", now.GetName(), i.ID, n.Name)
		}
	}
}

func sameReady(a, b *corev1.Node) bool {
	_, first := readyAt(a)
	_, second := readyAt(b)
	return first == second
}
