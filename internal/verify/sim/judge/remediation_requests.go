package judge

import (
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// requests reports whether the check creates remediation requests from a template.
func requests(c *check) bool { return !c.older && c.Spec.RemediationTemplate != nil }

// about returns the machine of a request.
func (j *Judge) about(request client.Object) (machine, bool) {
	for _, ref := range request.GetOwnerReferences() {
		if m, there := find(j.machines(), ref.UID); there {
			return m, true
		}
	}
	return machine{}, false
}

// hasRequest reports whether a request is about this machine, and not about an earlier machine of the same name.
func (j *Judge) hasRequest(m client.Object) bool {
	if j.Request == nil {
		return false
	}
	for _, r := range j.All(j.Request) {
		if about, there := j.about(r); there && about.GetUID() == m.GetUID() {
			return true
		}
	}
	return false
}

// mayBeRequested reports whether a request for the machine exists or may be created: again after an external controller
// deleted one, or after the breaker of a check allows it, which may take hours.
func (j *Judge) mayBeRequested(m machine) bool {
	return j.hasRequest(m.Object) || slices.ContainsFunc(j.checks(), func(c *check) bool {
		t, under := j.truly(c)[m.GetUID()]
		return under && requests(c) && !paused(c) && !t.spared
	})
}

// staleRequest names a healthy machine with a request of an active check; empty if none exists.
func (j *Judge) staleRequest() string {
	for _, c := range j.checks() {
		if !requests(c) || paused(c) {
			continue
		}
		for _, t := range j.truly(c) {
			if t.hasRequest && !ill(c, t) {
				return fmt.Sprintf("machine %s is healthy, but a request about it exists", t.GetName())
			}
		}
	}
	return ""
}
