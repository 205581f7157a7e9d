package drain

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Unmanaged returns the pods that have to leave and that no controller creates again: a drain deletes them for good.
// Finished pods are not among them.
func Unmanaged(f Facts, p Policy) (out []types.NamespacedName) {
	for _, q := range questions(time.Time{}, f, Memory{}, p) {
		if q.stays() == "" && !q.finished() && q.pod.DeletionTimestamp == nil && metav1.GetControllerOfNoCopy(q.pod) == nil {
			out = append(out, q.name())
		}
	}
	return out
}
